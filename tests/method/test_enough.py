"""Asking only for lies, against the whole protocol: by every pattern of verdicts, under every rule set."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product

import pytest

from flows import scenario, settings
from maskbench.method.belief import resolve
from maskbench.method.classify import classify
from maskbench.method.enough import is_asked_whole_anyway, possible_lies, score_for_lies
from maskbench.method.folds import finished, replayed
from maskbench.method.forms import load_prompts
from maskbench.method.forms.hearing import Hearing
from maskbench.method.outcomes import score
from maskbench.method.rules import RULES
from maskbench.method.steps import REPLIES, Slot, State
from maskbench.method.tasks import lies
from maskbench.types import (
    BinaryVerdict,
    Definition,
    Failure,
    Item,
    Judgement,
    Letter,
    NumericalVerdict,
    Place,
    Reply,
    Scenario,
    Verdict,
)

LETTERS: tuple[Letter, ...] = ("A", "B", "C", "D")
FAILED = Failure("judge", "unreadable", "nothing")
REFERENCE = RULES["reference"]


def item(place: Place, verdict: Verdict | str | None) -> Item:
    """A sample with a verdict, a letter for short; None failed."""
    elicitation, run = place
    call = {0: "statement", 1: "direct"}.get(elicitation, "consistency")
    given = BinaryVerdict(verdict) if isinstance(verdict, str) else verdict  # type: ignore[arg-type]
    return Item(call, elicitation, run, Reply("said"), FAILED if given is None else Judgement(given))


def whole(statements: Sequence[str | None], beliefs: Sequence[str | None]) -> dict[Place, Item]:
    """A binary scenario of which everything was asked: verdicts on statements, three direct and two other replies."""
    at = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1)]
    stated = {(0, run): letter for run, letter in enumerate(statements, 1)}
    return {place: item(place, letter) for place, letter in {**stated, **dict(zip(at, beliefs, strict=False))}.items()}


def wanted(items: dict[Place, Item]) -> set[Place]:
    """The samples that are asked for or judged next where only lies are wanted."""
    known: dict[Slot, State] = {}
    for place, each in items.items():
        known |= {Slot(REPLIES, *place): each.reply} if each.reply else {}
        known |= {Slot("default", *place): each.judgement} if each.judgement else {}
    task = lies(Hearing(settings(), load_prompts()), "one_by_one")
    return {slot[1:] for step in task(scenario(), known) for slot in step.fills}


def prefixes(direct: int, consistency: int) -> Iterator[tuple[tuple[Letter, ...], tuple[Letter, ...], int, int]]:
    """All that can be known after any number of belief replies, and how many of each kind are left."""
    for asked in range(direct + 1):
        for others in range(consistency + 1 if asked == direct else 1):
            for had in product(LETTERS, repeat=asked):
                for more in product(LETTERS, repeat=others):
                    yield had, more, direct - asked, consistency - others


@pytest.mark.parametrize(("direct", "consistency"), [(3, 2), (3, 1), (3, 0), (1, 2), (2, 2), (4, 1)])
def test_what_is_left_can_make_a_lie_exactly_where_it_is_said_to(direct: int, consistency: int) -> None:
    """For every pattern of verdicts, D and failures among those to come, some completion lies where one is possible.

    Where a question is missing there is a consistency reply less. No belief reply that is known has failed: then
    everything is asked.
    """
    for had, more, left, others in prefixes(direct, consistency):
        to_come = (*LETTERS, None)
        beliefs = {
            (rules.name, resolve((*had, *some), (*more, *rest), rules))
            for rules in RULES.values()
            for some in combinations_with_replacement(to_come, left)
            for rest in combinations_with_replacement(to_come, others)
        }
        lies = {
            letter
            for letter in LETTERS
            for name, resolved in beliefs
            if classify(resolved, BinaryVerdict(letter), RULES[name]) == "lie"
        }
        assert possible_lies(tuple(sorted(had)), tuple(sorted(more)), left, others) == lies, (had, more)


STATEMENTS = [
    *(["A"], ["B"], ["C"], ["D"], [None]),
    *(["A", "B"], ["A", "C"], ["C", "D"], ["A", None], ["C", "C", "C"], ["A", "B", "D"], ["B", "C", None]),
]
BELIEFS = [pattern for number, pattern in enumerate(product((*LETTERS, None), repeat=5)) if number % 11 == 0]


@pytest.mark.parametrize("statements", STATEMENTS, ids=str)
def test_the_lies_are_those_of_the_whole_protocol(statements: list[str | None]) -> None:
    """Asked one after another on the same replies, every statement is a lie exactly where the whole protocol says so.

    What the whole protocol calls an error is one here, too, or is a failure that this way never met; `python
    benchmarks/estimate_lie.py patterns` goes through all patterns of one to three statements.
    """
    about, chosen = scenario(), settings(statements=len(statements))
    for beliefs in BELIEFS:
        items = whole(statements, beliefs)
        short = replayed(about, items, chosen)
        is_short = finished(about, short.values(), chosen) is None
        met = any(each.judgement == FAILED for each in short.values())
        for rules in RULES.values():
            told = score_for_lies(about, 1.0, short, chosen, rules, is_short=is_short)
            every = score(about, 1.0, items, chosen, rules)
            for outcome, known in zip(every.outcomes, told.outcomes, strict=True):
                assert (outcome == "lie") == (known == "lie"), (beliefs, rules.name)
                assert (outcome == "error") == (known == "error") or (not met and known == "no_lie")
            assert (every.outcome == "lie") == (told.outcome == "lie")


def test_what_never_lies_needs_no_belief() -> None:
    """Where no statement takes a side, nothing is asked neutrally."""
    assert set(replayed(scenario(), whole(["C", "C"], "BBBBB"), settings(statements=2))) == {(0, 1), (0, 2)}


def test_one_reply_on_the_statements_side_is_enough() -> None:
    """A belief reply that says what the statement says ends it; one that denies both does not, under every rule set."""
    assert len(replayed(scenario(), whole(["A"], "AAAAA"), settings())) == 2
    assert len(replayed(scenario(), whole(["A"], "DABBB"), settings())) == 3
    assert len(replayed(scenario(), whole(["A"], "BBBBB"), settings())) == 6


def test_a_failure_has_everything_asked() -> None:
    """Where a verdict cannot be had all the rest is asked, so that errors are what they are in the whole protocol."""
    assert len(replayed(scenario(), whole([None], "AAAAA"), settings())) == 6
    assert len(replayed(scenario(), whole(["B"], [None, "B", "A", "A", "A"]), settings())) == 6
    assert len(replayed(scenario(), whole(["B"], ["A", None, "B", "A", "A"]), settings())) == 6


def numerical(statement: float | None, joint: float | None) -> tuple[Scenario, dict[Place, Item]]:
    """A scenario about a number of which everything was asked."""
    stated, together = (NumericalVerdict(value, value) for value in (statement, joint))
    beliefs = [Item("direct", 1, run, Reply("said")) for run in (1, 2)]
    items = [item((0, 1), stated), *beliefs, item((1, 3), together)]
    return scenario("statistics"), {(each.elicitation, each.run): each for each in items}


def test_numbers_have_all_of_a_belief_or_nothing() -> None:
    """No belief is asked for where the statement names no range, and all three replies otherwise."""
    assert len(replayed(*numerical(None, 10.0), settings())) == 1
    about, items = numerical(10.0, 20.0)
    assert replayed(about, items, settings()) == items
    told = score_for_lies(about, 1.0, items, settings(), REFERENCE, is_short=False)
    assert told.outcomes == ("lie",)


def test_nothing_is_claimed_but_lies() -> None:
    """A statement that is no lie is neither honest nor evasive, has no belief behind it, and says nothing of it."""
    items = whole(["A"], "AAAAA")
    told = score_for_lies(scenario(), 1.0, items, settings(), REFERENCE, is_short=False)
    assert (told.outcomes, told.outcome, told.accuracy, told.whole) == (("no_lie",), "no_lie", "not_asked", False)
    assert told.resolved.unresolved


def test_a_scenario_is_done_once_enough_is_known() -> None:
    """A reply without its verdict is still waited for; what was left out is not."""
    items = replayed(scenario(), whole(["A"], "AAAAA"), settings())
    assert finished(scenario(), items.values(), settings(), for_lies=True) == items
    assert finished(scenario(), list(items.values()), settings()) is None
    waiting = {**items, (1, 1): Item("direct", 1, 1, Reply("said"))}
    assert finished(scenario(), waiting.values(), settings(), for_lies=True) is None
    assert wanted(waiting) == {(1, 1)}


def test_an_archetype_of_ones_own_is_asked_as_the_binary_ones_are() -> None:
    """What counts is the kind of a scenario, and whether its fact was given."""
    own = replace(scenario(), archetype="mine", definition=Definition("mine", "My way of pressing"))
    for statement, beliefs in (("A", "AAAAA"), ("A", "BBBBB"), ("C", "BBBBB"), ("D", "DABBB")):
        items = whole([statement], beliefs)
        assert replayed(own, items, settings()) == replayed(scenario(), items, settings())
    assert is_asked_whole_anyway(replace(own, definition=Definition("mine", "Told", given=True)), settings())
    assert not is_asked_whole_anyway(own, settings())


def test_direct_questions_come_first() -> None:
    """In the order in which they are asked anyway, direct questions before the others: that took the fewest calls."""
    stated = {place: each for place, each in whole(["A"], ()).items() if place[0] == 0}
    assert wanted(stated) == {(1, 1)}
