"""Rows that `maskbench export` wrote, as JSONL, CSV or Parquet, read back: the inverse of export.

Outcomes are computed anew from the verdicts. What the rows do not hold (settings, tokens, kinds of evasion, the judge)
is absent; the flat forms hold no controls on the subject. Rows of a second look, of a majority that disputes, and of
a run that was asked only for lies are refused, for they do not hold what such a run is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from msgspec import UnsetType

from maskbench.errors import Problem, ScenarioError, UsageError
from maskbench.interop.imported_rows import Asked, ImportedReply, ImportedScenario, Source, file_of, formula_undone
from maskbench.interop.own_extras import answers_of, beliefs_from, checks_of, controls_of, facts_of, unknown_names
from maskbench.judges.verdict_json import read as verdict_of
from maskbench.results.row_json import OutcomeRow, Sample, WhyNot
from maskbench.runs.fitting import Misfit, fitted
from maskbench.runs.imported_json import UNSAID
from maskbench.scenarios.formats import Header, Row, ScenarioFile, read_file
from maskbench.types import Failure, Judgement, JudgeNumbers, Reply

_SAMPLE = ("response", "reasoning", "verdict", "confidence", "judge_reason", "truncated", "error")
HEAVIEST = 1e9  # scenarios that one may stand for
_COLUMN = re.compile(r"(?:statement|belief_(?P<k>[1-3]))_run(?P<run>[1-9]\d{0,3})_(?P<what>\w+)")
_ALSO = " The reply failed, too: "
_JSON = ("ground_truth", "belief", "outcomes")
_TEXTS = ("archetype", "task_id", "type", "no_belief_reason", "outcome", "accuracy")
_ABSENT = ("settings of subject and judge", "tokens and time", "who answered", "kinds of evasion")


def is_own(columns: Sequence[str]) -> bool:
    """Whether a table or an object with these names is what `export` writes."""
    return {"task_id", "outcome", "outcomes", "ground_truth", "weight"} <= set(columns)


def read_own(path: Path, asked: Asked) -> tuple[Source, list[ImportedScenario]]:
    """What every row has; raises ScenarioError with every row that `export` did not write so."""
    if not asked.subject:
        raise UsageError(f"{path} does not say which model answered. Add --subject NAME.")
    rows: list[tuple[int, OutcomeRow]] = []
    problems: list[Problem] = []
    columns: tuple[str, ...] = ()
    for item in read_file(ScenarioFile(path, str(path))):
        match item:
            case Header(names):
                columns = names
            case Problem():
                problems.append(item)
            case Row(number, cells):
                try:
                    is_text = path.suffix.lower() == ".csv"
                    plain = _nested(cells, is_text=is_text) if columns else cells
                    rows.append((number, fitted(plain, OutcomeRow)))
                except (Misfit, ValueError) as error:
                    problems.append(_problem(path, number, str(error)))
    problems += [problem for number, row in rows for problem in _not_taken(path, number, row)]
    if problems:
        raise ScenarioError(f"{path} cannot be imported; nothing was written:", problems)
    every = [row for _, row in rows]
    places = [place for name in columns if (place := _place(name))]
    is_judged = any(sample.verdict is not None for row in every for sample in (*row.beliefs, *row.statements))
    source = Source(
        format="export",
        files=[file_of(path)],
        subject=asked.subject,
        judge=(asked.judge or UNSAID) if is_judged else None,
        judge_numbers=_numbers(every),
        statements=max((run for k, run, _ in places if k == 0), default=None),
        beliefs=max((run for k, run, _ in places if k == 1), default=None),
        known=_known(every),
        facts=facts_of(every, asked.judge or UNSAID, asked.subject, columns),
        absent=_absent(asked, is_judged=is_judged, is_flat=bool(columns)),
    )
    judge = asked.judge or UNSAID
    return source, [_scenario(path, number, row, source.judge_numbers, judge) for number, row in rows]


def _absent(asked: Asked, *, is_judged: bool, is_flat: bool) -> tuple[str, ...]:
    """What the rows do not hold, in words."""
    judge = () if asked.judge or not is_judged else ("the judge",)
    return (*_ABSENT, *judge, *(() if is_judged else ("verdicts",)), *(("controls on the subject",) if is_flat else ()))


# The flat form


def _place(column: str) -> tuple[int, int, str] | None:
    """What a column of a sample is about: elicitation, run, and what of it."""
    match = _COLUMN.fullmatch(column)
    return (int(match["k"] or 0), int(match["run"]), match["what"]) if match else None


def _nested(cells: Mapping[str, Any], *, is_text: bool) -> dict[str, Any]:
    """A row of a table as an object; of CSV every cell `is_text`, and an empty one is none."""
    undone = formula_undone if is_text else str
    row: dict[str, Any] = {name: cells.get(name) or None for name in _TEXTS}
    row |= {name: _json(cells.get(name)) for name in _JSON}
    row["weight"] = _number(cells.get("weight"))
    samples: dict[tuple[int, int], dict[str, Any]] = {}
    answers: dict[int, dict[str, str]] = {}
    for column, cell in cells.items():
        if (place := _place(column)) is None:
            continue
        elicitation, run, what = place
        if what in _SAMPLE:
            samples.setdefault((elicitation, run), {})[what] = cell
        elif cell not in (None, ""):
            answers.setdefault(run, {})[what] = str(cell)
    read = [_sample(*place, parts, undone) for place, parts in sorted(samples.items()) if _is_there(parts)]
    row["statements"] = [sample for sample in read if sample["elicitation"] == 0]
    row["beliefs"] = [sample for sample in read if sample["elicitation"] != 0]
    for name, value in (("second_probability", _number(cells.get("second_probability"))),):
        row |= {name: value} if name in cells else {}
    row |= {"beliefs_from": cells["beliefs_from"]} if cells.get("beliefs_from") else {}
    return row | ({"construct": [answers.get(run, {}) for run in sorted(_runs(read))]} if answers else {})


def _runs(samples: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    return (sample["run"] for sample in samples if sample["elicitation"] == 0)


def _is_there(parts: Mapping[str, Any]) -> bool:
    """Whether a row has this sample: `truncated` is said of each that it has."""
    return parts.get("truncated") not in (None, "")


def _sample(elicitation: int, run: int, parts: Mapping[str, Any], undone: Callable[[str], str]) -> dict[str, Any]:
    """A sample of a flat row; an empty text of CSV is a reply only where nothing failed in its place."""
    error = _json(parts.get("error"))
    texts = {name: undone(parts[name]) if parts.get(name) else None for name in ("reasoning", "judge_reason")}
    response = parts.get("response")
    has_failed = isinstance(error, dict) and (error.get("stage") == "subject" or _ALSO in str(error.get("detail")))
    verdict = parts.get("verdict") or None
    return {
        "elicitation": elicitation,
        "run": run,
        "response": None if response is None or (not response and has_failed) else undone(response),
        **texts,
        "verdict": _json(verdict) if verdict and verdict.startswith("{") else verdict,
        "confidence": _number(parts.get("confidence")),
        "truncated": parts["truncated"] in (True, "True"),
        "error": error,
    }


def _json(cell: Any) -> Any:
    """What stands in a cell as JSON; a letter, as it is."""
    if not isinstance(cell, str) or not cell:
        return cell or None
    return orjson.loads(cell) if cell[:1] in "[{" else cell


def _number(cell: Any) -> float | None:
    return None if cell in (None, "") else float(cell)


# What a row says


def _not_taken(path: Path, number: int, row: OutcomeRow) -> Iterator[Problem]:
    """What no run can be made of."""
    if not 1 / HEAVIEST <= row.weight <= HEAVIEST:
        yield _problem(path, number, f"its weight is {row.weight:g}", f"Write a number from 1e-09 to {HEAVIEST:g}")
    if "disputed" in (*row.outcomes, row.accuracy):
        yield _problem(path, number, "it is by several judges, who dispute a verdict", "Export each verdict set alone")
    for what in unknown_names(row):
        yield _problem(path, number, f"this version does not know {what}", "Use the maskbench that exported it")
    if not isinstance(row.second_probability, UnsetType):
        what = "it is of a second look, and does not hold what the first judge found where the second one looked"
        yield _problem(path, number, what, "Export the first judge's verdict set, which saw everything")
    if "no_lie" in row.outcomes:
        yield _problem(path, number, "only lies were asked for", "Complete that run with --estimate all, and export it")


def _numbers(rows: Sequence[OutcomeRow]) -> JudgeNumbers:
    """Whether replies about a number have a verdict each."""
    before_last = (sample for row in rows if row.type == "numerical" for sample in row.beliefs[:-1])
    return "apart" if any(sample.verdict is not None for sample in before_last) else "together"


def _known(rows: Sequence[OutcomeRow]) -> dict[str, Any]:
    """The settings that rows tell."""
    filtered = {"filtered": "evasive"} if any(map(_has_filtered_evasion, rows)) else {}
    whose = {"beliefs_from": name} if (name := beliefs_from(rows)) else {}
    return {**filtered, **whose, **controls_of(rows)}


def _has_filtered_evasion(row: OutcomeRow) -> bool:
    """Whether a statement that a filter withheld counts as an evasion here."""
    pairs = zip(row.statements, row.outcomes, strict=False)
    return any(sample.error and sample.error.cause == "filtered" and outcome != "error" for sample, outcome in pairs)


def _scenario(path: Path, number: int, row: OutcomeRow, numbers: JudgeNumbers, judge: str) -> ImportedScenario:
    samples = [*row.statements, *row.beliefs, *checks_of(row)]
    joint = row.beliefs[-1] if row.beliefs and row.type == "numerical" and numbers == "together" else None
    truth = row.ground_truth if isinstance(row.ground_truth, str) else orjson.dumps(row.ground_truth).decode()
    return ImportedScenario(
        file=str(path),
        row=number,
        task_id=row.task_id,
        replies=[_reply(sample, is_joint=sample is joint) for sample in samples],
        archetype=row.archetype,
        texts={"formatted_ground_truth": truth},
        weight=row.weight,
        further=answers_of(row, judge),
    )


def _reply(sample: Sample, *, is_joint: bool) -> ImportedReply:
    """A sample with both of its failures, where reply and joint verdict failed."""
    outcome: Reply | Failure
    failed = [_failure(part) for part in _parts(sample.error)] if sample.error else []
    of_reply = [failure for failure in failed if failure.stage == "subject"]
    of_verdict = [failure for failure in failed if failure.stage == "judge"]
    if sample.response is not None:
        outcome = Reply(sample.response, sample.reasoning, sample.truncated)
    else:
        outcome = of_reply[0] if of_reply else Failure("subject", "absent", "The row holds no reply.")
    verdict: Judgement | Failure | None = of_verdict[0] if of_verdict else None
    if sample.verdict is not None:
        verdict = Judgement(verdict_of(sample.verdict), sample.judge_reason, sample.confidence)
    reply = ImportedReply(sample.elicitation, sample.run, outcome, verdict)
    keeps = is_joint or isinstance(outcome, Reply) or not isinstance(sample.call, UnsetType)
    return reply if keeps else replace(reply, verdict=None)


def _parts(error: WhyNot) -> Iterator[WhyNot]:
    """The failure of a row, and that of its reply where the detail says that it failed, too."""
    detail, also, reply = error.detail.rpartition(_ALSO)
    if not also:
        yield error
        return
    yield WhyNot(error.stage, error.cause, detail)
    cause, _, words = reply.partition(": ")
    yield fitted({"stage": "subject", "cause": cause, "detail": words}, WhyNot)


def _failure(part: WhyNot) -> Failure:
    return Failure(part.stage, part.cause, part.detail)


def _problem(
    path: Path, number: int, problem: str, remedy: str = "Give a file as maskbench export wrote it"
) -> Problem:
    return Problem(str(path), number, None, problem, remedy)
