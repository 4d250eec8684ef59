"""Sections that a terminal and a page show: every sentence, figure and label of the one stands on the other."""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from test_labels import by_judge, give, sampled

from maskbench.interventions.dose.arms import measure_doses
from maskbench.interventions.dose.record import Plan
from maskbench.pages import dose_page
from maskbench.pages.page import render
from maskbench.presentation.blocks import Block, Facts, Heading, Only, Section, Sentence, Table, Warn, seen, text_of
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections import doses, people
from maskbench.runs.folder import RunFolder
from maskbench.runs.watching import Unwatched
from measured_runs import run, settings


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


def test_doses(tmp_path: Path) -> None:
    """A dose curve's sections, its finding and its words stand on its page."""
    base = settings("sim", limit=12)
    plan = Plan(kind="prompts", base=base, doses=("honest", "placebo"), dev_statements=1)
    data = measure_doses(plan, tmp_path, {}, lambda title, folder: Unwatched())
    blocks = list(doses.blocks(data))
    assert len([block for block in blocks if isinstance(block, Section)]) == 5
    assert missing(blocks, dose_page.render(tmp_path).html) == []
