"""Labels of runs: two checkpoints that are served under one name are two models everywhere."""

from pathlib import Path

import pytest

from flows import scenario, typed
from maskbench.asking.options import check
from maskbench.errors import UsageError
from maskbench.method.asks import subject_asks
from maskbench.presentation.of_one_run import result as shown_of
from maskbench.presentation.terminal import text
from maskbench.results.leaderboard import boards
from maskbench.results.scored import score
from maskbench.settings import protocol_id, reply_key
from maskbench.types import Ask
from measured_runs import EVERYDAY, run, settings
from scored_runs import SETTINGS


def test_a_label_names_the_run_everywhere(tmp_path: Path) -> None:
    """Its name stands in the result, the board and the comparison, and two labels are two models."""
    first, second = (run(tmp_path / name, run_label=name) for name in ("ckpt-1", "ckpt-2"))
    assert "sim (ckpt-1) on " in text(shown_of(score(first).summary), 100)
    (board,) = boards([score(first), score(second)])
    assert sorted(row.name for row in board.rows) == ["sim (ckpt-1)", "sim (ckpt-2)"]
    assert "sim (ckpt-2) against sim (ckpt-1)" in typed("compare", first, second).out


def test_a_label_changes_nothing_that_is_asked() -> None:
    """Protocol id and storage keys are those of a run without one."""
    labelled = settings("sim", run_label="a")
    assert protocol_id(labelled, "x") == protocol_id(settings("sim"), "x")
    ask = belief_ask()
    assert reply_key(labelled, ask, 1) == reply_key(settings("sim"), ask, 1)


def belief_ask() -> Ask:
    """The direct belief question of a scenario."""
    return next(iter(subject_asks(scenario(), settings("sim"))))


def test_a_run_keeps_its_label(tmp_path: Path) -> None:
    """Going on under another label is refused, by the option's name; an empty or a long label too."""
    path = run(tmp_path / "run", run_label="a")
    ended = typed("run", "sim", "--label", "b", "--scenarios", EVERYDAY, "--out", path)
    assert ended.code == 2
    assert "holds a run with --label a, and this one asks for b" in ended.err
    for label in ("", " \u200b", "x" * 61):
        with pytest.raises(UsageError, match="--label: give a short text"):
            check(settings("sim", run_label=label))
    check(SETTINGS)
