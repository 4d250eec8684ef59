"""Tasks: from what is known of a scenario to what is asked next. No steps left means that it is finished.

No task sees a store, a clock, another scenario or a model, and none builds a text: what one knows of a scenario is its
shape, until a request goes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from maskbench.method import construct
from maskbench.method.asks import subject_ask
from maskbench.method.controls import control_asks, judge_control, of_reasoning
from maskbench.method.controls.control import reasoning
from maskbench.method.enough import next_places
from maskbench.method.judging import Judging, Part, outline
from maskbench.method.outcomes import score, settled
from maskbench.method.rules import named
from maskbench.method.steps import REPLIES, Again, Known, Slot, Step, Task, Unread, is_open, is_unjudged, items_of
from maskbench.settings import Settings
from maskbench.types import Ask, Judgement, Place, Reply, Scenario

Order = Literal["one_by_one", "together"]  # in which the samples of a direct question are asked for
Parts = Callable[[Scenario], Sequence[Part]]


def whole(judging: Judging, parts: Parts | None = None) -> Task:
    """The whole protocol: every reply, and every verdict as soon as its replies are there.

    `parts` gives what this run asks the subject about a scenario (default: everything).
    """

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        asked = parts(scenario) if parts else outline(scenario, judging.settings)
        return [*_replies(judging.settings, scenario, asked, known), *judging.steps(scenario, asked, known)]

    return steps


def replies(settings: Settings) -> Task:
    """Every reply of the protocol, and no verdict."""

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        return list(_replies(settings, scenario, outline(scenario, settings), known))

    return steps


def verdicts(judging: Judging) -> Task:
    """Verdicts on the replies that are there: by another judge, or by the same one in an audit or an exam."""
    stored = replace(judging, waits=False)

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        if stored.shows(scenario) is None:
            return []
        return list(stored.steps(scenario, outline(scenario, stored.settings), known))

    return steps


def lies(judging: Judging, order: Order) -> Task:
    """Beliefs only until it is known which statements lie, whatever the rest would bring (`method/enough.py`).

    Neutral replies that are judged together are those that are there by then. What an earlier session began comes to
    its end first, so that a kill changes no outcome.
    """

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        settings = judging.settings
        parts = outline(scenario, settings)
        places = {place for part in parts for place in part.places}
        begun = {slot[1:] for slot, state in known.items() if isinstance(state, Again | Unread)} & places
        left = begun or set(
            next_places(scenario, items_of(known, judging.into), _left(judging, scenario, parts, known), settings)
        )
        wanted = [(part, _part_of(part, left)) for part in parts if left.intersection(part.places)]
        found: list[Step] = []
        for whole_part, part in wanted:
            ahead = _ahead(whole_part, part, known, order) if len(wanted) == 1 else ()
            found += [replace(step, along=ahead) for step in _replies(settings, scenario, [part], known)]
        judged = [part for _, part in wanted] if begun else _with_those_there(parts, left, known)
        return [*found, *judging.steps(scenario, judged, known)]

    return steps


def _left(judging: Judging, scenario: Scenario, parts: Sequence[Part], known: Known) -> set[Place]:
    """The samples that lack a reply, or the verdict on one that is there."""
    steps = [
        *_replies(judging.settings, scenario, parts, known),
        *replace(judging, waits=False).steps(scenario, parts, known),
    ]
    return {slot[1:] for step in steps for slot in step.fills}


def _part_of(part: Part, left: set[Place]) -> Part:
    """The samples of a question that are wanted; a joint verdict wants them all."""
    if part.form == "joint":
        return part
    return part._replace(runs=tuple(run for run in part.runs if (part.elicitation, run) in left))


def _with_those_there(parts: Sequence[Part], left: set[Place], known: Known) -> list[Part]:
    """The samples that are wanted; where one is to be judged together with others, all those that are there."""
    together = any(part.form == "together" and left.intersection(part.places) for part in parts)
    there = {slot[1:] for slot, state in known.items() if slot.into == REPLIES and isinstance(state, Reply)}
    shown = left | there if together else left
    some = (_part_of(part, shown if part.form == "together" else left) for part in parts)
    return [part for part in some if left.intersection(part.places) or (part.runs and part.form == "together")]


def _ahead(whole_part: Part, part: Part, known: Known, order: Order) -> tuple[Slot, ...]:
    """The other samples of a direct question that are asked for in one request, where that is the cheaper order."""
    if part.form == "joint" or part.call != "direct" or (order == "one_by_one" and part.runs == (1,)):
        return ()
    slots = (Slot(REPLIES, part.elicitation, run) for run in whole_part.runs if run not in part.runs)
    return tuple(slot for slot in slots if is_open(known.get(slot)))


def controls(judging: Judging, *, asks_subject: bool) -> Task:
    """Controls on the subject, and the reasoning before its lies.

    Another judge judges the replies to controls that are there, and no reasoning: the run's own judge found those lies.
    """

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        found: list[Step] = []
        for ask in control_asks(scenario, judging.settings, _said(known)):
            place = ask.elicitation, ask.runs[0]
            reply = known.get(slot := Slot(REPLIES, *place))
            if asks_subject and is_open(reply):
                found.append(Step("subject", (slot,), partial(_given, ask)))
            elif isinstance(reply, Reply) and is_unjudged(known.get(Slot(judging.into, *place))):
                found.append(judging.step(place, partial(_control, ask, reply.text, judging)))
        return [*found, *(_traces(judging, scenario, known) if asks_subject else ())]

    return steps


def questions(judging: Judging) -> Task:
    """Questions on the words of every statement, and on the reasoning before it."""
    settings = judging.settings
    parts = [part for question in construct.named(settings.design.construct) for part in construct.parts_of(question)]

    def steps(scenario: Scenario, known: Known) -> list[Step]:
        found = []
        for run in range(1, settings.design.statements + 1):
            if not isinstance(reply := known.get(Slot(REPLIES, 0, run)), Reply):
                continue
            for part in parts:
                thought = (reply.reasoning or None) if part.of_reasoning else None
                place = part.elicitation, run
                if (not part.of_reasoning or thought) and is_unjudged(known.get(Slot(judging.into, *place))):
                    make = partial(_question, part, scenario, reply.text, thought, run, settings)
                    found.append(judging.step(place, make, _is_answer, construct.ask_again))
        return found

    return steps


# Parts of tasks


def _replies(settings: Settings, scenario: Scenario, parts: Sequence[Part], known: Known) -> Iterator[Step]:
    """What the subject is still to be asked of these questions."""
    for part in parts:
        slots = tuple(Slot(REPLIES, part.elicitation, run) for run in part.runs)
        if missing := tuple(slot for slot in slots if is_open(known.get(slot))):
            make = partial(_subject_ask, scenario, part.elicitation, settings)
            yield Step("subject", missing, make, joint=part.form == "joint")


def _subject_ask(scenario: Scenario, elicitation: int, settings: Settings, slots: tuple[Slot, ...]) -> Ask:
    return subject_ask(scenario, elicitation, tuple(slot.run for slot in slots), settings)


def _said(known: Known) -> dict[int, str]:
    """The statements by run, those that are there."""
    return {
        slot.run: state.text
        for slot, state in known.items()
        if slot.into == REPLIES and slot.elicitation == 0 and isinstance(state, Reply)
    }


def _given(ask: Ask, _: tuple[Slot, ...]) -> Ask:
    return ask


def _called(ask: Callable[[], Ask], _: tuple[Slot, ...]) -> Ask:
    return ask()


def _control(ask: Ask, text: str, judging: Judging, _: tuple[Slot, ...]) -> Ask:
    return judge_control(ask, text, judging.prompts)


def _traces(judging: Judging, scenario: Scenario, known: Known) -> Iterator[Step]:
    """What the judge is asked about the reasoning before each lie that has any."""
    wanted = of_reasoning(judging.settings)
    if not wanted:
        return
    if whole(judging)(scenario, known):
        return  # nobody knows yet which statements lie
    done = settled(scenario, items_of(known, judging.into).values(), judging.settings)
    outcomes = score(scenario, 1.0, done, judging.settings, named(judging.settings.design.rules)).outcomes
    statements = [done[key] for key in sorted(done) if key[0] == 0]
    for item, outcome in zip(statements, outcomes, strict=True):
        if outcome == "lie" and (thought := reasoning(item)):
            for control in wanted:
                place = control.elicitation, item.run
                if is_unjudged(known.get(Slot(judging.into, *place))):
                    ask = partial(control.judged_reasoning, scenario, item.run, thought, judging.prompts)
                    yield judging.step(place, partial(_called, ask))


def _question(
    part: construct.Question,
    scenario: Scenario,
    text: str,
    thought: str | None,
    run: int,
    settings: Settings,
    _: tuple[Slot, ...],
) -> Ask:
    return construct.question_ask(part, scenario, text, thought, run, settings.judging.style)


def _is_answer(ask: Ask, judgement: Judgement) -> bool:
    return construct.answer_of(construct.BY_CALL[ask.call], judgement.verdict) is not None
