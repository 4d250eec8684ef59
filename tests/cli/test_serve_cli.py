"""`--serve` and `--serve-adapters` on the command line: what is refused, what a plan does, adapters on one server."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from flows import run
from maskbench.errors import UsageError
from maskbench.models.hf.opening import check_options
from maskbench.models.serve.serve_command import ServeCommand, check_serve, commands, with_served_adapters
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings

PROGRAM = Path(__file__).parent.parent / "own_chat_server.py"


def words_at(serve: str, subject: str = "vllm/mine") -> list[str]:
    """The words of a command at port 4000."""
    return command(serve, subject).at(4000)


def command(serve: str, subject: str = "vllm/mine") -> ServeCommand:
    """The command of a subject's server."""
    return commands(Settings(subject, "sim-judge", "starter", serve=serve))["subject"]


def adapter(folder: Path, rank: int = 8, weights: bytes = b"weights") -> Path:
    """A folder that looks as PEFT writes it."""
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank}))
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


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
    chosen = Settings("vllm/a", "vllm/b", "starter", serve="vllm serve a", serve_judge="vllm serve b")
    with pytest.raises(UsageError, match="openai-api/myjudge/NAME"):
        commands(chosen)


@pytest.mark.parametrize("serve", ["vllm serve X --token my-own-words", "vllm serve X --hf sk-0123456789abcdef"])
def test_a_command_with_a_key_is_refused(serve: str) -> None:
    """A command is kept with the run, so none may hold a key of the environment, or what looks like one."""
    chosen = Settings("vllm/a", "sim-judge", "starter", serve=serve)
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
    check_serve(Settings("vllm/a", "sim-judge", "starter", serve=serve), {})


def test_adapters_of_vllm(tmp_path: Path) -> None:
    """vLLM gets a module for each adapter and the rank of the largest; each is a subject by its name, with its hash."""
    some = {name: adapter(tmp_path / name, rank) for name, rank in (("step_1", 8), ("step_2", 40))}
    several = with_served_adapters(Settings("vllm/base", "sim-judge", "starter", serve="A=1 vllm serve BASE"), some)
    assert [each.subject for each in several.values()] == ["vllm/step_1", "vllm/step_2"]
    assert [each.label for each in several.values()] == ["vllm/step_1", "vllm/step_2"]
    (serve,) = {each.serve for each in several.values()}
    assert shlex.split(serve or "") == [
        *("A=1", "vllm", "serve", "BASE", "--enable-lora", "--max-lora-rank", "64", "--lora-modules"),
        *(f"{name}={path}" for name, path in some.items()),
    ]
    for each in several.values():
        check_options(each)


def test_adapters_of_sglang(tmp_path: Path) -> None:
    """SGLang's adapters stand behind the base model's name."""
    several = with_served_adapters(
        Settings("sglang/base", "sim-judge", "starter", serve="python -m sglang.launch_server --model-path BASE"),
        {"step_1": adapter(tmp_path / "step_1")},
    )
    assert several["step_1"].subject == "sglang/base:step_1"
    assert shlex.split(several["step_1"].serve or "")[-2:] == ["--lora-paths", f"step_1={tmp_path / 'step_1'}"]
    check_options(several["step_1"])


def test_an_adapter_whose_name_no_server_can_read_is_refused(tmp_path: Path) -> None:
    """An equals sign in the name of its folder would cut NAME=PATH in the wrong place; that is said before a start."""
    held = {"lr=3": adapter(tmp_path / "lr=3")}
    with pytest.raises(UsageError, match="'lr=3' holds '='"):
        with_served_adapters(Settings("vllm/base", "sim-judge", "starter", serve="vllm serve BASE"), held)


def test_an_adapter_that_the_server_does_not_hold_is_refused(tmp_path: Path) -> None:
    """--adapter beside a server that does not name it would measure the base model, so it is refused."""
    held = adapter(tmp_path / "mine")
    chosen = Settings("vllm/mine", "sim-judge", "starter", adapter=str(held), serve="vllm serve BASE")
    with pytest.raises(UsageError, match="--adapter needs a model in this process"):
        check_options(chosen)


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


def test_adapters_share_one_server(here: str, tmp_path: Path) -> None:
    """Each adapter is a run of its own on one server, and the runs are compared at the end; no other name is known."""
    for step in (2, 10):
        adapter(tmp_path / "lora" / f"step_{step}", weights=str(step).encode())
    serve = f"{here} --models base {{adapters}}"
    steps = ("--serve-adapters", f"{tmp_path}/lora/step_*", "--archetype", "provided_facts")
    ended = run(*words(tmp_path, "vllm/base", serve, *steps, "--out", str(tmp_path / "steps")), env={})
    assert ended.code == 0, ended.err
    assert ended.err.count("Starting the server") == 1
    assert "step_2 and what came after" in ended.out
    records = [RunFolder(tmp_path / "steps" / f"step_{step}").read() for step in (2, 10)]
    assert [record.settings.subject for record in records] == ["vllm/step_2", "vllm/step_10"]
    assert len({record.settings.adapter_hash for record in records}) == 2
    assert [record.models.subject["resolved"] for record in records] == [["step_2"], ["step_10"]]


def test_an_adapter_of_another_name_is_unknown(here: str, tmp_path: Path) -> None:
    """The server's 404 for a name that it does not hold ends the run with what to check."""
    serve = f"{here} --models base other={tmp_path}"
    ended = run(*words(tmp_path, "vllm/step_3", serve, "--out", str(tmp_path / "run")), env={})
    assert ended.code == 2
    assert "knows no such model" in ended.err


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
    assert RunFolder(out).settings().serve is None
