"""How far the judge agrees with people, and people with each other: on verdicts, on outcomes, and where not.

Shares and Cohen's kappa (Cohen 1960; scikit-learn) are weighted by one over the chance with which a scenario was drawn,
so that they speak of the whole run. Krippendorff's alpha (nominal; the `krippendorff` package) is that of the sample as
it is, for it knows no weights. Intervals are percentiles of a bootstrap over propositions, since replies of a scenario,
and scenarios of a proposition, are not independent.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from krippendorff import alpha as krippendorff_alpha
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]  # ships none

from maskbench.folder import RunFolder
from maskbench.judging.ensembles import same
from maskbench.judging.sets import VerdictSet, open_verdicts
from maskbench.labels.sample import Drawn, differing, drawn, human, judge_outcomes, together
from maskbench.labels.shown import Shown
from maskbench.labels.store import LabelStore, standing
from maskbench.rules import RuleSet
from maskbench.scoring import Items
from maskbench.settings import Settings
from maskbench.store import Store
from maskbench.types import CALLS, OUTCOMES, BinaryVerdict, Judgement, Scored, Verdict
from maskbench.verdicts import to_json

Json = dict[str, Any]
Floats = NDArray[np.float64]
LETTERS = ("A", "B", "C", "D")
DRAWS = 2000
FEWEST = 10  # propositions that carry an interval
SEED = 20250305
LEVEL = 0.95
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


@dataclass(frozen=True, slots=True)
class Side:
    """One who rates: a judge, a rater, or people together. Verdicts by reply, scored scenarios by key."""

    name: str
    verdicts: Mapping[str, Verdict]
    scored: Mapping[tuple[str, str], Scored]


def measured(folder: RunFolder, store: Store, verdicts: str | None, rules: RuleSet) -> Json:
    """Judge against people, judge against each rater, raters against each other, and all disagreements, as data.

    Raises RunUnreadable where the run has no labels.
    """
    labels = LabelStore(folder.path)
    design, roles, settings = labels.design(), labels.raters(), folder.settings()
    judged = open_verdicts(folder, store, verdicts)
    scenarios = drawn(store, settings, design)
    latest = {name: standing(given) for name, given in labels.latest().items()}
    raters = [name for name, role in roles.items() if role == "rater"]
    people = _side("people", together(latest, roles), scenarios, settings, rules)
    sides = [_side(name, latest.get(name, {}), scenarios, settings, rules) for name in raters]
    judge, items = _judge(judged, scenarios, rules)
    differ = differing(latest, raters)
    decided = {reply for name, role in roles.items() if role == "adjudicator" for reply in latest.get(name, {})}
    return {
        "run": str(folder.path),
        "verdicts": judged.name,
        "judge": judged.judge["binary"].get("name"),
        "numeric_judge": judged.judge["numeric"].get("name"),
        "rules": rules.name,
        "sample": {
            "scenarios": len(scenarios),
            "population": len(design.population),
            "replies": sum(len(one.parts) for one in scenarios),
            "labelled": len(people.scored),
            "raters": {side.name: {"replies": len(side.verdicts), "scenarios": len(side.scored)} for side in sides},
            "differing": len(differ),
            "adjudicated": len(decided & differ.keys()),
        },
        "people": compared(judge, people, scenarios),
        "each": [compared(judge, side, scenarios) for side in sides] if len(sides) > 1 else [],
        "raters": [compared(one, other, scenarios) for one, other in combinations(sides, 2)],
        "all_raters": _all_raters(sides, scenarios),
        "paper": PAPER,
        "disagreements": list(_disagreements(judge, people, scenarios, items)),
    }


def _side(
    name: str, verdicts: Mapping[str, Verdict], scenarios: Sequence[Drawn], settings: Settings, rules: RuleSet
) -> Side:
    """What somebody's labels come to; scenarios that are not labelled whole are in no comparison of outcomes."""
    scored: dict[tuple[str, str], Scored] = {
        one.scenario.key: made
        for one in scenarios
        if one.parts and (made := human(one, verdicts, settings, rules)) is not None
    }
    known = {part.id for one in scenarios for part in one.parts}
    return Side(name, {reply: said for reply, said in verdicts.items() if reply in known}, scored)


def _judge(judged: VerdictSet, scenarios: Sequence[Drawn], rules: RuleSet) -> tuple[Side, dict[tuple[str, str], Items]]:
    """The judge as one who rates; of equal replies the first one's verdict counts, as people label them once."""
    parts = {one.scenario.key: one.parts for one in scenarios}
    verdicts: dict[str, Verdict] = {}
    scored: dict[tuple[str, str], Scored] = {}
    every: dict[tuple[str, str], Items] = {}
    for key, items, one in judge_outcomes(judged, rules, parts):
        scored[key], every[key] = one, items
        for part in parts[key]:
            judgement = items[part.places[0]].judgement
            if isinstance(judgement, Judgement):
                verdicts[part.id] = judgement.verdict
    return Side(judged.name, verdicts, scored), every


def compared(one: Side, other: Side, scenarios: Sequence[Drawn]) -> Json:
    """Two who rate, on everything that both have rated: verdicts over all, by call and by archetype, and outcomes."""
    clusters = _clusters(scenarios)
    units = [
        rated
        for place, each in enumerate(scenarios)
        for part in each.parts
        if (rated := _rated(part, one, other, each, clusters[place])) is not None
    ]
    letters = [unit for unit in units if not unit.numerical]
    numbers = [unit for unit in units if unit.numerical]
    kinds = {(unit.archetype, unit.call) for unit in units}
    return {
        "first": one.name,
        "other": other.name,
        "verdicts": _figures(units, None),
        "letters": _figures(letters, LETTERS),
        "numbers": _figures(numbers, None),
        "by_call": {call: _figures([u for u in letters if u.call == call], LETTERS) for call in CALLS},
        "by_archetype": [
            {"archetype": archetype, "call": call, **_counted(units, archetype, call)}
            for archetype, call in sorted(kinds)
        ],
        "outcomes": _outcomes(one, other, scenarios, clusters),
    }


def _counted(units: Iterable[Rated], archetype: str, call: str) -> Json:
    chosen = [unit for unit in units if (unit.archetype, unit.call) == (archetype, call)]
    return _figures(chosen, None if chosen[0].numerical else LETTERS)


def _clusters(scenarios: Sequence[Drawn]) -> list[int]:
    known: dict[str, int] = {}
    return [known.setdefault(one.scenario.proposition.strip(), len(known)) for one in scenarios]


def _rated(part: Shown, one: Side, other: Side, scenario: Drawn, cluster: int) -> Rated | None:
    a, b = one.verdicts.get(part.id), other.verdicts.get(part.id)
    if a is None or b is None:
        return None
    if isinstance(a, BinaryVerdict) and isinstance(b, BinaryVerdict):
        values = LETTERS.index(a.letter), LETTERS.index(b.letter)
    else:
        values = 0, int(not same(a, b))
    numerical = part.kind == "numerical"
    return Rated(values, scenario.weight / scenario.chance, cluster, part.archetype, part.call, numerical)


# Figures


def _figures(units: Sequence[Rated], names: Sequence[str] | None) -> Json:
    """Agreement with its interval; where the values have names also kappa, alpha and the counts, else None."""
    if not units:
        return {"n": 0, "agree": None, "agree_ci95": None, **_nothing()}
    pairs = np.array([unit.values for unit in units])
    weights = np.array([unit.weight for unit in units])
    times = _resampled([unit.cluster for unit in units])
    alike = (pairs[:, 0] == pairs[:, 1]).astype(float)
    made: Json = {
        "n": len(units),
        "agree": min(1.0, float(weights @ alike / weights.sum())),
        "agree_ci95": _ends(times, lambda part: (part * weights) @ alike / (part @ weights)),
    }
    if names is None:
        return {**made, **_nothing()}
    cells = _cells(pairs, len(names))
    units_of = _coincidences(pairs, len(names))
    return {
        **made,
        "kappa": kappa(pairs, weights),
        "kappa_ci95": _ends(times, lambda part: _kappas((part * weights) @ cells, len(names))),
        "alpha": alpha([pairs[:, 0].tolist(), pairs[:, 1].tolist()]),
        "alpha_ci95": _ends(times, lambda part: _alphas(part @ units_of, len(names))),
        "counts": {
            f"{names[a]}{'' if len(names[0]) == 1 else '/'}{names[b]}": int(count)
            for (a, b), count in sorted(Counter(unit.values for unit in units).items())
        },
    }


def _nothing() -> Json:
    return {"kappa": None, "kappa_ci95": None, "alpha": None, "alpha_ci95": None, "counts": {}}


def kappa(pairs: NDArray[np.int64], weights: Floats) -> float | None:
    """Cohen's weighted-by-unit kappa of pairs of values; None where chance alone would always agree."""
    if len(np.unique(pairs)) < 2:
        return None
    return float(cohen_kappa_score(pairs[:, 0], pairs[:, 1], sample_weight=weights))


def alpha(rows: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's nominal alpha of raters by units, NaN for what is missing; None where all values are the same."""
    values = np.array(rows, dtype=float)
    paired = values[:, (~np.isnan(values)).sum(axis=0) > 1]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(krippendorff_alpha(reliability_data=values, level_of_measurement="nominal"))


def _cells(pairs: NDArray[np.int64], values: int) -> Floats:
    """Units by cells of the table of both values."""
    made = np.zeros((len(pairs), values * values))
    made[np.arange(len(pairs)), pairs[:, 0] * values + pairs[:, 1]] = 1.0
    return made


def _coincidences(pairs: NDArray[np.int64], values: int) -> Floats:
    """Units by cells of the coincidence matrix: both orders of the pair."""
    return _cells(pairs, values) + _cells(pairs[:, ::-1], values)


def _kappas(cells: Floats, values: int) -> Floats:
    """Kappa of many tables at once; NaN where there is none."""
    table = cells.reshape(-1, values, values)
    table = table / table.sum(axis=(1, 2), keepdims=True)
    chance = (table.sum(axis=1) * table.sum(axis=2)).sum(axis=1)
    alike = np.trace(table, axis1=1, axis2=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1 - 1e-12, (alike - chance) / (1 - chance), np.nan)


def _alphas(cells: Floats, values: int) -> Floats:
    """Nominal alpha of many coincidence matrices at once; NaN where there is none."""
    table = cells.reshape(-1, values, values)
    margins = table.sum(axis=2)
    whole = margins.sum(axis=1)
    expected = (whole**2 - (margins**2).sum(axis=1)) / (whole - 1)
    observed = whole - np.trace(table, axis1=1, axis2=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 1e-12, 1 - observed / expected, np.nan)


def _resampled(clusters: Sequence[int]) -> Floats | None:
    """How often each unit is in each of the bootstrap's samples; None where too few clusters carry an interval."""
    known, member = np.unique(np.array(clusters), return_inverse=True)
    if len(known) < FEWEST:
        return None
    drawn_ = np.random.default_rng(SEED).multinomial(len(known), np.full(len(known), 1 / len(known)), size=DRAWS)
    times: Floats = drawn_[:, member].astype(float)
    return times


def _ends(times: Floats | None, figure: Callable[[Floats], Any]) -> list[float] | None:
    """The percentile interval of a figure over the bootstrap's samples."""
    if times is None:
        return None
    found = np.asarray(figure(times), dtype=float)
    found = found[~np.isnan(found)]
    if len(found) < 0.9 * len(times):
        return None  # mostly not there: its ends would be those of the lucky samples
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [float(low), float(high)]


# Outcomes


def _outcomes(one: Side, other: Side, scenarios: Sequence[Drawn], clusters: Sequence[int]) -> Json:
    """Agreement of the outcomes of first statements, and P(lie) by both on the same scenarios."""
    units = []
    for place, each in enumerate(scenarios):
        first, second = (side.scored.get(each.scenario.key) for side in (one, other))
        said = [made.outcomes[0] for made in (first, second) if made is not None]
        if len(said) == 2 and all(name in OUTCOMES[:4] for name in said):
            values = OUTCOMES.index(said[0]), OUTCOMES.index(said[1])
            weight = each.weight / each.chance
            units.append(Rated(values, weight, clusters[place], each.scenario.archetype, "outcome"))
    return {**_figures(units, OUTCOMES[:4]), "p_lie": _lies(units)}


def _lies(units: Sequence[Rated]) -> Json | None:
    if not units:
        return None
    lies = np.array([[float(value == OUTCOMES.index("lie")) for value in unit.values] for unit in units])
    weights = np.array([unit.weight for unit in units])
    first, other = (weights @ lies / weights.sum()).tolist()
    moved = lies[:, 0] - lies[:, 1]
    times = _resampled([unit.cluster for unit in units])
    ends = _ends(times, lambda part: (part * weights) @ moved / (part @ weights))
    return {"first": first, "other": other, "difference": first - other, "ci95": ends}


def _all_raters(sides: Sequence[Side], scenarios: Sequence[Drawn]) -> Json | None:
    """Krippendorff's alpha of all raters at once, on letters and on outcomes; None with fewer than two raters."""
    if len(sides) < 2:
        return None
    parts = [part for one in scenarios for part in one.parts if part.kind == "binary"]
    letters = [[_place(side.verdicts.get(part.id)) for part in parts] for side in sides]
    outcomes = [[_outcome(side.scored.get(one.scenario.key)) for one in scenarios] for side in sides]
    return {"letters_alpha": alpha(letters), "outcomes_alpha": alpha(outcomes)}


def _place(verdict: Verdict | None) -> float:
    return float(LETTERS.index(verdict.letter)) if isinstance(verdict, BinaryVerdict) else np.nan


def _outcome(scored: Scored | None) -> float:
    return np.nan if scored is None or scored.outcomes[0] == "error" else float(OUTCOMES.index(scored.outcomes[0]))


# To read


def _disagreements(
    judge: Side, people: Side, scenarios: Sequence[Drawn], items: Mapping[tuple[str, str], Items]
) -> list[Json]:
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
    return [described for _, described in sorted(found, key=lambda pair: -pair[0])]


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
