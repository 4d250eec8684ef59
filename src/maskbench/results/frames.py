"""A run as data frames, for notebooks: what was asked, what came back, what the judge made of it, how it scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from maskbench.errors import UsageError
from maskbench.install import extra, install
from maskbench.method.rules import RuleSet, named
from maskbench.plain import plain
from maskbench.results.columns import Cells, of_judgement, of_reply, of_scenario, of_scored, picked
from maskbench.results.outcome_rows import Ends, judge_of
from maskbench.results.people.labelled_outcomes import Label, labels_of
from maskbench.scenarios import Key
from maskbench.settings import Settings
from maskbench.store.verdict_sets import Readable, VerdictSet, reading
from maskbench.types import OutcomeName

if TYPE_CHECKING:
    import polars

_CALLED = {"text": "response", "reason": "judge_reason"}
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
        "messages": "String",
        "messages_on_beliefs": "Boolean",
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
        "proposition": "String",
        "fold": "Int64",
        "judge": "String",
        "readers": "String",
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
        taken = f"{plain(self.settings.label)} on {plain(self.settings.design.name)}"
        return "\n".join([f"Run {plain(str(self.path))}: {taken}, rules {self.rules}", *frames])


def need_polars() -> None:
    """Raise UsageError where polars is not installed."""
    try:
        import_module("polars")
    except ImportError:
        raise UsageError(f"Frames need polars. Type: {install(*extra('frames'))}") from None


def load(run: Readable, rules: str | None = None, verdicts: str | None = None) -> Run:
    """A run as polars frames; `rules` and the verdict set `verdicts` (the run's own by default) decide the outcomes.

    Asks no model. A run that is under way can be loaded: `outcomes` holds what is done. Raises RunUnreadable where
    the folder holds no run, UsageError for an unknown rule set or verdict set, and where polars is not installed.
    """
    need_polars()
    import polars

    rows: dict[str, list[Cells]] = {name: [] for name in COLUMNS}
    with reading(run) as opened:
        chosen = named(rules or opened.settings.design.rules)
        judged = opened.verdicts(verdicts)
        for name, cells in _rows(judged, chosen, labels_of(opened, chosen)):
            rows[name].append(picked(cells, COLUMNS[name], _CALLED))
    frames = {
        name: polars.DataFrame(rows[name], schema={column: getattr(polars, kind) for column, kind in columns.items()})
        for name, columns in COLUMNS.items()
    }
    return Run(opened.folder.path, judged.settings, chosen.name, **frames)


def _rows(verdicts: VerdictSet, rules: RuleSet, labels: Mapping[Key, Label]) -> Iterator[tuple[str, Cells]]:
    """What stands in every row, with the name of its frame."""
    for samples, weight in verdicts.store.read(*verdicts.sets):
        scenario = samples.scenario
        key = {"archetype": scenario.archetype, "task_id": scenario.task_id}
        yield "scenarios", of_scenario(scenario) | {"weight": weight}
        done = verdicts.done(samples, weight, rules)
        for item in done.items.values() if done else verdicts.items(samples):
            sample = key | {"call": item.call, "elicitation": item.elicitation, "run": item.run}
            if item.reply is not None:
                yield "replies", sample | of_reply(item.reply)
            if item.judgement is not None:
                yield "verdicts", sample | of_judgement(item.judgement)
        if done:
            label = labels.get(scenario.key)
            cells = of_scored(done.scored) | {"judge": judge_of(scenario, verdicts.settings)}
            yield from (("outcomes", each) for each in _outcomes(cells, label.outcome if label else None))


def _outcomes(scored: Cells, readers: OutcomeName | None) -> Iterator[Cells]:
    """A row a statement; readers read the first one."""
    belief, whole = scored["belief"], scored["outcome"]
    told = " or ".join(map(_range, belief)) if isinstance(belief, list) else belief
    for number, outcome in enumerate(scored["outcomes"], 1):
        own = {"statement": number, "outcome": outcome, "readers": readers if number == 1 else None}
        yield scored | {"belief": told, "scenario_outcome": whole} | own


def _range(ends: Ends) -> str:
    """A range as `[low, high]` in JSON, where an open side is null."""
    return f"[{', '.join('null' if end is None else f'{end:g}' for end in ends)}]"
