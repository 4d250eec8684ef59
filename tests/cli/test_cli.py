"""The command line as a user meets it: options, exit codes, what goes where, and what errors say to type."""

import csv
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chat_server import fail
from flows import KEY, MODELS, Ended, environ, reply_to, serving
from flows import command as in_process
from flows import run as process
from maskbench.cli import app, main
from maskbench.cli.commands import ALL
from measured_runs import EVERYDAY
from scenario_rows import folder, row, six, write_csv

pytestmark = pytest.mark.slow

Run = Callable[..., Ended]


@pytest.fixture
def maskbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Command(capsys, monkeypatch)


@dataclass
class Command:
    """Calls `maskbench` with these arguments."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: object) -> Ended:
        self.monkeypatch.setattr(sys, "argv", ["maskbench", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        out, err = self.capsys.readouterr()
        return Ended(code, out, err)


def joined(text: str) -> str:
    """The text without boxes and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def arguments(words: str) -> Any:
    """Every argument and option of a command."""
    command = app()
    for name in words.split():
        command = command[name]
    return command.assemble_argument_collection(parse_docstring=False)


def app_commands(inside: Any = None) -> Iterator[str]:
    """Every command by its words."""
    inside = inside or app()
    for name in inside:
        if not name.startswith("-"):
            within = list(app_commands(inside[name]))
            yield from (f"{name} {inner}" for inner in within) if within else (name,)


# Help


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("command", [*app_commands()])
def test_help_names_every_option(maskbench: Run, monkeypatch: pytest.MonkeyPatch, command: str, width: int) -> None:
    """The full help of every command names every option in full and says what it does."""
    monkeypatch.setenv("COLUMNS", str(width))
    shown = app()
    for word in command.split():
        shown = shown[word]
    long = ALL in shown.help_flags
    ended = maskbench(*command.split(), ALL if long else "--help")
    assert ended.code == 0
    assert "…" not in ended.out
    assert "<bool" not in ended.out.lower()
    for argument in arguments(command):
        if argument.show:
            name = argument.name
            assert re.search(rf"(^|\s){name}\s", ended.out), name
            assert joined(argument.parameter.help)[:20] in joined(ended.out)


@pytest.mark.parametrize("command", [*app_commands(), ""])
def test_help_reads_as_a_user_writes(maskbench: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """No type that only Python has, no braces, and prose that fills the lines of a narrow terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = maskbench(*command.split(), "--help").out
    assert not re.search(r"<(bool|str|int|float|path|list)|list\[|\{", shown, re.IGNORECASE)
    assert "]..." not in shown.replace("[ARGS]...", "")
    prose = shown.partition("╭")[0].splitlines()
    for line, after in pairwise(map(str.strip, prose[3:])):
        assert not (line and after) or len(line) + len(after.split()[0]) > 75, line


def test_the_commands_stand_by_what_they_are_for(maskbench: Run) -> None:
    """In the order of the README."""
    panels = re.findall(r"╭─ ([\w ]+?) ─", maskbench("--help").out)
    assert panels == [
        *("Options", "Measure", "Read results", "The judge", "Sets and published figures"),
    ]


def test_help_says_the_defaults(maskbench: Run) -> None:
    """Defaults that depend on something are said, too."""
    help_text = joined(maskbench("run", "--help-all").out)
    for default in (
        "runs/<time>-<subject>-<hash>",
        "the judge",
        "sim-judge for sim",
        "starter for sim",
        "0.05",
        "1000",
    ):
        assert default in help_text
    assert "Exit codes: 0 done; 1 done, but with too many errors; 2 wrong usage" in help_text


def test_no_command(maskbench: Run) -> None:
    """Without a command the help is shown."""
    ended = maskbench()
    for command in ("run", "score", "export", "scenarios"):
        assert command in ended.out + ended.err


def test_version(maskbench: Run) -> None:
    """--version prints it, and so does `python -m maskbench`."""
    line = f"maskbench {version('maskbench')}\n"
    assert maskbench("--version") == Ended(0, line, "")
    assert process("--version", env={}) == Ended(0, line, "")


# Runs


def test_a_run_from_beginning_to_end(maskbench: Run, tmp_path: Path) -> None:
    """`run sim` needs nothing else; the result is on stdout, everything else on stderr, the folder where it says."""
    ended = maskbench("run", "sim")
    assert ended.code == 0
    assert ended.out.startswith("sim on starter, judged by sim-judge, rules reference\n")
    assert "replies and" not in ended.out
    (place,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-sim-[0-9a-f]{6}", place.name)
    assert ended.err.endswith(
        f"The run is in runs/{place.name}. To look at it:\n  maskbench report runs/{place.name}\n"
    )
    assert ended.out.splitlines()[-1] == f"The rest, with all rates: maskbench score runs/{place.name} --full"
    assert {path.name for path in place.iterdir()} >= {"run.json", "run.sqlite", "run.log", "summary.json"}


def test_a_finished_run_prints_its_result(maskbench: Run, tmp_path: Path) -> None:
    """Started again it asks nothing, and prints the same."""
    names = ("openai-api/local/subject", "--judge", "openai-api/local/judge")
    with serving(reply=reply_to) as server:
        for name, value in environ(server).items():
            maskbench.monkeypatch.setenv(name, value)  # type: ignore[attr-defined]
        first = maskbench("run", *names, "--scenarios", "starter", "--limit", 6, "--out", "run")
        asked = server.requests
        again = maskbench("run", *names, "--scenarios", "starter", "--limit", 6, "--out", "run")
        resumed = maskbench("run", "--out", "run")
        assert server.requests == asked > 0
    assert first.code == again.code == resumed.code == 0
    assert first.out == again.out == resumed.out


def test_a_finished_run_says_that_nothing_was_asked(maskbench: Run, tmp_path: Path) -> None:
    """A new checkpoint under an old name cannot pass on old answers in silence: a line says since when."""
    first = maskbench("run", "sim", "--limit", "2", "--out", "run")
    assert "Nothing asked" not in first.err
    ended = json.loads(Path("run/run.json").read_bytes())["sessions"][-1]["ended"]["at"]
    again = maskbench("run", "sim", "--limit", "2", "--out", "run")
    line = f"Nothing asked: complete since {ended}; --fresh asks anew, and keeps this run beside it.\n"
    assert (again.out, line in again.err) == (first.out, True)
    record = json.loads(Path("run/run.json").read_bytes())
    record["sessions"][-1]["ended"] = None  # the process was killed
    Path("run/run.json").write_text(json.dumps(record))
    assert re.search(r"complete since 20\d\d-\d\d-\d\dT[\d:]+\+00:00; --fresh", maskbench("run", "--out", "run").err)


def test_fresh(maskbench: Run, tmp_path: Path) -> None:
    """--fresh asks everything anew under the same name, and the old run stays whole beside it."""
    maskbench("run", "sim", "--limit", "2", "--out", "runs/a")
    before = maskbench("score", "runs/a", "--json").out
    for command in (("sim", "--limit", "2"), ()):
        ended = maskbench("run", *command, "--out", "runs/a", "--fresh")
        assert ended.code == 0
        assert "The run that was in runs/a before is in runs/a.before-" in ended.err
        assert "replies and" in ended.err
    moved = sorted(path for path in Path("runs").iterdir() if path.name != "a")
    assert len(moved) == 2
    assert json.loads(maskbench("score", str(moved[0]), "--json").out)["counts"] == json.loads(before)["counts"]
    nothing = maskbench("run", "openai-api/local/x", "--judge", "sim-judge", "--out", "runs/a", "--fresh")
    assert nothing.code == 2
    assert len(list(Path("runs").iterdir())) == 3
    assert Path("runs/a/run.json").exists()
    refused = maskbench("run", "sim", "--fresh")
    assert (refused.code, "Name it with --out" in refused.err) == (2, True)
    assert maskbench("run", "sim", "--limit", "2", "--out", "runs/new", "--fresh").code == 0


def test_score_and_json(maskbench: Run, tmp_path: Path) -> None:
    """`score` prints what `run --full` prints; `--json` is summary.json and nothing else; --rules scores anew."""
    ran = maskbench("run", "sim", "--sample", 36, "--statements", 2, "--out", "run", "--full")
    scored = maskbench("score", "run", "--full")
    assert (scored.code, scored.out, scored.err) == (0, ran.out, "")
    assert maskbench("score", "run").out == maskbench("run", "--out", "run").out
    printed = maskbench("score", "run", "--json")
    assert printed.err == ""
    assert json.loads(printed.out) == json.loads((tmp_path / "run" / "summary.json").read_bytes())
    strict = json.loads(maskbench("score", "run", "--rules", "strict", "--json").out)
    assert (strict["rules"], strict["schema"]) == ("strict", 1)
    assert "rules strict" in maskbench("score", "run", "--rules", "strict").out


def test_a_run_for_scripts(maskbench: Run, tmp_path: Path) -> None:
    """`run --json` prints summary.json alone on stdout, and `--quiet` nothing on stderr; errors are printed still."""
    printed = maskbench("run", "sim", "--limit", 6, "--out", "run", "--json")
    assert json.loads(printed.out) == json.loads((tmp_path / "run" / "summary.json").read_bytes())
    assert "29 replies" in printed.err
    quiet = maskbench("run", "sim", "--limit", 6, "--out", "quiet", "--json", "--quiet")
    assert (json.loads(quiet.out)["scenarios"]["n"], quiet.err) == (6, "")
    shown = maskbench("run", "--out", "quiet", "--quiet")
    assert (shown.out.splitlines()[-1].partition(": ")[2], shown.err) == ("maskbench score quiet --full", "")
    refused = maskbench("run", "sim", "--quiet", "--out", "quiet")
    assert (refused.code, refused.out, refused.err.startswith("Error: quiet holds a run with ")) == (2, "", True)
    both = maskbench("run", "sim", "--full", "--json")
    assert (both.code, "Leave --full out." in both.err) == (2, True)


def test_a_plan_as_json(maskbench: Run) -> None:
    """`run --dry-run --json` prints the plan's counts for a script, and makes no folder."""
    planned = json.loads(maskbench("run", "sim", "--limit", 6, "--dry-run", "--json").out)
    assert planned["scenarios"] == 6
    assert planned["calls"]["replies"] > 6
    assert not Path("runs").exists()


def test_what_is_pasted_has_every_figure_of_the_terminal(maskbench: Run) -> None:
    """`--format markdown` of `score` and `compare` holds the terminal's figures; with --json it is refused."""
    for name in ("sim/lie=0.2", "sim/lie=0.8"):
        maskbench("run", name, "--limit", 6, "--max-error-rate", 1, "--out", name[-1])
    for command in (("score", "2"), ("compare", "2", "8")):
        figures = set(re.findall(r"\d+\.\d(?= %)", maskbench(*command).out))
        markdown = maskbench(*command, "--format", "markdown")
        assert len(figures) > 3
        assert figures <= set(re.findall(r"\d+\.\d(?= %)", markdown.out))
        assert "| ---: |" in markdown.out
        refused = maskbench(*command, "--json", "--format", "markdown")
        assert (refused.code, refused.out) == (2, "")
        assert "--json and --format markdown are two forms of one output. Give one of them." in joined(refused.err)


def test_too_many_errors(maskbench: Run) -> None:
    """Exit code 1, the headline withheld with the reason; a higher limit prints it."""
    ended = maskbench("run", "sim/fail=0.3", "--sample", 36, "--out", "run")
    assert ended.code == 1
    assert "The headline is withheld" in ended.out
    assert "at most 5 % is allowed" in ended.out
    assert maskbench("score", "run").code == maskbench("score", "run", "--json").code == 1
    assert maskbench("run", "--out", "run", "--max-error-rate", 1).code == 0


# Dry runs


def test_a_dry_run_calls_nothing(tmp_path: Path) -> None:
    """No request, no folder, no key needed; the tokens are labelled an estimate."""
    with serving() as server:
        ended = process("run", *MODELS, "--scenarios", "starter", "--dry-run", env=environ(server))
        assert server.requests == 0
    assert ended.code == 0
    assert ended.err == ""
    assert "estimate" in ended.out
    assert "Nothing was called." in ended.out
    assert process("run", *MODELS, "--scenarios", "starter", "--dry-run", env={}).code == 0


def test_a_dry_run_counts_what_a_run_asks(maskbench: Run, tmp_path: Path) -> None:
    """The calls are those of the same options without --dry-run."""
    chosen = ("sim", "--statements", 3, "--archetype", "statistics", "--archetype", "known_facts")
    planned = maskbench("run", *chosen, "--dry-run").out
    maskbench("run", *chosen, "--out", "run")
    usage = json.loads((tmp_path / "run" / "summary.json").read_bytes())["usage"]
    assert f"{usage['subject']['answers']} replies to ask for" in planned
    assert not (tmp_path / "runs").exists()


# Exports


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_rows_go_to_stdout(maskbench: Run, form: str) -> None:
    """JSONL and CSV go to stdout unless --out says otherwise, and nothing else does."""
    maskbench("run", "sim", "--limit", 6, "--out", "run")
    ended = maskbench("export", "run", "--format", form)
    assert (ended.code, ended.err) == (0, "")
    written = maskbench("export", "run", "--format", form, "--out", f"rows.{form}")
    assert written == Ended(0, "", f"The rows are in rows.{form}.\n")
    assert Path(f"rows.{form}").read_text(encoding="utf-8") == ended.out
    rows = csv.DictReader(ended.out.splitlines(keepends=True)) if form == "csv" else ended.out.splitlines()
    assert len(list(rows)) == 6


def test_other_forms_need_a_place(maskbench: Run) -> None:
    """Parquet and the published columns are no text for a terminal."""
    maskbench("run", "sim", "--limit", 6, "--out", "run")
    for form, place in (("parquet", "FILE"), ("published", "FOLDER")):
        ended = maskbench("export", "run", "--format", form)
        assert (ended.code, ended.out) == (2, "")
        assert f"add --out {place}" in ended.err
        assert maskbench("export", "run", "--format", form, "--out", form).code == 0


def test_a_run_that_is_not_complete(maskbench: Run) -> None:
    """Scores say so, and rows say on stderr how many scenarios are left out, with the line to go on."""
    maskbench("run", "sim", "--limit", 6, "--out", "run")
    with sqlite3.connect("run/run.sqlite") as database:
        database.execute("DELETE FROM replies WHERE archetype IN ('statistics', 'continuations')")
    database.close()
    scored = maskbench("score", "run")
    assert "Not complete. Only 4 of 6 scenarios are done" in scored.out
    assert json.loads(maskbench("score", "run", "--json").out)["complete"] is False
    ended = maskbench("export", "run", "--format", "jsonl")
    assert (ended.code, len(ended.out.splitlines())) == (0, 4)
    assert ended.err == "Left out: 2 scenarios that are not done. To go on:\n  maskbench run --out run\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run over the starter set."""
    place = tmp_path_factory.mktemp("finished") / "run"
    assert process("run", "sim", "--out", place, env={}).code == 0
    return place


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (["export", "--format", "jsonl"], 1),
        (["export", "--format", "csv"], 0),
        (["score"], 1),
        (["score", "--json"], 0),
    ],
)
def test_stdout_closed_early(finished: Path, command: list[str], lines: int) -> None:
    """`maskbench ... | head` ends quietly, however little was read."""
    arguments = [sys.executable, "-m", "maskbench", command[0], str(finished), *command[1:]]
    started = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stderr is not None
    for _ in range(lines):
        assert started.stdout.readline()
    started.stdout.close()
    assert started.stderr.read() == ""
    started.stderr.close()
    assert started.wait(20) == 0


def test_a_full_disk(finished: Path) -> None:
    """Output that cannot be written is an error, and no traceback."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "maskbench", "score", str(finished)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (ended.returncode, ended.stderr) == (2, "Error: No space left on device.\n")


def test_a_narrow_character_set(finished: Path) -> None:
    """A terminal that knows no dashes gets question marks."""
    ended = process("score", finished, env={"PYTHONIOENCODING": "ascii"})
    assert ended.code == 0
    assert ended.out.isascii()


# Scenario sets


def test_listing_sets(maskbench: Run) -> None:
    """The sets that have names, with their sizes; nothing is fetched."""
    listed = maskbench("scenarios", "list").out
    assert "starter  240 scenarios" in listed
    assert "cais/MASK  1,000 scenarios" in listed


def test_showing_a_scenario(maskbench: Run, tmp_path: Path) -> None:
    """Both sides of one scenario; where two archetypes have the id, both or the one that is named."""
    folder(
        tmp_path / "set",
        {"known_facts": [row("known_facts", task_id="7")], "continuations": [row("continuations", task_id="7")]},
    )
    both = maskbench("scenarios", "show", "set", 7).out
    assert "known_facts 7" in both
    assert "continuations 7" in both
    shown = maskbench("scenarios", "show", "set", 7, "--archetype", "continuations").out
    assert "known_facts 7" not in shown
    assert "The pressured statement, to the subject, once" in shown
    assert "The direct belief question, to the subject, 3 times" in shown
    assert "system  You are a helpful assistant.\n" in shown


def test_validating_a_set(maskbench: Run, tmp_path: Path) -> None:
    """A sound set has nothing wrong with it; faults are on stdout by file, row and column, and the code is 2."""
    folder(tmp_path / "sound", six(2))
    ended = maskbench("scenarios", "validate", "sound")
    assert (ended.code, ended.out) == (0, "sound: nothing is wrong with its 12 scenarios.\n")
    write_csv(tmp_path / "known_facts.csv", [row("known_facts", formatted_ground_truth="C\x1b[31m")])
    ended = maskbench("scenarios", "validate", "known_facts.csv")
    assert (ended.code, ended.err) == (2, "1 problem found.\n")
    assert ended.out.startswith("known_facts.csv, row 1, column formatted_ground_truth: ")
    assert "\x1b" not in ended.out


def test_run_alone_measures_the_embedded_model(maskbench: Run) -> None:
    """Without any argument there is a real model measured, with no key and no network."""
    ended = maskbench("run", "--limit", 6)
    assert ended.code == 0
    assert ended.out.startswith("pinocchio on sandbox")
    assert "judged by rules/sandbox" in ended.out


def test_default_outputs_fit_30_lines_of_100_columns(tmp_path: Path) -> None:
    """`run`, `score` and `judge` begin with both shares, and leave chance, like all the rest, to --full."""
    out = tmp_path / "run"
    judged = ("judge", out, "--judge", "rules/sandbox", "--name", "again")
    for line in (("run", "pinocchio", "--sample", 60, "--out", out), ("score", out), judged):
        ended = in_process(*line, env={"COLUMNS": "100"})
        assert len(ended.out.splitlines()) <= 30, line
        assert re.search(r"^P\(lie\) \S+ % .*   P\(honest\) \S+ %", ended.out, re.MULTILINE)
        assert "Nothing failed, nothing was cut. It took" in ended.out
        assert "Chance level:" not in ended.out
    assert "Chance level:" in in_process("score", out, "--full", env={}).out


# Errors


def test_a_refused_model_stops_the_run(tmp_path: Path) -> None:
    """A wrong key and an unknown model end it at once with code 2; what the endpoint writes cannot steer a terminal."""
    for status in (401, 404):
        message = {"error": {"message": f"no \x1b[31m\u202e\x9b such {KEY} thing", "code": "model_not_found"}}
        with serving(rules=[fail(status, content=message)]) as server:
            options = ("--scenarios", EVERYDAY, "--out", tmp_path / str(status))
            ended = process("run", *MODELS, *options, env=environ(server))
            assert server.requests < 100
        assert ended.code == 2
        assert ended.out == ""
        assert "Error: " in ended.err
        assert not {"\x1b", "\u202e", "\x9b"} & set(ended.err)


WORDS = (
    "",
    " ",
    "nan",
    "inf",
    "-1",
    "0",
    "1",
    "1e400",
    "9" * 30,
    "x",
    "\n",
    "\x1b[31m",
    "[red]",
    "=1",
    "--",
    "ü",
    "..",
)
FUZZED = (
    *("--judge", "--scenarios", "--archetype", "--sample", "--limit", "--statements", "--beliefs", "--temperature"),
    *(
        "--max-tokens",
        "--seed",
        "--rules",
        "--like",
        "--judge-prompts",
        "--max-error-rate",
        "--out",
    ),
    *("--connections", "--filtered", "--on-truncation", "--numeric-judge"),
)


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["sim", "sim/lie=0.1", "sim/", "sim//", "vllm/x", "", "[red]", "\x1b"]),
    st.lists(st.tuples(st.sampled_from(FUZZED), st.sampled_from(WORDS)), max_size=3),
)
@example("sim", [("--statements", "9" * 30)])
def test_no_options_end_in_a_traceback(maskbench: Run, model: str, chosen: list[tuple[str, str]]) -> None:
    """Whatever is typed, there is an exit code of ours and, with 2, a text on stderr that steers no terminal."""
    words = [word for pair in chosen for word in pair]
    ended = maskbench("run", model, "--dry-run", *words)
    assert ended.code in (0, 2)
    assert "Traceback" not in ended.err
    assert (ended.code == 2) == bool(ended.err)
    assert "\x1b" not in ended.out + ended.err
