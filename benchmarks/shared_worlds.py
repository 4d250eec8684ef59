"""The grid on which comparisons with shared beliefs are judged: made-up arms whose true rates are known.

A cell says how scenarios lie in propositions, how likely the pressed-for side is under the first arm and the other
one, how large a share of beliefs wavers, and how many statements a scenario has. `draw` gives the lies of each arm, the
second with the beliefs of the first one and with beliefs of its own; benchmarks/shared_beliefs.py holds maskbench's
intervals against them. Grid and generator were fixed before the method was written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

Ints = NDArray[np.int64]

SIZES: dict[str, tuple[int, ...]] = {
    "240 scenarios apart": (1,) * 240,
    "1000 scenarios apart": (1,) * 1000,
    "60 propositions of 1 or 8": (1, 8) * 30,
}
PRESSED = ((0.06, 0.06), (0.4, 0.4), (0.4, 0.28), (0.8, 0.45))  # the chance of the pressed-for side in either arm
WAVERING = (0.1, 0.5)  # the share of scenarios that do not hold one belief whenever they are asked
STATEMENTS = (1, 3)
MOVED = (0.0, 0.15)  # the share of scenarios in which the arm's own belief became another one
ARMS = (3, 10)  # of which the best is chosen, none of them better than another

ABSENT = 0.05  # of firm beliefs: there never is one
ASKED = (0.5, 0.3)  # a wavering scenario gives the one option, or the other, else no belief
EVADED = 0.25  # of what is not the pressed-for side
PROPOSITION, SCENARIO, ARM = 0.6, 0.5, 0.3  # variances, in probits, of what moves the chance of the pressed-for side
_NONE, _KEPT, _PRESSED = 0, 1, 2  # what a belief is, and what a statement says: nothing, or one of two options


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: see the module."""

    design: str
    pressed: tuple[float, ...]  # an entry an arm
    wavering: float
    statements: int
    moved: float = 0.0  # the share of scenarios in which a later arm's own belief is another one

    @property
    def sizes(self) -> Ints:
        """How many scenarios each proposition has."""
        return np.array(SIZES[self.design])


def cells() -> Iterator[Cell]:
    """Every cell of the grid on two arms."""
    for design in SIZES:
        for pressed in PRESSED:
            for wavering in WAVERING:
                yield from (Cell(design, pressed, wavering, statements) for statements in STATEMENTS)


def choices() -> Iterator[Cell]:
    """The cells in which the best of several arms is chosen that are all alike."""
    for arms in ARMS:
        for wavering in WAVERING:
            yield Cell("240 scenarios apart", (0.4,) * arms, wavering, 1)


def moved() -> Iterator[Cell]:
    """The cells in which the second arm's own beliefs moved, or did not, beside each other."""
    for pressed in PRESSED:
        for wavering in WAVERING:
            yield from (Cell("1000 scenarios apart", pressed, wavering, 1, share) for share in MOVED)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Lies of each scenario among its statements: replicate, arm, scenario; `fresh` are arms asked once more.

    `shared` has all arms on the beliefs of the first, `own` each on its own, with the same statements. The other two
    are drawn where they are asked for.
    """

    shared: Ints
    own: Ints | None = None
    fresh: Ints | None = None
    changed: NDArray[np.bool_] | None = None  # whether the last arm's own belief is another one than the first's


def draw(cell: Cell, replicates: int, rng: np.random.Generator, *, anew: bool = False) -> Drawn:
    """So many replicates of a cell, each with scenarios of its own; with `anew` on other beliefs, too."""
    arms, scenarios = len(cell.pressed), int(cell.sizes.sum())
    firm = rng.random((replicates, scenarios)) >= cell.wavering
    never = rng.random((replicates, scenarios)) < ABSENT
    kept = np.where(never, _NONE, np.where(rng.random((replicates, scenarios)) < 0.9, _KEPT, _PRESSED))
    chances = _chances(cell, replicates, rng)
    belief = _believed(firm, kept, rng)
    first = [_said(cell, chances[at], rng) for at in range(arms)]
    shared = np.stack([_lies(belief, said) for said in first], axis=1)
    if not anew:
        return Drawn(shared)
    theirs = _moved(cell, kept, rng)
    others = [belief, *(_believed(firm, theirs, rng) for _ in range(arms - 1))]
    again = [_said(cell, chances[at], rng) for at in range(arms)]
    return Drawn(
        shared,
        np.stack([_lies(own, said) for own, said in zip(others, first, strict=True)], axis=1),
        np.stack([_lies(_believed(firm, kept, rng), said) for said in again], axis=1),
        others[-1] != belief,
    )


def _chances(cell: Cell, replicates: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """The chance of the pressed-for side in every scenario under each arm; the arms share most of what moves it."""
    sizes = cell.sizes
    shared = np.repeat(rng.normal(0, np.sqrt(PROPOSITION), (replicates, len(sizes))), sizes, axis=1)
    shared = shared + rng.normal(0, np.sqrt(SCENARIO), shared.shape)
    whole = np.sqrt(1 + PROPOSITION + SCENARIO + ARM)
    return [ndtr(ndtri(chance) * whole + shared + rng.normal(0, np.sqrt(ARM), shared.shape)) for chance in cell.pressed]


def _believed(firm: NDArray[np.bool_], kept: Ints, rng: np.random.Generator) -> Ints:
    """What an elicitation finds: the same every time where the belief is firm."""
    drawn = rng.random(firm.shape)
    asked = np.where(drawn < ASKED[0], _KEPT, np.where(drawn < sum(ASKED), _PRESSED, _NONE))
    return np.where(firm, kept, asked)


def _moved(cell: Cell, kept: Ints, rng: np.random.Generator) -> Ints:
    """What a later arm believes where it holds one belief: in some scenarios another one."""
    if not cell.moved:
        return kept
    drawn = rng.random(kept.shape)
    return np.where(drawn < cell.moved, np.where(kept == _KEPT, _PRESSED, _KEPT), kept)


def _said(cell: Cell, chance: NDArray[np.float64], rng: np.random.Generator) -> Ints:
    """What each statement says: replicate, scenario, statement."""
    shape = (*chance.shape, cell.statements)
    evades = rng.random(shape) < EVADED
    return np.where(rng.random(shape) < chance[..., None], _PRESSED, np.where(evades, _NONE, _KEPT))


def _lies(belief: Ints, said: Ints) -> Ints:
    """How many statements name the option that is not believed, where one is."""
    contradicts = (said != _NONE) & (belief[..., None] != _NONE) & (said != belief[..., None])
    return np.asarray(contradicts.sum(axis=-1))


def truth(cell: Cell, rng: np.random.Generator, scenarios: int = 1_000_000) -> tuple[float, ...]:
    """P(lie) of each arm, from so many scenarios of a proposition each: what arms share does not move it."""
    at_a_time = 1000
    apart = Cell("1000 scenarios apart", cell.pressed, cell.wavering, 1)
    sums = np.zeros(len(cell.pressed))
    for _ in range(scenarios // (1000 * at_a_time)):
        sums += draw(apart, at_a_time, rng).shared.mean(axis=(0, 2))
    return tuple(sums / (scenarios // (1000 * at_a_time)))
