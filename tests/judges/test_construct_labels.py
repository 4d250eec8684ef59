"""People answer the questions on statements: the draw, the page, the file, agreement, and what labels correct."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import jsonschema
import orjson
import pytest
from starlette.testclient import TestClient

import schemas
from flows import typed
from maskbench.judges.construct_answers import answers_of
from maskbench.judges.people.construct_labels import (
    FILE,
    construct_drawn,
    people_say,
    prepare_construct,
    stratum,
)
from maskbench.judges.people.labelled_outcomes import Drawn
from maskbench.judges.people.labels import LabelStore, New
from maskbench.judges.people.spreadsheet import Refused, read, write, write_for
from maskbench.judges.verdict_sets import reading
from maskbench.method.construct import QUESTIONS
from maskbench.method.rules import named
from maskbench.pages.server.label_page import Labelling
from maskbench.results.construct_correction import ConstructPeople, construct_people
from maskbench.runs.folder import RunFolder
from maskbench.types import BinaryVerdict
from measured_runs import EVERYDAY, copied, run
from there import there

RULES = named("reference")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run between simulated models whose judge answered all questions."""
    return run(tmp_path_factory.mktemp("construct") / "run", scenarios="starter", construct=tuple(QUESTIONS))


@pytest.fixture
def folder(asked: Path, tmp_path: Path) -> RunFolder:
    """A copy to label."""
    return copied(asked, tmp_path / "run")


def sampled(folder: RunFolder, size: int, *, outcomes: bool = False) -> tuple[LabelStore, list[Drawn]]:
    """The sample of that size."""
    with reading(folder) as opened:
        labels = prepare_construct(opened, size)
        return labels, construct_drawn(opened, labels, outcomes=outcomes)


def give(labels: LabelStore, rater: str, answers: Mapping[str, str], scenarios: Sequence[Drawn]) -> None:
    """Have a rater give these answers, by the part's id."""
    labels.enter(rater, "rater")
    claims = {part.id: part.claims for each in scenarios for part in each.parts}
    labels.put_all(
        [
            (rater, New(reply, BinaryVerdict("ABC"[claims[reply].index(answer)]), 0, f"{rater} {reply}"))  # type: ignore[arg-type]
            for reply, answer in answers.items()
        ]
    )


def truth(folder: RunFolder, scenarios: Sequence[Drawn], wrong: float = 0.0, seed: int = 0) -> dict[str, str]:
    """What the judge answered, by part, but for a random share where people see another answer."""
    known, rng = answers_of(folder), Random(seed)
    given = {}
    for each in scenarios:
        for part in each.parts:
            if part.question:
                name = next(name for name, question in QUESTIONS.items() if question.sentence == part.question)
                own = known[each.scenario.key, 1][name]
                others = [answer for answer in part.claims if answer != own]
                given[part.id] = rng.choice(others) if rng.random() < wrong else own
    return given


def test_the_draw_takes_lies_and_others_by_what_the_judge_answered(folder: RunFolder) -> None:
    """The sample has statements of every stratum, lies and non-lies, two of each at least as far as there are."""
    labels, scenarios = sampled(folder, 100)
    design = labels.design()
    assert len(scenarios) == 100
    drawn, whole = Counter(each.stratum[1] for each in scenarios), Counter(name for _, name in design.population)
    assert drawn.keys() == whole.keys()
    assert {name.split(",")[0] for name in drawn} == {"lie", "no lie"}
    assert all(count >= min(2, whole[name]) for name, count in drawn.items())
    assert {each.stratum[0] for each in scenarios} == {""}


def test_a_larger_sample_holds_the_smaller(folder: RunFolder) -> None:
    """Enlarged, the sample keeps what was drawn, and another seed is refused."""
    _, few = sampled(folder, 40)
    _, many = sampled(folder, 80)
    assert {each.scenario.key for each in few} < {each.scenario.key for each in many}
    ended = typed("label", folder.path, "--construct", "--seed", "3", "--rater", "A", "--out", folder.path / "a.csv")
    assert ended.code == 2
    assert "was drawn with --seed 0" in ended.err


def test_strata_go_by_the_nested_readings() -> None:
    """A stratum says lie or not, which reading fits, and whether anybody asked; a missing answer is no answer."""
    plain = {"performance": "no", "addressee": "yes", "harm": "high", "asked_by": "user"}
    assert stratum(True, plain) == "lie, high harm"
    assert stratum(False, plain | {"asked_by": "nobody"}) == "no lie, high harm, not asked for"
    assert stratum(True, plain | {"performance": "yes"}) == "lie, performance"
    assert stratum(True, plain | {"addressee": "no"}) == "lie, nobody else"
    assert stratum(True, plain | {"harm": "low"}) == "lie, to others"
    assert stratum(True, {}) == "lie, unknown"


def test_a_run_that_was_not_asked_is_refused(tmp_path: Path) -> None:
    """Without the judge's answers there is nothing to hold people's against, and the command that asks is named."""
    folder = run(tmp_path / "run", scenarios=EVERYDAY)
    ended = typed("label", folder, "--construct", "--rater", "Anna", "--out", tmp_path / "anna.csv")
    assert ended.code == 2
    assert f"maskbench judge {folder} --construct" in " ".join(ended.err.split())
    assert not (folder / FILE).exists()


def test_what_people_see_is_blind(folder: RunFolder) -> None:
    """A rater sees the conversation, the reply and the question's own rules, and no answer, outcome or truth."""
    _, scenarios = sampled(folder, 30)
    parts = scenarios[0].parts
    assert [part.question for part in parts] == [question.sentence for question in QUESTIONS.values()]
    for part in parts:
        assert part.replies == (scenarios[0].items[-1].reply.text,) or len(part.replies) == 1  # type: ignore[union-attr]
        assert part.people
        assert not re.search(r"\{\{|short reason", " ".join(part.people))
    assert len({part.id for each in scenarios for part in each.parts}) == sum(len(each.parts) for each in scenarios)


def test_a_file_goes_out_and_comes_back(folder: RunFolder, tmp_path: Path) -> None:
    """A rater's sheet has a row for each question; answers come back as words or letters, and no other is taken."""
    labels, scenarios = sampled(folder, 30)
    sheet = tmp_path / "anna.csv"
    assert write_for(labels, scenarios, sheet, "Anna") == (0, 150)
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = truth(folder, scenarios)
    assert {row["question"] for row in rows} == {question.sentence for question in QUESTIONS.values()}
    for at, row in enumerate(rows):
        word = known[row["reply_id"]]
        letters = {row[f"option_{letter}"]: letter.upper() for letter in "abc"}
        row["verdict"] = word if at % 2 else letters[word]
    filled(sheet, rows)
    assert read(labels, scenarios, sheet) == (150, 0)
    with reading(folder) as opened:
        said = people_say(opened, RULES)
    answers = answers_of(folder)
    assert all(
        each.answers == {n: a for n, a in answers[key, 1].items() if n in QUESTIONS} for key, each in said.items()
    )
    assert write(labels, scenarios, tmp_path / "all.csv") == 150
    filled(sheet, [{**rows[0], "verdict": "D"}, {**rows[1], "verdict": "maybe"}])
    with pytest.raises(Refused, match="is no verdict on options"):
        read(labels, scenarios, sheet)


def filled(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a sheet as a spreadsheet does."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_the_page_has_the_question_and_takes_its_answers_alone(folder: RunFolder) -> None:
    """The page gives question and answers, saves one, and refuses a letter or a kind that the question has not."""
    labels, scenarios = sampled(folder, 10)
    pages = Labelling(labels, scenarios, None)
    from starlette.applications import Starlette

    client = TestClient(Starlette(routes=pages.routes))
    assert "What are these statements?" in client.get("/").text
    work = client.post("/work", content=json.dumps({"rater": "Anna"})).json()
    part = next(part for part in work["scenarios"][0] if len(part["claims"]) == 2)
    assert part["question"] in {question.sentence for question in QUESTIONS.values()}
    sent = {"rater": "Anna", "reply": part["id"], "evasion": None, "was": 0, "ticket": "t1"}
    assert client.post("/label", content=json.dumps({**sent, "verdict": "C"})).status_code == 400
    assert client.post("/label", content=json.dumps({**sent, "verdict": "B"})).json()["verdict"] == "B"


def test_agreement_is_that_of_two_by_two_counts(folder: RunFolder) -> None:
    """With everything labelled alike kappa is 1; raters who always say the same have none; shares are exact."""
    labels, scenarios = sampled(folder, 240)
    answers = truth(folder, scenarios)
    give(labels, "Anna", answers, scenarios)
    questions = construct_people(folder).questions
    assert questions.keys() == QUESTIONS.keys()
    for agreed in questions.values():
        assert agreed.judge.n == len(scenarios)
        assert agreed.judge.agree == 1.0
        assert agreed.judge.kappa in (1.0, None)
    give(labels, "Ben", truth(folder, scenarios, wrong=0.5, seed=2), scenarios)
    harm = construct_people(folder).questions["harm"]
    assert harm.raters.keys() == {"Anna / Ben"}
    assert 0.4 < (harm.raters["Anna / Ben"].agree or 0) < 0.6


def test_labels_correct_the_readings(folder: RunFolder) -> None:
    """Where people see other answers than the judge, corrected shares hold what people would say of every statement."""
    labels, scenarios = sampled(folder, 240)
    everything = truth(folder, scenarios, wrong=0.2, seed=5)
    give(labels, "Anna", everything, scenarios)
    whole = construct_people(folder)
    other = copied(folder.path, folder.path.parent / "part")
    (other.path / FILE).unlink()
    labels, scenarios = sampled(other, 180)
    parts = {part.id for each in scenarios for part in each.parts}
    give(labels, "Anna", {reply: answer for reply, answer in everything.items() if reply in parts}, scenarios)
    part = construct_people(other)
    for name, share in (*part.readings.items(), *part.answers.items()):
        known = (whole.readings | whole.answers)[name]
        low, high = there(share.metrics["share"].ci95)
        assert low <= (known.metrics["share"].value or 0) <= high, name
    assert part.readings["high_harm"].judged == whole.readings["high_harm"].judged


def test_too_few_labels_correct_nothing(folder: RunFolder) -> None:
    """With eight labels there is a share as judged, and a sentence in place of a corrected one."""
    labels, scenarios = sampled(folder, 8)
    give(labels, "Anna", truth(folder, scenarios), scenarios)
    share = construct_people(folder).readings["without_performance"]
    assert share.metrics == {}
    assert share.judged["share"] is not None
    assert "Of the sample 8 are settled, by the judge and by who saw it." in there(share.withheld)


def test_people_may_say_what_is_a_lie(folder: RunFolder) -> None:
    """With --lies there is every reply that the outcome hangs on, and people's lies take the judge's place."""
    labels, scenarios = sampled(folder, 40, outcomes=True)
    answers = truth(folder, scenarios)
    give(labels, "Anna", answers, scenarios)
    assert construct_people(folder).lies_by_readers == 0
    verdicts = [
        ("Anna", New(part.id, BinaryVerdict("A"), 0, f"v {part.id}"))
        for each in scenarios
        for part in each.parts
        if not part.question and part.kind == "binary"
    ]
    labels.put_all(verdicts)
    with reading(folder) as opened:
        said = people_say(opened, RULES)
    told = [each for each in said.values() if each.lies is not None]
    assert construct_people(folder).lies_by_readers == len(told) > 10


def test_the_command_prints_agreement_and_corrections(folder: RunFolder) -> None:
    """`label --show --construct` prints the questions with kappa and the readings with what labels make of them."""
    labels, scenarios = sampled(folder, 240)
    give(labels, "Anna", truth(folder, scenarios, wrong=0.2, seed=5), scenarios)
    ended = typed("label", folder.path, "--show", "--construct")
    assert ended.code == 0
    for words in ("judge / readers", "without open performance", "corrected", "asked_by: nobody", "κ"):
        assert words in ended.out
    data = json.loads(typed("label", folder.path, "--show", "--construct", "harm", "--json").out)
    jsonschema.validate(data, orjson.loads(schemas.schema(ConstructPeople)))
    assert data["questions"].keys() == {"harm"}
    assert data["answers"]["harm"]["metrics"]["share"]["value"] is not None


def test_the_command_counts_questions_on_statements(folder: RunFolder, tmp_path: Path) -> None:
    """What is still to label is told as questions on statements, and not as replies."""
    words = ("label", folder.path, "--construct", "all", "--sample", 5, "--rater", "A")
    ended = typed(*words, "--out", tmp_path / "a.csv")
    assert "25 questions on 5 statements that A has still to label are in" in " ".join(ended.err.split())
    both = typed(*words, "--lies", "--out", tmp_path / "b.csv")
    assert "questions and replies on 5 statements that A has" in " ".join(both.err.split())


def test_the_ordinary_sample_is_another_one(folder: RunFolder) -> None:
    """Answers on statements touch no label of verdicts: the two samples stand in files of their own."""
    sampled(folder, 30)
    assert not LabelStore(folder.path).exists
    assert (folder.path / FILE).exists()


def test_lies_alone_is_refused(folder: RunFolder) -> None:
    """--lies means nothing without --construct."""
    ended = typed("label", folder.path, "--lies", "--rater", "A")
    assert ended.code == 2
    assert "--lies is for --construct" in ended.err


def test_a_run_without_labels_is_told_how_to_get_some(folder: RunFolder) -> None:
    """`label --show --construct` on a run that nobody labelled names the command that has people answer."""
    ended = typed("label", folder.path, "--show", "--construct")
    assert ended.code == 2
    assert f"maskbench label {folder.path} --construct" in " ".join(ended.err.split())
