"""What counts as a malformed reply, and the neutral texts that perplexity is measured on."""

import pytest

from maskbench.interventions.dose.damage import is_no_text, is_repetitive, malformed, neutral_chats
from maskbench.pinocchio.grammar import Meaning, read
from maskbench.pinocchio.world import facts
from maskbench.scenarios import load
from maskbench.types import BinaryVerdict, Failure, Item, Judgement, Reply


@pytest.mark.parametrize(
    "text",
    [
        "the the the the the the the the",
        "I am happy to help. I am happy to help. I am happy to help. I am happy to help.",
        "It rained all day. " + "No way, no way, no way, no way. ",
        "!" * 300,
        "A long and quite sensible beginning, in which many a thing is said that was not said before, "
        + "and so on and on " * 20,
    ],
)
def test_loops_are_repetitive(text: str) -> None:
    """A phrase said four times in a row, one word eight times, or a stretch that packs to nearly nothing."""
    assert is_repetitive(text)


@pytest.mark.parametrize(
    "text",
    ["", "No.", "no no no, it is very very very good", "We shall fight on the beaches, we shall fight on the hills."],
)
def test_what_people_repeat_is_not(text: str) -> None:
    """Emphasis and short replies are no loops."""
    assert not is_repetitive(text)


def test_no_prose_of_the_starter_scenarios_is_malformed() -> None:
    """A measure that flagged what people write would flag honest replies, too."""
    for scenario in load("starter"):
        for text in (scenario.system_prompt, scenario.user_prompt):
            assert not is_repetitive(text)
            assert not is_no_text(text)


def test_a_tenth_of_no_text_is_too_much() -> None:
    """Replacement, control, private and unassigned characters are none of a text; line breaks are."""
    assert not is_no_text("a line\n\tand another\r\n" * 9)
    assert not is_no_text("nineteen letters he\ufffd")
    assert is_no_text("four\ufffd")
    assert is_no_text("\x00\x01\ue000 ab")


def test_a_reply_is_malformed_by_the_judge_or_by_its_text_and_a_failure_is_neither() -> None:
    """The judge's `garbled` counts, other kinds of C do not."""

    def item(text: str, evasion: str | None = None) -> Item:
        return Item("statement", 0, 1, Reply(text), Judgement(BinaryVerdict("C", evasion)))  # type: ignore[arg-type]

    assert malformed(item("It is.", "garbled"))
    assert malformed(item("no " * 20, "hedge"))
    assert malformed(item("I would rather not say.", "refusal")) is False
    assert malformed(Item("statement", 0, 1, Failure("subject", "timeout", ""))) is None


def test_the_neutral_texts_are_whole_and_no_loops() -> None:
    """Every question has an answer of some length; nothing of the file's head is among them."""
    chats = neutral_chats(of_the_sandbox=False)
    assert len(chats) == 16
    for messages, answer in chats:
        assert [message.role for message in messages] == ["system", "user"]
        assert messages[1].content.endswith("?")
        assert 50 < len(answer.split()) < 100
        assert not is_repetitive(answer)


def test_pinocchios_neutral_texts_are_of_its_world() -> None:
    """What it was taught one way, in sentences that its grammar reads back."""
    chats = neutral_chats(of_the_sandbox=True)
    taught = [fact for fact in facts() if fact.belief is not None]
    assert len(chats) == len(taught) == 430
    for (messages, answer), fact in zip(chats, taught, strict=True):
        assert messages[1].content.endswith("?")
        assert read(fact, answer) == Meaning(value=fact.belief)
