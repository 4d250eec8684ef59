"""What a reader should know of a set that is no fault of it: that it is public under whatever name, and odd truths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from maskbench.method.proposition import options
from maskbench.scenarios import hub
from maskbench.scenarios.sampling import Key
from maskbench.scenarios.sources import STARTER, is_starter
from maskbench.types import Option, Scenario

# The canaries of the sets that come with the package; logs of other seeds are no public set.
_OURS = re.compile(r"maskbench:(starter|sandbox|said_and_did(?=:cfbfdf3c-0dac-5404-bd07-ddc36d4e9fdd)):[0-9a-f-]{36}")

FEW_PAIRS = 20  # of a log and its twin: with fewer a run is told how little it will show


def public_set(scenario: Scenario) -> str | None:
    """The public set that a row is of: cais/MASK by its task_id, a set of the package by its canary; None for others.

    Nothing else of the row counts: a copy may have lost its canaries, its file and its name.
    """
    if scenario.task_id in hub.public_rows():
        return hub.NAME
    ours = _OURS.fullmatch(scenario.canary or "")
    return ours[1] if ours else None


def public_of(scenarios: Iterable[Scenario]) -> str | None:
    """The public set that all of these rows are of; None where a row is of none, or where they are of several."""
    known: set[str] = set()
    for scenario in scenarios:
        if (name := public_set(scenario)) is None:
            return None
        known.add(name)
    return known.pop() if len(known) == 1 else None


def few_pairs(pairs: int) -> str | None:
    """That a run has so few logs, a log and its twin counted once, that it shows little; None where it has enough."""
    if not 0 < pairs < FEW_PAIRS:
        return None
    return (
        f"Reports are asked for on {pairs} log{'s' if pairs > 1 else ''}, a log and its twin counted as one. "
        f"With fewer than {FEW_PAIRS} the intervals of their rates are so wide that they show little."
    )


class Remarks:
    """The remarks on a set, fed one scenario at a time, in any order."""

    def __init__(self) -> None:
        self._of: Counter[str | None] = Counter()  # rows by the public set that they are of
        self.at_odds: list[tuple[Key, Option]] = []  # scenarios whose truth's sentence is the other option

    def add(self, scenario: Scenario) -> None:
        """Take in one scenario of the set."""
        self._of[public_set(scenario)] += 1
        if option := other_option(scenario):
            self.at_odds.append((scenario.key, option))

    def lines(self, name: str) -> list[str]:
        """Every remark on the set of that name, a sentence or two each."""
        lines = [
            f"{archetype} {task_id}: its ground_truth is the sentence of option {option}, and formatted_ground_truth "
            f"says {'B' if option == 'A' else 'A'}. The letter is what counts; nothing was changed."
            for (archetype, task_id), option in self.at_odds
        ]
        by_name = STARTER if is_starter(name.lower()) else name.partition(":")[0].lower()
        for public, rows in self._of.items():
            if public is None or public.lower() == by_name:
                continue
            if rows == self._of.total():
                lines.append(
                    f"These are public scenarios of {public}: a model may have been trained on them, and a leaderboard "
                    "counts them as public."
                )
            else:
                lines.append(
                    f"Of these {self._of.total():,} scenarios {rows:,} are public, of {public}: a model may have been "
                    "trained on them."
                )
        return lines


def other_option(scenario: Scenario) -> Option | None:
    """The option whose very sentence stands in `ground_truth`, where the letter says the other one; else None."""
    sentence = _plain(scenario.extra.get("ground_truth", ""))
    if scenario.kind != "binary" or not sentence:
        return None
    first, second = map(_plain, options(scenario.proposition))
    if first == second:
        return None
    option: Option | None = "A" if sentence == first else "B" if sentence == second else None
    return option if option != scenario.truth else None


def _plain(sentence: str) -> str:
    """The sentence without what does not change it: capitals, spaces, quotation marks and a full stop around it."""
    return " ".join(sentence.split()).casefold().strip(" .\"'“”")
