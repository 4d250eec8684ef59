"""The types of what maskbench writes: real outputs are of them to the last field, and of the schemas."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import msgspec
import orjson
import pytest
from test_labels import by_judge, give, sampled

import schemas
from maskbench.asking.judging.judge_again import judge
from maskbench.cli import main
from maskbench.presentation.sections.exam import ExamData
from maskbench.results.comparison import ComparisonData
from maskbench.results.gate import CheckData
from maskbench.results.leaderboard_data import BoardData
from maskbench.results.outcome_rows import OutcomeRow
from maskbench.results.people.against_judge import AgreementData
from maskbench.results.summary import Summary
from maskbench.settings import Settings
from maskbench.store.fitting import Unknown, fitted
from maskbench.store.folder import RunFolder
from maskbench.store.record import Record, record_from
from maskbench.types import BinaryVerdict
from measured_runs import run

pytestmark = pytest.mark.slow

Said = Callable[..., bytes]
T = TypeVar("T")


@pytest.fixture
def said(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Said:
    """What a command prints on stdout."""

    def call(*words: object) -> bytes:
        monkeypatch.setattr(sys, "argv", ["maskbench", *map(str, words)])
        with suppress(SystemExit):  # a comparison or an exam may say by its code what it found
            main()
        return capsysbinary.readouterr().out

    return call


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs: one with a placebo, failures, several statements and verdict sets, and a plain one."""
    path = tmp_path_factory.mktemp("runs")
    rich = run(path / "rich", "sim/fail=0.05,thinks=0.5", limit=24, statements=2, max_error_rate=0.5, placebo=True)
    run(path / "plain", "sim/lie=0.1", limit=24)
    folder = RunFolder(rich)
    judge(folder, by(folder, "sim-judge/accuracy=0.9,seed=2"), "other", {})
    return path


def by(folder: RunFolder, name: str) -> Settings:
    """The run's settings with another judge."""
    return folder.settings().having(judge=name, numeric_judge=name)


def held(plain: Any, kind: type[T]) -> T:
    """An output as its type, which holds all of it in the same order; the published schema takes it, too."""
    (name,) = (name for name, each in schemas.TYPES.items() if each is kind)
    validator(name).validate(plain)
    typed = fitted(plain, kind)
    again = orjson.loads(orjson.dumps(msgspec.to_builtins(typed)))
    assert again == plain
    assert str(again).replace(".0", "") == str(plain).replace(".0", "")  # the order of names; 12 is also 12.0
    return typed


@cache
def validator(name: str) -> Any:
    """One who holds values against a published schema, which is a schema itself."""
    schema = orjson.loads(schemas.schema(schemas.TYPES[name]))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_folder_of_schemas_holds_each_once(tmp_path: Path) -> None:
    """What the wheel and the site have is written anew: nothing stays that is no schema any more."""
    (tmp_path / "gone.schema.json").write_text("{}")
    schemas.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.schema.json" for name in schemas.TYPES}


@pytest.mark.parametrize("words", [(), ("--rules", "strict"), ("--verdicts", "other")])
def test_a_summary_is_of_its_type(runs: Path, said: Said, words: tuple[str, ...]) -> None:
    """`score --json` holds the fields of Summary and no other, whatever the verdict set."""
    for name in ("rich", "plain")[: 2 if not words else 1]:
        plain = orjson.loads(said("score", runs / name, "--json", *words))
        assert held(plain, Summary).rates["p_lie"].n == plain["rates"]["p_lie"]["n"]


def test_summary_json_and_run_json_are_of_their_types(runs: Path) -> None:
    """What a run leaves in its folder is read with attributes, and a field more is refused."""
    plain = orjson.loads((runs / "rich" / "summary.json").read_bytes())
    assert held(plain, Summary).subject.name == "sim/fail=0.05,thinks=0.5"
    plain["by_archetype"]["statistics"]["zeal"] = 1
    with pytest.raises(Unknown, match=r"^by_archetype\.statistics\.zeal$"):
        fitted(plain, Summary)
    plain = orjson.loads((runs / "rich" / "run.json").read_bytes())
    held(plain, Record)
    assert record_from(plain).models.subject.name == "sim/fail=0.05,thinks=0.5"


def test_a_comparison_is_of_its_type(runs: Path, said: Said) -> None:
    """`compare --json` holds the fields of ComparisonData and no other."""
    other = run(runs / "third", "sim/lie=0.3", limit=20)
    words = ("compare", runs / "plain", other, runs / "rich", "--non-inferiority", "0.05", "--json")
    plain = orjson.loads(said(*words))
    assert [each.run for each in held(plain, ComparisonData).others] == [str(other), str(runs / "rich")]


def test_a_leaderboard_is_of_its_type(runs: Path, said: Said) -> None:
    """`leaderboard --format json` holds the fields of BoardData and no other."""
    plain = orjson.loads(said("leaderboard", runs, "--format", "json"))
    assert sum(len(table.ranked) + len(table.not_ranked) for table in held(plain, BoardData).tables) >= 2


def test_a_check_is_of_its_type(runs: Path, said: Said) -> None:
    """`check --json` holds the fields of CheckData and no other, whether the run can be measured or not."""
    whole = run(runs / "whole", "sim/lie=0.1", archetypes=("known_facts",))
    words = ("check", whole, "--max-lie", "0.9", "--min-honest", "0.9", "--json")
    check = held(orjson.loads(said(*words)), CheckData)
    assert [condition.passed for condition in check.conditions] == [True, True, False, True]
    assert held(orjson.loads(said("check", runs / "plain", "--max-lie", "0.9", "--json")), CheckData).conditions == []


def test_exported_rows_are_of_their_type(runs: Path, said: Said) -> None:
    """Every line of `export --format jsonl` is an OutcomeRow to the last field."""
    lines = [*_lines(said, runs / "rich"), *_lines(said, runs / "rich", "--verdicts", "closer")]
    rows = [held(line, OutcomeRow) for line in lines]
    assert {row.type for row in rows} == {"binary", "numerical"}
    assert any(sample.error for row in rows for sample in row.statements)


def _lines(said: Said, *words: object) -> Iterator[Any]:
    return map(orjson.loads, said("export", *words, "--format", "jsonl").splitlines())


def test_an_exam_is_of_its_types(tmp_path: Path, said: Said) -> None:
    """`exam --json` and `score --json` hold the fields of ExamData and no other, and run.json those of a run."""
    shown = orjson.loads(said("exam", "sim-judge/accuracy=0.8,unreadable=0.02", "--out", tmp_path / "exam", "--json"))
    plain = orjson.loads((tmp_path / "exam" / "run.json").read_bytes())
    assert held(shown, ExamData).judge == held(plain, Record).settings.judging.judge
    assert orjson.loads(said("score", tmp_path / "exam", "--json")) == shown


def test_agreement_is_of_its_type(runs: Path, said: Said) -> None:
    """`label --show --json` holds AgreementData and no more."""
    labels, scenarios = sampled(RunFolder(runs / "plain"), 12)
    verdicts = by_judge(RunFolder(runs / "plain"), scenarios)
    give(labels, "Anna", verdicts)
    give(labels, "Ben", verdicts | {next(iter(verdicts)): BinaryVerdict("D")})
    plain = orjson.loads(said("label", runs / "plain", "--show", "--json"))
    assert held(plain, AgreementData).sample.differing == 1
    assert plain["disagreements"] == []  # where raters differ, people have no verdict yet
