"""What a folder holds that would start a program or run code here: it is shown, and has to be typed again.

A folder may come from somebody else. So its server commands and its word that a model's code is trusted count for
nothing: only those of the command that is being carried out do.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.settings import Settings
from maskbench.types import Stage

_BOTH: Sequence[Stage] = ("subject", "judge")


def check_typed(settings: Settings, typed: Collection[str], folder: Path, stages: Sequence[Stage] = _BOTH) -> None:
    """Raise UsageError for a program or trusted code of these settings, stored in a folder, that was not typed again.

    `typed` are the names of the options that were; `stages` say who is asked.
    """
    for name, option in _options(settings, stages).items():
        if name not in typed:
            leave = f", or leave it out with {option[0]} none" if len(option) > 1 else ""
            raise UsageError(
                f"{folder} was made with `{shlex.join(option)}`, which runs code on this machine. Nothing that a "
                f"folder holds is run unasked: it may come from somebody else. If you trust it, add "
                f"{shlex.join(option)} to the command{leave}. To print what is there, `maskbench score {folder}`."
            )


def typed_again(settings: Settings, stages: Sequence[Stage] = _BOTH) -> list[str]:
    """The words that a command needs to go on with settings that were typed just now."""
    return [word for option in _options(settings, stages).values() for word in option]


def _options(settings: Settings, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """What these settings hold that starts a program or trusts code, by its name, as it is typed."""
    from maskbench.models.hf.opening import is_local

    options: dict[str, list[str]] = {}
    if settings.pace.serve and "subject" in stages:
        options["serve"] = ["--serve", settings.pace.serve]
    if settings.pace.serve_judge and "judge" in stages:
        options["serve_judge"] = ["--serve-judge", settings.pace.serve_judge]
    judges = settings.judging.judges if "judge" in stages else ()
    asked = (*judges, *((settings.subject.name,) if "subject" in stages else ()))
    if settings.subject.trust_remote_code and any(map(is_local, asked)):
        options["trust_remote_code"] = ["--trust-remote-code"]
    return options
