"""The mark behind what several judge requests share: where it stands, and where none does."""

from typing import Any

import orjson
import pytest

from asked import judge_asks
from flows import scenario
from maskbench.method.forms import load_prompts
from maskbench.models.chat import wire
from maskbench.models.chat.dialects import dialect_of
from maskbench.settings import Settings
from maskbench.types import Ask, Reply
from scenario_rows import another

PROMPTS = load_prompts()
LONG = "It is a long story about figs. " * 200
CLAUDE = "anthropic/claude-sonnet-4.5"


def judge_ask(statements: int = 10, system: str = LONG) -> Ask:
    """A judge's ask about the first statement of a scenario."""
    settings = Settings.of("sim", "sim-judge", "starter", statements=statements)
    about = another(scenario("known_facts", 1), system=system)
    known = {(0, run): Reply(f"{run} is what I say.") for run in range(1, statements + 1)}
    return judge_asks(about, known, settings, PROMPTS)[0]


def body(service: str, model: str, ask: Ask, cache_from: int | None = 1024) -> Any:
    """What goes out, as JSON."""
    how = {"limit": 1000, "temperature": 0.0, "seed": None, "cache_from": cache_from}
    return orjson.loads(dialect_of(service).request(model, ask, wire.Learned(), **how).payload())


@pytest.mark.parametrize(("service", "model"), [("openrouter", CLAUDE), ("anthropic", "claude-sonnet-4-5")])
def test_the_mark_stands_before_the_reply(service: str, model: str) -> None:
    """The last message is two texts, of which the first is marked and ends where the reply's fence begins."""
    ask = judge_ask()
    message = body(service, model, ask)["messages"][-1]
    first, second = message["content"]
    assert message["role"] == "user"
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in second
    assert first["text"] + second["text"] == ask.messages[1].content
    assert second["text"].startswith("<reply ")
    assert LONG.strip() in first["text"]


@pytest.mark.parametrize(
    ("service", "model", "ask", "cache_from"),
    [
        ("openrouter", CLAUDE, judge_ask(system="Short."), 1024),
        ("openrouter", CLAUDE, judge_ask(statements=1), 1024),
        ("openrouter", CLAUDE, judge_ask(), None),
        ("openrouter", "openai/gpt-4o", judge_ask(), 1024),
        ("openai", "gpt-4o", judge_ask(), 1024),
        ("vllm", CLAUDE, judge_ask(), 1024),
    ],
    ids=["short", "no other request has it", "no minimum", "another maker", "OpenAI", "a server of one's own"],
)
def test_elsewhere_nothing_is_marked(service: str, model: str, ask: Ask, cache_from: int | None) -> None:
    """What no cache takes, or takes without a mark, goes out as it always did."""
    sent = body(service, model, ask, cache_from)
    usual = wire.request(model, ask, wire.Learned(), limit=1000, temperature=0.0, seed=None).payload()
    assert sent == orjson.loads(usual)


def test_a_server_without_a_system_role_gets_no_mark() -> None:
    """There the system text stands before the first message, and the place of the mark would be another."""
    ask = judge_ask()
    folds = wire.Learned(system=False)
    request = dialect_of("openrouter").request(
        CLAUDE, ask, folds, limit=1000, temperature=0.0, seed=None, cache_from=1024
    )
    assert b"cache_control" not in request.payload()
