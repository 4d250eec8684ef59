"""page/figure_files.py: the values of a report's figures as CSV, and the buttons of the page that save a figure."""

import csv
import io
from pathlib import Path

from playwright.sync_api import expect

from browser import Chromium, in_browser
from maskbench.presentation.blocks import (
    Bars,
    Curve,
    Figure,
    Line,
    Panel,
    Panels,
    Plane,
    Point,
    PointRow,
    Points,
    Table,
)
from maskbench.presentation.of_runs import KEY, outcomes
from maskbench.presentation.page.drawing import COLOURS
from maskbench.presentation.page.figure_files import values
from maskbench.presentation.page.page import render
from maskbench.stats.figures import NO_DATA, Share
from maskbench.types import OutcomeName
from measured_runs import run

RATE = Share(0.4, (0.2, 0.6), 50)
SHARES: dict[OutcomeName, Share] = {"lie": RATE, "evasive": RATE, "no_belief": NO_DATA, "honest": NO_DATA}
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'too' ${x}"
TABLE = Table(("rate",), (("40.0 %",),))
BARS = Bars((outcomes(HOSTILE, SHARES),))
FIGURE = Figure((BARS, Points(("all", PointRow("lie", RATE, "lie"), PointRow("none", NO_DATA)))), HOSTILE, TABLE, KEY)
PANELS = Panels("Parts", (Panel("first", (BARS,)), Panel("second", (BARS,)), Panel("empty", ())), TABLE, KEY)


def lines(figure: Figure | Panels) -> list[list[str]]:
    """The lines of a figure's CSV below its head."""
    head, *rest = csv.reader(io.StringIO(values(figure)))
    assert head == ["label", "what", "value", "low95", "high95", "n"]
    return rest


def test_the_values_are_numbers_with_their_intervals() -> None:
    """One line a value; what there is not is an empty cell and no zero."""
    assert lines(FIGURE)[0] == [HOSTILE, "lie", "0.4", "0.2", "0.6", "50"]
    assert lines(FIGURE)[-2:] == [
        ["all: lie", "share of scenarios", "0.4", "0.2", "0.6", "50"],
        ["all: none", "share of scenarios", "", "", "", "0"],
    ]


def test_every_kind_of_chart_has_values() -> None:
    """A curve has a value at each k, a plane two for each run, differences one, panels theirs under their titles."""
    curve = Figure((Curve((Line("a", "lie", {1: RATE, 2: NO_DATA}),), "k, statements", "lies"),), "k", TABLE)
    plane = Figure((Plane((Point(0, "a", RATE, RATE),), "accuracy", "honesty"),), "plane", TABLE)
    difference = Figure((Points((PointRow("P(lie)", RATE),), differences=True),), "differences", TABLE)
    assert [line[:3] for line in lines(curve)] == [["a", "k = 1", "0.4"], ["a", "k = 2", ""]]
    assert [line[:3] for line in lines(plane)] == [["a", "accuracy", "0.4"], ["a", "honesty", "0.4"]]
    assert [line[:3] for line in lines(difference)] == [["P(lie)", "difference", "0.4"]]
    assert {line[0] for line in lines(PANELS)} == {f"first: {HOSTILE}", f"second: {HOSTILE}"}


def test_no_cell_is_a_formula() -> None:
    """A name that a spreadsheet would take for a formula has an apostrophe in front."""
    named = Figure((Points((PointRow("=1+1", RATE),)),), "t", TABLE)
    assert lines(named)[0][0] == "'=1+1"


@in_browser
def test_the_page_saves_a_figure_in_every_form(chromium: Chromium, tmp_path: Path) -> None:
    """The buttons under the table behind a chart save an SVG without variables, a PNG and the CSV of the values."""
    page = tmp_path / "report.html"
    page.write_text(render([run(tmp_path / "run", "sim/lie=0.5", limit=12)]).html, encoding="utf-8")
    with chromium.tab(page) as opened:
        tab = opened.page
        tab.locator("#outcomes figure summary").click()
        for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"label,what,value")):
            button = tab.get_by_role("button", name=f'Save "Outcomes" as {form}')
            expect(button).to_be_visible()
            with tab.expect_download() as download:
                button.click()
            content = Path(download.value.path()).read_bytes()
            assert download.value.suggested_filename == f"outcomes.{form.lower()}"
            assert content.startswith(start)
            assert b"var(" not in content


@in_browser
def test_a_figure_saved_in_the_dark_has_the_key_of_its_charts(chromium: Chromium, tmp_path: Path) -> None:
    """Swatches have the light colours that the bars have, whatever the page shows when it is saved."""
    page = tmp_path / "report.html"
    page.write_text(render([run(tmp_path / "run", "sim/lie=0.5", limit=12)]).html, encoding="utf-8")
    with chromium.tab(page, dark=True) as opened:
        opened.page.locator("#outcomes figure summary").click()
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name='Save "Outcomes" as SVG').click()
        content = Path(download.value.path()).read_text("utf-8")
    assert "rgb(" not in content
    assert content.count(COLOURS["honest"]) > 1
