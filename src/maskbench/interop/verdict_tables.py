"""A run as a table of verdicts, without its texts: `verdicts.csv`, beside it `run.toml` and what readers say.

A row a scenario: archetype, task_id, `proposition` by number, `truth`, the verdict on the `statement` and on each
belief reply (a letter, or the four bounds of the published scripts), `equal_replies` (groups of places, joined by =)
and `lost_replies` (places whose reply was lost; a verdict there was given on what stood in its place). `run.toml` says
whose replies these are and who judged; `readings.csv` has what readers make of the replies of a drawn sample.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from maskbench.errors import Problem, UsageError
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario, Source, SourceFacts, file_of, refuse
from maskbench.interop.published_rows import joined
from maskbench.interop.published_verdicts import bounds_of, verdict_in
from maskbench.method import archetypes
from maskbench.method.verdict import from_json
from maskbench.plain import read_toml
from maskbench.results.people.labelled_outcomes import drawn, prepare
from maskbench.scenarios.formats import Row, ScenarioFile, read_file
from maskbench.scenarios.textless import plain_scenario
from maskbench.store.folder import RunFolder
from maskbench.store.labels import New, Role
from maskbench.store.source import UNSAID
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Failure, Judgement, Kind, NumericalVerdict, Option, Place, Range, Reply, Scenario, Verdict

TABLE, ABOUT, READINGS = "verdicts.csv", "run.toml", "readings.csv"
_NEEDED = frozenset({"archetype", "task_id", "proposition", "truth", "statement", "belief_1_1"})
_BELIEF = re.compile(r"belief_(?P<question>[123])(?:_(?P<run>[1-9]\d{0,2}))?")
_ABSENT = ("texts", "how the subject was sampled", "which replies were cut at the token limit", "tokens and time")
_LOST = "The reply was lost where it was asked for."


def is_verdict_table(columns: Sequence[str]) -> bool:
    """Whether a CSV with these columns is a table of verdicts."""
    return set(columns) >= _NEEDED


@dataclass(frozen=True, slots=True)
class _About:
    """What `run.toml` says: whose replies, judged by whom, from where, and whether options changed places by a coin."""

    subject: str | None = None
    judge: str | None = None
    source: str | None = None
    exchanged: bool = False
    seed: int = 0  # by which the sample of the readings was drawn
    readers: str = ""  # who read: `person`, or `model:ID`

    @classmethod
    def read(cls, folder: Path) -> _About:
        """The file beside the table; nothing is known where there is none."""
        path = folder / ABOUT
        try:
            plain = read_toml(path.read_text(encoding="utf-8")) if path.exists() else {}
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path} cannot be read ({error}). Mend it, or take it away.") from error
        known: dict[str, type] = {
            "subject": str,
            "judge": str,
            "source": str,
            "exchanged": bool,
            "seed": int,
            "readers": str,
        }
        for name, value in plain.items():
            if name not in known or type(value) is not known[name]:
                raise UsageError(f"{path}: {name} = {value!r} is not known. The fields are {', '.join(known)}.")
        return cls(**plain)


def _table(path: Path) -> Path:
    return path / TABLE if path.is_dir() else path


def _rows(file: Path) -> list[dict[str, str]]:
    items = list(read_file(ScenarioFile(file, str(file))))
    refuse(file, [item for item in items if isinstance(item, Problem)])
    return [item.cells for item in items if isinstance(item, Row)]


def place_of(column: str) -> Place | None:
    """The sample that a column is about: its elicitation and run; None for another column."""
    if column == "statement":
        return 0, 1
    match = _BELIEF.fullmatch(column)
    return (int(match["question"]), int(match["run"] or 1)) if match else None


def scenarios_in(path: Path, asked: SourceFacts) -> list[Scenario]:
    """The scenarios of the table, without texts; raises ScenarioError with every row that is none."""
    read = [_scenario(row, number, path) for number, row in enumerate(_rows(_table(path)), start=1)]
    refuse(path, [each for each in read if isinstance(each, Problem)])
    return [each for each in read if isinstance(each, Scenario)]


def _scenario(row: Mapping[str, str], number: int, path: Path) -> Scenario | Problem:
    shown = str(_table(path))
    definition = archetypes.TABLE.get(row["archetype"])
    if definition is None:
        known = ", ".join(archetypes.TABLE)
        return Problem(shown, number, "archetype", f"{row['archetype']!r} is not known", f"Give one of {known}")
    bounds = None if row["truth"] in ("A", "B") else bounds_of(row["truth"])
    if row["truth"] not in ("A", "B") and (bounds is None or len(bounds) != 2):
        return Problem(shown, number, "truth", f"{row['truth']!r} is no truth", "Give A or B, or [low, high]")
    if not row["proposition"].isdecimal():
        return Problem(shown, number, "proposition", f"{row['proposition']!r} is no number", "Number the propositions")
    truth: Option | Range = Range.between(*bounds) if bounds else "B" if row["truth"] == "B" else "A"
    places = {place for column, cell in row.items() if cell and (place := place_of(column))}
    return plain_scenario(
        row["archetype"],
        row["task_id"],
        _kind(row),
        int(row["proposition"]),
        truth,
        asked=frozenset(elicitation for elicitation, _ in places),
        scripted=definition.scripted,
    )


def _kind(row: Mapping[str, str]) -> Kind:
    return "binary" if row["truth"] in ("A", "B") else "numerical"


def read_verdict_table(path: Path, asked: SourceFacts) -> tuple[Source, list[ImportedScenario]]:
    """What a table has on every scenario; raises UsageError where nobody says whose replies these are."""
    about, file = _About.read(_table(path).parent), _table(path)
    subject, judge = asked.subject or about.subject, asked.judge or about.judge
    if subject is None:
        raise UsageError(f"{path} does not say which model answered. Add --subject NAME, or {ABOUT} with subject.")
    source = Source(
        format="verdicts",
        files=[file_of(file)],
        subject=subject,
        judge=judge or UNSAID,
        absent=(*_ABSENT, *(() if judge else ("the judge",))),
        notes=[about.source] if about.source else [],
        textless=True,
        exchanged=about.exchanged,
    )
    return source, [_imported(row, number, str(file)) for number, row in enumerate(_rows(_table(path)), start=1)]


def _imported(row: Mapping[str, str], number: int, shown: str) -> ImportedScenario:
    lost = set(row.get("lost_replies", "").split())
    groups = [group.split("=") for group in row.get("equal_replies", "").split()]
    first = {place: group[0] for group in groups for place in group}
    columns = [column for column, cell in row.items() if cell and place_of(column)]
    numbers = {name: at for at, name in enumerate(dict.fromkeys(first.get(each, each) for each in columns), start=1)}
    replies = [
        ImportedReply(
            *(place_of(column) or (0, 1)),
            Failure("subject", "absent", _LOST)
            if column in lost
            else Reply(f"Reply {numbers[first.get(column, column)]}"),
            _given(row[column], _kind(row)),
        )
        for column in columns
    ]
    return ImportedScenario(
        file=shown,
        row=number,
        task_id=row["task_id"],
        replies=joined(replies) if _kind(row) == "numerical" else replies,
        archetype=row["archetype"],
    )


def _given(cell: str, kind: Kind) -> Judgement | Failure | None:
    verdict = verdict_in(None, cell, kind)
    return replace(verdict, reason=None) if isinstance(verdict, Judgement) else verdict and replace(verdict, detail="")


# Readings


def take_readings(path: Path, folder: RunFolder) -> None:
    """Take what readers say into the labels of the run, where it stands beside the table.

    The sample is drawn anew by the seed of `run.toml`, and has to be the one that was read.
    """
    file = _table(path).parent / READINGS
    if not file.exists():
        return
    rows = _rows(file)
    about = _About.read(file.parent)
    size = len({(row["archetype"], row["task_id"]) for row in rows})
    with OpenRun(folder) as run:
        labels = prepare(run, size, about.seed)
        parts = {
            (*each.scenario.key, place): part.id
            for each in drawn(run, labels.design())
            for part in each.parts
            for place in part.places
        }
    given: dict[tuple[str, Role], dict[str, Verdict]] = {}
    for number, row in enumerate(rows, start=1):
        for name, role, verdict in _readings(row, file, number):
            for place in filter(None, map(place_of, row["replies"].split())):
                if (reply := parts.get((row["archetype"], row["task_id"], place))) is not None:
                    given.setdefault((name, role), {})[reply] = verdict
                elif place[0] == 0 or row["archetype"] != "statistics":  # a number's direct replies are one
                    problem = f"{row['task_id']} is not in the sample that seed {about.seed} draws"
                    raise UsageError(f"{file}, row {number}: {problem}. Give the seed of the readings in {ABOUT}.")
    for (name, role), verdicts in given.items():
        kept = labels.enter(name, role)
        labels.keep_kinds({kept: about.readers})
        labels.put_all([(kept, New(reply, verdict, 0, f"{name} {reply}")) for reply, verdict in verdicts.items()])


def _readings(row: Mapping[str, str], file: Path, number: int) -> Iterator[tuple[str, Role, Verdict]]:
    """What each reader says of a reply; a third decides where two differ."""
    for name in ("reader_1", "reader_2"):
        yield name.replace("_", " "), "rater", _verdict(row[name], file, number, name)
    if row["reader_1"] != row["reader_2"]:
        yield "third reader", "adjudicator", _verdict(row["settled"], file, number, "settled")


def _verdict(cell: str, file: Path, number: int, column: str) -> Verdict:
    """A letter, a range as `low..upper` (an open side is empty), or N for no number."""
    if cell in ("A", "B", "C", "D"):
        return from_json(cell)
    if cell == "N":
        return NumericalVerdict()
    low, dots, high = cell.partition("..")
    try:
        if dots:
            return NumericalVerdict(float(low) if low else None, float(high) if high else None)
    except ValueError:
        pass
    raise UsageError(f"{file}, row {number}, {column}: {cell!r} is no reading. Give A to D, N, or low..high.")
