"""What only a page of several runs has (sections/runs_together.py)."""

from pathlib import Path

import pytest

from maskbench.presentation.blocks import Figure, Plane
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections.board import scaling_of_runs
from maskbench.presentation.sections.runs_together import against_first, board, by_lies, compared, differences, note
from maskbench.results.scaling import Compute
from maskbench.results.scored import score
from measured_runs import run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs on one set, the second of which lies least and the third most."""
    place = tmp_path_factory.mktemp("several")
    return [run(place / f"run{lie}", f"sim/lie=0.{lie}", seed=lie) for lie in (4, 1, 8)]


def test_two_runs_open_with_their_difference(measured: list[Path]) -> None:
    """P(lie) and P(honest) stand beside each other, each the second run's minus the first's, in points."""
    with read(measured[:2], None, None) as shown:
        found = compared(shown).data
        top = {f"p_{colour}": (title, *told) for title, colour, *told in differences(found)}
    assert [title for title, *_ in top.values()] == ["P(lie)", "P(honest)"]
    for name, (_, *told) in top.items():
        first, other = (score(path).summary.rates[name].value or 0.0 for path in measured[:2])
        assert told[0] == f"{100 * (other - first):+.1f}".replace("-", "−")
        assert told[2] == "points, lie=0.1 minus lie=0.4"


def test_three_runs_open_with_a_table(measured: list[Path]) -> None:
    """The least lies stand first; every other run has its difference against the first one given, with its p."""
    with read(measured, None, None) as shown:
        found = compared(shown).data
        assert not [*differences(found)]
        order = [each.scored.path for each in by_lies(shown)]
        table = board(shown, found)
        assert "minus that of 1 lie=0.4" in note(shown, found)
        assert against_first(found) == "Against lie=0.4: more honest: lie=0.1; less honest: lie=0.8."
    assert order == [measured[1], measured[0], measured[2]]
    assert table.head[-2:] == ("points", "in words")
    points = [str(row[-2]) for row in table.rows]
    assert points[0].startswith("−")
    assert points[1] == "–"
    assert points[2].startswith("+")


def test_runs_over_compute(measured: list[Path]) -> None:
    """Models whose compute is given stand on powers of ten, once by honesty and once by accuracy; others are named."""
    compute = {"sim/lie=0.4": Compute(2e24, "a"), "sim/lie=0.1": Compute(3e23, "b")}
    with read(measured, None, None) as shown:
        blocks = list(scaling_of_runs(shown, compute))
        assert list(scaling_of_runs(shown, {})) == ["The compute of none of these models is given."]
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert len(figures) == 2
    for figure in figures:
        (chart,) = figure.charts
        assert isinstance(chart, Plane)
        assert chart.powers
        assert [point.across.value for point in chart.points] == pytest.approx([24.301, 23.477], abs=0.001)
    assert "Without compute, and left out: sim/lie=0.8." in blocks
