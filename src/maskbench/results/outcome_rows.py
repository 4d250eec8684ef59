"""A run as rows for other programs: each scenario with every sample, its verdict, and what they come to.

Exports have a row a scenario (JSONL whole, CSV and Parquet with a column for every sample), and the published CSV is
made of that row; frames.py has a row a scenario, sample or statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import orjson
from msgspec import Struct, to_builtins

from maskbench.method.asks import subject_asks
from maskbench.method.outcomes import Items, failures
from maskbench.method.rules import RuleSet
from maskbench.method.verdict import VerdictShown
from maskbench.results.columns import of_judgement, of_reply, of_scenario, of_scored, picked
from maskbench.results.people.labelled_outcomes import Label
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.store.verdict_sets import Done, VerdictSet
from maskbench.types import (
    Accuracy,
    Cause,
    Failure,
    Item,
    Judgement,
    Kind,
    NoBelief,
    Option,
    OutcomeName,
    Scenario,
    Stage,
)

Ends = tuple[float | None, float | None]  # of a range of numbers; None is an open side


class WhyNot(Struct, forbid_unknown_fields=True):
    """The failure that a verdict is missing by."""

    stage: Stage
    cause: Cause
    detail: str


class Sample(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One reply with its verdict."""

    elicitation: int
    run: int
    response: str | None
    reasoning: str | None
    verdict: VerdictShown | None
    confidence: float | None
    judge_reason: str | None
    truncated: bool
    error: WhyNot | None


class OutcomeRow(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A scenario that is done; `placebo` stands only in runs that have one."""

    archetype: str
    task_id: str
    type: Kind
    system_prompt: str
    user_prompt: str
    proposition: str
    fold: int
    ground_truth: Option | Ends
    weight: float
    beliefs: list[Sample]
    statements: list[Sample]
    belief: Option | list[Ends] | None
    no_belief_reason: NoBelief | None
    outcomes: list[OutcomeName]
    outcome: OutcomeName
    judge: str
    readers: OutcomeName | None = None  # what those who labelled it make of the first statement
    accuracy: Accuracy
    placebo: Sample | None = None


Cell: TypeAlias = str | float | bool | None  # whole numbers are among the floats

_SAMPLE = ("response", "reasoning", "verdict", "confidence", "judge_reason", "truncated", "error")
_SCENARIO = ("archetype", "task_id", "type", "system_prompt", "user_prompt", "proposition", "ground_truth", "weight")
_SCORED = ("belief", "no_belief_reason", "outcomes", "outcome", "accuracy")


def rows(
    verdicts: VerdictSet, rules: RuleSet, labels: Mapping[Key, Label] | None = None, *, as_published: bool = False
) -> Iterator[tuple[Scenario, OutcomeRow]]:
    """Every scenario that is done, with its row: all samples and what they come to; a failure is null and says why.

    `labels` are what readers make of scenarios. With `as_published` samples have the verdicts that the published
    metric reads in an import's source.
    """
    for done in verdicts.read(rules):
        items = verdicts.as_published(done.samples, done.items) if as_published else done.items
        row = _row(done, items, verdicts)
        row.readers = label.outcome if (label := (labels or {}).get(done.scenario.key)) else None
        yield done.scenario, row


def _row(done: Done, items: Items, verdicts: VerdictSet) -> OutcomeRow:
    asks = subject_asks(done.scenario, verdicts.settings)
    places = [(ask.elicitation, run) for ask in asks for run in ask.runs]
    samples = [_sample(items[place], done.items[place]) for place in places if place in items]
    neutral = done.placebo()
    cells = of_scenario(done.scenario) | of_scored(done.scored)
    cells |= {
        "beliefs": [sample for sample in samples if sample.elicitation != 0],
        "statements": [sample for sample in samples if sample.elicitation == 0],
        "judge": judge_of(done.scenario, verdicts.settings),
        "placebo": _sample(neutral) if neutral else None,
    }
    return OutcomeRow(**picked(cells, OutcomeRow.__struct_fields__))


def judge_of(scenario: Scenario, settings: Settings) -> str:
    """The name of the judge whose verdicts a scenario's outcomes are by."""
    return settings.judging.judge if scenario.kind == "binary" else settings.judging.numeric_judge


def _sample(item: Item, heard: Item | None = None) -> Sample:
    """One sample with the verdict on it; what failed is null, and `error` says why.

    Where that verdict is missing, the judge's words are those of the item as it was `heard`.
    """
    words = item if heard is None or isinstance(item.judgement, Judgement) else heard
    cells = {"truncated": False, **of_reply(item.reply), **of_judgement(item.judgement)}
    cells |= {"elicitation": item.elicitation, "run": item.run, "error": _error(failures(item))}
    cells["judge_reason"] = of_judgement(words.judgement).get("judge_reason")
    return Sample(**picked(cells, Sample.__struct_fields__))


def _error(failed: Sequence[Failure]) -> WhyNot | None:
    """The failure that the verdict is missing by; where the reply failed as well, the detail says so."""
    if not failed:
        return None
    *others, last = failed
    also = (f"The reply failed, too: {other.cause}: {other.detail}" for other in others)
    return WhyNot(last.stage, last.cause, " ".join([last.detail, *also]))


def columns(settings: Settings) -> list[str]:
    """The columns of the flat form: the scenario, every sample there can be, and what they come to."""
    beliefs = [(1, run) for run in range(1, settings.design.beliefs + 1)] + [(2, 1), (3, 1)]
    statements = [(0, run) for run in range(1, settings.design.statements + 1)]
    samples = [f"{_prefix(*place)}_{name}" for place in (*beliefs, *statements) for name in _SAMPLE]
    return [*_SCENARIO, *samples, *_SCORED]


def flat(row: OutcomeRow) -> dict[str, Cell]:
    """A row with a column for every sample; what is no text or number is JSON."""
    plain = to_builtins(row)
    cells = picked(plain, (*_SCENARIO, *_SCORED))
    for sample in (*plain["beliefs"], *plain["statements"]):
        cells |= {f"{_prefix(sample['elicitation'], sample['run'])}_{name}": sample[name] for name in _SAMPLE}
    return {name: _cell(value) for name, value in cells.items()}


def _prefix(elicitation: int, run: int) -> str:
    return f"statement_run{run}" if elicitation == 0 else f"belief_{elicitation}_run{run}"


def _cell(value: Any) -> Cell:
    """What stands in a column: lists and objects as JSON."""
    return orjson.dumps(value).decode() if isinstance(value, dict | list | tuple) else value
