"""The one place where what a folder holds becomes settings to ask by: what it may open or run has to be typed again.

A folder may come from somebody else. So the options of a model's own count for nothing there, but for those of which
the model says that a folder may keep them (`models.brought.Takes`): only what the command names that is being carried
out does. `settings.Stored` marks what was read from a folder, and no model is opened by settings that have the mark
and such options (`models.names.check_typed`).
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.models.brought import NONE
from maskbench.models.names import typed_again
from maskbench.settings import VALUES, Settings
from maskbench.types import STAGES, Stage


def to_ask_by(settings: Settings, typed: Collection[str], folder: Path, stages: Sequence[Stage] = STAGES) -> Settings:
    """Settings of a folder, with what was typed put in, as settings to ask by.

    `typed` are the names of the model's own options that were; `stages` say who is asked. Raises UsageError for what
    counts only where it is typed, and was not.
    """
    for name, value in typed_again(settings, stages).items():
        if name not in typed:
            option = shlex.join(_words(name, value))
            raise UsageError(
                f"{folder} was made with `{option}`, which may run code or open a file here. Nothing that a folder "
                f"holds is run unasked: it may come from somebody else. If you trust it, add {option} to the command, "
                f"or leave it out with -M {name}={NONE}. To print what is there, `maskbench score {folder}`."
            )
    return Settings(**{name: getattr(settings, name) for name in VALUES})


def words_again(settings: Settings) -> list[str]:
    """The words that a command needs to go on with settings that were typed just now."""
    return [word for name, value in typed_again(settings).items() for word in _words(name, value)]


def _words(name: str, value: object) -> list[str]:
    return ["-M", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
