"""The charts of a figure, drawn: each kind of data by the one function that draws it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from maskbench.pages.charts import bars, differences, flow, points
from maskbench.pages.dose_curves import dose_curve
from maskbench.pages.planes import curve, plane
from maskbench.presentation.blocks import Bars, Chart, Curve, Differences, Flow, OverDose, Plane, Points


def drawn(charts: Sequence[Chart], *, panel: bool = False) -> Markup:
    """These charts, one below the other, in the widths that a page has, or in that of one panel of several."""
    return Markup().join(_draw(chart, panel=panel) for chart in charts)


def _draw(chart: Chart, *, panel: bool) -> Markup:
    match chart:
        case Bars():
            return bars(chart.mixes, thick=chart.thick, of=chart.of, panel=panel)
        case Points():
            return points(chart.rows, title=chart.axis, panel=panel)
        case Differences():
            return differences(chart.rows)
        case Curve():
            return curve(chart.lines)
        case Plane():
            return plane(chart)
        case Flow():
            return flow(chart)
        case OverDose():
            return dose_curve(chart)
