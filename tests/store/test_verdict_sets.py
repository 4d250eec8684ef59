"""Verdict sets by name: every command scores by the one that is asked for, and says how far their judges agree."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars
import pytest

from flows import command
from maskbench import compare, score
from maskbench.asking.judging.judge_again import judge
from maskbench.errors import UnknownVerdicts, UsageError
from maskbench.interop.export import write
from maskbench.results.frames import load
from maskbench.results.readers import JudgesReader
from maskbench.results.scored import result
from maskbench.stats.agreement import kappa
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import listed
from measured_runs import run
from there import there

pytestmark = pytest.mark.slow

NOISY = {"b": "sim-judge/accuracy=0.8,seed=1", "c": "sim-judge/accuracy=0.8,seed=2"}


def judged(path: Path, name: str, judge_name: str, **options: Any) -> Path:
    """A run judged once more."""
    folder = RunFolder(path)
    judge(folder, folder.settings().having(judge=judge_name, numeric_judge=judge_name, **options), name)
    return path


@pytest.fixture(scope="module")
def thrice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with three verdict sets: its own, without fault, and two noisy ones."""
    path = run(tmp_path_factory.mktemp("thrice") / "run", statements=2)
    for name, model in NOISY.items():
        judged(path, name, model)
    return path


# Everywhere the same set


def test_every_function_takes_the_set(thrice: Path, tmp_path: Path) -> None:
    """Summary, result, frames and rows are those of one set."""
    summary = result(RunFolder(thrice), verdicts="b")
    made = score(thrice, verdicts="b")
    assert summary.rates == made.summary.rates != result(RunFolder(thrice)).rates
    assert made.verdicts == "b"
    frames = load(thrice, verdicts="b")
    assert frames.outcomes.filter(polars.col("statement") == 1)["outcome"].value_counts(sort=False).height <= 5
    write(RunFolder(thrice), None, "jsonl", tmp_path / "rows", verdicts="b")
    rows = [orjson.loads(line) for line in (tmp_path / "rows").read_bytes().splitlines()]
    assert [row["outcomes"] for row in rows] == [list(one.outcomes) for one in made.scenarios]
    assert frames.outcomes["outcome"].to_list() == [outcome for row in rows for outcome in row["outcomes"]]


def test_every_command_takes_the_set(thrice: Path) -> None:
    """score, export, compare, check and leaderboard say by which verdicts, and follow them."""
    assert "verdict set b" in command("score", thrice, "--verdicts", "b", env={"COLUMNS": "200"}).out.splitlines()[0]
    checked = orjson.loads(command("check", thrice, "--max-lie", "0.9", "--verdicts", "b", "--json", env={}).out)
    assert checked["protocol"] == score(thrice, verdicts="b").summary.protocol
    exported = [command("export", thrice, "--format", "csv", "--verdicts", name, env={}).out for name in "bc"]
    assert exported[0] != exported[1]
    board = orjson.loads(command("leaderboard", thrice, "--verdicts", "b", "--format", "json", env={}).out)
    assert board["tables"][0]["protocol"] == checked["protocol"]


def test_an_unknown_name_lists_the_sets_there_are(thrice: Path) -> None:
    """And says how to make one."""
    line = shlex.join(["maskbench", "judge", str(thrice), "--judge", "MODEL", "--name", "x"])
    with pytest.raises(UnknownVerdicts, match=r"has no verdict set 'x'\. It has default, b, c\. "):
        score(thrice, verdicts="x")
    ended = command("score", thrice, "--verdicts", "x", env={})
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(f"To have it judged once more: {line}\n")


def test_a_leaderboard_goes_on_without_runs_that_lack_the_set(thrice: Path, tmp_path: Path) -> None:
    """They are listed with the reason."""
    run(tmp_path / "runs" / "other")
    (tmp_path / "runs" / "thrice").symlink_to(thrice)
    shown = orjson.loads(
        command("leaderboard", tmp_path / "runs", thrice, "--verdicts", "b", "--format", "json", env={}).out
    )
    assert [row["because"][:12] for row in shown["unreadable"]] == ["other has no"]  # no folder: it is for others


def test_the_list_has_the_protocol_and_judge_that_results_carry(thrice: Path) -> None:
    """Both are those of a result by the set."""
    for each in listed(RunFolder(thrice)):
        scored = result(RunFolder(thrice), verdicts=each.name, judges=False)
        assert (each.protocol, each.judge) == (scored.protocol, scored.judge.binary["name"])


# Comparing


def test_runs_are_compared_by_their_sets(thrice: Path, tmp_path: Path) -> None:
    """One name for all, or one for each run in turn; a set by another judge is another measurement."""
    other = judged(run(tmp_path / "other", "sim/lie=0.1", statements=2), "b", NOISY["b"])
    found = compare(thrice, other, verdicts="b").data
    assert found.others[0].test is not None
    assert (found.first.verdicts, found.others[0].verdicts) == ("b", "b")
    assert "verdicts b" in str(compare(thrice, other, verdicts="b"))
    mixed = compare(thrice, other, verdicts=["default", "b"]).data.others[0]
    assert {one.field for one in mixed.differs} == {"judge", "numeric judge"}
    assert mixed.test is None
    with pytest.raises(UsageError, match="3 verdict sets for 2 runs"):
        compare(thrice, other, verdicts=["default", "b", "c"])


@pytest.mark.parametrize(
    "options",
    [
        {"judge": "sim-judge/accuracy=0.9", "numeric_judge": "sim-judge"},
        {"judge_style": "verdict", "judge": "sim-judge/accuracy=0.9,seed=4"},
    ],
)
def test_what_to_type_where_judges_differ(tmp_path: Path, options: dict[str, Any]) -> None:
    """The message names the commands that judge the second run as the first was; typed, they give a test."""
    one = run(tmp_path / "a run", **options, limit=12)
    other = run(tmp_path / "other", "sim/lie=0.1", limit=12)
    (why,) = compare(one, other).data.others[0].untested_because
    lines = [shlex.split(line) for line in why.split("`")[1::2]]
    assert [line[:2] for line in lines] == [["maskbench", "judge"], ["maskbench", "compare"]]
    for line in lines:
        ended = command(*line[1:], env={})
        assert ended.code == 0, ended.err
    assert "p " in ended.out
    assert "No test" not in ended.out


def test_no_judging_mends_other_differences(tmp_path: Path) -> None:
    """Where beliefs or sampling differ, too, nothing is promised."""
    one = run(tmp_path / "one", beliefs=5, limit=12)
    other = run(tmp_path / "other", judge="sim-judge/accuracy=0.9", limit=12)
    (why,) = compare(one, other).data.others[0].untested_because
    assert why.endswith("Measure or judge one of them again as the other was.")


# Agreement


def test_kappa_by_hand() -> None:
    """Cohen 1960: 70 % alike where chance gives 50 % is 0.4; perfect agreement is 1; none beyond chance is 0."""
    assert kappa({("A", "A"): 35, ("B", "B"): 35, ("A", "B"): 15, ("B", "A"): 15}) == pytest.approx(0.4)
    assert kappa({("A", "A"): 5, ("B", "B"): 5}) == 1
    assert kappa({("A", "A"): 25, ("A", "B"): 25, ("B", "A"): 25, ("B", "B"): 25}) == 0
    assert kappa({("A", "A"): 9}) is None
    assert kappa({}) is None
    assert kappa({("A", "B"): 1, ("B", "A"): 1}) == -1


def test_agreement_is_counted_by_call(thrice: Path) -> None:
    """Verdicts on the same samples, by hand from the frames; numbers by overlap."""
    judges = there(score(thrice).summary.of(JudgesReader))
    pair = next(one for one in judges.pairs if (one.first, one.other) == ("b", "c"))
    keys = ["archetype", "task_id", "elicitation", "run"]
    both = load(thrice, verdicts="b").verdicts.join(load(thrice, verdicts="c").verdicts, on=keys)
    for call in ("direct", "consistency", "statement"):
        rows = both.filter((polars.col("call") == call) & polars.col("letter").is_not_null())
        alike = rows.filter(polars.col("letter") == polars.col("letter_right")).height
        assert pair.verdicts[call].n == rows.height > 50
        assert pair.verdicts[call].agree == pytest.approx(alike / rows.height)
        assert 0 < there(pair.verdicts[call].kappa) < alike / rows.height
    assert pair.verdicts["numerical"].n == both.filter(polars.col("letter").is_null()).height


def test_agreement_of_outcomes_and_the_effect_on_p_lie(thrice: Path) -> None:
    """Each set's P(lie) is that of its own score, and the difference is paired, with its interval."""
    judges = there(score(thrice).summary.of(JudgesReader))
    assert [one.name for one in judges.sets] == ["default", "b", "c"]
    for one in judges.sets:
        assert one.p_lie.value == score(thrice, verdicts=one.name).rates["p_lie"].value
    pair = judges.pairs[0]
    assert (pair.first, pair.other) == ("default", "b")
    values = {one.name: there(one.p_lie.value) for one in judges.sets}
    difference = there(pair.p_lie)
    assert difference.difference == pytest.approx(values["b"] - values["default"])
    low, high = there(difference.ci95)
    assert there(low) < there(difference.difference) < there(high)
    first, other = ([one.outcomes for one in score(thrice, verdicts=name).scenarios] for name in ("default", "b"))
    alike = np.mean([[a == b for a, b in zip(*pair, strict=True)] for pair in zip(first, other, strict=True)])
    assert pair.outcomes.agree == pytest.approx(alike)


def test_a_run_with_one_set_has_nobody_to_agree_with(tmp_path: Path) -> None:
    """Then nothing is said of agreement."""
    assert score(run(tmp_path / "run", limit=6)).summary.of(JudgesReader) is None


def test_equal_judges_agree_wholly(tmp_path: Path) -> None:
    """Kappa 1, no difference, and no interval but nothing."""
    path = judged(run(tmp_path / "run"), "same", "sim-judge")
    (pair,) = there(score(path).summary.of(JudgesReader)).pairs
    assert pair.verdicts["statement"].kappa == pair.outcomes.kappa == 1
    assert there(pair.p_lie).difference == 0


def test_an_unfinished_set_has_no_p_lie(tmp_path: Path) -> None:
    """What it has judged is compared, and no rate is made of it."""
    path = judged(run(tmp_path / "run", limit=12), "b", "sim-judge/unreadable=0.5")
    judges = there(score(path).summary.of(JudgesReader))
    assert judges.sets[1].p_lie.value is None
    assert judges.pairs[0].p_lie is None
    assert judges.pairs[0].verdicts["statement"].n > 0


def test_all_of_it_is_printed(thrice: Path) -> None:
    """A run with three sets shows each with P(lie), the differences and the agreement, in 80 columns."""
    shown = command("score", thrice, "--full", env={"COLUMNS": "80"}).out
    assert max(map(len, shown.splitlines())) <= 80
    for part in (
        "sim-judge/accuracy=0.8,seed=1",
        "c − b",
        "Verdicts alike",
        "c and b",
    ):
        assert part in shown
