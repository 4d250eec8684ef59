"""Sweeps as jobs, through the real submitit: processes of this machine, and scripts that go through `sbatch`."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import orjson
import pytest

from maskbench.runs.folder import RunFolder
from maskbench.sweeps.sweep_json import read_sweep

SWEEP = """
max-tokens-total = 900000
share-beliefs = true

[every]
model = "sim/lie=0.4"
judge = "sim-judge"
limit = 6

[product]
system-prompt = ["none", "honest"]
seed = [1, 2]
"""
SLOW = """
[[run]]
model = "pinocchio"
name = "slow"
limit = 60
"""
COMMANDS = Path(__file__).parent / "slurm_commands.py"
PATIENCE = 60.0


class Cluster:
    """A SLURM of one machine, and maskbench in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.state = place / "slurm"
        self.state.mkdir()
        commands = place / "bin"
        commands.mkdir()
        for name in ("sbatch", "srun", "scontrol"):
            (commands / name).write_text(
                f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(COMMANDS.parent)!r})\n"
                "from slurm_commands import main\nsys.exit(main())\n"
            )
            (commands / name).chmod(0o755)
        self.environ = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "SLURM_FAKE": str(self.state)}

    def sweep(self, text: str, slurm: str, *options: str, more: Mapping[str, str] | None = None) -> str:
        """What `maskbench sweep --submitit` prints about a file, on both streams; it has to succeed."""
        (self.place / "sweep.toml").write_text(f"{text}\n[slurm]\n{slurm}\n")
        line = [sys.executable, "-m", "maskbench", "sweep", "sweep.toml", "--submitit", "--out", "out", *options]
        done = subprocess.run(
            line, cwd=self.place, env={**self.environ, **(more or {})}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def states(self) -> dict[str, str]:
        """How the runs stand, by the records of all parts."""
        records = [read_sweep(path) for path in (self.place / "out" / ".jobs").iterdir() if path.is_dir()]
        return {run.name: run.state for record in records if record for run in record.runs}

    def logs(self) -> str:
        """All that jobs wrote."""
        return "\n".join(path.read_text() for path in (self.place / "out" / ".jobs" / "logs").glob("*_log.*"))

    def pid(self, task: str) -> int:
        """The script of a task."""
        return int((self.state / f"pid-{task}").read_text())

    def calls(self) -> list[str]:
        """What was called of SLURM."""
        return (self.state / "calls.log").read_text().splitlines()

    def python(self, task: str = "") -> int:
        """The process of a task that measures: submitit's, below the script."""
        script = self.pid(task)
        (child,) = Path(f"/proc/{script}/task/{script}/children").read_text().split()
        return int(child)

    def end(self) -> None:
        """Leave nothing running."""
        for file in self.state.glob("pid-*"):
            with suppress(ProcessLookupError, ValueError):
                os.killpg(int(file.read_text()), signal.SIGKILL)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A SLURM of one machine."""
    here = Cluster(tmp_path)
    yield here
    here.end()


def until(what: Callable[[], bool], cluster: Cluster) -> None:
    """Wait until this is so."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, cluster.logs()
        time.sleep(0.05)


def all_done(cluster: Cluster, count: int) -> Callable[[], bool]:
    """Whether so many runs are done."""
    return lambda: list(cluster.states().values()) == ["done"] * count


def replies(folder: Path) -> int:
    """How many replies a run has."""
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])


def test_jobs_of_this_machine_do_what_a_sweep_does(cluster: Cluster) -> None:
    """Two jobs measure four runs, with beliefs shared inside each, and come to the figures of a plain sweep."""
    printed = cluster.sweep(SWEEP, 'cluster = "local"\ntime = 5')
    assert "plain_seed=1: job " in printed
    until(all_done(cluster, 4), cluster)
    line = [sys.executable, "-m", "maskbench", "sweep", "sweep.toml", "--quiet", "--out"]
    subprocess.run([*line, "plain"], cwd=cluster.place, check=True, capture_output=True)
    for name in cluster.states():
        figures = [
            orjson.loads((cluster.place / folder / name / "summary.json").read_bytes())["metrics"]
            for folder in ("out", "plain")
        ]
        assert figures[0] == figures[1]
    assert "Every run of this sweep is done" in cluster.sweep(SWEEP, 'cluster = "local"\ntime = 5')


def test_scripts_go_through_sbatch(cluster: Cluster) -> None:
    """An array job of SLURM has the file's partition, time and GPUs, and its runs are joined by `leaderboard`."""
    asked = 'partition = "gpu"\ntime = 90\ngpus-per-node = 1\nsetup = ["export FROM_SETUP=1"]'
    secret = {"OPENAI_API_KEY": "sk-very-secret-0123456789"}
    printed = cluster.sweep(SWEEP, asked, more=secret)
    assert "plain_seed=1: job 4711_0." in printed
    assert "plain_seed=2: job 4711_1." in printed
    until(all_done(cluster, 4), cluster)
    script = (cluster.state / "script-4711.sh").read_text()
    for words in ("--partition=gpu", "--time=90", "--gpus-per-node=1", "--array=0-1%2", "export FROM_SETUP=1"):
        assert words in script
    line = [sys.executable, "-m", "maskbench", "leaderboard", "out"]
    board = subprocess.run(line, cwd=cluster.place, check=True, capture_output=True, text=True).stdout
    assert "honest_seed=2" in board
    written = b"".join(path.read_bytes() for path in cluster.place.rglob("*") if path.is_file())
    assert b"sk-very-secret" not in written


def test_a_dry_run_shows_the_jobs_and_submits_none(cluster: Cluster) -> None:
    """Jobs, their shares of the limits and what SLURM is asked for are printed, and nothing is written or called."""
    shown = cluster.sweep(SWEEP, 'partition = "gpu"', "--dry-run")
    assert "2 jobs would be submitted as one array, with job_name = out, time = 60, partition = gpu." in shown
    assert shown.count("450,000 tokens") == 2
    planned = orjson.loads(cluster.sweep(SWEEP, 'partition = "gpu"', "--dry-run", "--json"))
    assert [job["runs"] for job in planned["jobs"]] == [
        ["plain_seed=1", "honest_seed=1"],
        ["plain_seed=2", "honest_seed=2"],
    ]
    assert planned["sbatch"] == {"job_name": "out", "time": 60, "partition": "gpu"}
    assert not (cluster.place / "out").exists()
    assert not (cluster.state / "calls.log").exists()


@pytest.mark.parametrize(
    ("slurm", "words"),
    [
        ('partion = "gpu"', "[slurm], partion: submitit knows no such parameter. Did you mean partition?"),
        ('time = "1:00:00"', "[slurm], time: '1:00:00' is no number of minutes. Write it as in time = 60."),
        ('cluster = "pbs"', "[slurm], cluster: 'pbs' is none. Give one of slurm, local."),
        ("nodes = 2", "[slurm], nodes: each job is one process on one machine. Leave it out."),
    ],
)
def test_what_slurm_cannot_be_asked_is_refused(tmp_path: Path, slurm: str, words: str) -> None:
    """A wrong key or value of [slurm] is named, with what to write, before anything is submitted."""
    (tmp_path / "sweep.toml").write_text(f"{SWEEP}\n[slurm]\n{slurm}\n")
    line = [sys.executable, "-m", "maskbench", "sweep", "sweep.toml", "--submitit"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.toml"]


def test_a_job_that_is_killed_goes_on_when_it_is_submitted_again(cluster: Cluster) -> None:
    """After kill -9 the same command submits the job again; nothing that was kept is asked again."""
    cluster.sweep(SLOW, "time = 5")
    folder = cluster.place / "out" / "slow"
    until(lambda: (folder / "run.json").exists() and replies(folder) > 5, cluster)
    os.kill(job := cluster.python(), signal.SIGSTOP)  # else it might be done before the next command looks
    assert "Under way already: slow." in cluster.sweep(SLOW, "time = 5")
    os.kill(job, signal.SIGKILL)
    time.sleep(0.5)
    before = replies(folder)
    cluster.sweep(SLOW, "time = 5")
    until(all_done(cluster, 1), cluster)
    sessions = RunFolder(folder).read().sessions
    assert [each.ended.how if each.ended else None for each in sessions] == [None, "finished"]
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        began = datetime.fromisoformat(sessions[-1].started).timestamp()
        (anew,) = db.execute("SELECT count(*) FROM replies WHERE at >= ?", (began,)).fetchone()
    assert anew == replies(folder) - before


def test_a_job_whose_time_is_over_is_put_back_and_goes_on(cluster: Cluster) -> None:
    """SLURM's signal stops the runs gently, submitit has the job queued again, and it goes on with what is kept."""
    cluster.sweep(SLOW, "time = 5")
    folder = cluster.place / "out" / "slow"
    until(lambda: (folder / "run.json").exists() and replies(folder) > 5, cluster)
    os.kill(cluster.python(), signal.SIGUSR2)
    until(lambda: any(line.startswith("scontrol requeue 4711") for line in cluster.calls()), cluster)
    until(all_done(cluster, 1), cluster)
    how = [each.ended.how if each.ended else None for each in RunFolder(folder).read().sessions]
    assert how == ["stopped", "finished"]


def test_a_job_that_fails_says_why(cluster: Cluster) -> None:
    """A run that cannot be measured makes its job fail, with the sentence in its log; other jobs go on."""
    text = (
        SWEEP.replace("seed = [1, 2]", "").replace("share-beliefs = true", "").replace('["none", "honest"]', '["none"]')
    )
    wrong = f'{text}\n[[run]]\nname = "wrong"\nmodel = "openai-api/nobody/none"\nscenarios = "starter"\nlimit = 6\n'
    cluster.sweep(f"{wrong}retries = 0\n", 'cluster = "local"', more={"NOBODY_BASE_URL": "http://127.0.0.1:9/v1"})
    until(lambda: cluster.states().get("wrong") == "failed" and cluster.states().get("plain") == "done", cluster)
    until(lambda: "wrong is failed" in cluster.logs(), cluster)
    assert "nobody" in cluster.logs()
