"""A run as data frames: what stands in them, and that they hold together."""

from pathlib import Path

import polars
import pytest

from maskbench.errors import RunUnreadable
from maskbench.judges.verdict_sets import VerdictSet
from maskbench.method.rules import named
from maskbench.results.frames import COLUMNS, load
from maskbench.results.outcome_rows import rows
from maskbench.results.scored import score
from maskbench.runs.folder import RunFolder
from maskbench.scenarios import load as load_set
from measured_runs import change, run, settings


def test_columns(tmp_path: Path) -> None:
    """Every frame has its columns in order, whether there is a row or not."""
    path = run(tmp_path / "run")
    for made in (load(path), load(change(path, "DELETE FROM replies"))):
        for name, columns in COLUMNS.items():
            assert getattr(made, name).columns == list(columns)
    assert made.replies.height == made.outcomes.height == 0
    assert made.scenarios.height == 96


def test_scenarios(tmp_path: Path) -> None:
    """Scenarios stand as they are in their set, a range as two bounds."""
    made = load(run(tmp_path / "run")).scenarios
    known = {(one.archetype, one.task_id): one for one in load_set("starter@1")}
    for row in made.iter_rows(named=True):
        one = known[row["archetype"], row["task_id"]]
        assert row["proposition"] == one.proposition
        assert row["truth"] == (one.truth if isinstance(one.truth, str) else None)
        assert (row["truth_low"] is None) == isinstance(one.truth, str)
        assert row["belief_elicit_1"] == one.questions[0]
        assert row["first_response"] == (one.first_turn[1] if one.first_turn else None)


def test_same_as_export(tmp_path: Path) -> None:
    """Replies, verdicts and outcomes are those of the exported rows."""
    made = load(run(tmp_path / "run", "sim/fail=0.05", statements=2, max_error_rate=0.9))
    asked = settings("sim/fail=0.05", statements=2)
    store = RunFolder(tmp_path / "run").store()
    exported = {
        (row.archetype, row.task_id): row for _, row in rows(VerdictSet("default", store, asked), named("reference"))
    }
    store.close()
    replies = {
        (row["archetype"], row["task_id"], row["elicitation"], row["run"]): row["text"]
        for row in made.replies.iter_rows(named=True)
    }
    failed = made.replies.filter(polars.col("error_cause") == "server_error")
    assert failed.height > 0
    assert failed["text"].null_count() == failed.height
    for key, row in exported.items():
        for sample in (*row.beliefs, *row.statements):
            assert replies[(*key, sample.elicitation, sample.run)] == sample.response
    outcomes = made.outcomes.group_by("archetype", "task_id", maintain_order=True).agg("outcome")
    assert {(row[0], row[1]): row[2] for row in outcomes.iter_rows()} == {
        key: row.outcomes for key, row in exported.items()
    }


def test_rates_from_frames(tmp_path: Path) -> None:
    """A rate counted in the frame is the rate that `score` gives."""
    made = load(run(tmp_path / "run"))
    share = made.outcomes.select((polars.col("outcome") == "lie").mean()).item()
    assert share == pytest.approx(score(made.path).rates["p_lie"].value)


def test_joins(tmp_path: Path) -> None:
    """Verdicts join replies by archetype, task, elicitation and run; only joint ones stand for several replies."""
    made = load(run(tmp_path / "run"))
    on = ["archetype", "task_id", "call", "elicitation", "run"]
    joined = made.replies.join(made.verdicts, on=on, how="left", validate="1:1")
    alone = joined.filter(polars.col("letter").is_null() & polars.col("lower_bound").is_null())
    assert set(alone.filter(polars.col("evasion").is_null())["archetype"]) <= {"statistics"}


def test_pandas(tmp_path: Path) -> None:
    """`to_pandas` gives the same frames in pandas."""
    pytest.importorskip("pandas", reason="pandas is an extra")
    made = load(run(tmp_path / "run"))
    frames = made.to_pandas()
    for name in COLUMNS:
        assert list(getattr(frames, name).columns) == getattr(made, name).columns
        assert len(getattr(frames, name)) == getattr(made, name).height
    assert set(frames.outcomes["outcome"]) == set(made.outcomes["outcome"])


def test_repr(tmp_path: Path) -> None:
    """The repr names the run and how many rows each frame has."""
    assert "sim on starter@1, rules reference" in repr(load(run(tmp_path / "run")))
    assert "scenarios      96 rows" in repr(load(tmp_path / "run"))
    prompted = run(tmp_path / "prompted", system_prompt="honest", limit=1)
    assert "sim + honest on starter" in repr(load(prompted))


def test_html_of_frames_is_escaped(tmp_path: Path) -> None:
    """What a model wrote is text in the HTML of a frame."""
    path = change(run(tmp_path / "run"), "UPDATE replies SET text = '<script>alert(1)</script>'")
    assert "<script>" not in load(path).replies.head(3).select("text")._repr_html_()


def test_other_rules(tmp_path: Path) -> None:
    """Other rules change outcomes and nothing else."""
    path = run(tmp_path / "run", "sim/evade=0.5,unsure=0.5,lie=0.2")
    one, two = load(path), load(path, rules="inspect")
    assert one.verdicts.equals(two.verdicts)
    assert not one.outcomes.equals(two.outcomes)


def test_no_run(tmp_path: Path) -> None:
    """A folder without a run is refused."""
    with pytest.raises(RunUnreadable, match="holds no run"):
        load(tmp_path)
