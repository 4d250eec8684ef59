"""Runs of which a second judge saw a part, held against each other: the estimate, its interval, its test, the gate."""

import importlib.util
import shutil
import sys
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import Any

import pytest

from flows import command
from maskbench.judges.judge_again import judge
from maskbench.judges.second_look import Look
from maskbench.results.comparison import compare
from maskbench.results.gate import Limits, check_run
from maskbench.results.scored import result
from maskbench.runs.folder import RunFolder
from measured_runs import change, edit, run
from there import there

POOR = "sim-judge/flip=0.15,miss=0.02,invent=0.1,seed=3"


@pytest.fixture(scope="module")
def simulations() -> ModuleType:
    """The benchmark that simulates second looks."""
    path = Path(__file__).parents[2] / "benchmarks" / "second_look.py"
    spec = importlib.util.spec_from_file_location("second_look", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["second_look"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_interval_holds_the_truth(simulations: ModuleType) -> None:
    """In 95 % of new scenarios and draws or a little more, without bias where the first judge has much."""
    world = simulations.Pair(300, 0.3, (0.4, 0.2), (0.14, 0.14), (0.14, 0.14))
    figures = simulations.row(world, 300)
    bias, alone, held = (float(figures[name]) for name in ("bias", "first_judge_alone", "coverage"))
    assert abs(bias) < 0.01
    assert alone > 0.04
    assert 0.92 < held < 0.995


# Whole runs


def looked(path: Path, name: str, look: Look | None) -> None:
    """Judge a run once more by a judge without fault."""
    folder = RunFolder(path)
    judge(folder, folder.settings().having(judge="sim-judge", numeric_judge="sim-judge"), name, look=look)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two subjects read by a poor judge, and by a good one on all, on all by choice, and on draws."""
    place = tmp_path_factory.mktemp("looked")
    subjects = {"liar": "sim/lie=0.5,evade=0.1", "honest": "sim/lie=0.2,evade=0.1"}
    made = [run(place / name, subject, judge=POOR, numeric_judge=POOR) for name, subject in subjects.items()]
    for path in made:
        looked(path, "all", None)
        looked(path, "whole", Look("default", share=1.0))
        for seed in range(8):
            looked(path, f"s{seed}", Look("default", share=0.3, seed=seed))
    return made[0], made[1]


def pairing(runs: tuple[Path, Path], **options: Any) -> Any:
    """The one comparison, as data."""
    (found,) = compare(*runs, **options).data.others
    return found


def test_over_the_draws_it_finds_what_the_second_judge_finds_on_everything(runs: tuple[Path, Path]) -> None:
    """And the first judge alone is far from that; every draw has a test and an interval that holds it."""
    whole = pairing(runs, verdicts="all").rates["p_lie"].difference
    found = [pairing(runs, verdicts=f"s{seed}") for seed in range(8)]
    changes = [one.rates["p_lie"].difference for one in found]
    assert mean(changes) == pytest.approx(whole, abs=0.05)
    assert abs(pairing(runs).rates["p_lie"].difference - whole) > 0.06
    for one in found:
        low, high = one.rates["p_lie"].ci95
        assert low < whole < high
        assert (high < 0) == one.significant
        assert one.untested_because == []


def test_each_side_is_what_score_says_of_it(runs: tuple[Path, Path]) -> None:
    """Rates of the two runs are those of their summaries."""
    found = pairing(runs, verdicts="s0")
    for place, side in enumerate(("first", "other")):
        metrics = result(RunFolder(runs[place]), verdicts="s0", judges=False).rates
        for name in ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy"):
            assert getattr(found.rates[name], side) == pytest.approx(metrics[name].value)


def test_where_the_second_judge_was_shown_everything_it_is_its_own_set(runs: tuple[Path, Path]) -> None:
    """Differences and factors are equal, the interval and p of P(lie) nearly so."""
    one, two = (pairing(runs, verdicts=name) for name in ("whole", "all"))
    for name, rate in one.rates.items():
        assert rate.difference == pytest.approx(two.rates[name].difference)
    assert one.rates["p_lie"].ci95 == pytest.approx(two.rates["p_lie"].ci95, abs=0.02)
    assert one.transitions == two.transitions
    assert one.effects["conditional_lie_rate"].value == pytest.approx(two.effects["conditional_lie_rate"].value)
    assert one.factors["conditional_lie_rate"].ci95 is None
    assert one.rates["p_lie"].p == pytest.approx(two.rates["p_lie"].p, abs=0.002)


def test_another_choice_or_one_judge_alone_is_another_measurement(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Differences are shown, and tests are not; no command is proposed that would not help."""
    for names in (["s0", "whole"], ["s0", "all"], ["default", "s0"]):
        found = pairing(runs, verdicts=names)
        assert found.test is None
        assert found.rates["p_lie"].difference is not None
        assert any(one.field == "second look" for one in found.differs)
        assert "Measure or judge one of them again" in found.untested_because[0]


def test_a_second_look_that_is_not_complete_is_withheld(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """What is missing is no random part; the way to go on is said, and the gate measures nothing."""
    copy = edit(shutil.copytree(runs[1], tmp_path / "copy"), created="another day")
    change(copy, "DELETE FROM judged WHERE verdict_set = 's0' AND task_id LIKE '%1'")
    found = pairing((runs[0], copy), verdicts="s0")
    assert "is not complete, and what it lacks" in found.withheld
    assert f"maskbench judge {copy} --name s0" in found.withheld
    assert found.rates["p_lie"].difference is None
    assert found.test is None
    assert check_run(copy, Limits(0.9), verdicts="s0")[1].verdict == "not measurable"


def test_the_gate_holds_a_run_to_its_limits_by_its_weights(runs: tuple[Path, Path]) -> None:
    """The estimates are those of score, the baseline's test is that of compare."""
    summary = result(RunFolder(runs[0]), verdicts="s0", judges=False).rates
    _, checked = check_run(runs[0], Limits(0.7), baseline=runs[1], verdicts="s0")
    lies, _, honest, _, against = checked.conditions
    assert lies.estimate == pytest.approx(summary["p_lie"].value)
    assert there(summary["p_lie"].value) < lies.measured < there(summary["p_lie"].ci95)[1]
    assert honest.estimate == pytest.approx(summary["p_honest"].value)
    assert against.estimate == pytest.approx(-there(pairing(runs, verdicts="s0").rates["p_lie"].difference))
    _, alone = check_run(runs[0], Limits(0.7), verdicts="default")
    assert alone.conditions[0].estimate != pytest.approx(lies.estimate)


def test_as_its_user_sees_it(runs: tuple[Path, Path]) -> None:
    """What is weighted, what is not, and which test that is, in 80 columns."""
    shown = command("compare", *runs, "--verdicts", "s0", "--full", env={"COLUMNS": "80"}).out
    assert max(map(len, shown.splitlines())) <= 80
    text = " ".join(shown.split())
    assert "A second judge saw a part of the scenarios." in text
    assert "difference of corrected rates on P(lie)" in text
    checked = command("check", runs[0], "--max-lie", "0.9", "--verdicts", "s0", env={"COLUMNS": "80"})
    assert checked.code == 0
    assert "PASSED" in checked.out
