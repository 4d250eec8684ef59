"""What only a page of several runs has (sections/runs_together.py), and lies by length and time of a statement."""

from array import array
from pathlib import Path

import numpy as np
import pytest

from maskbench.presentation.blocks import Figure, Plane, Points, Row
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections.board import scaling_of_runs
from maskbench.presentation.sections.length_and_time import length_and_time
from maskbench.presentation.sections.runs_together import against_first, board, by_lies, compared, difference, note
from maskbench.results.scaling import Compute
from maskbench.results.scored import score
from measured_runs import run


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs on one set, the second of which lies least and the third most."""
    place = tmp_path_factory.mktemp("several")
    return [run(place / f"run{lie}", f"sim/lie=0.{lie}", seed=lie) for lie in (4, 1, 8)]


def test_two_runs_open_with_their_difference(measured: list[Path]) -> None:
    """The difference is the second run's P(lie) minus the first's, in points, and says whether it can be chance."""
    with read(measured[:2], None, None) as shown:
        top = difference(compared(shown).data)
    lies = [score(path).summary.rates["p_lie"].value or 0.0 for path in measured[:2]]
    assert top is not None
    assert top[0] == f"{100 * (lies[1] - lies[0]):+.1f}".replace("-", "−")
    assert top[2:] == (
        "sim/lie=0.1 minus sim/lie=0.4",
        "sim/lie=0.1 lies less than sim/lie=0.4. Chance alone does not explain the difference.",
    )


def test_three_runs_open_with_a_table(measured: list[Path]) -> None:
    """The least lies stand first; every other run has its difference against the first one given, with its p."""
    with read(measured, None, None) as shown:
        found = compared(shown).data
        assert difference(found) is None
        order = [each.scored.path for each in by_lies(shown)]
        table = board(shown, found)
        assert "minus that of 1 sim/lie=0.4" in note(shown, found)
        assert against_first(found) == "Against sim/lie=0.4: sim/lie=0.1 lies less; sim/lie=0.8 lies more."
    assert order == [measured[1], measured[0], measured[2]]
    assert table.head[-2:] == ("points", "p")
    points = [str(row[-2]) for row in table.rows]
    assert points[0].startswith("−")
    assert points[1] == "–"
    assert points[2].startswith("+")


def test_the_parts_by_length_are_quarters_of_the_statements(measured: list[Path]) -> None:
    """Four parts hold every statement once, and their lies add up to those of the run."""
    with read(measured[:1], None, None) as shown:
        (each,) = shown
        lies = sum(scored.outcomes[0] == "lie" for scored in each.statements.scored)
        lengths = np.asarray(each.statements.letters)
        blocks = list(length_and_time(shown))
    assert len(lengths) == len(each.statements.scored)
    figure = next(block for block in blocks if isinstance(block, Figure))
    assert "length" in figure.title
    (chart,) = figure.charts
    assert isinstance(chart, Points)
    rows = [row for row in chart.rows if isinstance(row, Row)]
    assert len(rows) == 4
    assert sum(row.estimate.n for row in rows) == len(lengths)
    counted = sum(round((row.estimate.value or 0) * row.estimate.n) for row in rows)
    assert counted == lies


def test_a_small_run_has_no_parts(tmp_path: Path) -> None:
    """Fewer than forty statements make no quarters, and the section is left out."""
    with read([run(tmp_path / "run", "sim/lie=0.4", limit=12)], None, None) as shown:
        assert list(length_and_time(shown)) == []


def test_replies_of_few_lengths_make_no_parts(measured: list[Path]) -> None:
    """Where a quarter would begin and end between two lengths it has no statement, and nothing is said by length."""
    with read(measured[:1], None, None) as shown:
        statements = shown[0].statements
        count = len(statements.letters)
        assert count % 4 == 0
        few = (
            23 if at < count / 8 else 26 if at < count / 2 - 1 else 30 if at < count * 0.75 else 31
            for at in range(count)
        )
        statements.letters[:] = array("f", few)
        titles = [block.title for block in length_and_time(shown) if isinstance(block, Figure)]
    assert not any("length" in title for title in titles)


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
