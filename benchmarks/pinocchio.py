"""pinocchio's speed, and whether maskbench's intervals hold the rate of its sandbox.

`python benchmarks/pinocchio.py speed` prints replies a second. `python benchmarks/pinocchio.py calibration` writes the
intervals' coverage to docs/calibration.csv, from the runs in pinocchio_calibration.json; `--again` makes those runs
anew (250 sandboxes, and ten with 150 statements a scenario; about ten minutes on four cores).
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from csv_tables import DOCS, write
from maskbench.asking.executor import measuring
from maskbench.asking.watching import Unwatched
from maskbench.method.elicit import statement_ask
from maskbench.method.folds import finished
from maskbench.method.forms import load_prompts
from maskbench.method.outcomes import score
from maskbench.method.rates import rates, repeated, tabulate
from maskbench.method.rules import RULES
from maskbench.models.pinocchio.network import Pinocchio, open_pinocchio
from maskbench.models.pinocchio.rule_judge import NAME, SandboxJudge
from maskbench.scenarios.pinocchio import sandbox
from maskbench.settings import Settings
from maskbench.store.store import Store
from maskbench.types import Ask, Reply, Sampling, Scored

DATA = Path(__file__).with_name("pinocchio_calibration.json")
SETS = range(1, 201)  # whose intervals are looked at
OTHERS = range(201, 251)  # whose mean is the generator's rate
AGAIN = range(1, 11)  # asked for many statements: 50 runs of 3, and all together for the rate of these very scenarios
RUNS, STATEMENTS = 50, 3
TOKENS = 15


@dataclass(frozen=True, slots=True)
class Found:
    """P(lie) of one run with the interval that maskbench prints."""

    seed: int
    value: float
    low: float
    high: float


def main() -> None:
    """Parse and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("speed", "calibration"))
    parser.add_argument("--replies", type=int, default=2_000)
    parser.add_argument("--again", action="store_true", help="make the runs anew and write them to the data file")
    parser.add_argument("--out", type=Path, default=DOCS / "calibration.csv", help="where the coverage is written")
    options = parser.parse_args()
    if options.what == "speed":
        print(speed(options.replies))
        return
    if options.again:
        DATA.write_text(json.dumps(calibration_runs(), indent=1) + "\n")
    rows = list(calibration(json.loads(DATA.read_text())))
    write(options.out, rows)
    print(*(f"{row['interval']}: coverage {row['coverage']} in {row['runs']} runs" for row in rows), sep="\n")


def speed(replies: int) -> str:
    """Statements a second, each of exactly 15 tokens: by the engine alone, and answered to asks as in a run."""
    asks = [statement_ask(scenario, 1) for seed in range(1, 2 + replies // 240) for scenario in sandbox(seed)][:replies]
    model = open_pinocchio("pinocchio", Sampling(1.0, TOKENS, 0))
    prompts = [model.vocabulary.prompt(ask.messages) for ask in asks]
    started, used = time.perf_counter(), time.process_time()
    tokens = asyncio.run(_ask_all(model, asks))
    seconds, used = time.perf_counter() - started, time.process_time() - used
    return (
        f"{tokens / TOKENS / seconds:.0f} replies of {TOKENS} tokens a second, prompts of "
        f"{np.mean([*map(len, prompts)]):.0f} tokens, {used / seconds:.2f} cores busy"
    )


async def _ask_all(model: Pinocchio, asks: Sequence[Ask]) -> int:
    """Answer all; returns how many tokens that were (a reply may end before the limit)."""
    replies = await asyncio.gather(*(model.ask(ask) for ask in asks))
    await model.close()
    return sum(reply.usage.output or 0 for some in replies for reply in some if isinstance(reply, Reply))


def calibration_runs() -> dict[str, Any]:
    """All runs, some at a time."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        single = list(pool.map(single_run, [*SETS, *OTHERS]))
        many = list(pool.map(repeated_runs, AGAIN))
    return {
        "rate": float(np.mean([run.value for run in single if run.seed in OTHERS])),
        "runs": [asdict(run) for run in single],
        "repeated": [{"seed": seed, "rate": rate, "runs": runs} for seed, rate, runs in many],
    }


def single_run(seed: int) -> Found:
    """One sandbox with one statement each, as `maskbench run pinocchio --scenarios sandbox:SEED` measures it."""
    table, _ = tabulate(_scored(seed, statements=1))
    estimate = rates(table)["p_lie"]
    return Found(seed, estimate.value or 0.0, estimate.low or 0.0, estimate.high or 1.0)


def repeated_runs(seed: int) -> tuple[int, float, list[list[float]]]:
    """Many statements about one sandbox, beliefs asked for once: P(lie) over all, and value and interval by threes."""
    scored = _scored(seed, RUNS * STATEMENTS)
    parts = [slice(first, first + STATEMENTS) for first in range(0, RUNS * STATEMENTS, STATEMENTS)]
    estimates = [_estimate(scored, part) for part in parts]
    return seed, _estimate(scored, slice(None))[0], estimates


def _estimate(rows: Sequence[Scored], part: slice) -> list[float]:
    table, _ = tabulate(structs.replace(row, outcomes=row.outcomes[part]) for row in rows)
    estimate = repeated(table)
    return [estimate.value or 0.0, estimate.low or 0.0, estimate.high or 1.0]


def _scored(seed: int, statements: int) -> list[Scored]:
    settings = Settings.of(
        subject="pinocchio", judge=NAME, numeric_judge=NAME, scenarios=f"sandbox:{seed}", statements=statements
    )
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "run.sqlite", write=True)
        store.add_scenarios((scenario, 1.0) for scenario in sandbox(seed))
        asyncio.run(_flow(settings, store))
        scored = [
            score(scenario, weight, items, settings, RULES["reference"])
            for scenario, weight in store.scenarios()
            if (items := finished(scenario, store.samples(scenario).items(), settings)) is not None
        ]
        store.close()
    return scored


async def _flow(settings: Settings, store: Store) -> None:
    subject, judge = open_pinocchio("pinocchio", settings.subject.sampling), SandboxJudge()
    await measuring(settings, store, subject, {"binary": judge, "numerical": judge}, load_prompts(), Unwatched()).run()
    await subject.close()


def calibration(data: dict[str, Any]) -> Iterator[dict[str, object]]:
    """How often the intervals hold the rate, a row an interval."""
    runs = [Found(**run) for run in data["runs"] if run["seed"] in SETS]
    rate = data["rate"]
    parts = [(part["rate"], low, high) for part in data["repeated"] for _, low, high in part["runs"]]
    yield _row("a rate, for new scenarios of this kind", [(rate, run.low, run.high) for run in runs])
    yield _row("a rate, for these scenarios again", parts)


def _row(name: str, runs: Sequence[tuple[float, float, float]]) -> dict[str, object]:
    """Coverage and mean width of the intervals of runs, each with its true rate before its ends."""
    true, low, high = np.array(runs).T
    figures = {"true": true.mean(), "coverage": ((low <= true) & (true <= high)).mean(), "width": (high - low).mean()}
    return {"interval": name, "runs": len(runs)} | {column: f"{figure:.3f}" for column, figure in figures.items()}


if __name__ == "__main__":
    main()
