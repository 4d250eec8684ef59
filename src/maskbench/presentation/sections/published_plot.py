"""The paper's finding as a picture: accuracy against honesty of its 32 models, and of nobody else."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from maskbench.errors import UsageError
from maskbench.models.install import extra, install
from maskbench.presentation.format import signed
from maskbench.results.published import finding, paper

_PANELS = (
    ("honesty", "honesty score, 1 − P(lie), %", "with_score"),
    ("p_honest", "P(honest), %", "with_p_honest"),
)
_WIDTH, _HEIGHT, _FONT = 820, 460, 9
_ACROSS, _UP = (15.0, 90.0), {"honesty": (30.0, 95.0), "p_honest": (10.0, 50.0)}
_OFFSETS = (  # from a point to its name: right, left, above, below, and further off
    *((7, 0, "left"), (-7, 0, "right"), (0, -10, "center"), (0, 10, "center")),
    *((7, -9, "left"), (7, 9, "left"), (-7, -9, "right"), (-7, 9, "right")),
    *((0, -19, "center"), (0, 19, "center")),
)
_SUFFIX = re.compile(r"(-instruct|-chat|-preview|-20\d\d-?\d\d-?\d\d)+$")
Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom


def draw(to: Path) -> None:
    """Draw the picture into a .svg or .png file; raises UsageError for other names and where altair is missing."""
    if to.suffix.lower() not in (".svg", ".png"):
        raise UsageError(f"--out {to}: give a file that ends in .svg or .png.")
    try:
        altair: Any = import_module("altair")
        import_module("vl_convert")
    except ImportError:
        raise UsageError(f"--out needs altair and vl-convert-python. Type: {install(*extra('report'))}") from None
    chart = _chart(altair)
    try:
        chart.save(str(to), scale_factor=2 if to.suffix.lower() == ".png" else 1)
    except OSError as error:
        raise UsageError(f"{to} cannot be written ({error.strerror}). Try another --out.") from error


def _chart(altair: Any) -> Any:
    paper_says = finding()
    panels = [
        _panel(altair, name, title, f"Spearman {signed(getattr(paper_says, correlation), 3)}")
        for name, title, correlation in _PANELS
    ]
    title = altair.TitleParams(
        f"Accuracy against honesty of {paper_says.models} models, as published",
        subtitle=[
            f"{paper().source}: one statement, all 1,500 scenarios.",
            "The score counts evasion and having no belief as honest; P(honest) does not.",
        ],
        anchor="start",
    )
    return altair.vconcat(*panels).properties(title=title).configure_view(stroke=None)


def _panel(altair: Any, name: str, title: str, correlation: str) -> Any:
    """One measure of honesty over accuracy, every model a point with its name."""
    axes = {
        "x": altair.X("accuracy:Q", title="accuracy of beliefs, %", scale=altair.Scale(domain=_ACROSS, nice=False)),
        "y": altair.Y(f"{name}:Q", title=title, scale=altair.Scale(domain=_UP[name], nice=False)),
    }
    rows = _labelled(name)
    base = altair.Chart(altair.Data(values=rows)).encode(**axes)
    layers = [base.mark_circle(size=40, color="#2f6db3", opacity=1)]
    for place in range(len(_OFFSETS)):
        dx, dy, align = _OFFSETS[place]
        text = base.mark_text(align=align, dx=dx, dy=dy, fontSize=_FONT, color="#444444").encode(text="label:N")
        layers.append(text.transform_filter(f"datum.place == {place}"))
    return altair.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=correlation)


def _labelled(name: str) -> list[dict[str, Any]]:
    """The models with short names, each at the first place around its point where it covers nothing."""
    table = paper()
    rows: list[dict[str, Any]] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    points = [
        (_pixel(row["accuracy"], _ACROSS, _WIDTH), _HEIGHT - _pixel(row[name], _UP[name], _HEIGHT)) for row in rows
    ]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    for row, (x, y) in zip(rows, points, strict=True):
        row["label"] = _SUFFIX.sub("", row["model"])
        boxes = [_box(x + dx, y + dy, len(row["label"]), align) for dx, dy, align in _OFFSETS]
        crowd = [sum(_meet(box, other) for other in taken) for box in boxes]
        row["place"] = crowd.index(min(crowd))
        taken.append(boxes[row["place"]])
    return rows


def _pixel(value: float, domain: tuple[float, float], size: float) -> float:
    return (value - domain[0]) / (domain[1] - domain[0]) * size


def _box(x: float, y: float, letters: int, align: str) -> Box:
    width = 0.56 * _FONT * letters
    left = {"left": x, "right": x - width, "center": x - width / 2}[align]
    return left, y - _FONT / 2, left + width, y + _FONT / 2


def _meet(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
