"""How far one process goes: the writer alone, a flow over a thousand GPUs' worth of engines, fifty runs at once.

`python benchmarks/scale.py` writes docs/scale.csv and the table of docs/project/scale.md, in some ten minutes on two
quiet cores; `--only flow` makes a part, `--quick` a small one. Everything of maskbench is real: store, flow, pace,
scoring. The engines are not: each answers in this process after a time that is drawn (lognormal, one answer in a
hundred takes ten times as long), at most so many requests at a time, and now and then with an error. The clock is real,
too, so that what the processor cannot do in time shows as fewer answers a second. Every cell is a process of its own,
whose processor time and memory are the kernel's figures.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from csv_tables import DOCS, put_table, write
from maskbench.asking.watching import Unwatched
from maskbench.measurement import measure
from maskbench.method.forms import written
from maskbench.models.chat.pacing import Pace
from maskbench.models.sim import SimJudge
from maskbench.scenarios.rows import read_row
from maskbench.settings import Settings
from maskbench.store.store import Store
from maskbench.types import (
    Ask,
    BinaryVerdict,
    Failure,
    Judgement,
    Message,
    NumericalVerdict,
    Reply,
    Scenario,
    Stage,
    Usage,
)
from scenarios import prose, row
from scenarios import write as write_scenarios

SLOTS = 16  # requests that an engine answers at a time
SECONDS = {"subject": 2.0, "judge": 0.8}  # that half of all answers take at most
SPREAD, TAIL, LONGER = 0.6, 0.01, 10.0  # of the logarithm; how many answers take so many times as long
FAULTS = 0.01  # of all requests end with status 500
TRIES = 6
MOST = 10_000  # connections that a run may have
BEGIN, END = "<!-- scale.py: table -->", "<!-- end of it -->"
LOOK = 0.1  # seconds between two looks at the loop


@dataclass(frozen=True, slots=True)
class Case:
    """One cell: what is driven, by how many engines, with how many scenarios, in how many runs beside each other."""

    what: str  # writer, flow
    engines: int = 0
    scenarios: int = 0
    statements: int = 10
    runs: int = 1
    judge_a_second: int = 0  # answers that the judge's service gives a second, 0 for no limit; the rest is refused

    @property
    def connections(self) -> int:
        """Requests in flight of one run."""
        return min(MOST, SLOTS * self.engines // self.runs) if self.engines else 200


CASES = (
    Case("writer", scenarios=10_000),
    Case("flow", engines=0, scenarios=1_000),
    *(Case("flow", engines=engines, scenarios=each) for engines, each in ((1, 10), (10, 60), (100, 600), (250, 1_200))),
    Case("flow", engines=1_000, scenarios=2_400),
    Case("flow", engines=1_000, scenarios=1_200, statements=1),
    Case("flow", engines=100, scenarios=300, judge_a_second=100),
    Case("flow", engines=100, scenarios=12, runs=50),
    Case("flow", engines=1_000, scenarios=48, runs=50),
)
QUICK = (Case("writer", scenarios=200), Case("flow", engines=4, scenarios=6), Case("flow", 8, 6, runs=3))


class Engines:
    """Engines that answer in this process, as a `types.Model`: so many requests at a time, and some of them slowly.

    At `a_second`, where it is not 0, the service behind them refuses what is too much with status 429.
    """

    together = True

    def __init__(self, stage: Stage, case: Case, seed: int, look: Look) -> None:
        self.name = f"engines of the {stage}"
        self._stage: Stage = stage
        self._rng = Random(f"{seed} {stage}")
        self._limit = case.judge_a_second if stage == "judge" else 0
        self._seconds = SECONDS[stage] if case.engines else 0.0
        self._pace = Pace(most=case.connections, start=16 if self._limit else case.connections)
        self._look = look
        self._text = prose(self._rng, 900)
        self._judge = SimJudge("sim-judge", seed)
        self._given: Counter[int] = Counter()

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One answer a sample, after as many tries as a client makes."""
        self._look.open()
        status = 0
        for attempt in range(TRIES):
            await self._pace.enter()
            began = time.monotonic()
            try:
                status = await self._served()
            finally:
                self._pace.leave()
            self._pace.heard(status, {}, began)
            if status == 200:
                return [self._answer(ask, run, time.monotonic() - began) for run in ask.runs]
            self._look.refused[status] += 1
            await asyncio.sleep(self._rng.uniform(0.5, 1.0) * 2**attempt)
        return [Failure(self._stage, "rate_limit" if status == 429 else "server_error", "as drawn") for _ in ask.runs]

    async def _served(self) -> int:
        """The status of one request, after the time that it takes."""
        if self._limit:
            now = int(time.monotonic())
            self._given[now] += 1
            if self._given[now] > self._limit:
                await asyncio.sleep(0.05)
                return 429
        if self._seconds:
            slow = LONGER if self._rng.random() < TAIL else 1.0
            await asyncio.sleep(self._seconds * slow * self._rng.lognormvariate(0.0, SPREAD))
        else:
            await asyncio.sleep(0)
        return 500 if self._rng.random() < FAULTS else 200

    def _answer(self, ask: Ask, run: int, seconds: float) -> Reply:
        if self._stage == "judge":
            is_number = ask.scenario.kind == "numerical"
            verdict = NumericalVerdict(26.0, 26.0) if is_number else BinaryVerdict(self._rng.choice("AB"))  # type: ignore[arg-type]
            text = written(ask, Judgement(verdict, "As drawn."))
        else:
            text = f"{'/'.join(ask.scenario.key)}, question {ask.elicitation}, sample {run}. {self._text}"
        sizes = Usage(sum(len(message.content) for message in ask.messages) // 4, len(text) // 4)
        return Reply(text, usage=sizes, model=self.name, sent={"temperature": 1.0}, seconds=seconds)

    def describe(self) -> dict[str, Any]:
        """That it is a simulation."""
        return {"name": self.name, "service": "sim"}

    async def close(self) -> None:
        """Look no more."""
        self._look.close()


class Look(Unwatched):
    """What is seen of one run: when answers came, refusals, how late the loop is, files that are open."""

    def __init__(self) -> None:
        self.answers: list[float] = []  # when each came
        self.refused: Counter[int] = Counter()
        self.lost = 0
        self.late: list[float] = []
        self.files = 0
        self.began = 0.0
        self._task: asyncio.Task[None] | None = None

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """Note when an answer came."""
        self.answers.append(time.monotonic())
        self.lost += isinstance(answer, Failure)

    def open(self) -> None:
        """Look at the loop from the first request on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._watch())
            self.began = time.monotonic()

    def close(self) -> None:
        """Look no more."""
        if self._task:
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            due = time.monotonic() + LOOK
            await asyncio.sleep(LOOK)
            self.late.append(time.monotonic() - due)
            self.files = max(self.files, _open_files())


def _open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def flow(case: Case, place: Path) -> dict[str, float]:
    """Whole measurements beside each other, each in a thread of its own, as a sweep has them."""
    write_scenarios(place / "rows", case.scenarios)
    looks = [Look() for _ in range(case.runs)]
    broken: list[BaseException] = []

    def measured(number: int) -> None:
        settings = Settings.of(
            subject="engines of the subject",
            judge="engines of the judge",
            numeric_judge="engines of the judge",
            scenarios=str(place / "rows"),
            statements=case.statements,
            connections=case.connections,
            seed=number,
        )
        models = Engines("subject", case, number, looks[number]), Engines("judge", case, number, looks[number])
        try:
            measure(settings, place / f"run-{number}", {}, looks[number], models=models)
        except BaseException as error:  # the main thread has to hear of it
            broken.append(error)

    threads = [threading.Thread(target=measured, args=(number,)) for number in range(case.runs)]
    before = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    spent = time.process_time() - before
    answers = sorted(moment for look in looks for moment in look.answers)
    wall = answers[-1] - min(look.began for look in looks)
    late = sorted(each for look in looks for each in look.late) or [0.0]
    return {
        "answers": len(answers),
        "seconds": wall,
        "a_second": len(answers) / wall,
        "steady_a_second": _steady(answers),
        "ms_each": 1000 * spent / len(answers),
        "late_ms": 1000 * late[int(0.99 * (len(late) - 1))],
        "refused": sum(look.refused[429] for look in looks),
        "faults": sum(look.refused[500] for look in looks),
        "lost": sum(look.lost for look in looks),
        "files": max(look.files for look in looks),
    }


def _steady(answers: Sequence[float]) -> float:
    """Answers a second while the middle half of them came: without the start, and without the last, slowest ones."""
    first, last = len(answers) // 4, 3 * len(answers) // 4
    return (last - first) / (answers[last] - answers[first])


def writer(case: Case, place: Path) -> dict[str, float]:
    """Replies and verdicts given to the store as fast as it takes them, each looked for first, as the flow does."""
    first = read_row(row(Random(0), "known_facts", 1), "rows", 1, "known_facts")
    assert isinstance(first, Scenario)
    scenarios = [replace(first, task_id=f"kf{number}") for number in range(case.scenarios)]
    texts = [prose(Random(number), 900) for number in range(100)]
    verdict = Judgement(BinaryVerdict("A"), "As drawn, and in a sentence of the usual length, which a judge gives.")

    async def put() -> float:
        store = Store(place / "run.sqlite", write=True)
        store.add_scenarios((each, 1.0) for each in scenarios)
        began = time.perf_counter()
        for number, (scenario, run) in enumerate((s, r) for s in scenarios for r in range(1, case.statements + 1)):
            key = hashlib.sha256(str(number).encode()).digest()
            ask = Ask((Message("user", ""),), scenario, "statement", 0, (run,), (number,))
            reply = Reply(texts[number % 100], None, False, Usage(300, 220), "m", "f", {"temperature": 1.0}, 3.0)
            if not store.has_verdict("default", key):
                store.put_reply(key, number, ask, run, reply)
                store.put_verdict("default", key, verdict, [reply])
                store.link("default", ask, key)
            if number % 50 == 49:
                await asyncio.sleep(0)  # the store's timers have their turn, as in a flow
        store.flush()
        took = time.perf_counter() - began
        store.close()
        return took

    before = time.process_time()
    wall = asyncio.run(put())
    pairs = case.scenarios * case.statements
    spent = time.process_time() - before
    return {"answers": pairs, "seconds": wall, "a_second": pairs / wall, "ms_each": 1000 * spent / pairs}


def cell(case: Case) -> dict[str, float]:
    """The figures of one case, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        figures = (writer if case.what == "writer" else flow)(case, Path(folder))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return figures | {"mb": peak / 1e6}


def measured(cases: Sequence[Case]) -> Iterator[dict[str, object]]:
    """Each case in a process of its own, with what it gave."""
    for case in cases:
        line = [sys.executable, __file__, "--cell", json.dumps(asdict(case))]
        figures = json.loads(subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout)
        offered = SLOTS * case.engines / SECONDS["subject"] if case.engines else 0
        shown: dict[str, object] = asdict(case) | {"connections": case.connections, "offered": round(offered)}
        names = (
            "answers",
            "seconds",
            "a_second",
            "steady_a_second",
            "ms_each",
            "late_ms",
            "refused",
            "faults",
            "lost",
            "files",
            "mb",
        )
        yield shown | {name: f"{figures[name]:.2f}" if name in figures else "" for name in names}
        print(case, figures, file=sys.stderr)


def table(rows: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The lines of the table in docs/project/scale.md; the CSV file has more."""
    heads = {
        "what": "driven",
        "runs": "runs",
        "engines": "engines",
        "connections": "connections a run",
        "statements": "statements",
        "judge_a_second": "judge's limit a second",
        "answers": "answers",
        "a_second": "answers a second",
        "ms_each": "processor, ms each",
        "late_ms": "loop late, ms",
        "mb": "memory, MB",
    }
    yield f"| {' | '.join(heads.values())} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    for line in rows:
        cells = [_shown(name, line[name]) for name in heads]
        yield f"| {' | '.join(cells)} |"


def _shown(name: str, value: object) -> str:
    if value == "" or name == "what":
        return str(value)
    number = float(str(value))
    return f"{number:.2f}" if name == "ms_each" else f"{number:,.0f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cells of this kind alone: writer or flow; nothing is written then")
    parser.add_argument("--quick", action="store_true", help="three small cells; nothing is written then")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cell:
        return print(json.dumps(cell(Case(**json.loads(asked.cell)))))
    cases = [case for case in (QUICK if asked.quick else CASES) if asked.only in (None, case.what)]
    rows = list(measured(cases))
    lines = "\n".join(table(rows))
    if not asked.only and not asked.quick:
        write(DOCS / "scale.csv", rows)
        put_table(DOCS / "project" / "scale.md", BEGIN, END, lines)
    return print(lines)


if __name__ == "__main__":
    main()
