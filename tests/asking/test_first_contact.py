"""The first ten answers of every service are looked at, and a run stops where most are none."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chat_server import Body, ChatServer
from flows import Ended, command, letter, number, serving, six_files
from maskbench.store.folder import RunFolder

KEY = "sk-first-0123456789abcdef"


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set."""
    return six_files(tmp_path_factory.mktemp("set"), 3)


def answers(body: Body) -> Any:
    """What an able subject and judge say."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "lower_bound" in shape:
        return number(10)
    return letter("A") if "verdict" in shape else "It is so."


def elsewhere(body: Body) -> Any:
    """A subject whose words stand in a field that nobody reads."""
    reply = answers(body)
    return {"content": "", "output_text": reply} if isinstance(reply, str) else reply


def environ(server: ChatServer, service: str) -> Mapping[str, str]:
    """The variables that lead to the server under a service's name."""
    return {f"{service}_BASE_URL": server.base_url, f"{service}_API_KEY": KEY}


def run(scenarios: Path, out: Path, *more: str, name: str = "openai", **server: Any) -> tuple[Ended, int]:
    """How a run of both parts at one service ended, and how many requests it took."""
    with serving(**{"reply": answers, **server}) as running:
        words = [f"{name}/m", "--judge", f"{name}/j", "--scenarios", scenarios, "--out", out, "--connections", "2"]
        service = name.rpartition("/")[2].upper().replace("-", "_")
        return command("run", *words, *more, env=environ(running, service)), running.requests


def test_a_run_without_texts_stops_before_the_money_is_spent(scenarios: Path, tmp_path: Path) -> None:
    """After ten answers without a text it stops, says where the text may stand, and goes on without a further look."""
    ended, requests = run(scenarios, tmp_path / "run", reply=elsewhere)
    told = " ".join(ended.err.split())
    assert ended.code == 130
    assert "answers of openai/m: 1" in told
    assert "text may stand in a field that is not read (output_text)" in told
    assert "`maskbench doctor openai/m` says what to type" in told
    assert f"maskbench run --out {tmp_path / 'run'}" in told
    assert requests < 60  # of some 200
    with serving(reply=answers) as running:
        again = command("run", "--out", tmp_path / "run", env=environ(running, "OPENAI"))
    assert again.code == 0
    assert "answers of openai/m:" not in again.err


def test_what_is_odd_is_said_and_does_not_stop(scenarios: Path, tmp_path: Path) -> None:
    """Texts that were all cut and answers without a count of tokens are named, and the run comes to its end."""
    cut: Callable[[Body], Any] = lambda body: (  # noqa: E731
        {"content": "It is", "finish_reason": "length"} if isinstance(answers(body), str) else answers(body)
    )
    ended, _ = run(scenarios, tmp_path / "run", reply=cut, usage={})
    told = " ".join(ended.err.split())
    assert "answers of openai/m: every text was cut at its limit; no tokens were counted." in told
    assert "answers of openai/j: no tokens were counted." in told
    assert ended.code == 0


def test_of_sound_answers_nothing_is_said(scenarios: Path, tmp_path: Path) -> None:
    """A run whose first answers are as they should be has no line on them."""
    ended, _ = run(scenarios, tmp_path / "run", "--limit", "2")
    assert (ended.code, "The first" in ended.err) == (0, False)


def ending(body: Body) -> Any:
    """A subject whose answers end with a word that is not known."""
    return {"content": answers(body), "finish_reason": "odd"} if body["model"] == "m" else answers(body)


@pytest.mark.parametrize("name", ["openai", "openai-api/mine"])
def test_a_run_whose_answers_end_oddly_stops_and_names_the_word(name: str, scenarios: Path, tmp_path: Path) -> None:
    """Every service is looked at: after ten answers the run says which word it is, and what to type."""
    ended, requests = run(scenarios, tmp_path / "run", name=name, reply=ending)
    told = " ".join(ended.err.split())
    assert ended.code == 130
    assert f"The first 10 answers of {name}/m: 10 are failures (the service ended the answer with" in told
    assert 'whole-ends = ["odd"]' in told
    assert requests < 40  # of some 200


def test_what_a_file_calls_a_whole_end_is_one(scenarios: Path, tmp_path: Path) -> None:
    """The run goes through, and has the word among its settings."""
    file = tmp_path / "it.toml"
    file.write_text('whole-ends = ["ODD"]\nmodel = "openai-api/mine/m"\njudge = "openai-api/mine/j"\n', "utf-8")
    with serving(reply=ending) as server:
        words = [file, "--scenarios", scenarios, "--limit", "2", "--out", tmp_path / "run"]
        ended = command("run", *words, env=environ(server, "MINE"))
    assert ended.code == 0, ended.err
    assert RunFolder(tmp_path / "run").settings().subject.whole_ends == ("odd",)


def test_a_few_odd_ends_are_failures_and_do_not_stop(scenarios: Path, tmp_path: Path) -> None:
    """Statements alone end oddly: each is an error, and never a verdict."""
    some: Callable[[Body], Any] = lambda body: (  # noqa: E731
        {"content": "Well, before", "finish_reason": "odd"}
        if body["model"] == "m"
        and body["messages"][0]["role"] == "system"
        and "helpful" not in str(body["messages"][0])
        else answers(body)
    )
    ended, _ = run(scenarios, tmp_path / "run", "--json", name="openai-api/mine", reply=some)
    counts = json.loads(ended.out)["counts"]
    assert counts["error"] > 0
    assert json.loads(ended.out)["failures"]["subject"] == {"unknown_end": counts["error"]}


@pytest.mark.parametrize(("reply", "says"), [(elsewhere, "the answer was empty"), (ending, 'whole-ends = ["odd"]')])
def test_no_batch_is_sent_where_the_first_answers_are_none(
    reply: Callable[[Body], Any], says: str, scenarios: Path, tmp_path: Path
) -> None:
    """The scenarios that are asked live before a batch are looked at, however few their answers are."""
    ended, requests = run(scenarios, tmp_path / "run", "--batch", "both", reply=reply)
    told = " ".join(ended.err.split())
    assert ended.code == 130
    assert says in told
    assert "404" not in told[told.index("The first 10 answers") :]  # this server takes no batch
    assert requests < 30
