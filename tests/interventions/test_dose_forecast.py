"""What a dose curve would take, against the runs that it then has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_dose import measured, plan

from flows import command
from maskbench.interventions.dose.plan import forecast
from maskbench.runs.folder import RunFolder
from measured_runs import settings


@pytest.mark.parametrize("drawn", [{"limit": 12}, {"archetypes": ("statistics",)}], ids=["limited", "whole"])
def test_the_runs_and_calls_are_those_that_a_curve_has(drawn: dict[str, object], tmp_path: Path) -> None:
    """Every run is counted, and the replies of all of them lie in the range, to a tenth where a split is drawn."""
    wanted = plan(base=settings("sim", statements=2, **drawn))
    runs, loads = forecast(wanted, {})
    measured(wanted, tmp_path / "d")
    folders = [RunFolder(path.parent) for path in (tmp_path / "d").rglob("run.json")]
    assert len(folders) == runs
    replies = 0
    for folder in folders:
        store = folder.store()
        replies += store.usage("default")["subject"]["answers"]
        store.close()
    least, most = loads["subject", "sim"].calls
    assert 0.9 * least <= replies <= 1.1 * most


def test_the_command_has_the_money_of_all_runs() -> None:
    """`dose --dry-run` prints how many runs there are and what they cost, writes no folder, and has it as JSON."""
    words = [
        "intervene",
        "dose",
        "openai/gpt-4o",
        "--judge",
        "openai/gpt-4o-mini",
        "--scenarios",
        "starter",
        "--limit",
        "6",
    ]
    words += ["--prompts", "honest,placebo", "--out", "nowhere/doses", "--dry-run"]
    shown = command(*words, env={"OPENAI_API_KEY": "k"})
    assert "6 runs, with " in shown.out, shown.err
    assert "In all $" in shown.out
    assert not Path("nowhere").exists()
    plain = json.loads(command(*words, "--json", env={"OPENAI_API_KEY": "k"}).out)
    assert plain["runs"] == 6
    assert plain["estimate"]["cost"][0] > 0
