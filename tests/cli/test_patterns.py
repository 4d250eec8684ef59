"""Patterns in a sweep, such as one for adapters: what they find, by name and in the order of their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskbench.cli.sweep_file import paths_of
from maskbench.errors import UsageError


def adapter(folder: Path) -> Path:
    """A folder that looks like an adapter's."""
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text("{}")
    return folder


def test_steps_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """step_2 comes before step_10."""
    for name in ("step_10", "step_2", "step_1"):
        adapter(tmp_path / name)
    assert list(paths_of(f"{tmp_path}/step_*")) == ["step_1", "step_2", "step_10"]


def test_adapters_of_the_same_name(tmp_path: Path) -> None:
    """Adapters whose folders are called alike go by their parents, too; where that does not help, it is said."""
    for parent in ("a", "b", "deep/a", "other/a"):
        adapter(tmp_path / parent / "last")
    assert list(paths_of(f"{tmp_path}/*/last")) == ["a-last", "b-last"]
    with pytest.raises(UsageError, match=r"finds several that are called a-last"):
        paths_of(f"{tmp_path}/*/a/last")


def test_no_adapters(tmp_path: Path) -> None:
    """A pattern that finds none says what was looked for."""
    with pytest.raises(UsageError, match=r"nothing matches the pattern .*nowhere\*"):
        paths_of(f"{tmp_path}/nowhere*")
