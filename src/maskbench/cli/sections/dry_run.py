"""What is shown before anything is asked: the plan of a run, the known sets, and one scenario with all its asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.asking.forecast import Plan, reply_tokens, verdict_tokens
from maskbench.method.asks import subject_asks
from maskbench.method.forms import JudgingForm, ask_about, ask_about_beliefs, form_of
from maskbench.method.forms.prompts import Prompts
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, ReplyCard, Sentence, Table, Warn, Words
from maskbench.presentation.format import times
from maskbench.scenarios import KnownSet, few_pairs
from maskbench.settings import Settings
from maskbench.stats.precision import COMMON, P_LIE, half_width, smallest_drop
from maskbench.store.families import kinship
from maskbench.types import Ask, Range, Scenario


def plan(plan: Plan, settings: Settings, *, counted: bool = True) -> Iterator[Block]:
    """What a run would take; `counted` has the table of calls and tokens, which that of money has, too."""
    calls = plan.calls
    requests = f"{calls.requests:,}" if calls.requests == calls.replies else f"{calls.requests:,}–{calls.replies:,}"
    judges = " and ".join(settings.judging.judges)
    rows = (("subject", requests, settings.subject.name), ("judge", f"{calls.verdicts:,}", judges))
    cells = (
        (f"{who} {one_line(name)}", count, f"{plan.input[who]:,.0f}", f"{plan.output[who]:,.0f}")
        for who, count, name in rows
    )
    taken = f"{one_line(settings.design.name)}: {times(plan.scenarios, 'scenario')}"
    yield f"{taken}, {calls.replies:,} replies to ask for."
    if few := few_pairs(plan.pairs):
        yield few
    if kin := kinship(settings.subject.name, settings.judging.judges):
        yield Warn(kin)
    if counted:
        yield Table(("estimate", "calls", "tokens in", "tokens out"), tuple(cells))
    equal = (
        "Replies that are the same share a verdict"
        if settings.judging.shares_verdicts
        else "No two replies share a verdict"
    )
    ranged = calls.requests < calls.replies
    together = ", and samples of one question are one request where the endpoint allows it" if ranged else ""
    yield (
        f"Nothing was called. {_exact(plan, settings)} {equal}{together}. Tokens are estimated. "
        "Input: from the length of the texts, within about 15 % for English. Output: as if each answer on "
        f"a belief had {reply_tokens('direct', settings)} tokens, each statement "
        f"{reply_tokens('statement', settings)} and each verdict {verdict_tokens(settings)}. "
        f"A model that reasons takes far more."
    )
    if settings.judging.is_later:
        yield "Nobody judges these replies: `maskbench judge RUN --judge MODEL` has that done later, at its own price."
    yield from _precision(plan)


def _precision(plan: Plan) -> Iterator[str]:
    """How well so many scenarios tell P(lie), and a drop of it."""
    half, drop = half_width(plan.scenarios, plan.crowding), smallest_drop(plan.scenarios, plan.crowding)
    if half is None:
        return
    least = f"a drop of {100 * drop:.1f} points or more" if drop else "no drop, however large,"
    yield (
        f"If P(lie) is {100 * P_LIE:.0f} %, its 95 % interval reaches {100 * half:.1f} points to either side. Where a "
        f"second run on these scenarios has a lower P(lie), `compare` shows {least} in four of five such pairs, if the "
        f"outcomes of two runs on one scenario correlate by {COMMON:g}."
    )


def _exact(plan: Plan, settings: Settings) -> str:
    """When the number of calls, or the larger one where it is a range, is the one that is made."""
    ranged = plan.calls.requests < plan.calls.replies
    holds = {
        "no call fails": True,
        "no verdict is shared": settings.judging.shares_verdicts,
        "each sample is a request of its own": ranged,
    }
    *first, last = [condition for condition, is_needed in holds.items() if is_needed]
    where = f"{', '.join(first)} and {last}" if first else last
    return f"The {'larger ' if ranged else ''}number of calls is exact where {where}."


def sets(known: Sequence[KnownSet]) -> Iterator[Block]:
    """The scenario sets that have names."""
    for each in known:
        sizes = ", ".join(f"{archetype} {size:,}" for archetype, size in each.sizes.items())
        yield Sentence((Words(each.name), f"  {sum(each.sizes.values()):,} scenarios"))
        yield Facts((("what", each.description), ("licence", f"{each.licence}. {each.how}"), ("how many", sizes)))
    yield "Any folder or file in the same columns is a set, too: see docs/scenarios.md."


def scenario(scenario: Scenario, settings: Settings, prompts: Prompts | None) -> Iterator[Block]:
    """What the subject would be sent about a scenario, the pressured conversation first.

    With `prompts` also what the judge would be sent about each reply, for which there stands a mark.
    """
    truth = scenario.truth
    yield Heading(f"{scenario.archetype} {one_line(scenario.task_id)}")
    shown = truth.words if isinstance(truth, Range) else truth
    yield Facts((("proposition", one_line(scenario.proposition)), ("ground truth", f"{shown} (neither model is told)")))
    for ask in sorted(subject_asks(scenario, settings), key=lambda ask: ask.elicitation):
        name = {0: "The pressured statement", 1: "The direct belief question"}.get(
            ask.elicitation, f"Consistency question {ask.elicitation}"
        )
        times = "once" if len(ask.runs) == 1 else f"{len(ask.runs):,} times"
        yield _messages(f"{name}, to the subject, {times}", ask)
        if prompts is not None:
            yield _messages("And about its reply, to the judge", _judged(ask, prompts, form_of(settings.judging)))


def _messages(title: str, ask: Ask) -> ReplyCard:
    return ReplyCard(title, texts=tuple((message.role, message.text) for message in ask.messages))


def _judged(ask: Ask, prompts: Prompts, form: JudgingForm) -> Ask:
    """What the judge is asked about the reply to this, with a mark for the reply."""
    mark = "[the subject's reply stands here]"
    if form.is_joint(ask):
        return ask_about_beliefs(ask.scenario, [mark] * max(2, len(ask.runs)), prompts)
    return ask_about(ask.scenario, ask.call, ask.elicitation, 1, mark, prompts)
