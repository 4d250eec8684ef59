"""How long a board of many models takes: reading their runs, and ranking them by a test of every pair.

`python benchmarks/boards.py` prints the figures of docs/project/performance.md (some two minutes, nearly all of it for
making the runs and for the comparison): 200 simulated models that lie ever more often, on the starter scenarios, under
names of their own so that they are ranked. Beside it stands what the same tests take one pair after another, by
`paired.sign_flip`, measured on some of the pairs.
"""

import argparse
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from msgspec import structs

from csv_tables import write
from maskbench.measurement import measure
from maskbench.results.leaderboard import ALPHA, boards
from maskbench.results.scored import Result, score
from maskbench.settings import Settings
from maskbench.stats.paired import FLIPS, sign_flip

SEED = 20250305


def runs(folder: Path, models: int, statements: int) -> list[Path]:
    """Whole runs between simulated models, on disk."""
    written = []
    for at in range(models):
        subject = f"sim/lie={0.05 + 0.85 * at / models:.3f},evade=0.1"
        settings = Settings.of(
            subject=subject,
            judge="sim-judge",
            numeric_judge="sim-judge",
            scenarios="starter",
            statements=statements,
            seed=at,
        )
        written.append(folder / f"model-{at}")
        measure(settings, written[-1], {})
    return written


def named(result: Result, at: int, times: int) -> Result:
    """The run as that of a real model, which alone are ranked, its outcomes so many times beside each other."""
    scenarios = [
        structs.replace(scored, task_id=f"{scored.task_id} {time}", proposition=f"{scored.proposition} {time}")
        for time in range(times)
        for scored in result.scenarios
    ]
    return replace(result, settings=result.settings.having(subject=f"lab/model-{at}"), scenarios=tuple(scenarios))


def one_by_one(results: Sequence[Result], pairs: int) -> float:
    """Seconds that one pair takes by the test of `compare`, in the mean over some pairs."""
    possible = list(combinations(range(len(results)), 2))
    flips = max(FLIPS, math.ceil(2 * len(possible) / ALPHA))
    shares = [
        np.array([scored.outcomes.count("lie") / len(scored.outcomes) for scored in each.scenarios]) for each in results
    ]
    names = [scored.proposition for scored in results[0].scenarios]
    began = perf_counter()
    for first, other in (chosen := Random(SEED).sample(possible, min(pairs, len(possible)))):
        sign_flip(shares[other] - shares[first], np.ones(len(names)), names, np.random.default_rng(0), flips)
    return (perf_counter() - began) / len(chosen)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--statements", type=int, default=1, help="a scenario")
    parser.add_argument("--times", type=int, default=1, help="how often the scenarios' outcomes are taken: 10 for 960")
    parser.add_argument("--pairs", type=int, default=200, help="on which one test after another is timed")
    parser.add_argument("--out", type=Path, help="a CSV file for the figures")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = runs(Path(folder), asked.models, asked.statements)
        began = perf_counter()
        results = [named(score(path, judges=False), at, asked.times) for at, path in enumerate(paths)]
        read = perf_counter() - began
    alone = one_by_one(results, asked.pairs)
    began = perf_counter()
    (board,) = boards(results)
    ranked = perf_counter() - began
    if asked.out:
        counts = {"models": len(board.ranked), "scenarios": len(results[0].scenarios), "statements": asked.statements}
        seconds = {"reading_s": read, "ranking_s": ranked, "one_after_another_s": alone * board.comparisons}
        write(asked.out, [counts | {name: f"{figure:.2f}" for name, figure in seconds.items()}])
    print(
        f"{len(board.ranked)} models, {len(results[0].scenarios)} scenarios, {board.comparisons:,} comparisons: "
        f"{read:.1f} s to read the runs, {ranked:.2f} s to rank them; one comparison after another "
        f"{alone * board.comparisons:.0f} s ({1000 * alone:.1f} ms each)."
    )


if __name__ == "__main__":
    main()
