"""Labels as CSV, a row each: out with their texts for a spreadsheet, and back in by the ids alone.

Back in, a row is known by its reply's id; every other text, and every further column, is for people and is not read.
Text that a spreadsheet
could take for a formula has an apostrophe in front.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast, get_args

from maskbench.errors import Problem, UsageError
from maskbench.method.verdict import BOUNDS, from_json, is_evasion
from maskbench.plain import unformula
from maskbench.results.people.label_units import LabelUnit
from maskbench.results.people.labelled_outcomes import Drawn
from maskbench.results.people.readers import is_kind
from maskbench.store.labels import Given, LabelStore, New, Role, checked, folded
from maskbench.types import EVASIONS_OF, BinaryVerdict, NumericalVerdict, Verdict

_READ = ("rater", "role", "reply_id", "verdict", *BOUNDS, "evasion")
_TEXTS = ("call", "option_a", "option_b", "conversation", "reply")
_KIND = "kind"  # person or model:ID, where it was said; a file may lack it
COLUMNS = (*_READ, _KIND, "written", *_TEXTS)
_DRAWN = ("archetype", "task_id", "chance")  # not for raters: a chance tells of the judge's outcome
_SHOWN = 10  # wrong rows that are named in the error
_LARGEST_FIELD = 10_000_000  # characters; csv's own limit is lower than what a model may reply
Row: TypeAlias = dict[str, str | float | None]
LETTERS = ("A", "B", "C", "D")
NUMBERS = "numbers"  # the verdict of a row whose bounds hold it, if it has any


def write(labels: LabelStore, scenarios: Sequence[Drawn], to: Path) -> int:
    """Write every label that stands, with its scenario and the chance that it was drawn; returns how many.

    Raises UsageError where the file cannot be written.
    """
    parts = {part.id: (part, scenario) for scenario in scenarios for part in scenario.parts}
    roles, kinds, latest = labels.raters(), labels.kinds(), labels.latest()
    rows = [
        _row(rater, roles[rater], parts[reply][0], given) | _drawn(parts[reply][1]) | {_KIND: kinds[rater]}
        for rater, own in latest.items()
        for reply, given in own.items()
        if reply in parts and given.verdict is not None
    ]
    _write(to, (*COLUMNS, *_DRAWN), rows)
    return len(rows)


def write_for(labels: LabelStore, scenarios: Sequence[Drawn], to: Path, rater: str) -> tuple[int, int]:
    """Write one rater's labels, and a row without a verdict for what that rater has still to label.

    Nobody else's labels are in it, and nothing that tells of the judge. Returns how many of both there are. Raises
    UsageError where the file cannot be written.
    """
    name = labels.find(rater) or checked(rater)
    if labels.raters().get(name) == "adjudicator":
        raise UsageError(f"--rater {name}: {name} adjudicates this run. Leave it out, and all labels are written.")
    own = {reply: given for reply, given in labels.latest().get(name, {}).items() if given.verdict is not None}
    parts = [part for scenario in scenarios for part in scenario.parts]
    _write(to, COLUMNS, [_row(name, "rater", part, own.get(part.id)) for part in parts])
    had = sum(part.id in own for part in parts)
    return had, len(parts) - had


def _write(to: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    try:
        with to.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UsageError(f"{to} cannot be written ({error.strerror}). Give another --out.") from error


def _drawn(about: Drawn) -> Row:
    archetype, task = about.scenario.key
    return {"archetype": archetype, "task_id": unformula(task), "chance": about.chance}


def _row(rater: str, role: Role, part: LabelUnit, given: Given | None) -> Row:
    verdict = given.verdict if given else None
    known: Row = {"rater": rater, "role": role, "reply_id": part.id, "call": part.call}
    if isinstance(verdict, NumericalVerdict):
        bounds: Row = {bound: getattr(verdict, bound) for bound in BOUNDS}
        known |= {"verdict": NUMBERS} | {bound: value for bound, value in bounds.items() if value is not None}
    elif verdict:
        known["verdict"] = verdict.letter
    turns = "\n\n".join(f"[{who}] {text}" for who, text in part.conversation)
    texts = dict(zip(("option_a", "option_b"), part.claims, strict=False))
    texts |= {"conversation": turns, "reply": "\n\n".join(part.replies), "evasion": (verdict and verdict.evasion) or ""}
    known["written"] = given.written if given else ""
    return known | {name: unformula(text) for name, text in texts.items()}


def read(labels: LabelStore, scenarios: Sequence[Drawn], source: Path) -> tuple[int, int]:
    """Take labels in from a CSV file, all or none; returns how many are new, and how many were there already.

    Rows without a verdict are passed over. Raises UsageError where the file cannot be read, and Refused with every row
    that is wrong: a label is never replaced by another from a file.
    """
    parts = {part.id: part for scenario in scenarios for part in scenario.parts}
    rows: list[_Read] = []
    problems: list[Problem] = []
    for number, row in list(_rows(source)):
        try:
            rows += [label] if (label := _label(number, row, parts)) else []
        except _Wrong as wrong:
            problems.append(Problem(source.name, number, wrong.column, *wrong.args))
    if problems:
        raise Refused(source, problems)
    return _take(labels, rows, source)


class Refused(UsageError):
    """A file with labels of which some are wrong; `problems` holds all of them."""

    def __init__(self, source: Path, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            shown.append(f"... and {len(self.problems) - _SHOWN} more.")
        super().__init__("\n  ".join([f"{source} is not taken in, nothing of it:", *shown]))


@dataclass(frozen=True, slots=True)
class _Read:
    """A label as a row of the file gives it."""

    row: int
    rater: str
    role: Role
    reply: str
    verdict: Verdict
    kind: str


class _Wrong(Exception):
    def __init__(self, column: str, problem: str, remedy: str) -> None:
        self.column = column
        super().__init__(problem, remedy)


def _rows(source: Path) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(_LARGEST_FIELD)
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            file.seek(0)
            # Where the comma is the decimal sign, spreadsheets write semicolons.
            mark = max(",;\t", key=head.count)
            reader = csv.DictReader(file, restval="", delimiter=mark)
            missing = [name for name in _READ if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(
                    f"{source} has no column {', '.join(missing)}. Use a file that `maskbench label --out` wrote."
                )
            for number, row in enumerate(reader, start=1):
                cells = {name: (row.get(name) or "").strip() for name in (*_READ, _KIND)}
                yield number, cells if mark == "," else {**cells, **{name: _point(cells[name]) for name in BOUNDS}}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{source} cannot be read as CSV in UTF-8 ({error}).") from error


def _point(number: str) -> str:
    return number if "." in number else number.replace(",", ".")


def _label(number: int, row: Mapping[str, str], parts: Mapping[str, LabelUnit]) -> _Read | None:
    if not row["verdict"] and not any(row[bound] for bound in BOUNDS):
        return None
    part = parts.get(row["reply_id"])
    if part is None:
        raise _Wrong("reply_id", f"{row['reply_id'][:40]!r} is no reply of this run's sample", "Import it into its run")
    if row["role"] not in get_args(Role):
        raise _Wrong("role", f"{row['role'][:40]!r} is no role", f"Give {' or '.join(get_args(Role))}")
    if not row["rater"]:
        raise _Wrong("rater", "there is no name", "Give the rater's name")
    verdict = _numbers(row) if part.kind == "numerical" else _letter(row)
    if row[_KIND] and not is_kind(row[_KIND]):
        raise _Wrong(_KIND, f"{row[_KIND][:40]!r} is no kind of rater", "Give person, or model: with its id")
    verdict = _with_kind(verdict, row["evasion"])
    return _Read(number, row["rater"], cast(Role, row["role"]), part.id, verdict, row[_KIND])


def _letter(row: Mapping[str, str]) -> Verdict:
    letter = row["verdict"].upper()
    if letter not in LETTERS:
        raise _Wrong("verdict", f"{row['verdict'][:40]!r} is no verdict on options", "Give A, B, C or D")
    for bound in BOUNDS:
        if row[bound]:
            raise _Wrong(bound, "this reply is about options, not about a number", "Leave it empty")
    return from_json(letter)


def _numbers(row: Mapping[str, str]) -> Verdict:
    if row["verdict"] not in ("", NUMBERS):
        raise _Wrong("verdict", f"{row['verdict'][:40]!r} on a reply about a number", f"Give {NUMBERS}, and the bounds")
    values: dict[str, str | None] = dict.fromkeys(BOUNDS)
    for bound in BOUNDS:
        try:
            values[bound] = row[bound].removeprefix("'") or None
            verdict = from_json(values)
        except (ValueError, OverflowError):
            problem = f"{row[bound][:40]!r} is no number"
            raise _Wrong(bound, problem, "Write it like 1234.5, or leave it empty") from None
    return verdict


def _with_kind(verdict: Verdict, kind: str) -> Verdict:
    if not kind:
        return verdict
    known = EVASIONS_OF["binary" if isinstance(verdict, BinaryVerdict) else "numerical"]
    if kind not in known or not is_evasion(verdict):
        raise _Wrong("evasion", f"{kind[:40]!r} does not stand here", f"Beside C or no number: {', '.join(known)}")
    return replace(verdict, evasion=kind)


def _take(labels: LabelStore, rows: Sequence[_Read], source: Path) -> tuple[int, int]:
    latest, problems = labels.latest(), []
    new: dict[tuple[str, str], New] = {}
    names: dict[str, str] = {}
    roles: dict[str, Role] = {}
    for row in rows:
        name = names.setdefault(folded(row.rater), labels.find(row.rater) or row.rater)
        if roles.setdefault(name, row.role) != row.role:
            problem = f"{name} is {roles[name]} in another row"
            problems.append(Problem(source.name, row.row, "role", problem, "Give the adjudicator a name of its own"))
            continue
        place, had = (name, row.reply), latest.get(name, {}).get(row.reply, Given(0, None))
        known = new[place].verdict if place in new else had.verdict
        if known is not None and known != row.verdict:
            words = known.letter if isinstance(known, BinaryVerdict) else "with other numbers"
            problem = f"{name} has labelled this reply {words} already, and this says another thing"
            remedy = "Leave the row out, or change it on the page"
            problems.append(Problem(source.name, row.row, "verdict", problem, remedy))
        elif known is None:
            content = f"{name}\0{row.reply}\0{had.number}\0{row.verdict!r}"
            ticket = f"import {hashlib.sha256(content.encode()).hexdigest()}"
            new[place] = New(row.reply, row.verdict, had.number, ticket)
    if problems:
        raise Refused(source, problems)
    kept = {name: labels.enter(name, role) for name, role in roles.items()}
    labels.put_all([(kept[name], label) for (name, _), label in new.items()])
    if kinds := {row.rater: row.kind for row in rows if row.kind}:
        labels.keep_kinds(kinds)
    return len(new), len(rows) - len(new)
