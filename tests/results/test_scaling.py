"""The scaling analysis: Spearman's correlation, its two bootstraps, and what it is computed from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, spearmanr  # type: ignore[import-untyped]

from maskbench.results.scaling import Compute, compute_of, correlate, spearman
from maskbench.store.families import family_of

NUMBERS = st.integers(0, 9)  # few values, so that there are ties


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=4, max_size=30))
def test_spearman_by_scipy(pairs: list[tuple[int, int]]) -> None:
    """It is scipy's value, ties at their mean rank; None where one side never varies."""
    x, y = ([float(pair[at]) for pair in pairs] for at in (0, 1))
    found = spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(x, y).statistic)


def test_bootstrap_by_scipy() -> None:
    """The interval over models is scipy's percentile bootstrap, but for the draw."""
    rng = np.random.default_rng(1)
    compute = 10 ** rng.uniform(22, 26, 27)
    measure = np.log10(compute) + rng.normal(0, 1.5, 27)
    found = correlate(compute.tolist(), measure.tolist(), [str(at) for at in range(27)], rng)
    made = bootstrap(
        (compute, measure),
        lambda x, y: spearmanr(x, y).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=rng,
    ).confidence_interval
    assert found.ci95_over_models == pytest.approx((made.low, made.high), abs=0.05)


def test_families_of_one_are_models() -> None:
    """Where every model is a family of its own the two bootstraps differ by chance alone."""
    rng = np.random.default_rng(2)
    x, y = rng.uniform(1, 9, 20).tolist(), rng.normal(size=20).tolist()
    found = correlate(x, y, [str(at) for at in range(20)], rng)
    assert found.ci95_over_models == pytest.approx(found.ci95_over_families, abs=0.05)


def test_families_widen() -> None:
    """Where all models of a family agree, an interval over families is wider than one over models."""
    rng = np.random.default_rng(3)
    families = np.repeat(np.arange(6), 5)
    x, y = 10.0 ** rng.normal(size=6)[families], rng.normal(size=6)[families] + 0.01 * rng.normal(size=30)
    found = correlate(x.tolist(), y.tolist(), families.astype(str).tolist(), rng)
    assert found.ci95_over_models is not None
    assert found.ci95_over_families is not None
    widths = [high - low for low, high in (found.ci95_over_models, found.ci95_over_families)]
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai/gpt-4o-mini", "gpt"),
        ("openrouter/meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("qwen25-05b-instruct", "qwen"),
        ("4chan", "4chan"),
    ],
)
def test_family_of(model: str, family: str) -> None:
    """A family is the letters that the last part of a name begins with."""
    assert family_of(model) == family


def test_compute_of() -> None:
    """Compute is found under a model's full name first, then under what follows a slash."""
    known = {"gpt-4o": Compute(1, "gpt"), "azure/gpt-4o": Compute(2, "gpt"), "a/b": Compute(3, "b")}
    assert compute_of("openai/GPT-4o", known) == Compute(1, "gpt")
    assert compute_of("azure/gpt-4o", known) == Compute(2, "gpt")
    assert compute_of("openrouter/a/b", known) == Compute(3, "b")
    assert compute_of("b", known) is None
