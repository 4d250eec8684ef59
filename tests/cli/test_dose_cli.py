"""`maskbench intervene dose` as its user calls it, and the page of a curve."""

import json
import re
from pathlib import Path

import pytest
from test_dose import Json, begun, measured, plan

from flows import typed
from maskbench.cli.dose import amounts
from maskbench.errors import UsageError
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import plain_dose


def dose(*arguments: str) -> str:
    """Call the command; returns what it prints."""
    done = typed("intervene", "dose", *arguments)
    assert done.code == 0, done.err
    return done.out


@pytest.mark.parametrize(
    ("text", "doses"),
    [
        ("-4:4:2", (-4, -2, 0, 2, 4)),
        ("0:1:0.3", (0, 0.3, 0.6, 0.9)),
        ("0.5,1,2", (0.5, 1, 2)),
        ("2", (2,)),
        ("1,1", (1,)),
        ("-0,0", (0,)),
        ("2:2:1", (2,)),
    ],
)
def test_doses_are_a_range_with_both_ends_or_a_list(text: str, doses: tuple[float, ...]) -> None:
    """The step decides where a range ends."""
    assert amounts(text, "--strengths") == doses


@pytest.mark.parametrize(
    "text", ["", "a", "1:2", "1:2:3:4", "1:2,3", "4:-4:1", "0:1:0", "0:1:-1", "0:inf:1", "0:9:1e-9"]
)
def test_other_texts_are_no_doses(text: str) -> None:
    """Each with what to write."""
    with pytest.raises(UsageError, match=r"--strengths .*give from:to:step"):
        amounts(text, "--strengths")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sim", "--prompts", "honest"], "--out is missing. Add --out DIR."),
        (["sim", "--out", "d"], "Doses of what"),
        (["sim", "--out", "d", "--prompts", "honest", "--steer", "v"], "Give one of them"),
        (["sim", "--out", "d", "--prompts", "honest", "--layers", "1"], "--layers goes with --steer"),
        (["sim", "--out", "d", "--prompts", "honest", "--alphas", "1"], "--alphas goes with --adapter"),
        (["sim", "--out", "d", "--steer", "v", "--prompt-on-beliefs"], "--prompt-on-beliefs goes with --prompts"),
        (["sim", "--out", "d", "--prompts", "honesty"], "neither in the library"),
        (["sim", "--out", "d", "--prompts", "honest", "--statements", "10000"], "Give 1,000 or less."),
        (["sim", "--out", "d", "--prompts", "honest", "--margin", "5"], "--margin 5 is no share"),
        (["--out", "d"], "holds no dose curve"),
        (["sim", "--out", "d", "--steer", "v.safetensors"], "needs a model in this process"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to type instead, and no folder left behind that would stand in the way."""
    monkeypatch.chdir(tmp_path)
    ended = typed("intervene", "dose", *arguments)
    assert (ended.code, message in ended.err) == (2, True)
    if (tmp_path / "d").exists():
        assert not list((tmp_path / "d").rglob("run.json"))


def test_a_curve_over_prompts_is_measured_printed_and_taken_up_again(tmp_path: Path) -> None:
    """The words come first; the same folder alone goes on; --json prints dose.json."""
    out = str(tmp_path / "d")
    some = ("--prompts", "none,honest,placebo", "--limit", "12", "--statements", "2", "--dev-statements", "1")
    text = dose("sim", *some, "--out", out)
    assert "Prompt honest: not shown." in text
    assert "stated beforehand" in " ".join(text.lower().split())
    assert dose("--out", out) == text
    data: Json = json.loads(dose("--out", out, "--json"))
    assert data == plain_dose(DoseFolder(tmp_path / "d").data())
    assert data["plan"]["base"]["design"]["statements"] == 2
    listed = typed("leaderboard", out)
    assert "sim + honest" in listed.out


def test_ordinary_commands_read_the_runs_of_a_curve(tmp_path: Path) -> None:
    """Every dose is a run: score and compare need nothing else."""
    measured(plan(), tmp_path)
    runs = [str(tmp_path / "test" / name) for name in ("none", "prompt_honest")]
    assert typed("score", runs[1]).code == 0
    assert "sim: honest against no prompt" in typed("compare", *runs).out


def test_the_page_of_a_curve_is_one_file_that_loads_nothing(tmp_path: Path) -> None:
    """Its policy allows no network, everything that is not ours is escaped, and it says what the text says."""
    file = tmp_path / "<b>x.md"
    file.write_text("Be honest.")
    measured(plan(doses=("honest", str(file))), tmp_path / "d")
    assert typed("report", str(tmp_path / "d")).code == 0
    page = (tmp_path / "d" / "report.html").read_text()
    assert "default-src &#39;none&#39;" in page
    assert "<b>x" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    for words in ("not shown", "Outcomes side by side", "Damage", "How the dose was chosen", "stated beforehand"):
        assert words in page


def test_a_curve_that_mostly_failed_says_so_and_shows_no_rate(tmp_path: Path) -> None:
    """Exit code 1; neither the text nor the page has a figure that a selection gave."""
    out = str(tmp_path / "d")
    some = ("sim/fail=0.4", "--prompts", "honest", "--limit", "30", "--statements", "2", "--out", out)
    done = typed("intervene", "dose", *some)
    assert done.code == 1
    assert "Prompt honest: not measurable." in done.out
    assert not re.search(r"P\(lie\) \d", done.out)
    assert typed("report", out).code == 0
    assert "not measurable" in (tmp_path / "d" / "report.html").read_text()


def test_the_page_of_a_curve_that_is_not_complete_says_so(tmp_path: Path) -> None:
    """Nothing is shown that is not measured."""
    DoseFolder(tmp_path).begin(begun(plan(), words=["a: b"]))
    page = typed("report", str(tmp_path))
    assert page.code == 0
    assert "Not complete" in (tmp_path / "report.html").read_text()
