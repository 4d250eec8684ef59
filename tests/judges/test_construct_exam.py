"""The papers on statements: what is in them, how they are asked, and what they come to for judges that err."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import jsonschema
import msgspec
import numpy as np
import orjson
import pytest
from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]  # ships none
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.model_selection import GroupKFold, cross_val_predict  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

import schemas
from flows import typed
from maskbench.errors import RunMismatch
from maskbench.judges.exam.construct_marks import ConstructScore, marked
from maskbench.judges.exam.construct_papers import answer_in, construct_paper, in_sandbox, written
from maskbench.judges.exam.marks import Answer, wrong_of
from maskbench.judges.exam.questions import Paper, Question
from maskbench.judges.exam.result import Result
from maskbench.judges.exam.sitting import exam_settings, examine_construct, forecast
from maskbench.method.construct import BY_CALL, QUESTIONS
from maskbench.method.forms.questions import answer_text
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.sections.construct_exam import ConstructExamData, construct_blocks, construct_data
from maskbench.presentation.terminal import text as shown_text
from maskbench.types import ARCHETYPES, Ask, BinaryVerdict, Failure, Judgement

PAPER = written()
KEY = {(question.scenario.task_id, question.rule): question for question in PAPER.questions}
SENSITIVITY, SPECIFICITY = 0.9, 0.8


def is_positive(question: Question) -> bool:
    """Whether the right answer is the one that counts."""
    return QUESTIONS[question.rule].is_positive(word(question))


def word(question: Question) -> str:
    """The right answer."""
    assert isinstance(question.right, BinaryVerdict)
    return answer_in(question, question.right)


def erring(rng: Random, question: Question) -> str:
    """An answer that is on the wrong side as often as planted."""
    known = QUESTIONS[question.rule]
    positive, negative = known.positive[0], next(each for each in known.answers if each not in known.positive)
    if is_positive(question):
        return positive if rng.random() < SENSITIVITY else negative
    return word(question) if rng.random() < SPECIFICITY else positive


def judge(answer: Callable[[Question], str], name: str = "scripted") -> ScriptedModel:
    """A judge that answers by the paper's question."""

    def script(ask: Ask, run: int) -> str:
        question = BY_CALL[ask.call]
        return answer_text(ask, answer(KEY[ask.scenario.task_id, question.name]), "Because.")

    return ScriptedModel(script, name)


def part(number: int) -> Paper:
    """The questions on the first texts of the paper."""
    texts = list(dict.fromkeys(question.scenario.task_id for question in PAPER.questions))[:number]
    return replace(PAPER, questions=tuple(each for each in PAPER.questions if each.scenario.task_id in texts))


def sat(folder: Path, model: ScriptedModel, paper: Paper | None = None) -> Result[ConstructScore]:
    """The exam of a scripted judge."""
    return examine_construct(exam_settings(model.name), folder / "exam", judge=model, paper=paper)


def planted(answer: Callable[[Question], str]) -> ConstructScore:
    """The score of a judge without a flow."""
    answers = [
        Answer(each, 1, Judgement(BinaryVerdict(QUESTIONS[each.rule].letter(answer(each))))) for each in PAPER.questions
    ]
    return marked(answers)


# The papers


def test_every_question_has_sixty_texts_on_either_side() -> None:
    """Each question has 60 positive and 60 negative texts, of the kinds of negatives thirty each."""
    answers = {name: Counter(word(each) for each in PAPER.questions if each.rule == name) for name in QUESTIONS}
    for name, question in QUESTIONS.items():
        positive = sum(answers[name][each] for each in question.positive)
        assert positive >= 60, name
        assert answers[name].total() - positive >= 60, name
    assert min(answers["asked_by"].values()) >= 30
    assert min(answers["harm"].values()) >= 30


def test_both_sides_are_spread_over_archetypes() -> None:
    """Every question has positive and negative texts in each of the six archetypes."""
    for name in QUESTIONS:
        sides = {(each.scenario.archetype, is_positive(each)) for each in PAPER.questions if each.rule == name}
        assert sides == {(archetype, side) for archetype in ARCHETYPES for side in (True, False)}, name


def test_near_misses_and_hostile_texts_are_there() -> None:
    """Every question has eight near misses, and eighteen texts address the judge with answers that would be wrong."""
    sorts = Counter((each.rule, each.sort) for each in PAPER.questions)
    assert min(sorts[name, "near_miss"] for name in QUESTIONS) >= 8
    hostile = [each for each in PAPER.questions if each.sort == "hostile"]
    assert len({each.item.rsplit("-", 1)[0] for each in hostile}) >= 18
    lured = [each for each in hostile if each.lure is not None]
    assert lured
    assert all(each.lure != each.right for each in lured)


def test_texts_stand_once_and_most_are_short() -> None:
    """No text stands twice, most have one or two sentences, and some sixty words and more."""
    texts = {each.scenario.task_id: each.replies[0] for each in PAPER.questions}
    assert len(set(texts.values())) == len(texts) >= 160
    sizes = np.array([len(text.split()) for text in texts.values()])
    assert np.median(sizes) < 30
    assert (sizes >= 60).sum() >= 3


def test_length_does_not_tell_the_answer() -> None:
    """A random positive text of a question is longer than a random negative one in 40 to 60 % of pairs."""
    for name in QUESTIONS:
        sides: dict[bool, list[int]] = defaultdict(list)
        for each in PAPER.questions:
            if each.rule == name:
                sides[is_positive(each)].append(len(each.replies[0].split()))
        yes, no = np.array(sides[True])[:, None], np.array(sides[False])[None]
        assert 0.4 <= np.mean((yes > no) + 0.5 * (yes == no)) <= 0.6, name


def test_words_alone_do_not_pass_on_the_suspicion_of_a_test() -> None:
    """A classifier of words and pairs of words, trained on other conversations, stays 10 points below the bar."""
    asked = [each for each in PAPER.questions if each.rule == "suspicion" and each.sort != "hostile"]
    positive = np.array([is_positive(each) for each in asked])
    told = cross_val_predict(
        make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(class_weight="balanced", max_iter=3000)),
        [each.replies[0] for each in asked],
        positive,
        groups=[each.about for each in asked],
        cv=GroupKFold(10),
        method="predict_proba",
    )[:, 1]
    both = max(min(np.mean(told[positive] >= limit), np.mean(told[~positive] < limit)) for limit in told)
    assert both < 0.75


def test_who_asked_for_what_reaches_whom_agree() -> None:
    """No text that all its readers asked for was asked for by nobody or the operator alone, as the questions say."""
    for (text, name), each in KEY.items():
        if name == "addressee" and word(each) == "no":
            assert word(KEY[text, "asked_by"]) == "user", text


# The sitting and the score


def test_a_perfect_judge_passes(tmp_path: Path) -> None:
    """A judge that knows every right answer is qualified, with no failure and nothing wrong."""
    result = sat(tmp_path, judge(word))
    assert result.score.standing == "qualified"
    assert not wrong_of(result.answers)
    assert len(result.answers) == len(PAPER.questions)
    assert result.score.hostile.lured == 0
    assert result.score.hostile.right == result.score.hostile.replies >= 18


def test_a_judge_that_always_says_no_fails() -> None:
    """A judge that gives the answer that never counts has a sensitivity of nought, and fails by it."""
    never = {
        name: next(a for a in question.answers if a not in question.positive) for name, question in QUESTIONS.items()
    }
    score = planted(lambda question: never[question.rule])
    assert score.standing == "not qualified"
    for marks in score.questions.values():
        assert marks.overall.sensitivity.share == 0.0
        assert marks.overall.specificity.share == 1.0
    missed = {each.name for each in score.conditions if not each.passed}
    assert {f"{name}, sensitivity" for name in QUESTIONS} <= missed


def test_planted_errors_are_found() -> None:
    """Over 20 judges with 0.9 and 0.8 planted, the intervals of ten shares hold what was planted in 93 % at least."""
    held = []
    for seed in range(20):
        rng = Random(seed)
        for marks in planted(partial(erring, rng)).questions.values():
            for side, truth in ((marks.overall.sensitivity, SENSITIVITY), (marks.overall.specificity, SPECIFICITY)):
                assert side.ci95 is not None
                held.append(side.ci95[0] <= truth <= side.ci95[1])
    assert len(held) == 200
    assert np.mean(held) >= 0.93


def test_a_judge_with_planted_errors_fails_where_it_is_weak(tmp_path: Path) -> None:
    """With 0.9 and 0.8 planted through the flow, specificities of about 0.8 are found, and the bar is missed."""
    rng = Random(7)
    score = sat(tmp_path, judge(partial(erring, rng))).score
    shares = [marks.overall.specificity.share or 0 for marks in score.questions.values()]
    assert 0.76 < np.mean(shares) < 0.84
    assert score.standing == "not qualified"


def test_failures_are_no_answers(tmp_path: Path) -> None:
    """What could not be had counts on no side; with more than a twentieth of it nothing can be told."""

    def script(ask: Ask, run: int) -> str | Failure:
        question = BY_CALL[ask.call]
        if question.name == "harm":
            return Failure("judge", "bad_request", "down")
        return answer_text(ask, word(KEY[ask.scenario.task_id, question.name]))

    result = sat(tmp_path, ScriptedModel(script), part(20))
    harm = result.score.questions["harm"]
    assert harm.exact.n == 0
    assert harm.exact.failed > 10
    assert harm.exact.share is None
    assert result.score.standing == "not measurable"
    again = sat(tmp_path, judge(word), part(20))
    assert again.score.questions["harm"].exact.failed == 0


def test_an_exam_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What was answered before is not asked again, and another paper is refused in the same folder."""
    asked: list[str] = []

    def script(ask: Ask, run: int) -> str | Failure:
        asked.append(ask.call)
        if len(asked) > 30:
            return Failure("judge", "bad_request", "gone")
        question = BY_CALL[ask.call]
        return answer_text(ask, word(KEY[ask.scenario.task_id, question.name]))

    whole = len(part(12).questions)
    assert sat(tmp_path, ScriptedModel(script), part(12)).score.causes == {"bad_request": whole - 30}
    before = len(asked)
    asked.clear()
    result = sat(tmp_path, ScriptedModel(script), part(12))
    assert len(asked) == whole - 30 < before
    assert not result.score.causes
    assert len(result.answers) == whole
    with pytest.raises(RunMismatch, match="with other scenarios than construct has now"):
        sat(tmp_path, judge(word), part(5))


def test_the_rules_of_the_sandbox_answer_a_paper_of_their_own(tmp_path: Path) -> None:
    """rules/sandbox answers every sentence of pinocchio's rightly, and is told to say nothing on language."""
    assert construct_paper("rules/sandbox").name == in_sandbox().name
    ended = typed("exam", "rules/sandbox", "--construct", "--out", str(tmp_path / "exam"))
    assert ended.code == 0
    assert "QUALIFIED" in ended.out
    assert "it says nothing on language" in " ".join(ended.out.split())
    assert "answers of one side alone to performance, harm, suspicion" in " ".join(ended.out.split())


def test_the_command_counts_before_it_asks(tmp_path: Path) -> None:
    """--dry-run counts the answers of the questions that are named, and what is there already is not counted again."""
    ended = typed("exam", "openai/gpt-4o", "--construct", "harm,suspicion", "--dry-run")
    wanted = sum(question.rule in ("harm", "suspicion") for question in PAPER.questions)
    assert ended.code == 0
    assert f"{wanted:,} answers are to be had" in ended.out
    sat(tmp_path, judge(word))
    assert forecast(exam_settings("scripted").having(construct=tuple(QUESTIONS)), tmp_path / "exam") == (0, 0)


@pytest.mark.parametrize("other", ["--short", "--stop-early", "--repeat 2"])
def test_what_belongs_to_the_other_exam_is_refused(other: str) -> None:
    """--construct is sat once and whole."""
    ended = typed("exam", "sim-judge", "--construct", *other.split())
    assert ended.code == 2
    assert "is for the exam on verdicts" in ended.err


def test_what_is_printed_has_both_sides_and_json_every_answer(tmp_path: Path) -> None:
    """The terminal shows both shares of each question with the texts it got wrong, the JSON all answers."""
    rng = Random(3)
    result = sat(tmp_path, judge(partial(erring, rng)), part(40))
    shown = shown_text(list(construct_blocks(result, 1)), 400)
    for words in ("sensitivity", "specificity", "near misses", "the bar (this project's own)", "NOT QUALIFIED"):
        assert words in shown
    data = construct_data(result)
    jsonschema.validate(orjson.loads(msgspec.json.encode(data)), orjson.loads(schemas.schema(ConstructExamData)))
    assert len(data.answers) == len(result.answers)
    assert {each.given for each in data.answers if each.question == "harm"} <= {"none", "low", "high"}


def test_the_judge_is_told_no_answer(tmp_path: Path) -> None:
    """No request holds the right answer's reason, and none holds what is true of the matter."""
    seen: list[str] = []

    def script(ask: Ask, run: int) -> str:
        seen.append(json.dumps([message.content for message in ask.messages]))
        return answer_text(ask, BY_CALL[ask.call].answers[0])

    paper = part(30)
    sat(tmp_path, ScriptedModel(script), paper)
    reasons = [question.why for question in paper.questions if question.why]
    assert seen
    assert reasons
    assert not any(reason in text for reason in reasons for text in seen)


def test_unknown_questions_are_refused() -> None:
    """A question that there is not is named with those that there are."""
    ended = typed("exam", "sim-judge", "--construct", "mood")
    assert ended.code == 2
    assert "there is no such question" in ended.err
    assert "nothing to examine" in typed("exam", "sim-judge", "--construct", "none").err


# The questions that were named


def test_another_choice_of_questions_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    """What was asked is not asked again, and the marks are those of the questions that are named now."""
    asked: list[str] = []

    def script(ask: Ask, run: int) -> str:
        asked.append(name := BY_CALL[ask.call].name)
        return answer_text(ask, word(KEY[ask.scenario.task_id, name]))

    settings, out, few = exam_settings("scripted"), tmp_path / "exam", part(12)
    for names in (("harm",), ("performance", "harm")):
        chosen = settings.having(construct=names)
        result = examine_construct(chosen, out, judge=ScriptedModel(script), paper=few)
        assert set(result.score.questions) == set(names)
    assert Counter(asked) == Counter(each.rule for each in few.questions if each.rule in names)


def test_a_rewritten_paper_is_refused(tmp_path: Path) -> None:
    """Where the texts themselves are others, both hashes are named."""
    model = judge(word)
    sat(tmp_path, model, part(12))
    with pytest.raises(RunMismatch, match=r"holds an exam with other scenarios than construct has now \(hash "):
        sat(tmp_path, judge(word), part(13))


def test_a_question_named_twice_is_one_in_the_line(tmp_path: Path) -> None:
    """The line that goes on names each question once; beliefs judged together are refused, as no belief is judged."""
    ended = typed("exam", "rules/sandbox", "--construct", "addressee,addressee", "--out", str(tmp_path / "exam"))
    assert ended.err.rstrip().endswith("--construct addressee")
    assert ended.out.rstrip().endswith("QUALIFIED.")
    refused = typed("exam", "rules/sandbox", "--construct", "--judge-beliefs", "together", "--out", tmp_path / "other")
    assert (refused.code, "--construct judges no belief" in refused.err) == (2, True)
    assert not (tmp_path / "other").exists()


def test_the_standing_names_what_was_not_measured(tmp_path: Path) -> None:
    """Where the paper has no right positive to a question, the last line says that nothing was measured on it."""
    paper = in_sandbox()
    model = ScriptedModel(lambda ask, run: answer_text(ask, right[ask.scenario.key, ask.call], ""), "s")
    paper = replace(paper, questions=paper.questions[:400])
    right = {(each.scenario.key, QUESTIONS[each.rule].call): word(each) for each in paper.questions}
    result = sat(tmp_path, model, paper)
    assert construct_data(result).unmeasured == ["performance", "harm", "suspicion"]
    line = " ".join(shown_text(list(construct_blocks(result)), 200).split("\n")).split("QUALIFIED")[-1].split()
    assert " ".join(line) == (
        "on asked_by and addressee; nothing was measured on performance, harm, suspicion (no positive in this paper)."
    )


def test_a_paper_of_one_side_alone_measures_nothing(tmp_path: Path) -> None:
    """An exam whose every question has negatives alone is no qualification: it is not measurable, and says why."""
    ended = typed("exam", "rules/sandbox", "--construct", "harm", "--out", str(tmp_path / "exam"))
    assert ended.code == 1
    assert ended.out.rstrip().endswith("NOT MEASURABLE.")
    assert "right answers of one side alone to harm, so nothing was measured" in ended.out
