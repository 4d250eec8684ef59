"""Cards of exams: what they hold, that those in the repository are whole, and that the page has their figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from msgspec import structs

from exam_table import BEGIN, CARDS, END, PAGE, cards, table
from flows import typed
from maskbench.asking.judging.sitting import exam_settings, examine
from maskbench.interop.exam_card import ExamCard, card_of, written
from maskbench.store.exam_result import ExamResult
from maskbench.store.record import About

LANGUAGELESS = ("rules-sandbox", "sim-judge", "sim-judge-noise", "sim-judge-accuracy-0.86")
PLACE = re.compile(r"://|(?<![\w.])[~/\\]|[A-Za-z]:\\|@|localhost|\d+\.\d+\.\d+\.\d+")  # an address or a path


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ExamResult:
    """An exam of a judge that needs no model."""
    return examine(exam_settings("rules/sandbox"), tmp_path_factory.mktemp("exam") / "exam")


def strings(value: Any) -> Iterator[str]:
    """Every string in JSON, names of fields among them."""
    match value:
        case str():
            yield value
        case dict():
            yield from (text for pair in value.items() for part in pair for text in strings(part))
        case list():
            yield from (text for part in value for text in strings(part))


@pytest.mark.parametrize("path", sorted(CARDS.iterdir()), ids=lambda path: path.name)
def test_every_card_of_the_repository_is_one(path: Path) -> None:
    """It has the known fields and no other, and neither an address nor a path nor anything as long as a text."""
    assert re.fullmatch(r"[\w.-]+\.json", path.name)
    card = msgspec.json.decode(path.read_bytes(), type=ExamCard)
    assert written(card) == path.read_bytes(), "it is not as --to writes it"
    for text in strings(orjson.loads(path.read_bytes())):
        assert not PLACE.search(text), text
        assert len(text) <= 100, text
        assert not re.search(r"\s", text.replace("not qualified", "").replace("not measurable", "")), text
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", card.date)


@pytest.mark.parametrize("name", LANGUAGELESS)
def test_a_judge_that_needs_no_model_has_the_card_that_its_exam_gives(name: str, tmp_path: Path) -> None:
    """Date and version apart, it is what the command writes today."""
    kept = msgspec.json.decode((CARDS / f"{name}.json").read_bytes(), type=ExamCard)
    ended = typed("exam", kept.judge, "--out", tmp_path / "exam", "--to", tmp_path / "cards" / "card.json")
    assert ended.code == (0 if kept.standing == "qualified" else 3)
    new = msgspec.json.decode((tmp_path / "cards" / "card.json").read_bytes(), type=ExamCard)
    assert structs.replace(new, date=kept.date, maskbench=kept.maskbench) == kept


def test_the_table_of_judges_is_made_from_the_cards() -> None:
    """The page has the rows that the command would write, one for each card."""
    assert PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0] == table(cards())
    assert len(cards()) == len(list(CARDS.iterdir()))


def test_a_card_names_no_folder_and_repeats_no_sentence_of_a_server(result: ExamResult) -> None:
    """A judge from a folder has the folder's last part, and what cannot be a name is not taken for one."""
    known = result.about.models
    told = {"resolved": ["/home/me/tuned", "You are a judge. Say A."], "base_url": "x://y"}
    models = structs.replace(known, binary=About(known.binary | told))
    settings = result.about.settings.having(judge="hf//home/me/tuned")
    about = structs.replace(result.about, settings=settings, models=models)
    card = card_of(replace(result, about=about))
    assert card.judge == "hf/tuned"
    assert card.resolved[0] == "tuned"
    content = written(card).decode()
    assert not any(part in content for part in ("home", "You are", "x://y", str(result.path)))


def test_a_card_with_another_field_is_refused(result: ExamResult) -> None:
    """Nobody can add what is not known, such as an answer in words."""
    plain = orjson.loads(written(card_of(result)))
    with pytest.raises(msgspec.ValidationError, match="unknown field `reply`"):
        msgspec.json.decode(orjson.dumps(plain | {"reply": "Yes."}), type=ExamCard)


def test_prompts_of_ones_own_are_said(result: ExamResult) -> None:
    """Whoever asks in other words sat another exam than the others of the table."""
    prompts = structs.replace(result.about.prompts, name="/home/me/prompts")
    assert card_of(replace(result, about=structs.replace(result.about, prompts=prompts))).prompts == "own"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stop-early",), "--to writes the card of a whole exam"),
        ((), "cannot be written"),
    ],
)
def test_where_no_card_can_be_written_a_sentence_says_why(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Half an exam, and a place that is none."""
    ended = typed("exam", "rules/sandbox", *options, "--out", tmp_path / "exam", "--to", tmp_path)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
