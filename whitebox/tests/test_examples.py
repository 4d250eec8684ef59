"""The examples of the white box are files that their commands take."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calls import typed as whitebox
from flows import typed
from maskbench_whitebox.models.vectors import load_vectors

EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = pytest.mark.slow


def test_a_dose_is_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five strengths, the negated direction, a random one of the same lengths, a prompt, and nothing: nine runs."""
    for name in ("strengths.toml", "random_direction.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert whitebox("steer", "pinocchio", "--out", "vector.safetensors", "--threads", "1").code == 0
    made = [sys.executable, "random_direction.py", "vector.safetensors", "random.safetensors"]
    subprocess.run(made, check=True)
    found, other = (load_vectors(tmp_path / f"{name}.safetensors") for name in ("vector", "random"))
    assert found.norms() == pytest.approx(other.norms(), rel=1e-4)
    assert found.content_hash != other.content_hash
    plan = typed("sweep", "strengths.toml", "--dry-run", "--json")
    assert plan.code == 0, plan.err
    assert list(json.loads(plan.out)["runs"]) == [
        *("plain", "by-1", "by-2", "by-3", "by-4", "by-5", "negated", "random", "prompt")
    ]
