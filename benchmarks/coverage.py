"""How often intervals hold the truth where there is no grid: simulated coverage, as docs/coverage.csv.

`python benchmarks/coverage.py` writes the table (10,000 seeded replicates a design, about half a minute). A design
draws one data set and gives the interval beside what it claims to hold: for `ratio` the rate of the superpopulation,
for `repeat_interval` the mean of these scenarios' own propensities, for `joined` the difference of two rates. The
grid of rates is in rate_grid.py.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from csv_tables import DOCS, write
from maskbench.stats.figures import Share
from maskbench.stats.intervals import joined, ratio, repeat_interval

ARCHETYPE_SIZES = np.array([274, 209, 176, 125, 120, 96])  # the public 1,000
ARCHETYPE_RATES = np.array([0.35, 0.15, 0.45, 0.25, 0.30, 0.05])

Draw = Callable[[np.random.Generator], tuple[Share, float]]


@dataclass(frozen=True, slots=True)
class Design:
    """One way to draw data, in words and as a function from a generator to (estimate, truth)."""

    name: str
    units: int  # propositions, or scenarios where these stay as they are
    draw: Draw


def propensities(rng: np.random.Generator, rate: float, correlation: float, n: int) -> NDArray[np.float64]:
    """Beta distributed chances to lie with this mean; two draws with one chance correlate as told."""
    total = (1 - correlation) / correlation
    return rng.beta(rate * total, (1 - rate) * total, n)


def one_statement(sizes: list[int], rate: float, correlation: float, answered: float = 1.0) -> Draw:
    """Propositions of these sizes, correlated inside; only answered scenarios are in the denominator."""
    ids = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: np.random.Generator) -> tuple[Share, float]:
        chance = propensities(rng, rate, correlation, ids[-1] + 1)[ids]
        x = rng.random(len(ids)) < answered
        return ratio(x & (rng.random(len(ids)) < chance), x, np.ones(len(ids)), ids), rate

    return draw


def stratified(rng: np.random.Generator) -> tuple[Share, float]:
    """50 scenarios from each of six archetypes of unequal size and rate, weighted back to the 1,000."""
    archetype = np.repeat(np.arange(6), 50)
    lied = rng.random(300) < ARCHETYPE_RATES[archetype]
    estimate = ratio(lied, np.ones(300), ARCHETYPE_SIZES[archetype] / 50, np.arange(300))
    return estimate, float(ARCHETYPE_SIZES @ ARCHETYPE_RATES) / 1000


def many_statements(scenarios: int, statements: int, rate: float, correlation: float) -> Draw:
    """Several statements a scenario, each scenario with a propensity of its own; truth over all scenarios."""

    def draw(rng: np.random.Generator) -> tuple[Share, float]:
        lies = rng.binomial(statements, propensities(rng, rate, correlation, scenarios))
        ones = np.ones(scenarios)
        return ratio(lies / statements, ones, ones, np.arange(scenarios), replies=statements), rate

    return draw


def repeated(scenarios: int, statements: int, rate: float, correlation: float) -> Draw:
    """Several statements a scenario, each with a propensity of its own; the truth is that of the scenarios drawn."""

    def draw(rng: np.random.Generator) -> tuple[Share, float]:
        chance = propensities(rng, rate, correlation, scenarios)
        lies = rng.binomial(statements, chance)
        estimate = repeat_interval(lies, np.full(scenarios, statements), np.ones(scenarios))
        return estimate, float(chance.mean())

    return draw


def repeated_ragged(rng: np.random.Generator) -> tuple[Share, float]:
    """100 scenarios with 2 or 3 usable statements and weights of 1, 2 or 3."""
    chance, weights = propensities(rng, 0.4, 0.6, 100), rng.integers(1, 4, 100)
    usable = rng.integers(2, 4, 100)
    estimate = repeat_interval(rng.binomial(usable, chance), usable, weights)
    return estimate, float(np.average(chance, weights=weights))


def repeated_unanimous(rng: np.random.Generator) -> tuple[Share, float]:
    """50 scenarios that always lie, 50 that lie once in 29 times, two statements each."""
    chance = np.repeat([1.0, 3.5 / 100], 50)
    return repeat_interval(rng.binomial(2, chance), np.full(100, 2), np.ones(100)), float(chance.mean())


def gap(sets: tuple[Draw, Draw]) -> Draw:
    """The difference of the rates of two sets that share nothing."""

    def draw(rng: np.random.Generator) -> tuple[Share, float]:
        (private, true), (public, other) = (each(rng) for each in sets)
        return joined(public, private).estimate, true - other

    return draw


def gaps() -> Iterator[Design]:
    """Private against public sets, each scenario with a proposition of its own, or two with one."""
    for rates in ((0.3, 0.3), (0.35, 0.3), (0.05, 0.05), (0.02, 0.01), (0.9, 0.6)):
        for sizes in ((1000, 1000), (200, 1000), (60, 1000), (60, 60)):
            for together in (1, 2):
                sets = tuple(
                    one_statement([together] * (size // together), rate, 0.5)
                    for size, rate in zip(sizes, rates, strict=True)
                )
                shared = ", pairs share" if together > 1 else ""
                name = f"{sizes[0]} private and {sizes[1]} public{shared}, P(lie) {rates[0]} and {rates[1]}"
                yield Design(name, sum(sizes) // together, gap((sets[0], sets[1])))


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


TABLES = {
    "a rate, for new scenarios of this kind": SAMPLING,
    "a rate, for these scenarios again": REPEATING,
    "the gap between two sets": list(gaps()),
}


def row(design: Design, replicates: int) -> dict[str, object]:
    """Coverage and mean width of one design."""
    rng = np.random.default_rng(20250305)
    held, widths, truths = [], [], []
    for _ in range(replicates):
        estimate, truth = design.draw(rng)
        assert estimate.low is not None
        assert estimate.high is not None
        held.append(estimate.low <= truth <= estimate.high)
        widths.append(estimate.high - estimate.low)
        truths.append(truth)
    figures = {"true": np.mean(truths), "coverage": np.mean(held), "width": np.mean(widths)}
    return {"design": design.name, "units": design.units} | {name: f"{mean:.3f}" for name, mean in figures.items()}


def main() -> None:
    """Write the table, and say how far coverage goes for each interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=DOCS / "coverage.csv")
    chosen = parser.parse_args()
    rows = [
        {"interval": name} | row(design, chosen.replicates) | {"replicates": chosen.replicates}
        for name, designs in TABLES.items()
        for design in designs
    ]
    write(chosen.out, rows)
    for name in TABLES:
        coverage = [str(each["coverage"]) for each in rows if each["interval"] == name]
        print(f"{name}: coverage {min(coverage)} to {max(coverage)} in {len(coverage)} designs")


if __name__ == "__main__":
    main()
