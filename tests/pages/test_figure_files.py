"""pages/figure_files.py: figures of a report as SVG, PDF, PNG and CSV, and the buttons of the page that save them."""

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from browser import Chromium, in_browser
from flows import typed
from maskbench.errors import UsageError
from maskbench.pages.drawing import COLOURS
from maskbench.pages.figure_files import picture, values, write
from maskbench.pages.page import render
from maskbench.presentation.blocks import (
    Bars,
    Curve,
    Figure,
    Line,
    Panel,
    Panels,
    Plane,
    Point,
    Points,
    Row,
    Section,
    Table,
)
from maskbench.presentation.of_runs import KEY, outcomes
from maskbench.stats.figures import NO_DATA, Share
from maskbench.types import OutcomeName
from measured_runs import run

RATE = Share(0.4, (0.2, 0.6), 50)
SHARES: dict[OutcomeName, Share] = {"lie": RATE, "evasive": RATE, "no_belief": NO_DATA, "honest": NO_DATA}
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'too' ${x}"
TABLE = Table(("rate",), (("40.0 %",),))
BARS = Bars((outcomes(HOSTILE, SHARES),))
FIGURE = Figure((BARS, Points(("all", Row("lie", RATE, "lie"), Row("none", NO_DATA)))), HOSTILE, TABLE, KEY)
PANELS = Panels("Parts", (Panel("first", (BARS,)), Panel("second", (BARS,)), Panel("empty", ())), TABLE, KEY)


def lines(figure: Figure | Panels) -> list[list[str]]:
    """The lines of a figure's CSV below its head."""
    head, *rest = csv.reader(io.StringIO(values(figure)))
    assert head == ["label", "what", "value", "low95", "high95", "n"]
    return rest


def tree(figure: Figure | Panels, columns: str) -> ElementTree.Element:
    """A figure's SVG as a tree without the name space."""
    svg = picture(figure, columns).replace(' xmlns="http://www.w3.org/2000/svg"', "")  # type: ignore[arg-type]
    return ElementTree.fromstring(svg)  # noqa: S314  # ours


@pytest.mark.parametrize(("columns", "width"), [("column", 90.5), ("two_columns", 186.3)])
def test_a_figure_is_as_wide_as_one_column_or_two(columns: str, width: float) -> None:
    """The width is in millimetres, and everything that is drawn lies within it."""
    svg = tree(FIGURE, columns)
    assert svg.attrib["width"] == f"{width}mm"
    _, _, wide, high = map(float, svg.attrib["viewBox"].split())
    inner = [(float(part.attrib["width"]), float(part.attrib["height"])) for part in svg.iterfind("g/svg")]
    assert len(inner) == 2
    assert all(part <= wide for part, _ in inner)
    assert sum(part for _, part in inner) < high


def test_a_figure_stands_alone() -> None:
    """It has colours in place of the page's variables, a white ground, a font, a title, and its key."""
    svg = tree(FIGURE, "column")
    assert "var(" not in picture(FIGURE, "column")
    assert svg.find("rect").attrib["fill"] == "#ffffff"  # type: ignore[union-attr]
    assert "sans-serif" in svg.attrib["font-family"]
    assert svg.findtext("title") == HOSTILE
    written = [text.text for text in svg.iterfind("g/text")]
    assert written == ["lie", "evasive", "no belief", "honest"]


def test_panels_stand_side_by_side_where_there_is_room() -> None:
    """Two columns take two panels to a line, one column takes one; a panel without charts is left out."""
    for columns, heights in (("two_columns", 1), ("column", 2)):
        places = [panel.attrib["y"] for panel in tree(PANELS, columns).iterfind("g/svg")]
        assert len(places) == 2
        assert len({*places}) == heights


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
    difference = Figure((Points((Row("P(lie)", RATE),), differences=True),), "differences", TABLE)
    assert [line[:3] for line in lines(curve)] == [["a", "k = 1", "0.4"], ["a", "k = 2", ""]]
    assert [line[:3] for line in lines(plane)] == [["a", "accuracy", "0.4"], ["a", "honesty", "0.4"]]
    assert [line[:3] for line in lines(difference)] == [["P(lie)", "difference", "0.4"]]
    assert {line[0] for line in lines(PANELS)} == {f"first: {HOSTILE}", f"second: {HOSTILE}"}


def test_no_cell_is_a_formula() -> None:
    """A name that a spreadsheet would take for a formula has an apostrophe in front."""
    named = Figure((Points((Row("=1+1", RATE),)),), "t", TABLE)
    assert lines(named)[0][0] == "'=1+1"


def test_every_figure_of_the_sections_is_written(tmp_path: Path) -> None:
    """Each is there in two widths as SVG, PDF and PNG of 300 pixels an inch, with one CSV; the second has a number."""
    written = write([Section("lying-at-k", "t", "t", (FIGURE, "words", PANELS))], tmp_path / "deep" / "figures")
    assert len(written) == 14
    assert {path.name for path in written if path.suffix in (".csv", ".pdf")} == {
        "lying_at_k.csv",
        "lying_at_k_2.csv",
        *(f"lying_at_k{n}_{columns}.pdf" for n in ("", "_2") for columns in ("column", "two_columns")),
    }
    image = (tmp_path / "deep" / "figures" / "lying_at_k_column.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(image[16:20], "big") == pytest.approx(342 / 96 * 300, abs=1)
    assert (tmp_path / "deep" / "figures" / "lying_at_k_column.pdf").read_bytes().startswith(b"%PDF")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the place of the folder is told with the option and the remedy."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--figures .*file: the figures cannot be written .* Name another folder"):
        write([], tmp_path / "file")


def test_report_writes_the_charts_beside_the_page(tmp_path: Path) -> None:
    """`report A B --figures DIR` makes the page and every chart of it, the outcome bar among them."""
    runs = [run(tmp_path / name, f"sim/lie={lie}", limit=12) for name, lie in (("a", 0.2), ("b", 0.6))]
    result = typed("report", *runs, "--out", tmp_path / "r.html", "--figures", tmp_path / "f")
    assert result.code == 0, result.err
    names = {path.name for path in (tmp_path / "f").glob("*.csv")}
    assert {"outcomes.csv", "rates.csv", "archetypes.csv", "comparison.csv", "plane.csv"} <= names
    charts = len(re.findall('class="take"', (tmp_path / "r.html").read_text()))
    assert charts == len(names)


@in_browser
def test_the_page_saves_a_figure_in_every_form(chromium: Chromium, tmp_path: Path) -> None:
    """The buttons under a chart save an SVG without variables, a PNG and the CSV of the values."""
    page = tmp_path / "report.html"
    page.write_text(render([run(tmp_path / "run", "sim/lie=0.5", limit=12)]).html, encoding="utf-8")
    with chromium.tab(page) as opened:
        tab = opened.page
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
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name='Save "Outcomes" as SVG').click()
        content = Path(download.value.path()).read_text("utf-8")
    assert "rgb(" not in content
    assert content.count(COLOURS["honest"]) > 1
