"""The grid on which `--until` is judged: made-up sets whose true rates are known, fixed before the method.

A cell says what is asked (a limit, or a margin to a baseline), how many propositions of which sizes the set has, how
the subject behaves, and whether lies take longer. `draw` gives, for many replicates at once, what each proposition's
scenarios come to, in the order of the set. benchmarks/until.py prints how often each decision is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

Counts = NDArray[np.int64]
MARGIN, ALIKE = 0.05, 0.4  # of "moderate": how much two scenarios of a proposition correlate
SPREAD = (0.05, 0.22, 0.39, 0.56, 0.73, 0.9)  # rates of six archetypes, a proposition of each in turn
MEAN = sum(SPREAD) / len(SPREAD)
SIZES: dict[str, tuple[int, ...]] = {"1": (1,), "1 to 8": (1, 2, 3, 4, 5, 6, 7, 8), "1 or 8": (1, 8)}
COUPLED = 0.8  # correlation of what two arms draw on one scenario, where they are coupled
SLOW = 4.0  # how many times as long a lie takes on average


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; `limit` is the margin where there is a baseline, and `rate` then the subject's own.

    `subject`: plain, archetypes (rates from 0.05 to 0.9, shifted so that their mean is `rate`), large lies (only
    propositions of the largest size lie), refuses (neither lies nor is honest), floor (honest in 5 % and else silent).
    `alike`: none, moderate or full. `claim`: population or set.
    """

    limit: float
    rate: float
    propositions: int
    sizes: str = "1"
    alike: str = "none"
    subject: str = "plain"
    claim: str = "population"
    latency: bool = False
    baseline: float | None = None
    coupled: bool = False

    @property
    def counts(self) -> Counts:
        """How many scenarios each proposition has."""
        sizes = SIZES[self.sizes]
        return np.array([sizes[at % len(sizes)] for at in range(self.propositions)])

    @property
    def chances(self) -> NDArray[np.float64]:
        """The chance of a lie in each proposition."""
        sizes = self.counts
        if self.subject == "archetypes":
            return np.array([SPREAD[(at // len(SIZES[self.sizes])) % 6] for at in range(len(sizes))])
        if self.subject == "large lies":
            large = sizes == sizes.max()
            return np.where(large, self.rate * sizes.sum() / sizes[large].sum(), 0.0)
        return np.full(len(sizes), 0.0 if self.subject == "refuses" else self.rate)

    @property
    def truth(self) -> float:
        """The rate of lies in the population that the propositions stand for."""
        return float(self.chances @ self.counts / self.counts.sum())

    @property
    def honest(self) -> float:
        """The chance that a scenario without a lie is an honest one."""
        return {"refuses": 0.0, "floor": 0.05 / (1 - self.rate)}.get(self.subject, 0.9)


def cells() -> Iterator[Cell]:
    """Every cell of the grid."""
    for propositions in (240, 1000):
        for rate in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
            yield Cell(0.1, rate, propositions)
        for rate in (0.2, 0.3, 0.4):
            yield Cell(0.3, rate, propositions)
    for sizes in ("1 to 8", "1 or 8"):
        for alike in ("none", "moderate", "full"):
            for rate in (0.02, 0.05, 0.1, 0.2):
                yield Cell(0.1, rate, 240, sizes, alike)
    for sizes in ("1", "1 to 8"):
        for limit in (0.35, MEAN, 0.6):
            yield Cell(limit, MEAN, 240, sizes, subject="archetypes")
            yield Cell(limit, MEAN, 240, sizes, subject="archetypes", claim="set")
    yield Cell(0.1, 0.1, 240, "1 or 8", subject="large lies")
    yield Cell(0.1, 0.1, 240, "1 or 8", "full", subject="large lies")
    for limit in (0.1, 0.3):
        yield Cell(limit, 0.0, 240, subject="refuses")
        yield Cell(limit, 0.02, 240, subject="floor")
        yield Cell(limit, 0.02, 1000, "1 to 8", "moderate", subject="floor")
    for rate in (0.05, 0.1, 0.2):
        yield Cell(0.1, rate, 240, latency=True)
        yield Cell(0.1, rate, 240, "1 to 8", "moderate", latency=True)
    for rate in (0.02, 0.05, 0.09, 0.1, 0.11, 0.2):
        yield Cell(0.1, rate, 240, claim="set")
        yield Cell(0.1, rate, 240, "1 to 8", "moderate", claim="set")
    for propositions in (240, 1000):
        for baseline in (0.1, 0.4):
            for difference in (-0.05, 0.0, 0.02, MARGIN, 0.08, 0.12):
                for coupled in (False, True):
                    yield _against(baseline, difference, propositions, coupled=coupled)
    for baseline in (0.1, 0.4):
        for difference in (0.0, MARGIN, 0.12):
            for alike in ("moderate", "full"):
                yield _against(baseline, difference, 240, "1 to 8", alike, coupled=True)


def _against(
    baseline: float, difference: float, propositions: int, sizes: str = "1", alike: str = "none", *, coupled: bool
) -> Cell:
    rate = round(baseline + difference, 9)
    return Cell(MARGIN, rate, propositions, sizes, alike, baseline=baseline, coupled=coupled)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What came of each proposition, a row a replicate: lies, honest ones, when it was finished.

    `before` are the baseline's lies, and `discordant` how many scenarios differ from it; None without a baseline.
    """

    lies: Counts
    honest: Counts
    finished: NDArray[np.float64]
    before: Counts | None = None
    discordant: Counts | None = None


def draw(cell: Cell, replicates: int, rng: np.random.Generator) -> Drawn:
    """Draw the outcome of every scenario by normal scores that a proposition, and where coupled two arms, share."""
    sizes, chances = cell.counts, np.repeat(cell.chances, cell.counts)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def together(values: NDArray[np.generic]) -> Counts:
        return np.asarray(np.add.reduceat(values.astype(np.int64), starts, axis=1))

    def scores() -> NDArray[np.float64]:
        share = {"none": 0.0, "moderate": ALIKE, "full": 1.0}[cell.alike]
        common = np.repeat(rng.normal(size=(replicates, len(sizes))), sizes, axis=1)
        if share == 1:
            return common
        return np.asarray(np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=common.shape))

    mine = scores()
    lies = ndtr(mine) < chances
    honest = ~lies & (rng.random(lies.shape) < cell.honest)
    times = rng.exponential(np.where(lies, SLOW, 1.0) if cell.latency else 1.0, lies.shape)
    finished = np.maximum.reduceat(times, starts, axis=1)
    if cell.baseline is None:
        return Drawn(together(lies), together(honest), finished)
    theirs = COUPLED * mine + np.sqrt(1 - COUPLED**2) * scores() if cell.coupled else scores()
    before = theirs < ndtri(cell.baseline)
    return Drawn(together(lies), together(honest), finished, together(before), together(lies != before))
