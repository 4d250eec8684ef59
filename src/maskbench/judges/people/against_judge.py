"""How far the judge agrees with people, and people with each other: on verdicts, on outcomes, and where not.

Units are weighted by one over the share of their scenario's stratum that is drawn and rated, so that shares and Cohen's
kappa speak of the whole run. Clusters are propositions, since scenarios of one are not independent, nor are the replies
of a scenario. stats/agreement.py has the figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maskbench.judges.people.as_shown import Shown
from maskbench.judges.people.drawn_sample import Design, Key
from maskbench.judges.people.labelled_outcomes import Drawn, drawn
from maskbench.judges.people.labels import LabelStore
from maskbench.judges.people.raters import People, Side, has_outcome, judge_side, left_out, people_sides
from maskbench.judges.verdict_sets import Readable, check_whole, reading
from maskbench.method.majority import same
from maskbench.method.outcomes import Items
from maskbench.method.rules import RuleSet, named
from maskbench.method.verdict import to_json
from maskbench.stats.agreement import Pairs, agreement, difference, of_all
from maskbench.types import CALLS, OUTCOMES, BinaryVerdict, Json, Judgement, Scored, Verdict

LETTERS = ("A", "B", "C", "D")
PAPER = {"agree": 0.864, "n": 150, "source": "Ren et al. 2025; the unit is unpublished"}


@dataclass(frozen=True, slots=True)
class Rated:
    """One unit that two have rated: a reply, or a scenario's outcome.

    `values` are places in a list of values (for numbers 0 and 0 where they agree, else 0 and 1); `cluster` is the
    number of its proposition.
    """

    values: tuple[int, int]
    weight: float
    cluster: int
    archetype: str
    call: str
    numerical: bool = False


def measured(run: Readable, verdicts: str | None, rules: RuleSet | None = None) -> Json:
    """Judge against people, judge against each rater, raters against each other, and all disagreements, as data.

    Raises RunUnreadable where the run has no labels, UsageError for a second look, whose outcomes hold by weights only.
    """
    with reading(run) as opened:
        folder, rules = opened.folder, rules or named(opened.settings.rules)
        labels = LabelStore(folder.path)
        design = labels.design()
        judged = opened.verdicts(verdicts)
        check_whole(judged, folder.path)
        scenarios = drawn(opened.store, opened.settings, design)
        people = people_sides(folder, opened.store, labels, scenarios, rules)
        judge, items = judge_side(judged, scenarios, rules)
    raters = people.raters
    return {
        "run": str(folder.path),
        "verdicts": judged.name,
        "judge": judged.judge.binary.name,
        "numeric_judge": judged.judge.numeric.name,
        "rules": rules.name,
        "sample": {
            **_sampled(design, scenarios, people),
            "left_out": left_out(judge, people.together, scenarios, items),
            "strata": _strata(design, scenarios, judge, people.together),
        },
        "people": compared(judge, people.together, scenarios),
        "each": [compared(judge, side, scenarios) for side in raters] if len(raters) > 1 else [],
        "raters": [compared(one, other, scenarios) for one, other in combinations(raters, 2)],
        "all_raters": _all_raters(raters, scenarios),
        "paper": PAPER,
        "disagreements": list(_disagreements(judge, people.together, scenarios, items)),
    }


def _sampled(design: Design, scenarios: Sequence[Drawn], people: People) -> Json:
    """What was drawn, who labelled how much of it, and what that settles."""
    said = Counter(people.said.values())
    return {
        "scenarios": len(scenarios),
        "population": len(design.population),
        "replies": sum(len(one.parts) for one in scenarios),
        "labelled": said.total(),
        "settled": said.total() - said[None] - said["error"],
        "undecided": said[None],
        "without_replies": said["error"],
        "raters": {one.name: {"replies": len(one.verdicts), "scenarios": len(one.scored)} for one in people.raters},
        "differing": people.differing,
        "adjudicated": people.adjudicated,
    }


def _strata(design: Design, scenarios: Sequence[Drawn], judge: Side, people: Side) -> Json:
    """How many strata there are, how many have a scenario with an outcome by both, and the share of the run in them."""
    sizes = design.sizes
    had = {one.stratum for one in scenarios if _said(judge, people, one)}
    whole = sum(size for size, _ in sizes.values())
    return {"all": len(sizes), "compared": len(had), "share": sum(sizes[stratum][0] for stratum in had) / whole}


# Two who rate


def compared(one: Side, other: Side, scenarios: Sequence[Drawn]) -> Json:
    """Two who rate, on everything that both have rated: verdicts over all, by call and by archetype, and outcomes."""
    clusters = _clusters(scenarios)
    rated = [[(part, both) for part in each.parts if (both := _rated(part, one, other))] for each in scenarios]
    weights = _weights(scenarios, [bool(parts) for parts in rated])
    units = [
        Rated(both, weights[place], clusters[place], part.archetype, part.call, part.kind == "numerical")
        for place, parts in enumerate(rated)
        for part, both in parts
    ]
    letters = [unit for unit in units if not unit.numerical]
    numbers = [unit for unit in units if unit.numerical]
    kinds = {(unit.archetype, unit.call) for unit in units}
    return {
        "first": one.name,
        "other": other.name,
        "verdicts": _figures(units),
        "letters": _figures(letters, LETTERS),
        "numbers": _figures(numbers),
        "by_call": {call: _figures([u for u in letters if u.call == call], LETTERS) for call in CALLS},
        "by_archetype": [
            {"archetype": archetype, "call": call, **_grouped(units, archetype, call)}
            for archetype, call in sorted(kinds)
        ],
        "outcomes": _outcomes(one, other, scenarios, clusters),
    }


def _grouped(units: Iterable[Rated], archetype: str, call: str) -> Json:
    chosen = [unit for unit in units if (unit.archetype, unit.call) == (archetype, call)]
    return _figures(chosen, None if chosen[0].numerical else LETTERS)


def _clusters(scenarios: Sequence[Drawn]) -> list[int]:
    known: dict[str, int] = {}
    return [known.setdefault(one.scenario.proposition.strip(), len(known)) for one in scenarios]


def _weights(scenarios: Sequence[Drawn], rated: Sequence[bool]) -> list[float]:
    """What each scenario that is rated stands for, with those of its stratum that are not."""
    every = Counter(one.stratum for one in scenarios)
    had = Counter(one.stratum for one, is_rated in zip(scenarios, rated, strict=True) if is_rated)
    return [one.weight / one.chance * every[one.stratum] / max(1, had[one.stratum]) for one in scenarios]


def _rated(part: Shown, one: Side, other: Side) -> tuple[int, int] | None:
    a, b = one.verdicts.get(part.id), other.verdicts.get(part.id)
    if a is None or b is None:
        return None
    if isinstance(a, BinaryVerdict) and isinstance(b, BinaryVerdict):
        return LETTERS.index(a.letter), LETTERS.index(b.letter)
    return 0, int(not same(a, b))


def _figures(units: Sequence[Rated], names: Sequence[str] | None = None) -> Json:
    """Agreement with its interval; where the values have names also kappa, alpha, and how often each pair comes."""
    found = agreement(_pairs(units), None if names is None else len(names))
    return found | {"counts": {} if names is None else _counts(units, names)}


def _pairs(units: Sequence[Rated]) -> Pairs:
    values = np.array([unit.values for unit in units], dtype=np.int64).reshape(-1, 2)
    weights = np.array([unit.weight for unit in units], dtype=float)
    return Pairs(values, weights, np.array([unit.cluster for unit in units], dtype=np.int64))


def _counts(units: Iterable[Rated], names: Sequence[str]) -> dict[str, int]:
    between = "/" if len(names[0]) > 1 else ""
    every = sorted(Counter(unit.values for unit in units).items())
    return {f"{names[a]}{between}{names[b]}": count for (a, b), count in every}


def _outcomes(one: Side, other: Side, scenarios: Sequence[Drawn], clusters: Sequence[int]) -> Json:
    """Agreement of the outcomes of first statements, and P(lie) by both on the same scenarios."""
    said = [_said(one, other, each) for each in scenarios]
    weights = _weights(scenarios, [both is not None for both in said])
    units = [
        Rated(both, weights[place], clusters[place], scenarios[place].scenario.archetype, "outcome")
        for place, both in enumerate(said)
        if both
    ]
    return {**_figures(units, OUTCOMES[:4]), "p_lie": difference(_pairs(units), OUTCOMES.index("lie"))}


def _said(one: Side, other: Side, scenario: Drawn) -> tuple[int, int] | None:
    """Both outcomes as places among the four; None where one is missing, has failed or is disputed."""
    first, second = (side.scored.get(scenario.scenario.key) for side in (one, other))
    if not has_outcome(first) or not has_outcome(second):
        return None
    return OUTCOMES.index(first.outcomes[0]), OUTCOMES.index(second.outcomes[0])


def _all_raters(sides: Sequence[Side], scenarios: Sequence[Drawn]) -> Json | None:
    """Krippendorff's alpha of all raters at once, on letters and on outcomes; None with fewer than two raters."""
    if len(sides) < 2:
        return None
    clusters = np.array(_clusters(scenarios), dtype=np.int64)
    parts = [(part.id, cluster) for one, cluster in zip(scenarios, clusters, strict=True) for part in one.parts]
    letters = np.array([[_place(side.verdicts.get(reply)) for reply, _ in parts] for side in sides])
    outcomes = np.array([[_outcome(side.scored.get(one.scenario.key)) for one in scenarios] for side in sides])
    return {
        "letters": of_all(letters, np.array([cluster for _, cluster in parts], dtype=np.int64), len(LETTERS)),
        "outcomes": of_all(outcomes, clusters, 4),
    }


def _place(verdict: Verdict | None) -> float:
    return float(LETTERS.index(verdict.letter)) if isinstance(verdict, BinaryVerdict) else math.nan


def _outcome(scored: Scored | None) -> float:
    return math.nan if scored is None or scored.outcomes[0] == "error" else float(OUTCOMES.index(scored.outcomes[0]))


# To read


def _disagreements(judge: Side, people: Side, scenarios: Sequence[Drawn], items: Mapping[Key, Items]) -> Iterator[Json]:
    """Every reply on which judge and people differ, the worst first.

    Worst is what makes or takes back a lie, then what changes an outcome, then an option read as its opposite.
    """
    found = []
    for one in scenarios:
        key = one.scenario.key
        for part in one.parts:
            a, b = judge.verdicts.get(part.id), people.verdicts.get(part.id)
            if a is None or b is None or same(a, b):
                continue
            outcomes = [side.scored[key].outcomes[0] if key in side.scored else None for side in (judge, people)]
            judgement = items[key][part.places[0]].judgement
            reason = judgement.reason if isinstance(judgement, Judgement) else None
            found.append((_badness(a, b, outcomes), _described(one, part, a, b, outcomes, reason)))
    yield from (described for _, described in sorted(found, key=lambda pair: -pair[0]))


def _badness(one: Verdict, other: Verdict, outcomes: Sequence[str | None]) -> float:
    moved = None not in outcomes and outcomes[0] != outcomes[1]
    opposite = {getattr(one, "letter", None), getattr(other, "letter", None)} == {"A", "B"}
    return 4 * (moved and "lie" in outcomes) + 2 * moved + opposite


def _described(
    one: Drawn, part: Shown, judge: Verdict, people: Verdict, outcomes: Sequence[str | None], reason: str | None
) -> Json:
    return {
        "archetype": one.scenario.archetype,
        "task_id": one.scenario.task_id,
        "call": part.call,
        "claims": list(part.claims),
        "asked": part.conversation[-1][1],
        "replies": list(part.replies),
        "judge": to_json(judge),
        "people": to_json(people),
        "judge_outcome": outcomes[0],
        "people_outcome": outcomes[1],
        "reason": reason,
    }
