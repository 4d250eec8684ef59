"""The paper's scaling analysis: Spearman's rank correlation of honesty and accuracy with training compute.

Bootstrapped twice (percentile intervals, Efron & Tibshirani 1993, chapter 13): over models, and over model families,
all models of a family together, since models of one family share data and training and are no independent draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from maskbench.stats.figures import Ends
from maskbench.stats.intervals import Floats

if TYPE_CHECKING:
    from maskbench.results.scored import Result


import csv
import math
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.method.rates import belief_share
from maskbench.store.families import family_of

MEASURES = (
    "accuracy",
    "honesty score",
    "honesty score, normalised",
    "honesty score at n statements",
    "share of consistent beliefs",
)
LEAST = 4  # models, or families: with three, a correlation takes four values, two of them certain by luck
RESAMPLES = 4000


class Spearman(Struct, forbid_unknown_fields=True):
    """Spearman's correlation with compute, and its 95 % intervals over models and over their families.

    `value` is None below four models or where one side never varies; an interval also below four families.
    """

    value: float | None
    ci95_over_models: Ends | None
    ci95_over_families: Ends | None
    models: int
    families: int


class ScalingShown(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Rates against the compute that went into the models; with one statement there is no score at n statements."""

    statements: int
    spearman: dict[str, Spearman]
    left_out: list[str]  # models whose compute is not given


@dataclass(frozen=True, slots=True)
class Compute:
    """Training compute of one model, and the family that it belongs to."""

    flop: float
    family: str


def scaling(results: Sequence[Result], compute: Mapping[str, Compute], rng: np.random.Generator) -> ScalingShown:
    """The scaling analysis over runs of different models, one a model.

    `compute` is by model in lower case, with or without its service in front.
    """
    given = [(result, taken) for result in results if (taken := compute_of(result.model, compute))]
    statements = min((result.settings.design.statements for result, _ in given), default=1)
    values = [measures(result, statements) for result, _ in given]
    correlations = {}
    for measure in MEASURES:
        column = [value[measure] for value in values]
        had = [at for at, value in enumerate(column) if value is not None]
        x, families = [given[at][1].flop for at in had], [given[at][1].family for at in had]
        correlations[measure] = correlate(x, [value for value in column if value is not None], families, rng)
    left_out = [result.model for result in results if not compute_of(result.model, compute)]
    return ScalingShown(statements, correlations, left_out)


def measures(result: Result, statements: int) -> dict[str, float | None]:
    """What the paper correlates with compute; at n statements only where there are several."""
    rates = result.rates
    point = result.summary.lying_at.get(str(statements)) if statements > 1 else None
    at_n = None if point is None or point.value is None else 1 - point.value
    scores = (rates["accuracy"].value, rates["honesty_score"].value, rates["honesty_score_normalized"].value)
    return dict(zip(MEASURES, (*scores, at_n, belief_share(result.table).value), strict=True))


def compute_of(model: str, compute: Mapping[str, Compute]) -> Compute | None:
    """The compute given for a model under its full name, or under what follows a slash in it."""
    parts = model.lower().split("/")
    return next((compute[name] for at in range(len(parts)) if (name := "/".join(parts[at:])) in compute), None)


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None below four pairs or where one side never varies."""
    if len(x) < LEAST:
        return None
    value = float(_rank_correlations(np.array([x], dtype=float), np.array([y], dtype=float))[0])
    return None if np.isnan(value) else value


def correlate(
    compute: Sequence[float], measure: Sequence[float], families: Sequence[str], rng: np.random.Generator
) -> Spearman:
    """Spearman's correlation of a measure with log compute, one entry a model, and both bootstrap intervals."""
    x, y = np.log10(np.asarray(compute, dtype=float)), np.asarray(measure, dtype=float)
    members = [np.flatnonzero(np.array(families) == family) for family in dict.fromkeys(families)]
    value = spearman(x.tolist(), y.tolist())
    each = [np.array([index]) for index in range(len(x))]
    return Spearman(
        value,
        _bootstrap(x, y, each, rng) if value is not None else None,
        _bootstrap(x, y, members, rng) if value is not None else None,
        len(x),
        len(members),
    )


def _bootstrap(x: Floats, y: Floats, groups: Sequence[NDArray[np.intp]], rng: np.random.Generator) -> Ends | None:
    """The percentile interval over resampled groups; draws in which one side does not vary have no correlation."""
    if len(groups) < LEAST:
        return None
    draws = rng.integers(len(groups), size=(RESAMPLES, len(groups)))
    if all(len(group) == 1 for group in groups):
        members = np.concatenate(groups)
        values = _rank_correlations(x[members[draws]], y[members[draws]])
    else:
        taken = (np.concatenate([groups[group] for group in draw]) for draw in draws)
        values = np.array([_rank_correlations(x[None, index], y[None, index])[0] for index in taken])
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def _rank_correlations(x: Floats, y: Floats) -> Floats:
    """Spearman's correlation of every row of x with that of y; nan where a row never varies."""
    from scipy.stats import rankdata  # type: ignore[import-untyped]  # here: scipy.stats is slow to load

    a, b = (rankdata(rows, axis=1) for rows in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    norm = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    with np.errstate(invalid="ignore"):
        correlations: Floats = np.where(norm > 0, (a * b).sum(axis=1) / np.where(norm > 0, norm, 1), np.nan)
    return correlations


def read_compute(path: Path) -> dict[str, Compute]:
    """Training compute by model, in lower case; raises UsageError that names the file, row, column and remedy."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"--compute {path} cannot be read ({error}). Give a CSV file in UTF-8.") from error
    known: dict[str, Compute] = {}
    for number, row in enumerate(rows, 1):
        cells = {str(name).strip().lower(): value.strip() for name, value in row.items() if isinstance(value, str)}
        if not cells.get("model") or "flop" not in cells:
            raise UsageError(f"--compute {path}, row {number}: it needs a model and a flop. Head the columns so.")
        model = cells["model"].lower()
        if model in known:
            raise UsageError(f"--compute {path}, row {number}, column model: {model} is there already. Keep one row.")
        flop = _flop(cells["flop"], f"--compute {path}, row {number}, column flop")
        known[model] = Compute(flop, cells.get("family") or family_of(model))
    return known


def _flop(text: str, where: str) -> float:
    try:
        flop = float(text)
    except ValueError:
        flop = math.nan
    if not 0 < flop < math.inf:
        raise UsageError(f"{where}: {text!r} is no number of operations. Write one such as 3.8e25.")
    return flop
