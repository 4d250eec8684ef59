"""One measurement with one client: the whole command against a fresh server.py, and what both saw of it.

Everything from the start of the command to its end counts, and nothing else does: processor time and memory are those
of the client and its children as the kernel accounts for them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from urllib.request import urlopen

import orjson

from maskbench.store.prices import Tokens
from server_ledger import CHARACTERS_PER_TOKEN

HERE = Path(__file__).resolve().parent
NO_PORT = """{python} has no Inspect Evals. Install it into an environment of its own, and name its interpreter:
    python -m venv inspect-env
    inspect-env/bin/pip install -c tests_outside/port/constraints.txt inspect-evals openai
    python benchmarks/compare_inspect.py --inspect-python inspect-env/bin/python"""
# How a client reaches the server, which stands for {server}. As its proxy it stands for a service of another's, which
# maskbench does not give all connections at once.
OWN = {"BENCH_BASE_URL": "{server}"}
HOSTED = {"BENCH_BASE_URL": "http://service.example/v1", "no_proxy": "", "NO_PROXY": "", "http_proxy": "{server}"}
KEYED = {**OWN, "BENCH_API_KEY": "none"}

Replies = Literal["different", "alike"]
Role = Literal["subject", "judge"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured: mean latency in seconds, connections, statements a scenario, the subject's replies, scenarios.

    `at_once`: the server refuses more requests than this.
    """

    latency: float
    connections: int
    statements: int
    replies: Replies
    scenarios: int
    at_once: int | None = None

    @property
    def name(self) -> str:
        """How `--only` names it."""
        return f"{1000 * self.latency:g}ms-{self.connections}-{self.statements}-{self.replies}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one command took, and what the server saw of it; seconds, and MB of 10^6 bytes in the largest process."""

    client: str
    cell: Cell
    seen: Mapping[str, Any]  # of the server's /stats
    wall: float
    start: float  # until the first request
    cpu: float  # user and system
    peak: float

    @property
    def requests(self) -> int:
        """How many there were, refused ones left out."""
        return int(self.seen["requests"])

    @property
    def ideal(self) -> float:
        """Requests × mean latency / connections: the least wall time with these requests."""
        return self.requests * self.cell.latency / min(self.cell.connections, self.cell.at_once or sys.maxsize)

    def tokens(self, role: Role, *, cached: bool = False, alone: bool = False) -> Tokens:
        """A role's tokens; `cached`: with what a cache could have held, `alone`: each sample pays for its prompt."""
        sums = self.seen[role]
        return Tokens(
            calls=sums["requests"],
            input=sums["alone" if alone else "input"] / CHARACTERS_PER_TOKEN,
            cached=sums["cacheable"] / CHARACTERS_PER_TOKEN if cached else 0,
            output=sums["output"] / CHARACTERS_PER_TOKEN,
        )


@contextmanager
def served(cell: Cell) -> Iterator[str]:
    """A server in a process of its own; gives its base URL."""
    command = [sys.executable, str(HERE / "server.py"), "--latency", str(cell.latency)]
    command += ["--alike"] if cell.replies == "alike" else []
    command += ["--at-once", str(cell.at_once)] if cell.at_once else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def measure(client: str, command: Sequence[str], environ: Mapping[str, str], cell: Cell, log: Path) -> Measured:
    """Run one command against a fresh server; stops the benchmark with the command's output where it fails."""
    with served(cell) as base_url, log.open("wb") as output:
        around = {**os.environ, **{name: value.format(server=base_url) for name, value in environ.items()}}
        began = time.monotonic()
        process = subprocess.Popen(command, env=around, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)  # this child and its own children, not the server
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        with urlopen(f"{base_url}/stats") as response:  # noqa: S310  # our own server
            seen = orjson.loads(response.read())
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{log.read_text()[-3000:]}")
    return Measured(
        client=client,
        cell=cell,
        seen=seen,
        wall=round(wall, 2),  # as the CSV file has it, so that tables of it agree
        start=round(seen["first"] - began, 2),
        cpu=usage.ru_utime + usage.ru_stime,
        peak=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6,
    )


def maskbench(
    cell: Cell, folder: Path, scratch: Path, name: str = "", field: str = "", *, own: bool = False
) -> Measured:
    """The whole of `maskbench run` with a further field of its file: start, calls, storage, scoring and printing.

    `own`: the server counts as one of one's own, which gets all connections from the start.
    """
    scratch.mkdir(exist_ok=True)
    out = scratch / "run"
    file = scratch / "run.toml"
    file.write_text(f'model = "openai-api/bench/subject"\n{field}\n', encoding="utf-8")
    command = [sys.executable, "-m", "maskbench", "run", str(file)]
    command += ["--judge", "openai-api/bench/judge", "--scenarios", str(folder), "--out", str(out)]
    command += ["--connections", str(cell.connections), "--statements", str(cell.statements)]
    name = f"maskbench {version('maskbench')}" + (f" {name}" if name else "")
    result = measure(name, command, OWN if own else HOSTED, cell, scratch / "maskbench.log")
    counts = orjson.loads((out / "summary.json").read_bytes())["counts"]
    if counts["error"] or round(sum(counts.values())) != cell.scenarios:
        sys.exit(f"maskbench did not score all {cell.scenarios} scenarios: {counts}")
    return result


def inspect_evals(cell: Cell, folder: Path, scratch: Path, python: str) -> Measured:
    """The MASK task of Inspect Evals with as many connections and statements; see inspect_port.py."""
    command = [python, str(HERE / "inspect_port.py"), str(folder), "--connections", str(cell.connections)]
    command += ["--statements", str(cell.statements), "--logs", str(scratch / "inspect")]
    return measure(port_name(python), command, KEYED, cell, scratch / "inspect.log")


def port_name(python: str) -> str:
    """The package with its versions; stops with what to do where an interpreter does not have it."""
    code = (
        "import importlib.util; from importlib.metadata import version; "
        "assert importlib.util.find_spec('openai') and importlib.util.find_spec('inspect_evals.mask'); "
        "print('Inspect Evals', version('inspect-evals'), 'on inspect-ai', version('inspect-ai'))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(NO_PORT.format(python=python))
    return done.stdout.strip().splitlines()[-1]
