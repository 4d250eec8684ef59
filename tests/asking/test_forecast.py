"""What a run will take, counted before anything is called, against what a server then counts."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chat_server import Answer, Body, completion
from flows import environ, letter, number, scenario, scenarios, serving, settings
from maskbench.asking.begin import taken
from maskbench.asking.forecast import REPLY_TOKENS, Plan, plan
from maskbench.cli.sections.dry_run import plan as blocks
from maskbench.measurement import measure
from maskbench.method.asks import Calls
from maskbench.method.forms import load_prompts
from maskbench.presentation.terminal import text
from maskbench.scenarios import load
from maskbench.settings import Settings
from maskbench.types import ARCHETYPES, Judgement, Sampling

pytestmark = pytest.mark.slow

PROMPTS = load_prompts()
NAMES = {
    "subject": "openai-api/local/subject",
    "judge": "openai-api/local/judge",
    "numeric_judge": "openai-api/local/judge",
}


def words(text: str) -> int:
    """About 1.3 tokens a word; the code of a fence is as long as some words are together."""
    return round(1.3 * len(re.findall(r"[0-9a-f]{4}(?=[0-9a-f]*>)|\w+", text)))


def pieces(text: str) -> int:
    """Short words and punctuation are a token each, long words two, numbers one for three digits."""
    found = re.findall(r"\d{1,3}|[^\W\d]{1,9}|[^\w\s]+", text)
    return len(found)


class Counting:
    """A server's rule: replies of about so many tokens, counted as `count` does."""

    def __init__(self, count: Callable[[str], int], length: int) -> None:
        self.count = count
        self.calls = self.tokens = 0
        self._length = length
        self._rng = Random(1)
        self._words = " ".join(about.user_prompt for about in load("starter", {})).split()

    def __call__(self, body: Body) -> Answer:
        """Answer, and count."""
        replies = [self._reply(body) for _ in range(body.get("n") or 1)]
        tokens = sum(self.count(turn["content"]) + 4 for turn in body["messages"])
        self.calls += 1
        self.tokens += tokens
        return Answer(content=completion(body, list(replies), {"prompt_tokens": tokens, "completion_tokens": 1}))

    def _reply(self, body: Body) -> str | Judgement:
        if body["model"] == "judge":
            shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
            return number(10) if "lower_bound" in shape.get("properties", {}) else letter("A")
        length = round(self._rng.uniform(0.5, 1.5) * self._length / 1.3)
        return " ".join(self._rng.choices(self._words, k=length)) + f" {self._rng.random()}"


def planned(chosen: Settings) -> Plan:
    """The plan of a run with these settings."""
    return plan(taken(chosen, {})[2], chosen, PROMPTS)


@pytest.mark.parametrize(
    ("count", "length"), [(words, 100), (words, 250), (pieces, 150), (lambda text: len(text) // 4, 150)]
)
def test_the_estimate_is_near_what_a_server_counts(tmp_path: Path, count: Callable[[str], int], length: int) -> None:
    """Calls and input tokens are within 16 % of what a server reports, whose tokens are words or characters."""
    counting = Counting(count, length)
    chosen = settings(**NAMES, scenarios="starter", sample=48)
    made = planned(chosen)
    with serving(rules=[counting]) as server:
        summary = measure(chosen, tmp_path / "run", environ(server))
    assert made.calls.requests + made.calls.verdicts == pytest.approx(counting.calls, rel=0.15)
    assert sum(made.input.values()) == pytest.approx(counting.tokens, rel=0.16)
    assert sum(each.input_tokens for each in (summary.usage.subject, summary.usage.judge)) == counting.tokens


def test_calls_are_counted() -> None:
    """Samples, requests and verdicts of each archetype, as the method has them."""
    expected = {  # beliefs and statement; questions; verdicts
        "known_facts": Calls(6, 4, 6),
        "provided_facts": Calls(1, 1, 1),
        "doubling_down_known_facts": Calls(6, 4, 6),
        "statistics": Calls(4, 2, 2),
        "continuations": Calls(6, 4, 6),
        "disinformation": Calls(6, 4, 6),
    }
    chosen = settings()
    assert {name: plan([scenario(name)], chosen, PROMPTS).calls for name in ARCHETYPES} == expected


def test_a_plan_is_a_sum() -> None:
    """Twice the scenarios take twice the calls and tokens."""
    chosen = settings()
    one, two = (plan(scenarios(1) * times, chosen, PROMPTS) for times in (1, 2))
    assert (two.scenarios, two.calls) == (2 * one.scenarios, one.calls + one.calls)
    for who in ("subject", "judge"):
        assert two.input[who] == pytest.approx(2 * one.input[who])
        assert two.output[who] == pytest.approx(2 * one.output[who])


def test_output_is_assumed() -> None:
    """Output tokens are what the plan says it assumes of replies."""
    made = plan([scenario("provided_facts")], settings(statements=10), PROMPTS)
    assert made.output["subject"] == 10 * REPLY_TOKENS["statement"]


def test_no_more_is_assumed_than_may_be_answered() -> None:
    """A reply is assumed to be no longer than --max-tokens, a verdict no longer than --judge-max-tokens."""
    limited = settings(
        statements=10, sampling=Sampling(1.0, 30, 16_000), judge_sampling=Sampling(0.0, 7, 0), placebo=True
    )
    made, usual = (plan([scenario("known_facts")], chosen, PROMPTS) for chosen in (limited, settings(statements=10)))
    assert made.output["subject"] == 30 * made.calls.replies < usual.output["subject"]
    assert made.output["judge"] == 7 * made.calls.verdicts
    assert made.input["judge"] / made.calls.verdicts < usual.input["judge"] / usual.calls.verdicts
    said = " ".join(text(list(blocks(made, limited)), 200).split())
    assert "as if each answer on a belief had 30 tokens, each statement 30 and each verdict 7." in said
    assert "The larger number of calls is exact where no call fails, no verdict is shared and each sample is a" in said
    assert "Tokens are estimated. Input: from the length of the texts" in said


def test_a_single_number_of_calls_has_no_larger_one() -> None:
    """Where every sample is a request of its own, the plan names what has to hold for the number, and no range."""
    once = settings(beliefs=1)
    said = " ".join(text(list(blocks(plan(scenarios(1, ("known_facts",)), once, PROMPTS), once)), 200).split())
    assert "The number of calls is exact where no call fails and no verdict is shared." in said
