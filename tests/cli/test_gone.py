"""What is gone answers with where it went."""

from __future__ import annotations

import pytest

from maskbench.cli.gone import check_gone, told_of_fields
from maskbench.errors import UsageError

_COMMANDS = {"tell": "see `maskbench score`"}
_OPTIONS = {"run --shout": "see `maskbench plan`", "make bread --salt": "the dough has it", "--loud": "see --quiet"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("tell runs/A", "`maskbench tell` is gone: see `maskbench score`."),
        ("run sim --shout", "--shout is gone: see `maskbench plan`."),
        ("run sim --shout=2", "--shout is gone: see `maskbench plan`."),
        ("make bread --salt 3", "--salt is gone: the dough has it."),
        ("score runs/A --loud", "--loud is gone: see --quiet."),
    ],
)
def test_what_is_gone_says_where_it_went(typed: str, told: str) -> None:
    """A command that is gone, and an option of one command or of all, answer with one line."""
    with pytest.raises(UsageError) as caught:
        check_gone(typed.split(), _COMMANDS, _OPTIONS)

    assert str(caught.value) == told


@pytest.mark.parametrize("typed", ["", "run tell", "score runs/A --shout", "run sim -- --shout", "make tea --salt"])
def test_what_is_there_passes(typed: str) -> None:
    """A word that only looks like one that is gone is no error."""
    check_gone(typed.split(), _COMMANDS, _OPTIONS)


@pytest.mark.parametrize(
    ("typed", "text", "told"),
    [
        (
            "run f.toml",
            "--timeout 0 leaves no time.",
            " In a run timeout is a field of the file of `maskbench run FILE.toml`.",
        ),
        (
            "run hf/x",
            "Try --dtype bf16, or another --device.",
            " In a run dtype and device are fields of the file of `maskbench run FILE.toml`.",
        ),
        ("run sim --rpm 3", "--rpm is gone.", ""),
        ("run sim", "Give another --out.", ""),
        ("exam hf/x", "Try --dtype bf16.", ""),
        ("", "--timeout 0 leaves no time.", ""),
    ],
)
def test_an_error_of_a_run_says_which_options_are_fields(typed: str, text: str, told: str) -> None:
    """An option that `maskbench run` does not take, and that its error names, is called a field of the run's file."""
    assert told_of_fields(typed.split(), text) == f"{text}{told}"
