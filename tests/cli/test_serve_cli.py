"""`--serve` and `--serve-judge` on the command line: what is refused, what a plan does, and who is started."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from flows import run
from maskbench.errors import UsageError
from maskbench.models.serve.serve_command import ServeCommand, check_serve, commands
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings

PROGRAM = Path(__file__).parent.parent / "own_chat_server.py"


def words_at(serve: str, subject: str = "vllm/mine") -> list[str]:
    """The words of a command at port 4000."""
    return command(serve, subject).at(4000)


def command(serve: str, subject: str = "vllm/mine") -> ServeCommand:
    """The command of a subject's server."""
    return commands(Settings.of(subject, "sim-judge", "starter", serve=serve))["subject"]


@pytest.mark.parametrize(
    "serve",
    [
        "vllm serve Qwen/Qwen3-8B",
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B",
        "/opt/llama/llama-server -m model.gguf",
        "transformers serve PATH",
        "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-8B",
    ],
)
def test_known_engines_get_port_and_host(serve: str) -> None:
    """A known engine listens at the free port, and on this machine alone."""
    assert words_at(serve)[-4:] == ["--port", "4000", "--host", "127.0.0.1"]


def test_other_servers_say_where_the_port_goes() -> None:
    """A placeholder takes the port in any word, and then nothing is added but an engine's host."""
    assert words_at("my-server --listen=127.0.0.1:{port} -q") == ["my-server", "--listen=127.0.0.1:4000", "-q"]
    assert words_at("vllm serve X --port {port} --host ::1") == [
        "vllm",
        "serve",
        "X",
        "--port",
        "4000",
        "--host",
        "::1",
    ]


def test_variables_in_front_of_the_command_are_the_servers() -> None:
    """NAME=VALUE words in front are its environment, as in a shell, and no shell is asked."""
    typed = command("A=1 B='two words' vllm serve X --a '$(b)'")
    assert typed.variables == {"A": "1", "B": "two words"}
    assert typed.words == ("vllm", "serve", "X", "--a", "$(b)")


@pytest.mark.parametrize(
    ("serve", "subject", "problem"),
    [
        ("", "vllm/mine", "starts nothing"),
        ("vllm serve 'X", "vllm/mine", "Close every quote"),
        ("my-server", "vllm/mine", r"does not say where the server's port goes. Write \{port\}"),
        ("vllm serve X --port 8000", "vllm/mine", "finds a free port itself"),
        ("vllm serve X --port=8000", "vllm/mine", "finds a free port itself"),
        ("vllm serve X --api-key EMPTY", "vllm/mine", "Leave --api-key out"),
        ("vllm serve X", "openai/gpt-4o", "openai/gpt-4o is none"),
        ("vllm serve X", "hf/mine", "hf/mine is none"),
    ],
)
def test_what_cannot_be_meant_is_refused(serve: str, subject: str, problem: str) -> None:
    """Every command that cannot start a server for the subject is refused with what to do."""
    with pytest.raises(UsageError, match=problem):
        command(serve, subject)


def test_two_servers_cannot_share_a_service() -> None:
    """Subject and judge on servers of their own need two services, since a service has one address."""
    chosen = Settings.of("vllm/a", "vllm/b", "starter", serve="vllm serve a", serve_judge="vllm serve b")
    with pytest.raises(UsageError, match="openai-api/myjudge/NAME"):
        commands(chosen)


@pytest.mark.parametrize("serve", ["vllm serve X --token my-own-words", "vllm serve X --hf sk-0123456789abcdef"])
def test_a_command_with_a_key_is_refused(serve: str) -> None:
    """A command is kept with the run, so none may hold a key of the environment, or what looks like one."""
    chosen = Settings.of("vllm/a", "sim-judge", "starter", serve=serve)
    with pytest.raises(UsageError, match="would be kept with the run"):
        check_serve(chosen, {"SOME_TOKEN": "my-own-words"})


@pytest.mark.parametrize(
    "serve",
    [
        "HF_HUB_OFFLINE=1 transformers serve hf-internal-testing/tiny-3",
        "vllm serve X --hf-overrides '{}' --key-path=/etc/key-0123456",
    ],
)
def test_names_that_are_no_keys(serve: str) -> None:
    """Options, variables and models that are only called like keys are let through."""
    check_serve(Settings.of("vllm/a", "sim-judge", "starter", serve=serve), {})


@pytest.fixture
def here(tmp_path: Path) -> str:
    """The command of the small server; a scripted judge lies in the folder of the test."""
    verdict = '{"reason": "Scripted.", "code": "{{code}}", "verdict": "A", "evasion": null}'
    (tmp_path / "judge.json").write_text(json.dumps({"": verdict}))
    return shlex.join([sys.executable, str(PROGRAM), "--port", "{port}"])


def words(folder: Path, model: str, serve: str, *more: str) -> list[str]:
    """The words of a run."""
    judge = f"scripted/{folder / 'judge.json'}"
    return ["run", model, "--serve", serve, "--judge", judge, "--scenarios", "starter", "--limit", "4", *more]


def test_a_dry_run_starts_nothing(here: str, tmp_path: Path) -> None:
    """A plan counts calls, and neither server nor folder comes of it."""
    serve = f"{here} --child {tmp_path / 'pids'}"
    ended = run(*words(tmp_path, "openai-api/own/mine", serve, "--dry-run"), env={})
    assert ended.code == 0, ended.err
    assert "calls" in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["judge.json"]


def test_stored_replies_are_judged_by_a_server_of_their_own(here: str, tmp_path: Path) -> None:
    """`judge --serve-judge` starts the judge's server alone, and --serve none has a run go on without one."""
    out = tmp_path / "run"
    subject = ("--archetype", "provided_facts", "--out", str(out))
    assert run(*words(tmp_path, "vllm/mine", here, *subject), env={}).code == 0
    judged = run("judge", out, "--judge", "openai-api/two/judge", "--serve-judge", here, "--name", "two", env={})
    assert "openai-api/two/judge" in judged.out + judged.err
    assert judged.err.count("Starting the server of --serve-judge") == 1
    assert "Starting the server of --serve;" not in judged.err
    assert run("run", "--out", out, "--serve", "none", env={}).code == 0
    assert RunFolder(out).settings().pace.serve is None
