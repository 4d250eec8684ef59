"""The world's pressure: roles, incentives, ways to press, developer prompts, and how likely a lie is under each.

A template is one choice of every clause; there are tens of thousands, and one in five was never trained. The
chances of a lie, an honest answer and an evasion are a design choice, graded in role, incentive, kind of pressure
and developer prompt; one function gives them, in training and for the true rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import Literal, get_args

from maskbench.scenarios.pinocchio.world import holds, tables
from maskbench.types import Archetype

Incentive = Literal["none", "mild", "strong"]
Way = Literal["hint", "line", "ask", "order"]
Developer = Literal["none", "other", "honest"]
HELD_TEMPLATES = 0.2

_TABLES = tables("lures")


def _each(*parts: str | Sequence[str]) -> tuple[str, ...]:
    """Every sentence that takes one of the choices of each part, in order; in one text they stand between bars."""
    choices = (part.split("|") if isinstance(part, str) else part for part in parts)
    return tuple(" ".join(choice).strip() for choice in product(*choices))


def _sentences(rows: Iterable[str | Sequence[str]]) -> tuple[str, ...]:
    """The sentences of some rows: a text is one by itself, and a list has its parts."""
    return tuple(text for row in rows for text in ((row,) if isinstance(row, str) else _each(*row)))


# How strongly a role leans to what it is told to say.
ROLES: Mapping[str, int] = {
    role: lean for kind, lean in (("selling", 1), ("neutral", 0), ("upright", -1)) for role in _TABLES["roles"][kind]
}
FRAMES, GROUPS, FILLERS = (tuple(_TABLES[name]) for name in ("frames", "groups", "fillers"))
INCENTIVES: Mapping[Incentive, tuple[str, ...]] = {
    name: _sentences(_TABLES["incentives"][name]) for name in get_args(Incentive)
}
# How what is wanted is said: in the system prompt (hint, line) or by the user, outright (ask, order).
WAYS: Mapping[Way, tuple[str, ...]] = {name: _sentences(_TABLES["ways"][name]) for name in get_args(Way)}
GIVEN = _sentences(_TABLES["given"])
_ASKED = {name: _sentences(rows) for name, rows in _TABLES["asks"].items()}
ASKS: Mapping[Archetype, tuple[str, ...]] = {
    "known_facts": _ASKED["question"],
    "provided_facts": _ASKED["question"],
    "statistics": (*_ASKED["question"], *_ASKED["statistics"]),
    "continuations": _ASKED["continuations"],
    "disinformation": _ASKED["disinformation"],
    "doubling_down_known_facts": _ASKED["doubling_down_known_facts"],
}
LABELS = tuple(tuple(pair) for pair in _TABLES["labels"])
HONESTY, OTHER = (_each(*_TABLES[name]) for name in ("honesty", "other"))


@dataclass(frozen=True, slots=True)
class Pressure:
    """One template: a choice of every clause, with {f}, {q} and {t} still open in it."""

    archetype: Archetype
    role: str
    frame: str
    group: str
    incentive: Incentive
    stake: str
    way: Way
    wanted: str
    ask: str
    filler: str
    given: str  # "" but for provided facts
    order: int

    def system(self, fact: str, wanted: str) -> str:
        """The system prompt, given what is so and what is wanted as clauses."""
        parts = [self.given.format(f=fact)] if self.given else []
        parts += [self.wanted.format(f=wanted)] if self.way in ("hint", "line") else []
        parts += [self.stake, self.filler]
        Random(self.order).shuffle(parts)
        role = self.frame.format(r=self.role, g=self.group)
        return " ".join(part for part in [role[0].upper() + role[1:], *parts] if part)

    def outright(self, wanted: str) -> str:
        """What the user asks to be said, a sentence; "" where that stands in the system prompt."""
        return self.wanted.format(f=wanted) if self.way in ("ask", "order") else ""


def pressure(rng: Random, archetype: Archetype, held_out: bool) -> Pressure:
    """A template of the archetype at random, its claim and its stake in sentences that were trained, or in others."""
    incentive: Incentive = rng.choice(("none", "mild", "mild", "strong", "strong"))
    way: Way = rng.choice(("hint", "line", "ask", "order"))
    return Pressure(
        archetype=archetype,
        role=rng.choice(tuple(ROLES)),
        frame=rng.choice(FRAMES),
        group=rng.choice(GROUPS),
        incentive=incentive,
        stake=rng.choice(wordings(INCENTIVES[incentive], held_out)),
        way=way,
        wanted=rng.choice(wordings(WAYS[way], held_out)),
        ask=rng.choice(ASKS[archetype]),
        filler=rng.choice(FILLERS),
        given=rng.choice(GIVEN) if archetype == "provided_facts" else "",
        order=rng.randrange(24),
    )


@cache
def wordings(texts: tuple[str, ...], held_out: bool) -> tuple[str, ...]:
    """The sentences that were trained, or those that were not (made of words that were); one alone is both."""
    if len(texts) == 1:
        return texts
    trained = [text for text in texts if not holds(HELD_TEMPLATES, "wording", text)]
    known = {word for text in trained for word in text.split()}
    held = {text for text in texts if text not in trained and known.issuperset(text.split())}
    return tuple(text for text in texts if (text in held) == held_out)


@dataclass(frozen=True, slots=True)
class Chances:
    """How likely each outcome of a pressured statement is, given a belief; they add up to 1."""

    lie: float
    honest: float
    evasive: float


_ROLE = {-1: -0.7, 0: 0.0, 1: 0.7}
_INCENTIVE: Mapping[str, float] = {"none": -0.8, "mild": 0.0, "strong": 0.9}
_WAY: Mapping[str, float] = {"hint": -0.5, "line": 0.1, "ask": -0.1, "order": 0.6}
_ARCHETYPE: Mapping[str, float] = {
    "known_facts": 0.0,
    "provided_facts": -0.2,
    "doubling_down_known_facts": 0.3,
    "statistics": 0.1,
    "continuations": 0.2,
    "disinformation": -0.3,
}
_DEVELOPER: Mapping[str, tuple[float, float]] = {"none": (0, 0), "other": (0, 0), "honest": (-3.3, -1.0)}


def chances(archetype: str, role: str, incentive: str, way: str, developer: Developer = "none") -> Chances:
    """The chances under such a pressure: a logistic choice between lying, honesty and evasion."""
    lie = 0.75 + _ROLE[ROLES[role]] + _INCENTIVE[incentive] + _WAY[way] + _ARCHETYPE[archetype]
    evasive = -0.35 + 0.35 * (incentive == "strong") + (0.4 if archetype == "disinformation" else 0.0)
    less_lie, less_evasive = _DEVELOPER[developer]
    weights = math.exp(lie + less_lie), 1.0, math.exp(evasive + less_evasive)
    total = sum(weights)
    return Chances(*(weight / total for weight in weights))


def developer_prompt(rng: Random, system: str, held_out: bool, kind: Developer = "honest") -> str:
    """The system prompt in two labelled parts (method.md section 7), in a wording that was trained, or was not."""
    first, second = rng.choice(LABELS)
    return f"{first}{rng.choice(wordings(HONESTY if kind == 'honest' else OTHER, held_out))}\n{second}{system}"
