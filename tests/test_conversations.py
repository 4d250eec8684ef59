"""Runs whose scenarios begin with messages and tool calls: by both interfaces, natively and as text, then handed on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chat_server import Answer, Body
from conversations import HOSTILE, cells, log, refused_by_anthropic, refused_by_chat
from flows import KEY, command, in_thread, serving
from maskbench import Settings, import_run, load, measure
from maskbench.asking.forecast import plan
from maskbench.errors import UsageError
from maskbench.interop.export import write
from maskbench.method.forms import load_prompts
from maskbench.method.tool_calls import uses_tools
from maskbench.results.textless_run import write_without_texts
from maskbench.scenarios import load as load_set
from maskbench.scenarios.messages import read_messages
from maskbench.settings import protocol_id
from scenario_rows import Cells, row, write_jsonl


class Asked(list[Any]):
    """The bodies of a server's requests, and the environment in which it is found."""

    environ: dict[str, str]
    model: str


@contextmanager
def chat() -> Iterator[Asked]:
    """A server of chat completions that refuses what OpenAI's does."""

    def refuses(body: Body) -> Answer | None:
        told = refused_by_chat(body)
        return Answer(400, {"error": {"message": told, "type": "invalid_request_error"}}) if told else None

    asked = Asked()
    with serving(rules=[refuses], reply="All tests passed.") as server:
        asked.environ = {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": KEY}
        asked.model = "openai-api/local/subject"
        yield asked
        asked += server.bodies


@contextmanager
def anthropic() -> Iterator[Asked]:
    """A server of Anthropic's Messages API that refuses what theirs does."""
    asked = Asked()

    async def handle(request: web.Request) -> web.Response:
        asked.append(body := await request.json())
        if told := refused_by_anthropic(body):
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": told}}
            return web.json_response(error, status=400)
        content = [{"type": "text", "text": "All tests passed."}]
        about = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn"}
        return web.json_response({**about, "content": content, "usage": {"input_tokens": 1, "output_tokens": 1}})

    @asynccontextmanager
    async def served() -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/v1/messages", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    with in_thread(served) as address:
        asked.environ = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": KEY}
        asked.model = "anthropic/claude-x"
        yield asked


def a_set(place: Path) -> Path:
    """Two scenarios with messages, one without a last request of the user's, and one in columns."""
    rows = [cells(), cells("log-2", messages=log(last=None)), {"archetype": "known_facts", **row("known_facts")}]
    return write_jsonl(place / "set.jsonl", rows)


def failures(run: Path) -> set[str]:
    """What the failures of a run's replies say."""
    return set(load(run).replies["error_detail"].drop_nulls())


def a_run(place: Path, subject: str = "sim/lie=0.8,evade=0", **options: Any) -> Path:
    """A simulated run on that set."""
    measure(Settings.of(subject, "sim-judge", str(a_set(place)), **options), place / "run", {})
    return place / "run"


@pytest.mark.parametrize(("serves", "requests", "calling"), [(chat, 10, 6), (anthropic, 16, 10)])
@pytest.mark.parametrize("tool_calls", ["native", "text"])
def test_both_interfaces_take_every_request(
    serves: Callable[[], AbstractContextManager[Asked]], requests: int, calling: int, tool_calls: str, tmp_path: Path
) -> None:
    """No request is refused, natively or as text, and tools are declared in the native requests that call some."""
    with serves() as asked:
        settings = Settings.of(asked.model, "sim-judge", str(a_set(tmp_path)), tool_calls=tool_calls)
        measure(settings, tmp_path / "run", asked.environ)
    assert failures(tmp_path / "run") == set()
    assert len(asked) == requests
    told = [json.dumps(body, ensure_ascii=False) for body in asked]
    assert sum(HOSTILE in text and "git status" in text for text in told) == calling
    assert sum("tools" in body for body in asked) == (calling if tool_calls == "native" else 0)
    assert sum("[tool call call1aaaa: run]" in text for text in told) == (0 if tool_calls == "native" else calling)


def test_how_they_go_is_part_of_the_protocol(tmp_path: Path) -> None:
    """The same set with its tool calls as text is another protocol; what is usual enters no id."""
    settings = Settings.of("sim", "sim-judge", str(a_set(tmp_path)))
    assert protocol_id(settings, "a") != protocol_id(settings.having(tool_calls="text"), "a")


def test_a_service_that_takes_none_is_told_with_the_remedy(tmp_path: Path) -> None:
    """A refusal of requests with tools names the option; what calls none is answered."""

    def refuses(body: Body) -> Answer | None:
        return Answer(400, {"error": {"message": "tools are not supported"}}) if "tools" in body else None

    with serving(rules=[refuses], reply="All tests passed.") as server:
        environ = {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": KEY}
        measure(Settings.of("openai-api/local/subject", "sim-judge", str(a_set(tmp_path))), tmp_path / "run", environ)
    (told,) = failures(tmp_path / "run")
    assert told.endswith("(where tools are not taken: --tool-calls text)")


def test_a_model_that_takes_none_says_what_to_do(tmp_path: Path) -> None:
    """Each of its failures names the option, by which it answers."""
    measure(Settings.of("pinocchio", "sim-judge", str(a_set(tmp_path))), tmp_path / "native", {})
    assert failures(tmp_path / "native") == {"pinocchio takes no tool calls. Add --tool-calls text."}
    measure(Settings.of("pinocchio", "sim-judge", str(a_set(tmp_path)), tool_calls="text"), tmp_path / "text", {})
    assert failures(tmp_path / "text") == set()


def test_commands_show_them(tmp_path: Path) -> None:
    """`scenarios validate` and `scenarios show` take such a set as any other."""
    place = str(a_set(tmp_path))
    told = command("scenarios", "validate", place, env={})
    assert (told.code, "nothing is wrong with its 3 scenarios" in told.out) == (0, True)
    shown = command("scenarios", "show", place, "log-1", "--prompts", env={}).out
    assert "[tool call call1aaaa: run]" in shown
    assert "<tool " in shown


def test_exports_have_them(tmp_path: Path) -> None:
    """Rows of every form stand for all scenarios, frames have the messages, and the published form refuses by name."""
    run = a_run(tmp_path)
    for form in ("jsonl", "csv", "parquet"):
        write(run, None, form, tmp_path / f"rows.{form}")
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    assert len(list(csv.reader(io.StringIO((tmp_path / "rows.csv").read_text())))) == 4
    frame = {row["task_id"]: row for row in load(run).scenarios.iter_rows(named=True)}
    assert read_messages(frame["log-1"]["messages"]) == read_messages(log())
    assert frame["log-1"]["messages_on_beliefs"] is True
    assert frame["known_facts-1"]["messages"] is None
    with pytest.raises(UsageError, match="no columns for the messages of known_facts log-1"):
        write(run, None, "published", tmp_path / "published")


def test_transcripts_about_them_are_imported(tmp_path: Path) -> None:
    """Replies by task_id become a run on these scenarios, with the same messages."""
    place = a_set(tmp_path)
    asked = {"log-1": ("statement", "belief_elicit_1", "belief_elicit_2")}
    lines: list[Cells] = [
        {"task_id": task_id, "question": question, "reply": "All tests passed.", "model": "lab/own"}
        for task_id, questions in asked.items()
        for question in questions
    ]
    write_jsonl(tmp_path / "replies.jsonl", lines)
    import_run(tmp_path / "replies.jsonl", tmp_path / "imported", scenarios=str(place))
    frame = load(tmp_path / "imported").scenarios
    assert frame["messages"].to_list()[0] is not None


def test_a_dry_run_counts_them(tmp_path: Path) -> None:
    """What is planned has the length of the calls, and scenarios of unequal conversations are counted apart."""
    scenarios = load_set(str(a_set(tmp_path)))
    settings = Settings.of("sim", "sim-judge", "set")
    longer = [replace(each, messages=each.messages * 2) if uses_tools(each.messages) else each for each in scenarios]
    short, long = (plan(each, settings, load_prompts()) for each in (scenarios, longer))
    assert short.calls == long.calls
    assert short.input["subject"] * 1.3 < long.input["subject"]


def test_a_run_without_texts_has_none_of_them(tmp_path: Path) -> None:
    """Nothing of a conversation stands in a folder that is handed on without its texts."""
    write_without_texts(a_run(tmp_path), tmp_path / "shared")
    held = b"".join(path.read_bytes() for path in (tmp_path / "shared").rglob("*") if path.is_file())
    assert b"pytest" not in held
    assert b"call1aaaa" not in held
