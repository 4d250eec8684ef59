"""Readers of stdout and stderr that go away, closed terminals and closed streams: real processes, real pipes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from flows import MODELS, Answered, environ, run, serving, six_files, until
from patience import PATIENCE

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "maskbench"]


@contextmanager
def piped(
    *arguments: object, into: list[str], env: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """`maskbench ... 2>&1 | into` as two processes on one pipe."""
    read, write = os.pipe()
    reader = subprocess.Popen(into, stdin=read, stdout=subprocess.PIPE)
    command = [*COMMAND, *map(str, arguments)]
    writer = subprocess.Popen(command, env={"PATH": os.environ["PATH"], **env}, stdout=write, stderr=write)
    os.close(read)
    os.close(write)
    try:
        yield writer, reader
    finally:
        for process in (writer, reader):
            process.kill()
            process.wait()
        if reader.stdout is not None:
            reader.stdout.close()


def test_interrupted_with_its_reader(tmp_path: Path) -> None:
    """Ctrl-C under `2>&1 | tee log` ends tee as well: calls in flight come home, and none is paid twice."""
    answered, out = Answered(), tmp_path / "run"
    scenarios = ("--scenarios", six_files(tmp_path / "set", 3), "--connections", "8", "--out", out)
    with serving(reply=answered, latency=0.2) as server:
        env = environ(server)
        with piped("run", *MODELS, *scenarios, into=["tee", str(tmp_path / "log")], env=env) as (process, tee):
            until(lambda: len(answered.times) > 20 and server.in_flight > 0)
            for each in (tee, process):
                each.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
        moment = time.monotonic()
        assert not server.in_flight
        assert run("run", "--out", out, env=env).code == 0
    assert len(answered.before(moment)) > 20
    assert not answered.before(moment) & answered.after(moment)


def test_one_line_was_enough(tmp_path: Path) -> None:
    """`maskbench run ... 2>&1 | head -1` measures to its end, writes its summary and ends with its own exit code."""
    with piped("run", "sim", "--limit", 6, "--out", tmp_path / "run", into=["head", "-1"], env={}) as (process, head):
        assert process.wait(PATIENCE) == 0
        assert head.stdout is not None
        assert head.stdout.read() == b"29 replies and 27 verdicts to ask for\n"
    assert orjson.loads((tmp_path / "run" / "summary.json").read_bytes())["complete"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("exam", "sim-judge/miss=0.9", "--out", "exam"), 3),
        (("exam", "sim-judge/unreadable=0.5", "--out", "exam"), 1),
        (("run", "sim", "--judge", "sim-judge/unreadable=0.9", "--limit", "2", "--out", "failed"), 1),
        (("score", "nothing"), 2),
    ],
)
def test_nobody_reads(tmp_path: Path, command: tuple[str, ...], code: int) -> None:
    """Whoever reads both streams and goes away at once changes no exit code: it says what came out."""
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*COMMAND, *command], cwd=tmp_path, stdout=write, stderr=write, timeout=PATIENCE)
    os.close(write)
    assert ended.returncode == code


def test_a_failed_check_that_nobody_reads(tmp_path: Path) -> None:
    """`maskbench check ... | true` fails as the check does."""
    assert run("run", "sim", "--sample", 30, "--out", tmp_path / "run", env={}).code == 0
    with piped("check", tmp_path / "run", "--max-lie", "0.01", into=["true"], env={}) as (process, _):
        assert process.wait(PATIENCE) == 3


def test_a_full_disk_under_the_log(tmp_path: Path) -> None:
    """Messages that cannot be written (`2> /dev/full`) stop nothing."""
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, "run", "sim", "--limit", "6", "--out", str(tmp_path / "run")]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=full)
    assert ended.returncode == 0
    assert b"P(lie)" in ended.stdout


def test_closed_streams(tmp_path: Path) -> None:
    """`maskbench run ... >&- 2>&-` measures; what it would print lands in no file of the run."""
    shell = f"exec {sys.executable} -m maskbench run sim --limit 6 --out {tmp_path / 'run'} <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", shell], check=False, timeout=PATIENCE).returncode == 0
    assert orjson.loads(run("score", tmp_path / "run", "--json", env={}).out)["complete"]


@pytest.mark.parametrize("nohup", [False, True])
def test_the_terminal_is_closed(tmp_path: Path, nohup: bool) -> None:
    """A closed terminal stops a run gently, as SIGTERM does; under nohup it does not."""
    out = tmp_path / "run"
    scenarios = ("--scenarios", six_files(tmp_path / "set", 2), "--connections", "8", "--out", out)
    command = [*(["nohup"] if nohup else []), *COMMAND, "run", *map(str, (*MODELS, *scenarios))]
    answered = Answered()
    with serving(reply=answered, latency=0.1) as server:
        env = {"PATH": os.environ["PATH"], **environ(server)}
        heard = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            signal.signal(signal.SIGHUP, heard)
            until(lambda: len(answered.times) > 20)
            process.send_signal(signal.SIGHUP)
            _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == (0 if nohup else 130)
    assert ("To go on:\n  maskbench run --out" in err) is not nohup
