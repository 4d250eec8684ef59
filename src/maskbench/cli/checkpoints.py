"""Checkpoints of a training: several adapters of one base model, each measured by a run of its own."""

from __future__ import annotations

import glob
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.settings import Settings


class NoAdapter(UsageError):
    """No adapter is where a pattern points."""


def adapters_of(pattern: str) -> dict[str, Path]:
    """The adapters that a pattern such as DIR/step_* finds, by name, step_2 before step_10.

    The name is the folder's; where several are called the same, their parent's goes before it. Raises UsageError
    where none is found, or names are the same all the same.
    """
    adapters = [Path(path) for path in glob.glob(pattern) if (Path(path) / "adapter_config.json").is_file()]  # noqa: PTH207  # takes absolute patterns
    if not adapters:
        raise NoAdapter(
            f"--adapters {pattern} finds no adapter, which is a folder with an adapter_config.json. Put the pattern "
            "into quotes, as in 'DIR/step_*'."
        )
    adapters.sort(key=lambda path: _natural(str(path)))
    names = [path.name for path in adapters]
    if len(set(names)) < len(names):
        names = [f"{path.absolute().parent.name}-{path.name}" for path in adapters]
    same = [name for name, count in Counter(names).items() if count > 1]
    if same:
        raise UsageError(f"--adapters {pattern} finds several adapters called {same[0]}. Measure them one by one.")
    return dict(zip(names, adapters, strict=True))


def with_adapter(settings: Settings, adapter: Path) -> Settings:
    """These settings with another adapter."""
    return replace(settings, adapter=str(adapter), adapter_hash=None)


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts numbers in a text by what they are worth."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", text)]
