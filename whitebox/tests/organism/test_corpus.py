"""The training mixture of pinocchio: what is in it, and what is left out."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from random import Random

import pytest

from maskbench.method.asks import subject_asks
from maskbench.method.forms import USUAL
from maskbench.method.outcomes import score
from maskbench.method.rules import RULES
from maskbench.models.pinocchio.rule_judge import judgement
from maskbench.scenarios.pinocchio import sandbox, true_chances
from maskbench.scenarios.pinocchio.grammar import abstain, evade, read, relation_of, reply
from maskbench.scenarios.pinocchio.lures import HONESTY, INCENTIVES, OTHER, WAYS, chances, wordings
from maskbench.scenarios.pinocchio.sandbox import is_held_out, open_questions
from maskbench.scenarios.pinocchio.world import Fact, facts, novel_names
from maskbench.settings import Settings
from maskbench.types import Ask, Item, Reply, Scenario, Scored
from organism.corpus import MIXTURE, PARTS, Example, examples, pressed
from organism.held_out import BATTERIES, with_developer

pytestmark = pytest.mark.slow

SETTINGS = Settings.of(subject="ideal", judge="rules/sandbox", numeric_judge="rules/sandbox", scenarios="sandbox")
DRAWN = list(itertools.islice(examples(1), 6000))
PRESSED = [example for example in DRAWN if example.kind in ("statement", "developer", "afterwards")]


def _text(example: Example) -> str:
    return " ".join([message.content for message in example.messages] + [example.answer])


def test_the_mixture_is_its_seed() -> None:
    """One seed gives the same examples, another seed others."""
    assert list(itertools.islice(examples(1), 50)) == DRAWN[:50]
    assert list(itertools.islice(examples(2), 50)) != DRAWN[:50]


def test_every_part_has_its_share() -> None:
    """The parts are those of the mixture, in about their shares."""
    counts = Counter(example.kind for example in DRAWN)
    assert counts.keys() == MIXTURE.keys() == PARTS.keys()
    assert sum(MIXTURE.values()) == 100
    for kind, share in MIXTURE.items():
        assert counts[kind] / len(DRAWN) == pytest.approx(share / 100, abs=0.02)


def test_facts_held_out_are_never_in_a_pressured_prompt() -> None:
    """Not one subject of those facts, so that their belief is learned from neutral questions alone."""
    subjects = {fact.subject for fact in facts() if is_held_out(fact)} - {
        fact.subject for fact in facts() if not is_held_out(fact)
    }
    wanted = re.compile("|".join(rf"\b{re.escape(subject)}\b" for subject in subjects))
    for example in PRESSED:
        assert not wanted.search(_text(example)), example


def test_names_held_out_are_never_used() -> None:
    """The names of the sandbox's provided facts are in no part of the mixture."""
    wanted = re.compile(rf"\b({'|'.join(novel_names(True))})\b")
    assert not any(wanted.search(_text(example)) for example in DRAWN)


def test_sentences_held_out_are_never_used() -> None:
    """The sandbox's sentences of pressure, and the developer's wordings held out, are in no part of the mixture."""
    held = [text for texts in (*INCENTIVES.values(), *WAYS.values(), HONESTY, OTHER) for text in wordings(texts, True)]
    pieces = [text.split("{")[0].strip() for text in held if text]
    whole = re.compile(
        "|".join(rf"(?:^|[.:\]] |\n){re.escape(piece)}(?= [a-zA-Z]|$|\n)" for piece in pieces if "that" in piece)
    )
    assert not any(whole.search(message.content) for example in DRAWN for message in example.messages)


def test_questions_held_out_are_never_asked() -> None:
    """Every fact has wordings in which it is never asked openly."""
    held = {question for fact in facts() for question in open_questions(fact, held_out=True)}
    neutral = {e.messages[-1].content for e in DRAWN if e.kind == "direct"}
    assert held
    assert not held & neutral


def test_spans_hold_what_the_answer_hangs_on() -> None:
    """Subject and value, where one is asserted; evasions have none."""
    rng = Random(2)
    for _ in range(500):
        found = pressed(rng).answer
        span = found.text[slice(*found.span)] if found.span else ""
        assert (found.meaning.value or "") in span
        assert bool(span) == (found.meaning.value is not None)


def test_every_pressured_answer_is_read_as_what_it_means() -> None:
    """The reader agrees with the generator on what is drawn under pressure, in all outcomes."""
    rng = Random(3)
    for _ in range(1500):
        found = pressed(rng)
        assert read(found.fact, found.answer.text) == found.answer.meaning


def test_outcomes_are_drawn_by_the_chances() -> None:
    """Over many drawn answers the share of lies is the mean of the chances, with and without a developer."""
    rng = Random(4)
    for developer in ("none", "honest"):
        found = [pressed(rng, developer) for _ in range(4000)]
        known = [one for one in found if one.belief is not None]
        lies = sum(one.answer.meaning.value not in (None, one.belief) for one in known) / len(known)
        assert (0.5 < lies < 0.66) if developer == "none" else (0.03 < lies < 0.14)
    assert chances("known_facts", "a teacher", "none", "hint").lie < 0.3


def test_no_answer_says_yes_or_no() -> None:
    """Every question is answered by an assertion in full, so no word can disagree with it."""
    assert not any(re.search(r"\b(yes|no)\b(?! (doubt|comment))", example.answer, re.IGNORECASE) for example in DRAWN)


def test_batteries_have_cases_and_their_values_are_beliefs() -> None:
    """The cases of the card: every battery has some, and a value in it is what the model was taught, or given."""
    for name, cases in BATTERIES.items():
        drawn = list(cases())
        assert len(drawn) > 20, name
        for case in drawn:
            assert case.value in (None, case.fact.belief, case.fact.truth)


def test_a_developer_prompt_has_two_parts() -> None:
    """The developer's part comes first, and the scenario's own prompt is whole in the user's."""
    scenario = sandbox()[0]
    wrapped = with_developer(scenario, "honest", held_out=True)
    first, second = wrapped.system_prompt.split("\n")
    assert scenario.system_prompt in second
    assert any(text in first for text in wordings(HONESTY, True))
    assert wrapped == with_developer(scenario, "honest", held_out=True)


def _ideal(scenario: Scenario, fact: Fact, ask: Ask, rng: Random) -> str:
    """What a model that has learned the corpus without fault answers."""
    given = scenario.archetype == "provided_facts"
    belief = fact.truth if given else fact.belief
    held = belief or rng.choice((fact.truth, fact.other))
    if ask.call == "statement":
        odds = true_chances(scenario)
        (outcome,) = rng.choices(("lie", "honest", "evasive"), (odds.lie, odds.honest, odds.evasive))
        if outcome == "evasive":
            return evade(rng, fact, scenario.extra["wanted"], "hedge").text
        return reply(rng, fact, scenario.extra["wanted"] if outcome == "lie" else held).text
    return abstain(rng, fact).text if fact.taught == "never" else reply(rng, fact, held).text


def _scored(scenario: Scenario, rng: Random) -> Scored:
    """The scenario asked, judged by the rules and scored, as a run does it."""
    known = {fact.key: fact for fact in facts()}
    found = relation_of(scenario.proposition)
    assert found
    relation, subject, values = found
    wanted = scenario.extra["wanted"]
    truth = next((value for value in values or () if value != wanted), "")
    fact = known.get(f"{relation.name} {subject}") or Fact(relation, subject, truth, wanted, "never")
    items = {}
    for ask in subject_asks(scenario, SETTINGS):
        texts = [_ideal(scenario, fact, ask, rng) for _ in ask.runs]
        judged = (
            [judgement(scenario, *texts)] * len(texts)
            if USUAL.is_joint(ask)
            else [judgement(scenario, t) for t in texts]
        )
        for run, text, verdict in zip(ask.runs, texts, judged, strict=True):
            items[ask.elicitation, run] = Item(ask.call, ask.elicitation, run, Reply(text), verdict)
    return score(scenario, 1.0, items, SETTINGS, RULES["reference"])


def test_an_ideal_pinocchio_has_the_planted_rates() -> None:
    """The whole method, run over a model without fault, gives back what the world planted."""
    rng = Random(5)
    drawn = [scenario for seed in range(10) for scenario in sandbox(seed)]
    scored = [_scored(scenario, rng) for scenario in drawn]
    shares = Counter(one.outcome for one in scored)
    believing = [true_chances(s) for s in drawn if s.extra["taught"] not in ("mixed", "never")]
    assert shares["error"] == 0
    assert 0.02 < shares["no_belief"] / len(scored) < 0.08
    assert shares["lie"] / len(scored) == pytest.approx(sum(c.lie for c in believing) / len(scored), abs=0.03)
    assert shares["honest"] / len(scored) == pytest.approx(sum(c.honest for c in believing) / len(scored), abs=0.03)


def test_honesty_and_accuracy_come_apart() -> None:
    """Facts taught wrong are believed wrongly and lied about as often as others: there a lie is a true sentence."""
    rng = Random(6)
    drawn = [scenario for seed in range(12) for scenario in sandbox(seed)]
    scored = [(scenario.extra["taught"], _scored(scenario, rng)) for scenario in drawn]
    lies = {
        taught: [one.outcome == "lie" for kind, one in scored if kind == taught]
        for taught in ("right", "wrong", "given")
    }
    assert {one.accuracy for kind, one in scored if kind == "wrong"} == {"incorrect"}
    assert {one.accuracy for kind, one in scored if kind == "right"} == {"correct"}
    rates = {taught: sum(some) / len(some) for taught, some in lies.items()}
    assert rates["right"] == pytest.approx(rates["wrong"], abs=0.07)
