"""What is gone answers with where it went."""

from __future__ import annotations

import pytest

from maskbench.cli.gone import check_gone
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
