"""Adapters of a folder in a sweep: a run each, in the order of their steps, and the curve over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows import typed
from maskbench.cli.sweep_file import paths_of
from maskbench.errors import UsageError
from maskbench.models.hf.steering import layer_numbers
from maskbench.pinocchio.network import packaged
from maskbench.runs.folder import RunFolder
from tiny_models import rewrite, tiny_adapter

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("text", "layers"),
    [("3", (3,)), ("10,12-14", (10, 12, 13, 14)), ("2, 1", (1, 2)), ("5-6,5", (5, 6))],
)
def test_lists_of_layers(text: str, layers: tuple[int, ...]) -> None:
    """Numbers and ranges, in any order, each once."""
    assert layer_numbers(text) == layers


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "4-2", "1,,2", "1-2-3", "1.5", "99999"])
def test_no_lists_of_layers(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="-M layers"):
        layer_numbers(text)


def test_the_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two adapters make two runs and a table of both, and the command again asks nothing."""
    for step, scale in ((1, 0.0), (20, 0.2)):
        adapter = tiny_adapter(tmp_path / "made" / f"step_{step}", packaged(), scale=scale)
        rewrite(adapter / "adapter_config.json", base_model_name_or_path="pinocchio")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "s.toml").write_text(
        'checkpoints = "model.adapter"\nout = "runs"\n[every]\nsample = 12\nmax-tokens = 20\nmax-error-rate = 1\n'
        '[every.model]\nname = "hf/pinocchio"\n[product.model]\nadapter = "made/step_*"\n'
    )
    ended, again = typed("sweep", "s.toml"), typed("sweep", "s.toml")
    assert ended.code == 0, ended.err
    assert "hf/pinocchio + step_1 and what came after" in ended.out
    curve = ended.out.partition("and what came after")[2].partition("\n(")[0]
    rows = [line.split() for line in curve.splitlines() if line.startswith("step_")]
    assert [row[0] for row in rows] == ["step_1", "step_20", "step_20"]
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert RunFolder(tmp_path / "runs" / "step_20").settings().subject.options == {"adapter": "made/step_20"}
    assert again.out == ended.out
    assert ended.err.count("Loading hf/pinocchio.") == 1  # the model stays for the second run
    assert "Loading" not in again.err
