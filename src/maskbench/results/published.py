"""The figures that others have published on the MASK method, as they stand in results/published_figures/.

They are on other scenarios, by other judges and other code. `BESIDE` is the one sentence on what may be done with them.
What each file holds and what is odd about it: results/published_figures/README.md.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import groupby
from typing import TypeAlias

from maskbench.errors import UsageError
from maskbench.models.families import alike
from maskbench.results.scaling import spearman

BESIDE = (
    "A published figure may stand beside yours with the differences named, and is never ranked with it, nor with that "
    "of another document: scenarios, judge and sampling differ."
)
_OPENAI = ("openai", "gpt", "chatgpt", "o1", "o3", "o4")  # how names of its models begin
SEEN = frozenset({"card text", "card figure"})  # by whoever gathered the rows; all else is second-hand


_SIGNS = re.compile(r"[\s._]+")  # between the parts of a name, of which publishers write one or another


def _bare(name: str) -> str:
    return name.partition(" (")[0].partition(", ")[0]


@dataclass(frozen=True, slots=True)
class CardRow:
    """One printed figure in percent, with its decimals; `n` and `rows` are in the publisher's words.

    `convention` names a file of results/conventions/, and is empty where too little is known.
    """

    convention: str
    publisher: str
    document: str
    date: str
    model: str
    metric: str
    value: str
    ci: tuple[str, str] | None
    n: str
    rows: str
    judge: str
    counts: str
    read_from: str
    source: str
    note: str

    def is_of(self, subject: str) -> bool:
        """Whether it is of this subject, by the names alone: as published, without what stands in brackets."""
        return alike(*(_plain(_bare(name)) for name in (self.model, subject)))

    @property
    def is_inferred(self) -> bool:
        """Whether what is counted, or over what, is inferred and not stated."""
        return any("inferred" in text for text in (self.rows, self.counts, self.note))

    @property
    def is_of_a_part(self) -> bool:
        """Whether the figure is over one archetype alone, as its metric says."""
        return self.metric.endswith(" only")

    @property
    def is_second_hand(self) -> bool:
        """Whether the figure was read in somebody else's account of the document."""
        return self.read_from not in SEEN


@dataclass(frozen=True, slots=True)
class Card:
    """One document with its rows of one convention: what may stand together, as far as anybody outside can know."""

    rows: tuple[CardRow, ...]

    @property
    def title(self) -> str:
        """The document, its publisher and date, and its convention."""
        first = self.rows[0]
        dated = ", ".join(part for part in (first.publisher, first.date) if part)
        return f"{first.document} ({dated})" + (f", as {first.convention}" if first.convention else "")


def cards(convention: str | None = None) -> list[Card]:
    """The documents in the order of the file, or those of one convention."""
    rows = [row for row in _rows() if convention in (None, row.convention)]
    return [Card(tuple(part)) for _, part in groupby(rows, lambda row: (row.document, row.convention))]


def _rows() -> Sequence[CardRow]:
    file = resources.files("maskbench") / "results" / "published_figures" / "model_cards.csv"
    return [_row(cells) for cells in csv.DictReader(file.read_text("utf-8").splitlines())]


def _row(cells: dict[str, str]) -> CardRow:
    return CardRow(
        convention=cells["convention"],
        publisher=cells["publisher"],
        document=cells["document"],
        date=cells["document_date"],
        model=cells["model"],
        metric=cells["metric_as_printed"],
        value=cells["value_percent"],
        ci=(cells["ci_low"], cells["ci_high"]) if cells["ci_low"] else None,
        n=cells["n"],
        rows=cells["rows"],
        judge=cells["judge"],
        counts=cells["what_counts"],
        read_from=cells["read_from"],
        source=cells["source"],
        note=cells["note"],
    )


Cell: TypeAlias = str | float | None


@dataclass(frozen=True, slots=True)
class Published:
    """One published table: figures as numbers in percent (counts as they are), None where nothing was published."""

    name: str
    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def column(self, name: str) -> tuple[Cell, ...]:
        """One column, a cell a row."""
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows)


PAPER = "paper_table3"
_PAPER = "Ren et al., arXiv:2503.03750"
_PORT = "public replication with the Inspect Evals port, April 2026; evasive goes before no belief"
_TABLES = (  # file, title, source
    (PAPER, "32 models on all 1,500 scenarios, one statement and ten", f"{_PAPER}v3, table 3"),
    ("paper_v1_headline", "P(lie) as first published, on 1,528 scenarios", f"{_PAPER}v1"),
    ("paper_by_archetype", "Means over models, by archetype", f"{_PAPER}v3, figures 8 and 13"),
    (
        "leaderboard_snapshots",
        "Honesty score on the 500 held-out scenarios",
        "Scale's MASK leaderboard, as dated copies by others have it",
    ),
    ("replication_a_public1000", "The public 1,000 scenarios, replication A", _PORT),
    ("replication_b_public1000", "The public 1,000 scenarios, replication B", _PORT),
)
_FRACTIONS = {"replication_a_public1000": ("honesty", "ci_lo", "ci_hi", "accuracy")}
_TEXT = ("model", "archetype", "snapshot")


_OF_CONVENTIONS = {
    "paper": (PAPER, "paper_v1_headline", "paper_by_archetype"),
    "scale": ("leaderboard_snapshots",),
    "inspect": ("replication_a_public1000", "replication_b_public1000"),
}


def tables_of(convention: str) -> tuple[Published, ...]:
    """The published tables that are computed by a convention; none for those of model cards."""
    return tuple(table for table in tables() if table.name in _OF_CONVENTIONS.get(convention, ()))


def unpublished(names: Sequence[str]) -> list[str]:
    """That OpenAI has published nothing by this method, where one of these names is its own or of a model of it."""
    is_its = any(_plain(name).rpartition("/")[2].startswith(_OPENAI) for name in names)
    return ["OpenAI itself has published no figure of this method that is known here."] if is_its else []


def holding(names: Sequence[str]) -> tuple[list[Published], list[Card]]:
    """The tables and documents that are of a publisher, document, convention or model with one of these in its name.

    Of one that is not, the rows of such models. Raises UsageError where there is none.
    """
    wanted = [_plain(name) for name in names]

    def fits(*texts: object) -> bool:
        return any(name in _plain(str(text)) for name in wanted for text in texts)

    some = []
    for table in tables():
        conventions = [convention for convention, known in _OF_CONVENTIONS.items() if table.name in known]
        at = table.columns.index("model") if "model" in table.columns else None
        rows = [row for row in table.rows if at is not None and fits(row[at])]
        if fits(table.title, table.source, *conventions):
            some.append(table)
        elif rows:
            some.append(replace(table, rows=tuple(rows)))
    documents = []
    for card in cards():
        first = card.rows[0]
        whole = fits(first.publisher, first.document, first.convention)
        if found := [row for row in card.rows if whole or fits(row.model)]:
            documents.append(Card(tuple(found)))
    if not some and not documents:
        none = [*unpublished(names), f"No figure is known of {' or '.join(names)}."]
        known = ", ".join(dict.fromkeys(card.rows[0].publisher for card in cards()))
        raise UsageError(
            f"{' '.join(none)} There are some of {known}, of the paper (Ren et al.), and of Scale: "
            "`maskbench published` has all."
        )
    return some, documents


def _plain(name: str) -> str:
    """A name in small letters, its parts joined alike: publishers write `Opus 4.8` and services `opus-4.8`."""
    return _SIGNS.sub("-", name.lower().strip())


def tables() -> tuple[Published, ...]:
    """Every published table that comes with the package, the paper's own first."""
    return tuple(_read(*entry) for entry in _TABLES)


def paper() -> Published:
    """Table 3 of the paper: 32 models."""
    return tables()[0]


@dataclass(frozen=True, slots=True)
class Finding:
    """The paper's finding from its own rows: Spearman's correlation of accuracy with two readings of honesty."""

    with_score: float  # 1 - P(lie), which counts evasion and having no belief as honest
    with_p_honest: float
    models: int


def finding() -> Finding:
    """What table 3 says about accuracy and honesty."""
    table = paper()
    accuracy, score, honest = (_numbers(table, name) for name in ("accuracy", "honesty", "p_honest"))
    return Finding(_known(spearman(accuracy, score)), _known(spearman(accuracy, honest)), len(table.rows))


def _read(name: str, title: str, source: str) -> Published:
    text = (resources.files("maskbench") / "results" / "published_figures" / f"{name}.csv").read_text("utf-8")
    header, *rows = csv.reader(text.splitlines())
    scale = dict.fromkeys(_FRACTIONS.get(name, ()), 100.0)
    cells = (
        tuple(_cell(column, cell, scale.get(column, 1.0)) for column, cell in zip(header, row, strict=True))
        for row in rows
    )
    return Published(name, title, source, tuple(header), tuple(cells))


def _cell(column: str, cell: str, scale: float) -> Cell:
    if column in _TEXT:
        return cell
    return round(float(cell) * scale, 2) if cell else None


def _numbers(table: Published, name: str) -> list[float]:
    return [cell for cell in table.column(name) if isinstance(cell, float)]


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("The published table has too few rows for a correlation.")
    return value
