"""What a judge hears of replies with marks of chat templates, and what is kept of them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from flows import Recorder, let_flow, says, scenario, scenarios, settings, stored, verdict_a
from maskbench.method.forms.case import replies_in
from maskbench.results.people.label_units import parts_to_label
from maskbench.store.heard import Marks, heard
from maskbench.store.store import MARKS, Store
from maskbench.types import Ask, Failure, Judgement, Reply

RUNS_ON = "It floats.<|im_end|>\n<|im_start|>user\nReally?<|im_end|>\n<|im_start|>assistant\nNo, it sinks."
THOUGHT, ANSWER = "It is copper, and they want iron.", "It is iron."
Says = Callable[[Ask, int], str]


def heard_in(path: Path, subject: Says, measured: int = 2) -> list[str]:
    """The replies that a judge was shown in a flow with this subject."""
    judge = Recorder(verdict_a)
    let_flow(path, scenarios(measured, ["known_facts"]), subject, judge)
    return [reply for ask, _ in judge.asks for reply in replies_in(ask)]


def texts(path: Path) -> set[str]:
    """The replies as they are stored, to the byte."""
    with closing(Store(path)) as store:
        return {text for (text,) in store._rows("SELECT text FROM replies")}


def marks(path: Path) -> Marks:
    """How replies are read."""
    with closing(Store(path)) as store:
        return store.marks


def thinks(ask: Ask, run: int) -> str:
    """A subject whose template opens its reasoning."""
    return f" {THOUGHT}\n</think>\n\n{ANSWER} {ask.elicitation}.{run} "


def sometimes(ask: Ask, run: int) -> str:
    """A subject one of whose statements holds a closing mark."""
    return thinks(ask, run) if ask.scenario.task_id.endswith("1") and not ask.elicitation else says(ask, run)


# Control marks


def test_what_stands_behind_a_control_mark_is_kept_and_shown_to_no_judge(tmp_path: Path) -> None:
    """A model that talks on in both roles is judged by what it said before that, and its reply is stored whole."""
    shown_ = heard_in(tmp_path / "db", lambda ask, run: RUNS_ON)
    assert set(shown_) == {"It floats."}
    assert texts(tmp_path / "db") == {RUNS_ON}
    assert {item.reply.text for item in stored(tmp_path / "db", scenario()).values() if isinstance(item.reply, Reply)}
    (note,) = marks(tmp_path / "db").notes()
    assert note.startswith("12 of 12 replies hold a control mark of a chat template")


def test_people_label_what_the_judge_was_shown(tmp_path: Path) -> None:
    """A label is on the text up to the control mark."""
    let_flow(tmp_path / "db", [scenario()], lambda ask, run: RUNS_ON)
    parts = parts_to_label(scenario(), list(stored(tmp_path / "db", scenario()).values()), settings(), "salt")
    assert {reply for part in parts for reply in part.replies} == {"It floats."}


def test_a_reply_of_which_a_control_mark_leaves_nothing_is_a_failure(tmp_path: Path) -> None:
    """It is an empty reply, which no judge is shown, and no verdict; what came is kept."""
    assert heard_in(tmp_path / "db", lambda ask, run: "\n<|im_end|>more", measured=1) == []
    assert texts(tmp_path / "db") == {"\n<|im_end|>more"}
    for item in stored(tmp_path / "db", scenario()).values():
        assert isinstance(item.reply, Failure)
        assert item.reply.cause == "empty"


@pytest.mark.parametrize("text", ["It floats.", "a < b [1]", "`<|im_end|>` ends a turn, “<|eot_id|>” does, too."])
def test_a_reply_without_such_marks_is_shown_as_it_is(text: str) -> None:
    """It is the very same value, so that the key of its verdict stays."""
    reply = Reply(text, "Hm.")
    assert heard(reply, opens=True) is reply


# A closing mark that nothing opens


def test_where_all_replies_have_a_lone_closing_mark_it_ends_reasoning(tmp_path: Path) -> None:
    """What stands before it is reasoning, which no judge is shown; each reply is judged once and stored as it came."""
    shown_ = heard_in(tmp_path / "db", thinks)
    assert all(reply.startswith(ANSWER) for reply in shown_)
    assert len(shown_) == 12
    assert all(text.startswith(f" {THOUGHT}\n</think>\n\n") and text.endswith(" ") for text in texts(tmp_path / "db"))
    for item in stored(tmp_path / "db", scenario()).values():
        assert isinstance(item.reply, Reply)
        assert item.reply.reasoning == THOUGHT
        assert isinstance(item.judgement, Judgement)
    assert marks(tmp_path / "db").notes() == []


def test_where_few_replies_have_one_it_is_text(tmp_path: Path) -> None:
    """The judge is shown the whole reply, anew where it had been shown a part, and the run says so."""
    shown_ = heard_in(tmp_path / "db", sometimes)
    about = [reply for reply in shown_ if ANSWER in reply]
    assert about[-1] == thinks(Ask((), scenario(), "statement", 0), 1)
    assert len(shown_) == 13  # that one twice
    item = stored(tmp_path / "db", scenario())[0, 1]
    assert isinstance(item.reply, Reply)
    assert (item.reply.text, item.reply.reasoning) == (about[-1], None)
    assert isinstance(item.judgement, Judgement)
    (note,) = marks(tmp_path / "db").notes()
    assert note.startswith("1 of 12 replies have a closing mark of reasoning, such as `</think>`, that nothing opens.")
    assert heard_in(tmp_path / "db", sometimes) == []  # all of it is done


def test_a_run_that_was_killed_before_it_could_decide_decides_when_it_goes_on(tmp_path: Path) -> None:
    """No verdict stays on a text that the judge is not shown by the decision."""
    heard_in(tmp_path / "db", sometimes)
    with closing(Store(tmp_path / "db", write=True)) as store:
        store.remember(MARKS, {"opens": True, "stays": False, "replies": 0, "lone": 0, "ended": 0})
    with closing(Store(tmp_path / "db", write=True)) as store:
        assert not store.marks.opens
        assert len(store.samples(scenario()).judgements("default")) == 0
    assert heard_in(tmp_path / "db", sometimes) == []  # every verdict is there under its key


@pytest.mark.parametrize(
    ("lone", "replies", "opens"),
    [(0, 0, True), (1, 1, True), (9, 10, True), (8, 9, False), (89, 100, False), (0, 5, False)],
)
def test_nine_of_ten_replies_decide(lone: int, replies: int, opens: bool) -> None:
    """Where fewer have exactly one closing mark, it is text; without a reply it is taken for the template's."""
    assert Marks().with_counts(replies, lone, 0).opens == opens


def test_a_set_that_others_have_judged_stays_as_they_were_shown_it(tmp_path: Path) -> None:
    """Nobody can ask them again, so that replies are read whole for ever."""
    let_flow(tmp_path / "db", [scenario()], thinks)
    with closing(Store(tmp_path / "db", write=True)) as store:
        store.settle(as_judged=True)
    with closing(Store(tmp_path / "db", write=True)) as store:
        assert store.settle() == 0
        assert (store.marks.opens, store.marks.stays) == (False, True)
        assert len(store.samples(scenario()).judgements("default")) > 0
        (note,) = store.marks.notes()
        assert "They are read whole, as they were when their verdicts were given." in note


@pytest.mark.parametrize(("by_sessions", "opens", "verdicts"), [(True, True, 0), (False, False, 6)])
def test_a_run_of_before_is_read_as_it_was(tmp_path: Path, by_sessions: bool, opens: bool, verdicts: int) -> None:
    """Its sessions had parted the text, so what goes on with it does; where others judged it, it stays whole.

    Verdicts on what stands behind a control mark are asked for anew where somebody can be asked.
    """
    let_flow(tmp_path / "db", [scenario()], lambda ask, run: RUNS_ON)
    with closing(sqlite3.connect(tmp_path / "db")) as db, db:
        db.execute("DELETE FROM facts WHERE name = ?", (MARKS,))
        db.execute("UPDATE replies SET session = ?", (1 if by_sessions else None,))
    with closing(Store(tmp_path / "db")) as store:
        assert len(store.samples(scenario()).judgements("default")) == 6  # to read it changes nothing
    with closing(Store(tmp_path / "db", write=True)) as store:
        assert (store.marks.opens, store.marks.stays) == (opens, True)
        assert len(store.samples(scenario()).judgements("default")) == verdicts
