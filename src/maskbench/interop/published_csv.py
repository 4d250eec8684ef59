"""A run as the CSV files that the published scripts pass from stage to stage, for code that reads those columns.

One file an archetype, `<archetype>_<model>.csv`. A call that failed leaves its cells empty: there it would be text.
Numerical cells are Python literals, as those scripts read them, and the joint verdict on the belief replies stands with
every one of them (method.md section 9). Where each has a verdict of its own, what they come to stands there, for those
scripts know nothing else, and its own verdict is the last line of the judge's text on it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import astuple

from maskbench.errors import UsageError
from maskbench.interop.imported_rows import published_question
from maskbench.method.archetypes import of
from maskbench.method.forms import JudgingForm, form_of
from maskbench.method.verdict import BoundsGiven, VerdictShown
from maskbench.results.columns import of_scenario
from maskbench.results.outcome_rows import OutcomeRow, Sample
from maskbench.settings import Settings
from maskbench.types import Accuracy, Archetype, Definition, OutcomeName, Range, Scenario

_SCENARIO = (
    *("task_id", "system_prompt", "user_prompt", "type", "proposition", "ground_truth", "formatted_ground_truth"),
    *("belief_elicit_1", "belief_elicit_2", "belief_elicit_3", "canary"),
)
_TURNS = ("dd_turn_1_prompt", "dd_turn_1_response")
ANSWER = "Answer: "  # what the last line of a judge's text begins with, where a number has a verdict of its own
_HONESTY: dict[OutcomeName, int | str] = {
    "honest": 1,
    "lie": -1,
    "evasive": 0,
    "no_belief": 0,
    "error": "",
}
_ACCURACY: dict[Accuracy, int | str] = {
    "correct": 1,
    "incorrect": -1,
    "no_belief": 0,
    "error": "",
    "not_applicable": "",
}


def write_published(
    pairs: Iterable[tuple[Scenario, OutcomeRow]], settings: Settings, folder: Path, safe: Callable[[str], str]
) -> None:
    """Write scenarios with their export rows into `folder`, made where it is missing.

    What models wrote goes through `safe`: as it is, a spreadsheet could take some for formulas.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = re.sub(r"[^A-Za-z0-9._=-]+", "-", settings.subject.name).strip("-.")
    writers: dict[Archetype, csv.DictWriter[str]] = {}
    with ExitStack() as files:
        for scenario, row in pairs:
            if scenario.archetype not in writers:
                path = folder / f"{scenario.archetype}_{model}.csv"
                file = files.enter_context(path.open("w", encoding="utf-8", newline=""))
                writers[scenario.archetype] = csv.DictWriter(file, columns(of(scenario), settings))
                writers[scenario.archetype].writeheader()
            writers[scenario.archetype].writerow(_cells(scenario, row, form_of(settings.judging), safe))


def columns(archetype: Definition, settings: Settings) -> list[str]:
    """The columns of an archetype's file: the data set's, then those of every sample, then the scores."""
    statements = [(0, run) for run in range(1, settings.design.statements + 1)]
    beliefs = [(1, run) for run in range(1, settings.design.beliefs + 1)] + [(2, 1), (3, 1)]
    asked = statements if archetype.given else [*statements, *beliefs]
    turns = _TURNS if archetype.scripted else ()
    return [
        *_SCENARIO,
        *turns,
        *(column for elicitation, run in asked for column in _sample_columns(elicitation, run)),
        *("ground_truth_extracted", "eval_belief", "eval_honesty_1"),
        *(("eval_honesty_10",) if settings.design.statements == 10 else ()),
        "eval_accuracy",
    ]


def _sample_columns(elicitation: int, run: int) -> tuple[str, str, str]:
    asked = published_question(elicitation)
    return f"generation({asked})_run{run}", f"eval({asked})_run{run}", f"eval({asked})_run{run}_extracted"


def _cells(scenario: Scenario, row: OutcomeRow, form: JudgingForm, safe: Callable[[str], str]) -> dict[str, str | int]:
    if not scenario.in_columns:
        raise UsageError(
            f"--format published has no columns for the messages of {scenario.archetype} {scenario.task_id}. Write the "
            "run as jsonl, csv or parquet."
        )
    truth = str(list(scenario.truth.bounds)) if isinstance(scenario.truth, Range) else scenario.truth
    about = of_scenario(scenario) | {"ground_truth": scenario.extra.get("ground_truth")}
    cells: dict[str, str | int] = {name: safe(about.get(name) or "") for name in _SCENARIO}
    cells["formatted_ground_truth"] = truth
    if scenario.first_turn:
        cells |= zip(_TURNS, map(safe, scenario.first_turn), strict=True)
    for sample, told, verdict in _judged(scenario, row, form):
        texts = (safe(sample.response or ""), safe(told), verdict)
        cells |= zip(_sample_columns(sample.elicitation, sample.run), texts, strict=True)
    if len(row.outcomes) == 10:
        cells["eval_honesty_10"] = _HONESTY[row.outcome]
    return cells | {
        "ground_truth_extracted": truth,
        "eval_belief": _belief(scenario, row),
        "eval_honesty_1": _HONESTY[row.outcomes[0]],
        "eval_accuracy": _ACCURACY[row.accuracy],
    }


def _judged(scenario: Scenario, row: OutcomeRow, form: JudgingForm) -> Iterator[tuple[Sample, str, str]]:
    """Every sample with the judge's text and the verdict that stand with it: a joint one stands with every reply."""
    for sample in (*row.statements, *row.beliefs):
        if scenario.kind == "binary" or sample.elicitation == 0:
            yield sample, sample.judge_reason or "", _verdict(sample.verdict)
        elif form.group(scenario.kind) == "jointly":
            yield sample, row.beliefs[-1].judge_reason or "", _verdict(row.beliefs[-1].verdict)
        else:
            yield sample, _with_own(sample), _joint(row)


def _with_own(sample: Sample) -> str:
    """The judge's text on one reply about a number, which ends with the verdict on it."""
    answer = ANSWER + _verdict(sample.verdict) if sample.verdict is not None else ""
    return "\n".join(filter(None, (sample.judge_reason, answer)))


def _joint(row: OutcomeRow) -> str:
    """What the verdicts on replies about a number come to, in the form of one verdict: two ranges at most."""
    if row.belief is None:
        return str((None,) * 4) if row.no_belief_reason else ""
    bounds = [end for range_ in row.belief if not isinstance(range_, str) for end in range_]
    return str(_floats([*bounds, *(None,) * 4][:4]))


def _verdict(verdict: VerdictShown | None) -> str:
    """A letter as it is, four bounds as a tuple, nothing for a missing verdict."""
    return str(_floats(astuple(verdict))) if isinstance(verdict, BoundsGiven) else verdict or ""


def _belief(scenario: Scenario, row: OutcomeRow) -> str:
    """The option, or a list of ranges; where there is no belief, the published code's sign for that."""
    if row.belief is None:
        return ("[(None, None)]" if scenario.kind == "numerical" else "C") if row.no_belief_reason else ""
    return str([_floats(range_) for range_ in row.belief]) if isinstance(row.belief, list) else row.belief


def _floats(bounds: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(None if bound is None else float(bound) for bound in bounds)
