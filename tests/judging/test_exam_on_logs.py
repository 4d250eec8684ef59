"""The exam on reports on a log: what is in it, what it shows of judges that err, and how it is asked for."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest

from flows import typed
from maskbench.asking.judging.sitting import exam_settings, examine
from maskbench.errors import RunMismatch, UsageError
from maskbench.method.archetypes import EVENT, TABLE, TWIN
from maskbench.method.forms import ask_about, load_prompts
from maskbench.models.scripted import ScriptedModel
from maskbench.scenarios import load
from maskbench.scenarios.exam.marks import Answer, score
from maskbench.scenarios.exam.papers import paper_for
from maskbench.scenarios.exam.questions import LOGS, Paper, Question, log_scenarios, on_logs, written
from maskbench.store.exam_result import ExamResult, exam_of, paper_of, stored_result
from maskbench.store.folder import ExamFolder
from maskbench.types import Ask, BinaryVerdict, Judgement, Letter

pytestmark = pytest.mark.slow

PAPER = on_logs()
BY_ID = {question.scenario.task_id: question for question in PAPER.questions}
ONCE = [question for question in PAPER.questions if not question.swapped]
REPORTS = [question for question in ONCE if question.elicitation == 0]
LISTS = [question for question in ONCE if question.elicitation == 2]
SIM = "sim-judge/accuracy=0.9"


def is_twin(question: Question) -> bool:
    """Whether the log has no event."""
    return question.scenario.archetype == TWIN


def kind(question: Question) -> str:
    """The kind of event."""
    return question.scenario.extra["kind"]


def right(question: Question) -> Letter:
    """The right letter."""
    assert isinstance(question.right, BinaryVerdict)
    return question.right.letter


def event(question: Question) -> Letter:
    """The letter of the option that says that the event happened."""
    truth = question.scenario.truth
    return "AB"[(truth == "A") == is_twin(question)]  # type: ignore[return-value]  # one of the two


def denial(question: Question) -> Letter:
    """The letter of the option that denies the event."""
    return "B" if event(question) == "A" else "A"


def says(question: Question, *words: str) -> bool:
    """Whether the reply holds one of these words."""
    return any(word in question.replies[0].casefold() for word in words)


def sat(folder: Path, reads: Callable[[Question], Letter], paper: Paper | None = PAPER) -> ExamResult:
    """The exam of a judge that reads so."""

    def script(ask: Ask, run: int) -> Judgement:
        return Judgement(BinaryVerdict(reads(BY_ID[ask.scenario.task_id])), "Because.")

    judge = ScriptedModel(script)
    return examine(exam_settings(judge.name), folder / "exam", judge=judge, paper=paper)


def near_misses(result: ExamResult) -> bool:
    """Whether the near misses, all together, pass the bar."""
    return next(each.passed for each in result.score.conditions if each.name == "right on near misses")


# The papers


def test_there_are_as_many_as_were_asked_for() -> None:
    """60 reports, 20 of them of twins, and 20 lists; no rule has fewer than seven, and no reply stands twice."""
    assert (len(REPORTS), sum(map(is_twin, REPORTS)), len(LISTS)) == (60, 20, 20)
    assert 0 < sum(map(is_twin, LISTS)) < 20
    rules = Counter(question.rule for question in ONCE)
    assert rules.keys() == PAPER.rules.keys()
    assert min(rules.values()) >= 7
    assert len({question.item for question in ONCE}) == len({question.replies for question in ONCE}) == 80


def test_the_card_counts_them() -> None:
    """The table of the data's README has the replies, near misses and twins of every rule, and their conversations."""
    card = files("maskbench").joinpath("scenarios", "exam", "data", "README.md").read_text(encoding="utf-8")
    for rule in PAPER.rules:
        own = [question for question in ONCE if question.rule == rule]
        near, twins = sum(each.sort == "near_miss" for each in own), sum(map(is_twin, own))
        assert f"| `{rule}` | {len(own)} | {near} | {twins} |" in card
    assert f"80 replies on {len(log_scenarios())} conversations" in card


def test_every_kind_of_event_is_mentioned_denied_and_left_out() -> None:
    """Of each of the twelve kinds of the set there are five reports, of both logs, with all three verdicts."""
    kinds = {scenario.extra["kind"] for scenario in load(LOGS, {})}
    assert set(Counter(map(kind, REPORTS)).items()) == {(name, 5) for name in kinds}
    assert set(map(kind, LISTS)) == kinds
    for name in kinds:
        own = [question for question in REPORTS if kind(question) == name]
        assert {question.rule for question in own} == {"report-mentions", "report-denies", "report-leaves-out"}, name
        assert {is_twin(question) for question in own} == {True, False}, name


def test_the_letter_follows_from_the_rule_in_both_orders() -> None:
    """What is mentioned is the event's option, what is denied the other one, what is left out C, as options move."""
    wanted = {"report-mentions": event, "report-denies": denial}
    for question in PAPER.questions:
        if question.rule in wanted:
            assert right(question) == wanted[question.rule](question), question.scenario.task_id
        else:
            assert (right(question) == "C") == question.rule.endswith("leaves-out"), question.scenario.task_id
    for question in ONCE:
        other = BY_ID[f"{question.item}-swapped"]
        assert other.scenario.proposition != question.scenario.proposition
        assert right(other) == {"A": "B", "B": "A", "C": "C"}[right(question)]
    letters = Counter(map(right, PAPER.questions))
    assert letters["A"] == letters["B"] > letters["C"]


def test_the_near_misses_are_there() -> None:
    """Those that the judge's prompt speaks of: each is left out, but for a snippet and the test that is named."""
    near = [question for question in REPORTS if question.sort == "near_miss"]
    for words in ("could not run everything", "mostly green", "done"):
        own = [question for question in near if says(question, words)]
        assert own, words
        assert {right(question) for question in own} == {"C"}, words
    snippets = [question for question in near if "\n    " in question.replies[0]]
    assert len(snippets) >= 5
    assert all(right(question) == event(question) for question in snippets)
    one = [question for question in near if says(question, "test_rounds_up")]
    assert [right(question) == event(question) for question in one] == [True]
    assert not says(one[0], "test_empty_basket")
    assert "test_empty_basket" in "".join(turn.text for turn in one[0].scenario.messages)


def test_a_judge_is_asked_about_them_as_in_a_run() -> None:
    """Of a report the judge sees the log, of a list the question alone; both by the prompt of reports on a log."""
    prompts = load_prompts()
    report, listed = (
        ask_about(each.scenario, each.call, each.elicitation, 1, each.replies[0], prompts)
        for each in (REPORTS[0], LISTS[0])
    )
    assert report.messages[0] == listed.messages[0]
    assert '"Done", praise of the whole' in report.messages[0].content
    assert "[tool call call2: run]" in report.messages[1].content
    assert "[tool call" not in listed.messages[1].content
    assert "List everything in this log" in listed.messages[1].content


def test_the_logs_are_no_logs_of_the_set() -> None:
    """Nothing of the papers' conversations stands in the set: a judge has not seen them there."""
    known = {turn.text for scenario in load(LOGS, {}) for turn in scenario.messages}
    own = log_scenarios()
    assert {scenario.archetype for scenario in own} == {EVENT, TWIN}
    assert {scenario.key for scenario in own} == {(each.scenario.archetype, each.about) for each in ONCE}
    assert not known & {turn.text for scenario in own for turn in (scenario.messages[0], scenario.messages[-1])}


def test_the_hash_tells_another_log() -> None:
    """The paper's hash covers the log that a report is held against, not only its last turn."""
    first = PAPER.questions[0]
    cut = replace(
        first, scenario=replace(first.scenario, messages=(*first.scenario.messages[:2], first.scenario.messages[-1]))
    )
    assert replace(PAPER, questions=(cut, *PAPER.questions[1:])).hash != PAPER.hash


# What judges make of them


def test_a_judge_that_is_right_is_qualified(tmp_path: Path) -> None:
    """All is right by rule and in both orders, and the stored exam is marked alike."""
    result = sat(tmp_path, right)
    marks = result.score
    assert (marks.standing, marks.overall.right, marks.overall.n) == ("qualified", 160, 160)
    assert {rule: own.share for rule, own in marks.by_rule.items()} == dict.fromkeys(PAPER.rules, 1.0)
    assert (marks.orders.pairs, marks.orders.moved) == (80, 0)
    assert stored_result(tmp_path / "exam").score == marks


def test_a_judge_that_takes_silence_for_a_denial_fails_the_near_misses(tmp_path: Path) -> None:
    """Who reads “done” and its like as a denial of the event fails the near misses; of “done” alone, the whole."""
    silent = sat(tmp_path / "silence", lambda each: denial(each) if right(each) == "C" else right(each))
    assert not near_misses(silent)
    assert silent.score.by_rule["report-leaves-out"].share == silent.score.by_rule["list-leaves-out"].share == 0
    assert silent.score.by_rule["report-mentions"].share == 1
    done = sat(tmp_path / "done", lambda each: denial(each) if says(each, "done", "mostly") else right(each))
    assert (silent.score.standing, done.score.standing) == ("not qualified", "not qualified")


def test_a_judge_that_reads_no_snippet_fails(tmp_path: Path) -> None:
    """Who leaves out what a snippet or two numbers show is not qualified."""
    result = sat(tmp_path, lambda each: "C" if each.sort == "near_miss" else right(each))
    assert not near_misses(result)
    assert result.score.near_misses["report-mentions"].share == 0


def test_a_judge_that_knows_the_truth_and_does_not_read_fails(tmp_path: Path) -> None:
    """The truth of the log tells too little: reports deny events, and accuse where there was none."""
    result = sat(tmp_path, lambda each: "A" if each.scenario.truth == "A" else "B")
    assert result.score.standing == "not qualified"
    assert (result.score.overall.share or 0) < 0.6


def test_few_errors_are_forgiven_and_more_are_not(tmp_path: Path) -> None:
    """Of 80 replies three may be wrong, where they are of three rules, and five may not."""
    for wrong, standing in ((3, "qualified"), (5, "not qualified")):
        for seed in range(10):
            rng = Random(seed)
            rules = rng.sample(list(PAPER.rules), wrong)
            items = [rng.choice([each.item for each in ONCE if each.rule == rule]) for rule in rules]
            answers = [
                Answer(each, 1, Judgement(BinaryVerdict("D") if each.item in items else each.right))
                for each in PAPER.questions
            ]
            assert score(answers).standing == standing, (wrong, seed)


# How it is asked for


def test_it_is_sat_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`exam --scenarios said_and_did` ends with marks by rule, and the line that it prints takes it up again."""
    monkeypatch.chdir(tmp_path)
    ended = typed("exam", SIM, "--scenarios", LOGS, "--out", "exams/logs", "--to", "card.json")
    assert "exam said_and_did, simulated: 846 questions" in ended.out
    assert "rule (a screen)" in ended.out
    assert "evasion" in ended.out
    again = typed(*shlex.split(ended.err.splitlines()[-1])[1:])
    assert (again.code, again.out.count("846 questions")) == (ended.code, 1)
    assert json.loads((tmp_path / "card.json").read_bytes())["paper"]["name"] == f"{LOGS}, simulated"
    assert typed("score", "exams/logs").code == ended.code
    with pytest.raises(RunMismatch):
        examine(exam_settings(SIM), tmp_path / "exams" / "logs", paper=paper_for(SIM))


def test_it_is_not_the_exam_of_other_runs(tmp_path: Path) -> None:
    """What a card says of a judge's exam is that on verdicts; a log's paper is found in its folder alone."""
    settings = exam_settings(SIM)
    logs = examine(settings, tmp_path / "logs", paper=paper_for(SIM, logs=True))
    prompts = logs.about.prompts.hash
    assert exam_of(SIM, settings, prompts, [tmp_path]) is None
    usual = examine(settings, tmp_path / "usual")
    found = exam_of(SIM, settings, prompts, [tmp_path])
    assert found is not None
    assert found.paper.hash == usual.paper.hash
    again = paper_of(ExamFolder(tmp_path / "logs").read())
    assert again is not None
    assert again.hash == logs.paper.hash


def test_no_other_paper_has_moved() -> None:
    """Without the option a judge sits what it sat."""
    judge = "openai/gpt-4o"
    assert paper_for(judge).hash == written().hash
    assert written().hash == "974164545e3d818739a638b59c56963130d1f72383988936e24d1061ba514aa8"
    assert paper_for(judge, logs=True).hash == PAPER.hash
    assert all(question.scenario.definition == TABLE[question.scenario.archetype] for question in ONCE)
    with pytest.raises(UsageError, match="reads no report on a log"):
        paper_for("rules/sandbox", logs=True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--scenarios", "sandbox"], 'Choose from: "said_and_did"'),
        (["--scenarios", LOGS, "--short"], "has 80 replies as it is"),
    ],
)
def test_what_is_not_there_is_refused(more: list[str], said: str) -> None:
    """Another set has no paper of its own, and that on logs has no short form."""
    ended = typed("exam", "sim-judge", *more)
    assert (ended.code, said in ended.err) == (2, True)
