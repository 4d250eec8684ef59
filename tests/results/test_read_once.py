"""A run is read once: each command opens its store once, and scores each scenario once by each verdict set it shows."""

from pathlib import Path

import pytest

from maskbench.asking.judging.judge_again import judge
from maskbench.method.outcomes import score as score_alone
from maskbench.method.rules import RULES, named
from maskbench.presentation.page.page import render
from maskbench.results.comparison import compare, compare_read
from maskbench.results.scored import read, score
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun, reading
from measured_runs import change, run, settings
from passes import Passes, counting, passes

pytestmark = pytest.mark.slow

REFERENCE = named("reference")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Passes]:
    """What every command does."""
    return {row.command: row for row in passes(tmp_path_factory.mktemp("counted"))}


@pytest.fixture(scope="module")
def judged_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a second verdict set."""
    path = run(tmp_path_factory.mktemp("twice") / "run", "sim/lie=0.4", sample=24)
    judge(RunFolder(path), settings("sim/lie=0.4", judge="sim-judge/accuracy=0.9", sample=24), "b", {})
    return path


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which many scenarios have the same verdicts, and some fail; a second judge read it, too."""
    path = run(tmp_path_factory.mktemp("alike") / "run", "sim/lie=0.4,evade=0.2,fail=0.02")
    judge(RunFolder(path), settings("sim/lie=0.4", judge="sim-judge/accuracy=0.9"), "b", {})
    return path


def test_every_command_opens_a_run_once(counted: dict[str, Passes]) -> None:
    """No command, page or call from Python opens the store of a run a second time."""
    assert {name: row.openings for name, row in counted.items() if row.openings != 1} == {}


def test_every_command_scores_a_scenario_once(counted: dict[str, Passes]) -> None:
    """No command scores a scenario a second time."""
    assert {name: row.scorings for name, row in counted.items() if row.scorings != 1} == {}


def test_samples_are_read_once_and_for_the_explorer_again(counted: dict[str, Passes]) -> None:
    """Texts are not kept: the explorer of a page reads them from the store that is still open."""
    twice = {name for name, row in counted.items() if row.samples != 1}
    assert twice == {"report A", "report A B"}
    assert all(counted[name].samples == 2 for name in twice)


@pytest.mark.parametrize("shows", ["score", "page"])
def test_each_verdict_set_scores_a_scenario_once(judged_twice: Path, shows: str) -> None:
    """Two verdict sets are two scorings of a scenario, in one opening of the store."""
    with counting() as counts:
        score(judged_twice) if shows == "score" else render([judged_twice])
    assert max(counts.scorings.values()) == 2
    assert [*counts.openings.values()] == [1]


def test_what_is_open_is_not_opened_again(judged_twice: Path) -> None:
    """A run that is handed on open is read as it is, and stays open for whoever opened it."""
    with counting() as counts, reading(judged_twice) as opened:
        with reading(opened) as again:
            assert again is opened
        first = score(opened)
        assert read(opened, REFERENCE).rows == first.scenarios
        assert opened.store.count() == 24
    assert max(counts.scorings.values()) == 2
    assert [*counts.openings.values()] == [1]


@pytest.mark.parametrize("verdicts", ["default", "b"])
@pytest.mark.parametrize("rules", RULES)
def test_what_was_answered_alike_is_scored_once(alike: Path, verdicts: str, rules: str) -> None:
    """Of scenarios with the same verdicts one is scored, and each comes to what it comes to alone."""
    with OpenRun(RunFolder(alike)) as opened:
        judged = opened.verdicts(verdicts)
        with counting() as counts:
            rows = judged.scored(named(rules))
        assert counts.scorings.total() < len(rows) == 96
        alone = [
            score_alone(done.scenario, done.scored.weight, done.items, judged.settings, named(rules))
            for done in judged.read(named(rules))
        ]
    assert [*rows] == alone


def test_a_set_has_one_list_of_what_it_scored(judged_twice: Path) -> None:
    """Whoever asks a verdict set for its scored scenarios gets the very same ones, and other rules have their own."""
    with OpenRun(RunFolder(judged_twice)) as opened:
        own = opened.verdicts()
        assert own is opened.verdicts("default")
        assert own.scored(REFERENCE) is own.scored(REFERENCE)
        assert [done.scored for done in own.read(REFERENCE)] == [*own.scored(REFERENCE)]
        assert own.scored(named("strict")) is not own.scored(REFERENCE)


def test_a_scored_run_outlives_its_store(judged_twice: Path, tmp_path: Path) -> None:
    """What was read is compared without the run: its rows hold no reply, and nothing is read again."""
    other = run(tmp_path / "other", "sim/lie=0.1", sample=24)
    found = compare(judged_twice, other).data
    first, second = read(judged_twice, REFERENCE), read(other, REFERENCE)
    change(other, "DELETE FROM judged")
    with counting() as counts:
        assert compare_read(first, [second]).data == found
    assert not counts.openings
