"""Every task under every executor, killed by kill -9 and gone on with: what it holds, and what it asked.

    python benchmarks/kills.py --kills 100     as many kills, each of a task, an executor and a request drawn at random
    python benchmarks/kills.py --table         each pair without a kill: the requests, by model

The models are those of shelf_server.py, which answers by the words of a request and not by its clock. An executor is
live or batched. A run that was killed and gone on
with has to hold what a whole one holds: places, texts, keys, verdicts, causes, draws with their chances, and outcomes;
and no answer that was stored before the kill may be asked for again, nor what went out in a batch.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import traceback
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from multiprocessing import Pipe, Process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

SET = {"archetypes": ("known_facts", "provided_facts", "statistics"), "limit": 24}
MEASURED: Mapping[str, Mapping[str, Any]] = {
    "whole": {},
    "placebo": {"placebo": True},
}
JUDGED = ("another judge", "the same judge")  # of a run that is there
TASKS = (*MEASURED, "exam", *JUDGED)
ASKED = 60  # questions of the exam's paper
EXECUTORS: Mapping[str, Mapping[str, Any]] = {
    "live": {},
    "batched": {"batch": "both"},
}
PAIRS = [(task, executor) for task in TASKS for executor in EXECUTORS]
BASE = "whole", "live"  # the run that judges judge again
LOADED = (  # before processes are forked, so that each of them begins at once
    *(
        "maskbench.measurement",
        "maskbench.asking.judging.judge_again",
        "maskbench.models.chat.openai_batches",
        "scipy.special",
    ),
    *("maskbench.asking.batch_machine", "filelock", "uvloop", "encodings.idna", "stringprep"),
)


class Cell(NamedTuple):
    """One run of a task under an executor: what it is, where, and the request at which it is killed (0: none)."""

    task: str
    executor: str
    folder: str
    doomed: int = 0


# In a process of its own


def carry_out(cell: Cell, environ: Mapping[str, str]) -> None:
    """Do what a cell says, in this process, from wherever its folder stands."""
    from maskbench.asking import batched
    from maskbench.asking.judging.judge_again import judge
    from maskbench.asking.judging.sitting import exam_settings, examine
    from maskbench.asking.stored_programs import to_ask_by
    from maskbench.measurement import measure
    from maskbench.scenarios.exam.papers import paper_for
    from maskbench.settings import Settings
    from maskbench.store.folder import RunFolder

    batched.LEAST = 1
    how, folder = dict(EXECUTORS[cell.executor]), RunFolder(cell.folder)
    if cell.task in MEASURED:
        subject = "openai/thinker" if cell.task == "placebo" else "openai/subject"
        options = {"send_seed": True, "connections": 8, **SET, **MEASURED[cell.task], **how}
        measure(Settings.of(subject, "openai/judge", "starter", **options), cell.folder, environ)
        return
    how |= {"batch": "judge"} if "batch" in how else {}
    if cell.task == "exam":
        whole = paper_for("openai/judge")
        paper = replace(whole, questions=whole.questions[:ASKED])
        examine(exam_settings("openai/judge").having(connections=8, **how), folder.path, 1, environ, paper=paper)
    else:
        name = "openai/judge-two" if cell.task == "another judge" else "openai/judge"
        settings = folder.settings().having(judge=name, numeric_judge=name, **how)
        judge(folder, to_ask_by(settings, (), folder.path, ("judge",)), "again", environ)


def serve_cells() -> None:
    """Read cells as JSON, a line each, and carry each out in a process that is forked for it; tell how it ended."""
    from shelf_server import serve

    here, there = Pipe()
    server = Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    for module in LOADED:
        import_module(module)
    address = f"http://127.0.0.1:{port}/v1"
    environ = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-kills-0123456789"}
    os.environ.update(environ)
    print(json.dumps(port), flush=True)
    for line in sys.stdin:
        cell = Cell(*json.loads(line))
        process = os.fork()
        if not process:
            os._exit(_inside(cell, environ, port))
        _, status = os.waitpid(process, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)
    server.terminate()


def _inside(cell: Cell, environ: Mapping[str, str], port: int) -> int:
    os.setsid()
    told = os.open(f"{cell.folder}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(told, 1)
    os.dup2(told, 2)
    if cell.doomed:
        _tell(port, "kill", {"process": os.getpid(), "at": cell.doomed})
    try:
        carry_out(cell, environ)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return 1
    return 0


def _tell(port: int, path: str, content: object = None) -> Any:
    address, data = f"http://127.0.0.1:{port}/{path}", json.dumps(content).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method="PUT")
    with urllib.request.urlopen(request) as answer:  # noqa: S310  # our own server
        return json.loads(answer.read())


# From outside


@dataclass
class Asked:
    """What a process asked: how many requests there were of any kind, and what was asked of models."""

    requests: int
    sent: list[tuple[str, str, str, str]]  # live or batch, model, a hash with the sample, the answer

    @property
    def by_model(self) -> Counter[str]:
        """How many requests each model was asked."""
        return Counter(model for _, model, _, _ in self.sent)

    @property
    def names(self) -> Counter[str]:
        """How often each request was asked."""
        return Counter(name for _, _, name, _ in self.sent)


@dataclass
class Workshop:
    """Carries cells out: a process with everything loaded, which forks one for each cell, and a server of theirs."""

    place: Path
    process: subprocess.Popen[str]
    port: int
    whole: dict[tuple[str, str], tuple[Any, Asked]] = field(default_factory=dict)

    def run(self, cell: Cell) -> tuple[int, Asked]:
        """The exit code of a cell (-9: it was killed), and what it asked."""
        if self.process.stdin is None or self.process.stdout is None:
            raise ValueError("The workshop is closed.")
        self.process.stdin.write(json.dumps(cell) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        told = _tell(self.port, "asked")
        return code, Asked(told["requests"], [tuple(each) for each in told["sent"]])

    def cell(self, task: str, executor: str, name: str) -> Cell:
        """A cell in a folder of its own, which holds the run that is judged again where the task is of that kind."""
        folder = self.place / f"{task} {executor} {name}"
        if task in JUDGED:
            self.straight(*BASE)
            shutil.copytree(self.place / f"{' '.join(BASE)} straight", folder)
        return Cell(task, executor, str(folder))

    def straight(self, task: str, executor: str) -> tuple[Any, Asked]:
        """What a whole run of a pair holds, and what it asked; it is made once."""
        if (task, executor) not in self.whole:
            cell = self.cell(task, executor, "straight")
            code, asked = self.run(cell)
            if code:
                raise RuntimeError(f"{cell.folder} ended with {code}: {_log(cell)}")
            self.whole[task, executor] = rows(Path(cell.folder)), asked
        return self.whole[task, executor]

    def killed(self, task: str, executor: str, at: int, name: str) -> Iterator[str]:
        """What is wrong of a run that is killed at this request and gone on with; nothing where all is well."""
        held, _ = self.straight(task, "live")
        cell = self.cell(task, executor, name)
        earlier = stored(Path(cell.folder))
        code, before = self.run(cell._replace(doomed=at))
        had = Counter(text for place, text in stored(Path(cell.folder)).items() if place not in earlier)
        again, after = self.run(cell)
        equal = Counter(answer for _, answer in {(name, answer) for _, _, name, answer in before.sent})
        known = {name for how, _, name, told in before.sent if how == "batch" or had[told] >= equal[told]}
        if code != -9:
            yield f"was not killed at request {at}: it ended with {code}"
        if again:
            yield f"ended with {again} when it was gone on with: {_log(cell)}"
        elif (now := rows(Path(cell.folder))) != held:
            yield f"killed at request {at} it holds other rows: {_differences(held, now)}"
        if twice := known & set(after.names):
            yield f"killed at request {at} it asked {len(twice)} of {len(known)} again that it had"
        shutil.rmtree(cell.folder)


@contextmanager
def workshop(place: Path) -> Iterator[Workshop]:
    """A workshop with its folder, for the length of a `with` block."""
    command = [sys.executable, __file__, "--serve"]
    process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # ours
    if process.stdin is None or process.stdout is None:
        raise ValueError("There are no pipes.")
    try:
        yield Workshop(place, process, int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def rows(folder: Path) -> dict[str, list[Any]]:
    """What a run holds, without times, tokens and sessions: replies, verdicts, draws and outcomes."""
    from maskbench.method.rules import named
    from maskbench.store.folder import RunFolder, is_exam
    from maskbench.store.verdict_sets import OpenRun

    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        held: dict[str, list[Any]] = {name: db.execute(query).fetchall() for name, query in _QUERIES.items()}
    if is_exam(folder):
        return held  # whose questions are marked, and no scenario is scored
    with OpenRun(RunFolder(folder)) as opened:
        for name in opened.store.verdict_sets():
            scored = opened.verdicts(name).scored(named("reference"))
            held[f"outcomes {name}"] = [(row.key, row.outcomes, row.accuracy, str(row.resolved)) for row in scored]
    return held


_QUERIES = {
    "replies": """SELECT archetype, task_id, elicitation, run, hex(key), seed, text, reasoning, error_cause
        FROM replies ORDER BY 1, 2, 3, 4""",
    "verdicts": """SELECT verdict_set, archetype, task_id, elicitation, run, hex(key), verdict, reason, error_cause
        FROM judged JOIN verdicts USING (verdict_set, key) ORDER BY 1, 2, 3, 4, 5""",
    "draws": "SELECT * FROM chosen ORDER BY 1, 2, 3",
}


def stored(folder: Path) -> dict[tuple[str, bytes], str]:
    """The answers that a run holds as they came, by set (none: replies) and key; nothing where no run was begun."""
    if not (folder / "run.json").exists():
        return {}
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        query = """SELECT '', key, text FROM replies WHERE text IS NOT NULL
            UNION ALL SELECT verdict_set, key, raw FROM verdicts WHERE raw IS NOT NULL"""
        return {(into, key): text for into, key, text in db.execute(query)}


def _log(cell: Cell) -> str:
    return Path(f"{cell.folder}.log").read_text("utf-8")[-3000:]


def _differences(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> str:
    said = []
    for name in dict.fromkeys((*before, *after)):
        was, is_ = set(map(str, before.get(name, ()))), set(map(str, after.get(name, ())))
        if was != is_:
            said.append(f"{name}: {len(was - is_)} lost, {len(is_ - was)} more, such as {sorted(was ^ is_)[0][:300]}")
    return "; ".join(said) or "in another order"


def kills(shop: Workshop, count: int, seed: int, tell: Callable[[str], object] = print) -> list[str]:
    """Kill so often, at random over all pairs; returns what was wrong."""
    rng, wrong, since = random.Random(seed), list[str](), time.monotonic()
    drawn = [rng.choice(PAIRS) for _ in range(count)]
    for number, (task, executor) in enumerate(drawn, 1):
        _, asked = shop.straight(task, executor)
        for problem in shop.killed(task, executor, rng.randint(1, asked.requests), f"{number}"):
            wrong.append(f"{task}, {executor}: {problem}")
            tell(wrong[-1])
    pairs = len(set(drawn))
    tell(f"{count} kills over {pairs} of {len(PAIRS)} pairs in {time.monotonic() - since:.0f} s: {len(wrong)} wrong.")
    return wrong


def main() -> None:
    """Kill, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve_cells()
    with TemporaryDirectory() as place, workshop(Path(place)) as shop:
        if not given.table:
            raise SystemExit(bool(kills(shop, given.kills, given.seed, partial(print, flush=True))))
        for task, executor in PAIRS:
            _, asked = shop.straight(task, executor)
            print(f"{task:24} {executor:8} {dict(sorted(asked.by_model.items()))}")
    return None


if __name__ == "__main__":
    main()
