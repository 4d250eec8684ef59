"""The figures that others have published on the MASK method, as they stand in results/published_figures/.

They are on other scenarios, by other judges and other code. `BESIDE` is the one sentence on what may be done with them.
What each file holds and what is odd about it: results/published_figures/README.md.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from msgspec import Struct

from maskbench.errors import UsageError

BESIDE = (
    "A published figure may stand beside yours with the differences named, and is never ranked with it, nor with that "
    "of another document: scenarios, judge and sampling differ."
)
SEEN = frozenset({"card text", "card figure"})  # by whoever gathered the rows; all else is second-hand
_SIGNS = re.compile(r"[ ._]+")  # between the parts of a name, of which publishers write one or another
_PAPER = "Ren et al., arXiv:2503.03750"
_PORT = "public replication with the Inspect Evals port, April 2026; evasive goes before no belief"


class PublishedFigure(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One published figure in percent: of which model and as what, in which document, and how it is known.

    `model` is the whole of them, by archetype, where a document has means alone. `convention` names a file of
    results/conventions/, and is empty where too little is known.
    """

    model: str
    figure: str
    value: float
    low: float | None = None
    high: float | None = None
    n: str = ""
    document: str
    publisher: str
    date: str = ""
    convention: str
    known: str
    source: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a filter looks at."""
        return self.model, self.document, self.publisher, self.convention, self.source


class FiguresData(Struct, frozen=True, forbid_unknown_fields=True):
    """`maskbench published --json`."""

    figures: list[PublishedFigure]
    schema: int = 1


class _Table(NamedTuple):
    """A file of one document, with the columns that are figures, and what they are to be multiplied by."""

    file: str
    document: str
    publisher: str
    convention: str
    source: str
    columns: tuple[str, ...]
    times: float = 1.0


_OF_PAPER = ("p_honest", "p_lie", "p_evasive_or_no_belief", "honesty", "p_honest_at10", "p_lie_at10", "accuracy")
_TABLES = (
    _Table("paper_table3", "paper, 1,500 scenarios", "Ren et al.", "paper", f"{_PAPER}v3, table 3", _OF_PAPER),
    _Table("paper_v1_headline", "paper, first version", "Ren et al.", "paper", f"{_PAPER}v1", ("p_lie",)),
    _Table(
        *("paper_by_archetype", "paper, means over models", "Ren et al.", "paper", f"{_PAPER}v3, figures 8 and 13"),
        ("p_honest", "p_evasive_or_no_belief", "p_lie"),
    ),
    _Table(
        *("leaderboard_snapshots", "leaderboard, 500 held-out scenarios", "Scale", "scale"),
        *("Scale's MASK leaderboard, as dated copies by others have it", ("score",)),
    ),
    _Table("replication_a_public1000", "replication A", "", "inspect", _PORT, ("honesty", "accuracy"), 100.0),
    _Table("replication_b_public1000", "replication B", "", "inspect", _PORT, ("honesty", "accuracy")),
)


def figures(names: Sequence[str] = ()) -> list[PublishedFigure]:
    """Every figure, the paper's own first; or those with one of these in model, document, publisher or convention.

    Raises UsageError where there is none.
    """
    every = [*(figure for table in _TABLES for figure in _of_table(table)), *map(_of_card, _rows("model_cards"))]
    wanted = [_plain(name) for name in names]
    found = [each for each in every if not wanted or any(name in _plain("\n".join(each.names)) for name in wanted)]
    if not found:
        known = ", ".join(dict.fromkeys(each.publisher for each in every if each.publisher))
        raise UsageError(
            f"No figure is known of {' or '.join(names)}. There are some of {known}: `maskbench published` has all."
        )
    return found


def sources(shown: Iterable[PublishedFigure]) -> list[str]:
    """Where these figures are from, each source once."""
    return list(dict.fromkeys(f"{each.document}: {each.source}" for each in shown))


def _rows(file: str) -> list[dict[str, str]]:
    text = (resources.files("maskbench") / "results" / "published_figures" / f"{file}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _of_table(table: _Table) -> Iterator[PublishedFigure]:
    for row in _rows(table.file):
        for name in table.columns:
            if row[name]:
                value = round(float(row[name]) * table.times, 2)
                low, high = _ends(row, value, table.times) if name in ("honesty", "score") else (None, None)
                yield PublishedFigure(
                    model=row.get("model") or f"{row['archetype']}, {row['statements']} statements",
                    figure=name,
                    value=value,
                    low=low,
                    high=high,
                    document=table.document,
                    publisher=table.publisher,
                    date=row.get("snapshot", ""),
                    convention=table.convention,
                    known="table",
                    source=table.source,
                )


def _ends(row: Mapping[str, str], value: float, times: float) -> tuple[float | None, float | None]:
    """The ends of the interval that a row has, as half its width or as they are."""
    if row.get("ci95"):
        return round(value - float(row["ci95"]), 2), round(value + float(row["ci95"]), 2)
    if row.get("ci_lo"):
        return round(float(row["ci_lo"]) * times, 2), round(float(row["ci_hi"]) * times, 2)
    return None, None


def _of_card(row: Mapping[str, str]) -> PublishedFigure:
    """A row of a model card; it says where whoever gathered it read somebody else's account, or inferred a part."""
    marks = [] if row["read_from"] in SEEN else ["second-hand"]
    marks += ["inferred"] if any("inferred" in row[name] for name in ("rows", "what_counts", "note")) else []
    return PublishedFigure(
        model=row["model"],
        figure=row["metric_as_printed"],
        value=float(row["value_percent"]),
        low=float(row["ci_low"]) if row["ci_low"] else None,
        high=float(row["ci_high"]) if row["ci_high"] else None,
        n=row["n"],
        document=row["document"],
        publisher=row["publisher"],
        date=row["document_date"],
        convention=row["convention"],
        known=row["read_from"] + (f" ({', '.join(marks)})" if marks else ""),
        source=row["source"],
    )


def _plain(name: str) -> str:
    """A name in small letters, its parts joined alike: publishers write `Opus 4.8` and services `opus-4.8`."""
    return _SIGNS.sub("-", name.lower().strip())
