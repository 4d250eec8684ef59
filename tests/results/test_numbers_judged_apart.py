"""Numbers judged apart in a verdict set of their own, and the figure of the port by it."""

import csv
from pathlib import Path

import orjson
import pytest

from flows import typed
from maskbench.measurement import measure
from maskbench.method.forms.case import replies_in
from maskbench.models.scripted import ScriptedModel
from maskbench.results.conventions import ConventionFigures, figures
from maskbench.settings import Settings, protocol_id
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Ask, Judgement, NumericalVerdict
from measured_runs import run, settings

LIMIT = 12  # scenarios: two of each archetype


@pytest.fixture(scope="module")
def joint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose numbers were judged together."""
    return run(tmp_path_factory.mktemp("numbers") / "a run", limit=LIMIT)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a run with a verdict set in which each reply about a number has its own verdict."""
    path = run(tmp_path_factory.mktemp("numbers") / "a run", limit=LIMIT, judge="sim-judge/accuracy=0.7")
    assert typed("judge", path, "--judge-numbers", "apart", "--name", "numbers-apart").code == 0
    return path


def inspect(path: Path, verdicts: str | None = None) -> ConventionFigures:
    """What a run comes to as the port has it."""
    (computed,) = figures(path, "inspect", verdicts)
    return computed


def test_where_numbers_were_judged_together_the_figure_says_so(joint: Path) -> None:
    """The figure is there, and names what keeps it from the port's, and how it would be removed."""
    told = inspect(joint)
    assert told.figure.rate.value is not None
    assert told.differs[0].startswith("numerical beliefs: the replies to a question were judged together here")
    assert "--judge-numbers apart" in told.differs[0]


def test_by_the_set_the_figure_is_that_of_its_rows(apart: Path) -> None:
    """The figure by the set is that of its exported rows, and says nothing of numbers more."""
    told = inspect(apart, "numbers-apart")
    rows = typed("export", apart, "--format", "jsonl", "--rules", "inspect", "--verdicts", "numbers-apart").out
    outcomes = [orjson.loads(line)["outcomes"][0] for line in rows.splitlines()]
    assert told.figure.rate.value == pytest.approx(1 - outcomes.count("lie") / len(outcomes), abs=1e-12)
    assert not any(line.startswith("numerical beliefs") for line in told.differs)


def test_each_reply_about_a_number_has_its_own_verdict(apart: Path) -> None:
    """In the new set three replies have three verdicts; in the run's own the last one alone has the joint one."""
    with OpenRun(RunFolder(apart)) as opened:
        names = ("default", "numbers-apart")
        (samples, *_) = [each for each, _ in opened.store.read(*names) if each.scenario.kind == "numerical"]
        had = {
            name: [item.judgement for item in opened.verdicts(name).items(samples) if item.elicitation == 1]
            for name in names
        }
    assert [judgement is None for judgement in had["default"]] == [True, True, False]
    assert all(isinstance(getattr(each, "verdict", None), NumericalVerdict) for each in had["numbers-apart"])


def test_only_the_numbers_are_asked_for_again(joint: Path, apart: Path) -> None:
    """What the run's own set has on everything else is taken over: the judge is asked about numbers alone."""
    planned = orjson.loads(typed("judge", joint, "--judge-numbers", "apart", "--dry-run", "--json").out)
    numerical = sum(scenario.kind == "numerical" for scenario, _ in RunFolder(joint).store().scenarios())
    assert planned["verdicts"] == 3 * numerical
    asked = orjson.loads(typed("score", apart, "--verdicts", "numbers-apart", "--json").out)["usage"]["judge"]
    assert 0 < asked["answers"] <= 3 * numerical
    own = [orjson.loads(line) for line in typed("export", apart, "--format", "jsonl").out.splitlines()]
    more = typed("export", apart, "--format", "jsonl", "--verdicts", "numbers-apart").out.splitlines()
    others = [orjson.loads(line) for line in more]
    for row, other in zip(own, others, strict=True):
        assert row["statements"] == other["statements"]
        assert row["type"] == "numerical" or row["beliefs"] == other["beliefs"]


def test_such_a_set_is_no_further_judge(apart: Path) -> None:
    """A verdict on one reply and one on all three are about different texts: agreement counts neither as another's."""
    with OpenRun(RunFolder(apart)) as opened:
        assert opened.whole() == ["default"]


def test_a_run_is_judged_apart_from_the_start(tmp_path: Path) -> None:
    """`run --judge-numbers apart` needs no further set, and a truthful judge finds what it finds together."""
    path, other = (run(tmp_path / how, limit=LIMIT, judge_numbers=how) for how in ("apart", "together"))
    assert not any(line.startswith("numerical beliefs") for line in inspect(path).differs)
    counts = [orjson.loads((each / "summary.json").read_bytes())["counts"] for each in (path, other)]
    assert counts[0] == counts[1]


def test_a_run_without_numbers_has_nothing_to_judge_otherwise(tmp_path: Path) -> None:
    """The figure of such a run is the port's as it is, and the option is refused before anything is written."""
    path = run(tmp_path / "run", archetypes=("known_facts",), limit=2)
    assert inspect(path).differs[0].startswith("scenarios")
    ended = typed("judge", path, "--judge-numbers", "apart")
    assert (ended.code, "asks for a belief in a number" in ended.err) == (2, True)
    assert RunFolder(path).read().verdict_sets == {}


def test_the_setting_is_off_by_default_and_part_of_the_protocol() -> None:
    """The protocol id is the usual one; with numbers apart it is another one."""
    assert protocol_id(Settings.of("sim", "sim-judge", "starter"), "p") == "1e1082bfe4fc"
    assert protocol_id(settings("sim", judge_numbers="apart"), "p") != protocol_id(settings("sim"), "p")


def first_number(ask: Ask) -> Judgement:
    """A judge that takes the first reply as the number that it is."""
    number = float(replies_in(ask)[0])
    return Judgement(NumericalVerdict(number, number))


def test_exported_as_the_published_code_has_it_one_verdict_stands_with_every_reply(tmp_path: Path) -> None:
    """In the published columns a joint verdict stands with every reply; of separate ones what they come to does."""
    cells: dict[str, list[str]] = {}
    for how in ("together", "apart"):
        models = (
            ScriptedModel(lambda _ask, sample: str(sample), "counter"),
            ScriptedModel(lambda ask, _sample: first_number(ask), "reader"),
        )
        chosen = {"judge": "reader", "numeric_judge": "reader", "archetypes": ("statistics",), "limit": 1}
        measure(settings("counter", **chosen, judge_numbers=how), tmp_path / how, {}, models=models)
        assert typed("export", tmp_path / how, "--format", "published", "--out", tmp_path / "csv" / how).code == 0
        (file,) = (tmp_path / "csv" / how).glob("statistics_*.csv")
        with file.open(encoding="utf-8", newline="") as lines:
            (row,) = csv.DictReader(lines)
        cells[how] = [row[f"eval(belief_system_1 + belief_elicit_1)_run{place}_extracted"] for place in (1, 2, 3)]
    assert cells["together"] == ["(1.0, 1.0, None, None)"] * 3
    assert cells["apart"] == ["(None, None, None, None)"] * 3
    told = [row[f"eval(belief_system_1 + belief_elicit_1)_run{place}"] for place in (1, 2, 3)]
    assert told == [f"Answer: ({place}.0, {place}.0, None, None)" for place in (1, 2, 3)]
