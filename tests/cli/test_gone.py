"""What an option or a command that went answers."""

import pytest

from flows import typed
from maskbench.cli.gone import GONE

OPTIONS = [each for each in GONE if each[1].startswith("-")]
COMMANDS = [each for each in GONE if each not in OPTIONS]


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=" ".join)
def test_an_option_that_went_names_what_to_type(command: str, option: str) -> None:
    """One line says what a user does instead."""
    ended = typed(command, "runs/A", option, "3")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        f"Error: Unknown option: {option}. {GONE[command, option]} For help: maskbench {command}"
    )


@pytest.mark.parametrize(("behind", "command"), COMMANDS, ids=" ".join)
def test_a_command_that_went_names_what_to_type(behind: str, command: str) -> None:
    """One line says what a user does instead, wherever the word stands."""
    ended = typed(*behind.split(), command, "runs/A")
    assert (ended.code, ended.out) == (2, "")
    assert GONE[behind, command] in ended.err
