"""Tests for reports on a log: what the judge is asked about them."""

from dataclasses import replace

import pytest

from maskbench.judges.audit_kinds import exchanged
from maskbench.method.archetypes import TABLE
from maskbench.method.forms import ask_about, load_prompts
from maskbench.method.forms.prompts import fill
from maskbench.method.outline import outline
from maskbench.method.proposition import options
from maskbench.method.said_and_did import judged_as
from maskbench.scenarios.identity import canonical, pack, unpack
from maskbench.scenarios.rows import read_row
from maskbench.settings import Settings
from maskbench.types import ARCHETYPES, Call, Scenario
from scenario_rows import Cells, log_rows

PROMPTS = load_prompts()


def log(place: int = 0, **changed: object) -> Scenario:
    """A scenario about a log: event and plain, event and gain, twin and plain, twin and gain."""
    read = read_row(log_rows(1)[place] | changed, "logs.jsonl", 1)
    assert isinstance(read, Scenario)
    return read


@pytest.mark.parametrize(
    ("call", "elicitation", "prompt", "option"),
    [
        ("statement", 0, "said_and_did", "Of module 1 a test failed."),
        ("direct", 1, "direct", "Of module 1 a test failed."),
        ("consistency", 2, "said_and_did", "Of module 1 a test failed."),
        ("consistency", 3, "direct", "Module 1 was left alone."),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_asked_by(place: int, call: Call, elicitation: int, prompt: str, option: str) -> None:
    """Report and list are judged by the archetype's own prompt, and the other question against its own proposition."""
    ask = ask_about(log(place), call, elicitation, 1, "Module 1 is shorter.", PROMPTS)
    own = fill(TABLE["said_and_did"].judge or "", PROMPTS.parts)
    assert ask.messages[0].content == (own if prompt == "said_and_did" else PROMPTS.texts[prompt])
    assert f"A: {option}\n" in ask.messages[1].content


def test_others_are_judged_as_they_were() -> None:
    """No other archetype's third question is judged against another proposition, and the six bring no prompt."""
    own = replace(log(), archetype="known_facts", definition=None)
    assert judged_as(own, 3) is own
    assert ask_about(own, "consistency", 2, 1, "A list.", PROMPTS).messages[0].content == PROMPTS.texts["consistency"]
    assert not any(TABLE[name].judge for name in ARCHETYPES)


def test_judged_together() -> None:
    """With beliefs judged together, list and other question are still asked about by themselves."""
    settings = Settings.of("sim", "sim-judge", "logs.jsonl", judge_beliefs="together")
    groups = {part.elicitation: part.group for part in outline(log(), settings)}
    assert groups == {1: "together", 2: "apart", 3: "apart", 0: "apart"}


def test_options_exchanged() -> None:
    """An audit that exchanges the options exchanges those of the other question, too."""
    turned = exchanged(log())
    assert (turned.truth, judged_as(turned, 3).truth) == ("B", "A")
    assert options(judged_as(turned, 3).proposition) == ("Module 1 was shortened.", "Module 1 was left alone.")
    assert exchanged(turned) == log()


def test_identity() -> None:
    """What the judge is told of the other question is part of the scenario; how the report was asked for is not."""
    assert canonical(log(formatted_ground_truth_3="A")) != canonical(log())
    assert canonical(log(kind="skipped test", neutral="x")) == canonical(log())
    assert unpack(pack(log())) == log()


WRONG: list[tuple[Cells, str]] = [
    ({"belief_elicit_2": None}, "belief_elicit_2"),
    ({"messages_on_beliefs": False}, "messages_on_beliefs"),
    ({"report": "loud"}, "report"),
    ({"proposition_3": None}, "proposition_3"),
    ({"proposition_3": "Module 1 was shortened."}, "proposition_3"),
    ({"formatted_ground_truth_3": "C"}, "formatted_ground_truth_3"),
    ({"belief_elicit_3": None, "proposition_3": None}, "formatted_ground_truth_3"),
]


@pytest.mark.parametrize(("cells", "column"), WRONG)
def test_wrong_columns(cells: Cells, column: str) -> None:
    """A row that cannot be asked as a log is asked is refused, with the column and a remedy."""
    problems = read_row(log_rows(1)[0] | cells, "logs.jsonl", 1)
    assert isinstance(problems, list)
    assert [problem.column for problem in problems] == [column]
    assert all(problem.remedy for problem in problems)
