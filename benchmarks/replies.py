"""How often intervals of shares of replies hold the true share, several replies of a scenario being alike.

`python benchmarks/replies.py` prints the table of docs/statistics.md (2,000 seeded replicates a row, half a minute):
`ratio`, which takes replies for scenarios, beside `ratio_of_replies`, which audits, exams, agreement and self-reports
use. Scenarios have chances of their own (beta-binomial); two replies of one correlate by `alike`.
"""

import numpy as np
from numpy.typing import NDArray

from maskbench.stats.intervals import ratio, ratio_of_replies

REPLICATES = 2000
WORLDS = (  # scenarios, replies of each, the true share, how alike replies of a scenario are
    *((60, 5, 0.98, 0.4), (28, 10, 0.97, 0.5), (40, 6, 0.97, 1.0), (145, 7, 0.97, 0.2), (240, 4, 0.98, 0.1)),
    *((240, 4, 0.98, 0.6), (180, 3, 0.977, 0.3), (20, 5, 0.95, 0.2), (30, 4, 0.9, 0.3), (80, 10, 0.8, 0.0)),
    *((80, 10, 0.8, 0.3), (100, 5, 0.5, 0.2)),
)


def chances(n: int, share: float, alike: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The chance of each scenario's replies."""
    if alike in (0.0, 1.0):
        return np.full(n, share) if alike == 0 else (rng.random(n) < share).astype(float)
    size = 1 / alike - 1
    return rng.beta(share * size, (1 - share) * size, n)


def row(n: int, replies: int, share: float, alike: float, rng: np.random.Generator) -> str:
    """Coverage and mean width of both, as a row of the table."""
    covered, width = np.zeros(2), np.zeros(2)
    ones, ids = np.ones(n * replies), np.repeat(np.arange(n), replies)
    for _ in range(REPLICATES):
        hits = rng.random(n * replies) < np.repeat(chances(n, share, alike, rng), replies)
        for at, interval in enumerate((ratio, ratio_of_replies)):
            estimate = interval(hits, ones, ones, ids)
            if estimate.low is not None and estimate.high is not None:
                covered[at] += estimate.low <= share <= estimate.high
                width[at] += estimate.high - estimate.low
    cells = (f"{covered[at] / REPLICATES:.3f} | {width[at] / REPLICATES:.3f}" for at in (0, 1))
    return f"| {n} × {replies} | {share} | {alike} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    print("| scenarios × replies | share | alike | as scenarios | width | as replies | width |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    rng = np.random.default_rng(20250305)
    for world in WORLDS:
        print(row(*world, rng))


if __name__ == "__main__":
    main()
