"""The figures of a report as files for a paper: SVG, PDF and PNG for one column and for two, and the values as CSV.

A figure file is drawn by the code that draws the page, in the page's light colours, on white, with the key above it.
"""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import vl_convert

from maskbench.errors import UsageError
from maskbench.pages.charts import NARROW, WIDE
from maskbench.pages.dose_curves import shares
from maskbench.pages.drawing import COLOURS, LETTER, SIZE
from maskbench.pages.figures import drawn
from maskbench.plain import unformula, visible
from maskbench.presentation.blocks import (
    Bars,
    Chart,
    Curve,
    Differences,
    Figure,
    Flow,
    OverDose,
    Panels,
    Plane,
    Points,
    Section,
    seen,
)
from maskbench.stats.figures import Share

Columns = Literal["column", "two_columns"]
_Drawing = tuple[str, list[ElementTree.Element]]  # a title, where there is one, and charts in all their widths
_WIDTHS: Mapping[Columns, int] = {"column": NARROW, "two_columns": WIDE}  # pixels, at 96 to the inch: 90 and 186 mm
_MILLIMETRE = 25.4 / 96
_INCH = 300  # pixels of a PNG to the inch
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_COLOUR = re.compile(r"var\(--[\w-]+, (#\w+)\)")
_GAP, _LINE = 16.0, 22.0  # pixels between two drawings, and of a line of text
_HEAD = ("label", "what", "value", "low95", "high95", "n")


@dataclass(frozen=True, slots=True)
class _Box:
    """A drawing of so many pixels, and what it holds."""

    width: float
    height: float
    parts: tuple[ElementTree.Element, ...]


def write(sections: Iterable[Section], folder: Path) -> list[Path]:
    """Write every figure of these sections into a folder, which is made where there is none; gives the files.

    A figure is named after its section, with a number from the second one on: `rates_column.svg`,
    `beliefs_2_two_columns.pdf`, `rates.csv`. Raises UsageError where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [path for name, figure in _named(sections) for path in _files(folder, name, figure)]
    except OSError as error:
        raise UsageError(
            f"--figures {folder}: the figures cannot be written ({error.strerror}). Name another folder."
        ) from error


def values(figure: Figure | Panels) -> str:
    """The values that a figure shows as CSV, one a line, with 95 % intervals; a share stands between 0 and 1."""
    lines: list[Sequence[object]] = []
    if isinstance(figure, Figure):
        lines += chain.from_iterable(map(_lines, figure.charts))
    else:
        for panel in figure.panels:
            lines += [(_under(panel.title, label), *rest) for chart in panel.charts for label, *rest in _lines(chart)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    writer.writerows([[unformula(cell) if isinstance(cell, str) else cell for cell in line] for line in lines])
    return text.getvalue()


def picture(figure: Figure | Panels, columns: Columns) -> str:
    """A figure as one SVG that stands alone, as wide as one column of a paper (90 mm) or as two (186 mm)."""
    return _picture(figure, _drawn(figure), columns)


def _picture(figure: Figure | Panels, drawings: Sequence[_Drawing], columns: Columns) -> str:
    width = float(_WIDTHS[columns])
    boxes = list(_boxes(drawings, "narrow" if columns == "column" else "wide"))
    placed, height = _flow(boxes, width, _key_height(figure, width))
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": f"{width * _MILLIMETRE:.1f}mm",
            "height": f"{height * _MILLIMETRE:.1f}mm",
            "viewBox": f"0 0 {width:g} {height:g}",
            "font-family": _FONT,
        },
    )
    ElementTree.SubElement(root, "title").text = visible(figure.title)
    ElementTree.SubElement(root, "rect", {"width": f"{width:g}", "height": f"{height:g}", "fill": "#ffffff"})
    root.extend(_key(figure, width))
    root.extend(placed)
    return _COLOUR.sub(r"\1", ElementTree.tostring(root, "unicode"))


def _named(sections: Iterable[Section]) -> Iterator[tuple[str, Figure | Panels]]:
    for section in sections:
        figures = [part for part in seen(section.parts, "page") if isinstance(part, (Figure, Panels))]
        for place, figure in enumerate(figures, 1):
            name = section.anchor.replace("-", "_")
            yield (name if place == 1 else f"{name}_{place}"), figure


def _files(folder: Path, name: str, figure: Figure | Panels) -> Iterator[Path]:
    drawings = _drawn(figure)
    for columns in _WIDTHS:
        svg = _picture(figure, drawings, columns)
        for suffix, content in (
            ("svg", svg.encode()),
            ("pdf", vl_convert.svg_to_pdf(svg)),
            ("png", vl_convert.svg_to_png(svg, scale=72 / 96, ppi=_INCH)),
        ):
            path = folder / f"{name}_{columns}.{suffix}"
            path.write_bytes(content)
            yield path
    path = folder / f"{name}.csv"
    path.write_text(values(figure), encoding="utf-8")
    yield path


# The values


def _lines(chart: Chart) -> Iterator[tuple[object, ...]]:
    """The values of a chart as the lines of its CSV."""
    match chart:
        case Bars():
            yield from (_line(mix.label, part.name, part.share) for mix in chart.mixes for part in mix.parts)
        case Points():
            heading = ""
            for row in chart.rows:
                if isinstance(row, str):
                    heading = row
                else:
                    yield _line(_under(heading, row.label), chart.axis, row.estimate)
        case Differences():
            yield from (_line(row.label, "difference", row.estimate) for row in chart.rows)
        case Curve():
            yield from (
                _line(line.label or str(line.place + 1), f"k = {k}", rate)
                for line in chart.lines
                for k, rate in line.points.items()
            )
        case Plane():
            for point in chart.points:
                yield _line(point.label, chart.across, point.across)
                yield _line(point.label, chart.up, point.up)
        case Flow():
            yield from (
                (f"{before} to {after}".replace("_", " "), "scenarios", count, None, None, sum(into.values()))
                for before, into in chart.counts.items()
                for after, count in into.items()
            )
        case OverDose():
            yield from (
                _line(f"dose {row.amount:g}", what, share)
                for row in chart.rows
                for what, share in shares(chart.shows, row).items()
            )


def _line(label: str, what: str, estimate: Share) -> tuple[object, ...]:
    """One value; csv leaves the cells of what is None empty."""
    return visible(label), visible(what), estimate.value, estimate.low, estimate.high, estimate.n


def _under(heading: str, label: object) -> str:
    return ": ".join(filter(None, (heading, str(label))))


# The picture


def _drawn(figure: Figure | Panels) -> list[_Drawing]:
    """Every chart or panel of a figure, drawn once for all widths."""
    if isinstance(figure, Figure):
        return [("", [svg]) for svg in _svgs(drawn(figure.charts))]
    return [(panel.title, _svgs(drawn(panel.charts, panel=True))) for panel in figure.panels]


def _boxes(drawings: Sequence[_Drawing], variant: str) -> Iterator[_Box]:
    """The drawings that this width takes; of a chart in two widths, the one that is wanted."""
    for title, svgs in drawings:
        charts = [svg for svg in svgs if _fits(svg, variant)]
        if charts:
            yield _below(title, charts) if title else _Box(*_size(charts[0]), tuple(charts))


def _svgs(markup: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(f"<all>{markup}</all>"))  # noqa: S314  # ours, escaped


def _fits(svg: ElementTree.Element, variant: str) -> bool:
    return svg.attrib["class"].split()[-1] in (variant, "single")


def _size(svg: ElementTree.Element) -> tuple[float, float]:
    return float(svg.attrib["width"]), float(svg.attrib["height"])


def _below(title: str, charts: Sequence[ElementTree.Element]) -> _Box:
    """Charts below a title."""
    y, parts = _LINE, [_text(0, 14, visible(title), weight="600")]
    for svg in charts:
        parts.append(_moved(svg, 0, y))
        y += _size(svg)[1]
    return _Box(max(_size(svg)[0] for svg in charts), y, tuple(parts))


def _flow(boxes: Sequence[_Box], width: float, top: float) -> tuple[list[ElementTree.Element], float]:
    """The boxes side by side as far as there is room, then below; and how high they are together."""
    placed: list[ElementTree.Element] = []
    x, y, tallest = 0.0, top, 0.0
    for box in boxes:
        if x and x + box.width > width + 1:
            x, y, tallest = 0.0, y + tallest + _GAP, 0.0
        group = ElementTree.Element("g", {"transform": f"translate({x:g} {y:g})"})
        group.extend(_moved(part, 0, 0) if part.tag == "svg" and "x" not in part.attrib else part for part in box.parts)
        placed.append(group)
        x, tallest = x + box.width + _GAP, max(tallest, box.height)
    return placed, y + tallest


def _moved(svg: ElementTree.Element, x: float, y: float) -> ElementTree.Element:
    """A drawing inside another, at a place of it."""
    kept = {name: svg.attrib[name] for name in ("viewBox", "width", "height")}
    moved = ElementTree.Element("svg", {**kept, "x": f"{x:g}", "y": f"{y:g}"})
    moved.extend(svg)
    return moved


def _text(x: float, y: float, text: str, **style: str) -> ElementTree.Element:
    named = {f"font-{name}": value for name, value in style.items()}
    element = ElementTree.Element(
        "text", {"x": f"{x:g}", "y": f"{y:g}", "font-size": str(SIZE), "fill": COLOURS["ink"], **named}
    )
    element.text = text
    return element


def _places(figure: Figure | Panels, width: float) -> Iterator[tuple[float, float, str, str]]:
    """Where each entry of the key stands, from the left and from above, with its colour and its name."""
    x, y = 0.0, 0.0
    for colour, name in figure.key:
        room = 18 + LETTER * len(name) + 14
        if x and x + room > width:
            x, y = 0.0, y + _LINE
        yield x, y, colour, visible(name)
        x += room


def _key_height(figure: Figure | Panels, width: float) -> float:
    return max((y + _LINE + 8 for _, y, _, _ in _places(figure, width)), default=4.0)


def _key(figure: Figure | Panels, width: float) -> Iterator[ElementTree.Element]:
    for x, y, colour, name in _places(figure, width):
        square = {"x": f"{x:g}", "y": f"{y + 4:g}", "width": "12", "height": "12", "rx": "2", "fill": COLOURS[colour]}
        yield ElementTree.Element("rect", square)
        yield _text(x + 18, y + 15, name)
