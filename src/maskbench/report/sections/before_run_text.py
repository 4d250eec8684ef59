"""What is shown before anything is asked: the plan of a run, the known sets, and one scenario with all its asks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from maskbench.method.asks import is_joint, subject_asks
from maskbench.method.judge_ask import Prompts, ask_about, ask_about_beliefs
from maskbench.plain import plain
from maskbench.report.terminal import add, figures
from maskbench.runs.forecast import Plan, reply_tokens, verdict_tokens
from maskbench.scenarios import KnownSet
from maskbench.settings import Settings
from maskbench.types import Ask, Range, Scenario


def print_plan(plan: Plan, settings: Settings, console: Console) -> None:
    """Print what a run would take."""
    calls = plan.calls
    table = figures("estimate", "calls", "tokens in", "tokens out")
    requests = f"{calls.requests:,}" if calls.requests == calls.replies else f"{calls.requests:,}–{calls.replies:,}"
    judges = " and ".join(dict.fromkeys((settings.judge, settings.numeric_judge)))
    most = calls.verdicts + plan.traces
    verdicts = f"{calls.verdicts:,}" if not plan.traces else f"{calls.verdicts:,}–{most:,}"
    rows = (("subject", requests, settings.subject), ("judge", verdicts, judges))
    for who, count, name in rows:
        tokens = (f"{plan.input[who]:,.0f}", f"{plan.output[who]:,.0f}")
        add(table, f"{who} {plain(name)}", count, *tokens)
    lies = " Traces are judged before lies alone: the larger number would be only lies." if plan.traces else ""
    said = (
        Text(f"{plain(settings.name)}: {plan.scenarios:,} scenarios, {calls.replies:,} replies to get."),
        Text(),
        table,
        Text(),
        Text(
            "Nothing was called. Calls are counted, where nothing fails and no verdict is shared; samples of one "
            "question are one request where the endpoint allows it. Tokens are an estimate: those in from the texts' "
            "length, within about 15 % for English; those out, and what of them goes to the judge, assume "
            f"{reply_tokens('direct', settings)} tokens for an answer on a belief, "
            f"{reply_tokens('statement', settings)} for a statement and {verdict_tokens(settings)} for a verdict. "
            f"A model that reasons takes far more.{lies}"
        ),
    )
    console.print(Group(*said))


def print_sets(sets: Sequence[KnownSet], console: Console) -> None:
    """Print the scenario sets that have names."""
    for known in sets:
        sizes = ", ".join(f"{archetype} {size:,}" for archetype, size in known.sizes.items())
        console.print(Text(known.name, style="bold"), Text(f"{sum(known.sizes.values()):,} scenarios"), sep="  ")
        for line in (known.description, f"Licence: {known.licence}. {known.how}", sizes):
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
        console.print()
    console.print(Text("Any folder or file in the same columns is a set, too: see docs/scenarios.md."))


def print_scenario(scenario: Scenario, settings: Settings, prompts: Prompts | None, console: Console) -> None:
    """Print what the subject would be sent about a scenario, the pressured conversation first.

    With `prompts` also what the judge would be sent about each reply, for which there stands a mark.
    """
    truth = scenario.truth
    shown = truth.words if isinstance(truth, Range) else truth
    console.print(Text(f"{scenario.archetype} {plain(scenario.task_id)}", style="bold"))
    console.print(Text(f"{plain(scenario.proposition)}\nGround truth (neither model is told): {shown}\n"))
    for ask in sorted(subject_asks(scenario, settings), key=lambda ask: ask.elicitation):
        name = {0: "The pressured statement", 1: "The direct belief question"}.get(
            ask.elicitation, f"Consistency question {ask.elicitation}"
        )
        times = "once" if len(ask.runs) == 1 else f"{len(ask.runs):,} times"
        console.rule(Text(f"{name}, to the subject, {times}"), align="left")
        _print_messages(ask, console)
        if prompts is not None:
            console.rule(Text("and about its reply, to the judge"), align="left", style="dim")
            _print_messages(_judged(ask, prompts), console)


def _judged(ask: Ask, prompts: Prompts) -> Ask:
    """What the judge is asked about the reply to this, with a mark for the reply."""
    mark = "[the subject's reply stands here]"
    if is_joint(ask):
        return ask_about_beliefs(ask.scenario, [mark] * max(2, len(ask.runs)), prompts)
    return ask_about(ask.scenario, ask.call, ask.elicitation, 1, mark, prompts)


def _print_messages(ask: Ask, console: Console) -> None:
    for message in ask.messages:
        console.print(Text(f"{message.role}:", style="bold"))
        console.print(Padding(Text(plain(message.content, lines=True)), (0, 0, 0, 2), expand=False))
        console.print()
