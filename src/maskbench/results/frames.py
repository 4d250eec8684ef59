"""A run as data frames, for notebooks: what was asked, what came back, what the judge made of it, how it scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import Readable, VerdictSet, reading
from maskbench.method.outcomes import finished
from maskbench.method.rules import RuleSet, named
from maskbench.plain import plain
from maskbench.settings import Settings
from maskbench.types import (
    BinaryVerdict,
    Disputed,
    Failure,
    Item,
    Judgement,
    NumericalVerdict,
    Range,
    Reply,
    Resolved,
    Scenario,
    Scored,
)

if TYPE_CHECKING:
    import polars

Row = dict[str, Any]
_KEY = {"archetype": "String", "task_id": "String"}
_SAMPLE = {**_KEY, "call": "String", "elicitation": "Int64", "run": "Int64"}
_ERROR = {"error_stage": "String", "error_cause": "String", "error_detail": "String"}
COLUMNS: Mapping[str, Mapping[str, str]] = {  # the four frames: column and polars type
    "scenarios": {
        **_KEY,
        "type": "String",
        "proposition": "String",
        "truth": "String",
        "truth_low": "Float64",
        "truth_high": "Float64",
        "weight": "Float64",
        "asked_outright": "Boolean",
        "system_prompt": "String",
        "user_prompt": "String",
        "first_user_prompt": "String",
        "first_response": "String",
        "belief_elicit_1": "String",
        "belief_elicit_2": "String",
        "belief_elicit_3": "String",
        "canary": "String",
    },
    "replies": {
        **_SAMPLE,
        "text": "String",
        "reasoning": "String",
        "truncated": "Boolean",
        "input_tokens": "Int64",
        "output_tokens": "Int64",
        "reasoning_tokens": "Int64",
        "model": "String",
        "seconds": "Float64",
        **_ERROR,
    },
    "verdicts": {
        **_SAMPLE,
        "letter": "String",
        "lower_bound": "Float64",
        "upper_bound": "Float64",
        "relative_lower_bound": "Float64",
        "relative_upper_bound": "Float64",
        "evasion": "String",
        "reason": "String",
        "confidence": "Float64",
        **_ERROR,
    },
    "outcomes": {
        **_KEY,
        "statement": "Int64",
        "outcome": "String",
        "weight": "Float64",
        "belief": "String",
        "no_belief_reason": "String",
        "accuracy": "String",
        "scenario_outcome": "String",
    },
}


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A run as four polars frames, joined by archetype and task_id (and call, elicitation and run).

    What models wrote stands in them as it came.
    """

    path: Path
    settings: Settings
    rules: str
    scenarios: polars.DataFrame  # a row a scenario
    replies: polars.DataFrame  # a row for every sample that was answered or failed
    verdicts: polars.DataFrame  # a row for every sample with a verdict, or the failure to get one
    outcomes: polars.DataFrame  # a row for every statement of every scenario that is done

    def __repr__(self) -> str:
        frames = (f"  {name:9} {getattr(self, name).height:7,} rows" for name in COLUMNS)
        taken = f"{plain(self.settings.label)} on {plain(self.settings.name)}"
        return "\n".join([f"Run {plain(str(self.path))}: {taken}, rules {self.rules}", *frames])

    def to_pandas(self) -> PandasRun:
        """The same with pandas frames; raises UsageError where pandas is not installed."""
        try:
            pandas: Any = import_module("pandas")
        except ImportError:
            raise UsageError("Frames for pandas need pandas: pip install 'maskbench[pandas]'.") from None
        frames = {name: pandas.DataFrame(getattr(self, name).to_dict(as_series=False)) for name in COLUMNS}
        return PandasRun(self.path, self.settings, self.rules, **frames)


@dataclass(frozen=True, slots=True)
class PandasRun:
    """A run as four pandas frames (pandas.DataFrame; it is no dependency, so its types are not named here)."""

    path: Path
    settings: Settings
    rules: str
    scenarios: Any
    replies: Any
    verdicts: Any
    outcomes: Any


def load(run: Readable, rules: str | None = None, verdicts: str | None = None) -> Run:
    """A run as polars frames; `rules` and the verdict set `verdicts` (the run's own by default) decide the outcomes.

    Asks no model. A run that is under way can be loaded: `outcomes` holds what is done. Raises RunUnreadable where
    the folder holds no run, UsageError for an unknown rule set or verdict set.
    """
    import polars

    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    with reading(run) as opened:
        chosen = named(rules or opened.settings.rules)
        judged = opened.verdicts(verdicts)
        for name, row in _rows(judged, chosen):
            rows[name].append(row)
    frames = {
        name: polars.DataFrame(rows[name], schema={column: getattr(polars, kind) for column, kind in columns.items()})
        for name, columns in COLUMNS.items()
    }
    return Run(opened.folder.path, judged.settings, chosen.name, **frames)


def _rows(verdicts: VerdictSet, rules: RuleSet) -> Iterator[tuple[str, Row]]:
    """Every row with the name of its frame."""
    settings = verdicts.settings
    for scenario, weight in verdicts.store.scenarios():
        key = {"archetype": scenario.archetype, "task_id": scenario.task_id}
        yield "scenarios", key | _scenario(scenario, weight)
        items = verdicts.items(scenario)
        done = finished(scenario, items, settings)
        for item in items if done is None else done.values():
            sample = key | {"call": item.call, "elicitation": item.elicitation, "run": item.run}
            if item.reply is not None:
                yield "replies", sample | _reply(item.reply)
            if item.judgement is not None:
                yield "verdicts", sample | _judgement(item)
        if done is not None:
            scored = verdicts.score(scenario, weight, done, rules)
            yield from (("outcomes", key | row) for row in _outcomes(scored))


def _scenario(scenario: Scenario, weight: float) -> Row:
    truth = scenario.truth
    low, high = truth.bounds if isinstance(truth, Range) else (None, None)
    first_user, first_response = scenario.first_turn or (None, None)
    return {
        "type": scenario.kind,
        "proposition": scenario.proposition,
        "truth": truth if isinstance(truth, str) else None,
        "truth_low": low,
        "truth_high": high,
        "weight": weight,
        "asked_outright": scenario.asked_outright,
        "system_prompt": scenario.system_prompt,
        "user_prompt": scenario.user_prompt,
        "first_user_prompt": first_user,
        "first_response": first_response,
        **{f"belief_elicit_{number}": question for number, question in enumerate(scenario.questions, 1)},
        "canary": scenario.canary,
    }


def _reply(reply: Reply | Failure) -> Row:
    if isinstance(reply, Failure):
        return _error(reply)
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "truncated": reply.truncated,
        "input_tokens": reply.usage.input,
        "output_tokens": reply.usage.output,
        "reasoning_tokens": reply.usage.reasoning,
        "model": reply.model,
        "seconds": reply.seconds,
    }


def _judgement(item: Item) -> Row:
    match item.judgement:
        case Failure() as failure:
            return _error(failure)
        case Judgement(BinaryVerdict(letter, evasion), reason, sure):
            return {"letter": letter, "evasion": evasion, "reason": reason, "confidence": sure}
        case Judgement(NumericalVerdict() as verdict, reason, sure):
            names = ("lower_bound", "upper_bound", "relative_lower_bound", "relative_upper_bound", "evasion")
            return {name: getattr(verdict, name) for name in names} | {"reason": reason, "confidence": sure}
        case Disputed(reason=reason):
            return {"reason": reason}
    raise ValueError(f"no judgement to make a row of in {item!r}")


def _error(failure: Failure) -> Row:
    return {"error_stage": failure.stage, "error_cause": failure.cause, "error_detail": failure.detail}


def _outcomes(scored: Scored) -> Iterator[Row]:
    for number, outcome in enumerate(scored.outcomes, 1):
        yield {
            "statement": number,
            "outcome": outcome,
            "weight": scored.weight,
            "belief": _belief(scored.resolved),
            "no_belief_reason": scored.resolved.reason,
            "accuracy": scored.accuracy,
            "scenario_outcome": scored.outcome,
        }


def _belief(resolved: Resolved) -> str | None:
    """A or B, or ranges as `[low, high]` in JSON, where an open side is null."""
    if resolved.belief is None or isinstance(resolved.belief, str):
        return resolved.belief
    return " or ".join(f"[{', '.join(map(_bound, range_.bounds))}]" for range_ in resolved.belief)


def _bound(value: float | None) -> str:
    return "null" if value is None else f"{value:g}"
