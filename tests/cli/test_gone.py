"""What an option that went answers."""

import pytest

from flows import typed
from maskbench.cli.gone import GONE


@pytest.mark.parametrize(("command", "option"), GONE, ids=" ".join)
def test_an_option_that_went_names_what_to_type(command: str, option: str) -> None:
    """One line says what a user does instead."""
    ended = typed(command, "runs/A", option, "3")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(
        f"Error: Unknown option: {option}. {GONE[command, option]} For help: maskbench {command}"
    )
