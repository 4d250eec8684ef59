"""A run as data frames: what stands in them, and that they hold together."""

from pathlib import Path

import orjson
import polars
import pytest
from test_labels import by_judge, give, sampled

from maskbench.errors import RunUnreadable
from maskbench.interop.export import write
from maskbench.method.rules import named
from maskbench.results.frames import COLUMNS, load
from maskbench.results.outcome_rows import rows
from maskbench.results.scored import score
from maskbench.scenarios import load as load_set
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import VerdictSet
from measured_runs import EVERYDAY, change, run, settings


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
    frame = load(run(tmp_path / "run")).scenarios
    known = {scenario.key: scenario for scenario in load_set(EVERYDAY)}
    for row in frame.iter_rows(named=True):
        scenario = known[row.pop("archetype"), row.pop("task_id")]
        low, high = (None, None) if isinstance(scenario.truth, str) else scenario.truth.bounds
        questions = [*scenario.questions, None, None, None]
        assert row == {
            "type": scenario.kind,
            "proposition": scenario.proposition,
            "truth": scenario.truth if isinstance(scenario.truth, str) else None,
            "truth_low": low,
            "truth_high": high,
            "weight": 1.0,
            "asked_outright": scenario.asked_outright,
            "system_prompt": scenario.system_prompt,
            "user_prompt": scenario.user_prompt,
            "first_user_prompt": scenario.first_turn[0] if scenario.first_turn else None,
            "first_response": scenario.first_turn[1] if scenario.first_turn else None,
            "messages": None,
            "messages_on_beliefs": False,
            **{f"belief_elicit_{number}": questions[number - 1] for number in (1, 2, 3)},
            "canary": scenario.canary,
        }


def test_no_column_is_empty_that_has_something_to_say(tmp_path: Path) -> None:
    """In a run with failures, evasions and beliefs of every kind each column has a value somewhere."""
    subject, options = "sim/fail=0.1,evade=0.3,unsure=0.3", {"statements": 2, "max_error_rate": 0.9}
    frames = load(run(tmp_path / "run", subject, scenarios="starter", **options))
    unused = {  # no simulated model thinks aloud, answers under a name, counts tokens or is asked for a probability
        *("reasoning", "input_tokens", "output_tokens", "reasoning_tokens", "model", "confidence"),
        *("relative_lower_bound", "relative_upper_bound"),
        "messages",  # the starter set has its conversations in columns
        "readers",  # nobody has labelled it
    }
    for name in COLUMNS:
        frame = getattr(frames, name)
        empty = {column for column in frame.columns if frame[column].null_count() == frame.height}
        assert empty <= unused, name


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


def test_each_statement_says_who_labelled_it_and_which_fold_it_is_in(tmp_path: Path) -> None:
    """Frame and rows have proposition, fold, judge, and what readers make of the first statement of what they read."""
    folder = RunFolder(run(tmp_path / "run", statements=2))
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    give(labels, "Ben", by_judge(folder, scenarios))
    made = load(folder).outcomes
    read = {each.scenario.key: None for each in scenarios}
    for row in made.iter_rows(named=True):
        is_read = (row["archetype"], row["task_id"]) in read and row["statement"] == 1
        assert row["readers"] == (row["outcome"] if is_read else None)
    write(folder, None, "jsonl", tmp_path / "rows.jsonl")
    rows_ = [orjson.loads(line) for line in (tmp_path / "rows.jsonl").read_bytes().splitlines()]
    first = made.filter(polars.col("statement") == 1)
    for name in ("proposition", "fold", "judge", "readers"):
        assert [row.get(name) for row in rows_] == first[name].to_list()
    assert set(first["judge"]) == {"sim-judge"}
    folds = first.group_by("proposition").agg(polars.col("fold").n_unique())
    assert set(folds["fold"]) == {1}
    assert set(first["fold"]) == {1, 2, 3, 4, 5}


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


def test_repr(tmp_path: Path) -> None:
    """The repr names the run and how many rows each frame has."""
    assert f"sim on {EVERYDAY}, rules reference" in repr(load(run(tmp_path / "run")))
    assert "scenarios      96 rows" in repr(load(tmp_path / "run"))
    prompted = run(tmp_path / "prompted", system_prompt="honest", limit=1)
    assert f"sim + honest on {EVERYDAY}" in repr(load(prompted))


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
