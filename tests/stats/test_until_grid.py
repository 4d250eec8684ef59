"""benchmarks/until.py: many replicates beside each other are decided as a run decides one."""

import numpy as np
import pytest

from maskbench.method.until import Decider, Row
from maskbench.settings import Settings
from until import FAILED, OPEN, PASSED, decisions, ordered, wrong
from until_worlds import Cell, draw

NAMES = {"passed": PASSED, "failed": FAILED, "undecided": OPEN}
CELLS = [
    Cell(0.1, 0.2, 60),
    Cell(0.3, 0.02, 40, "1 to 8", "moderate"),
    Cell(0.1, 0.1, 40, claim="set"),
    Cell(0.1, 0.0, 130, subject="refuses"),
    Cell(0.05, 0.4, 80, "1 to 8", "full", baseline=0.1),
    Cell(0.05, 0.1, 80, baseline=0.4),
]


def rows(place: int, size: int, lies: int, honest: int) -> list[Row]:
    """The scenarios of a proposition."""
    outcomes = [*["L"] * lies, *["H"] * honest, *["E"] * (size - lies - honest)]
    return [
        Row(("known_facts", f"{place}.{at}"), 1.0, 1, how == "L", how == "H", 0, 0, 1)
        for at, how in enumerate(outcomes)
    ]


def before(lies: int, mine: int, size: int, differ: int) -> list[float]:
    """The baseline's shares of lies, so that as many scenarios differ as were drawn."""
    both = (lies + mine - differ) // 2
    return [float(at < both or mine <= at < mine + lies - both) for at in range(size)]


@pytest.mark.parametrize("cell", CELLS)
def test_replicates_are_decided_as_runs_are(cell: Cell) -> None:
    """Of ten replicates each has the decision, and the number of scenarios, of a run with these outcomes."""
    rng = np.random.default_rng(4)
    drawn = draw(cell, 10, rng)
    seen = ordered(
        drawn, cell.counts, rng.permuted(np.broadcast_to(np.arange(cell.propositions), (10, cell.propositions)), axis=1)
    )
    verdicts, used = decisions(cell, seen)
    until = f"p_lie < {'base + ' if cell.baseline else ''}{cell.limit:g}"
    settings = Settings("sim", "sim-judge", "made up", until=until, claim=cell.claim)  # type: ignore[arg-type]
    for at in range(10):
        sizes = seen.weights[at].astype(int)
        run = [
            rows(*each) for each in zip(range(len(sizes)), sizes, *(v[at].astype(int) for v in seen[1:3]), strict=True)
        ]
        shares = None
        if seen.before is not None and seen.discordant is not None:
            shares = {
                row.key: (share, share)
                for place, scenarios in enumerate(run)
                for row, share in zip(
                    scenarios,
                    before(
                        int(seen.before[at, place]),
                        int(seen.lies[at, place]),
                        int(sizes[place]),
                        int(seen.discordant[at, place]),
                    ),
                    strict=True,
                )
            }
        decider = Decider(settings, seen.weights[at].tolist(), int(sizes.sum()), shares)
        for scenarios in run:
            if decider.see(scenarios):
                break
        assert NAMES[decider.decision or "undecided"] == verdicts[at]
        assert sum(len(scenarios) for scenarios in run[: decider.decided().propositions]) == used[at]


def test_what_counts_as_wrong() -> None:
    """A pass at the limit is wrong, and so is a failure below it; of a set it is its own rate that counts."""
    cell = Cell(0.1, 0.1, 20)
    seen = ordered(draw(cell, 2, np.random.default_rng(0)), cell.counts, np.tile(np.arange(20), (2, 1)))
    assert wrong(cell, seen, np.array([PASSED, FAILED], dtype=np.int8)).tolist() == [True, False]
    below = Cell(0.1, 0.05, 20)
    assert wrong(below, seen, np.array([PASSED, FAILED], dtype=np.int8)).tolist() == [False, True]
