"""A sheet that charts are drawn on, in pixels; out comes one clean inline SVG.

Every element is written out. A grammar of graphics was measured beside it: Altair takes a second to load, checks and
draws a chart in 70 ms, and what it writes has to be cleaned of ids, roles and fonts before it can stand in a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, TypeAlias
from unicodedata import east_asian_width

from markupsafe import Markup, escape

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
Variant = Literal["wide", "narrow", "single"]
WIDTHS: Mapping[Variant, int] = {"wide": 704, "narrow": 342, "single": 336}  # pixels; single: one panel of several
SIZE = 13  # of text, in pixels
LETTER = 7.3  # pixels that one letter of that size takes in a wide font

Span: TypeAlias = tuple[float, float]
Align = Literal["start", "middle", "end"]
Tick = tuple[float, str]  # a value, and how it is written
QUARTERS: tuple[Tick, ...] = tuple((value / 100, f"{value} %") for value in (0, 25, 50, 75, 100))
_AXIS = 12  # size of an axis's text
_PEAK = sqrt(3) / 2  # of a triangle
_ARM = 0.4  # of a cross
_SHAPES: dict[str, Sequence[Span]] = {  # corners, around a middle from which they are 1 away
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle-up": ((0, -_PEAK), (1, _PEAK), (-1, _PEAK)),
    "diamond": ((0, -1), (1, 0), (0, 1), (-1, 0)),
    "triangle-down": ((0, _PEAK), (1, -_PEAK), (-1, -_PEAK)),
    "cross": (
        *((-1, -_ARM), (-_ARM, -_ARM), (-_ARM, -1), (_ARM, -1), (_ARM, -_ARM), (1, -_ARM)),
        *((1, _ARM), (_ARM, _ARM), (_ARM, 1), (-_ARM, 1), (-_ARM, _ARM), (-1, _ARM)),
    ),
    "triangle-right": ((_PEAK, 0), (-_PEAK, -1), (-_PEAK, 1)),
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from the one end of `domain` to the other on pixels from the one end of `pixels` to the other."""

    domain: Span
    pixels: Span

    def __call__(self, value: float) -> float:
        """The pixel on which the value stands."""
        (low, high), (start, end) = self.domain, self.pixels
        return start + (value - low) / (high - low) * (end - start)


@dataclass(slots=True)
class Sheet:
    """A sheet of so many pixels, counted from its top left; marks lie over those drawn before.

    `label` is what is read out in its place; `left`, `above` and `below` are room beside it, for axes.
    """

    width: float
    height: float
    label: str
    left: float = 0
    above: float = 0
    below: float = 0
    _marks: list[str] = field(default_factory=list)

    @property
    def size(self) -> Span:
        """Width and height with the room around it."""
        return self.left + self.width, self.above + self.height + self.below

    def bar(self, x: Span, y: Span, colour: str, opacity: float | None = None) -> None:
        """A filled rectangle, from and to on either axis."""
        (left, right), (top, bottom) = sorted(x), sorted(y)
        self._add("rect", x=left, y=top, width=right - left, height=bottom - top, fill=paint(colour), opacity=opacity)

    def rule(self, x: Span, y: Span, colour: str, width: float = 1, opacity: float | None = None, **look: str) -> None:
        """A straight line, from and to on either axis."""
        place = {"x1": x[0], "y1": y[0], "x2": x[1], "y2": y[1]}
        self._add("line", **place, stroke=paint(colour), stroke_width=width, opacity=opacity, **look)

    def dot(self, x: float, y: float, colour: str, shape: str = "circle", size: float = 10.5) -> None:
        """A point of a shape, so many pixels wide, with a thin edge of paper."""
        look = {"fill": paint(colour), "stroke": paint("paper")}
        if shape == "circle":
            self._add("circle", cx=x, cy=y, r=size / 2, stroke_width=1.5, **look)
        else:
            corners = [(x + size / 2 * right, y + size / 2 * down) for right, down in _SHAPES[shape]]
            self._add("path", d=f"{_through(corners)}Z", stroke_width=1.5, **look)

    def line(self, points: Sequence[Span], colour: str) -> None:
        """A line through points."""
        if points:
            self._add("path", d=_through(points), fill="none", stroke=paint(colour), stroke_width=1.5)

    def area(self, points: Sequence[Span], colour: str, opacity: float) -> None:
        """A filled area inside a line through points."""
        self._add("path", d=f"{_through(points)}Z", fill=paint(colour), opacity=opacity)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        align: Align = "start",
        *,
        colour: str = "ink",
        size: float = SIZE,
        bold: bool = False,
        turned: bool = False,
    ) -> None:
        """A line of text around its middle; turned, it is read from below."""
        look = {"fill": paint(colour), "text_anchor": None if align == "start" else align}
        look |= {"font_weight": "600" if bold else None}
        look |= {"transform": f"rotate(-90 {_number(x)} {_number(y)})" if turned else None}
        self._add("text", visible(text), x=x, y=y + 0.3 * size, font_size=size, **look)

    def across(self, scale: Scale, ticks: Iterable[Tick], title: str) -> None:
        """An axis below the sheet, with a line over the sheet at each tick; no label leaves it."""
        for value, label in ticks:
            x = scale(value)
            self.rule((x, x), (0, self.height), "line")
            half = LETTER * len(label) / 2
            align: Align = "start" if x - half < -self.left else "end" if x + half > self.width else "middle"
            self.text(x, self.height + 12, label, align, colour="soft", size=_AXIS)
        if title:
            self.text(sum(scale.pixels) / 2, self.height + 29, title, "middle", colour="soft", size=_AXIS)

    def up(self, scale: Scale, ticks: Iterable[Tick], title: str) -> None:
        """An axis on the left of the sheet, with a line over the sheet at each tick."""
        for value, label in ticks:
            y = scale(value)
            self.rule((0, self.width), (y, y), "line")
            self.text(-6, y, label, "end", colour="soft", size=_AXIS)
        self.text(8 - self.left, sum(scale.pixels) / 2, title, "middle", colour="soft", size=_AXIS, turned=True)

    def svg(self, variant: Variant) -> Markup:
        """The sheet as SVG, to be read out as its label; its class says where it is shown."""
        width, height = map(_number, self.size)
        place = f"{_number(self.left + 0.5)} {_number(self.above + 0.5)}"
        return Markup(  # noqa: S704  # every attribute and text was escaped
            f'<svg class="chart {variant}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            f' aria-label="{escape(visible(self.label))}">'
            f'<g transform="translate({place})">{"".join(self._marks)}</g></svg>'
        )

    def _add(self, tag: str, content: str = "", /, **attributes: str | float | None) -> None:
        written = " ".join(
            f'{name.replace("_", "-")}="{value if isinstance(value, str) else _number(value)}"'
            for name, value in attributes.items()
            if value is not None
        )
        self._marks.append(f"<{tag} {written}>{escape(content)}</{tag}>" if content else f"<{tag} {written}/>")


def fitting(text: str, pixels: float) -> str:
    """The text cut to so many pixels, as far as one can tell without its font; East Asian letters are twice as wide."""
    room = max(4.0, pixels / LETTER)
    for at, letter in enumerate(text):
        room -= 2 if east_asian_width(letter) in "WF" else 1
        if room < 0:
            return f"{text[: max(0, at - 1)].rstrip()}…"
    return text


def paint(colour: str) -> str:
    """A colour as the page's, which changes in the dark."""
    return f"var(--{colour}, {COLOURS[colour]})"


def _through(points: Sequence[Span]) -> str:
    return "M" + "L".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"
