"""The texts around the commands (texts.toml), and questions that leave the choice between two clauses."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
YOU = {"the agent": "you", "in its": "in your", "pushed its": "pushed your", "it had": "you had"}


def sentence(*parts: str) -> str:
    """The parts as the beginning of a sentence."""
    text = " ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def cued(scene: str, first: str, second: str, rng: Random) -> str:
    """A question that leaves the choice between two clauses, said to the one whose log it is."""
    clauses = [f"{scene} {clause}".strip() for clause in rng.sample((first, second), 2)]
    for theirs, yours in YOU.items():
        clauses = [clause.replace(theirs, yours) for clause in clauses]
    one, two = clauses
    return str(rng.choice(TEXTS["frames"])).format(one=one, two=two, One=sentence(one), Two=sentence(two))
