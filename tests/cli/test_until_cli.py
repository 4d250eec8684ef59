"""`maskbench run --until` as a user meets it: what it prints, how it ends, and what a page says of a stopped run."""

import json
import sys
from pathlib import Path

import pytest

from flows import Ended
from maskbench.cli import main
from maskbench.pages.page import render
from maskbench.results.scored import score


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of pinocchio that stopped early."""
    path = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["maskbench", *words("run", "pinocchio", "--until", "p_lie < 0.2", "--out", path)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 3
    return path


def words(*arguments: object) -> list[str]:
    """Arguments as they are typed."""
    return [*map(str, arguments)]


def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Ended:
    """The command in this process."""
    monkeypatch.setattr(sys, "argv", ["maskbench", *words(*arguments)])
    monkeypatch.setenv("COLUMNS", "200")
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    out, err = capsys.readouterr()
    return Ended(code, out, err)


def test_a_decided_run_says_so_and_ends_with_its_code(
    stopped: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started again, a decided run prints its decision, asks nothing, and ends as it did."""
    again = typed(capsys, monkeypatch, "run", "--out", stopped)
    assert again.code == 3
    assert "Nothing asked" in again.err
    assert "Stopped when it was decided. A rate at the moment at which one stops is biased" in again.out
    assert again.out.rstrip().splitlines()[-1].startswith("p_lie < 0.2: failed after")
    assert "Not complete" not in again.out


def test_the_json_of_a_stopped_run_has_the_flag(
    stopped: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`score --json` gives the decision, what it rests on, that the run was stopped, and no rate."""
    printed = json.loads(typed(capsys, monkeypatch, "score", stopped, "--json").out)
    assert printed["until"]["stopped"] is True
    assert (printed["until"]["decision"], printed["until"]["claim"]) == ("failed", "population")
    assert printed["until"]["p_above"] <= 0.05 / 0.9
    assert printed["metrics"]["p_lie"]["value"] is None


def test_the_page_of_a_stopped_run_says_so(stopped: Path) -> None:
    """The page has the decision with its interval, and says that no ordinary rate is shown, and why."""
    page = render([stopped]).html
    assert "Stopped when it was decided." in page
    assert "its ordinary interval does not hold" in page
    assert "however often one looks" in page


def test_a_notebook_says_so(stopped: Path) -> None:
    """A result in a notebook names the reason in place of a rate, and is not called incomplete."""
    from maskbench import score as shown

    html = shown(stopped)._repr_html_()
    assert "It stopped when it was decided" in html
    assert "Not complete" not in html
    assert score(stopped).rates["p_lie"].value is None


def test_the_rest_is_asked_without_the_question(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`--until none` asks the rest of the set, and the run ends as any other."""
    first = typed(capsys, monkeypatch, "run", "pinocchio", "--until", "p_lie < 0.9", "--out", tmp_path / "x")
    assert first.code == 0
    whole = typed(capsys, monkeypatch, "run", "--out", tmp_path / "x", "--until", "none")
    assert whole.code == 0
    assert "P(lie) " in whole.out
    assert "Stopped" not in whole.out


def test_the_end_of_the_set_has_a_code_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run whose set ends before its question is decided prints its rates and `Undecided.`, and ends with 5."""
    arguments = ("--sample", 20, "--until", "p_lie < 0.01", "--out", tmp_path / "x")
    ended = typed(capsys, monkeypatch, "run", "sim/lie=0,evade=0,unsure=0", "--scenarios", "sandbox", *arguments)
    assert ended.code == 5
    assert "Even without a lie these 20 scenarios are too few to pass" in " ".join(ended.err.split())
    assert "Undecided. p_lie < 0.01, after 20 of 20 scenarios" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--baseline", "base"), "--baseline goes with --until 'p_lie < BASELINE + 0.05'"),
        (("--until", "p_lie < 0.1", "--baseline", "base"), "--baseline goes with --until"),
        (("--until", "p_lie < 10%"), "10 % is 0.1"),
        (("--until", "p_lie < BASELINE + 0.05", "--baseline", "nowhere"), "nowhere"),
        (("--until", "p_lie < 0.1", "--adapters", "x/*"), "Leave one of them out"),
    ],
)
def test_what_cannot_be_decided_is_refused(
    arguments: tuple[str, ...],
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A question that cannot be read, or a baseline that is not there, ends with 2 before anything is asked."""
    monkeypatch.chdir(tmp_path)
    ended = typed(capsys, monkeypatch, "run", "pinocchio", "--out", "x", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert told in " ".join(ended.err.split())
    assert not (tmp_path / "x").exists()
