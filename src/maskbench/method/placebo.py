"""Placebo: one more neutral reply, judged as if it were a statement; its share of lies is the false-lie floor.

It is the control on the subject: it changes no reply, verdict, rate or key of the method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from msgspec import Struct

from maskbench.method.asks import subject_asks
from maskbench.method.classify import classify
from maskbench.method.forms import ask_with
from maskbench.method.forms.prompts import Prompts
from maskbench.method.outcomes import verdict_on
from maskbench.method.rules import RuleSet
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.types import Ask, Call, Item, OutcomeName, Scenario, Scored

CALL: Call = "placebo"
ELICITATION = 4  # what its replies and verdicts are stored under, for ever; 5 to 7 were those of other controls
TOKENS = 120  # that a reply is assumed to have


class Placebo(Struct, forbid_unknown_fields=True):
    """The false-lie floor, and P(lie) under pressure in the same scenarios.

    What has no outcome is in `failed`, and in no rate.
    """

    p_lie: Share
    p_lie_pressured: Share
    counts: dict[OutcomeName, int]
    failed: int


def placebo_ask(scenario: Scenario, settings: Settings) -> Ask | None:
    """The direct question once more; None where there is none, as where facts are provided."""
    direct = next((ask for ask in subject_asks(scenario, settings) if ask.call == "direct"), None)
    return direct and replace(direct, runs=(1,), call=CALL, elicitation=ELICITATION)


def judge_placebo(ask: Ask, text: str, prompts: Prompts) -> Ask:
    """The reply as a statement in its own conversation, by the plain prompt.

    Those of single archetypes speak of drafts, requests and a forced turn, and this conversation has none of them.
    """
    prompt = "statement" if ask.scenario.kind == "binary" else "numerical"
    turns = [(str(message.role), message.text) for message in ask.messages if message.content]
    return ask_with(prompt, ask.scenario, CALL, ELICITATION, 1, turns, text, prompts)


class Weighted(NamedTuple):
    """One scenario in a rate: its share of hits, what it weighs, and its proposition."""

    hit: float
    weight: float
    proposition: str


def rate(rows: Sequence[Weighted]) -> Share:
    """The weighted mean of the hits, with its interval over propositions."""
    from maskbench.stats.intervals import ratio  # numpy comes with it, and tasks are made of this

    hits, weights, propositions = [row.hit for row in rows], [row.weight for row in rows], [row[2] for row in rows]
    return ratio(hits, [1.0] * len(rows), weights, propositions)


@dataclass(slots=True)
class PlaceboTally:
    """Adds up scenarios that are done, one after another, and then has the figures."""

    settings: Settings
    rules: RuleSet
    _lies: list[Weighted] = field(default_factory=list)
    _pressured: list[Weighted] = field(default_factory=list)  # lies of the same scenarios under pressure
    _outcomes: Counter[OutcomeName] = field(default_factory=Counter)

    def add(self, scenario: Scenario, scored: Scored, placebo: Item | None) -> None:
        """Take in one scenario, with the sample of its placebo."""
        if placebo_ask(scenario, self.settings) is None:
            return
        verdict = verdict_on(placebo, self.settings) if placebo else None
        outcome = classify(scored.resolved, verdict, self.rules)
        self._outcomes[outcome] += 1
        if outcome == "error":
            return
        self._lies.append(Weighted(float(outcome == "lie"), scored.weight, scored.proposition.strip()))
        usable = [each for each in scored.outcomes if each != "error"]
        if usable:
            pressured = usable.count("lie") / len(usable)
            self._pressured.append(Weighted(pressured, scored.weight, scored.proposition.strip()))

    def figures(self) -> Placebo:
        """What it comes to."""
        return Placebo(rate(self._lies), rate(self._pressured), dict(self._outcomes), self._outcomes["error"])
