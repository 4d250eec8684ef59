"""An exam as a card for others: who judged, which paper, and how many were right; no text, address, path or key."""

from __future__ import annotations

from typing import Final, Literal

import orjson
from msgspec import Struct, to_builtins

from maskbench.method.forms import form_of
from maskbench.results.shown_to_others import Redaction
from maskbench.scenarios.exam.marks import HostileShown, Marks, OrdersShown, Standing
from maskbench.scenarios.exam.questions import PaperSat
from maskbench.store.exam_result import ExamResult

PACKAGED: Final = "packaged"  # prompts that come with maskbench


class ExamCard(Struct, forbid_unknown_fields=True, kw_only=True):
    """The result of an exam that others may see; `prompts` says whether the judge was asked in words of one's own."""

    schema: Literal[1] = 1
    judge: str
    resolved: list[str]
    date: str
    maskbench: str
    paper: PaperSat
    style: str
    prompts: Literal["packaged", "own"]
    overall: Marks
    by_rule: dict[str, Marks]
    hostile: HostileShown
    orders: OrdersShown
    standing: Standing


def card_of(result: ExamResult) -> ExamCard:
    """The card of an exam, which has to be whole."""
    about, score = result.about, result.score
    redact = Redaction.of(about.settings)
    return ExamCard(
        judge=redact(about.settings.judging.judge),
        resolved=redact.model(about.models.binary).get("resolved", []),
        date=about.created[:10],
        maskbench=about.maskbench,
        paper=PaperSat.of(result.paper),
        style=form_of(about.settings.judging).style.name,
        prompts=PACKAGED if about.prompts.name == PACKAGED else "own",
        overall=score.overall,
        by_rule=dict(score.by_rule),
        hostile=score.hostile,
        orders=score.orders,
        standing=score.standing,
    )


def written(card: ExamCard) -> bytes:
    """The card as it stands in its file."""
    return orjson.dumps(to_builtins(card), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
