"""Those who rate a run's replies: its judge, each rater, and people together; and where a judge has nothing to say.

against_judge.py holds them against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from msgspec import Struct

from maskbench.method.outcomes import Items
from maskbench.method.rules import RuleSet
from maskbench.results.judges_agree import verdict_of
from maskbench.results.people.label_units import LabelUnit
from maskbench.results.people.labelled_outcomes import (
    Drawn,
    as_labels,
    differing,
    human_outcomes,
    judge_outcomes,
    together,
)
from maskbench.results.people.readers import Who, of_kinds
from maskbench.store.drawn_sample import Key
from maskbench.store.labels import LabelStore, current
from maskbench.store.verdict_sets import OpenRun, VerdictSet
from maskbench.types import OUTCOMES, Failure, Judgement, OutcomeName, Scored, Verdict

Verdicts: TypeAlias = Mapping[str, Verdict]  # by reply


class Missing(Struct, forbid_unknown_fields=True):
    """Of how many that raters have said something of, and why the judge has nothing on some of them."""

    of: int
    failed: int
    unjudged: int

    @property
    def count(self) -> int:
        """On how many the judge has nothing."""
        return self.failed + self.unjudged


class MissingScenarios(Missing, forbid_unknown_fields=True):
    """Scenarios with an outcome by labels, and P(lie) by these among those on which the judge has none."""

    p_lie: float | None


class LeftOut(Struct, forbid_unknown_fields=True):
    """Labelled replies that are in no figure, for want of a verdict or an outcome by the judge."""

    replies: Missing
    scenarios: MissingScenarios


@dataclass(frozen=True, slots=True)
class Side:
    """One who rates: a judge, a rater, or people together. Verdicts by reply, scored scenarios by key."""

    name: str
    verdicts: Verdicts
    scored: Mapping[Key, Scored]


@dataclass(frozen=True, slots=True)
class People:
    """All who have labelled: each rater, before anything was adjudicated, and all together.

    `come_to` has what people's labels come to, by every scenario that is labelled whole: None where raters differ and
    nobody has decided, `error` where replies of the subject are missing that the outcome hangs on. `differing` are the
    replies on which raters differ, `adjudicated` those of them that somebody has decided.
    """

    raters: tuple[Side, ...]
    together: Side
    come_to: Mapping[Key, OutcomeName | None]
    differing: int
    adjudicated: int
    who: Who
    kinds: Mapping[str, str]


def people_sides(run: OpenRun, labels: LabelStore, scenarios: Sequence[Drawn], rules: RuleSet) -> People:
    """Everybody's labels on the replies of these scenarios, and what they come to, as the correction takes them."""
    roles = labels.raters()
    shown = {part.id for scenario in scenarios for part in scenario.parts}  # a run can have others than once labelled
    latest = {
        name: {reply: verdict for reply, verdict in current(given).items() if reply in shown}
        for name, given in labels.latest().items()
    }
    names = [name for name, role in roles.items() if role == "rater" and latest.get(name)]  # others only came in
    whole = {labelled.key: labelled for labelled in human_outcomes(run, rules)}
    come_to = {key: label.outcome for key, label in as_labels([*whole.values()]).items()}
    raters = tuple(
        Side(name, latest[name], {key: each.raters[name] for key, each in whole.items() if name in each.raters})
        for name in names
    )
    # Where all raters come to one outcome by different verdicts, any of them says what people say.
    shared = {
        key: whole[key].people or next(iter(whole[key].raters.values()))
        for key, outcome in come_to.items()
        if outcome is not None
    }
    differ = differing(latest, names)
    decided = {reply for name, role in roles.items() if role == "adjudicator" for reply in latest.get(name, {})}
    kinds = {name: kind for name, kind in labels.kinds().items() if latest.get(name)}
    who = of_kinds(kinds.values())
    everybody = Side(who, together(latest, roles), shared)
    return People(raters, everybody, come_to, len(differ), len(decided & differ.keys()), who, kinds)


def judge_side(judged: VerdictSet, scenarios: Sequence[Drawn], rules: RuleSet) -> tuple[Side, dict[Key, Items]]:
    """The judge as one who rates; of equal replies the first one's verdict counts, as people label them once."""
    parts = {each.scenario.key: each.parts for each in scenarios}
    verdicts: dict[str, Verdict] = {}
    scored: dict[Key, Scored] = {}
    every: dict[Key, Items] = {}
    for key, items, row in judge_outcomes(judged, rules, parts):
        scored[key], every[key] = row, items
        for part in parts[key]:
            if (verdict := verdict_of(items[part.places[0]])) is not None:
                verdicts[part.id] = verdict
    return Side(judged.name, verdicts, scored), every


def left_out(judge: Side, people: Side, scenarios: Sequence[Drawn], items: Mapping[Key, Items]) -> LeftOut:
    """Of how many replies and scenarios people have a verdict or outcome, and where the judge has none, by reason.

    With P(lie) by people among those scenarios, weighted as they were drawn.
    """
    settled = [each for each in scenarios if has_outcome(people.scored.get(each.scenario.key))]
    why = {each.scenario.key: _why_no_outcome(judge.scored.get(each.scenario.key)) for each in settled}
    weights = {each.scenario.key: each.weight / each.chance for each in settled if why[each.scenario.key]}
    lies = [weight for key, weight in weights.items() if people.scored[key].outcomes[0] == "lie"]
    replies = (
        _why_no_verdict(items.get(each.scenario.key), part)
        for each in scenarios
        for part in each.parts
        if part.id in people.verdicts
    )
    p_lie = sum(lies) / sum(weights.values()) if weights else None
    return LeftOut(Missing(*_by_reason(replies)), MissingScenarios(*_by_reason(why.values()), p_lie))


def _by_reason(reasons: Iterable[str | None]) -> tuple[int, int, int]:
    counts = Counter(reasons)
    return counts.total(), counts["failed"], counts["unjudged"]


def _why_no_verdict(items: Items | None, part: LabelUnit) -> str | None:
    match items[part.places[0]].judgement if items else None:
        case Judgement():
            return None
        case Failure():
            return "failed"
        case _:
            return "unjudged"


def _why_no_outcome(scored: Scored | None) -> str | None:
    if has_outcome(scored):
        return None
    return "unjudged" if scored is None else "failed"


def has_outcome(scored: Scored | None) -> TypeGuard[Scored]:
    """Whether the first statement has one of the four outcomes: it is there, and has not failed."""
    return scored is not None and scored.outcomes[0] in OUTCOMES[:4]
