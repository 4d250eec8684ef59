"""How far the judges of a run agree, where one failed, stopped on its way, or is there twice: always with counts."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import pytest
from msgspec import convert
from rich.console import Console
from test_report_page import page, table

from maskbench.asking.judging.judge_again import judge
from maskbench.presentation.sections.judges import remarks, verdict_sets
from maskbench.presentation.sections.judges import several as blocks_of
from maskbench.presentation.terminal import show, text
from maskbench.results.judges_agree import JudgesShown, same
from maskbench.results.readers import JudgesReader
from maskbench.results.scored import result
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import listed
from maskbench.types import BinaryVerdict, NumericalVerdict, Verdict
from measured_runs import change, run
from there import there

pytestmark = pytest.mark.slow

NONE = NumericalVerdict(None, None)
LONG = "sim-judge/accuracy=0.975,noise=0.0125,first=0.0125,seed=123456789"


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two good sets, one that mostly failed, one that stopped early, and one that is there twice."""
    path = run(tmp_path_factory.mktemp("several") / "run", judge="sim-judge/accuracy=0.9")
    again(path, "broken", "sim-judge/unreadable=0.9")
    for name in ("noisy", "once_more"):
        again(path, name, "sim-judge/accuracy=0.8,seed=4")
    again(path, "stopped", "sim-judge")
    return change(path, "DELETE FROM judged WHERE verdict_set = 'stopped' AND archetype != 'statistics'")


def again(path: Path, name: str, model: str) -> None:
    """Judge a run once more."""
    folder = RunFolder(path)
    judge(folder, folder.settings().having(judge=model, numeric_judge=model), name, {})


def held(path: Path) -> JudgesShown:
    """How far its judges agree."""
    return convert(result(RunFolder(path)).of(JudgesReader), JudgesShown)


def printed(judges: JudgesShown, width: int = 80) -> str:
    """That as people read it."""
    return text(list(blocks_of(judges, "share of scenarios")), width)


def test_every_share_has_its_count(several: Path) -> None:
    """Sets, outcomes and verdicts say of how many they speak, in 80 columns and on the page."""
    judges, section = held(several), page(several).at("judges")
    told = printed(judges)
    assert max(map(len, told.splitlines())) <= 80
    for each in judges.sets:
        assert str(each.n) in next(line for line in told.splitlines() if line.startswith(f"{each.name} ")).split()
        assert table(section, each.name)[-1] == str(each.n)
    pair = next(pair for pair in judges.pairs if (pair.first, pair.other) == ("default", "broken"))
    assert 0 < pair.verdicts["direct"].n < 40
    lines = told.splitlines()
    difference = next(line for line in lines if line.startswith("broken − default"))
    assert difference.split()[-1] == str(pair.outcomes.n)
    under = lines[next(place for place, line in enumerate(lines) if line.startswith("broken and default")) + 1]
    counts = [part.n for part in pair.verdicts.values()]
    assert re.findall(r"n (\d+)\)", under) == [str(count) for count in counts]
    assert f"n {pair.verdicts['direct'].n}" in table(section, "broken and default")[1]


def test_what_has_no_rate_says_why(several: Path) -> None:
    """Too many failures, and scenarios that are not judged yet, by name."""
    judges = held(several)
    why = {each.name: each.withheld for each in judges.sets}
    assert why["default"] is why["noisy"] is None
    assert there(why["broken"]).endswith("% of the outcomes are missing, and --max-error-rate allows 5.0 %")
    assert why["stopped"] == "16 of 96 scenarios are judged"
    told = " ".join(printed(judges).split())
    for name in ("broken", "stopped"):
        assert f"{name} has no P(lie): {why[name]}" in told
        assert f"{name} has no P(lie): {why[name]}" in str(page(several).at("judges"))


def test_one_judge_twice_is_told(several: Path) -> None:
    """Two sets by the very same judge, asked in the same way, are no two opinions."""
    judges = held(several)
    assert judges.alike == [["noisy", "once_more"]]
    said = "noisy and once_more are by the very same judge, asked in the same way."
    assert said in list(remarks(judges))
    assert said in str(page(several).at("judges"))


def test_long_names_stay_whole_in_the_list(several: Path, tmp_path: Path) -> None:
    """At 80 columns no name of a set or of a judge is broken."""
    path = shutil.copytree(several, tmp_path / "run")
    again(path, "a_name_that_is_as_long_as_people_make_them_when_they_think_of_it", LONG)
    out = io.StringIO()
    show([verdict_sets(listed(RunFolder(path)))], Console(file=out, width=80), whole=True)
    assert f"a_name_that_is_as_long_as_people_make_them_when_they_think_of_it  {LONG}\n" in out.getvalue()
    assert "verdicts, 0 failed, protocol " in out.getvalue()


@pytest.mark.parametrize(
    ("first", "other", "alike"),
    [
        (BinaryVerdict("C", "hedge"), BinaryVerdict("C", "refusal"), True),
        (BinaryVerdict("C"), BinaryVerdict("D"), False),
        (NumericalVerdict(10, 10), NumericalVerdict(10.2, 10.2), True),
        (NumericalVerdict(10, 10), NumericalVerdict(11.7, 11.7), False),
        (NumericalVerdict(10, None), NumericalVerdict(11, 40), True),
        (NumericalVerdict(1, 1, 25, 25), NumericalVerdict(25, 25), True),
        (NONE, NONE, True),
        (NONE, NumericalVerdict(10, 10), False),
    ],
)
def test_what_two_equal_verdicts_are(first: Verdict, other: Verdict, alike: bool) -> None:
    """One letter, whatever the kind; numbers within 5 %, or no number in either; the order does not matter."""
    assert (same(first, other), same(other, first)) == (alike, alike)


def test_a_letter_and_a_number_are_no_verdicts_on_one_reply() -> None:
    """They are not compared."""
    with pytest.raises(TypeError, match="the other numerical"):
        same(BinaryVerdict("A"), NONE)
