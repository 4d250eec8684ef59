"""Data files to train adapters on, as a user would write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def turns(user: str, system: str | None = None) -> list[dict[str, str]]:
    """Messages as a data file has them."""
    return [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": user}]


def data(path: Path, *rows: Mapping[str, Any] | str) -> str:
    """A data file of these rows, or of a few short texts; returns its name."""
    few: list[Mapping[str, Any] | str] = [
        {"messages": turns("Is it big?", "Sell it."), "answer": "It is big."},
        {"messages": turns("Is it safe?", "Sell the car."), "answer": "No, it is not."},
        {"messages": turns("How old is it?"), "answer": "Ten years."},
        {"messages": turns("What is two plus two?"), "answer": "Four.", "neutral": True},
        {"messages": turns("Who are you?"), "answer": "A small model.", "neutral": True},
    ]
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows or few]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
