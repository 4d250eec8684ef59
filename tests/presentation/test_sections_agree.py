"""Sections that a terminal and a page show: every sentence, figure and label of the one stands on the other."""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_labels import by_judge, give, sampled

from maskbench.presentation.blocks import Block, Facts, Heading, Only, Section, Sentence, Table, Warn, seen, text_of
from maskbench.presentation.page.page import render
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections import people
from maskbench.store.folder import RunFolder
from measured_runs import run


def said(blocks: Sequence[Block | Section]) -> Iterator[str]:
    """Every sentence, label, head and cell that a medium of text shows, but what is declared to be for it alone."""
    for block in blocks:
        if isinstance(block, Only):
            continue
        if isinstance(block, Section):
            yield block.title
            yield from said(block.parts)
            continue
        for part in seen((block,), "text"):
            match part:
                case str():
                    yield part
                case Sentence() | Warn() | Heading():
                    yield part.text
                case Facts():
                    yield from (text for row in part.rows for text in row)
                case Table():
                    yield from (text_of(cell) for row in (part.head, *part.rows) for cell in row)


def missing(blocks: Sequence[Block | Section], page: str) -> list[str]:
    """What the terminal shows of these blocks and the page does not."""
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    return [text for text in said(blocks) if " ".join(text.split()) not in shown]


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a rater's labels."""
    path = run(tmp_path_factory.mktemp("agree") / "run", "sim/lie=0.4", judge="sim-judge/accuracy=0.86", limit=24)
    folder = RunFolder(path)
    labels, scenarios = sampled(folder, 12)
    give(labels, "Anna", by_judge(folder, scenarios))
    return path


def test_people(looked_at: Path) -> None:
    """People's labels are the same in both, for those who may not be told a rater's name."""
    with read([looked_at], None, None) as runs:
        blocks = list(people.of_runs(runs, lambda _: True))
    assert len(blocks) > 6
    assert missing(blocks, render([looked_at]).html) == []
