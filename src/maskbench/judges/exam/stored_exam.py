"""Which stored exam is of the judge of a run, asked as it was asked there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from maskbench.errors import MaskbenchError, UsageError
from maskbench.judges.exam.exam_json import ExamRecord
from maskbench.judges.exam.papers import paper_for
from maskbench.judges.exam.questions import Paper
from maskbench.judges.exam.sitting import EXAM, Result, record_of, stored_result
from maskbench.settings import Settings


def exam_of(judge: str, settings: Settings, prompts: str, places: Iterable[Path]) -> Result | None:
    """The last exam below these folders that this judge sat, asked as in the settings of a run; None for none.

    `prompts` is the hash of the run's judge prompts, which a judge that is a rule does not read. An exam on a paper
    that this version does not have, and one that is damaged, tell nothing.
    """
    fitting = [
        (about.created, folder, about)
        for folder, about in _records(places)
        if about.judge == judge and _asked_alike(about, settings, prompts)
    ]
    for _, folder, about in sorted(fitting, key=lambda each: each[:2], reverse=True):
        if (paper := _paper(about)) is not None:
            return stored_result(folder, paper)
    return None


def _paper(about: ExamRecord) -> Paper | None:
    """The paper that was sat, whole or short, if it is one of now."""
    for in_short in (False, True):
        try:
            paper = paper_for(about.judge, in_short)
        except UsageError:  # no short paper for judges that read no language
            continue
        if (paper.name, paper.hash) == (about.paper.name, about.paper.hash):
            return paper
    return None


def _records(places: Iterable[Path]) -> Iterator[tuple[Path, ExamRecord]]:
    for place in dict.fromkeys(place.resolve() for place in places):
        for file in sorted(place.glob(f"*/{EXAM}")) if place.is_dir() else ():
            try:
                yield file.parent, record_of(file.parent)
            except MaskbenchError:
                continue


def _asked_alike(about: ExamRecord, settings: Settings, prompts: str) -> bool:
    how = about.settings
    same = (how.style, how.sampling) == (settings.judging.style, settings.judging.sampling)
    return same and (about.prompts.hash == prompts or not settings.judging.reads_prompts)
