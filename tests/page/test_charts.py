"""page/drawing.py, charts.py, planes.py: what is drawn stands where the figures say, in colours easily told apart."""

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from maskbench.presentation.blocks import Bars, Chart, Curve, Flow, Line, Mix, Plane, Point, PointRow, Points, Segment
from maskbench.presentation.format import cell, with_interval
from maskbench.presentation.of_runs import outcomes
from maskbench.presentation.page.charts import drawn as written
from maskbench.presentation.page.drawing import COLOURS, WIDTHS
from maskbench.presentation.page.shell import static
from maskbench.stats.figures import NO_DATA, Share
from maskbench.types import OutcomeName

RATE = Share(0.4, (0.2, 0.6), 50)
SHARES: dict[OutcomeName, Share] = {
    "lie": RATE,
    "evasive": Share(0.3, (0.2, 0.4), 50),
    "no_belief": Share(0.1, (0.05, 0.2), 50),
    "honest": Share(0.2, (0.1, 0.3), 50),
}
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'too' ${x} {{ y }}"


def drawn(chart: Chart, *, panel: bool = False) -> list[ElementTree.Element]:
    """The SVGs of a chart, as trees."""
    return list(ElementTree.fromstring(f"<all>{written([chart], panel=panel)}</all>"))  # noqa: S314  # ours


def texts(svg: ElementTree.Element) -> list[str]:
    """Every text of an SVG."""
    return [element.text or "" for element in svg.iter("text")]


def coloured(svg: ElementTree.Element, tag: str, name: str, paint: str = "stroke") -> list[ElementTree.Element]:
    """The elements that are drawn in a colour."""
    return [element for element in svg.iter(tag) if element.get(paint) == f"var(--{name}, {COLOURS[name]})"]


EVERY_CHART = (  # one of every kind, with names that mean harm
    Bars((outcomes(HOSTILE, SHARES),)),
    Points((HOSTILE, PointRow(HOSTILE, RATE, "lie", (0.1, 0.7)), PointRow("none", NO_DATA))),
    Points((PointRow(HOSTILE, Share(-0.4, (-0.5, -0.3), 50)),), "points", differences=True),
    Curve((Line(HOSTILE, "lie", {1: RATE, 2: RATE}, {2: (0.1, 0.7)}), Line("b", "run-2", {1: RATE}, {})), "k", HOSTILE),
    Curve((Line("b", "lie", {0: RATE, 2: RATE}),), "strength", "share", 2, (0.1, 0.4), (0.1, 0.4)),
    Plane((Point(0, HOSTILE, RATE, RATE), Point(1, "b", NO_DATA, RATE)), "accuracy", HOSTILE),
    Flow(HOSTILE, "b", {"lie": {"lie": 1, "honest": 2}}),
)


@pytest.mark.parametrize("chart", EVERY_CHART)
def test_nothing_in_a_chart_can_collide_or_load(chart: Chart) -> None:
    """No style, id, class, link or script; it is an image that says in words what it shows."""
    for svg in (*drawn(chart), *drawn(chart, panel=True)):
        assert svg.attrib["role"] == "img"
        assert len(svg.attrib["aria-label"]) > 20
        assert set(svg.attrib["class"].split()) < {"chart", "wide", "narrow", "single"}
        for element in svg.iter():
            assert element.tag in ("svg", "g", "path", "line", "rect", "circle", "text")
            if element is not svg:
                assert not {"style", "id", "class", "href", "clip-path", "role", "onclick"} & {*element.keys()}
            for paint in ("fill", "stroke"):
                value = element.get(paint, "none")
                assert value == "none" or re.fullmatch(r"var\(--([\w-]+), (#[0-9a-f]{6})\)", value), value


def test_names_are_shown_as_they_are() -> None:
    """Markup in a name is text in the chart and in its description."""
    chart = Points((PointRow("<b>&", RATE),))
    wide, _ = drawn(chart)
    assert "<b>&" in texts(wide)
    assert "<b>& 40.0 % (20.0–60.0)" in wide.attrib["aria-label"]
    assert "<b>" not in written([chart])


def test_a_chart_comes_in_two_widths() -> None:
    """One for a page, one for a phone, in the same size of letters."""
    sheets = drawn(Points((PointRow("lie", RATE),)))
    assert [svg.attrib["width"] for svg in sheets] == [str(WIDTHS["wide"]), str(WIDTHS["narrow"])]
    assert {text.attrib["font-size"] for svg in sheets for text in svg.iter("text")} == {"12", "13"}


def test_intervals_stand_where_they_are() -> None:
    """The line runs from the low end to the high end of an axis from 0 to 100 %, the point is at the value."""
    for svg in drawn(Points((PointRow("lie", RATE, "lie"),))):
        grid = sorted(float(line.attrib["x1"]) for line in coloured(svg, "line", "line"))
        zero, whole = grid[0], grid[-1]
        (interval,) = coloured(svg, "line", "lie")
        (point,) = coloured(svg, "circle", "lie", "fill")
        assert float(interval.attrib["x1"]) == pytest.approx(zero + 0.2 * (whole - zero), abs=0.02)
        assert float(interval.attrib["x2"]) == pytest.approx(zero + 0.6 * (whole - zero), abs=0.02)
        assert float(point.attrib["cx"]) == pytest.approx(zero + 0.4 * (whole - zero), abs=0.02)


def test_rates_without_an_interval_have_no_point() -> None:
    """A share of one scenario looks like a result where it is none: only its figures stand there; no data is a dash."""
    wide, _ = drawn(Points((PointRow("one", Share(1.0, None, 1), "lie"), PointRow("none", NO_DATA, "lie"))))
    assert not coloured(wide, "circle", "lie", "fill")
    assert {"100.0 % of 1", "–"} <= set(texts(wide))


def test_bars_are_as_long_as_shares() -> None:
    """Lies begin at 0, honesty ends at 100 %, and the parts stand in this order."""
    (svg,) = drawn(Bars((outcomes("", SHARES),)), panel=True)
    ends = []
    for name in ("lie", "evasive", "no-belief", "honest"):
        (part,) = coloured(svg, "rect", name, "fill")
        left, width = float(part.attrib["x"]), float(part.attrib["width"])
        ends.append((left / 336, (left + width) / 336))
    assert ends == [pytest.approx(pair, abs=1e-4) for pair in ((0, 0.4), (0.4, 0.7), (0.7, 0.8), (0.8, 1.0))]


def test_bars_have_the_intervals_of_both_ends() -> None:
    """The first part's interval counts from 0, the last one's from 100 %."""
    parts = Segment("a", "firm", RATE), Segment("b", "loose", Share(0.6, (0.5, 0.9), 9))
    (svg,) = drawn(Bars((Mix("", parts),)), panel=True)
    for name, (low, high) in {"firm": (0.2, 0.6), "loose": (0.1, 0.5)}.items():
        (bracket,) = [line for line in coloured(svg, "line", name) if line.attrib["x1"] != line.attrib["x2"]]
        assert float(bracket.attrib["x1"]) / 336 == pytest.approx(low, abs=1e-4)
        assert float(bracket.attrib["x2"]) / 336 == pytest.approx(high, abs=1e-4)


def test_differences_have_zero_in_the_middle() -> None:
    """The axis of differences holds every interval, and reaches as far to one side as to the other."""
    wide, _ = drawn(Points((PointRow("P(lie)", Share(-0.31, (-0.42, -0.2), 9), "lie"),), "points", differences=True))
    assert {"−50", "−25", "0", "+25", "+50"} <= set(texts(wide))
    assert "−31.0 (−42.0 to −20.0)" in texts(wide)


def test_curve_and_plane_have_axes_to_the_end() -> None:
    """Lying@k and the plane show rates from 0 to 100 %, whatever they are."""
    for chart in (
        Curve((Line("a", "lie", {1: RATE, 2: RATE}),), "k", "lies"),
        Plane((Point(0, "a", RATE, RATE),), "accuracy", "honesty"),
    ):
        for svg in drawn(chart):
            assert {"0 %", "25 %", "50 %", "75 %", "100 %"} <= set(texts(svg))


def test_many_statements_keep_their_ticks_apart() -> None:
    """A curve over a hundred statements has a handful of ticks."""
    wide, _ = drawn(Curve((Line("a", "lie", dict.fromkeys(range(1, 101), RATE)),), "k", "lies"))
    assert 3 <= len([text for text in texts(wide) if text.isdigit()]) <= 12


def test_long_names_are_cut() -> None:
    """A name that does not fit is cut, sooner where its letters are wide; the description has it whole."""
    for name in ("x" * 300, "測" * 300):
        _, narrow = drawn(Points((PointRow(name, RATE),)))
        (cut,) = [text for text in texts(narrow) if text.endswith("…")]
        assert 5 < len(cut) < (40 if name[0] == "x" else 20)
        assert name in narrow.attrib["aria-label"]


def test_figures_in_words() -> None:
    """A rate with its interval on one line in a chart and on two in a table."""
    assert with_interval(RATE) == "40.0 % (20.0–60.0)"
    assert cell(RATE) == "40.0 %\n(20.0–60.0)"
    assert with_interval(NO_DATA) == "–"


# Colours


def palette(dark: bool) -> dict[str, str]:
    """The colours of page.css by name."""
    css = static("page.css")
    light = re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css[: css.index("@media (prefers-color-scheme: dark)")])
    part = css[css.index("@media (prefers-color-scheme: dark)") : css.index("/* Text */")]
    return dict(light) | (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part)) if dark else {})


def linear(colour: str) -> np.ndarray:
    """A colour in linear light."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(first: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 reckons it."""
    light = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in (first, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(light: np.ndarray) -> np.ndarray:
    """Linear light as CIELAB under D65."""
    to_xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
    xyz = np.array(to_xyz) @ np.clip(light, 0, 1) / np.array([0.9505, 1.0, 1.0888])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


EYES = {  # full dichromacy; source: Machado, Oliveira and Fernandes 2009
    "all colours": np.eye(3),
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
TOLD_APART = 20  # in CIELAB; 2.3 is just noticeable, side by side


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", EYES)
def test_outcomes_can_be_told_apart(eyes: str, dark: bool) -> None:
    """The four outcomes of a bar differ clearly for every kind of colour vision, in light and dark."""
    colours, seen = palette(dark), np.array(EYES[eyes])
    for first, other in combinations(("honest", "lie", "evasive", "no-belief"), 2):
        apart = np.linalg.norm(lab(seen @ linear(colours[first])) - lab(seen @ linear(colours[other])))
        assert apart > TOLD_APART, (first, other, apart)


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(dark: bool) -> None:
    """Text reaches 4.5 to 1 wherever it stands, lines and points 3 to 1."""
    colours = palette(dark)
    for name in ("ink", "soft", "accent", "warn", "lie", *(f"run-{place}" for place in range(1, 6))):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for name in ("ink", "soft"):
        assert contrast(colours[name], colours["card"]) >= 4.5, name
    assert contrast(colours["warn"], colours["warn-paper"]) >= 4.5
    for name in ("honest", "lie", "evasive", "no-belief", "error", "firm", "loose", "unknown"):
        assert contrast(colours[name], colours[f"on-{name}"]) >= 4.5, name
    for name in ("honest", "lie", "evasive-line", "no-belief-line"):
        assert contrast(colours[name], colours["paper"]) >= 3, name


def test_charts_and_pages_have_the_same_colours() -> None:
    """What an SVG falls back on is what page.css has for a light page; every colour has a dark value, too."""
    light, dark = palette(dark=False), palette(dark=True)
    assert {name: light[name] for name in COLOURS} == COLOURS
    assert [name for name in COLOURS if dark[name] == light[name]] == []
