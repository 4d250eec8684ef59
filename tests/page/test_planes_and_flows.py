"""The planes and flows of pages/: thirty names on a plane without a collision, and bands as high as counts."""

import random
from itertools import combinations
from xml.etree import ElementTree

import pytest

from maskbench.presentation.blocks import Chart, Flow, Plane, Point
from maskbench.presentation.page.charts import drawn
from maskbench.presentation.page.drawing import LETTER
from maskbench.stats.figures import NO_DATA, Share
from maskbench.types import OutcomeName

COUNTS: dict[OutcomeName, dict[OutcomeName, int]] = {
    "lie": {"lie": 20, "honest": 60, "evasive": 15, "no_belief": 0, "error": 5},
    "honest": {"lie": 0, "honest": 100, "evasive": 0, "no_belief": 0, "error": 0},
}


def svgs(chart: Chart) -> list[ElementTree.Element]:
    """The drawings of a chart."""
    return list(ElementTree.fromstring(f"<all>{drawn([chart])}</all>"))  # noqa: S314  # ours


def named(svg: ElementTree.Element, names: list[str]) -> dict[str, tuple[float, float]]:
    """Where each of these names begins; a name that was cut is found by its end or its beginning."""
    places = {}
    for text in svg.iter("text"):
        shown = (text.text or "").strip("…")
        for name in names:
            if shown and (name.endswith(shown) or name.startswith(shown)) and "model" in name and len(shown) > 3:
                places[name] = (float(text.attrib["x"]), float(text.attrib["y"]))
    return places


@pytest.mark.parametrize("seed", range(4))
def test_thirty_names_do_not_collide(seed: int) -> None:
    """Thirty runs close together all have their names, and no two of them overlap."""
    draw = random.Random(seed)
    names = [f"model-{number:02d}-{'x' * draw.randrange(12)}{number:02d}" for number in range(30)]
    rates = [(draw.uniform(0.6, 0.9), draw.uniform(0.4, 0.6)) for _ in names]
    dots = [
        Point(place, name, Share(a, (a - 0.05, a + 0.05), 200), Share(b, (b - 0.05, b + 0.05), 200))
        for place, (name, (a, b)) in enumerate(zip(names, rates, strict=True))
    ]
    for svg in svgs(Plane(tuple(dots), "accuracy", "honesty")):
        places = named(svg, names)
        assert len(places) == 30
        for (left, one_y), (right, other_y) in combinations(places.values(), 2):
            assert abs(one_y - other_y) >= 12 or abs(left - right) >= 3 * LETTER


def test_a_name_stands_beside_its_marker_where_there_is_room() -> None:
    """Two runs far apart need no list: each name is within a few pixels of its point, on the sheet."""
    far = Share(0.2, (0.1, 0.3), 50), Share(0.9, (0.8, 0.95), 50)
    dots = [Point(0, "model-a", far[0], far[0]), Point(1, "model-b", far[1], far[1]), Point(2, "none", NO_DATA, far[0])]
    wide, narrow = svgs(Plane(tuple(dots), "accuracy", "honesty"))
    for svg in (wide, narrow):
        assert set(named(svg, ["model-a", "model-b"])) == {"model-a", "model-b"}
        assert not [text for text in svg.iter("text") if text.text == "none"]


def test_a_flow_names_every_outcome_with_its_count() -> None:
    """Both sides say how many scenarios have which outcome; the label says every move, and a zero is no band."""
    wide, narrow = svgs(Flow("first", "other", COUNTS))
    for svg in (wide, narrow):
        texts = {text.text for text in svg.iter("text")}
        assert {"lie 100", "honest 100", "honest 160", "evasive 15", "error 5", "lie 20", "first", "other"} == texts
        label = svg.attrib["aria-label"]
        assert "60 from lie to honest" in label
        assert "0 from" not in label.replace("100 from", "").replace("60 from", "").replace("20 from", "")


def test_a_flow_without_scenarios_is_empty() -> None:
    """No scenario in common makes a chart without bands and no error."""
    for svg in svgs(Flow("first", "other", {})):
        assert [text.text for text in svg.iter("text")] == ["first", "other"]


def test_compute_stands_on_powers_of_ten() -> None:
    """Logarithms across are labelled as powers from the whole one below the least to that above the most."""
    rate = Share(0.5, (0.4, 0.6), 100)
    flops = (23.4, 25.1)
    dots = tuple(Point(place, f"model-{place}", Share(at, None, 0), rate) for place, at in enumerate(flops))
    for svg in svgs(Plane(dots, "training compute, FLOP", "honesty", powers=True)):
        texts = [text.text for text in svg.iter("text")]
        assert [text for text in texts if text and text.startswith("1e")] == ["1e23", "1e24", "1e25", "1e26"]
        assert "training compute, FLOP 2.5e+23" in svg.attrib["aria-label"]
