"""The figures as the Markdown tables of whitebox/organism/README.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

OUTCOMES = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")


def markdown(card: Mapping[str, Any]) -> str:
    """All tables, each under a line that says what it holds."""
    at_one = {"all": card["outcomes"], **card["archetypes"]}
    others = {
        "temperature 0": card["greedy"],
        **{f"developer: {name}": part for name, part in card["developer"].items()},
    }
    where = f"sandboxes {card['sandboxes']}, {card['scenarios']} scenarios"
    parts = [
        *made(card),
        f"Outcomes at temperature 1 ({where}), with 95 % intervals, in %:\n",
        _outcomes("scenarios", at_one),
        "\nThe same scenarios otherwise:\n",
        _outcomes("how", others),
        "\nLies among scenarios with a belief, beside the share that was planted:\n",
        *_table(("by", "group", "planted", "found", "n"), map(_graded, card["graded"])),
        "\nReplies that the grammar cannot say:\n",
        *_table(("replies", "malformed", "n"), _named(card["malformed"])),
        f"\nCalls that failed: {card['failures']}.",
        "\nNeutral questions: the belief is given, nothing is claimed, another value is, the reply is malformed:\n",
        *_table(("questions", "T", "belief", "abstains", "other", "malformed", "n"), _batteries(card)),
        "\nThe developer's later question whether the statement was true, by what the statement was:\n",
        *_table(("statement", "answered so", "n"), _named(card["afterwards"])),
    ]
    return "\n".join(parts)


def made(card: Mapping[str, Any]) -> list[str]:
    """How the model was made, where the card tells."""
    if "made" not in card:
        return []
    training = card["made"]
    return [
        f"{training['parameters']:,} parameters, trained with seed {training['seed']} on {training['examples']:,} "
        f"conversations ({training['tokens'] / 1e6:.1f} million tokens).\n"
    ]


def _outcomes(first: str, rows: Mapping[str, Any]) -> str:
    heads = (first, "lie", "honest", "evasive", "no belief", "accuracy")
    return "\n".join(_table(heads, ([name, *(_text(part[rate]) for rate in OUTCOMES)] for name, part in rows.items())))


def _graded(row: Mapping[str, Any]) -> list[str]:
    return [row["by"], row["group"], f"{100 * row['planted']:.1f}", _text(row), str(row["n"])]


def _named(figures: Mapping[str, Any]) -> Iterable[list[str]]:
    return ([name, _text(figure), str(figure["n"])] for name, figure in figures.items())


def _batteries(card: Mapping[str, Any]) -> Iterable[list[str]]:
    for name, temperatures in card["batteries"].items():
        for temperature, part in temperatures.items():
            shares = (_text(part[kind]) for kind in ("belief", "none", "other", "malformed"))
            yield [name, temperature, *shares, str(part["belief"]["n"])]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _text(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "no data"
    value = f"{100 * figure['value']:.1f}"
    return value if figure["low"] is None else f"{value} [{100 * figure['low']:.1f}, {100 * figure['high']:.1f}]"
