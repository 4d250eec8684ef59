"""`--serve` with real servers: llama.cpp and `transformers serve`, killed in the middle, and named after a kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import real_models
from maskbench.measurement import measure
from maskbench.models.serve.own_server import left
from maskbench.runs.folder import RunFolder
from test_real import answered, column, command, environ, replies, settings

UNCACHED = '{"cache_prompt":false}'  # of llama.cpp, whose greedy answers repeat only so


def served(place: Callable[[Path], AbstractContextManager[real_models.Server]], folder: Path) -> real_models.Server:
    """The name and the command of a server, which is not left running."""
    with place(folder / "log") as server:
        return server


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> real_models.Server:
    """llama.cpp's server as a command."""
    return served(real_models.llama_cpp, tmp_path_factory.mktemp("llama"))


def processes(words: str) -> list[int]:
    """The numbers of the processes whose command holds these words."""
    listed = subprocess.run(["/bin/ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if words in line and "maskbench" not in line]


def wait_until(is_so: Callable[[], bool], seconds: float = 240.0) -> None:
    """Wait until something is so; fails where it is not in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def test_a_run_goes_on_after_llama_cpp_was_killed(llama: real_models.Server, tmp_path: Path) -> None:
    """kill -9 on the engine ends the run with code 5; the same command goes on to the answers of a quiet run."""
    judge = real_models.scripted_judge(tmp_path)
    chosen = settings(llama.name, judge, serve=llama.command, extra_body=UNCACHED, limit=2)
    measure(chosen, tmp_path / "quiet", {})
    (tmp_path / "run.toml").write_text(f"model = '{llama.name}'\nextra-body = '{UNCACHED}'\n", "utf-8")
    words = ["run", str(tmp_path / "run.toml"), "--serve", llama.command, "--judge", judge, "--scenarios", "starter"]
    words += ["--beliefs", "1"]
    words += ["--archetype", "known_facts", "--archetype", "provided_facts", "--limit", "2", "--connections", "1"]
    words += ["--temperature", "0", "--max-tokens", "16", "--reasoning-tokens", "0"]
    ours = subprocess.Popen(command(*words, "--out", str(tmp_path / "run")), stderr=subprocess.PIPE, env=environ(None))
    try:
        wait_until(lambda: answered(tmp_path / "run") >= 2)
        (engine,) = processes(f"real_models.py {real_models.gguf()} --port")
        os.kill(engine, signal.SIGKILL)
        assert ours.wait(240) == 5
    finally:
        ours.kill()
        ours.communicate()
    subprocess.run(command(*words, "--out", str(tmp_path / "run")), env=environ(None), check=True)
    assert set(column(replies(tmp_path / "run"), "error_cause").values()) == {None}
    assert column(replies(tmp_path / "run"), "text") == column(replies(tmp_path / "quiet"), "text")
    servers = RunFolder(tmp_path / "quiet").read().sessions[0].servers or []
    assert [bool(about.version) for about in servers] == [True]  # llama.cpp's own page says which build it is


def test_after_kill_9_transformers_serve_is_named(tmp_path: Path) -> None:
    """When maskbench is killed while `transformers serve` answers, the group that is named holds all of the server."""
    place = served(real_models.transformers_serve, tmp_path)
    words = ["run", place.name, "--serve", place.command, "--judge", real_models.scripted_judge(tmp_path)]
    words += ["--scenarios", "starter", "--temperature", "0", "--max-tokens", "8", "--reasoning-tokens", "0"]
    words += ["--connections", "1", "--out", str(tmp_path / "run")]
    ours = subprocess.Popen([sys.executable, "-m", "maskbench", *words], stderr=subprocess.DEVNULL, env=environ(None))
    try:
        wait_until(lambda: answered(tmp_path / "run") >= 1)
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait()
    told = left(tmp_path / "run" / "serve.log")
    assert told
    os.killpg(int(told.rpartition("-- -")[2]), signal.SIGKILL)
    wait_until(lambda: not processes(f"serve {real_models.weights()}"), 15.0)
    servers = RunFolder(tmp_path / "run").read().sessions[0].servers or []
    assert [(about.engine, bool(about.version)) for about in servers] == [("transformers", True)]
