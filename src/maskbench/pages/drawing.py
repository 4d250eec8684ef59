"""A sheet that charts are drawn on: Vega-Lite's marks and axes on scales in pixels; out comes one clean inline SVG.

The specifications are written out: Altair would check each of them against its schema, which takes three times as long
as drawing them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import vl_convert
from markupsafe import Markup

from maskbench.plain import visible

# Every colour by its name in page.css, which has a value for light and for dark; here the light one, for an SVG alone.
COLOURS = {
    "ink": "#1d1c1a",
    "soft": "#5c5850",
    "line": "#dcd8ce",
    "faint": "#ebe8e0",
    "paper": "#fcfbf8",
    "honest": "#004f80",
    "lie": "#c84c00",
    "evasive": "#e9b44c",
    "no-belief": "#9d988e",
    "error": "#7a4a78",
    "evasive-line": "#b98500",
    "no-belief-line": "#847f75",
    "on-honest": "#ffffff",
    "on-lie": "#ffffff",
    "on-evasive": "#1d1c1a",
    "on-no-belief": "#1d1c1a",
    "firm": "#35596b",
    "loose": "#7fa0b1",
    "unknown": "#c3d3da",
    "on-firm": "#ffffff",
    "on-loose": "#1d1c1a",
    "on-unknown": "#1d1c1a",
    "run-1": "#24221f",
    "run-2": "#7d3073",
    "run-3": "#00807a",
    "run-4": "#7a5c00",
    "run-5": "#4a57b5",
}
SIZE = 13  # of text, in pixels
LETTER = 7.3  # pixels that one letter of that size takes in a wide font

Span: TypeAlias = tuple[float, float]
Datum: TypeAlias = Mapping[str, float | str]  # a mark: its places, its colour, its text
Spec: TypeAlias = Mapping[str, object]  # a part of a specification of Vega-Lite
_DROPPED = ("class", "role", "pointer-events", "font-family", "stroke-miterlimit", "version")
_FRAMES = ("background", "foreground")  # that Vega puts around every group


@dataclass(frozen=True, slots=True)
class Scale:
    """Values of `domain` on pixels of `pixels`; `ticks` are labelled and have a line across the sheet."""

    domain: Span
    pixels: Span
    ticks: tuple[float, ...] = ()
    labels: str = "format(datum.value, 'd')"  # a Vega expression
    title: str | None = None

    def at(self, pixel: float) -> float:
        """The value that stands at this pixel, inside the domain or not."""
        (low, high), (start, end) = self.domain, self.pixels
        return low + (pixel - start) / (end - start) * (high - low)


PERCENT = "round(100 * datum.value) + ' %'"
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(slots=True)
class Sheet:
    """A sheet of so many pixels; positions are values of its scales. Sorts of marks lie over those drawn before."""

    width: float
    height: float
    x: Scale
    y: Scale
    left: float = 0  # pixels beside, above and below the sheet, for the labels of its axes
    above: float = 0
    below: float = 0
    _layers: list[dict[str, Any]] = field(default_factory=list)

    def bars(self, rows: Iterable[tuple[Span, Span, str]], **mark: Any) -> None:
        """Filled rectangles: from and to on x, from and to on y, colour."""
        self._add(_spans(rows), "rect", {**_ENDS, "color": _COLOUR}, **mark)

    def rules(self, rows: Iterable[tuple[Span, Span, str]], width: float = 1, **mark: Any) -> None:
        """Straight lines: from and to on x, from and to on y, colour."""
        self._add(_spans(rows), "rule", {**_ENDS, "color": _COLOUR}, strokeWidth=width, **mark)

    def slants(self, rows: Iterable[tuple[Span, Span, str]], **mark: Any) -> None:
        """Thin straight lines from a point to a point: x and y of each, colour."""
        ends: list[Datum] = [
            {"x": start[0], "y": start[1], "x2": end[0], "y2": end[1], "colour": colour} for start, end, colour in rows
        ]
        self._add(ends, "rule", {**_ENDS, "color": _COLOUR}, strokeWidth=0.8, **mark)

    def dots(self, rows: Iterable[tuple[float, float, str]], size: float = 90, **mark: Any) -> None:
        """Filled points with a thin edge of paper: x, y, colour."""
        dots: list[Datum] = [{"x": x, "y": y, "colour": colour} for x, y, colour in rows]
        filled = {"filled": True, "size": size, "stroke": "paper", "strokeWidth": 1.5, "opacity": 1}
        self._add(dots, "point", {"fill": _COLOUR}, **filled | mark)

    def line(self, points: Iterable[Span], colour: str, **mark: Any) -> None:
        """A line through points."""
        self._add([{"x": x, "y": y} for x, y in points], "line", {}, **{"color": colour} | mark)

    def band(self, points: Iterable[tuple[float, float, float]], colour: str, **mark: Any) -> None:
        """A filled band: x, and from and to on y."""
        rows = [{"x": x, "y": low, "y2": high} for x, low, high in points]
        self._add(rows, "area", {"y2": _ENDS["y2"]}, **{"color": colour} | mark)

    def texts(self, rows: Iterable[tuple[float, float, str, str]], align: str = "left", **mark: Any) -> None:
        """Lines of text around their middle: x, y, text, colour."""
        texts: list[Datum] = [{"x": x, "y": y, "text": visible(text), "colour": colour} for x, y, text, colour in rows]
        look = {"align": align, "baseline": "middle", "fontSize": SIZE, "limit": 0} | mark
        self._add(texts, "text", {"text": {"field": "text", "type": "nominal"}, "color": _COLOUR}, **look)

    def svg(self, label: str, variant: str) -> Markup:
        """The sheet as SVG, to be read out as `label`; `variant` is its class: wide, narrow, or single for both."""
        spec = {
            "width": self.width,
            "height": self.height,
            "padding": {"left": self.left, "top": self.above, "right": 0, "bottom": self.below},
            "autosize": "none",
            "layer": self._layers,
            "config": _LOOK,
        }
        return _cleaned(vl_convert.vegalite_to_svg(spec), visible(label), variant)

    def _add(self, rows: Sequence[Datum], kind: str, encoding: Spec, **mark: Any) -> None:
        """Marks of one sort share a layer, since every layer takes time; only lines and bands have their own."""
        alike = next(
            (
                layer
                for layer in self._layers
                if layer["mark"] == {"type": kind, **mark} and kind not in ("line", "area")
            ),
            None,
        )
        if alike:
            alike["data"]["values"] += rows
        elif rows:
            places = {"x": _position(self.x), "y": _position(self.y)}
            scaled = {name: {"field": name, "type": "quantitative", **places[name]} for name in ("x", "y")}
            layer = {"data": {"values": [*rows]}, "mark": {"type": kind, **mark}, "encoding": {**scaled, **encoding}}
            self._layers.append(layer)


def _spans(rows: Iterable[tuple[Span, Span, str]]) -> list[Datum]:
    return [{"x": x[0], "x2": x[1], "y": y[0], "y2": y[1], "colour": colour} for x, y, colour in rows]


_ENDS: Spec = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
_COLOUR: Spec = {"field": "colour", "type": "nominal", "scale": None, "legend": None}
_AXIS = {
    "labelColor": "soft",
    "titleColor": "soft",
    "gridColor": "line",
    "domain": False,
    "ticks": False,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelPadding": 6,
    "titlePadding": 4,
    "labelOverlap": False,
    "labelFlush": True,
}
_LOOK: Spec = {
    "view": {"stroke": None},
    "background": "transparent",
    "axis": _AXIS,
    "axisY": {"labelFlush": False},
    "aria": False,
}


def _position(scale: Scale) -> Spec:
    """An axis only where there are ticks; pixels count from the top left."""
    scaled = {"domain": list(scale.domain), "range": list(scale.pixels), "nice": False, "zero": False}
    axis = {"values": list(scale.ticks), "labelExpr": scale.labels, "title": scale.title} if scale.ticks else None
    return {"scale": scaled, "axis": axis}


def _cleaned(svg: str, label: str, variant: str) -> Markup:
    """The SVG without anything that a page has already, or that could collide in it: names, ids, roles, fonts."""
    root = ElementTree.fromstring(svg)  # noqa: S314  # vl-convert wrote it a moment ago
    clean = ElementTree.Element(
        "svg",
        {
            "class": f"chart {variant}",
            "viewBox": root.attrib["viewBox"],
            "width": root.attrib["width"],
            "height": root.attrib["height"],
            "role": "img",
            "aria-label": label,
        },
    )
    clean.extend(_plain(root))
    return Markup(ElementTree.tostring(clean, "unicode"))  # noqa: S704  # as a tree it was escaped whole


def _plain(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The children of an element, cleaned; groups that do nothing give way to what is in them."""
    for child in parent:
        tag = child.tag.rpartition("}")[2]
        inner = list(_plain(child))
        if tag == "defs" or _is_nothing(tag, child) or (tag == "g" and not inner):
            continue
        kept = {name: _coloured(value) for name, value in child.items() if _matters(name, value)}
        if tag == "g" and not kept.keys() - {"fill"}:
            yield from inner
            continue
        element = ElementTree.Element(tag, kept)
        element.text = child.text
        element.extend(inner)
        yield element


def _is_nothing(tag: str, element: ElementTree.Element) -> bool:
    frame = tag == "path" and element.get("class") in _FRAMES
    return frame or (tag == "rect" and element.get("fill") == "transparent")


def _matters(name: str, value: str) -> bool:
    return name not in _DROPPED and not name.startswith("aria-") and (name, value) != ("opacity", "1")


def _coloured(value: str) -> str:
    """A colour as the page's, which changes in the dark; anything else as it is."""
    return f"var(--{value}, {COLOURS[value]})" if value in COLOURS else value
