"""A run in batches that is killed at any step goes on: no request is paid for twice, and nothing is lost."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from batch_server import Nasty, environ, read, run_live, serving, small_set
from flows import command, end, maskbench, until

pytestmark = pytest.mark.slow

STEPS = [
    *(("openai", step, 1) for step in ("upload", "create", "created", "look", "results", "live")),
    *(("anthropic", step, 1) for step in ("create", "created", "look", "results")),
    ("openai", "created", 2),  # in the second stage, when the results of the first are being read
    ("anthropic", "results", 2),
]


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set."""
    return small_set(tmp_path_factory.mktemp("set"))


@pytest.fixture(scope="module")
def live(scenarios: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What live runs on it hold."""
    return run_live(scenarios, tmp_path_factory.mktemp("live"))


def typed(service: str, scenarios: Path, out: Path, batch: str = "both") -> tuple[object, ...]:
    """The command of a run in batches."""
    models = (f"{service}/m", "--judge", f"{service}/judge")
    return ("run", *models, "--scenarios", scenarios, "--send-seed", "--batch", batch, "--out", out)


@pytest.mark.parametrize(("service", "step", "time"), STEPS)
def test_killed(service: str, step: str, time: int, scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """kill -9 while the service is at this step: the run goes on, and each request was paid for as in a live run."""
    out = tmp_path / "run"
    with serving() as server:
        with maskbench(*typed(service, scenarios, out), env=environ(server)) as process:
            wait = [lambda: None] * (time - 1)
            server.at[step] = [*wait, lambda: os.kill(process.pid, signal.SIGKILL)]
            process.wait()
        begun = server.steps["create"]
        assert command("run", "--out", out, env=environ(server)).code == 0
        held, paid = live[service]
        assert read(out) == held
        if step != "live":  # a live call that was under way is asked again, as in any run
            assert server.paid == paid
        assert server.steps["create"] <= max(begun, 1) + 1


def test_stopped_while_it_waits(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """Ctrl-C leaves the jobs running and names the line that joins them; without --batch nothing is paid for twice."""
    out = tmp_path / "run"
    with serving(Nasty(looks=10_000)) as server:
        with maskbench(*typed("openai", scenarios, out, "judge"), env=environ(server)) as process:
            until(lambda: server.steps["look"] > 1)
            process.send_signal(signal.SIGINT)
            ended = end(process)
        assert ended.code == 130
        assert "requests go on in batches at their service" in ended.err
        assert f"maskbench run --out {out}" in ended.err
        whole = [each for each in typed("openai", scenarios, out) if each not in ("--batch", "both")]
        refused = command(*whole, env=environ(server))
        assert refused.code == 2
        assert "are under way in batches (batch_0), and would be paid for twice" in refused.err
        assert "add --batch judge" in refused.err
        server.nasty.looks = 0
        for job in server.jobs.values():
            job["looks"] = 1
        joined = command("run", "--out", out, env=environ(server))
        assert joined.code == 0
        assert "Joining a batch of" in joined.err
        assert (read(out), server.paid) == live["openai"]


def test_given_up(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """--batch none asks live what is under way, and says nothing more of the batch."""
    out = tmp_path / "run"
    with serving(Nasty(looks=10_000)) as server:
        with maskbench(*typed("anthropic", scenarios, out, "judge"), env=environ(server)) as process:
            until(lambda: server.steps["look"] > 1)
            process.kill()
            process.wait()
        looked = server.steps["look"]
        assert command("run", "--out", out, "--batch", "none", env=environ(server)).code == 0
        assert server.steps["look"] == looked
        assert read(out) == live["anthropic"][0]


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_another_judge_in_batches(service: str, scenarios: Path, tmp_path: Path) -> None:
    """`judge RUN --batch judge` judges stored replies in a batch, to the verdicts that the same judge gives live."""
    out, other = tmp_path / "run", tmp_path / "other"
    with serving() as server:
        assert command(*typed(service, scenarios, out, "none"), env=environ(server)).code == 0
        shutil.copytree(out, other)
        before = len(server.live)
        name = f"{service}/second-judge"
        done = command("judge", out, "--judge", name, "--batch", "judge", "--name", "b", env=environ(server))
        assert done.code == 0
        assert server.steps["create"] == 1
        batched = len(server.live) - before
        assert command("judge", other, "--judge", name, "--name", "b", env=environ(server)).code == 0
        assert batched < len(server.live) - before - batched
        scores = [json.loads(command("score", each, "--verdicts", "b", "--json", env={}).out) for each in (out, other)]
        assert scores[0]["counts"] == scores[1]["counts"]
        assert command("judge", out, "--judge", name, "--batch", "both", "--name", "c", env=environ(server)).code == 2
