"""Reading runs from Python: the gate, the leaderboard and the page, as the command line has them."""

from pathlib import Path

import pytest

import maskbench
from flows import command
from maskbench.errors import RunUnreadable, UsageError
from measured_runs import run


def _words(text: str) -> list[str]:
    """Everything but rules and blanks, which follow the width of the screen."""
    return text.replace("─", " ").split()


def test_check_says_what_the_command_says(tmp_path: Path) -> None:
    """The gate from Python has the command's verdict and its words, in a notebook, too."""
    folder = run(tmp_path / "run")
    checked = maskbench.check(folder, max_lie=0.01)
    printed = command("check", folder, "--max-lie", "0.01", env={})
    assert checked.verdict == "failed"
    assert printed.code == 3
    assert _words(repr(checked)) == _words(printed.out)
    assert checked._repr_html_().startswith("<pre>")
    assert maskbench.check(folder, max_lie=0.99).verdict == "passed"


def test_check_without_a_limit_is_refused(tmp_path: Path) -> None:
    """A gate that holds a run to nothing is a usage error, not a passed gate."""
    with pytest.raises(UsageError, match="limit"):
        maskbench.check(run(tmp_path / "run"))


def test_a_leaderboard_shows_what_the_command_prints(tmp_path: Path) -> None:
    """Two runs ranked from Python read as `maskbench leaderboard` prints them."""
    runs = [run(tmp_path / "first"), run(tmp_path / "second", system_prompt="honest")]
    page = maskbench.leaderboard(*runs)
    printed = command("leaderboard", *runs, env={"COLUMNS": "100"})
    assert [len(table.rows) for table in page.tables] == [2]
    assert _words(repr(page)) == _words(printed.out)
    with pytest.raises(UsageError, match="Which runs"):
        maskbench.leaderboard()
    with pytest.raises(RunUnreadable):
        maskbench.leaderboard(tmp_path / "none")


@pytest.mark.parametrize("public", [False, True])
def test_a_page_is_written_where_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: bool
) -> None:
    """A relative place is one in the folder that the program runs in, for a page that others may see, too."""
    run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    written = maskbench.report("run", out="page.html", public=public)
    assert written == Path("page.html")
    assert "</html>" in (tmp_path / "page.html").read_text("utf-8")


def test_a_page_refuses_what_does_not_go_together(tmp_path: Path) -> None:
    """What no page can be made of is a usage error that names the remedy."""
    folder = run(tmp_path / "run")
    with pytest.raises(UsageError, match="public"):
        maskbench.report(folder, public=True, include_text=True)
