"""An exam is a run folder: other commands refuse it, `score` prints its marks, and it goes on from where it stands."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import orjson
import pytest

import batch_server
from flows import command, typed
from maskbench.asking.judging.sitting import exam_settings, examine
from maskbench.scenarios.exam.papers import paper_for
from maskbench.store.folder import DATABASE, LOG, RECORD, ExamFolder

pytestmark = pytest.mark.slow

JUDGE = "sim-judge/accuracy=0.8,unreadable=0.01"


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exam of a simulated judge, sat twice."""
    out = tmp_path_factory.mktemp("sat") / "exam"
    assert typed("exam", JUDGE, "--repeat", "2", "--out", out).code == 3
    return out


def test_it_is_a_run_folder(exam: Path) -> None:
    """Record, database and log are called as a run's, and each repetition is a verdict set with its sessions."""
    assert {RECORD, DATABASE, LOG} <= {path.name for path in exam.iterdir()}
    record = ExamFolder(exam).read()
    assert (record.scenarios.name, record.scenarios.hash) == ("simulated", paper_for(JUDGE).hash)
    assert [len(each.sessions) for each in (record, record.verdict_sets["repetition-2"])] == [1, 1]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--out", "EXAM"),
        ("run", "sim", "--out", "EXAM"),
        ("judge", "EXAM", "--judge", "sim-judge"),
        ("judge", "EXAM", "--judge", "sim-judge", "--dry-run"),
        ("judge", "EXAM", "--list"),
        ("compare", "EXAM", "OTHER"),
        ("check", "EXAM", "--max-lie", "0.5"),
        ("leaderboard", "EXAM"),
        ("export", "EXAM", "--format", "jsonl"),
        ("export", "EXAM", "--format", "run", "--out", "OTHER"),
        ("export", "EXAM", "--format", "markdown"),
        ("report", "EXAM"),
        ("label", "EXAM", "--show"),
    ],
    ids=" ".join,
)
def test_other_commands_say_what_it_is(exam: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """What is about a run of a model refuses an exam in one sentence, which names what prints its marks."""
    places = {"EXAM": exam, "OTHER": tmp_path / "other"}
    ended = typed(*(places.get(word, word) for word in words))
    assert ended.code == 2, ended
    said = " ".join(ended.err.split())
    assert f"{exam} holds the exam of a judge ({JUDGE}), and no run of a model: `maskbench score {exam}` prints" in said


def test_score_prints_the_marks(exam: Path) -> None:
    """Of all repetitions, as `exam` prints them and with its exit code; parts and figures of a run it has none."""
    printed, again = typed("exam", JUDGE, "--repeat", "2", "--out", exam), typed("score", exam)
    marks = again.out.partition("\n  cost ")[0]
    assert (again.code, marks) == (3, printed.out.partition("\n  cost ")[0])
    assert "repeated" in again.out
    refused = typed("score", exam, "--rules", "reference")
    assert (refused.code, "of which the marks are printed. Leave --rules out" in refused.err) == (2, True)


def test_it_goes_on_where_it_was_killed_before_its_replies_were_in(tmp_path: Path) -> None:
    """A folder whose record is there and whose replies are not gets them, and no verdict twice."""
    settings, out = exam_settings("sim-judge"), tmp_path / "exam"
    first = examine(settings, out)
    with closing(sqlite3.connect(out / DATABASE)) as database, database:
        database.execute("DELETE FROM replies WHERE task_id LIKE '%-0-%'")
    again = examine(settings, out)
    assert (again.score, again.usage.answers) == (first.score, first.usage.answers)
    with closing(ExamFolder(out).store()) as store:
        assert store.usage("default")["subject"]["answers"] == sum(
            len(question.replies) for question in again.paper.questions
        )


def test_an_exam_without_an_answer_has_no_marks(tmp_path: Path) -> None:
    """Where it was killed before the first one came, `score` says that nothing is there so far."""
    examine(exam_settings("sim-judge"), tmp_path / "exam")
    with closing(sqlite3.connect(tmp_path / "exam" / DATABASE)) as database, database:
        database.execute("DELETE FROM judged")
    refused = typed("score", tmp_path / "exam")
    assert (refused.code, "holds an exam without an answer so far" in refused.err) == (2, True)


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_it_goes_out_in_batches(service: str, tmp_path: Path) -> None:
    """`--batch judge` gives the marks that are given live, from few live requests."""
    marks, live = {}, Counter[str]()
    with batch_server.serving() as server:
        for how in (("--batch", "judge"), ()):
            name, before = " ".join(how), len(server.live)
            words = ("exam", f"{service}/judge", "--short", *how, "--out", tmp_path / f"exam {name}", "--json")
            ended = command(*words, env=batch_server.environ(server))
            assert ended.code == 3, ended.err
            marks[name], live[name] = orjson.loads(ended.out), len(server.live) - before
    batched, alone = marks["--batch judge"], marks[""]
    assert batched["overall"] == alone["overall"]
    assert batched["answers"] == alone["answers"]
    assert live["--batch judge"] < 10 < 500 < live[""]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
def test_a_stage_is_sent_in_a_batch_once_it_is_due(tmp_path: Path) -> None:
    """With `--stop-early` a lost exam leaves the later stages unasked."""
    with batch_server.serving() as server:
        words = ("exam", "openai/judge", "--short", "--batch", "judge", "--stop-early", "--out", tmp_path / "exam")
        ended = command(*words, "--json", env=batch_server.environ(server))
        assert (ended.code, len(server.live) < 10) == (3, True), ended.err
    assert 0 < orjson.loads(ended.out)["unasked"] < 592


def test_batches_of_a_subject_are_refused(tmp_path: Path) -> None:
    """An exam has none, and a judge without a batch service has no batches."""
    for how, said in (("both", "no subject is asked here"), ("judge", "maskbench knows no batch interface")):
        refused = typed("exam", "sim-judge", "--batch", how, "--out", tmp_path / "exam")
        assert (refused.code, said in refused.err) == (2, True)
    assert not (tmp_path / "exam").exists()
