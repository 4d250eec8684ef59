"""Rates corrected for the judge's error by the labels of another run: the statistics alone.

What the judge makes of each true outcome there, solved for the true shares here. docs/project/formulas.md has the
formulas, what is assumed, and simulated coverage where that holds and where it does not.
"""

from __future__ import annotations

import numpy as np

from maskbench.stats.calibration import CLASSES, Corrected, Fractions, LabelledRun, calibrate, check
from maskbench.stats.figures import NO_DATA, Share
from maskbench.stats.intervals import Floats, by_cluster

LEVEL = 0.95
PERKS = 0.25  # prior of four outcomes, one scenario together (Perks 1947)
NONE = 1e-4  # share of all scenarios: a rate whose denominator is smaller has no value
ROUNDING = 1e-9
DRAWS, STEPS, CLOSE = 1000, 500, 1e-5  # draws for the interval; steps of the EM algorithm, and when it stops


def carry(
    run: LabelledRun, source: LabelledRun, rates: Fractions, rng: np.random.Generator, draws: int = DRAWS
) -> dict[str, Corrected]:
    """Every one of these rates of one run, corrected by the labels of another, `source`.

    Assumes that the judge misreads each true outcome in the same shares in both, whatever the rates of either. The
    value is of greatest likelihood: the true shares that come to the judged ones by these errors (Saerens, Latinne &
    Decaestecker 2002). The interval is the middle of `draws` of all that is known from a part only: what people make
    of each judged outcome there, and how often each was judged there and here. Raises ValueError as `correct`.
    """
    for each in (run, source):
        check(each)
    if not source.labelled.any() or not len(run.weights):
        return {}
    judged, there = (each.weights @ each.judged / each.weights.sum() for each in (run, source))
    usual, drawn = _people(source, rng, draws)
    seen = rng.dirichlet(_independent(run) * judged + PERKS, draws)
    known = rng.dirichlet(_independent(source) * there + PERKS, draws)
    errors = there[:, None] * usual
    true_shares, seen_shares, possible = (
        _unmix(errors, judged),
        _unmix(errors, seen),
        _unmix(known[:, :, None] * drawn, seen),
    )
    corrected = {}
    for name, (top, bottom) in rates.items():
        if true_shares @ np.array(bottom) < NONE:
            corrected[name] = Corrected(NO_DATA, 0.0, 0.0, None)
            continue
        value, moved, spread = (
            shares @ np.array(top) / np.maximum(NONE, shares @ np.array(bottom))
            for shares in (true_shares, seen_shares, possible)
        )
        low, high = np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        estimate = Share(float(value), (min(low, value), max(high, value)), len(run.weights))
        by_chance = float(moved.var())
        left = max(0.0, float(spread.var()) - by_chance)
        corrected[name] = Corrected(estimate, by_chance, left, None)
    return corrected


def _people(source: LabelledRun, rng: np.random.Generator, draws: int) -> tuple[Floats, Floats]:
    """People's outcomes (columns) of each judged one (rows), and draws of them; as judged where nobody labelled."""
    calibration = calibrate(source)
    usual, drawn = np.eye(len(CLASSES)), np.empty((draws, len(CLASSES), len(CLASSES)))
    for kind in range(len(CLASSES)):
        mine, count = calibration.classes == kind, 0.0
        if mine.any():
            parts = calibration.parts[mine]
            usual[kind] = parts @ source.human[calibration.rows[mine]] / parts.sum()
            count = float(parts.sum() ** 2 / (parts @ parts))
        drawn[:, kind] = rng.dirichlet(count * usual[kind] + PERKS, draws)
    return usual, drawn


def _independent(run: LabelledRun) -> float:
    """How many independent scenarios the judged shares are worth, propositions being clusters."""
    weights = run.weights / run.weights.sum()
    shares = weights @ run.judged
    sums = np.array([by_cluster(column, run.clusters) for column in (weights[:, None] * (run.judged - shares)).T])
    spread, variance = float(shares @ (1 - shares)), float((sums**2).sum())
    if spread <= ROUNDING or variance <= ROUNDING * spread:  # no variance shows how alike clusters are
        whole = by_cluster(weights, run.clusters)
        return 1 / float(whole @ whole)
    return min(1 / float(weights @ weights), spread / variance)


def _unmix(table: Floats, judged: Floats) -> Floats:
    """The true shares that the errors in `table` (judged × true) turn into the judged ones; the EM algorithm."""
    table = table + 1e-9 * np.eye(len(CLASSES))  # the judge is believed in an outcome that is missing in the other run
    known = table.sum(axis=-2, keepdims=True)
    shares = known / known.sum(axis=-1, keepdims=True)
    for _ in range(STEPS):
        likely = table * shares / known
        people = likely / np.maximum(likely.sum(axis=-1, keepdims=True), 1e-300)  # 0 where nothing was judged so
        moved = (judged[..., None] * people).sum(axis=-2, keepdims=True)
        far, shares = float(np.abs(moved - shares).max()), moved
        if far < CLOSE:
            break
    true_shares: Floats = shares[..., 0, :]
    return true_shares
