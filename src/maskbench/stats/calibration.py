"""Rates corrected for the judge's error, from a sample of scenarios that a better rater saw, too: the statistics alone.

The judge's rate over all scenarios plus the weighted mean of "rater minus judge" over the sample: a
post-stratified difference estimator, which is prediction-powered inference for a finite set of scenarios. Sources:
Särndal, Swensson & Wretman 1992, chapters 6 and 9; Angelopoulos et al. 2023. docs/statistics.md
has the formulas, what is assumed, and simulated coverage.

Of labels a third person may have seen, beside every scenario on which raters differ, a random part of those on which
they agree. What she changes there estimates how often labels are wrong, by the outcome that raters came to: two-phase
sampling for stratification (chapter 9). An error that she shares with them shows nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from maskbench.stats.figures import NO_DATA, Difference, Share
from maskbench.stats.intervals import ALIKE, ROUNDING, Floats, by_cluster, joined, quantile, telling

Ints: TypeAlias = NDArray[np.int64]

CLASSES = ("lie", "honest", "evasive", "no_belief")  # the columns of every array of outcomes
Fractions: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]  # rates: hits and what they are of
LEAST = 10  # rows that are settled by both: of fewer no simulation knows what the interval holds
FEWEST_CHECKS = 20  # scenarios that raters agree on: of fewer the interval would say little
UNSEEN = 0.05  # the largest share of scenarios whose judged outcome may have no label at all
PRIOR = 0.5  # Jeffreys' prior: half a label at either end, since no disagreement seen does not prove that there is none


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """Every scenario that has a judged outcome, one row each, with people's outcomes for some of them.

    `judged` has shares over all statements, `first` the outcome of the first statement (one column is 1), `human` the
    same by people: all n × 4, in the order of CLASSES, rows of NaN where nobody labelled. `chances` are the
    probabilities with which labelled rows were drawn (1 elsewhere). `groups` number the archetypes, `clusters` the
    propositions; `weights` are those of the run.
    """

    judged: Floats
    first: Floats
    human: Floats
    chances: Floats
    groups: Ints
    weights: Floats
    clusters: Ints

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows people gave an outcome."""
        return ~np.isnan(self.human[:, 0])

    @property
    def disagreements(self) -> int:
        """On how many labelled scenarios people and judge come to another outcome of the first statement."""
        rows = self.labelled
        return int((np.abs(self.human[rows] - self.first[rows]).sum(axis=1) > 1).sum())

    @property
    def classes(self) -> Ints:
        """The column that the first statement is judged to be, or to be most likely."""
        columns: Ints = self.first.argmax(axis=1).astype(np.int64)
        return columns


@dataclass(frozen=True, slots=True)
class Corrected:
    """One corrected rate: the estimate, and its variance by where it comes from.

    `influence` is what each scenario brought to the error of the estimate, linearised, `size` how many independent
    scenarios the set is worth.
    """

    estimate: Share
    sampling: float
    calibration: float
    influence: Floats
    size: float = 0.0

    @property
    def judges_part(self) -> float | None:
        """The share of the variance that is the judge's error; None where there is no variance."""
        whole = self.sampling + self.calibration
        return self.calibration / whole if whole > 0 else None


@dataclass(frozen=True, slots=True)
class Weighting:
    """How much each labelled row counts, its class, and what is left of its variance."""

    rows: Ints
    parts: Floats  # the share of the whole set that the row stands for; with those of `unseen` they add up to 1
    left: Floats  # 1 less the share of its stratum that is labelled: the finite population correction
    classes: Ints
    unseen: Floats  # by class: the share of the set that no labelled row stands for


def judged_rates(run: LabelledRun, rates: Fractions) -> dict[str, float | None]:
    """Every rate as the judge alone has it; None where nothing is in its denominator."""
    shares = run.weights @ run.judged / run.weights.sum() if len(run.weights) else np.zeros(len(CLASSES))
    return {
        name: float(shares @ np.array(top)) / under if (under := float(shares @ np.array(bottom))) > 0 else None
        for name, (top, bottom) in rates.items()
    }


def refusal(run: LabelledRun) -> str | None:
    """Why the sample carries no correction, in words, or None."""
    if not len(run.weights):
        return "No scenario has a judged outcome."
    return too_few(run) or _one_sided(run)


def too_few(run: LabelledRun) -> str | None:
    """That fewer than `LEAST` rows are settled by both, in words; None where they are enough, or all that there are."""
    settled = int(run.labelled.sum())
    if settled >= min(LEAST, len(run.weights)):
        return None
    return f"Of the sample {settled:,} are settled, by the judge and by who saw it. A correction needs {LEAST}."


def _one_sided(run: LabelledRun) -> str | None:
    """Which judged outcome is not in the sample though many have it, in words, or None."""
    there = np.bincount(run.classes[run.labelled], minlength=len(CLASSES))
    shares = np.bincount(run.classes, run.weights, len(CLASSES)) / run.weights.sum()
    missing = [CLASSES[kind].replace("_", " ") for kind in np.flatnonzero((shares > UNSEEN) & (there == 0))]
    if not missing:
        return None
    kinds = " or ".join(missing)
    return f"None that is judged {kinds} is settled in the sample, and more than {UNSEEN:.0%} are so judged."


def correct(
    run: LabelledRun,
    rates: Fractions,
    level: float = 0.95,
    checks: LabelledRun | None = None,
) -> dict[str, Corrected]:
    """Every one of these rates, corrected; the shares of the four columns add up to 1, and all stay within [0, 1].

    A rate is the columns of CLASSES that are hits, and those that they are of, as two rows of four numbers.
    Empty where no row is labelled; whether labels are enough to print anything is `refusal`. A rate without a
    denominator has no value. `checks` are labelled scenarios once more, of which a third person saw some (`checks_of`):
    the labels are then put right as she found, with the error of that. Raises ValueError for arrays of other shapes.
    """
    check(run)
    if not run.labelled.any():
        return {}
    second = None if checks is None else (checks, calibrate(checks))
    calibration = calibrate(run)
    seen = calibration.rows
    reached = run.weights @ run.judged / run.weights.sum() + calibration.parts @ (run.human[seen] - run.first[seen])
    if second:
        again, by = second
        reached = reached + again.weights.sum() * by.parts @ (again.human[by.rows] - again.first[by.rows])
    shares = _simplex(reached)
    return {
        name: _rate(run, calibration, shares, np.array(top, float), np.array(bottom, float), level, second)
        for name, (top, bottom) in rates.items()
    }


def difference(first: Corrected, other: Corrected, clusters: Ints) -> Difference:
    """Other minus first, of two corrected rates over the same scenarios row by row, each by labels of its own.

    `clusters` number the propositions. The interval joins those of the two (the square-and-add method with a
    correlation: Newcombe 1998, Zou & Donner 2008). What they have in common is the covariance of the influences, less
    one independent scenario that changed either way, since none that did does not prove that none does (Bonett &
    Price 2012); a negative one counts as none.
    """
    sums, other_sums = (by_cluster(influence, clusters) for influence in (first.influence, other.influence))
    size = math.sqrt((first.sampling + first.calibration) * (other.sampling + other.calibration))
    alike = 0.0
    if size > 0:
        shared = len(sums) / max(1, len(sums) - 1) * float(sums @ other_sums) - 1 / (first.size * other.size)
        alike = min(1.0, max(0.0, shared / size))
    found = joined(first.estimate, other.estimate, alike)
    found.n = min(first.estimate.n, other.estimate.n)
    return found


def score_interval(p: float, size: float, t: float, below: float, above: float) -> tuple[float, float]:
    """Wilson's interval for a share seen in `size` scenarios, with further errors that do not hang on the share.

    `below` and `above` are how far these alone reach to either side. The interval holds every θ in [0, 1] with
    (p − θ)² ≤ t² θ(1 − θ)/size + below² (above² where θ > p).
    """
    k = t * t / size
    centre = 2 * p + k
    low, high = (
        centre + side * math.sqrt(max(0.0, centre**2 - 4 * (1 + k) * (p * p - further**2)))
        for side, further in ((-1, below), (1, above))
    )
    return max(0.0, min(p, low / (2 * (1 + k)))), min(1.0, max(p, high / (2 * (1 + k))))


def check(run: LabelledRun) -> None:
    """Raise ValueError for arrays of other shapes, weights that are none, and chances outside (0, 1]."""
    n = len(run.weights)
    wide = (run.judged, run.first, run.human)
    flat = (run.chances, run.groups, run.clusters)
    if any(array.shape != (n, len(CLASSES)) for array in wide) or any(array.shape != (n,) for array in flat):
        raise ValueError(
            f"A labelled run of {n} scenarios needs {n} rows of {len(CLASSES)} outcomes and {n} of the rest."
        )
    drawn = run.chances[run.labelled]
    if np.any(~(run.weights > 0)) or np.any(~((drawn > 0) & (drawn <= 1))):
        raise ValueError("Weights are above 0, and labelled scenarios were drawn with a chance above 0 and up to 1.")


def calibrate(run: LabelledRun) -> Weighting:
    """Each labelled scenario stands for its archetype and judged outcome, or for that outcome in archetypes unseen."""
    rows, classes = np.flatnonzero(run.labelled), run.classes
    strata = classes * (int(run.groups.max()) + 1) + run.groups
    strata = np.unique(strata, return_inverse=True)[1]
    counts, labelled = (np.bincount(part, minlength=strata.max() + 1) for part in (strata, strata[rows]))
    held = np.bincount(strata, weights=run.weights) / run.weights.sum()
    drawn = run.weights[rows] / run.chances[rows]
    parts = held[strata[rows]] * drawn / np.bincount(strata[rows], weights=drawn, minlength=len(held))[strata[rows]]
    # A stratum without a label is joined to the others that are judged alike.
    whole = np.bincount(classes, weights=run.weights, minlength=len(CLASSES)) / run.weights.sum()
    reached = np.bincount(classes[rows], weights=parts, minlength=len(CLASSES))
    parts *= whole[classes[rows]] / reached[classes[rows]]
    left = 1 - labelled[strata[rows]] / counts[strata[rows]]
    empty = np.bincount(classes, weights=labelled[strata] == 0, minlength=len(CLASSES)) > 0
    left[empty[classes[rows]]] = 1.0
    return Weighting(rows, parts, left, classes[rows], np.where(reached > 0, 0.0, whole))


def _simplex(shares: Floats) -> Floats:
    """The nearest shares that are all at least 0 and add up to 1: these very ones, where they are that already."""
    ordered = np.sort(shares)[::-1]
    surplus = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    above = surplus[-1] if shares.min() >= 0 else surplus[ordered > surplus][-1]
    nearest: Floats = np.maximum(shares - above, 0.0)
    return nearest


def _rate(
    run: LabelledRun,
    calibration: Weighting,
    shares: Floats,
    top: Floats,
    bottom: Floats,
    level: float,
    second: tuple[LabelledRun, Weighting] | None = None,
) -> Corrected:
    under, n = float(shares @ bottom), len(run.weights)
    if under <= ROUNDING:
        return Corrected(NO_DATA, 0.0, 0.0, np.zeros(n))
    p = min(1.0, float(shares @ top) / under)
    gradient = (top - p * bottom) / under
    influence = _influence(run, calibration, gradient)
    size = _size(run, influence, p, under, _telling(run, top, bottom))
    parts = [_class_error(run, calibration, gradient, kinds, level) for kinds in _alike(calibration, top, bottom)]
    if second:
        checks, by = second
        moves = gradient * checks.weights.sum()
        parts += [_class_error(checks, by, moves, kinds, level) for kinds in _alike(by, top, bottom)]
    below, above = (math.sqrt(sum(part[side] ** 2 for part in parts)) for side in (0, 1))
    whole = by_cluster(run.weights / run.weights.sum(), run.clusters)
    estimate = Share(p, None, n)
    if len(whole) > 1:
        t = quantile(max(1.0, 1 / float(whole @ whole) - 1), level)  # the degrees of freedom of `ratio`
        estimate = Share(p, score_interval(p, size, t, below, above), n)
    return Corrected(estimate, p * (1 - p) / size, sum(part[2] for part in parts), influence, size)


def _alike(calibration: Weighting, top: Floats, bottom: Floats) -> list[list[int]]:
    """The judged outcomes, those together that count alike in a rate; each alone of which no label is there."""
    groups: dict[tuple[float, float, int], list[int]] = {}
    for kind, unseen in enumerate(calibration.unseen):
        groups.setdefault((top[kind], bottom[kind], kind if unseen > 0 else -1), []).append(kind)
    return list(groups.values())


def _class_error(
    run: LabelledRun, calibration: Weighting, gradient: Floats, kinds: Sequence[int], level: float
) -> tuple[float, float, float]:
    """How far the rate may be too high and too low by the labels of these judged outcomes, and the variance of that.

    What labels change lies in a range, and is a share of it: Beta distributed by Jeffreys' prior. Archetypes are taken
    together, and outcomes that count alike: with two labels in a stratum, its own variance says little.
    """
    mine, unseen = np.isin(calibration.classes, kinds), float(calibration.unseen[kinds[0]])
    if unseen > 0:  # no label has this judged outcome, so its true one is unknown
        own = gradient[kinds[0]]
        below, above = unseen * (own - gradient.min()), unseen * (gradient.max() - own)
        return below, above, (below + above) ** 2 / 12
    rows, parts = calibration.rows[mine], calibration.parts[mine]
    judged = run.first[rows] @ gradient
    loss = float(parts**2 @ calibration.left[mine])
    if loss <= 0:
        return 0.0, 0.0, 0.0
    lowest, span = float(gradient.min() - judged.max()), float(np.ptp(gradient) + np.ptp(judged))
    places = (run.human[rows] @ gradient - judged - lowest) / span
    held = float(parts.sum())
    mean, low, high, variance = _beta(places, parts / held, held**2 / loss, level)
    reach = held * span
    return reach * max(0.0, mean - low), reach * max(0.0, high - mean), reach**2 * variance


def _beta(places: Floats, parts: Floats, count: float, level: float) -> tuple[float, float, float, float]:
    """The mean of places in [0, 1], the interval that `count` of them leave for it, and its variance.

    Places that are not all at the ends vary less than a share would; they then count for as many more.
    """
    # Here, since loading scipy costs more than the rest of this module; it ships without types.
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    mean = float(parts @ places)
    middle = (count * mean + PRIOR) / (count + 2 * PRIOR)
    square = (count * float(parts @ places**2) + PRIOR) / (count + 2 * PRIOR)
    count *= middle * (1 - middle) / (square - middle**2)
    a, b = count * mean + PRIOR, count * (1 - mean) + PRIOR
    low, high = (float(betaincinv(a, b, (1 + side * level) / 2)) for side in (-1, 1))
    return mean, low, high, a * b / ((a + b) ** 2 * (a + b + 1))


def _influence(run: LabelledRun, calibration: Weighting, gradient: Floats) -> Floats:
    """What each scenario brings to the error of a rate: as judged and put right like its class, and by its own label.

    Their squares, summed, are the variance of the estimate without any finite population correction.
    """
    rows, classes, parts = calibration.rows, calibration.classes, calibration.parts
    change = (run.human[rows] - run.first[rows]) @ gradient
    reached = np.bincount(classes, weights=parts, minlength=len(CLASSES))
    usual = np.bincount(classes, weights=parts * change, minlength=len(CLASSES)) / np.where(reached > 0, reached, 1)
    influence: Floats = run.weights / run.weights.sum() * (run.judged @ gradient + usual[run.classes])
    influence[rows] += parts * (change - usual[classes])
    return influence


def _telling(run: LabelledRun, top: Floats, bottom: Floats) -> float:
    """The effective number of propositions with the rarer outcome of a rate, as people say or else the judge."""
    known = np.where(run.labelled[:, None], run.human, run.first) * run.weights[:, None]
    inside, hits = (by_cluster(known @ part, run.clusters) for part in (bottom, top))
    whole = inside.sum()
    return telling(inside / whole, hits / whole) if whole > 0 else 0.0


def _size(run: LabelledRun, influence: Floats, p: float, under: float, known: float) -> float:
    """How many independent scenarios the set is worth: Kish's number, less for propositions that scenarios share.

    How alike those are is learned from the `known` propositions with the rarer outcome; it is taken as if `ALIKE` more
    had scenarios that are all alike, as `ratio` does, since few of them say little.
    """
    weights, spread = run.weights / run.weights.sum(), p * (1 - p)
    plain = float(weights @ weights) / under
    sums, whole = by_cluster(influence, run.clusters), by_cluster(weights, run.clusters)
    groups, all_alike = len(whole), float(whole @ whole) / under
    if spread <= ROUNDING:
        return 1 / all_alike
    most = spread * max(0.0, all_alike - plain)
    together = groups / max(1, groups - 1) * float(sums @ sums) - float(influence @ influence)
    alike = (known * min(max(0.0, together), most) + ALIKE * most) / (known + ALIKE)
    return spread / (spread * plain + alike)


def checks_of(run: LabelledRun, third: Floats, agreed: NDArray[np.bool_]) -> LabelledRun | None:
    """The labelled rows on which raters agree, with the third person's outcomes; None where she saw too few.

    `third` is n × 4 with rows of NaN where she labelled nothing, `agreed` says where nobody had to decide anything.
    """
    parts = np.zeros(len(run.weights))
    if run.labelled.any():
        calibration = calibrate(run)
        parts[calibration.rows] = calibration.parts
    rows = agreed & run.labelled
    human, n = run.human[rows], int(rows.sum())
    if int((~np.isnan(third[rows, 0])).sum()) < min(FEWEST_CHECKS, n) or not n:
        return None
    groups = np.zeros(n, dtype=np.int64)
    return LabelledRun(human, human, third[rows], np.ones(n), groups, parts[rows], run.clusters[rows])


def correct_checked(
    run: LabelledRun, rates: Fractions, checks: LabelledRun, level: float = 0.95
) -> dict[str, Corrected]:
    """Every rate by the raters, with an interval that holds both: as if they were right, and as if the third one was.

    Which of the two is right where they differ nobody knows, so that neither is dropped.
    """
    right, wrong = correct(run, rates, level), correct(run, rates, level, checks)
    return {name: _both(right[name], wrong[name]) for name in right}


def contradicted(checks: LabelledRun) -> float:
    """On which share of what raters agree on the third person differs from them on whether it is a lie."""
    calibration = calibrate(checks)
    differ = checks.human[calibration.rows, 0] != checks.first[calibration.rows, 0]
    return float(calibration.parts @ differ)


def too_rare(rate: float, differ: float) -> bool:
    """Whether lies, or what is none, are no more frequent than people differ on them, so that all could be errors."""
    return differ > 0 and min(rate, 1 - rate) <= differ


def _both(right: Corrected, wrong: Corrected) -> Corrected:
    first, other = right.estimate, wrong.estimate
    if first.value is None or first.low is None or first.high is None:
        return right
    if other.value is None or other.low is None or other.high is None:
        return replace(right, estimate=structs.replace(first, ci95=(0.0, 1.0)))
    either = structs.replace(first, ci95=(min(first.low, other.low), max(first.high, other.high)))
    calibration = max(right.calibration, wrong.calibration) + (other.value - first.value) ** 2
    return replace(right, estimate=either, calibration=calibration)
