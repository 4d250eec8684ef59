"""The files of a scenario set → its scenarios, in one pass, and everything that is wrong with them and their words."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from maskbench.errors import Problem, ScenarioError
from maskbench.method.archetypes import TABLE
from maskbench.method.rules import agree
from maskbench.scenarios.formats import Header, ScenarioFile, read_file
from maskbench.scenarios.neutral import Conversations
from maskbench.scenarios.rows import COLUMNS, read_row, required_columns
from maskbench.types import Archetype, Definition, Range, Scenario

MANY = 1_000  # problems after which iterating gives up; `scan` goes on to the end
_ABSENT = "the column is missing"
_COLUMNS = ", as its columns are not those that docs/scenarios.md describes (published MASK files have them)"
WORDS: Mapping[str, tuple[str, ...]] = {
    "difficulty": ("easy", "middling", "hard"),
    "pressure_from": ("operator", "user", "kindness", "grief", "threat_to_model", "authority", "nobody"),
    "withholding": ("yes", "no"),
    "control": ("truth", "plain"),
    "source_checked": ("read", "general knowledge", "invented"),
}
YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """A set of scenarios, read anew and a row at a time whenever it is iterated over."""

    name: str
    files: tuple[ScenarioFile, ...]
    problems: tuple[Problem, ...] = ()  # of the set as a whole, found before any row is read
    licence: str | None = None
    drawn: tuple[Scenario, ...] = ()  # made by a program and in no file
    own: Mapping[Archetype, Definition] = field(default_factory=dict)  # archetypes that the set brings

    def __iter__(self) -> Iterator[Scenario]:
        """Every scenario, in the order of the files.

        Raises ScenarioError with every problem after the last row, or at the 1,000th problem.
        """
        problems = []
        for item in self.scan():
            if isinstance(item, Scenario):
                yield item
            else:
                problems.append(item)
            if len(problems) == MANY:
                break
        if problems:
            absent = any(problem.problem == _ABSENT for problem in problems)
            raise ScenarioError(f"The scenario set {self.name} cannot be used{_COLUMNS if absent else ''}:", problems)

    def scan(self, *, described: bool = False) -> Iterator[Scenario | Problem]:
        """Every scenario, and every problem in its place; `described`: also in columns that no measurement reads.

        Of a scenario that has gone by, its place and a digest of its identity are kept, and of a neutral conversation
        that has a name those of what is asked in it; no more.
        """
        yield from self.problems
        yield from self.drawn
        seen: dict[bytes, tuple[str, int]] = {}
        conversations = Conversations()
        for file in self.files:
            for item in _scan_file(file, {**TABLE, **self.own}):
                yield item if isinstance(item, Problem) else _once(seen, file, *item)
                if not isinstance(item, Problem):
                    yield from conversations.problems(file.shown, *item)
                if described and not isinstance(item, Problem):
                    yield from described_wrongly(item[1], file.shown, item[0])


def _once(seen: dict[bytes, tuple[str, int]], file: ScenarioFile, row: int, scenario: Scenario) -> Scenario | Problem:
    digest = hashlib.sha256(json.dumps(scenario.key).encode()).digest()[:16]
    first_file, first_row = seen.setdefault(digest, (file.shown, row))
    if (first_file, first_row) == (file.shown, row):
        return scenario
    twice = f"{scenario.archetype} {scenario.task_id} is in {first_file}, row {first_row}, already"
    return file.problem(row, "task_id", twice, "Give it an id of its own, or remove it")


def _scan_file(file: ScenarioFile, known: Mapping[Archetype, Definition]) -> Iterator[tuple[int, Scenario] | Problem]:
    """Every scenario of a file with the number of its row, and every problem; `known` are all archetypes."""
    columns = _Columns(file, known.get(file.archetype or ""))
    for item in read_file(file):
        if isinstance(item, Problem):
            yield item
        elif isinstance(item, Header):
            yield from columns.check_header(item.columns)
        else:
            yield from columns.check_names(item.cells)
            reading = read_row(item.cells, file.shown, item.number, file.archetype, known)
            if isinstance(reading, Scenario):
                yield item.number, reading
            else:
                yield from (problem for problem in reading if problem.column not in columns.absent)


class _Columns:
    """What is wrong with the columns of a file, each thing said once and not again for every row."""

    def __init__(self, file: ScenarioFile, definition: Definition | None) -> None:
        self._file = file
        self._definition = definition
        self._known = set(COLUMNS)
        self.absent: set[str] = set()

    def check_header(self, columns: Sequence[str]) -> Iterator[Problem]:
        """Columns that are missing, stand there twice, or have nearly the right name."""
        for column, count in Counter(columns).items():
            if count > 1:
                yield self._file.problem(None, column, f"there are {count} such columns", "Keep one")
        yield from self.check_names(columns)
        for column in required_columns(self._definition, columns):
            if column not in columns:
                self.absent.add(column)
                yield self._file.problem(None, column, _ABSENT, "Add it")

    def check_names(self, columns: Iterable[str]) -> Iterator[Problem]:
        """A further column is kept and not used, so one that only looks like a known one must not pass."""
        for column in columns:
            if column in self._known:
                continue
            if alike := LOOK_ALIKE.get(_letters(column)):
                yield self._file.problem(None, column, f"the column's name is not quite {alike}", "Rename it")
            self._known.add(column)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


LOOK_ALIKE = {_letters(column): column for column in COLUMNS}


def described_wrongly(scenario: Scenario, file: str, row: int) -> Iterator[Problem]:
    """Every cell of a row with another word than its column has, and a source that is named by halves."""
    for column, words in WORDS.items():
        if (written := scenario.extra.get(column, words[0])) not in words:
            yield Problem(file, row, column, f"{written[:60]!r} is none of its words", f"Write {', '.join(words)}")
    yield from _false_figure(scenario, file, row)
    source, year = (scenario.extra.get(column) for column in ("source", "source_year"))
    if year is not None and not YEAR.fullmatch(year):
        yield Problem(file, row, "source_year", f"{year[:60]!r} is no year", "Write the year of the source, as 2019")
    if scenario.extra.get("source_checked") and not (source and year):
        empty = "source_year" if source else "source"
        yield Problem(file, row, empty, "the cell is empty, and source_checked is not", "Name title and year")
    if scenario.extra.get("control") == "plain" and scenario.extra.get("pressure_from", "nobody") != "nobody":
        yield Problem(file, row, "pressure_from", "a twin without pressure names who presses", "Write nobody")


def _false_figure(scenario: Scenario, file: str, row: int) -> Iterator[Problem]:
    """The figure that the pressure names must not pass for the truth, both being widened (method.md section 4)."""
    if (written := scenario.extra.get("false_figure")) is None:
        return
    figure = _number(written)
    if figure is None or not isinstance(scenario.truth, Range):
        wrong = "the scenario is not numerical" if figure is not None else f"{written[:60]!r} is no number"
        yield Problem(file, row, "false_figure", wrong, "Write the figure that the pressure names")
    elif agree(Range(figure, figure), scenario.truth):
        near = f"{figure:g} agrees with the truth, {scenario.truth.low:g} to {scenario.truth.high:g}, within 5 %"
        yield Problem(file, row, "false_figure", near, "Name a figure farther off: this lie would count as honest")


def _number(written: str) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
