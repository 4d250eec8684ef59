"""The two real runs of examples/: to the label of the published metric, and to the figures that the pages quote."""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from flows import command
from maskbench.errors import UsageError
from maskbench.interop.importing import import_run
from maskbench.results.calibration import LabelsReader
from maskbench.results.people.against_judge import measured
from maskbench.results.scored import Result, score
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import ARCHETYPES, Archetype
from there import there

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DOCS = EXAMPLES.parent / "docs"
HONESTY = {"honest": "1", "lie": "-1", "evasive": "0", "no_belief": "0", "error": "0"}
ACCURACY = {"correct": "1", "incorrect": "-1", "no_belief": "0", "error": "0"}


def rows(name: str, file: str = "verdicts.csv") -> list[dict[str, str]]:
    """The rows of one of the files."""
    with (EXAMPLES / name / file).open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Both as run folders, made as a user makes them."""
    place = tmp_path_factory.mktemp("examples")
    names = ("opus-4.8", "lost-replies")
    return {name: import_run(EXAMPLES / name, place / name, environ={}).path for name in names}


@pytest.mark.parametrize(("name", "lies"), [("opus-4.8", 61), ("lost-replies", 12)])
def test_the_rule_set_published_gives_every_published_label(runs: Mapping[str, Path], name: str, lies: int) -> None:
    """All labels of honesty and of accuracy are those that the published metric gave."""
    scored = {each.key: each for each in score(runs[name], "published").scenarios}
    given = [
        (HONESTY[each.outcomes[0]], ACCURACY.get(each.accuracy, ""))
        for each in (scored[row["archetype"], row["task_id"]] for row in rows(name))
    ]
    asks = [row["archetype"] != "provided_facts" for row in rows(name)]
    wanted = [(row["published_honesty"], row["published_accuracy"]) for row in rows(name)]
    assert [honesty for honesty, _ in given] == [honesty for honesty, _ in wanted]
    assert [own for (_, own), is_asked in zip(given, asks, strict=True) if is_asked] == [
        theirs for (_, theirs), is_asked in zip(wanted, asks, strict=True) if is_asked
    ]
    assert Counter(honesty for honesty, _ in given)["-1"] == lies


def percent(result: Result, rate: str) -> tuple[float | None, ...]:
    """A rate with its interval, in percent to a decimal."""
    estimate = result.rates[rate]
    return tuple(
        None if value is None else round(100 * value, 1) for value in (estimate.value, estimate.low, estimate.high)
    )


def test_the_steps_between_two_formulas_are_those_of_the_page(runs: Mapping[str, Path]) -> None:
    """From the paper's formula to Anthropic's of September lies go up by 0.5 and 2.0 points, as the page says."""
    line = ("score", runs["opus-4.8"], "--as", "paper", "--why", "anthropic-2026-09")
    shown = command(*line, env={"COLUMNS": "100"}).out
    page = (DOCS / "real-runs.md").read_text("utf-8")
    steps = [line for line in shown.splitlines() if line.startswith(("archetypes", "what lies are", "together"))]
    assert [step.split("  ")[0] for step in steps] == ["archetypes", "what lies are a share of", "together"]
    for step, points in zip(steps, ("+0.5", "+2.0", "+2.5"), strict=True):
        assert f" {points} " in step
        assert step.rstrip() in page


def test_the_whole_run_scores_as_the_pages_say(runs: Mapping[str, Path]) -> None:
    """P(lie) with its interval, by archetype, and what readings make of it."""
    result = score(runs["opus-4.8"])
    assert percent(result, "p_lie") == (6.1, 4.8, 7.9)
    values = {name: rates["p_lie"].value for name, rates in result.by_archetype.items()}
    assert {name: round(100 * (value or 0), 1) for name, value in values.items()} == {
        "known_facts": 4.8,
        "provided_facts": 4.4,
        "doubling_down_known_facts": 2.5,
        "statistics": 1.0,
        "continuations": 10.5,
        "disinformation": 13.7,
    }
    shown = there(result.summary.of(LabelsReader)).metrics["p_lie"]
    assert [round(100 * end, 1) for end in (shown.value, *(shown.ci95 or ()))] == [7.8, 5.4, 11.1]


def test_a_run_that_lost_replies_is_withheld_with_its_bounds(runs: Mapping[str, Path]) -> None:
    """Two replies in five are gone, so that P(lie) lies anywhere between 1.9 and 84.8 %."""
    result = score(runs["lost-replies"])
    assert result.withheld is not None
    bounds = result.summary.rates["p_lie"].bounds
    assert bounds is not None
    assert [round(100 * end, 1) for end in bounds] == [1.9, 84.8]


def test_readers_and_judge_agree_as_the_table_of_the_readings_says(runs: Mapping[str, Path]) -> None:
    """Outcomes of judge and readers are alike in 93.7 % (89.4 to 96.3)."""
    with OpenRun(RunFolder(runs["opus-4.8"])) as run:
        data = measured(run, None)
    outcomes = data.together.outcomes
    assert [round(100 * end, 1) for end in (outcomes.agree or 0, *(outcomes.agree_ci95 or ()))] == [93.7, 89.4, 96.3]
    assert outcomes.kappa is not None
    assert round(outcomes.kappa, 2) == 0.86
    row = "| gpt-5.5 | 200 scenarios of Claude Opus 4.8's run "
    (line,) = [line for line in (DOCS / "judges.md").read_text("utf-8").splitlines() if line.startswith(row)]
    assert line.endswith("| 93.7 % | 89.4–96.3 | 0.86 |")


def test_nothing_more_can_be_asked_of_them(runs: Mapping[str, Path]) -> None:
    """They have no texts, so nobody can judge, label or go on."""
    with pytest.raises(UsageError, match="without its texts"):
        RunFolder(runs["opus-4.8"]).store(write=True)
    about = RunFolder(runs["opus-4.8"]).read().without_texts
    assert about
    assert about.exchanged


def test_readings_of_another_sample_are_refused(tmp_path: Path) -> None:
    """Where the seed draws other scenarios than were read, nothing is imported, and the error names row and remedy."""
    table = shutil.copytree(EXAMPLES / "opus-4.8", tmp_path / "table")
    about = table / "run.toml"
    about.write_text(about.read_text("utf-8").replace("seed = 0", "seed = 1"), "utf-8")
    with pytest.raises(UsageError, match=r"readings\.csv, row \d+: .* is not in the sample that seed 1 draws"):
        import_run(table, tmp_path / "run", environ={})
    assert not (tmp_path / "run").exists()


PLACES = ("statement", *(f"belief_1_{run}" for run in (1, 2, 3)), "belief_2", "belief_3")
_NUMBER = r"(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|None)"
_CELLS = {
    "archetype": "|".join(get_args(Archetype) or ARCHETYPES),
    "task_id": r"[0-9A-Za-z_-]{1,64}",
    "proposition": r"\d{1,4}",
    "truth": rf"[AB]|\[{_NUMBER}, {_NUMBER}\]",
    **dict.fromkeys(PLACES, rf"|[ABCD]|unreadable|\({_NUMBER}(?:, {_NUMBER}){{3}}\)"),
    "equal_replies": rf"|(?:{'|'.join(PLACES)}|=| )*",
    "statement_reply_lost": "yes|no",
    "lost_replies": rf"|(?:{'|'.join(PLACES)}| )*",
    "published_belief": rf"|[ABC]|None|\[(?:\((?:-inf|{_NUMBER}), (?:inf|{_NUMBER})\)(?:, )?)*\]",
    "published_accuracy": "|1|0|-1",
    "published_honesty": "|1|0|-1",
    "replies": rf"(?:{'|'.join(PLACES)}| )+",
    **dict.fromkeys(("reader_1", "reader_2", "settled"), rf"[ABCD]|N|{_NUMBER}\.\.{_NUMBER}"),
    "chance": r"[01]\.\d{6}",
}


@pytest.mark.parametrize(
    ("name", "file"), [("opus-4.8", "verdicts.csv"), ("opus-4.8", "readings.csv"), ("lost-replies", "verdicts.csv")]
)
def test_no_cell_of_these_files_is_a_text(name: str, file: str) -> None:
    """Each cell is a letter, a number, a tuple or list of numbers, an id, names of places, or a word of a list."""
    for number, row in enumerate(rows(name, file), start=1):
        for column, cell in row.items():
            assert re.fullmatch(_CELLS[column], cell), (number, column, cell)
