"""The figures of a report as files for a paper: SVG, PDF and PNG for one column and for two, and the values as CSV.

A figure file is drawn by the code that draws the page, in the page's light colours, on white, with the key above it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from markupsafe import escape

from maskbench.errors import UsageError
from maskbench.pages.charts import draw
from maskbench.pages.drawing import LETTER, WIDTHS, Sheet, Variant
from maskbench.plain import unformula, visible
from maskbench.presentation.blocks import (
    Bars,
    Chart,
    Curve,
    Figure,
    Flow,
    Key,
    Panels,
    Plane,
    Points,
    Section,
    seen,
)
from maskbench.stats.figures import Share

Columns = Literal["column", "two_columns"]
_WIDTHS: Mapping[Columns, Variant] = {"column": "narrow", "two_columns": "wide"}  # 90 and 186 mm, at 96 to the inch
_MILLIMETRE = 25.4 / 96
_INCH = 300  # pixels of a PNG to the inch
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
_COLOUR = re.compile(r"var\(--[\w-]+, (#\w+)\)")
_GAP, _LINE = 16.0, 22.0  # pixels between two drawings, and of a line of text
_HEAD = ("label", "what", "value", "low95", "high95", "n")


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
    page = _page(figure, _WIDTHS[columns])
    size = "".join(
        f' {name}="{pixels * _MILLIMETRE:.1f}mm"' for name, pixels in zip(("width", "height"), page.size, strict=True)
    )
    box = " ".join(f"{pixels:g}" for pixels in page.size)
    return _COLOUR.sub(
        r"\1",
        f'<svg xmlns="http://www.w3.org/2000/svg"{size} viewBox="0 0 {box}" font-family="{_FONT}">'
        f"<title>{escape(visible(figure.title))}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>{page.inside}</svg>',
    )


def _named(sections: Iterable[Section]) -> Iterator[tuple[str, Figure | Panels]]:
    for section in sections:
        figures = [part for part in seen(section.parts, "page") if isinstance(part, (Figure, Panels))]
        for place, figure in enumerate(figures, 1):
            name = section.anchor.replace("-", "_")
            yield (name if place == 1 else f"{name}_{place}"), figure


def _files(folder: Path, name: str, figure: Figure | Panels) -> Iterator[Path]:
    import vl_convert  # 0.6 s, and a page needs none

    for columns in _WIDTHS:
        svg = picture(figure, columns)
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
                    yield _line(
                        _under(heading, row.label), "difference" if chart.differences else chart.axis, row.estimate
                    )
        case Curve():
            yield from (
                _line(line.label, f"{chart.across.partition(',')[0]} = {at:g}", rate)
                for line in chart.lines
                for at, rate in line.points.items()
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


def _line(label: str, what: str, estimate: Share) -> tuple[object, ...]:
    """One value; csv leaves the cells of what is None empty."""
    return visible(label), visible(what), estimate.value, estimate.low, estimate.high, estimate.n


def _under(heading: str, label: object) -> str:
    return ": ".join(filter(None, (heading, str(label))))


# The picture


def _page(figure: Figure | Panels, variant: Variant) -> Sheet:
    """The key, below it the charts below each other, or the panels side by side as far as there is room."""
    page = Sheet(WIDTHS[variant], 0, figure.title)
    x, y, tallest = 0.0, _key(page, figure.key), 0.0
    for drawing in _drawings(figure, variant):
        width, height = drawing.size
        if x and x + width > page.width + 1:
            x, y, tallest = 0.0, y + tallest + _GAP, 0.0
        page.put(drawing, x, y)
        x, tallest = x + width + _GAP, max(tallest, height)
    page.height = y + tallest
    return page


def _drawings(figure: Figure | Panels, variant: Variant) -> Iterator[Sheet]:
    if isinstance(figure, Figure):
        yield from (draw(chart, variant) for chart in figure.charts)
        return
    for panel in figure.panels:
        if panel.charts:
            yield _below(panel.title, [draw(chart, "single") for chart in panel.charts])


def _below(title: str, charts: Sequence[Sheet]) -> Sheet:
    """Charts below a title."""
    together = Sheet(WIDTHS["single"], _LINE, title)
    together.text(0, 10, title, bold=True)
    for chart in charts:
        together.put(chart, 0, together.height)
        together.height += chart.size[1]
    return together


def _key(page: Sheet, key: Key) -> float:
    """Draw a swatch and a name for each entry of the key, in as many lines as it takes; gives where it ends."""
    x, y = 0.0, 0.0
    for colour, name in key:
        room = 18 + LETTER * len(name) + 14
        if x and x + room > page.width:
            x, y = 0.0, y + _LINE
        page.bar((x, x + 12), (y + 4, y + 16), colour)
        page.text(x + 18, y + 11, name)
        x += room
    return y + _LINE + 8 if key else 4.0
