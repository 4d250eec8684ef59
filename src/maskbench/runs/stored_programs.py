"""The one place where what a folder holds becomes settings to ask by: what it joins or trusts has to be typed again.

A folder may come from somebody else. So its cluster and its word that a model's code is trusted count for nothing: only
those of the command that is being carried out do. `settings.Stored` marks what was read from a folder, and nothing is
opened by settings that have the mark and join or trust something (`settings.check_starts`).
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.settings import VALUES, Settings, starts
from maskbench.types import STAGES, Stage


def to_ask_by(settings: Settings, typed: Collection[str], folder: Path, stages: Sequence[Stage] = STAGES) -> Settings:
    """Settings of a folder, with what was typed put in, as settings to ask by.

    `typed` are the names of the options that were; `stages` say who is asked. Raises UsageError for what would join a
    machine or trust code and was not typed again.
    """
    for name, option in _options(settings, stages).items():
        if name not in typed:
            leave = f", or leave it out with {option[0]} none" if len(option) > 1 else ""
            raise UsageError(
                f"{folder} was made with `{shlex.join(option)}`, which runs code here or on another machine. Nothing "
                f"that a folder holds is run unasked: it may come from somebody else. If you trust it, add "
                f"{shlex.join(option)} to the command{leave}. To print what is there, `maskbench score {folder}`."
            )
    return Settings(**{name: getattr(settings, name) for name in VALUES})


def typed_again(settings: Settings, stages: Sequence[Stage] = STAGES) -> list[str]:
    """The words that a command needs to go on with settings that were typed just now."""
    return [word for option in _options(settings, stages).values() for word in option]


def _options(settings: Settings, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """What these settings join or trust, by its name, as it is typed."""
    return {
        name: [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
        for name, value in starts(settings, stages).items()
    }
