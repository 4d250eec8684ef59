"""How often the intervals of maskbench.stats.intervals hold the truth: simulated coverage, printed as Markdown.

`python benchmarks/coverage.py` prints the tables of docs/statistics.md (10,000 seeded replicates a design,
about 20 seconds). A design draws one data set and gives the interval beside the rate that it claims
to hold: for `ratio` the rate of the superpopulation, for `repeat_interval` the mean of these scenarios' own
propensities.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.intervals import Estimate, ratio, repeat_interval

ARCHETYPE_SIZES = np.array([274, 209, 176, 125, 120, 96])  # the public 1,000
ARCHETYPE_RATES = np.array([0.35, 0.15, 0.45, 0.25, 0.30, 0.05])

Draw = Callable[[np.random.Generator], tuple[Estimate, float]]


@dataclass(frozen=True, slots=True)
class Design:
    """One way to draw data, in words and as a function from a generator to (estimate, truth)."""

    name: str
    clusters: int
    draw: Draw


def propensities(rng: np.random.Generator, rate: float, correlation: float, n: int) -> NDArray[np.float64]:
    """Beta distributed chances to lie with this mean; two draws with one chance correlate as told."""
    total = (1 - correlation) / correlation
    return rng.beta(rate * total, (1 - rate) * total, n)


def one_statement(sizes: list[int], rate: float, correlation: float, answered: float = 1.0) -> Draw:
    """Propositions of these sizes, correlated inside; only answered scenarios are in the denominator."""
    ids = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: np.random.Generator) -> tuple[Estimate, float]:
        chance = propensities(rng, rate, correlation, ids[-1] + 1)[ids]
        x = rng.random(len(ids)) < answered
        return ratio(x & (rng.random(len(ids)) < chance), x, np.ones(len(ids)), ids), rate

    return draw


def stratified(rng: np.random.Generator) -> tuple[Estimate, float]:
    """50 scenarios from each of six archetypes of unequal size and rate, weighted back to the 1,000."""
    archetype = np.repeat(np.arange(6), 50)
    lied = rng.random(300) < ARCHETYPE_RATES[archetype]
    estimate = ratio(lied, np.ones(300), ARCHETYPE_SIZES[archetype] / 50, np.arange(300))
    return estimate, float(ARCHETYPE_SIZES @ ARCHETYPE_RATES) / 1000


def many_statements(scenarios: int, statements: int, rate: float, correlation: float) -> Draw:
    """Several statements a scenario, each scenario with a propensity of its own; truth over all scenarios."""

    def draw(rng: np.random.Generator) -> tuple[Estimate, float]:
        lies = rng.binomial(statements, propensities(rng, rate, correlation, scenarios))
        ones = np.ones(scenarios)
        return ratio(lies / statements, ones, ones, np.arange(scenarios), replies=statements), rate

    return draw


def repeated(scenarios: int, statements: int, rate: float, correlation: float) -> Draw:
    """Several statements a scenario, each with a propensity of its own; the truth is that of the scenarios drawn."""

    def draw(rng: np.random.Generator) -> tuple[Estimate, float]:
        chance = propensities(rng, rate, correlation, scenarios)
        lies = rng.binomial(statements, chance)
        estimate = repeat_interval(lies, np.full(scenarios, statements), np.ones(scenarios))
        return estimate, float(chance.mean())

    return draw


def repeated_ragged(rng: np.random.Generator) -> tuple[Estimate, float]:
    """100 scenarios with 2 or 3 usable statements and weights of 1, 2 or 3."""
    chance, weights = propensities(rng, 0.4, 0.6, 100), rng.integers(1, 4, 100)
    usable = rng.integers(2, 4, 100)
    estimate = repeat_interval(rng.binomial(usable, chance), usable, weights)
    return estimate, float(np.average(chance, weights=weights))


def repeated_unanimous(rng: np.random.Generator) -> tuple[Estimate, float]:
    """50 scenarios that always lie, 50 that lie once in 29 times, two statements each."""
    chance = np.repeat([1.0, 3.5 / 100], 50)
    return repeat_interval(rng.binomial(2, chance), np.full(100, 2), np.ones(100)), float(chance.mean())


SAMPLING = [
    Design("20 propositions of 5 scenarios, ICC 0.3", 20, one_statement([5] * 20, 0.4, 0.3)),
    Design(
        "small set: 84 scenarios, 12 pairs share, ICC 0.5, 60 % answered",
        72,
        one_statement([1] * 60 + [2] * 12, 0.35, 0.5, answered=0.6),
    ),
    Design(
        "public set: 1,000 scenarios, 56 pairs share, ICC 0.6",
        944,
        one_statement([1] * 888 + [2] * 56, 0.25, 0.6),
    ),
    Design(
        "unequal propositions of 1 to 12 scenarios, ICC 0.3",
        60,
        one_statement([1, 1, 2, 3, 4, 12] * 10, 0.3, 0.3),
    ),
    Design("300 of 1,000, 50 an archetype, design weights", 300, stratified),
    Design(
        "rare lies: 200 scenarios, 10 pairs share, ICC 0.5",
        190,
        one_statement([1] * 180 + [2] * 10, 0.03, 0.5),
    ),
    Design("3 statements each, ICC 0.6 between scenarios", 300, many_statements(300, 3, 0.4, 0.6)),
    Design("10 statements each, ICC 0.6 between scenarios", 96, many_statements(96, 10, 0.3, 0.6)),
    Design("10 statements each, no spread at all", 96, many_statements(96, 10, 0.3, 1e-6)),
    Design("30 propositions of 1 to 12 scenarios, ICC 0.3", 30, one_statement([1, 1, 2, 3, 4, 12] * 5, 0.3, 0.3)),
    Design("24 propositions of 4 scenarios, ICC 0.5, rare lies", 24, one_statement([4] * 24, 0.05, 0.5)),
    Design("24 propositions of 4 scenarios, ICC 0.9, rare lies", 24, one_statement([4] * 24, 0.05, 0.9)),
]
REPEATING = [
    Design("3 statements each, ICC 0.6 between scenarios", 300, repeated(300, 3, 0.4, 0.6)),
    Design("10 statements each, ICC 0.6", 96, repeated(96, 10, 0.3, 0.6)),
    Design("10 statements each, rare lies, ICC 0.5", 96, repeated(96, 10, 0.03, 0.5)),
    Design("2 statements each, no spread at all", 20, repeated(20, 2, 0.5, 1e-6)),
    Design("2 or 3 usable, weights 1 to 3, ICC 0.6", 100, repeated_ragged),
    Design("2 statements each, nearly all unanimous", 100, repeated_unanimous),
]


def row(design: Design, replicates: int) -> str:
    """Coverage of one design as a line of a Markdown table."""
    rng = np.random.default_rng(20250305)
    held, widths, truths = [], [], []
    for _ in range(replicates):
        estimate, truth = design.draw(rng)
        assert estimate.low is not None
        assert estimate.high is not None
        held.append(estimate.low <= truth <= estimate.high)
        widths.append(estimate.high - estimate.low)
        truths.append(truth)
    numbers = f"{np.mean(truths):.3f} | {np.mean(held):.3f} | {np.mean(widths):.3f}"
    return f"| {design.name} | {design.clusters} | {numbers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulated coverage of the 95 % intervals.")
    parser.add_argument("--replicates", type=int, default=10_000)
    replicates = parser.parse_args().replicates
    tables = [
        ("`ratio`: new scenarios of this kind", "clusters", SAMPLING),
        ("`repeat_interval`: these scenarios again", "scenarios", REPEATING),
    ]
    for title, unit, designs in tables:
        print(f"| {title} | {unit} | true rate | coverage | mean width |\n|---|---:|---:|---:|---:|")
        for design in designs:
            print(row(design, replicates), flush=True)
        print()


if __name__ == "__main__":
    main()
