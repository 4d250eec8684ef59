"""A sweep in parts: what hangs together stays together, limits are divided, and a job array measures all of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from flows import typed, until
from maskbench.cli.sweep_file import read_file
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder, runs_below
from maskbench.settings import Budget
from maskbench.sweeps.record import read_sweep
from maskbench.sweeps.sweep_plan import Part

FILE = """
{top}
[every]
model = "sim/lie=0.4"
judge = "sim-judge"
limit = 6
[product]
{product}
"""
SEEDS = "seed = [1, 2, 3]"
PAGE = Path(__file__).parents[2] / "docs" / "project" / "sbatch.md"
SCRIPT = re.compile(r"Save this as `([\w-]+\.sh)`:\n\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cut(place: Path, count: int, product: str = SEEDS, top: str = "") -> list[list[str]]:
    """The names of the runs of each of so many parts of a sweep with this product."""
    file = place / "sweep.toml"
    file.write_text(FILE.format(top=top, product=product), "utf-8")
    wanted, out = read_file(file), place / "out"
    parts = [Part(number, count) for number in range(1, count + 1)]
    return [list(part.runs(wanted.runs, out)) for part in parts]


def test_runs_are_cut_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Every run is in one part, neighbours stay together, and the first parts have one run more."""
    assert cut(tmp_path, 2) == [["seed=1", "seed=2"], ["seed=3"]]
    assert cut(tmp_path, 3) == [["seed=1"], ["seed=2"], ["seed=3"]]


def test_runs_that_differ_in_their_judge_are_in_one_part(tmp_path: Path) -> None:
    """Their replies are one run's, and two machines cannot write into one run: there is nothing to cut."""
    judges = 'judge = ["sim-judge", "sim-judge/noise=0.1"]'
    assert cut(tmp_path, 1, judges) == [["by-sim-judge", "by-sim-judge-noise=0.1"]]
    with pytest.raises(UsageError, match=r"--only 2/2: these runs make 1 parts at most\."):
        cut(tmp_path, 2, judges)


def test_limits_are_divided_so_that_all_parts_keep_to_them() -> None:
    """Money, tokens and paces are divided among all parts; what is too little for that is refused."""
    share = Part(1, 3).share(Budget(max_cost=9.0, max_tokens_total=100, rpm=7))
    assert (share.max_cost, share.max_tokens_total, share.rpm, share.tpm) == (3.0, 33, 2, None)
    with pytest.raises(UsageError, match=r"--rpm 2 cannot be divided among 3 parts\. Give more\."):
        Part(1, 3).share(Budget(rpm=2))


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "a/b", "-1/8", "1/8/2"])
def test_what_is_no_part_is_refused(text: str) -> None:
    """A part is a number from one to how many there are."""
    with pytest.raises(UsageError, match=r"give a part and how many there are, as in 3/8"):
        Part.read(text)


def test_parts_measure_into_the_folder_of_the_sweep(tmp_path: Path) -> None:
    """Parts leave the runs that a plain sweep goes on with, and asks nothing of again; those not started are named."""
    cut(tmp_path, 3)
    line = ("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out")
    assert typed(*line, "--only", "1/3").code == 0
    status = typed(*line, "--status").out
    assert "Part 2/3 was never started: seed=2." in status
    assert "Part 3/3 was never started: seed=3." in status
    stands = orjson.loads(typed(*line, "--status", "--json").out)
    assert stands["runs"]["seed=1"]["state"] == "done"
    assert stands["runs"]["seed=2"] is None
    for part in ("2/3", "3/3"):
        assert typed(*line, "--only", part).code == 0
    assert "never started" not in typed(*line, "--status").out
    assert read_sweep(tmp_path / "out") is None  # every part has a record of its own
    folders = sorted(runs_below(tmp_path / "out"))
    sessions = [RunFolder(path).sessions() for path in folders]
    assert [path.name for path in folders] == ["seed=1", "seed=2", "seed=3"]
    assert typed(*line, "--only", "2/3").code == 0
    assert typed(*line).code == 0
    assert [RunFolder(path).sessions() for path in folders] == sessions


def test_a_part_keeps_to_its_share(tmp_path: Path) -> None:
    """A part stops at its own share of the limit, and the line that goes on has the limit of all of them."""
    cut(tmp_path, 3, top="max-tokens-total = 9000")
    line = ("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out", "--only", "1/3")
    for _ in range(2):
        ended = typed(*line)
        assert ended.code == 4
        assert "3,000 tokens is reached" in ended.err
        assert "--only 1/3 --max-tokens-total 18000" in ended.err


def started(script: Path, part: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """One task of a job array: the script in its folder, with the number that SLURM sets."""
    return subprocess.Popen(
        ["bash", script.name],
        cwd=script.parent,
        env={**environ, "SLURM_ARRAY_TASK_ID": str(part)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize(("name", "script"), SCRIPT.findall(PAGE.read_text("utf-8")))
def test_the_scripts_of_the_page_measure_a_sweep(tmp_path: Path, name: str, script: str) -> None:
    """The page's array leaves every run done, and its runs are those of one process; a killed task goes on."""
    (tmp_path / name).write_text(script, "utf-8")
    cut(tmp_path, 8, product=f"seed = {list(range(1, 9))}")
    (tmp_path / "node").mkdir()
    environ = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "USER": "anna",
        "TMPDIR": str(tmp_path / "node"),
    }
    killed = started(tmp_path / name, 1, environ)
    until(lambda: bool(list(tmp_path.rglob("seed=1/run.sqlite"))))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    for several in ((1, 2, 3, 4), (5, 6, 7)):
        tasks = [started(tmp_path / name, part, environ) for part in several]
        assert [task.wait() for task in tasks] == [0] * len(several)
    out = tmp_path / "sweeps" / "sweep"
    status = typed("sweep", tmp_path / "sweep.toml", "--out", out, "--status").out
    assert "Part 8/8 was never started: seed=8." in status
    assert started(tmp_path / name, 8, environ).wait() == 0
    stands = orjson.loads(typed("sweep", tmp_path / "sweep.toml", "--out", out, "--status", "--json").out)
    assert {run["state"] for run in stands["runs"].values()} == {"done"}
    assert stands["never_started"] == {}
    assert len(list(runs_below(out))) == 8
    assert list((tmp_path / "node").iterdir()) == []


def test_a_script_that_is_told_to_stop_copies_what_it_has(tmp_path: Path) -> None:
    """SLURM's signal ends the run gently, the node's disk is copied back and cleared, and the next task goes on."""
    scripts = dict(SCRIPT.findall(PAGE.read_text("utf-8")))
    script = tmp_path / "array-here.sh"
    script.write_text(scripts[script.name], "utf-8")
    cut(tmp_path, 8, product=f"seed = {list(range(1, 9))}\nstatements = [60]")
    (tmp_path / "node").mkdir()
    environ = {**os.environ, "USER": "anna", "TMPDIR": str(tmp_path / "node")}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    task = started(script, 1, environ)
    until(lambda: bool(list((tmp_path / "node").rglob("run.sqlite"))))
    os.kill(task.pid, signal.SIGTERM)
    assert task.wait() == 130
    (kept,) = runs_below(tmp_path / "sweeps")
    assert list((tmp_path / "node").iterdir()) == []
    before = RunFolder(kept).sessions()
    assert started(script, 1, environ).wait() == 0
    assert (before, RunFolder(kept).sessions()) == (1, 2)
