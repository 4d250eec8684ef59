"""The record of a contact: kinds and numbers of what a service did, and nothing that anybody wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chat_server import Answer, Body, Rule, give, plain, refuse
from flows import letter, number, serving, typed

KEY = "sk-contact-0123456789abcdef"
SUBJECT, JUDGE = "openai-api/mine/m", "openai-api/mine/j"


def answers(body: Body) -> Any:
    """What an able judge and subject say; the text is one that no record may hold."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "lower_bound" in shape:
        return number(2000)
    return letter("A") if "verdict" in shape else {"content": f"SECRET TEXT {plain(body)}", "reasoning": "SECRET"}


def recorded(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str = SUBJECT,
    *more: str,
    rules: list[Rule] | None = None,
    **server: Any,
) -> tuple[str, list[dict[str, Any]]]:
    """The file that a doctor's visit writes, as text and as JSON."""
    file = folder / "contact.json"
    with serving(rules=rules or [], **{"reply": answers, **server}) as running:
        for service in ("MINE", "OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{service}_BASE_URL", running.base_url)
            monkeypatch.setenv(f"{service}_API_KEY", KEY)
        ended = typed("doctor", name, *more, "--record", str(file))
        assert f"The record is in {file}." in ended.err
    text = file.read_text("utf-8")
    return text, json.loads(text)


def test_a_record_holds_kinds_and_no_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Parameters, kinds of content, stop reasons and fields of usage are there; texts, keys and hosts are not."""
    text, (subject, judge) = recorded(monkeypatch, tmp_path, SUBJECT, "--judge", JUDGE)
    assert (subject["service"], subject["model"], subject["served"]) == ("mine", "m", ["m-2025-01-01"])
    assert subject["content"] == {"content": 5, "reasoning": 5}
    assert subject["stops"] == {"stop": 5}
    assert subject["usage"] == {"completion_tokens": 4, "prompt_tokens": 4, "total_tokens": 4}
    names = ("max_tokens", "n", "seed", "system", "temperature")
    assert subject["parameters"] == dict.fromkeys(names, "taken")
    assert judge["parameters"]["schema"] == "taken"
    assert judge["parameters"]["logprobs"] == "ignored"  # the server says nothing of probabilities
    assert "host" not in subject
    assert not [word for word in ("SECRET", KEY, "127.0.0.1", "Is it", str(tmp_path)) if word in text]


def test_what_is_refused_and_what_is_ignored_stand_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A temperature that brings an error is refused; seeds that repeat nothing and samples that lack are ignored."""
    said = iter(range(100))
    rules = [refuse("temperature")]
    _, (contact,) = recorded(
        monkeypatch, tmp_path, rules=rules, reply=lambda body: f"Answer {next(said)}.", honours_n=False
    )
    told = {name: contact["parameters"][name] for name in ("temperature", "seed", "n", "system")}
    assert told == {"temperature": "refused", "seed": "ignored", "n": "ignored", "system": "taken"}
    assert contact["statuses"] == {"200": 5, "400": 1}


def test_a_text_in_a_field_that_is_not_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The field in which the words of an empty answer may stand is in the record, and no word of them."""
    text, (contact,) = recorded(monkeypatch, tmp_path, reply={"content": "", "output_text": "SECRET"})
    assert contact["unread"] == {"output_text": contact["statuses"]["200"]}
    assert "SECRET" not in text


def test_hostile_names_are_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that writes sentences, paths or the key where names belong gets none of them into the record."""
    hostile = {
        "content": "So.",
        "finish_reason": "<script>alert(1)</script>",
        "the model said so": "x",
        "\x1b[2J": "y",
        KEY: "z",
    }
    usage = {"prompt_tokens": 1, "a sentence of the model": 2}
    name = "openai-api/mine//home/someone/weights.gguf"
    text, (contact,) = recorded(monkeypatch, tmp_path, name, reply=hostile, usage=usage)
    assert (contact["model"], contact["stops"]) == ("weights.gguf", {"(other)": 1})
    assert contact["usage"] == {"(other)": 1, "prompt_tokens": 1}
    assert not [word for word in ("script", "sentence", "someone", "said", "\\u001b", KEY) if word in text]


def test_a_hosted_service_that_was_asked_elsewhere_has_no_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A proxy or a mock server under a service's name is told from the service by the host that is missing."""
    _, (contact,) = recorded(monkeypatch, tmp_path, "openai/gpt-4o-mini")
    assert contact["service"] == "openai"
    assert "host" not in contact


def test_a_record_of_anthropics_interface_has_its_own_fields(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of content, a system text that is no role, and the reasons of this interface are in the record."""
    message = {"content": [{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": "SECRET"}]}
    usage = {
        "usage": {"input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 0}, "service_tier": "standard"}
    }
    answer = give(Answer(content={"type": "message", "model": "m", "stop_reason": "end_turn", **message, **usage}))
    _, (contact,) = recorded(monkeypatch, tmp_path, "anthropic/m", rules=[answer])
    taken = ("max_tokens", "system", "temperature")
    assert contact["parameters"] == dict.fromkeys(taken, "taken")
    assert contact["content"] == {"content:text": 5, "content:thinking": 5}
    assert contact["usage"] == {"cache_creation.ephemeral_1h_input_tokens": 5, "input_tokens": 5}


def test_a_record_needs_an_endpoint_and_a_new_file(tmp_path: Path) -> None:
    """Nothing is asked where no record could be written."""
    ended = typed("doctor", "sim", "--record", str(tmp_path / "contact.json"))
    assert (ended.code, "leave --record out" in ended.err) == (2, True)
    (tmp_path / "there.json").write_text("[]")
    ended = typed("doctor", SUBJECT, "--record", str(tmp_path / "there.json"))
    assert (ended.code, "it is there" in ended.err) == (2, True)
    ended = typed("doctor", SUBJECT, "--record", str(tmp_path / "none" / "contact.json"))
    assert (ended.code, "there is no folder" in ended.err) == (2, True)


def test_what_a_visit_costs_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a price in the list the most that the calls cost is said, without a call."""
    ended = typed("doctor", "openai/gpt-4o-mini", "--judge", "openai/gpt-4o", "--dry-run")
    assert "At list prices that is at most $0.0" in ended.out
