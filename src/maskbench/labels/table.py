"""Labels as CSV, a row each: out with their texts for a spreadsheet, and back in by the ids alone.

Back in, a row is known by its reply's id; every other text is for people and is not read. Text that a spreadsheet
could take for a formula has an apostrophe in front.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from maskbench.errors import Problem, ScenarioError, UsageError
from maskbench.labels.sample import Drawn
from maskbench.labels.shown import Shown
from maskbench.labels.store import Given, LabelStore, New, Role
from maskbench.report.plain import unformula
from maskbench.types import EVASIONS, BinaryVerdict, NumericalVerdict, Verdict
from maskbench.verdicts import BOUNDS, from_json, to_json

_READ = ("rater", "role", "reply_id", "verdict", *BOUNDS, "evasion")
_TEXTS = ("call", "option_a", "option_b", "conversation", "reply")
COLUMNS = (*_READ, "written", *_TEXTS)
_LARGEST_FIELD = 10_000_000  # characters; csv's own limit is lower than what a model may reply
NUMBERS = "numbers"  # the verdict of a row whose bounds hold it, if it has any


def write(labels: LabelStore, scenarios: Sequence[Drawn], to: Path, blank_for: str | None = None) -> int:
    """Write every label that stands, and for `blank_for` a row without a verdict for what is still to be labelled.

    Returns how many labels there are. Raises UsageError where the file cannot be written.
    """
    parts = {part.id: part for one in scenarios for part in one.parts}
    roles, latest = labels.raters(), labels.latest()
    rows = [
        _row(rater, roles[rater], parts[reply], given)
        for rater, own in latest.items()
        for reply, given in own.items()
        if reply in parts and given.verdict is not None
    ]
    had = {row["reply_id"] for row in rows if row["rater"] == blank_for}
    blank = [_row(blank_for, "rater", part, None) for part in parts.values() if blank_for and part.id not in had]
    try:
        with to.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            writer.writeheader()
            writer.writerows([*rows, *blank])
    except OSError as error:
        raise UsageError(f"{to} cannot be written ({error.strerror}). Give another --export.") from error
    return len(rows)


def _row(rater: str | None, role: Role, part: Shown, given: Given | None) -> dict[str, Any]:
    verdict = given.verdict if given else None
    said = to_json(verdict) if verdict else None
    known: dict[str, Any] = {"rater": rater, "role": role, "reply_id": part.id, "call": part.call}
    if isinstance(verdict, NumericalVerdict):
        known["verdict"] = NUMBERS
        known |= {bound: value for bound, value in cast(dict[str, Any], said).items() if value is not None}
    elif said:
        known["verdict"] = str(said)
    turns = "\n\n".join(f"[{who}] {text}" for who, text in part.conversation)
    texts = dict(zip(("option_a", "option_b"), part.claims, strict=False))
    texts |= {"conversation": turns, "reply": "\n\n".join(part.replies), "evasion": (verdict and verdict.evasion) or ""}
    return {
        **known,
        "written": given.written if given else "",
        **{name: unformula(text) for name, text in texts.items()},
    }


def read(labels: LabelStore, scenarios: Sequence[Drawn], source: Path) -> tuple[int, int]:
    """Take labels in from a CSV file, all or none; returns how many are new, and how many were there already.

    Rows without a verdict are passed over. Raises UsageError where the file cannot be read, and ScenarioError with
    every row that is wrong: a label is never replaced by another from a file.
    """
    parts = {part.id: part for one in scenarios for part in one.parts}
    rows, problems = list(_rows(source)), []
    found: list[tuple[int, str, Role, str, Verdict]] = []
    for number, row in rows:
        try:
            if label := _label(row, parts):
                found.append((number, *label))
        except _Wrong as wrong:
            problems.append(Problem(source.name, number, wrong.column, *wrong.args))
    if problems:
        raise _refused(source, problems)
    return _take(labels, found, source)


class _Wrong(Exception):
    def __init__(self, column: str, problem: str, remedy: str) -> None:
        self.column = column
        super().__init__(problem, remedy)


def _rows(source: Path) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(_LARGEST_FIELD)
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            missing = [name for name in _READ if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(
                    f"{source} has no column {', '.join(missing)}. Use a file that `maskbench label --export` wrote."
                )
            for number, row in enumerate(reader, start=1):
                yield number, {name: (row[name] or "").strip() for name in _READ}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{source} cannot be read as CSV in UTF-8 ({error}).") from error


def _label(row: Mapping[str, str], parts: Mapping[str, Shown]) -> tuple[str, Role, str, Verdict] | None:
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
    return row["rater"], cast(Role, row["role"]), part.id, _with_kind(verdict, row["evasion"])


def _letter(row: Mapping[str, str]) -> Verdict:
    if row["verdict"].upper() not in ("A", "B", "C", "D"):
        raise _Wrong("verdict", f"{row['verdict'][:40]!r} is no verdict on options", "Give A, B, C or D")
    for bound in BOUNDS:
        if row[bound]:
            raise _Wrong(bound, "this reply is about options, not about a number", "Leave it empty")
    return from_json(row["verdict"].upper())


def _numbers(row: Mapping[str, str]) -> Verdict:
    if row["verdict"] not in ("", NUMBERS):
        raise _Wrong("verdict", f"{row['verdict'][:40]!r} on a reply about a number", f"Give {NUMBERS}, and the bounds")
    values: dict[str, float | None] = {}
    for bound in BOUNDS:
        try:
            values[bound] = float(row[bound].removeprefix("'")) if row[bound] else None
            finite = values[bound] is None or abs(values[bound] or 0.0) < float("inf")
        except ValueError:
            finite = False
        if not finite:
            raise _Wrong(bound, f"{row[bound][:40]!r} is no number", "Give a number, or leave it empty")
    return from_json(values)


def _with_kind(verdict: Verdict, kind: str) -> Verdict:
    if not kind:
        return verdict
    is_open = verdict.letter == "C" if isinstance(verdict, BinaryVerdict) else not verdict.ranges
    if kind not in EVASIONS or not is_open:
        raise _Wrong("evasion", f"{kind[:40]!r} does not stand here", f"Beside C or no number: {', '.join(EVASIONS)}")
    return replace(verdict, evasion=kind)


def _take(labels: LabelStore, found: Sequence[tuple[int, str, Role, str, Verdict]], source: Path) -> tuple[int, int]:
    names = {(rater, role): labels.enter(rater, role) for _, rater, role, _, _ in found}
    latest, problems = labels.latest(), []
    new: dict[tuple[str, str], New] = {}
    for number, rater, role, reply, verdict in found:
        name = names[rater, role]
        had = latest.get(name, {}).get(reply, Given(0, None))
        known = new[name, reply].verdict if (name, reply) in new else had.verdict
        if known is not None and known != verdict:
            problem = f"{name} has labelled this reply {known_words(known)} already, and this says another thing"
            problems.append(
                Problem(source.name, number, "verdict", problem, "Leave the row out, or change it on the page")
            )
        elif known is None:
            ticket = hashlib.sha256(f"{name}\0{reply}\0{had.number}\0{verdict!r}".encode()).hexdigest()
            new[name, reply] = New(reply, verdict, had.number, f"import {ticket}")
    if problems:
        raise _refused(source, problems)
    labels.put_all([(name, one) for (name, _), one in new.items()])
    return len(new), len(found) - len(new)


def known_words(verdict: Verdict) -> str:
    """A verdict in a sentence."""
    return verdict.letter if isinstance(verdict, BinaryVerdict) else "with other numbers"


def _refused(source: Path, problems: Sequence[Problem]) -> ScenarioError:
    return ScenarioError(f"{source} is not taken in, nothing of it:", problems)
