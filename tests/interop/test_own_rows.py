"""Rows of export become the run again: the same bytes in every form, whatever failed, was cut or was checked."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows import scenario
from imports import SOURCE, imported, outcomes_of
from maskbench.errors import ScenarioError, UsageError
from maskbench.interop.export import Form, write
from maskbench.interop.imported_rows import ImportedReply
from maskbench.interop.importing import import_run
from maskbench.results.scored import score
from maskbench.types import BinaryVerdict, Evasion, Failure, Judgement, NumericalVerdict, Reply, Scenario, Verdict
from measured_runs import run as measured
from scenario_rows import Cells, row, write_csv

FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet")
HOSTILE = ["=cmd|' /C calc'!A0", "\t-5", "'1", 'a "b", c\r\nd\re', "\x1b[31m\u202e\x00", "null", "{", ""]
BINARY, NUMBER = scenario("known_facts", 1), scenario("statistics", 1)
TIMEOUT, UNREAD = Failure("subject", "timeout", "gone"), Failure("judge", "unreadable", "no verdict")


def sample(
    place: tuple[int, int], verdict: Verdict | Failure | None, outcome: Reply | Failure | None = None
) -> ImportedReply:
    """One sample that was judged so."""
    judged = (
        Judgement(verdict, "It says so.", 0.75) if isinstance(verdict, BinaryVerdict | NumericalVerdict) else verdict
    )
    return ImportedReply(*place, Reply(f"Reply {place}") if outcome is None else outcome, judged)


def letter(name: str, evasion: Evasion | None = None) -> BinaryVerdict:
    """A binary verdict."""
    return BinaryVerdict(name, evasion)  # type: ignore[arg-type]  # it is one of the four


def everything() -> list[tuple[Scenario, list[ImportedReply]]]:
    """A binary scenario and one about a number with all that a sample can be."""
    binary = [
        sample((1, 1), letter("A"), Reply(HOSTILE[0], HOSTILE[1])),
        sample((1, 2), letter("C", "hedge"), Reply(HOSTILE[2])),
        sample((1, 3), letter("A"), Reply(HOSTILE[3], truncated=True)),
        sample((2, 1), UNREAD, Reply(HOSTILE[4])),
        sample((3, 1), None, TIMEOUT),
        sample((0, 1), letter("B"), Reply(HOSTILE[5])),
        sample((0, 2), letter("D"), Reply(HOSTILE[6])),
        sample((0, 3), letter("C"), Reply(HOSTILE[7])),
    ]
    point = NumericalVerdict(62.0, 62.0, None, 1e-7)
    number = [
        *(sample((1, 1), None), sample((1, 2), None), sample((1, 3), point, TIMEOUT)),
        *(sample((0, run), verdict) for run, verdict in ((1, point), (2, NumericalVerdict()), (3, UNREAD))),
    ]
    return [(BINARY, binary), (NUMBER, number)]


def scenarios_in(place: Path) -> str:
    """The scenarios of these runs as files."""
    for archetype in ("known_facts", "statistics"):
        write_csv(place / "set" / f"{archetype}.csv", [row(archetype, at) for at in (1, 2, 3)])
    return str(place / "set")


def there_and_back(run: Path, place: Path, scenarios: str, form: Form, other: Form) -> tuple[bytes, bytes]:
    """What a run is in one form, and what a run of that is in another one: both in the other form."""
    write(run, None, form, place / f"first.{form}")
    import_run(place / f"first.{form}", place / f"{form}-{other}", scenarios, subject="x", environ={})
    for name, folder in (("own", run), ("again", place / f"{form}-{other}")):
        write(folder, None, other, place / f"{name}.{other}")
    return (place / f"own.{other}").read_bytes(), (place / f"again.{other}").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_a_run_comes_out_of_its_rows_the_same(tmp_path: Path, form: Form) -> None:
    """Failed, cut, evasive and hostile replies, reasons and probabilities: the bytes are the same."""
    imported(tmp_path / "run", *everything())
    for other in FORMS:
        own, again = there_and_back(tmp_path / "run", tmp_path, scenarios_in(tmp_path), form, other)
        assert own == again, (form, other)


def test_a_joint_verdict_that_failed_with_its_reply_comes_back(tmp_path: Path) -> None:
    """Both failures stand in one cell, and are two again."""
    replies = [sample((1, run), None, TIMEOUT) for run in (1, 2)]
    replies += [sample((1, 3), UNREAD, TIMEOUT), sample((0, 1), NumericalVerdict(1.0, 1.0))]
    imported(tmp_path / "run", (NUMBER, replies))
    own, again = there_and_back(tmp_path / "run", tmp_path, scenarios_in(tmp_path), "csv", "jsonl")
    assert own == again
    assert b"The reply failed, too: timeout: gone" in own


def test_numbers_judged_one_by_one_stay_so(tmp_path: Path) -> None:
    """A verdict on each neutral reply about a number is told from a joint one."""
    point = NumericalVerdict(62.0, 62.0)
    replies = [sample((1, run), point) for run in (1, 2, 3)] + [sample((0, 1), point)]
    imported(tmp_path / "run", (NUMBER, replies), source=replace(SOURCE, judge_numbers="apart"))
    own, again = there_and_back(tmp_path / "run", tmp_path, scenarios_in(tmp_path), "parquet", "jsonl")
    assert own == again


@pytest.mark.parametrize(
    "options", [{"placebo": True, "self_report": True}, {"traces": True}, {"construct": ("performance", "suspicion")}]
)
def test_controls_and_answers_on_statements_come_back(tmp_path: Path, options: dict[str, Any]) -> None:
    """What a run asked beyond the method is in its JSONL, and in the run that is made of it."""
    run = measured(tmp_path / "run", scenarios="starter", limit=6, **options)
    own, again = there_and_back(run, tmp_path, "starter", "jsonl", "jsonl")
    assert own == again


def test_a_run_on_the_beliefs_of_another_says_whose(tmp_path: Path) -> None:
    """The column that names the run whose beliefs they are is there again."""
    base = measured(tmp_path / "base", scenarios="starter", limit=6)
    run = measured(tmp_path / "run", scenarios="starter", limit=6, system_prompt="honest", beliefs_from=str(base))
    own, again = there_and_back(run, tmp_path, "starter", "csv", "csv")
    assert own == again


def test_rates_of_a_drawn_sample_are_the_same(tmp_path: Path) -> None:
    """Weights come along, so that estimates and intervals are the run's own."""
    run = measured(tmp_path / "run", scenarios="starter", sample=12, beliefs=2)
    write(run, None, "csv", tmp_path / "rows.csv")
    import_run(tmp_path / "rows.csv", tmp_path / "again", "starter", subject="x", environ={})
    assert score(tmp_path / "again").rates == score(run).rates
    assert outcomes_of(tmp_path / "again") == outcomes_of(run)


def test_a_filter_that_counts_as_evasion_counts_so_again(tmp_path: Path) -> None:
    """The setting is read from the rows: a withheld statement with an outcome is an evasion."""
    direct = [sample(place, letter("A")) for place in ((1, 1), (1, 2), (1, 3), (2, 1), (3, 1))]
    withheld = Failure("subject", "filtered", "withheld")
    source = replace(SOURCE, known={"filtered": "evasive"})
    imported(tmp_path / "run", (BINARY, [*direct, sample((0, 1), None, withheld)]), source=source)
    own, again = there_and_back(tmp_path / "run", tmp_path, scenarios_in(tmp_path), "jsonl", "jsonl")
    assert own == again
    assert orjson.loads(own)["outcomes"] == ["evasive"]


def test_what_rows_do_not_hold_is_refused_by_row(tmp_path: Path) -> None:
    """Rows of a second look, of a dispute and of lies alone are no whole verdict set."""
    imported(tmp_path / "run", (BINARY, everything()[0][1]))
    write(tmp_path / "run", None, "jsonl", tmp_path / "rows.jsonl")
    whole = orjson.loads((tmp_path / "rows.jsonl").read_bytes())
    odd = [
        whole | {"second_probability": 0.5},
        whole | {"outcomes": ["disputed"] * 3},
        whole | {"outcomes": ["no_lie"] * 3},
        whole | {"construct": [{"colour": "red"}]},
        whole | {"later": 1},
    ]
    (tmp_path / "odd.jsonl").write_bytes(b"\n".join(map(orjson.dumps, odd)))
    with pytest.raises(ScenarioError) as raised:
        import_run(tmp_path / "odd.jsonl", tmp_path / "new", scenarios_in(tmp_path), subject="x", environ={})
    assert sorted(problem.row or 0 for problem in raised.value.problems) == [1, 2, 3, 4, 5]
    assert not (tmp_path / "new").exists()


def test_a_weight_that_no_scenario_can_have_is_refused_by_row(tmp_path: Path) -> None:
    """A weight that is nothing, negative, endless or too large for any sum leaves no folder behind."""
    imported(tmp_path / "run", (BINARY, everything()[0][1]))
    write(tmp_path / "run", None, "csv", tmp_path / "rows.csv")
    names, cells = csv.reader((tmp_path / "rows.csv").read_text("utf-8").splitlines())
    whole: Cells = {**dict(zip(names, cells, strict=True))}
    odd = [whole | {"weight": weight} for weight in ("0", "-1", "nan", "inf", "1e300")]
    write_csv(tmp_path / "odd.csv", odd)
    with pytest.raises(ScenarioError, match="its weight is nan") as raised:
        import_run(tmp_path / "odd.csv", tmp_path / "new", scenarios_in(tmp_path), subject="x", environ={})
    assert len(raised.value.problems) == 5
    assert not (tmp_path / "new").exists()


def test_the_subject_has_to_be_named(tmp_path: Path) -> None:
    """Rows do not say which model answered, and nobody guesses."""
    imported(tmp_path / "run", (BINARY, everything()[0][1]))
    write(tmp_path / "run", None, "csv", tmp_path / "rows.csv")
    with pytest.raises(UsageError, match="--subject NAME"):
        import_run(tmp_path / "rows.csv", tmp_path / "new", scenarios_in(tmp_path), environ={})
