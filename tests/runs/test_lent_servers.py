"""A run starts its own server, waits for it, knows it by its port, and leaves nothing running that it does not name."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import maskbench.models.serve.own_server as own_server_module
from flows import Told, in_file
from maskbench import load
from maskbench.cli.statement_questions import _settings as of_questions
from maskbench.errors import ModelError, UsageError
from maskbench.judges.construct_judging import ask_construct
from maskbench.judges.judge_again import judge
from maskbench.measurement import measure
from maskbench.models.serve.own_server import OwnServer, owns
from maskbench.models.serve.serve_command import commands
from maskbench.runs.folder import RunFolder
from maskbench.runs.lent_servers import kept
from maskbench.runs.stored_programs import to_ask_by
from maskbench.settings import Settings
from maskbench.sweeps.sweeping import sweep
from patience import PATIENCE

PROGRAM = Path(__file__).parent.parent / "own_chat_server.py"
LIMIT = 6  # scenarios of provided_facts: one reply each


@pytest.fixture
def scripted(tmp_path: Path) -> str:
    """A judge that always finds A."""
    path = tmp_path / "judge.json"
    path.write_text(json.dumps({"": '{"reason": "Scripted.", "code": "{{code}}", "verdict": "A", "evasion": null}'}))
    return f"scripted/{path}"


def command(*words: str | Path, variables: Sequence[str] = ()) -> str:
    """The command of the small server."""
    return shlex.join([*variables, sys.executable, str(PROGRAM), "--port", "{port}", *map(str, words)])


def settings(judged_by: str, serve: str, **options: Any) -> Settings:
    """The settings of a small run on a server of its own."""
    start = Settings.of("vllm/mine", judged_by, "starter", archetypes=("provided_facts",), limit=LIMIT, serve=serve)
    return start.having(connections=2, retries=1, **options)


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something is so; fails where it is not in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def is_running(number: int) -> bool:
    """Whether a process is there, and no zombie that nobody has looked after."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        pass
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return sys.platform != "linux"


def replies(out: Path) -> list[dict[str, Any]]:
    """The replies of a run."""
    return load(out).replies.to_dicts()


def test_a_run_starts_its_server_and_ends_it(tmp_path: Path, scripted: str) -> None:
    """Every reply comes from the server, which is gone with its child when the run is over; the record says which."""
    serve = command("--child", tmp_path / "pids", "--loading", "0.2", variables=["SERVED_BY=me"])
    heard = Told()
    measure(settings(scripted, serve), tmp_path / "run", {}, heard)
    assert {row["text"] for row in replies(tmp_path / "run")} == {"I am mine."}
    numbers = [int(number) for number in (tmp_path / "pids").read_text().split()]
    assert len(numbers) == 2
    assert not any(map(is_running, numbers))
    (session,) = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"]
    (about,) = session["servers"]
    assert (about["stage"], about["command"], about["version"]) == ("subject", serve, "1.2.3")
    assert about["seconds"] >= 0.2
    assert "starting me" in (tmp_path / "run" / "serve.log").read_text()
    assert any(line.startswith("Served by ") for line in heard.lines)


def started(folder: Path, judged_by: str, *words: str | Path) -> subprocess.Popen[str]:
    """`maskbench run` on a server with these words, as a process; its own number and its child's are in `pids`."""
    serve = command("--child", folder / "pids", *words)
    line = ["run", "vllm/mine", "--serve", serve, "--judge", judged_by, "--scenarios", "starter", "--limit", "8"]
    line += ["--archetype", "provided_facts"]
    typed = map(str, in_file(folder, *line, "--out", folder / "run", "--retries", 0))
    ours = subprocess.Popen(
        [sys.executable, "-m", "maskbench", *typed],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids = folder / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    return ours


def numbers(folder: Path) -> list[int]:
    """The processes of the server that was started last."""
    return [int(number) for number in (folder / "pids").read_text().split()]


def test_a_server_that_dies_ends_the_run_and_the_same_line_goes_on(tmp_path: Path, scripted: str) -> None:
    """The code is 5, the last lines are told, and the line that is printed finishes the run, asking nothing twice."""
    ours = started(tmp_path, scripted, "--die-at", "3", "--once", tmp_path / "once")
    said = ours.communicate()[1]
    assert ours.returncode == 5, said
    assert "The server of --serve died. Its last lines" in said
    assert "out of memory" in said
    line = shlex.split(said.rpartition("To go on:\n")[2])
    assert line[:2] == ["maskbench", "run"]
    kept = len(replies(tmp_path / "run"))
    assert kept >= 1
    assert subprocess.run([sys.executable, "-m", *line], capture_output=True).returncode == 0
    assert len(json.loads((tmp_path / "run" / "run.json").read_text())["sessions"]) == 2
    assert not any(map(is_running, numbers(tmp_path)))


@pytest.mark.parametrize("loading", ["0", "60"])
def test_sigterm_ends_the_server_with_the_run(tmp_path: Path, scripted: str, loading: str) -> None:
    """Whether it is still starting or answers: the server and its child are gone when maskbench is."""
    ours = started(tmp_path, scripted, "--loading", loading)
    ours.send_signal(signal.SIGTERM)
    said = ours.communicate()[1]
    assert ours.returncode in (0, 130), said  # a run that was just done is done
    assert not any(map(is_running, numbers(tmp_path)))
    assert not (tmp_path / "run" / "serve.pid").exists()


def test_after_kill_9_the_next_command_names_the_process_that_is_left(tmp_path: Path, scripted: str) -> None:
    """Its server goes on; whoever goes on with the run hears which process that is, and how to end it."""
    ours = started(tmp_path, scripted, "--loading", "60")
    ours.send_signal(signal.SIGKILL)
    ours.communicate()
    leader, child = numbers(tmp_path)
    assert is_running(leader)
    try:
        line = [sys.executable, "-m", "maskbench", "run", "--out", str(tmp_path / "run"), "--serve", command()]
        ended = subprocess.run(line, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        (told,) = [words for words in ended.stderr.splitlines() if "was killed" in words]
        assert f"left its server running: process {leader} (`" in told
        assert told.endswith(f"To end it: kill -- -{leader}")
    finally:
        os.killpg(leader, signal.SIGKILL)
    wait_until(lambda: not is_running(child))


def test_who_has_the_port_is_not_measured_as_the_subject(
    tmp_path: Path, scripted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another process answers at the port first, nothing is asked of it, and the run ends with that."""
    port = own_server_module._free_port()
    other = subprocess.Popen([sys.executable, str(PROGRAM), "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: not owns(other.pid, port) and bool(_printed_by(port)))
        monkeypatch.setattr(own_server_module, "_free_port", lambda: port)
        with pytest.raises(ModelError, match=f"does not listen at port {port}: another process answers there"):
            measure(settings(scripted, command("--loading", "60")), tmp_path / "run", {})
    finally:
        other.kill()
        other.wait()
    assert replies(tmp_path / "run") == []


def _printed_by(port: int) -> bytes:
    """What the server at a port says of its health; nothing where none is there yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            body: bytes = response.read()
            return body
    except OSError:
        return b""


def test_a_run_goes_on_with_its_server_whatever_the_port(tmp_path: Path, scripted: str) -> None:
    """With its command a run goes on, and no reply is asked twice; a finished one starts nothing, a folder never."""
    chosen = settings(scripted, command("--child", tmp_path / "pids"))
    measure(chosen.having(limit=LIMIT), tmp_path / "run", {})
    (tmp_path / "pids").unlink()
    with pytest.raises(UsageError, match="runs code here"):
        measure(tmp_path / "run", environ={})
    measure(chosen.having(limit=LIMIT), tmp_path / "run", {})
    assert not (tmp_path / "pids").exists()
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(record["sessions"]) == 1
    assert record["settings"]["pace"]["serve"] == chosen.pace.serve


def test_a_sweep_has_one_server_for_runs_of_one_command(tmp_path: Path, scripted: str) -> None:
    """Runs of a sweep that name the same command take turns at one server; another command has its turn after it."""
    first, other = command("--child", tmp_path / "a"), command("--child", tmp_path / "b", "--models", "two")
    runs = {
        "plain": settings(scripted, first),
        "honest": settings(scripted, first).having(system_prompt="honest"),
        "two": settings(scripted, other).having(subject="vllm/two"),
    }
    swept = sweep(runs, tmp_path / "all", environ={})
    assert {name: (each.state, each.why) for name, each in swept.items()} == dict.fromkeys(runs, ("done", None))
    assert {row["text"] for row in replies(tmp_path / "all" / "two")} == {"I am two."}
    assert not any(is_running(int((tmp_path / name).read_text().split()[0])) for name in ("a", "b"))
    assert (tmp_path / "all" / "serve.log").read_text().count("starting") == 2


def test_a_server_that_cannot_start_shows_its_last_lines(tmp_path: Path, scripted: str) -> None:
    """A process that ends before it answers ends the run at once, with what it said, and without colours."""
    with pytest.raises(ModelError, match="ended before it answered") as caught:
        measure(settings(scripted, command("--nonsense")), tmp_path / "run", {})
    assert "unrecognized arguments" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "serve.log" in str(caught.value)


def test_what_is_waited_for_is_told(tmp_path: Path, scripted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a large model loads, people hear how long it has taken and what the server says, without its colours."""
    monkeypatch.setattr(own_server_module, "_REPORT", (0.3,))
    heard = Told()
    measure(settings(scripted, command("--loading", "1")), tmp_path / "run", {}, heard)
    (line,) = [line for line in heard.lines if line.startswith("Waiting for the server")]
    assert line.endswith("It says last: [31mred[0m")


def test_keys_do_not_reach_the_server_but_for_its_weights(tmp_path: Path, scripted: str) -> None:
    """Keys of services stay here; the hub's token goes along, and is in no file, even where the server prints it."""
    environ = {"A_KEY": "sk-0123456789abcdef", "HF_TOKEN": "hf_0123456789abcdef"}
    heard = Told()
    measure(settings(scripted, command(variables=["VERSION_OF=HF_TOKEN"])), tmp_path / "run", environ, heard)
    assert "0123456789abcdef" not in " ".join(heard.lines)
    assert "starting  - ***" in (tmp_path / "run" / "serve.log").read_text()
    files = [path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()]
    assert not any(key.encode() in data for key in environ.values() for data in files)


def test_a_judge_has_a_server_of_its_own(tmp_path: Path, scripted: str) -> None:
    """Stored replies are judged by a model on a server that `judge` starts; the subject's is left alone."""
    out = tmp_path / "run"
    pids = tmp_path / "pids"
    measure(settings(scripted, command("--child", pids)), out, {})
    pids.unlink()
    again = RunFolder(out).settings().having(judge="sglang/two", numeric_judge="sglang/two", serve_judge=command())
    judge(RunFolder(out), to_ask_by(again, ("serve_judge",), out, ("judge",)), "two", {})
    assert not pids.exists()
    entry = RunFolder(out).read().verdict_sets["two"]
    assert [about.stage for about in entry.sessions[0].servers or ()] == ["judge"]
    assert (out / "serve-judge.log").exists()


def test_questions_on_statements_are_asked_at_the_judges_own_server(tmp_path: Path, scripted: str) -> None:
    """Questions that are asked later have the run's judge start again, and go to nobody else's address."""
    verdict = '{"reason": "It says so.", "code": "{{code}}", "verdict": "A", "evasion": null}'
    own_judge = {"numeric_judge": "sglang/judge", "serve_judge": command("--says", verdict)}
    out = tmp_path / "run"
    measure(settings("sglang/judge", command(), **own_judge), out, {})
    (out / "serve-judge.log").unlink()
    stored = RunFolder(out).settings().having(construct=("performance",))
    with pytest.raises(UsageError, match="Nothing that a folder holds is run unasked"):
        ask_construct(RunFolder(out), stored, {})
    ask_construct(RunFolder(out), to_ask_by(stored, ("serve_judge",), out, ("judge",)), {})
    assert (out / "serve-judge.log").exists()
    typed = {"serve_judge": own_judge["serve_judge"]}
    assert of_questions(RunFolder(out), "sglang/judge", typed).pace.serve_judge == own_judge["serve_judge"]
    with pytest.raises(UsageError, match="may come from somebody else"):
        of_questions(RunFolder(out), "sglang/judge", {})
    assert of_questions(RunFolder(out), "sim-judge", {}).pace.serve_judge is None


def test_runs_in_a_row_share_one_server(tmp_path: Path, scripted: str) -> None:
    """A kept server answers the next run with the same command, another command takes its place, and all end."""
    first, second = command("--child", tmp_path / "a"), command("--child", tmp_path / "b")
    with kept(tmp_path / "all"):
        measure(settings(scripted, first), tmp_path / "all" / "one", {})
        numbers = (tmp_path / "a").read_text()
        measure(settings(scripted, first), tmp_path / "all" / "two", {})
        assert (tmp_path / "a").read_text() == numbers
        assert is_running(int(numbers.split()[0]))
        measure(settings(scripted, second), tmp_path / "all" / "three", {})
        assert not is_running(int(numbers.split()[0]))
    assert not is_running(int((tmp_path / "b").read_text().split()[0]))
    assert (tmp_path / "all" / "serve.log").exists()


def test_a_program_that_is_not_there_leaves_no_folder(tmp_path: Path, scripted: str) -> None:
    """A command whose program this machine does not have is refused before anything is written."""
    with pytest.raises(UsageError, match="there is no program 'no-such-engine'"):
        measure(settings(scripted, "no-such-engine --port {port}"), tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


def test_no_key_of_another_service_reaches_a_server(tmp_path: Path) -> None:
    """Whatever a key is called; what weights are read with, does."""
    gone = ("GITHUB_PAT", "DB_PASSWD", "DB_PASS", "MY_CREDENTIALS", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY")
    kept = ("HF_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "CUDA_VISIBLE_DEVICES")
    served_by = commands(Settings.of("vllm/mine", "sim-judge", "starter", serve="vllm serve mine"))["subject"]
    server = OwnServer(served_by, tmp_path / "serve.log", dict.fromkeys(gone + kept, "v"))
    assert not set(gone) & set(server._for_it())
    assert set(kept) <= set(server._for_it())
