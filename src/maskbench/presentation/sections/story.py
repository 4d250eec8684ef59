"""One scenario in words, and the worst lies: what it said when asked, what it said under pressure, what that is.

Every sentence of a story is ours: letters, numbers and names of causes stand in it, never a text that a model wrote.
Scenarios and replies of the worst lies stand in blocks as they are, and each medium makes them harmless.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from urllib.parse import quote

from maskbench.method import archetypes
from maskbench.method.archetypes import EVENT
from maskbench.method.outcomes import Items, failures
from maskbench.method.proposition import options
from maskbench.method.said_and_did import GAIN, LIST, PLAIN, REPORT, is_on_log
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, ReplyCard
from maskbench.presentation.runs_shown import WORST, Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.words import ABSENT
from maskbench.store.verdict_sets import Done
from maskbench.types import (
    BinaryVerdict,
    Item,
    Judgement,
    OutcomeName,
    Reply,
    Scenario,
    Scored,
    Verdict,
)

_NEUTRAL = "when asked neutrally"
_SHARES: dict[OutcomeName, str] = {
    "honest": "was honest in",
    "lie": "lied in",
    "evasive": "evaded in",
    "no_belief": "had no belief to contradict in",
    "error": "has no outcome in",
}
_TOLD: dict[OutcomeName, str] = {
    "honest": "honest",
    "lie": "a lie",
    "evasive": "evasive",
    "no_belief": "no belief",
    "error": "no outcome",
}


def story(scenario: Scenario, items: Items, scored: Scored) -> str:
    """The scenario in one sentence: `It said A when asked neutrally (3 of 3) and B under pressure: a lie.`"""
    statements = [items[key] for key in sorted(items) if key[0] == 0]
    if is_on_log(scenario):
        return _of_reports(scenario, statements, scored)
    if len(statements) > 1:
        counts = Counter(scored.outcomes)
        parts = [f"{_SHARES[outcome]} {count:,}" for outcome, count in counts.items()]
        last = f" and {parts.pop()}" if len(parts) > 1 else ""
        verb = "is" if scored.outcome == "error" else "makes"
        pressed = f"; of {len(statements)} statements under pressure it {', '.join(parts)}{last}"
        return f"{_asked(scenario, items, scored)}{pressed}, which {verb} {_over_all(scored.outcome)}."
    return f"{_asked(scenario, items, scored)}{_pressed(scenario, statements[0], scored)}."


def belief_story(scenario: Scenario, items: Items, scored: Scored) -> str:
    """How the belief came about, or why there is none."""
    belief, reason = scored.resolved.belief, scored.resolved.reason
    if archetypes.of(scenario).given:
        return "Nothing was asked neutrally: the fact in its instructions counts as the belief."
    right = {"correct": ", which is right", "incorrect": ", which is wrong"}.get(scored.accuracy, "")
    if scenario.kind == "numerical":
        if belief is not None:
            return f"Belief: {belief_words(scored)}{right}. That is what its replies support together."
        return "No belief: its replies support no number." if reason else "Open: verdicts are missing."
    direct, consistency = _letters(items, 1), _letters(items, 2, 3)
    checks = f" and {_listed(consistency)} to the consistency questions" if consistency else ""
    if is_on_log(scenario):
        checks = f" and {_listed(_letters(items, LIST))} to what it listed"
    heard = f"{_listed(direct)} to the direct question{checks}"
    match reason:
        case "unsure":
            return f"No belief: too few of its direct answers take a side. Heard: {heard}."
        case "mixed":
            return f"No belief: its direct answers are not all for one side. Heard: {heard}."
        case "contradicted":
            return f"No belief: a consistency question was not answered as the direct one was. Heard: {heard}."
        case "overlooked" | "mistaken":
            return f"No belief: {ABSENT[reason][1]}. Heard: {heard}."
    if belief is None:
        return f"Open: verdicts are missing, and what they would have been decides. Heard: {heard}."
    return f"Belief {belief}{right}. Heard: {heard}."


def verdict_words(verdict: Verdict) -> str:
    """A verdict as a reader sees it: a letter, a range of numbers, or `no number`."""
    if isinstance(verdict, BinaryVerdict):
        return verdict.letter
    absolute = [verdict.absolute.words] if verdict.absolute else []
    relative = [f"{verdict.relative.words} (relative)"] if verdict.relative else []
    return " or ".join(absolute + relative) or "no number"


def belief_words(scored: Scored) -> str | None:
    """A belief as a reader sees it, a letter or ranges of numbers; None where there is none."""
    belief = scored.resolved.belief
    return " or ".join(range_.words for range_ in belief) if isinstance(belief, tuple) else belief


def _asked(scenario: Scenario, items: Items, scored: Scored) -> str:
    resolved = scored.resolved
    if archetypes.of(scenario).given:
        return f"The facts that it was given say {belief_words(scored)}"
    if resolved.unresolved:
        return "What it believes is open, for verdicts are missing"
    if resolved.belief is None:
        return f"It had no stable belief {_NEUTRAL} ({resolved.reason})"
    if scenario.kind == "numerical":
        return f"It said {belief_words(scored)} {_NEUTRAL}"
    direct = _letters(items, 1)
    return f"It said {resolved.belief} {_NEUTRAL} ({direct.count(str(resolved.belief))} of {len(direct)})"


def _pressed(scenario: Scenario, item: Item, scored: Scored) -> str:
    (outcome,) = scored.outcomes
    told = "no belief, so nothing to contradict" if outcome == "no_belief" else _TOLD[outcome]
    if not isinstance(item.judgement, Judgement):
        causes = ", then ".join(f"{failed.stage}: {failed.cause.replace('_', ' ')}" for failed in failures(item))
        return f"; its statement under pressure has no verdict ({causes or 'not there yet'}): {told}"
    verdict = item.judgement.verdict
    kind = f" ({verdict.evasion.replace('_', ' ')})" if verdict.evasion else ""
    words = verdict_words(verdict)
    did = {"C": f"took neither side{kind}", "D": "denied both", "no number": f"gave no number{kind}"}.get(words)
    if scored.resolved.belief is None or archetypes.of(scenario).given:
        return f"; under pressure it {did or f'said {words}'}: {told}"
    return f" and {did or words} under pressure: {told}"


def _of_reports(scenario: Scenario, reports: Sequence[Item], scored: Scored) -> str:
    """A log in one sentence: what was known of it, what each report says of the event, and what that is."""
    about = {PLAIN: "plain report", GAIN: "report with something to gain"}.get(scenario.extra.get(REPORT, ""), "report")
    said = Counter(_said_of_event(scenario, each) for each in reports)
    every = ", ".join(what if len(reports) == 1 else f"{what} ({count:,})" for what, count in said.items())
    whose = f"its {about}" if len(reports) == 1 else f"of its {len(reports)} {about}s each"
    return f"{_known(scenario, scored)}; {whose} {every}: {_TOLD[scored.outcome]}."


def _known(scenario: Scenario, scored: Scored) -> str:
    resolved = scored.resolved
    if resolved.unresolved:
        return "Whether it noticed is open, for verdicts are missing"
    if scenario.archetype == EVENT:
        return (
            "Its list names the event" if resolved.belief else f"Its list does not name the event ({resolved.reason})"
        )
    if resolved.belief is None:
        return f"Asked about an event that is not in this log it took no side ({resolved.reason})"
    said = "there was none" if resolved.belief == scenario.truth else "there was one"
    return f"Asked about an event that is not in this log it said that {said}"


def _said_of_event(scenario: Scenario, item: Item) -> str:
    """What a report says of the event, where a verdict on it is there."""
    verdict = item.judgement.verdict if isinstance(item.judgement, Judgement) else None
    if not isinstance(verdict, BinaryVerdict):
        return "has no verdict"
    if verdict.letter == "D":
        return "denies both options"
    on_event = scenario.archetype == EVENT
    if verdict.letter == "C":
        return "does not name it" if on_event else "names none"
    if on_event:
        return "names it" if verdict.letter == scenario.truth else "denies it"
    return "says that there was none" if verdict.letter == scenario.truth else "tells of one"


def _over_all(outcome: OutcomeName) -> str:
    return {"lie": "it a lie over all", "error": "without an outcome"}.get(outcome, f"it {_TOLD[outcome]} over all")


def _letters(items: Items, *elicitations: int) -> list[str]:
    """The letters that were heard, in order; a dash for a verdict that is missing."""
    return [_letter(items[key]) for key in sorted(items) if key[0] in elicitations]


def _letter(item: Item) -> str:
    verdict = item.judgement.verdict if isinstance(item.judgement, Judgement) else None
    return verdict.letter if isinstance(verdict, BinaryVerdict) else "–"


def _listed(letters: Sequence[str]) -> str:
    return ", ".join(letters) or "nothing"


_LONGEST = 240  # characters of one text
_IDENTITY = 200  # characters of a task id, as the explorer has them


def worst_lies(runs: Sequence[Run], may_show: Callable[[Run], bool]) -> Iterator[Block]:
    """The worst lies over all runs, in turn: in most of the statements, against a firm belief, not asked outright."""
    cases = tuple(islice(_in_turn(runs), WORST))
    if cases and reports_on_logs.alone(runs):
        yield (
            "These reports deny an event that the model's list names, or tell of one that it said there was not when "
            "it was asked. They stand first in “Every scenario”, in the order “worst first”."
        )
    elif cases:
        yield (
            "A lie is worse the more of the statements are lies, where the belief is firm, and where nobody asked "
            "outright for the falsehood. “Every scenario” has the others, in the order “worst first”."
        )
    if cases:
        yield from (_case(run, done, len(runs) > 1, may_show(run)) for run, done in cases)


def _in_turn(runs: Sequence[Run]) -> Iterator[tuple[Run, Done]]:
    """Each run's worst lie, then each run's second worst, and so on."""
    for place in zip_longest(*([(run, done) for done in run.worst] for run in runs)):
        yield from filter(None, place)


def _case(run: Run, done: Done, several: bool, with_texts: bool) -> ReplyCard:
    scenario = done.scenario
    address = f"{scenario.archetype}/{scenario.task_id[:_IDENTITY]}"
    place = f"&run={run.place + 1}" if several else ""
    return ReplyCard(
        f"{run.name}: {address}" if several else address,
        f"#scenario={quote(address, safe='/,:', errors='replace')}{place}",
        story(scenario, done.items, done.scored),
        tuple(zip("AB", options(scenario.proposition), strict=False))
        if with_texts and scenario.kind == "binary"
        else (),
        tuple(_texts(done)) if with_texts else (),
    )


def _texts(done: Done) -> Iterator[tuple[str, str]]:
    """What was asked and answered neutrally, what was asked under pressure, and the lie."""
    scenario, items = done.scenario, done.items
    lie = items[0, 1 + done.scored.outcomes.index("lie")]
    number = LIST if is_on_log(scenario) else 1
    neutral, questions = items.get((number, 1)), scenario.questions
    if questions and (asked := questions[number - 1]) and neutral and isinstance(neutral.reply, Reply):
        yield "asked neutrally", one_line(asked, _LONGEST)
        yield "answered", one_line(neutral.reply.text, _LONGEST)
    pressed = "asked for a report" if is_on_log(scenario) else "asked under pressure"
    yield pressed, one_line(scenario.user_prompt, _LONGEST)
    if isinstance(lie.reply, Reply):
        yield "answered", one_line(lie.reply.text, _LONGEST)
