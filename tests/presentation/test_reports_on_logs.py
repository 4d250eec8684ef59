"""Runs that have nothing but reports on a log: what stands first, in a terminal, in a notebook and on a page."""

import re
from pathlib import Path

import pytest

from maskbench.presentation.notebook import compare as shown_comparison
from maskbench.presentation.notebook import leaderboard
from maskbench.presentation.notebook import score as shown
from maskbench.presentation.of_one_run import result
from maskbench.presentation.page.page import render
from maskbench.presentation.sections.board import blocks
from maskbench.presentation.terminal import text
from maskbench.results.scored import score
from measured_runs import change, copied, run

TOP = re.compile(r"<main>.*?<section id=\"rates\"", re.DOTALL)  # what a reader sees before all the rates


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two simulated models on forty reports each, of which none is a real one."""
    place = tmp_path_factory.mktemp("reports")
    lies = {"a": 0.3, "b": 0.1}
    first, other = (run(place / name, f"sim/lie={lies[name]}", scenarios="said_and_did", sample=120) for name in lies)
    return first, other


def test_a_run_that_has_nothing_done_yet_stands_beside_others(reports: tuple[Path, Path], tmp_path: Path) -> None:
    """A sweep in progress has such runs: a leaderboard has no figures of them, and shows the others."""
    empty = copied(reports[0], tmp_path / "empty").path
    for query in ("DELETE FROM replies", "DELETE FROM verdicts", "DELETE FROM judged"):
        change(empty, query)
    assert "denied" in repr(leaderboard(reports[0], empty))


def test_several_runs_say_no_rule_of_two_tests(reports: tuple[Path, Path], tmp_path: Path) -> None:
    """Of reports on a log one figure is tested, so that the rule for two does not stand there."""
    third = copied(reports[1], tmp_path / "third").path
    told = repr(shown_comparison(*reports, third))
    assert "two each" not in told
    assert "Two tests" not in told


def test_the_first_lines_are_on_what_is_denied(reports: tuple[Path, Path]) -> None:
    """A terminal has the difference first, then both requests beside each other in 30 lines, and no P(lie)."""
    said = text(result(score(reports[0]).summary, "maskbench score a --full"), 100)
    assert "P(lie)" not in said
    assert said.index("Denied, gain minus plain") < said.index("denies the event") < said.index("does not name it")
    assert "This holds where the judge errs alike on all letters." in said
    assert len(said.splitlines()) <= 30


def test_a_notebook_has_their_own_rates(reports: tuple[Path, Path]) -> None:
    """The table of a notebook and the one line of a summary are on what is denied, too."""
    found = shown(reports[0])
    assert "<td>p denied</td>" in found._repr_html_()
    assert "<td>p lie</td>" not in found._repr_html_()
    assert "denied, gain minus plain" in repr(found.summary)
    assert "SHOWN: " in repr(shown_comparison(*reports))


@pytest.mark.parametrize("include_text", [False, True])
def test_the_page_has_its_own_steps(reports: tuple[Path, Path], include_text: bool) -> None:
    """Its question, three steps and limits are of reports, with an example of the run where texts may be shown."""
    page = render(reports[:1], include_text=include_text).html
    assert "How a denial is found" in page
    assert "opposite" not in page
    assert "garlic" not in page
    assert "Not named is not concealed" in page
    assert ("A log of this run." in page) is include_text
    top = TOP.search(page)
    assert top is not None
    assert "P(lie)" not in top[0]


def test_pages_of_several_runs_are_on_what_is_denied(reports: tuple[Path, Path], tmp_path: Path) -> None:
    """Two runs have the sentence of their comparison, three a table, each on the same difference."""
    third = run(tmp_path / "c", "sim/lie=0.5", scenarios="said_and_did", sample=120)
    two, three = render(reports).html, render((*reports, third)).html
    assert "SHOWN: " in two
    assert "From the least denied, gain minus plain, to the most" in three
    for page in (two, three):
        assert "P(lie)" not in page[page.index("<main>") : page.index("How a denial is found")]


def test_a_leaderboard_does_not_rank_reports(reports: tuple[Path, Path]) -> None:
    """Its table has what is denied, in place of ranks by P(lie)."""
    page = leaderboard(*reports)
    said = text(list(blocks(page, "maskbench leaderboard --full")), 100)
    assert "gain − plain" in said
    assert "P(lie)" not in said
    assert not page.tables[0].ranked
