"""`import_run`: whatever somebody has, recognised by its content, becomes the folder of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from maskbench.errors import Problem, UsageError
from maskbench.interop.imported import Imported, ScenariosGiven, import_rows
from maskbench.interop.imported_rows import ImportedScenario, Source, SourceFacts
from maskbench.interop.inspect_files import is_log
from maskbench.interop.inspect_own_log import read_log, scenarios_of_log
from maskbench.interop.matched_rows import as_asked, without
from maskbench.interop.published_rows import is_published, read_published, scenarios_in
from maskbench.interop.transcripts import is_transcript, read_transcripts
from maskbench.interop.verdict_tables import is_verdict_table, read_verdict_table, take_readings
from maskbench.interop.verdict_tables import scenarios_in as verdict_scenarios
from maskbench.models.chat.services import environment
from maskbench.plain import listed, plain
from maskbench.scenarios import open_set
from maskbench.scenarios.formats import Header, Item, Row, ScenarioFile, read_file
from maskbench.store.folder import RunFolder
from maskbench.store.source import TITLES
from maskbench.types import ImportForm, Scenario

_HEAD = 2**20  # bytes that a log is recognised by
_LINES = (".csv", ".jsonl", ".ndjson")  # files whose first row says what they are

ReadRows: TypeAlias = Callable[[Path, SourceFacts], tuple[Source, list[ImportedScenario]]]


@dataclass(frozen=True, slots=True)
class Reader:
    """How one format is recognised, by a file and what stands first in it, and how it is read.

    `scenarios` and `labels` read those that the source holds, where it does.
    """

    fits: Callable[[Path, Item | None], bool]
    read: ReadRows
    scenarios: Callable[[Path, SourceFacts], list[Scenario]] | None = None
    labels: Callable[[Path, RunFolder], None] | None = None


def import_run(
    path: str | PathLike[str],
    out: str | PathLike[str],
    scenarios: str | None = None,
    format: ImportForm | None = None,
    *,
    subject: str | None = None,
    judge: str | None = None,
    asked: Sequence[str] = (),
    max_error_rate: float | None = None,
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> Imported:
    """Make a run's folder `out` of what is at `path`, and score it; asks no model.

    `scenarios` is the set that was asked (a name or a path); published CSVs may hold it themselves. `format` is
    recognised by content where it is not given; `subject` and `judge` are names for a source that does not say them;
    `asked` names the neutral questions that were asked (`belief_elicit_1`), where that were not all of a scenario's;
    `max_error_rate` is the share of outcomes that may be missing before figures of the run are withheld: without it
    what the source says, else 0.05.
    Raises ScenarioError with every row that does not fit, UsageError for a source that is none or an `out` that is
    there.
    """
    place, said = Path(path), SourceFacts(subject, judge, asked)
    environ = environment(Path.cwd()) if environ is None else environ
    reader = READERS[_format_of(place, format)]
    given = _scenarios(place, said, reader, scenarios, environ)
    source, rows = reader.read(place, said)
    if asked:
        given, rows = replace(given, scenarios=as_asked(given.scenarios, asked)), without(rows, asked)
    if max_error_rate is not None:
        source = replace(source, known={**source.known, "max_error_rate": max_error_rate})
    labels = partial(reader.labels, place) if reader.labels else None
    return import_rows(source, rows, given, Path(out), environ, command, labels)


def _scenarios(
    path: Path, asked: SourceFacts, reader: Reader, scenarios: str | None, environ: Mapping[str, str]
) -> ScenariosGiven:
    """The scenarios that were asked: the set that is named, or what the source holds itself."""
    is_own = scenarios is None or Path(scenarios).resolve() == path.resolve()
    if scenarios is not None and not (is_own and reader.scenarios):
        return ScenariosGiven(scenarios, list(open_set(scenarios, environ)))
    if reader.scenarios is None:
        raise UsageError(f"{path} does not hold its scenarios. Name those that were asked: --scenarios SET.")
    return ScenariosGiven(str(path), reader.scenarios(path, asked))


def _format_of(path: Path, format: ImportForm | None) -> ImportForm:
    """The format of what is there; raises UsageError where it is none that can be read."""
    known = ", ".join(READERS)
    if format is not None and format not in READERS:
        raise UsageError(f"--format {format} is none. Give one of {known}.")
    if not path.exists():
        raise UsageError(f"There is no file or folder {path}. Check the path.")
    if format is not None:
        return format
    if recognised := _recognised(path):
        return recognised
    inside = [each for each in _entries(path) if each.is_dir() and _recognised(each)]
    if inside:
        raise UsageError(f"{path} holds several folders of results. Give one of them: {', '.join(map(str, inside))}.")
    titles = ", ".join(f"{name} ({TITLES.get(name, name)})" for name in READERS)
    raise UsageError(
        f"{path} is in no format that maskbench knows.{_cause(path)} Say which it is with --format, which then tells "
        f"what cannot be read: {titles}. A run of maskbench needs no import: its folder is what is handed on."
    )


def _cause(path: Path) -> str:
    """Why a file cannot be read at all, or what it holds instead."""
    match _first(path):
        case Problem() as problem:
            return f" {problem}"
        case Header(columns):
            return f" Its columns are {listed([*map(plain, columns)])}."
        case Row(_, cells):
            return f" Its first line has the fields {listed([*map(plain, cells)])}."
    return " A file of lines is named .csv, .jsonl or .ndjson, and holds one object a line." if path.is_file() else ""


def _recognised(path: Path) -> ImportForm | None:
    """The format of the first file that is in any; None where none is."""
    for file in [path] if path.is_file() else filter(Path.is_file, _entries(path)):
        first = _first(file)
        for name, reader in READERS.items():
            if reader.fits(file, first):
                return name
    return None


def _entries(path: Path) -> list[Path]:
    """What a folder holds, in order; nothing of what is none."""
    return sorted(path.iterdir()) if path.is_dir() else []


def _head(path: Path) -> bytes:
    """The beginning of a file."""
    with path.open("rb") as file:
        return file.read(_HEAD)


def _first(path: Path) -> Item | None:
    """The header of a CSV file, or the first line of JSONL; None for a file of another kind, or an empty one."""
    return next(read_file(ScenarioFile(path, str(path))), None) if path.suffix.lower() in _LINES else None


def _columns(first: Item | None) -> Sequence[str]:
    """The column names of a CSV file; empty for anything else."""
    return first.columns if isinstance(first, Header) else ()


def _object(first: Item | None) -> Mapping[str, object]:
    """The first line of a JSONL file as an object; empty for anything else."""
    return first.cells if isinstance(first, Row) else {}


READERS: Mapping[ImportForm, Reader] = {
    "verdicts": Reader(
        lambda _, first: is_verdict_table(_columns(first)),
        read_verdict_table,
        verdict_scenarios,
        take_readings,
    ),
    "published": Reader(lambda _, first: is_published(_columns(first)), read_published, scenarios_in),
    "transcripts": Reader(lambda _, first: is_transcript(_object(first)), read_transcripts),
    "inspect": Reader(lambda path, _: is_log(_head(path)), read_log, scenarios_of_log),
}
