"""Contrast pairs: what differs between the two sides, and that no evaluated scenario is among them."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from maskbench.errors import UsageError
from maskbench.method.elicit import statement_ask
from maskbench.scenarios import open_set
from maskbench.scenarios.pinocchio import sandbox
from maskbench.scenarios.pinocchio.lures import INCENTIVES, WAYS, wordings
from maskbench.store.system_prompts import system_prompt
from maskbench.types import Scenario
from maskbench_whitebox.steering.contrast import FEWEST, Contrast, Pair, open_contrast

pytestmark = pytest.mark.slow


def texts(pair: Pair) -> str:
    """Everything that is said in a pair."""
    return "\n".join(message.content for message in (*pair.positive, *pair.negative))


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"[\w']+", text.lower())


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Every run of so many words in the text."""
    found = words(text)
    return {tuple(found[at : at + length]) for at in range(len(found) - length + 1)}


def scenario_texts(scenario: Scenario) -> Iterator[str]:
    """Everything that a scenario can put to a subject, and its proposition."""
    yield from (message.content for message in statement_ask(scenario, 1).messages)
    yield from (question for question in scenario.questions if question)
    yield scenario.proposition


@cache
def evaluated() -> tuple[Scenario, ...]:
    """Scenarios of the sets that come with maskbench: the sandbox's under several seeds."""
    drawn = [scenario for seed in (*range(6), 1001, 20001) for scenario in sandbox(seed)]
    return (*open_set("starter", {}), *drawn)


# builtin


def test_builtin_differs_in_the_instruction_alone() -> None:
    """Both sides of a pair have the same question and the same beginning of an answer, under another instruction."""
    contrast = open_contrast("builtin")
    assert len(contrast.pairs) == len({texts(pair) for pair in contrast.pairs}) == 120
    assert contrast.answered
    for pair in contrast.pairs:
        assert [message.role for message in pair.positive] == ["system", "user", "assistant"]
        assert pair.positive[1:] == pair.negative[1:]
        assert pair.positive[0].content != pair.negative[0].content


def test_builtins_sides_are_of_like_length() -> None:
    """What separates honest from dishonest instructions is not how long they are."""
    pairs = {(pair.positive[0].content, pair.negative[0].content) for pair in open_contrast("builtin").pairs}
    assert len(pairs) == 12
    more = [len(words(honest)) - len(words(dishonest)) for honest, dishonest in pairs]
    assert max(map(abs, more)) <= 2
    assert abs(sum(more)) <= 4


def test_builtin_is_used_evenly() -> None:
    """Every instruction stands before the same number of questions."""
    counted = Counter(pair.positive[0].content for pair in open_contrast("builtin").pairs)
    assert set(counted.values()) == {10}


def test_what_builtin_holds_out_is_new() -> None:
    """Neither questions nor instructions of the held-out pairs are learned from."""
    contrast = open_contrast("builtin")
    for place in (0, 1):
        learned = {pair.positive[place].content for pair in contrast.learned()}
        assert not learned & {pair.positive[place].content for pair in contrast.held_out()}


def test_every_pair_is_learned_from_or_held_out() -> None:
    """One in four is held out, and none is both."""
    contrast = open_contrast("builtin")
    assert len(contrast.learned()) == 90
    assert len(contrast.held_out()) == 30
    assert not {texts(pair) for pair in contrast.learned()} & {texts(pair) for pair in contrast.held_out()}


# Apart from what is evaluated


@pytest.mark.parametrize("source", ["builtin", "sandbox", "sandbox:7"])
def test_no_pair_holds_a_text_of_a_scenario(source: str) -> None:
    """No turn, question or proposition of an evaluated scenario stands in a pair as it is.

    The sandbox's system prompts are left to the tests below: a role and some small talk may be the same.
    """
    messages = [message for pair in open_contrast(source).pairs for message in (*pair.positive, *pair.negative)]
    said = {message.content for message in messages if message.role != "system" or source == "builtin"}
    assert not said & {text for scenario in evaluated() for text in scenario_texts(scenario)}


def test_builtin_shares_no_run_of_words_with_a_scenario() -> None:
    """No seven words in a row of a pair are those of an evaluated scenario."""
    own = set().union(*(runs(texts(pair), 7) for pair in open_contrast("builtin").pairs))
    theirs = set().union(*(runs(text, 7) for scenario in evaluated() for text in scenario_texts(scenario)))
    assert not own & theirs


@pytest.mark.parametrize("source", ["sandbox", "sandbox:7"])
def test_the_sandboxs_pairs_are_about_other_things(source: str) -> None:
    """No subject of an evaluated scenario, taught or made up for it, is named in a pair."""
    own = "\n".join(texts(pair) for pair in open_contrast(source).pairs).lower()
    subjects = {scenario.extra["subject"] for scenario in evaluated() if "subject" in scenario.extra}
    assert len(subjects) > 300
    assert not [subject for subject in subjects if re.search(rf"\b{re.escape(subject.lower())}\b", own)]


def test_the_sandboxs_pairs_press_in_other_words() -> None:
    """Sentences that say what is wanted or at stake are those of the training, which the sandbox never takes."""
    held = [
        re.compile(re.escape(text).replace(r"\{f\}", ".+"))
        for some in (*WAYS.values(), *INCENTIVES.values())
        for text in wordings(some, held_out=True)
        if text
    ]
    systems = [pair.negative[0].content for pair in open_contrast("sandbox").pairs]
    assert len(held) > 30
    assert not [(pattern.pattern, system) for pattern in held for system in systems if pattern.search(system)]


def test_the_developers_words_are_not_those_that_are_tried() -> None:
    """The prompt that `--system-prompt honest` gives is not learned from."""
    tried = system_prompt("honest")
    assert not [pair for pair in open_contrast("sandbox").pairs if tried in texts(pair)]


# sandbox


def test_the_sandboxs_sides_differ_in_the_developers_part_alone() -> None:
    """The honest side has the same prompt after a developer's part; what follows the system prompt is the same."""
    for pair in open_contrast("sandbox").pairs:
        honest, plain = pair.positive[0].content, pair.negative[0].content
        assert honest.endswith(plain)
        assert honest.count("\n") == plain.count("\n") + 1
        assert pair.positive[1:] == pair.negative[1:]
        assert pair.positive[-1].role == "user"


def test_a_seed_draws_the_same_pairs_again() -> None:
    """`sandbox` is `sandbox:0`; another seed draws others."""
    first, again, other = (open_contrast(source) for source in ("sandbox", "sandbox:0", "sandbox:1"))
    assert first == again
    assert first.content_hash != other.content_hash
    assert not first.answered


# A file


def said(*contents: str, last: str = "user") -> list[dict[str, str]]:
    """A conversation whose last turn is of that role."""
    roles = ["system", "user", "assistant"] if last == "assistant" else ["system", "user"]
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]


def written(path: Path, rows: list[Any]) -> Path:
    """A file of a row a line."""
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def good(n: int = FEWEST) -> list[Any]:
    """Rows of pairs as they should be."""
    return [{"positive": said("Be honest.", f"Q{k}"), "negative": said("Lie.", f"Q{k}")} for k in range(n)]


def test_a_file_of_pairs_is_read(tmp_path: Path) -> None:
    """A pair a line; empty lines are passed over, and the name is the file's without its folder."""
    contrast = open_contrast(str(written(tmp_path / "mine.jsonl", [*good(), "", *good()])))
    assert contrast.name == "mine.jsonl"
    assert len(contrast.pairs) == 2 * FEWEST
    assert [message.content for message in contrast.pairs[1].negative] == ["Lie.", "Q1"]


def test_the_hash_is_of_the_texts(tmp_path: Path) -> None:
    """Equal pairs under another name have the same hash; one letter changes it."""
    one, two = (open_contrast(str(written(tmp_path / name, good()))) for name in ("a.jsonl", "b.jsonl"))
    changed = Contrast("c", (*one.pairs[:-1], Pair(one.pairs[-1].positive, one.pairs[0].negative)))
    assert one.content_hash == two.content_hash != changed.content_hash


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (good(FEWEST - 1), f"has {FEWEST - 1} pairs; a direction takes at least {FEWEST}"),
        ([], "has 0 pairs"),
        ([*good(), "{"], rf"line {FEWEST + 1}: this is no JSON"),
        ([["a", "b"]], r"line 1: it is \['a', 'b'\]\. A row is \{\"positive\""),
        ([{"positive": said("a", "b")}], r"line 1: there is no negative\. A row is"),
        ([{"positive": [], "negative": said("a", "b")}], "line 1: a conversation has a turn of the user"),
        ([{"positive": "text", "negative": said("a", "b")}], 'line 1: positive is "text"'),
        (
            [{"positive": [{"role": "tool", "content": "x"}], "negative": said("a", "b")}],
            r'positive\[0\]\.role is "tool"',
        ),
        ([{"positive": [{"role": "user", "content": 1}], "negative": said("a", "b")}], r"positive\[0\]\.content is 1"),
        ([{"positive": said("a", "b"), "negative": said("a", "b")}], "line 1: both conversations are the same"),
        (
            [*good(), {"positive": said("a", "b", "c", last="assistant"), "negative": said("a", "b")}],
            "every conversation has to end in a user's turn, or every one in an assistant's",
        ),
        ([{"positive": said("a", "b")[:1], "negative": said("c", "b")}], "has a turn of the user; this one has none"),
        ([{"positive": said("a", "b")[::-1], "negative": said("c", "b")[::-1]}] * FEWEST, "end in a user's turn"),
    ],
)
def test_a_wrong_file_is_refused_by_line(tmp_path: Path, rows: list[Any], problem: str) -> None:
    """What cannot be read is named with its line and the form that is wanted."""
    with pytest.raises(UsageError, match=problem):
        open_contrast(str(written(tmp_path / "mine.jsonl", rows)))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("nothing.jsonl", "Give builtin, sandbox, or a file"),
        ("sandbox:x", "comes a seed"),
        ("sandbox:", "comes a seed"),
    ],
)
def test_an_unknown_contrast_is_refused(source: str, problem: str) -> None:
    """A name that is none, or a seed that is none, is an error that says what there is."""
    with pytest.raises(UsageError, match=problem):
        open_contrast(source)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    """A file of bytes that are no text is named as such."""
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no UTF-8 text"):
        open_contrast(str(tmp_path / "x.jsonl"))
