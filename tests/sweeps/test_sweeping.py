"""Runs beside each other: what they share is asked once, and what goes wrong with one is its own affair."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_server import Answer, Body, ChatServer, Rule
from flows import serving, six_files
from maskbench.errors import UsageError
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder
from maskbench.sweeps.sweep_plan import check_names
from swept_runs import asked, asked_of, judging, states, swept, twice, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One scenario of every archetype."""
    return six_files(tmp_path_factory.mktemp("rows"), 1)


TWO_JUDGES = """
[product]
judge = ["openai-api/local/judge", "openai-api/local/judge-b"]
system-prompt = ["none", "honest"]
"""


def test_the_second_judge_asks_the_subject_nothing(tmp_path: Path, rows: Path) -> None:
    """Two judges over one subject ask it once for each system prompt."""
    file = written(tmp_path / "s.toml", rows, TWO_JUDGES)
    with serving(reply=judging) as server:
        ended = swept(file, tmp_path / "out", server)
        assert ended.code == 0, ended.err
        counts = asked(server)
    plain, honest = (tmp_path / "out" / f"by-openai-api-local-judge_{name}" for name in ("plain", "honest"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == [honest.name, plain.name]
    # One scenario of each of six archetypes: four have five neutral questions, statistics three that are judged as one.
    statements, beliefs, joint = 6, 4 * 5 + 3, 4 * 5 + 1
    assert counts["subject"] == 2 * (beliefs + statements)
    assert counts["judge"] == counts["judge-b"] == 2 * (joint + statements)
    assert list(RunFolder(plain).read().verdict_sets) == ["by-openai-api-local-judge-b_plain"]


def test_everything_again_asks_nothing(tmp_path: Path, rows: Path) -> None:
    """The command again reads finished runs, and a run that is added later is the only one that is asked."""
    out, few = tmp_path / "out", '[product]\nsystem-prompt = ["none"]\n'
    more = '[product]\nsystem-prompt = ["none", "honest"]\n'
    with serving(reply=judging) as server:
        assert swept(written(tmp_path / "s.toml", rows, few), out, server).code == 0
        before = server.requests
        again = swept(tmp_path / "s.toml", out, server)
        assert (again.code, server.requests) == (0, before)
        grown = swept(written(tmp_path / "s.toml", rows, more), out, server)
        assert "New in this sweep: honest." in grown.err
        assert server.requests == 2 * before
        other = swept(written(tmp_path / "s.toml", rows, '[product]\nsystem-prompt = ["honest"]\n'), out, server)
    assert f"No longer in this sweep: plain. What was measured stays in {out}." in other.err
    assert (out / "plain" / "summary.json").is_file()
    assert (out / "leaderboard.json").is_file()


def test_files_of_weights_are_told_apart() -> None:
    """Runs by two files of directions are two runs before either is read; two by the same file are the same."""
    plain = Settings.of("hf/pinocchio", "rules/sandbox", "sandbox")
    by = {
        name: plain.having(model_options={"steer": f"{name}.safetensors", "strength": 4.0})
        for name in ("found", "random")
    }
    check_names(by)
    with pytest.raises(UsageError, match="found and again ask the very same"):
        check_names(by | {"again": by["found"]})


def test_a_run_that_asks_something_else_now_is_named(tmp_path: Path, rows: Path) -> None:
    """A run whose options changed is refused by the option before anything is asked, and the exit code is not 0."""
    out = tmp_path / "out"
    text = '[[run]]\nname = "a"\ntemperature = {}\n[[run]]\nname = "b"\nsystem-prompt = "honest"\n'
    with serving(reply=judging) as server:
        assert swept(written(tmp_path / "s.toml", rows, text.format(0.5)), out, server).code == 0
        changed = swept(written(tmp_path / "s.toml", rows, text.format(0.7)), out, server)
    assert changed.code == 2
    assert "holds a run with --temperature 0.5, and this one asks for 0.7" in changed.err
    assert "give the changed run another name" in changed.err
    assert states(out) == {"a": "done", "b": "done"}


def test_what_follows_a_changed_run_is_not_asked_in_its_place(tmp_path: Path, rows: Path) -> None:
    """A second judge waits for the run whose replies it judges; where that run is refused, nobody asks the subject."""
    out = tmp_path / "out"
    runs = {"a": "", "b": 'judge = "openai-api/local/judge-b"\n'}
    text = "".join(f'[[run]]\nname = "{name}"\ntemperature = {{0}}\n{more}' for name, more in runs.items())
    with serving(reply=judging) as server:
        assert swept(written(tmp_path / "s.toml", rows, text.format(0.5)), out, server).code == 0
        before = server.requests
        changed = swept(written(tmp_path / "s.toml", rows, text.format(0.7)), out, server)
        assert (changed.code, server.requests) == (2, before)
        assert "holds a run with --temperature 0.5" in changed.err
        again = swept(written(tmp_path / "s.toml", rows, text.format(0.5)), out, server)
    assert (again.code, server.requests) == (0, before)


def of_model(name: str, rule: Rule) -> Rule:
    """The rule for requests to one model alone."""
    return lambda body: rule(body) if body["model"] == name else None


def unknown(body: Body) -> Answer:
    """Answer that there is no such model."""
    return Answer(404, {"error": {"message": f"The model {body['model']} does not exist", "code": "model_not_found"}})


def test_a_run_that_fails_stops_no_other(tmp_path: Path, rows: Path) -> None:
    """A model that nobody knows is listed with its error; a judge that fails leaves the subject to the next one."""
    text = """
[[run]]
name = "typo"
model = "openai-api/local/sbuject"
[[run]]
name = "bad-judge"
judge = "openai-api/local/nobody"
[[run]]
name = "good"
"""
    file = written(tmp_path / "s.toml", rows, text)
    rules = [of_model("sbuject", unknown), of_model("nobody", unknown)]
    with serving(reply=judging, rules=rules) as server:
        ended = swept(file, tmp_path / "out", server)
    assert ended.code == 2
    assert states(tmp_path / "out") == {"typo": "failed", "bad-judge": "failed", "good": "done"}
    assert "knows no such model" in ended.out


def test_twelve_runs_share_the_few_connections_of_an_endpoint(tmp_path: Path, rows: Path) -> None:
    """Twelve runs at once never ask more at once than --connections says, and all of that."""
    file = written(tmp_path / "s.toml", rows, f"limit = 1\n[product]\nseed = {list(range(12))}\n", connections=5)
    with serving(reply=judging, latency=0.002) as server:
        ended = swept(file, tmp_path / "out", server)
        assert ended.code == 0, ended.err
        assert server.most_in_flight == 5
        assert twice(server) == 0
    assert set(states(tmp_path / "out").values()) == {"done"}


def test_progress_is_a_line_on_all_runs(tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While runs are under way a line says now and then how far all of them are; each that ends has one of its own."""
    monkeypatch.setattr("maskbench.sweeps.sweeping.LINE_SECONDS", 0.02)
    file = written(tmp_path / "s.toml", rows, "limit = 1\n[product]\nseed = [1, 2]\n")
    with serving(reply=judging, latency=0.01) as server:
        lines = swept(file, tmp_path / "out", server).err.splitlines()
    assert any(
        re.fullmatch(r"0 of 2 runs done, 2 under way: [\d,]+/[\d,]+ calls of those begun, 0 failed", line)
        for line in lines
    )
    assert {"seed=1: done", "seed=2: done"} <= set(lines)


def test_overload_slows_all_runs_down_together(tmp_path: Path, rows: Path) -> None:
    """Where an endpoint stands three requests at once, twelve runs find that together and nothing fails."""
    servers: list[ChatServer] = []

    def crowded(body: Body) -> Answer | None:
        too_many = servers[0].in_flight > 3
        return Answer(429, {"error": {"message": "too many"}}, {"Retry-After": "0.01"}) if too_many else None

    file = written(tmp_path / "s.toml", rows, f"limit = 2\n[product]\nseed = {list(range(12))}\n", connections=24)
    with serving(reply=judging, rules=[crowded], latency=0.004) as server:
        servers.append(server)
        ended = swept(file, tmp_path / "out", server)
        assert ended.code == 0, ended.err
        answered = sum(asked_of(tmp_path / "out").values())
    assert 0 < server.requests - answered < answered
