"""Runs that are killed, interrupted, cut off and taken up again, against a real server."""

import shlex
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

import measured_runs
from chat_server import DROP, HANG, Answer, Body, fail, first, give, sometimes
from flows import (
    KEY,
    MODELS,
    Answered,
    Ended,
    command,
    end,
    environ,
    in_file,
    kill,
    maskbench,
    serving,
    six_files,
    until,
)
from measured_runs import EVERYDAY, change

pytestmark = pytest.mark.slow

EIGHT = ("--connections", "8")


def figures(text: str) -> Any:
    """A summary without what differs between two runs of equal figures."""
    summary = orjson.loads(text)
    del summary["usage"]["seconds"]
    del summary["ended"]
    for model in (summary["subject"], summary["judge"]["binary"], summary["judge"]["numeric"]):
        del model["base_url"]
    return summary


def resume_line(ended: Ended) -> list[str]:
    """The arguments of the line that an interrupted run prints."""
    program, *arguments = shlex.split(ended.err.strip().splitlines()[-1])
    assert program == "maskbench"
    return arguments


@pytest.mark.parametrize("honours_n", [True, False])
def test_killed_twice(tmp_path: Path, honours_n: bool) -> None:
    """A run killed twice by kill -9 asks nothing again that was answered before, and comes to the same figures."""
    scenarios = six_files(tmp_path / "set", 8)
    options = (*MODELS, "--scenarios", scenarios, *EIGHT, *(() if honours_n else ("--send-seed",)))
    answered, whole = Answered(), Answered()
    with serving(reply=whole, honours_n=honours_n) as server:
        assert command("run", *options, "--out", tmp_path / "whole", env=environ(server)).code == 0
    kills = []
    with serving(reply=answered, latency=0.03, honours_n=honours_n) as server:
        for share in (0.4, 0.7):
            enough = share * len(whole.times)
            with maskbench("run", *options, "--out", tmp_path / "killed", env=environ(server)) as process:
                until(lambda enough=enough: len(answered.times) > enough)  # type: ignore[misc]
                kills.append(kill(process))
        assert command("run", "--out", tmp_path / "killed", env=environ(server)).code == 0
    for moment in kills:
        assert len(answered.before(moment - 0.2)) > 20
        assert not answered.before(moment - 0.2) & answered.after(moment)
    score = command("score", tmp_path / "killed", "--json", env={}).out
    assert figures(score) == figures((tmp_path / "whole" / "summary.json").read_text())


def how_it_ended(out: Path) -> Any:
    """What run.json says of its last session's end."""
    return orjson.loads((out / "run.json").read_bytes())["sessions"][-1]["ended"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path: Path, number: signal.Signals) -> None:
    """After Ctrl-C calls in flight come home, the line to resume is printed, and nothing is ever asked again."""
    answered, out = Answered(), tmp_path / "run with a space"
    scenarios = ("--scenarios", six_files(tmp_path / "set", 3))
    with serving(reply=answered, latency=0.1) as server:
        with maskbench("run", *MODELS, *scenarios, *EIGHT, "--out", out, env=environ(server)) as process:
            until(lambda: len(answered.times) > 30)
            process.send_signal(number)
            ended = end(process)
        assert ended.code == 130
        assert "waiting up to 10 s for calls that are still running" in ended.err
        assert resume_line(ended) == ["run", "--out", str(out)]
        why = {signal.SIGINT: "Stopped by Ctrl-C.", signal.SIGTERM: "Stopped by SIGTERM."}[number]
        assert (how_it_ended(out)["how"], how_it_ended(out)["why"]) == ("stopped", why)
        before = time.monotonic()
        assert not server.in_flight
        assert command(*resume_line(ended), env=environ(server)).code == 0
        assert how_it_ended(out)["how"] == "finished"
    assert len(answered.before(before)) > 15
    assert not answered.before(before) & answered.after(before)


def test_interrupted_twice(tmp_path: Path) -> None:
    """A second Ctrl-C stops at once, whatever is in flight; what was answered is kept."""
    with serving(rules=[lambda body: None], reply=Answered(), latency=60.0) as server:
        options = (*MODELS, "--scenarios", EVERYDAY, *EIGHT, "--out", tmp_path / "run")
        with maskbench("run", *options, env=environ(server)) as process:
            until(lambda: server.in_flight == 8)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            while "Stopping: waiting up to 10 s" not in (line := process.stderr.readline()):
                assert line, "it stopped before the second Ctrl-C"
            moment = time.monotonic()
            process.send_signal(signal.SIGINT)
            ended = end(process)
    assert time.monotonic() - moment < 10
    assert ended.code == 130
    assert resume_line(ended) == ["run", "--out", str(tmp_path / "run")]


def test_two_at_once(tmp_path: Path) -> None:
    """A second process on the folder of a run is refused; score and export read it while it is being written."""
    is_open = threading.Event()
    is_open.set()
    with serving(reply=Answered(), rules=[lambda body: None if is_open.wait() else HANG], latency=0.01) as server:
        options = (*MODELS, "--scenarios", six_files(tmp_path / "set", 10), *EIGHT, "--out", tmp_path / "run")
        with maskbench("run", *options, env=environ(server)) as process:
            until(lambda: server.requests > 30)
            is_open.clear()
            second = command("run", *options, env=environ(server))
            assert (second.code, second.out) == (2, "")
            assert f"Error: Another maskbench is writing to {tmp_path / 'run'}. Wait for it, stop it," in second.err
            summary = orjson.loads(command("score", tmp_path / "run", "--json", env={}).out)
            exported = command("export", tmp_path / "run", "--format", "jsonl", env={})
            assert process.poll() is None
            assert summary["scenarios"]["done"] <= len(exported.out.splitlines()) < 60
            assert not summary["complete"]
            is_open.set()
            assert end(process).code == 0


def test_a_late_belief_is_judged_whatever_ends_the_run(tmp_path: Path) -> None:
    """A belief about a number comes late, and kill -9 comes before the verdict on it: the run is not complete."""
    rows, out = six_files(tmp_path / "set", 1), tmp_path / "run"
    options = in_file(tmp_path, "run", *MODELS, "--scenarios", rows, "--archetype", "statistics", "--retries", 0)[1:]
    options = (*options, "--out", out)

    def about(body: Body) -> str:
        """What a request is: a verdict, a statement, which has the row's developer's prompt, or a belief."""
        is_pressed = "(statistics 1)" in body["messages"][0]["content"]
        return "verdict" if body["model"] == "judge" else "statement" if is_pressed else "belief"

    lost = first(1, lambda body: fail(500)(body) if about(body) == "belief" and body.get("n", 1) == 1 else None)
    with serving(reply=Answered(), rules=[lost], honours_n=False) as server:
        assert command("run", *options, env=environ(server)).code == 0
        server.rules[:] = [lambda body: HANG(body) if about(body) == "verdict" else None]
        with maskbench("run", "--out", out, env=environ(server)) as process:
            until(lambda: about(server.bodies[-1]) == "verdict" and server.in_flight == 1 and replies_of(out) == 4)
            kill(process)
        assert not orjson.loads(command("score", out, "--json", env={}).out)["complete"]
        server.rules.clear()
        asked = server.requests
        assert command("run", "--out", out, env=environ(server)).code == 0
    assert [about(body) for body in server.bodies[asked:]] == ["verdict"]
    assert orjson.loads(command("score", out, "--json", env={}).out)["complete"]


def replies_of(out: Path) -> int:
    """How many replies a run has."""
    with closing(sqlite3.connect(out / "run.sqlite")) as db:
        return int(db.execute("SELECT count(text) FROM replies").fetchone()[0])


def test_failed_calls_are_asked_again(tmp_path: Path) -> None:
    """Failed calls are asked again on a second start, and only they; a finished run asks nothing and needs no key."""
    answered, refused = Answered(), Answered()
    options = in_file(tmp_path, "run", *MODELS, "--scenarios", six_files(tmp_path / "set", 4), "--retries", 0)[1:]
    options = (*options, "--out", tmp_path / "run")
    coin, failure = sometimes(0.2, give(Answer())), fail(500)

    def unlucky(body: Body) -> Answer | None:
        return failure(body) if coin(body) and refused(body) else None

    with serving(reply=answered, rules=[unlucky]) as server:
        first = command("run", *options, env=environ(server))
        assert first.code == 1
        assert "have no outcome" in first.out
        moment = time.monotonic()
        server.rules.clear()
        second = command("run", "--out", tmp_path / "run", env=environ(server))
        assert second.code == 0
        to_subject = {body for body in refused.bodies if b'"model":"subject"' in body}
        assert to_subject
        assert to_subject <= answered.after(moment)
        assert not answered.before(moment) & answered.after(moment)
        asked = server.requests
        third = command("run", "--out", tmp_path / "run", env={})
        assert (third.code, third.out) == (0, second.out)
        assert command("run", *options, env={}).code == 0
        another = command("run", *options, "--statements", "2", env=environ(server))
        assert another.code == 2
        assert "holds a run with --statements 1, and this one asks for 2. Give this one another --out." in another.err
        assert server.requests == asked


def test_lost_network(tmp_path: Path) -> None:
    """Where one call after another finds no connection the run stops; with the server back it goes on to its end."""
    answered = Answered()
    rows = six_files(tmp_path / "set", 10)
    options = in_file(tmp_path, "run", *MODELS, "--scenarios", rows, *EIGHT, "--retries", 1)[1:]
    with serving(reply=answered, latency=0.02) as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        with maskbench("run", *options, "--out", tmp_path / "run", env=environ(server)) as process:
            until(lambda: any(b'"model":"judge"' in body for body in answered.bodies))
            server.rules.append(DROP)
            ended = end(process)
        assert ended.code == 130
        assert "calls in a row found no connection" in ended.err
        assert "found no connection" in how_it_ended(tmp_path / "run")["why"]
        assert server.requests < len(answered.times) + 60
    moment = time.monotonic()
    with serving(reply=answered, port=port) as server:
        assert command(*resume_line(ended), env=environ(server)).code == 0
    assert not answered.before(moment) & answered.after(moment)


@pytest.mark.parametrize(("status", "problem"), [(401, "refuses access"), (404, "knows no such model")])
def test_no_use_in_going_on(tmp_path: Path, status: int, problem: str) -> None:
    """A refused key or an unknown model stops the run at once; what was answered is kept, and the key is nowhere."""
    answered, out = Answered(), tmp_path / "run"
    options = (*MODELS, "--scenarios", six_files(tmp_path / "set", 4), *EIGHT, "--out", out)
    with serving(reply=answered, latency=0.02) as server:
        late = fail(status, content={"error": {"message": f"No such thing for {KEY}."}})
        server.rules.append(lambda body: late(body) if len(answered.times) > 60 else None)
        ended = command("run", *options, env=environ(server))
        assert ended.code == 2
        assert problem in ended.err
        assert (how_it_ended(out)["how"], problem in how_it_ended(out)["why"]) == ("failed", True)
        moment, refused = time.monotonic(), server.requests - len(set(answered.bodies))
        assert refused <= 8
        assert not [path for path in out.rglob("*") if KEY.encode() in path.read_bytes()]
        server.rules.clear()
        assert command("run", *options, env=environ(server)).code == 0
    assert len(answered.before(moment)) > 20
    assert not answered.before(moment) & answered.after(moment)


def test_nothing_answers(tmp_path: Path) -> None:
    """An address where nothing answers is wrong usage, said at once and with the variable to look at."""
    with serving() as server:
        env = environ(server)
    ended = command("run", *MODELS, "--scenarios", EVERYDAY, "--out", tmp_path / "run", env=env)
    assert ended.code == 2
    assert "nothing answers at http://127.0.0.1" in ended.err
    assert "Check LOCAL_BASE_URL" in ended.err


@pytest.mark.parametrize("words", [("run", "--out"), ("score",), ("export", "--format", "jsonl")])
def test_a_folder_of_another_version(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A run with a database of a later schema, and a folder that is no run, are refused by name."""
    change(measured_runs.run(tmp_path / "a"), "PRAGMA user_version = 99")
    later = command(*words, tmp_path / "a", env={})
    assert (later.code, later.out) == (2, "")
    assert f"{tmp_path / 'a' / 'run.sqlite'} has schema 99; this version of maskbench reads schema 3" in later.err
    nothing = command(*words, tmp_path, env={})
    assert (nothing.code, nothing.out) == (2, "")
    assert f"{tmp_path} holds no run" in nothing.err
