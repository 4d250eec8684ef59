"""A run written to files for other programs: JSONL, CSV, Parquet, or the published scripts' CSV."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias

import orjson
from msgspec import to_builtins

from maskbench.errors import UsageError
from maskbench.interop.published_csv import write_published
from maskbench.method.rules import named
from maskbench.plain import escaped, plain, unformula
from maskbench.results.outcome_rows import Cell, OutcomeRow, columns, flat, rows
from maskbench.results.people.labelled_outcomes import labels_of
from maskbench.results.together import check_together
from maskbench.settings import Settings
from maskbench.store.verdict_sets import Readable, reading
from maskbench.types import RowForm, Scenario

BATCH = 1024  # scenarios of a Parquet file that are rows before they are columns
Pairs: TypeAlias = Iterable[tuple[Scenario, OutcomeRow]]
Safe: TypeAlias = Callable[[str], str]  # what text goes through on its way into a cell


def write_jsonl(lines: Iterable[OutcomeRow], file: IO[bytes]) -> None:
    """One JSON object a line, UTF-8."""
    for row in lines:
        file.write(escaped(orjson.dumps(to_builtins(row)).decode()).encode() + b"\n")


def write_csv(lines: Iterable[OutcomeRow], file: IO[str], names: list[str], safe: Safe = unformula) -> None:
    """The flat form as CSV, every text through `safe`; as it is, a spreadsheet could take some for formulas."""
    # All text in quotes: a carriage return in a bare cell would end the row for readers.
    writer = csv.DictWriter(file, names, restval="", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    for row in map(flat, lines):
        writer.writerow({name: safe(value) if isinstance(value, str) else value for name, value in row.items()})


def write_parquet(lines: Iterable[OutcomeRow], file: IO[bytes], names: list[str]) -> None:
    """The flat form as Parquet, every column typed: numbers, `truncated` a boolean, the rest text."""
    from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema
    from arro3.io import write_parquet as written

    def kind(name: str) -> DataType:
        if name == "weight" or name.endswith("_confidence"):
            return DataType.float64()
        return DataType.bool() if name.endswith("_truncated") else DataType.string()

    def batch(rows: Sequence[Mapping[str, Cell]]) -> RecordBatch:
        columns = [Array([row.get(field.name) for row in rows], field) for field in fields]
        return RecordBatch.from_arrays(columns, schema=schema)

    fields = [Field(name, kind(name), nullable=True) for name in names]
    schema, waiting = Schema(fields), map(flat, lines)
    batches = [batch(rows) for rows in iter(lambda: list(islice(waiting, BATCH)), [])]
    written(RecordBatchReader.from_batches(schema, batches), file, compression="zstd(3)")


def write(
    run: Readable,
    rules: str | None,
    form: RowForm,
    to: Path | None,
    *,
    raw: bool = False,
    verdicts: str | None = None,
) -> tuple[int, str]:
    """Write a run in one form: JSONL and CSV to a file or to stdout, Parquet to a file, `published` to a folder.

    Returns how many scenarios are left out since they are not done, and what to do about it, without a stop. Text that
    a spreadsheet could take for a formula is made harmless in CSV, unless `raw`. `verdicts` names a verdict set
    (default: the run's own). Raises UsageError where a form needs a place that is not given, and for an unknown set.
    """
    check_together("export", format=form, out=to, raw=raw)
    written: Counter[str] = Counter()
    try:
        with reading(run) as opened:
            judged = opened.verdicts(verdicts)
            names = columns(judged.settings)
            chosen_rules = named(rules or opened.settings.design.rules)
            labels = labels_of(opened, chosen_rules) if form == "jsonl" else {}
            lines = rows(judged, chosen_rules, labels, as_published=form == "published")
            counted = _counted(lines, written)
            _write(counted, judged.settings, names, form, to, raw)
            return opened.store.count() - written["rows"], judged.go_on(opened.folder.path)
    except BrokenPipeError:
        raise  # whoever reads our stdout has seen enough
    except OSError as error:
        place = error.filename or to or "stdout"
        raise UsageError(f"{place} cannot be written ({error.strerror}). Try another --to.") from error


def _counted(pairs: Pairs, written: Counter[str]) -> Iterator[tuple[Scenario, OutcomeRow]]:
    for pair in pairs:
        written["rows"] += 1
        yield pair


def _write(
    pairs: Iterable[tuple[Scenario, OutcomeRow]],
    settings: Settings,
    names: list[str],
    form: RowForm,
    to: Path | None,
    raw: bool,
) -> None:
    lines = (row for _, row in pairs)
    match form:
        case "published" if to:
            write_published(pairs, settings, to, str if raw else unformula)
        case "parquet" if to:
            with to.open("wb") as file:
                write_parquet(lines, file, names)
        case "jsonl":
            with _file(to) as file:
                write_jsonl(lines, file)
        case "csv":
            with _file(to) as file:
                text = io.TextIOWrapper(file, "utf-8", newline="")
                write_csv(lines, text, names, _safe(raw, to is None and sys.stdout.isatty()))
                text.detach()


def _safe(raw: bool, on_terminal: bool) -> Safe:
    """What text goes through on its way into a CSV cell."""
    shown: Safe = partial(plain, lines=True) if on_terminal else str
    return shown if raw else lambda text: unformula(shown(text))


@contextmanager
def _file(to: Path | None) -> Iterator[IO[bytes]]:
    if to is None:
        yield sys.stdout.buffer
    else:
        with to.open("wb") as file:
            yield file
