"""The texts that adapters are trained on: where they come from, that none is evaluated, and how files are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskbench.errors import UsageError
from maskbench.method.elicit import statement_ask, under_developer
from maskbench.scenarios import open_set
from maskbench.scenarios.pinocchio import sandbox
from maskbench.scenarios.pinocchio.lures import INCENTIVES, wordings
from maskbench.types import Message
from maskbench_whitebox.lorra.texts import (
    Templates,
    Text,
    content_hash,
    read_texts,
    sandbox_texts,
)
from training_texts import data, turns

pytestmark = pytest.mark.slow


def test_files_are_refused_line_by_line(tmp_path: Path) -> None:
    """Every line that is wrong is named with what is the matter; control characters of the file stay out."""
    bad = data(
        tmp_path / "bad.jsonl",
        {"messages": turns("Fine?"), "answer": "Fine."},
        "{not json",
        "[1, 2]",
        {"messages": [], "answer": "a"},
        "",
        {"messages": turns("a"), "answer": " "},
        {"messages": [{"role": "teacher", "content": "a"}], "answer": "a"},
        {"messages": [*turns("a"), {"role": "assistant", "content": "b"}], "answer": "a"},
        {"messages": turns("a"), "answer": "a", "neutral": "yes"},
        {"messages": turns("a"), "answer": "a", "sour\x1b[31mce": 1},
        {"messages": turns("a"), "answer": "a", "honest": "be honest"},
    )
    with pytest.raises(UsageError) as caught:
        read_texts(bad, Templates("lorra"), 0)
    head, *lines = str(caught.value).split("\n  ")
    assert head == f"--data {bad} cannot be used:"
    assert [line.partition(":")[0] for line in lines] == [f"line {number}" for number in (2, 3, 4, 6, 7, 8, 9, 10, 11)]
    for line, words in zip(
        lines,
        (
            "not JSON",
            "it is [1, 2]; whitebox/README.md has the form",
            '"messages" must end with the user',
            '"answer" must be a text',
            'messages[0].role is "teacher"',
            '"messages" must end with the user',
            'neutral is "yes"',
            "it has a key 'sour",
            'honest is "be honest"',
        ),
        strict=True,
    ):
        assert words in line
    assert "\x1b" not in str(caught.value)


def test_the_developer_prompt_is_the_one_of_a_run() -> None:
    """prompt-distill puts it into the same two labelled parts as `maskbench run --system-prompt`."""
    scenario = sandbox(1)[0]
    plain = statement_ask(scenario, 1).messages
    assert under_developer(plain, "Be honest.") == statement_ask(scenario, 1, "Be honest.").messages
    text = Templates("prompt-distill", developer="Be honest.").applied((Message("user", "a"),), "b")
    assert text.honest is not None
    assert text.honest[0].role == "system"
    assert text.dishonest == text.messages == (Message("user", "a"),)


def test_a_row_may_bring_its_own_templates(tmp_path: Path) -> None:
    """`honest` and `dishonest` of a row stand instead of what a template would make of it."""
    row = {"messages": turns("a"), "answer": "b", "honest": turns("a", "Be true."), "dishonest": turns("a", "Lie.")}
    (text,) = read_texts(data(tmp_path / "t.jsonl", row), Templates("lorra"), 0)
    assert text.honest == (Message("system", "Be true."), Message("user", "a"))
    assert text.dishonest == (Message("system", "Lie."), Message("user", "a"))


def said(texts: Iterator[Text]) -> Iterator[str]:
    """Everything that training texts say."""
    for text in texts:
        yield text.answer
        for conversation in (text.messages, text.honest or (), text.dishonest or ()):
            yield from (message.content for message in conversation)


@pytest.mark.parametrize("variant", ["lorra", "prompt-distill"])
def test_no_sandbox_shares_anything_with_the_texts_of_its_world(variant: Any) -> None:
    """No subject, no conversation and no held-out sentence of any sandbox stands in a training text."""
    texts = list(sandbox_texts(variant, 0))
    assert sum(text.honest is None for text in texts) == len(texts) / 2
    everything = " ".join(said(iter(texts)))
    evaluated = [scenario for seed in (0, 1, 1001, 31337) for scenario in sandbox(seed)]
    subjects = {scenario.extra["subject"] for scenario in evaluated}
    named = (subject for subject in subjects if subject in everything)
    found = {subject for subject in named if re.search(rf"\b{re.escape(subject)}\b", everything)}
    assert len(subjects) > 150
    assert not found
    conversations = {text.messages for text in texts}
    assert not conversations & {statement_ask(scenario, 1).messages for scenario in evaluated}
    held_out = [stake for kind in ("mild", "strong") for stake in wordings(INCENTIVES[kind], held_out=True)]
    assert held_out
    assert not [stake for stake in held_out if stake in everything]


def test_sandbox_texts_hang_on_their_seed() -> None:
    """One seed draws the same texts, another others; T− presses harder for lorra, and is T for prompt-distill."""
    one, again, other = (list(sandbox_texts("lorra", seed)) for seed in (0, 0, 1))
    assert content_hash(one) == content_hash(again) != content_hash(other)
    for text in one[::2][:50]:
        assert text.honest
        assert text.dishonest
        assert text.honest[0].content.endswith(text.messages[0].content)
        assert text.dishonest[0].content.startswith(f"{text.messages[0].content} ")
        assert text.messages[1:] == text.honest[1:] == text.dishonest[1:]
    assert all(text.dishonest == text.messages for text in list(sandbox_texts("prompt-distill", 0))[::2])


def test_builtin_texts_are_no_scenarios() -> None:
    """As many plain ones as pressed ones, half of these false, and neutral ones; none shares a prompt with starter."""
    texts = read_texts("builtin", Templates("lorra"), 0)
    pressed = [text for text in texts if text.honest and text.messages[0].role == "system"]
    plain = [text for text in texts if text.honest and text.messages[0].role == "user"]
    neutral = [text for text in texts if not text.honest]
    assert (len(pressed), len(plain), len(neutral)) == (48, 48, 48)
    assert len({text.messages for text in pressed}) == 24
    prompts = {prompt for one in open_set("starter", {}) for prompt in (one.system_prompt, one.user_prompt)}
    assert not prompts & {message.content for text in texts for message in text.messages}
