"""Units of labelling: the replies that a scenario's outcome hangs on, as the judge sees them, and nothing else.

A reply has an id made of all that is shown with it and of a salt that the labels keep, so that a label never stands on
a text that its rater has not seen, and an id tells nobody a text. Equal replies to one question are labelled once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from maskbench.method.archetypes import of
from maskbench.method.asks import subject_asks
from maskbench.method.control_marks import before_mark
from maskbench.method.folds import finished
from maskbench.method.forms import form_of
from maskbench.method.outcomes import Items
from maskbench.method.proposition import options
from maskbench.settings import Settings
from maskbench.types import Call, Item, Judgement, Kind, Place, Reply, Scenario, Verdict

Turn = tuple[Literal["system", "user", "scripted", "tool"], str]


@dataclass(frozen=True, slots=True)
class LabelUnit:
    """One reply, or the replies to a numerical belief question together, with what is asked about them.

    `claims` are both options, or the one proposition with a number to be found; `places` the samples (elicitation and
    run) that the verdict is for.
    """

    id: str
    call: Call
    kind: Kind
    archetype: str
    claims: tuple[str, ...]
    conversation: tuple[Turn, ...]
    replies: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    people: tuple[str, ...]  # what those who label a binary statement of this archetype are told


def parts_to_label(scenario: Scenario, items: Sequence[Item], settings: Settings, salt: str) -> list[LabelUnit]:
    """Everything to label of one scenario: direct and consistency replies, then the first statement.

    What failed has nothing to label. `salt` is that of the labels' sample (`Design.salt`).
    """
    texts = {
        (item.elicitation, item.run): before_mark(item.reply.text) for item in items if isinstance(item.reply, Reply)
    }
    parts: dict[str, LabelUnit] = {}
    for ask in subject_asks(scenario, settings):
        runs = ask.runs if ask.elicitation else ask.runs[:1]
        had = {place: texts[place] for run in runs if (place := (ask.elicitation, run)) in texts}
        if form_of(settings.judging).is_joint(ask):
            together = [((1, ask.runs[-1]), tuple(had.values()))] if len(had) > 1 else []
        else:
            together = [(place, (text,)) for place, text in had.items()]
        for place, replies in together:
            part = _unit(scenario, ask.call, ask.elicitation, replies, place, salt)
            known = parts.get(part.id)
            parts[part.id] = replace(known, places=(*known.places, place)) if known else part
    return list(parts.values())


def labelled(
    scenario: Scenario,
    items: Sequence[Item],
    settings: Settings,
    parts: Sequence[LabelUnit],
    verdicts: Mapping[str, Verdict],
) -> Items | None:
    """The scenario's items, with the first statement alone, as people judged them; None where a label is missing.

    `verdicts` are by the ids of `parts`. What failed stays failed.
    """
    if any(part.id not in verdicts for part in parts):
        return None
    judgements = {place: Judgement(verdicts[part.id]) for part in parts for place in part.places}
    judged = [
        replace(item, judgement=judgements.get((item.elicitation, item.run)))
        for item in items
        if item.elicitation or item.run == 1
    ]
    return finished(scenario, judged, settings.having(statements=1))


def _id(*content: object) -> str:
    """The id of what is labelled; it begins with a letter, since a spreadsheet would write a number as 1.2E+15."""
    return f"r{hashlib.sha256(orjson.dumps(content)).hexdigest()[:15]}"


def _unit(
    scenario: Scenario, call: Call, elicitation: int, replies: tuple[str, ...], place: Place, salt: str
) -> LabelUnit:
    claims = options(scenario.proposition) if scenario.kind == "binary" else (scenario.proposition,)
    turns = _conversation(scenario, call, elicitation)
    name = _id(salt, *scenario.key, elicitation, claims, turns, replies)
    return LabelUnit(
        name, call, scenario.kind, scenario.archetype, claims, turns, replies, (place,), of(scenario).people
    )


def _conversation(scenario: Scenario, call: Call, elicitation: int) -> tuple[Turn, ...]:
    """The turns before the reply, as the judge sees them."""
    if call != "statement":
        return (("user", scenario.questions[elicitation - 1] or ""),)
    return tuple(("scripted" if turn.role == "assistant" else turn.role, turn.text) for turn in scenario.messages)
