"""A run as rows for other programs: what a scenario is, each sample with its verdict, and what they come to.

Exports have a row a scenario (JSONL whole, CSV and Parquet with a column for every sample), the published CSV is made
of that row, and data frames (frames.py) have a row a scenario, sample or statement: all take what is made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from maskbench.judges.verdict_sets import Done, SecondLook, VerdictSet
from maskbench.method.asks import subject_asks
from maskbench.method.outcomes import failures
from maskbench.method.rules import RuleSet
from maskbench.method.verdict import to_json
from maskbench.settings import Settings
from maskbench.types import Disputed, Failure, Item, Judgement, Range, Reply, Scenario, Scored

Row = dict[str, Any]  # a run's scenario as docs/results.md describes it

_SAMPLE = ("response", "reasoning", "verdict", "confidence", "judge_reason", "truncated", "error")
_SCENARIO = ("archetype", "task_id", "type", "ground_truth", "weight")
SECOND = "second_probability"  # only of a set that has a second judge
_SCORED = ("belief", "no_belief_reason", "outcomes", "outcome", "accuracy")


def rows(verdicts: VerdictSet, rules: RuleSet) -> Iterator[tuple[Scenario, Row]]:
    """Every scenario that is done, with its row: all samples and what they come to; a failure is null and says why."""
    settings = verdicts.settings
    for done in verdicts.read(rules):
        row = _row(done, settings)
        yield done.scenario, row | _looked(verdicts, done.scenario) | _checked(verdicts, done.scenario)


def _looked(verdicts: VerdictSet, scenario: Scenario) -> Row:
    """With which chance a second judge saw the scenario; null where it did not see it."""
    if not isinstance(verdicts, SecondLook):
        return {}
    return {SECOND: verdicts.chosen.get(scenario.key)}


def _checked(verdicts: VerdictSet, scenario: Scenario) -> Row:
    """Every reply to a check on the subject with its verdict; of a trace the verdict alone."""
    if not verdicts.settings.checks:
        return {}
    had = [sample_row(item) for item in verdicts.store.checks(verdicts.name, scenario)]
    return {"checks": [{name: sample[name] for name in ("call", "elicitation", "run", *_SAMPLE)} for sample in had]}


def _row(done: Done, settings: Settings) -> Row:
    wanted = [(ask.elicitation, run) for ask in subject_asks(done.scenario, settings) for run in ask.runs]
    samples = [sample_row(done.items[key]) for key in wanted]
    kept = [{name: sample[name] for name in ("elicitation", "run", *_SAMPLE)} for sample in samples]
    about, scored = scenario_row(done.scenario), scored_row(done.scored)
    return {
        **{name: {**about, **scored}[name] for name in _SCENARIO},
        "beliefs": [sample for sample in kept if sample["elicitation"] != 0],
        "statements": [sample for sample in kept if sample["elicitation"] == 0],
        **{name: scored[name] for name in _SCORED},
    }


def scenario_row(scenario: Scenario) -> Row:
    """What a scenario is, under the names of its columns; `ground_truth` is a letter, or both ends of a range."""
    first_user, first_response = scenario.first_turn or (None, None)
    return {
        "archetype": scenario.archetype,
        "task_id": scenario.task_id,
        "type": scenario.kind,
        "proposition": scenario.proposition,
        "ground_truth": list(scenario.truth.bounds) if isinstance(scenario.truth, Range) else scenario.truth,
        "asked_outright": scenario.asked_outright,
        "system_prompt": scenario.system_prompt,
        "user_prompt": scenario.user_prompt,
        "first_user_prompt": first_user,
        "first_response": first_response,
        **{f"belief_elicit_{number}": question for number, question in enumerate(scenario.questions, 1)},
        "canary": scenario.canary,
    }


def scored_row(scored: Scored) -> Row:
    """What a scenario comes to; `belief` is a letter, or a list of both ends of each range."""
    belief = scored.resolved.belief
    return {
        "weight": scored.weight,
        "belief": [list(range_.bounds) for range_ in belief] if isinstance(belief, tuple) else belief,
        "no_belief_reason": scored.resolved.reason,
        "outcomes": list(scored.outcomes),
        "outcome": scored.outcome,
        "accuracy": scored.accuracy,
    }


def sample_row(item: Item) -> Row:
    """One sample with the verdict on it; what failed is null, and `error` says why."""
    reply = item.reply if isinstance(item.reply, Reply) else None
    judgement = item.judgement if isinstance(item.judgement, Judgement) else None
    reason = item.judgement.reason if isinstance(item.judgement, Judgement | Disputed) else None
    return {
        "call": item.call,
        "elicitation": item.elicitation,
        "run": item.run,
        "response": reply.text if reply else None,
        "reasoning": reply.reasoning if reply else None,
        "truncated": reply.truncated if reply else False,
        "input_tokens": reply.usage.input if reply else None,
        "output_tokens": reply.usage.output if reply else None,
        "reasoning_tokens": reply.usage.reasoning if reply else None,
        "model": reply.model if reply else None,
        "seconds": reply.seconds if reply else None,
        "verdict": to_json(judgement.verdict) if judgement else None,
        "evasion": judgement.verdict.evasion if judgement else None,
        "confidence": judgement.confidence if judgement else None,
        "judge_reason": reason,
        "error": _error(failures(item)),
    }


def _error(failed: Sequence[Failure]) -> Row | None:
    """The failure that the verdict is missing by; where the reply failed as well, the detail says so."""
    if not failed:
        return None
    *others, last = failed
    also = (f"The reply failed, too: {other.cause}: {other.detail}" for other in others)
    return {"stage": last.stage, "cause": last.cause, "detail": " ".join([last.detail, *also])}


def columns(settings: Settings, *, second: bool = False) -> list[str]:
    """The columns of the flat form: the scenario, every sample there can be, and what they come to."""
    beliefs = [(1, run) for run in range(1, settings.beliefs + 1)] + [(2, 1), (3, 1)]
    statements = [(0, run) for run in range(1, settings.statements + 1)]
    samples = [f"{_prefix(*key)}_{name}" for key in (*beliefs, *statements) for name in _SAMPLE]
    return [*_SCENARIO, *samples, *_SCORED, *([SECOND] if second else [])]


def flat(row: Row) -> Row:
    """A row with a column for every sample; what is no text or number is JSON."""
    made = {name: row[name] for name in (*_SCENARIO, *_SCORED, SECOND) if name in row}
    for sample in (*row["beliefs"], *row["statements"]):
        made |= {f"{_prefix(sample['elicitation'], sample['run'])}_{name}": sample[name] for name in _SAMPLE}
    return {name: _cell(value) for name, value in made.items()}


def _prefix(elicitation: int, run: int) -> str:
    return f"statement_run{run}" if elicitation == 0 else f"belief_{elicitation}_run{run}"


def _cell(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value
