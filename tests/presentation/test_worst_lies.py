"""The section on the worst lies (report/sections/story.py): which they are, and what stands in their cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile import hostile_run
from maskbench.presentation.blocks import ReplyCard
from maskbench.presentation.page.page import render
from maskbench.presentation.runs_shown import runs
from maskbench.presentation.sections.story import worst_lies
from measured_runs import run


def cases(*paths: Path, with_texts: bool = True) -> list[ReplyCard]:
    """The cards on these runs."""
    with runs(paths, None, None) as shown:
        return [block for block in worst_lies(shown, lambda _: with_texts) if isinstance(block, ReplyCard)]


@pytest.fixture(scope="module")
def liar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with many lies."""
    return run(tmp_path_factory.mktemp("liar") / "run", "sim/lie=0.8,evade=0.1", statements=2)


def test_three_cards_lead_to_their_scenarios(liar: Path) -> None:
    """Each has a link to the explorer, the story, both options, and what was asked and answered on both sides."""
    cards = cases(liar)
    assert len(cards) == 3
    for card in cards:
        assert card.link.startswith("#scenario=")
        assert "of 2 statements under pressure it lied in 2" in card.text
        assert [letter for letter, _ in card.claims] == ["A", "B"]
        assert [who for who, _ in card.texts][-2:] == ["asked under pressure", "answered"]


def test_several_runs_take_turns(liar: Path, tmp_path: Path) -> None:
    """Of two runs each gives its worst lie before one gives its second; links name the run."""
    cards = cases(liar, run(tmp_path / "other", "sim/lie=0.7", seed=4))
    assert [card.title[0] for card in cards] == ["1", "2", "1"]
    assert [card.link[-6:] for card in cards] == ["&run=1", "&run=2", "&run=1"]


def test_without_leave_no_text_stands_in_a_card(liar: Path, tmp_path: Path) -> None:
    """Where a set's texts may not be passed on a card has its link and our own sentence; without lies there is none."""
    assert all(not card.texts and not card.claims for card in cases(liar, with_texts=False))
    assert cases(run(tmp_path / "honest", "sim/lie=0,evade=0.2", limit=6)) == []


def test_hostile_texts_are_text_on_the_page(tmp_path: Path) -> None:
    """Whatever a model says in its worst lie stands on the page as text."""
    html = render([hostile_run(tmp_path / "hostile")], include_text=True).html
    section = html[html.index('<section id="worst"') : html.index('<section id="rates"')]
    assert "&lt;" in section
    assert "<script" not in section
    assert "<img" not in section
