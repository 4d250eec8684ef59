"""An option is declared once: what is shown of it is what the setting has, and a shell completes it."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flows import typed
from maskbench.asking.options import IN_FILES, OPTIONS
from maskbench.cli import PANELS, app
from maskbench.cli.commands import ALL
from maskbench.cli.run_options import declared
from maskbench.settings import PLACES, Settings

# Settings that no option sets: the argument of `maskbench run`, and what is looked up or computed from others.
FILLED_IN = {"subject", "system_prompt_text", "marks", "imported"}
LONG = ("run", "exam", "judge")
COMMANDS = [name for name in app() if not name.startswith("-") and name != "scenarios"]
PLAIN = Settings.of("", "", "")


def options(words: str) -> dict[str, Any]:
    """The options of a command by name, with what is declared of each."""
    command = app()
    for word in words.split():
        command = command[word]
    declared = command.assemble_argument_collection(parse_docstring=False)
    return {argument.name: argument for argument in declared if argument.names}


def shown_default(name: str) -> Any:
    """The default that is shown of an option that sets a setting."""
    return declared(name).__metadata__[0].show_default or None


def shown(text: str) -> set[str]:
    """The options that a help text has in its panels."""
    return set(re.findall(r"^│ (?:\*  )? {0,3}(--[\w-]+)", text, re.MULTILINE))


# The settings


def test_every_setting_has_its_option() -> None:
    """What `Settings` has can be typed, and nothing else sets a setting."""
    set_by_options = {row.of.partition(".")[0] for row in OPTIONS.values()}
    assert set_by_options | FILLED_IN == set(PLACES)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_help_says_the_default_of_the_setting(name: str) -> None:
    """Where the default hangs on something there are words for it; elsewhere it is the value, word for word."""
    row, default = OPTIONS[name], shown_default(name)
    setting, _, part = row.of.partition(".")
    value = PLAIN.options[setting]
    value = getattr(value, part) if part else value
    if row.default is None and row.metavar:
        assert default == (None if value is None else str(value))
    assert not (row.default and value not in (None, "", (), {}) and not row.of.startswith("judge_sampling"))


@pytest.mark.parametrize("name", [name for name, row in OPTIONS.items() if row.metavar == "N" and name not in IN_FILES])
def test_limits_are_those_of_the_setting(name: str) -> None:
    """A number outside of the setting's limits is refused with the limit, before anything is read or called."""
    least, most = OPTIONS[name].limits
    assert least is not None
    most = 10**9 if most is None else most
    option = f"--{name.replace('_', '-')}"
    low = typed("run", "sim", "--dry-run", f"{option}={least - 1}")
    high = typed("run", "sim", "--dry-run", f"{option}={most + 1}")
    assert (low.code, f'"{least - 1}" for {option}. Give {least} or more.' in low.err) == (2, True)
    assert (high.code, f'"{most + 1}" for {option}. Give {most:,} or less.' in high.err) == (2, True)


@pytest.mark.parametrize("number", ["1.5", "0x10", "2e3", ""])
def test_a_whole_number_is_not_rounded(number: str) -> None:
    """Half a statement is no statement more or less: it is refused."""
    ended = typed("run", "sim", "--dry-run", f"--statements={number}")
    assert (ended.code, "Invalid value for --statements: give a whole number." in ended.err) == (2, True)


def test_a_command_gets_what_was_typed_and_nothing_else() -> None:
    """Settings that nobody typed are left to the run that is there; a default is never taken for a wish."""
    words = ["run", "sim", "--out", "a", "--statements", "1", "--placebo", "--archetype", "statistics"]
    command, bound, _ = app().parse_args(words, exit_on_error=False)
    assert command.__name__ == "run"
    assert bound.arguments["given"] == {"statements": 1, "placebo": True, "archetype": ["statistics"]}


# Help


@pytest.mark.parametrize("command", LONG)
def test_the_help_of_a_long_command_is_short(command: str) -> None:
    """Ten options and two examples, and the line that shows all of them, each of which is one that is there."""
    text, whole = (typed(*command.split(), how).out for how in ("--help", ALL))
    assert len(shown(text)) == 10
    assert shown(text) < shown(whole) == {name for name in options(command) if name.startswith("--")}
    assert len(re.findall(rf"^  maskbench {command}( |$)", text, re.MULTILINE)) == 2
    assert f"All options: maskbench {command} {ALL}" in text


@pytest.mark.parametrize("command", LONG)
def test_the_help_names_no_option_that_its_command_refuses(command: str) -> None:
    """What its sentences name is an option of this command, or stands in a command line of another one."""
    text = " ".join(re.sub("[│\n]", " ", typed(*command.split(), ALL).out).split())
    named = re.findall(r"--[a-z][a-z-]*[a-z]", re.sub(r"maskbench [a-z]+ [^`.]*", "", text))
    assert set(named) <= {*options(command), ALL, "--help"}


@pytest.mark.parametrize("command", LONG)
def test_the_examples_of_the_help_can_be_typed(command: str) -> None:
    """Each is a command line that is understood."""
    for line in re.findall(rf"^  maskbench ({command}.*)$", typed(*command.split(), "--help").out, re.MULTILINE):
        called, _, _ = app().parse_args(line.split(), exit_on_error=False)
        assert called.__name__ == command.split()[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_an_option_is_a_sentence(command: str) -> None:
    """It begins with a capital or the program's name, has at least three words, and ends with its mark."""
    helps = [argument.parameter.help for argument in options(command).values() if argument.show]
    assert [text for text in helps if not re.fullmatch(r"(?:[A-Z]|maskbench )\S*(?: \S+){2,}[.?]", text)] == []


# Where a file goes


def test_every_file_that_is_written_is_named_by_out() -> None:
    """No command calls it otherwise."""
    assert {name for name in COMMANDS if "--out" in options(name)} == {
        *("run", "sweep", "import", "exam"),
        *("report", "export", "leaderboard", "label"),
    }


def test_published_sampling_shares_no_verdict() -> None:
    """The plan says so, and for the package's own sampling it does not."""
    planned = [typed("run", "sim", "--dry-run", *more).out for more in ((), ("--like", "paper"))]
    assert ["No two replies share a verdict" in " ".join(text.split()) for text in planned] == [False, True]


# Completion

COMPLETE = """
source "$1"
COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_maskbench
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `maskbench --install-completion` puts into a home of bash."""
    home = tmp_path_factory.mktemp("home")
    environ = {**os.environ, "HOME": str(home), "SHELL": "/bin/bash"}
    ended = subprocess.run(
        [sys.executable, "-m", "maskbench", "--install-completion", "--shell", "bash"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in ended.stderr
    (installed,) = [path for path in home.rglob("*") if path.is_file() and path.name == "maskbench"]
    assert not (home / ".bashrc").exists()  # a shell's own file is the user's
    return installed


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers after these words."""
    bin_folder = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    called = ["bash", "-c", COMPLETE, "bash", str(script), "maskbench", *words]
    return subprocess.run(called, env=environ, capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_and_options(script: Path) -> None:
    """A command, an option of it, the choices of an option."""
    assert completed(script, "lea") == ["leaderboard"]
    assert completed(script, "run", "--scen") == ["--scenarios"]
    assert completed(script, "run", "--rules", "s") == ["strict"]


@pytest.mark.skipif(not (Path(sys.executable).parent / "maskbench").exists(), reason="maskbench is not on the path")
def test_bash_completes_the_name_of_a_set(script: Path) -> None:
    """The sets that have names are offered where one is asked for, by maskbench itself."""
    assert "starter" in completed(script, "run", "--scenarios", "st")
    assert completed(script, "run", "--scenarios", "cais") == ["cais/MASK"]


def test_the_signature_of_a_run_is_short() -> None:
    """`run` has what belongs to no setting as parameters, and the rest as one."""
    from maskbench.cli.run import run

    names = ["model", "out", "fresh", "printed", "shared", "dry_run"]
    names.append("given")
    assert list(inspect.signature(run).parameters) == names


def test_the_list_of_commands_says_what_each_command_says() -> None:
    """A command that is not loaded is told by the first sentence of its help, which stands in the list."""
    whole = app()
    for entries in PANELS.values():
        for name, entry in entries.items():
            loaded = whole[name].help.split("\n\n")[0]
            assert loaded == entry.about, name


def test_only_the_command_that_is_typed_is_loaded() -> None:
    """The version, the list of commands and the help of one load no module of the others."""
    code = (
        "import sys; from maskbench.cli import main\n"
        "try: main()\n"
        "finally: print(*sorted(m for m in sys.modules if m.startswith('maskbench.')), file=sys.stderr)"
    )
    for words in (["--version"], ["--help"], ["published", "--help"]):
        ended = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        assert ("maskbench.cli.run" in ended.stderr.split()) is False
        assert ("maskbench.cli.boards" in ended.stderr.split()) is (words[0] == "published")
