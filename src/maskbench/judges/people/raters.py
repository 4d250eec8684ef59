"""Those who rate a run's replies: its judge, each rater, and people together; and where a judge has nothing to say.

against_judge.py holds them against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from maskbench.judges.people.as_shown import Shown
from maskbench.judges.people.drawn_sample import Key
from maskbench.judges.people.labelled_outcomes import (
    Drawn,
    LabelledScenario,
    as_labels,
    differing,
    human_outcomes,
    judge_outcomes,
    together,
)
from maskbench.judges.people.labels import LabelStore, standing
from maskbench.judges.verdict_sets import VerdictSet
from maskbench.method.outcomes import Items
from maskbench.method.rules import RuleSet
from maskbench.runs.folder import RunFolder
from maskbench.runs.store import Store
from maskbench.types import OUTCOMES, Disputed, Failure, Json, Judgement, OutcomeName, Scored, Verdict

Verdicts: TypeAlias = Mapping[str, Verdict]  # by reply


@dataclass(frozen=True, slots=True)
class Side:
    """One who rates: a judge, a rater, or people together. Verdicts by reply, scored scenarios by key."""

    name: str
    verdicts: Verdicts
    scored: Mapping[Key, Scored]


@dataclass(frozen=True, slots=True)
class People:
    """All who have labelled: each rater, before anything was adjudicated, and all together.

    `said` has what people's labels come to, by every scenario that is labelled whole: None where raters differ and
    nobody has decided, `error` where replies of the subject are missing that the outcome hangs on. `differing` are the
    replies on which raters differ, `adjudicated` those of them that somebody has decided.
    """

    raters: tuple[Side, ...]
    together: Side
    said: Mapping[Key, OutcomeName | None]
    differing: int
    adjudicated: int


def people_sides(
    folder: RunFolder, store: Store, labels: LabelStore, scenarios: Sequence[Drawn], rules: RuleSet
) -> People:
    """Everybody's labels on the replies of these scenarios, and what they come to, as the correction takes them."""
    roles = labels.raters()
    latest = {name: _of(scenarios, standing(given)) for name, given in labels.latest().items()}
    names = [name for name, role in roles.items() if role == "rater" and latest.get(name)]  # others only came in
    whole = {one.key: one for one in human_outcomes(folder, store, rules)}
    said = {key: label.outcome for key, label in as_labels([*whole.values()]).items()}
    raters = tuple(
        Side(name, latest.get(name, {}), {key: one.raters[name] for key, one in whole.items() if name in one.raters})
        for name in names
    )
    shared = {key: _shared(whole[key]) for key, outcome in said.items() if outcome is not None}
    differ = differing(latest, names)
    decided = {reply for name, role in roles.items() if role == "adjudicator" for reply in latest.get(name, {})}
    return People(
        raters, Side("people", together(latest, roles), shared), said, len(differ), len(decided & differ.keys())
    )


def _shared(one: LabelledScenario) -> Scored:
    """A scenario as people together make it; as any rater does where all come to one outcome by different verdicts."""
    return one.people or next(iter(one.raters.values()))


def _of(scenarios: Sequence[Drawn], verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """The verdicts on replies of these scenarios: a run can have other replies than when it was labelled."""
    known = {part.id for one in scenarios for part in one.parts}
    return {reply: said for reply, said in verdicts.items() if reply in known}


def judge_side(judged: VerdictSet, scenarios: Sequence[Drawn], rules: RuleSet) -> tuple[Side, dict[Key, Items]]:
    """The judge as one who rates; of equal replies the first one's verdict counts, as people label them once."""
    parts = {one.scenario.key: one.parts for one in scenarios}
    verdicts: dict[str, Verdict] = {}
    scored: dict[Key, Scored] = {}
    every: dict[Key, Items] = {}
    for key, items, one in judge_outcomes(judged, rules, parts):
        scored[key], every[key] = one, items
        for part in parts[key]:
            judgement = items[part.places[0]].judgement
            if isinstance(judgement, Judgement):
                verdicts[part.id] = judgement.verdict
    return Side(judged.name, verdicts, scored), every


def left_out(judge: Side, people: Side, scenarios: Sequence[Drawn], items: Mapping[Key, Items]) -> dict[str, Json]:
    """Of how many replies and scenarios people have a verdict or outcome, and where the judge has none, by reason.

    With P(lie) by people among those scenarios, weighted as they were drawn.
    """
    settled = [one for one in scenarios if has_outcome(people.scored.get(one.scenario.key))]
    why = {one.scenario.key: _why_no_outcome(judge.scored.get(one.scenario.key)) for one in settled}
    weights = {one.scenario.key: one.weight / one.chance for one in settled if why[one.scenario.key]}
    lies = [weight for key, weight in weights.items() if people.scored[key].outcomes[0] == "lie"]
    replies = (
        _why_no_verdict(items.get(one.scenario.key), part)
        for one in scenarios
        for part in one.parts
        if part.id in people.verdicts
    )
    p_lie = sum(lies) / sum(weights.values()) if weights else None
    return {"replies": _by_reason(replies), "scenarios": {**_by_reason(why.values()), "p_lie": p_lie}}


def _by_reason(reasons: Iterable[str | None]) -> Json:
    found = Counter(reasons)
    return {"of": found.total(), **{reason: found[reason] for reason in ("failed", "disputed", "unjudged")}}


def _why_no_verdict(items: Items | None, part: Shown) -> str | None:
    match items[part.places[0]].judgement if items else None:
        case Judgement():
            return None
        case Disputed():
            return "disputed"
        case Failure():
            return "failed"
        case _:
            return "unjudged"


def _why_no_outcome(scored: Scored | None) -> str | None:
    if has_outcome(scored):
        return None
    if scored is None:
        return "unjudged"
    return "failed" if scored.outcomes[0] == "error" else "disputed"


def has_outcome(scored: Scored | None) -> TypeGuard[Scored]:
    """Whether the first statement has one of the four outcomes: it is there, has not failed and is not disputed."""
    return scored is not None and scored.outcomes[0] in OUTCOMES[:4]
