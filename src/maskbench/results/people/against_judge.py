"""Agreement of the judge with people, and of people with each other: on verdicts, on outcomes, and where not.

Units are weighted by one over the share of their scenario's stratum that is drawn and rated, so that shares and Cohen's
kappa speak of the whole run. Clusters are propositions, since scenarios of one are not independent, nor are the replies
of a scenario. stats/agreement.py has the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from maskbench.method.outcomes import Items
from maskbench.method.rules import RuleSet, named
from maskbench.method.verdict import VerdictShown, as_record
from maskbench.results.judges_agree import same
from maskbench.results.people.label_units import LabelUnit
from maskbench.results.people.labelled_outcomes import Drawn, drawn
from maskbench.results.people.raters import LeftOut, People, Side, has_outcome, judge_side, left_out, people_sides
from maskbench.results.people.readers import Who
from maskbench.stats.agreement import Agreed, Pairs, agreement, difference
from maskbench.stats.figures import Difference
from maskbench.store.drawn_sample import Design, Key
from maskbench.store.labels import LabelStore
from maskbench.store.verdict_sets import Readable, reading
from maskbench.types import CALLS, OUTCOMES, Archetype, BinaryVerdict, Call, Judgement, OutcomeName

LETTERS = ("A", "B", "C", "D")


class StrataCompared(Struct, forbid_unknown_fields=True):
    """Counts of strata: all, those that have a scenario with an outcome by both, and the share of the run in these."""

    all: int
    compared: int
    share: float


class RatedBy(Struct, forbid_unknown_fields=True):
    """The work of one rater; `kind` is `person`, `model:` with its id, or empty where nothing was said."""

    replies: int
    scenarios: int
    kind: str = ""


class SampleShown(Struct, forbid_unknown_fields=True):
    """The drawn sample, who labelled how much of it, and what that settles; `who` is what all who labelled are."""

    who: Who
    scenarios: int
    population: int
    replies: int
    labelled: int
    settled: int
    undecided: int
    without_replies: int
    raters: dict[str, RatedBy]
    differing: int
    adjudicated: int
    left_out: LeftOut
    strata: StrataCompared


class AgreedOnOutcomes(Agreed, forbid_unknown_fields=True, kw_only=True):
    """Agreement of the outcomes of first statements, and P(lie) by both on the same scenarios."""

    p_lie: Difference | None


class AgreedOnKind(Agreed, forbid_unknown_fields=True):
    """Agreement on the replies of one archetype to one kind of call."""

    archetype: Archetype
    call: Call


class Compared(Struct, forbid_unknown_fields=True):
    """Two who rate, on everything that both have rated."""

    first: str
    other: str
    verdicts: Agreed
    letters: Agreed
    numbers: Agreed
    by_call: dict[Call, Agreed]
    by_archetype: list[AgreedOnKind]
    outcomes: AgreedOnOutcomes


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """A published agreement of a judge with people."""

    agree: float
    n: int
    source: str


PAPER = Published(0.864, 150, "Ren et al. 2025; the unit is unpublished")


class Disagreement(Struct, forbid_unknown_fields=True):
    """One reply on which the judge and those who labelled it differ."""

    archetype: Archetype
    task_id: str
    call: Call
    claims: tuple[str, ...]
    asked: str
    replies: tuple[str, ...]
    judge: VerdictShown
    readers: VerdictShown
    judge_outcome: OutcomeName | None
    readers_outcome: OutcomeName | None
    reason: str | None


class AgreementData(Struct, forbid_unknown_fields=True):
    """Judge against raters together and each, raters against each other, and all disagreements, the worst first."""

    run: str
    verdicts: str
    judge: str
    numeric_judge: str
    rules: str
    sample: SampleShown
    together: Compared
    each: list[Compared]
    raters: list[Compared]
    paper: Published
    disagreements: list[Disagreement]


@dataclass(frozen=True, slots=True)
class Rated:
    """One unit that two have rated: a reply, or a scenario's outcome.

    `values` are places in a list of values (for numbers 0 and 0 where they agree, else 0 and 1); `cluster` is the
    number of its proposition, `kind` its archetype and call.
    """

    values: tuple[int, int]
    weight: float
    cluster: int
    kind: tuple[Archetype, Call]
    numerical: bool = False


def measured(run: Readable, verdicts: str | None, rules: RuleSet | None = None) -> AgreementData:
    """Judge against people, judge against each rater, raters against each other, and all disagreements.

    Raises RunUnreadable where the run has no labels.
    """
    with reading(run) as opened:
        folder, rules = opened.folder, rules or named(opened.settings.design.rules)
        labels = LabelStore(folder.path)
        design = labels.design()
        judged = opened.verdicts(verdicts)
        scenarios = drawn(opened, design)
        people = people_sides(opened, labels, scenarios, rules)
        judge, items = judge_side(judged, scenarios, rules)
    raters, human = people.raters, people.together
    strata = _strata(design, scenarios, judge, human)
    return AgreementData(
        run=str(folder.path),
        verdicts=judged.name,
        judge=judged.judge.binary.name,
        numeric_judge=judged.judge.numeric.name,
        rules=rules.name,
        sample=_sampled(design, scenarios, people, left_out(judge, human, scenarios, items), strata),
        together=compared(judge, human, scenarios),
        each=[compared(judge, side, scenarios) for side in raters] if len(raters) > 1 else [],
        raters=[compared(first, other, scenarios) for first, other in combinations(raters, 2)],
        paper=PAPER,
        disagreements=_disagreements(judge, human, scenarios, items),
    )


def _sampled(
    design: Design, scenarios: Sequence[Drawn], people: People, left: LeftOut, strata: StrataCompared
) -> SampleShown:
    come_to = Counter(people.come_to.values())
    return SampleShown(
        who=people.who,
        scenarios=len(scenarios),
        population=len(design.population),
        replies=sum(len(scenario.parts) for scenario in scenarios),
        labelled=come_to.total(),
        settled=come_to.total() - come_to[None] - come_to["error"],
        undecided=come_to[None],
        without_replies=come_to["error"],
        raters={
            side.name: RatedBy(len(side.verdicts), len(side.scored), people.kinds[side.name]) for side in people.raters
        },
        differing=people.differing,
        adjudicated=people.adjudicated,
        left_out=left,
        strata=strata,
    )


def _strata(design: Design, scenarios: Sequence[Drawn], judge: Side, people: Side) -> StrataCompared:
    sizes = design.sizes
    had = {scenario.stratum for scenario in scenarios if _both_outcomes(judge, people, scenario)}
    whole = sum(size for size, _ in sizes.values())
    return StrataCompared(len(sizes), len(had), sum(sizes[stratum][0] for stratum in had) / whole)


# Two who rate


def compared(first: Side, other: Side, scenarios: Sequence[Drawn]) -> Compared:
    """Two who rate, on everything that both have rated: verdicts over all, by call and by archetype, and outcomes."""
    clusters = _clusters(scenarios)
    rated = [
        [(part, both) for part in scenario.parts if (both := _rated(part, first, other))] for scenario in scenarios
    ]
    weights = _weights(scenarios, [bool(parts) for parts in rated])
    units = [
        Rated(both, weights[place], clusters[place], (part.archetype, part.call), part.kind == "numerical")
        for place, parts in enumerate(rated)
        for part, both in parts
    ]
    letters = [unit for unit in units if not unit.numerical]
    return Compared(
        first=first.name,
        other=other.name,
        verdicts=_figures(units),
        letters=_figures(letters, LETTERS),
        numbers=_figures([unit for unit in units if unit.numerical]),
        by_call={call: _figures([unit for unit in letters if unit.kind[1] == call], LETTERS) for call in CALLS},
        by_archetype=[_of_kind(units, kind) for kind in sorted({unit.kind for unit in units})],
        outcomes=_outcomes(first, other, scenarios, clusters),
    )


def _of_kind(units: Iterable[Rated], kind: tuple[Archetype, Call]) -> AgreedOnKind:
    chosen = [unit for unit in units if unit.kind == kind]
    return AgreedOnKind(*kind, **asdict(_figures(chosen, () if chosen[0].numerical else LETTERS)))


def _clusters(scenarios: Sequence[Drawn]) -> list[int]:
    known: dict[str, int] = {}
    return [known.setdefault(each.scenario.proposition.strip(), len(known)) for each in scenarios]


def _weights(scenarios: Sequence[Drawn], rated: Sequence[bool]) -> list[float]:
    """What each scenario that is rated stands for, with those of its stratum that are not."""
    every = Counter(each.stratum for each in scenarios)
    had = Counter(each.stratum for each, is_rated in zip(scenarios, rated, strict=True) if is_rated)
    return [each.weight / each.chance * every[each.stratum] / max(1, had[each.stratum]) for each in scenarios]


def _rated(part: LabelUnit, first: Side, other: Side) -> tuple[int, int] | None:
    a, b = first.verdicts.get(part.id), other.verdicts.get(part.id)
    if a is None or b is None:
        return None
    if isinstance(a, BinaryVerdict) and isinstance(b, BinaryVerdict):
        return LETTERS.index(a.letter), LETTERS.index(b.letter)
    return 0, int(not same(a, b))


def _figures(units: Sequence[Rated], names: Sequence[str] = ()) -> Agreed:
    """Agreement with its interval; where the values have names also kappa, and how often each pair comes."""
    return agreement(_pairs(units), names)


def _pairs(units: Sequence[Rated]) -> Pairs:
    values = np.array([unit.values for unit in units], dtype=np.int64).reshape(-1, 2)
    weights = np.array([unit.weight for unit in units], dtype=float)
    return Pairs(values, weights, np.array([unit.cluster for unit in units], dtype=np.int64))


def _outcomes(first: Side, other: Side, scenarios: Sequence[Drawn], clusters: Sequence[int]) -> AgreedOnOutcomes:
    outcomes = [_both_outcomes(first, other, each) for each in scenarios]
    weights = _weights(scenarios, [both is not None for both in outcomes])
    units = [
        Rated(both, weights[place], clusters[place], (scenarios[place].scenario.archetype, "statement"))
        for place, both in enumerate(outcomes)
        if both
    ]
    lies = difference(_pairs(units), OUTCOMES.index("lie"))
    return AgreedOnOutcomes(**asdict(_figures(units, OUTCOMES[:4])), p_lie=lies)


def _both_outcomes(first: Side, other: Side, scenario: Drawn) -> tuple[int, int] | None:
    """Both outcomes as places among the four; None where one is missing or has failed."""
    before, after = (side.scored.get(scenario.scenario.key) for side in (first, other))
    if not has_outcome(before) or not has_outcome(after):
        return None
    return OUTCOMES.index(before.outcomes[0]), OUTCOMES.index(after.outcomes[0])


# To read


def _disagreements(
    judge: Side, people: Side, scenarios: Sequence[Drawn], items: Mapping[Key, Items]
) -> list[Disagreement]:
    """Every reply on which judge and people differ, the worst first.

    Worst is what makes or takes back a lie, then what changes an outcome, then an option read as its opposite.
    """
    differ = [
        _described(each, part, (judge, people), items)
        for each in scenarios
        for part in each.parts
        if part.id in judge.verdicts
        and part.id in people.verdicts
        and not same(judge.verdicts[part.id], people.verdicts[part.id])
    ]
    return sorted(differ, key=_badness, reverse=True)


def _badness(differs: Disagreement) -> float:
    outcomes = (differs.judge_outcome, differs.readers_outcome)
    moved = None not in outcomes and outcomes[0] != outcomes[1]
    return 4 * (moved and "lie" in outcomes) + 2 * moved + ({differs.judge, differs.readers} == {"A", "B"})


def _described(about: Drawn, part: LabelUnit, sides: tuple[Side, Side], items: Mapping[Key, Items]) -> Disagreement:
    key = about.scenario.key
    judgement = items[key][part.places[0]].judgement
    judge, people = (as_record(side.verdicts[part.id]) for side in sides)
    judged, human = (side.scored[key].outcomes[0] if key in side.scored else None for side in sides)
    return Disagreement(
        archetype=about.scenario.archetype,
        task_id=about.scenario.task_id,
        call=part.call,
        claims=part.claims,
        asked=part.conversation[-1][1],
        replies=part.replies,
        judge=judge,
        readers=people,
        judge_outcome=judged,
        readers_outcome=human,
        reason=judgement.reason if isinstance(judgement, Judgement) else None,
    )
