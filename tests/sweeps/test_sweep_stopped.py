"""A sweep that is stopped, by a kill, by its budget or by Ctrl-C, goes on where it was, and asks nothing twice."""

from __future__ import annotations

import re
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flows import command, end, environ, maskbench, serving, six_files, until
from swept_runs import asked_of, judging, states, swept, twice, written

pytestmark = pytest.mark.slow

ARMS = "[product]\nseed = [1, 2, 3]\n"
CONNECTIONS = 4


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three scenarios of every archetype."""
    return six_files(tmp_path_factory.mktemp("rows"), 3)


def test_a_kill_loses_nothing(tmp_path: Path, rows: Path) -> None:
    """After kill -9 in the middle the same command asks only for what had not been written down yet."""
    file, out = written(tmp_path / "s.toml", rows, ARMS, connections=CONNECTIONS), tmp_path / "out"
    with serving(reply=judging, latency=0.01) as server:
        with maskbench("sweep", file, "--out", out, env=environ(server)) as process:
            until(lambda: server.requests > 100)
            process.send_signal(signal.SIGKILL)
            process.wait()
        stored = sum(map(answers, out.glob("*/run.sqlite")))
        assert stored > 60
        sent = server.requests
        ended = swept(file, out, server)
        assert ended.code == 0, ended.err
        assert twice(server) <= sent - stored
        assert set(states(out).values()) == {"done"}


def answers(database: Path) -> int:
    """How many replies and verdicts are written down."""
    with closing(sqlite3.connect(database)) as db:
        return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("replies", "verdicts"))  # noqa: S608  # names of ours


def test_a_budget_ends_all_runs_and_a_larger_one_goes_on(tmp_path: Path, rows: Path) -> None:
    """The tokens of all runs together end the sweep with code 4, and the line that it prints takes it up again."""
    file = written(tmp_path / "s.toml", rows, ARMS, connections=CONNECTIONS, max_tokens_total=45_000)
    out = tmp_path / "out"
    with serving(reply=judging) as server:
        ended = swept(file, out, server)
        assert ended.code == 4, ended.err
        assert "--max-tokens-total 45,000 tokens is reached by all runs together" in ended.err
        assert used(out) <= 1.02 * 45_000
        assert set(states(out).values()) == {"stopped"}
        before = server.requests
        again = swept(file, out, server)
        assert (again.code, used(out) <= 1.02 * 45_000) == (4, True)  # a call is taken to be as long as those before
        assert server.requests <= before + CONNECTIONS  # what is left of the limit may do for a call
        assert f"{used(out):,} tokens used" in again.err  # with all that came home
        line = re.findall(r"^  maskbench (sweep .*)$", ended.err, re.MULTILINE)[-1]
        for _ in range(9):
            ended = command(*shlex.split(line), env=environ(server))
            if ended.code != 4:
                break
            line = re.findall(r"^  maskbench (sweep .*)$", ended.err, re.MULTILINE)[-1]
        assert ended.code == 0, ended.err
        assert twice(server) == 0
    assert used(out) > 45_000


def used(out: Path) -> int:
    """The tokens that all runs of a sweep used."""
    from maskbench.store.bill import ledger_of
    from maskbench.store.folder import RunFolder

    total = 0
    for folder in (path for path in out.iterdir() if (path / "run.json").is_file()):
        with closing(RunFolder(folder).store()) as store:
            ledger = ledger_of(store)
            total += sum(row.input_tokens + row.output_tokens for row in ledger.rows) if ledger else 0
    return total


def test_ctrl_c_lets_paid_calls_come_home(tmp_path: Path, rows: Path) -> None:
    """Ctrl-C stops all runs gently: every answer that was sent is kept, and the exit code is 130."""
    file, out = written(tmp_path / "s.toml", rows, ARMS, connections=CONNECTIONS), tmp_path / "out"
    with serving(reply=judging, latency=0.03) as server:
        with maskbench("sweep", file, "--out", out, env=environ(server)) as process:
            until(lambda: server.requests > 60)
            process.send_signal(signal.SIGINT)
            ended = end(process)
        assert ended.code == 130
        assert f"To go on:\n  maskbench sweep {file} --out {out}" in ended.err
        assert sum(asked_of(out).values()) == server.requests
        assert set(states(out).values()) == {"stopped"}
