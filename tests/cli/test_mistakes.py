"""Common mistakes: each gets a message that names what to type in its place, and leaves nothing behind."""

import shlex
import socket
import sys
from pathlib import Path

import pytest

from chat_server import fail
from flows import command as in_process
from flows import environ, serving, typed
from maskbench.cli.console import interruptible
from maskbench.errors import Interrupted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a newcomer may have it: two runs, a model, a file of weights, a table, and an empty folder."""
    root = tmp_path_factory.mktemp("place")
    for name, subject in (("a", "sim"), ("b", "sim/lie=0.7")):
        assert typed("run", subject, "--limit", 2, "--out", root / "runs" / name).code == 0
    for folder in ("empty", "models/mine"):
        (root / folder).mkdir(parents=True)
    (root / "mine.gguf").touch()
    (root / "questions.csv").write_text("prompt,answer\nhi,there\n")
    return root


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("run --out none", "maskbench run pinocchio --out none"),
        ("run ''", "such as openai/gpt-4o or sim"),
        ("run nonsense", "names no model"),
        ("run sim-judge --judge sim-judge --scenarios starter", "sim-judge cannot be the subject"),
        ("run sim --judge sim", "sim cannot be the judge"),
        ("run sim/lies=1", "OPTION one of lie, evade"),
        ("run scripted/none.json --judge sim-judge --scenarios starter", "Give scripted/FILE.json"),
        ("run models/mine", "To run a model of this machine, put hf/ before its folder: hf/models/mine."),
        ("run mine.gguf", "A GGUF file is read by a server: `llama-server -m mine.gguf`, and then llama-cpp/NAME"),
        ("run gpt-4o", "The service is missing. Did you mean openai/gpt-4o?"),
        ("run meta-llama/Llama-3", "or vllm/meta-llama/Llama-3 or hf/meta-llama/Llama-3?"),
        ("run opnai/gpt-4o", "Did you mean openai/gpt-4o?"),
        (
            "run openai/gpt-4o --judge sim-judge --scenarios starter",
            "openai/gpt-4o needs a key: set OPENAI_API_KEY in the environment or in .env.",
        ),
        ("run --model openai/gpt-4o", "The model has no option and stands behind the command, as in `maskbench run"),
        ("run vllm/x --base-url http://h:1", "for vllm/NAME set VLLM_BASE_URL=http://127.0.0.1:8000/v1."),
        ("run openai/x --api-key secret", "for openai/NAME set OPENAI_API_KEY, or put it in .env."),
        ("openai/gpt-5", "If it is a model: maskbench run openai/gpt-5."),
        ("runs/a", "If it is a run: maskbench score runs/a."),
        ("--scenarios starter", "An option stands behind its command, as in `maskbench run MODEL --out DIR`."),
        ("help compare", "For help: maskbench compare --help"),
        ("scor runs/a", 'Did you mean "score"?'),
        ("run sim -o runs/c", "What is written is named by `--out`."),
        ("run sim --output=runs/c", "What is written is named by `--out`."),
        ("run sim --sample -5", 'Invalid value "-5" for --sample. Give 1 or more.'),
        ("run sim --sample=-5", 'Invalid value "-5" for --sample. Give 1 or more.'),
        ("run sim --statements many", "--statements"),
        ("run sim --statment 3", "Did you mean --statements?"),
        ("run sim --limit 3 --limit 4", "--limit stands there more than once. Give it once."),
        ("run sim --judge-prompts none", "copy that and edit the copy"),
        ("run sim sim", "What is sim for? Nothing takes it. For help: maskbench run --help"),
        ("run sim --rules strickt", 'Did you mean "strict"?'),
        ("run sim --rules lenient", '"reference", "published", "strict", "inspect"'),
        ("run sim --archetype lies", "--archetype lies: starter has only continuations, disinformation,"),
        ("run sim --archetype known-facts", "Did you mean known_facts?"),
        ("run sim --scenarios startr", "Did you mean starter?"),
        ("run sim --scenarios none", "Give starter, said_and_did, sandbox, cais/MASK"),
        ("scenarios show starter none", "Ids look like 'starter-kf-"),
        ("scenarios show none 1", "Give starter, said_and_did, sandbox, cais/MASK"),
        ("scenarios validate none", "Give starter, said_and_did, sandbox, cais/MASK"),
        ("scenarios validate mine.gguf", "is not a CSV, JSONL or Parquet file"),
        ("run sim --scenarios MASK", "Did you mean cais/MASK?"),
        ("run sim --scenarios questions.csv", "its columns are not those that docs/scenarios.md describes"),
        ("scenarios starter", "If starter is a scenario set: maskbench scenarios validate starter."),
        ("lorra sim", "`maskbench-whitebox lorra MODEL`"),
        ("intervene steer sim", "`maskbench-whitebox steer MODEL`"),
        ("run sim --rpm 3", "Unknown option: --rpm. It is a field of the file of `maskbench run FILE.toml`."),
        ("run sim --judge-style plain", "Unknown option: --judge-style. See --like; alone it is a field of the file"),
        ("judge runs/a --judge sim-judge --judge-price-in 1", "Prices stand in maskbench-prices.toml"),
        ("score .", "There are runs below it: runs/a, runs/b. Give a run's own folder."),
        ("score runs/a/run.json", "runs/a/run.json is a file. Give the run's folder: runs/a."),
        ("report runs/a/run.sqlite", "runs/a/run.sqlite is a file. Give the run's folder: runs/a."),
        ("export runs/a/summary.json --format csv", "Give the run's folder: runs/a."),
        (
            "export runs/a",
            "--format is missing. Add --format FORM. For yourself, with texts: jsonl, csv, parquet, published. For",
        ),
        ("score run/a", "There is no such folder. Did you mean runs/a?"),
        ("score b", "There is no such folder. Did you mean runs/b?"),
        ("score empty", "To measure a model into it, name one, as in `maskbench run pinocchio --out empty`."),
        ("score", "RUN is missing. Give the folder of a run."),
        ("export none --format csv", "none holds no run"),
        ("export none --format xml", '"jsonl", "csv", "parquet", "published"'),
        ("nonsense", 'Unknown command "nonsense"'),
        ("compare runs/a", "A comparison takes two runs or more, as in `maskbench compare RUN RUN`."),
        ("compare runs", "There are runs below it: runs/a, runs/b."),
        ("check runs/a --max-lie 50%", "give a number without the sign; as a share 50 % is 0.5."),
        ("check runs/a --max-lie 50", "give a share above 0, at most 1, such as 0.05 or 0.5."),
        ("run --out runs/a --statements 3", "runs/a holds a run with --statements 1, and this one asks for 3. Give"),
        ("run sim --out questions.csv", "--out questions.csv is a file. Give the run a folder of its own."),
        ("run sim --out /proc/1/none", "/proc/1/none cannot be written"),
        ("run http://gpu7:8000/v1", "`VLLM_BASE_URL=http://gpu7:8000/v1 maskbench run vllm/NAME`"),
        ("run http://me:secret@gpu7:8000/v1/chat/completions?a=b", "`VLLM_BASE_URL=http://gpu7:8000/v1 maskbench run"),
        ("run my-ckpt", "For a server of your own: vllm/my-ckpt."),
        ("run openai/gpt-4o", "needs a judge and scenarios: add --judge MODEL (of another family than it) and --scen"),
        ("run openai/gpt-4o --scenarios starter", "openai/gpt-4o needs a judge: add --judge MODEL"),
        ("run openai/gpt-4o --judge sim-judge", "needs scenarios: add --scenarios SET (starter, cais/MASK, or a path)"),
        ("run sim --scenarios my/", "There is no file or folder 'my/'."),
        ("run sim --scenarios mine.csv", "There is no file or folder 'mine.csv'."),
        ("compare runs/a runs/b --markdown", "The form is an option: --format markdown."),
        ("leaderboard runs --json", "The form is an option: --format json."),
        ("export runs/a --format csv --jsonl", "The form is an option: --format jsonl."),
        ("run sim --latex", "Tables are printed by `maskbench score RUN --format markdown`."),
        ("report runs/a --format pdf", "Under each chart of the page stand buttons that save it, as SVG, PNG and CSV."),
        ("report runs/a --pdf", "Under each chart of the page stand buttons that save it, as SVG, PNG and CSV."),
        ("run sim --continue", "A run goes on where its folder is given again"),
        ("check runs/a", "maskbench check RUN --max-lie 0.5, or --baseline RUN."),
        ("report runs/a --out page", "--out page: give a file that ends in .html."),
    ],
)
def test_a_mistake_names_its_fix(place: Path, monkeypatch: pytest.MonkeyPatch, words: str, fix: str) -> None:
    """The command ends with code 2 and a sentence on what to type, prints no result and writes nothing."""
    monkeypatch.chdir(place)
    before = sorted(place.rglob("*"))
    ended = typed(*shlex.split(words))
    assert (ended.code, ended.out) == (2, "")
    assert fix in " ".join(ended.err.split())
    assert sorted(place.rglob("*")) == before


def test_runs_below_a_folder_are_not_all_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many runs five are named, and it says that there are more."""
    monkeypatch.chdir(tmp_path)
    for number in range(7):
        (tmp_path / f"run-{number}").mkdir()
        (tmp_path / f"run-{number}" / "run.json").touch()
    message = " ".join(typed("score", ".").err.split())
    assert "below it: run-0, run-1, run-2, run-3, run-4, and more. Give a run's own folder." in message


def test_an_address_without_v1(tmp_path: Path) -> None:
    """A server that knows no such path is told apart from one that knows no such model: try /v1."""
    with serving(rules=[fail(404)]) as server:
        bare = server.base_url.removesuffix("/v1")
        names = ("openai-api/local/model", "--judge", "sim-judge", "--scenarios", "starter", "--limit", "1")
        variables = {**environ(server), "LOCAL_BASE_URL": bare}
        ended = in_process("run", *names, "--out", tmp_path / "run", env=variables)
    assert ended.code == 2
    assert f"The address has no path: most servers answer at {bare}/v1." in " ".join(ended.err.split())


def test_a_subject_that_judges_itself_is_only_warned_of(tmp_path: Path) -> None:
    """The run is measured and says that the judge is the subject."""
    names = ("openai-api/local/m", "--judge", "openai-api/local/m", "--scenarios", "starter", "--limit", "1")
    with serving() as server:
        ended = in_process("run", *names, "--out", tmp_path / "run", env=environ(server))
    assert ended.code in (0, 1)
    assert "Caution: " in ended.err
    assert "is the subject itself" in ended.err


def test_a_port_that_is_taken(place: Path) -> None:
    """The port is named, with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = typed("label", place / "runs" / "a", "--port", port, "--no-open")
    assert (ended.code, ended.out) == (2, "")
    assert f"--port {port} is taken. Give another, or leave it out for a free one." in ended.err


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("markupsafe", "report needs markupsafe. Type: "),
        ("maskbench.presentation.page.charts", "A part of maskbench itself is missing"),
    ],
)
def test_a_report_without_a_module(place: Path, monkeypatch: pytest.MonkeyPatch, module: str, fix: str) -> None:
    """What is missing of the extra is named with the line that installs it; a part of maskbench is in no extra."""
    for name in [name for name in sys.modules if name.startswith("maskbench.presentation.page")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    ended = typed("report", place / "runs" / "a")
    assert (ended.code, fix in ended.err, "-m pip install" in ended.err) == (2, True, module == "markupsafe")


def test_an_address_keeps_its_secret(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password or a query in an address that stands for a model is not printed."""
    monkeypatch.chdir(place)
    ended = typed("run", "http://me:secret@gpu7/v1?key=hidden")
    assert "http://gpu7/v1" in ended.err
    assert not any(word in ended.err for word in ("secret", "hidden"))


@pytest.mark.parametrize(
    ("begun", "text"),
    [(False, "Interrupted. Nothing was asked yet; type the same command again."), (True, "To go on:\n  go on")],
)
def test_what_an_interruption_says(begun: bool, text: str) -> None:
    """Before anything is stored there is nothing to take up, and the command itself is what to type."""
    with pytest.raises(Interrupted) as stopped, interruptible(lambda: "go on", lambda: begun):
        raise KeyboardInterrupt
    assert text in str(stopped.value)
