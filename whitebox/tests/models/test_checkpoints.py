"""Adapters of a folder in a sweep: a run each, in the order of their steps, and the curve over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows import typed
from maskbench.errors import UsageError
from maskbench.models.pinocchio.network import packaged
from maskbench.store.folder import RunFolder
from maskbench_whitebox.models.steering import layer_numbers
from tiny_models import rewrite, tiny_adapter

pytestmark = pytest.mark.slow


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
