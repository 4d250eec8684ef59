"""A dry run of a sweep says which folders refuse their runs, by the sentences of the sweep, and writes no byte."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from flows import Ended, six_files, typed

FILE = """
[every]
model = "sim"
scenarios = "sandbox"
sample = {sample}
[product]
judge = [{judges}]
"""


def swept(file: Path, *more: object, sample: int = 6, judges: str = "'sim-judge', 'sim-judge/noise=0.1'") -> Ended:
    """`maskbench sweep` of a file with this sample and these judges."""
    file.write_text(FILE.format(sample=sample, judges=judges), "utf-8")
    return typed("sweep", file, "--out", file.parent / "out", *more)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a sweep that was done."""
    path = tmp_path_factory.mktemp("refused") / "s.toml"
    assert swept(path).code == 0
    return path


def hashed(folder: Path) -> dict[Path, str]:
    """A hash of every file below a folder."""
    return {path: sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_a_dry_run_names_what_will_be_refused(file: Path) -> None:
    """Changed runs have the sentence that the sweep itself has, new ones are told, and nothing is written."""
    before = hashed(file.parent / "out")
    asked = "'sim-judge', 'sim-judge/noise=0.1', 'sim-judge/noise=0.2'"
    plan = swept(file, "--dry-run", sample=8, judges=asked)
    assert hashed(file.parent / "out") == before
    refused = (
        "Nothing was asked, because not every run could be:",
        f"by-sim-judge: {file.parent / 'out' / 'by-sim-judge'} holds a run with --sample 6, and this one asks for 8. "
        "Give this one another --out. In a sweep: give the changed run another name.",
        "by-sim-judge-noise=0.1: It waits for by-sim-judge, which is not done.",
        "by-sim-judge-noise=0.2: It waits for by-sim-judge, which is not done.",
    )
    printed = " ".join(plan.err.split())
    assert " ".join(refused) in printed
    assert "New in this sweep: by-sim-judge-noise=0.2." in printed
    assert " ".join(refused) in " ".join(swept(file, sample=8, judges=asked).err.split())


def test_a_dry_run_with_a_refused_run_exits_as_the_sweep_would(file: Path) -> None:
    """A script that asks beforehand learns by the exit code that a run will be refused; nothing refused is 0."""
    assert swept(file, "--dry-run").code == 0
    assert (swept(file, "--dry-run", sample=8).code, swept(file, sample=8).code) == (2, 2)
    assert swept(file, "--dry-run", "--json", sample=8).code == 2


WRONG = """
{limit}
[every]
judge = "sim-judge"
scenarios = "{rows}"
[[run]]
name = "good"
model = "sim"
[[run]]
name = "bad"
{run}
"""


@pytest.mark.parametrize(
    ("run", "limit", "says"),
    [
        ('model = "openai-api/mock2/x"', "", "set MOCK2_BASE_URL"),
        ('model = "openai/gpt-4o"', "", "needs a key: set OPENAI_API_KEY"),
        ('model = "openai-api/mock/x"', "max-cost = 20", "--max-cost 20 cannot be kept: no price list has openai-api"),
        ('model = "sim"\nsample = 971', "", "--sample 971: there are 6 scenarios to draw from"),
        ('model = "sim"\nscenarios = "nowhere.csv"', "", "nowhere.csv"),
    ],
)
def test_what_is_wrong_with_one_run_is_said_before_any_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, limit: str, says: str
) -> None:
    """Nobody pays for the others first: the sweep and its dry run name the run, end with 2, and leave no folder."""
    monkeypatch.setenv("MOCK_BASE_URL", "http://127.0.0.1:9/v1")
    file = tmp_path / "s.toml"
    file.write_text(WRONG.format(run=run, limit=limit, rows=six_files(tmp_path / "rows", 1)), "utf-8")
    plan = typed("sweep", file, "--out", tmp_path / "out", "--dry-run")
    real = typed("sweep", file, "--out", tmp_path / "out")
    assert (plan.code, real.code) == (2, 2)
    assert says in " ".join(plan.err.split()), plan
    assert f"bad: {says}" in real.err or ("bad: " in real.err and says in real.err)
    assert "good: " not in real.err
    assert not (tmp_path / "out").exists()


def test_a_limit_below_the_least_is_said_in_the_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run and of a sweep: how far the limit reaches; a limit that reaches says nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    file = tmp_path / "s.toml"
    rows = six_files(tmp_path / "rows", 1)
    names = ("--judge", "openai/gpt-4o", "--scenarios", rows)
    for limit, is_told in (("0.01", True), ("500", False)):
        run = f'name="a"\nmodel="openai/gpt-4o"\njudge="openai/gpt-4o"\nscenarios="{rows}"\n'
        file.write_text(f"max-cost = {limit}\n[[run]]\n{run}", "utf-8")
        one = typed("run", "openai/gpt-4o", *names, "--max-cost", limit, "--dry-run")
        for ended in (one, typed("sweep", file, "--out", tmp_path / "out", "--dry-run")):
            assert ended.code == 0
            told = " ".join(ended.out.split())
            assert ("--max-cost $0.0100 is below the least of that: it stops after about" in told) is is_told


def test_a_dry_run_says_what_is_no_longer_there(file: Path) -> None:
    """A run that the file does not name any more is told by a dry run; one that is as it was is done."""
    plan = swept(file, "--dry-run", judges="'sim-judge'")
    assert (plan.code, "by-sim-judge done" in " ".join(plan.out.split())) == (0, True)
    assert "No longer in this sweep: by-sim-judge-noise=0.1." in plan.err
    assert orjson.loads(swept(file, "--dry-run", "--json", judges="'sim-judge'").out)["runs"] == {"by-sim-judge": None}


def test_a_verdict_set_by_another_way_is_refused(file: Path) -> None:
    """A run that is a verdict set in another one's folder is refused where that set was judged otherwise."""
    file.write_text(
        FILE.format(
            sample=6,
            judges="{ name = 'by-sim-judge', judge = 'sim-judge' }, "
            "{ name = 'by-sim-judge-noise=0.1', judge = 'sim-judge/noise=0.3' }",
        ).replace("judge =", "arm =", 1)
    )
    said = " ".join(typed("sweep", file, "--out", file.parent / "out", "--dry-run").err.split())
    assert "be: by-sim-judge-noise=0.1: " in said
    assert "has a verdict set by-sim-judge-noise=0.1 with --judge sim-judge/noise=0.1, and this asks for" in said
