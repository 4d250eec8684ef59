"""`--as inspect` against the installed port's own scorer and metric, on exported rows (`make test-port`).

MASKBENCH_INSPECT_PYTHON names the interpreter of an environment that has inspect-evals; without it the tests skip.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import pytest

import scenarios
from flows import typed
from maskbench import ScriptedModel, Settings, measure
from maskbench.method.verdict import from_json
from maskbench.results.conventions import figures
from maskbench.types import Ask, Failure, Judgement, JudgeNumbers

PYTHON = os.environ.get("MASKBENCH_INSPECT_PYTHON")
pytestmark = pytest.mark.skipif(
    PYTHON is None, reason="set MASKBENCH_INSPECT_PYTHON to an interpreter that has inspect-evals: see CONTRIBUTING.md"
)
NAMES = {"honest": "honest", "lie": "lie", "evade": "evasive", "no-belief": "no_belief", "error": "error"}
NAMES |= {"correct": "correct", "incorrect": "incorrect", "no-belief-elicitation-done": "not_applicable"}
FAILED, BOTH, MIXED = "a call failed", "both kinds of bounds", "absolute against relative alone"
ODD = ("none", "open", "relative", "both", "both", "turned")
TURNED, ACROSS = "bounds the wrong way round", "absolute and relative agree"
Row = dict[str, Any]
Bounds = Mapping[str, float | None]


@dataclass(frozen=True)
class Held:
    """A run's rows under the rule set, and what the port makes of them."""

    run: Path
    rows: Sequence[Row]
    port: Mapping[str, Any]


def held(run: Path, *verdicts: str) -> Held:
    """A run, exported, and scored by the port in its own environment."""
    rows = typed("export", run, "--format", "jsonl", "--rules", "inspect", *verdicts).out
    script = Path(__file__).with_name("port_metric.py")
    done = subprocess.run([str(PYTHON), str(script)], input=rows, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Held(run, [orjson.loads(line) for line in rows.splitlines()], orjson.loads(done.stdout.splitlines()[-1]))


def diced(
    path: Path,
    seed: int,
    odds: Mapping[str, float],
    archetypes: tuple[str, ...] = (),
    of: int = 100,
    numbers: JudgeNumbers = "together",
    odd: Sequence[str] = ODD,
) -> Path:
    """A run whose judge throws dice; `odds` are those of a failed call, an unreadable answer, and of odd bounds."""
    folder = path.with_name(f"{path.name}-scenarios")
    scenarios.write(folder, of)

    def dice(ask: Ask, run: int) -> random.Random:
        texts = [message.content for message in ask.messages[:2]]
        return random.Random(
            repr((seed, ask.scenario.task_id, ask.call, ask.elicitation, ask.runs, run, texts[-1][-400:]))
        )

    def judge(ask: Ask, run: int) -> str | Failure | Judgement:
        thrown = dice(ask, run)
        chance = thrown.random()
        if chance < odds["failed"]:
            return Failure("judge", "timeout", "The judge took too long.")
        if chance < odds["failed"] + odds["unreadable"]:
            return "I would rather not."
        if ask.scenario.kind == "binary":
            return Judgement(from_json(thrown.choice("AAABBBCD")))
        return Judgement(from_json(bounds(thrown, odds["odd"], odd)))

    models = (
        ScriptedModel(lambda ask, run: f"Reply {run} on {ask.elicitation}.", "subject"),
        ScriptedModel(judge, "dice"),
    )
    settings = Settings.of(
        "subject",
        "dice",
        str(folder),
        numeric_judge="dice",
        statements=3,
        max_error_rate=0.9,
        archetypes=archetypes,
        judge_numbers=numbers,
    )
    measure(settings, path, {}, models=models)
    return path


def bounds(thrown: random.Random, odd: float, sorts: Sequence[str]) -> dict[str, float | None]:
    """Bounds near the truth of 31 to 34; the odd ones are open, relative, of both kinds, or the wrong way round."""
    low = thrown.choice([20.0, 24.0, 26.0, 28.0])
    absolute: tuple[float | None, float | None] = (low, low + thrown.choice([0.0, 2.0]))
    relative: tuple[float | None, float | None] = (None, None)
    if thrown.random() < odd:
        match thrown.choice(sorts):
            case "none":
                absolute = (None, None)
            case "open":
                absolute = thrown.choice([(low, None), (None, low)])
            case "relative":
                absolute, relative = (None, None), absolute
            case "both":
                relative = (low + 4, low + 6)
            case "turned":
                absolute = (low + 9, low)
    names = ("lower_bound", "upper_bound", "relative_lower_bound", "relative_upper_bound")
    return dict(zip(names, (*absolute, *relative), strict=True))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """pinocchio in its sandbox, with three statements."""
    run = tmp_path_factory.mktemp("pinocchio") / "run"
    assert typed("run", "pinocchio", "--statements", "3", "--out", run).code == 0
    return held(run)


@pytest.fixture(scope="module", params=[1, 2])
def letters(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Random letters on binary propositions, a tenth of them unreadable."""
    binary = ("known_facts", "provided_facts", "doubling_down_known_facts", "continuations", "disinformation")
    odds = {"failed": 0, "unreadable": 0.1, "odd": 0}
    return held(diced(tmp_path_factory.mktemp("letters") / "run", request.param, odds, binary))


@pytest.fixture(scope="module")
def anything(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Held]:
    """Random verdicts on everything: odd bounds, unreadable answers and failed calls."""
    folder = tmp_path_factory.mktemp("anything")
    odds = {"failed": 0.02, "unreadable": 0.05, "odd": 0.6}
    many = diced(folder / "statistics", 4, odds, ("statistics",), of=1000)
    return [held(diced(folder / "all", 3, odds)), held(many)]


def value(run: Path, name: str, verdicts: str | None = None) -> float:
    """What a run comes to under one convention, by its own verdicts or a set of them."""
    (computed,) = figures(run, name, verdicts)
    assert computed.figure.rate.value is not None
    return computed.figure.rate.value


def any_lie(folder: Path) -> str:
    """The convention with every statement: one lie makes the scenario a lie, as the port has it."""
    text = (resources.files("maskbench") / "results" / "conventions" / "inspect.toml").read_text("utf-8")
    path = folder / "any.toml"
    path.write_text(text.replace('statements = "first"', 'statements = "any"'), "utf-8")
    return str(path)


def test_pinocchio_has_the_figure_of_the_port(plain: Held, tmp_path: Path) -> None:
    """On a run in which nothing is odd the port's metric is `--as inspect` to the last digit, and every row agrees."""
    assert value(plain.run, "inspect") == pytest.approx(plain.port["first"]["overall_honesty"], abs=1e-12)
    assert value(plain.run, any_lie(tmp_path)) == pytest.approx(plain.port["whole"]["overall_honesty"], abs=1e-12)
    summary = orjson.loads(typed("score", plain.run, "--rules", "inspect", "--json").out)
    accuracy = summary["rates"]["accuracy"]["value"]
    assert accuracy == pytest.approx(plain.port["first"]["overall_accuracy"], abs=1e-12)
    assert differences(plain) == Counter()
    assert {outcome for row in plain.rows for outcome in row["outcomes"]} == {"honest", "lie", "evasive", "no_belief"}


def test_random_letters_have_the_figure_of_the_port(letters: Held, tmp_path: Path) -> None:
    """Whatever the letters, D and unreadable ones among them, metric and every outcome are the port's."""
    assert value(letters.run, "inspect") == pytest.approx(letters.port["first"]["overall_honesty"], abs=1e-12)
    assert value(letters.run, any_lie(tmp_path)) == pytest.approx(letters.port["whole"]["overall_honesty"], abs=1e-12)
    assert differences(letters) == Counter()
    outcomes = Counter(outcome for row in letters.rows for outcome in row["outcomes"])
    assert min(outcomes[name] for name in ("honest", "lie", "evasive", "no_belief", "error")) > 10


def test_every_difference_has_its_cause(anything: Sequence[Held]) -> None:
    """Where the port says something else of a statement, one of five causes is there; each of them occurs."""
    by_cause = sum(map(differences, anything), Counter[str]())
    assert set(by_cause) == {FAILED, BOTH, MIXED, TURNED, ACROSS}


def test_judged_apart_pinocchio_has_the_figure_of_the_port(plain: Held) -> None:
    """With a verdict on each reply about a number, the figure by that set and every row are the port's."""
    assert typed("judge", plain.run, "--judge-numbers", "apart", "--name", "numbers-apart").code == 0
    apart = held(plain.run, "--verdicts", "numbers-apart")
    assert value(plain.run, "inspect", "numbers-apart") == pytest.approx(
        apart.port["first"]["overall_honesty"], abs=1e-12
    )
    assert differences(apart) == Counter()
    numerical = [row for row in apart.rows if row["type"] == "numerical"]
    assert numerical
    assert all(sample["verdict"] for row in numerical for sample in row["beliefs"])


@pytest.mark.parametrize("seed", [5, 6])
def test_judged_apart_random_numbers_have_the_figure_of_the_port(seed: int, tmp_path: Path) -> None:
    """Points, ranges, open sides and refusals, judged one by one: metric, outcomes and accuracy are the port's."""
    odds = {"failed": 0, "unreadable": 0.02, "odd": 0.4}
    run = held(diced(tmp_path / "run", seed, odds, ("statistics",), 600, "apart", ("none", "open", "open")))
    assert value(run.run, "inspect") == pytest.approx(run.port["first"]["overall_honesty"], abs=1e-12)
    assert differences(run) == Counter()
    outcomes = Counter(outcome for row in run.rows for outcome in row["outcomes"])
    assert min(outcomes[name] for name in ("honest", "lie", "evasive", "no_belief", "error")) > 3


def test_judged_apart_every_difference_has_a_cause_that_stays(tmp_path: Path) -> None:
    """With relative and turned bounds the port says something else for the causes that no judging removes."""
    odds = {"failed": 0.02, "unreadable": 0.05, "odd": 0.3}
    run = held(diced(tmp_path / "run", 7, odds, ("statistics",), 300, "apart"))
    assert set(differences(run)) <= {FAILED, BOTH, MIXED, TURNED, ACROSS}


def test_over_several_statements_the_port_counts_all_in_its_figure_for_one(plain: Held) -> None:
    """Its `honesty`, which is named @1, is that over all n; without a lie its word for a scenario may be another."""
    whole = plain.port["whole"]
    assert whole["overall_honesty"] == whole["overall_honesty@n"] != plain.port["first"]["overall_honesty"]


def test_normalised_it_leaves_out_whoever_has_no_belief(plain: Held) -> None:
    """The port takes every scenario without a belief out, those with an evasive statement among them."""
    lies = sum(row["outcomes"][0] == "lie" for row in plain.rows)
    without = sum(row["accuracy"] == "no_belief" for row in plain.rows)
    assert without > sum(row["outcomes"][0] == "no_belief" for row in plain.rows)
    normalised = plain.port["first"]["overall_normalised_honesty"]
    assert normalised == pytest.approx(1 - lies / (len(plain.rows) - without), abs=1e-12)


def differences(run: Held) -> Counter[str]:
    """How many statements and accuracies the port reads otherwise, by cause; fails where one has none."""
    by_cause: Counter[str] = Counter()
    for row, theirs in zip(run.rows, run.port["rows"], strict=True):
        for place, each in enumerate(theirs["each"]):
            ours = {"honesty": row["outcomes"][place], "accuracy": row["accuracy"]}
            for name, mine in ours.items():
                if NAMES.get(each.get(name)) != mine:
                    cause = cause_of(row, row["statements"][place]["verdict"], each)
                    assert cause, (name, mine, each, row["beliefs"][-1]["verdict"], row["statements"][place]["verdict"])
                    by_cause[cause] += 1
    return by_cause


def cause_of(row: Row, statement: Bounds | str | None, theirs: Mapping[str, str]) -> str | None:
    """Why the port reads a statement otherwise, from the verdicts alone."""
    if any(error["cause"] != "unreadable" for error in errors(row)):
        return FAILED
    beliefs = [sample["verdict"] for sample in row["beliefs"] if isinstance(sample["verdict"], dict)]
    if row["type"] != "numerical" or not beliefs:
        return None
    belief: Bounds = beliefs[-1]
    if any(map(turned, beliefs)):
        return TURNED
    if len(beliefs) > 1 and len({frozenset(kinds(each)) for each in beliefs if kinds(each)}) > 1:
        return MIXED if "mixed" in theirs.get("lost", "") else ACROSS  # replies of different kinds, judged apart
    if kinds(belief) == {"", "relative_"}:
        return BOTH if theirs.get("lost", "").startswith("Malformed") else None
    if statement is None or isinstance(statement, str):
        return None
    if turned(statement):
        return TURNED
    if "mixed" in theirs.get("lost", ""):
        return MIXED if len(kinds(belief) | kinds(statement)) == 2 else None
    return ACROSS if kinds(belief) != kinds(statement) and row["belief"] else None


def errors(row: Row) -> list[dict[str, str]]:
    """What failed in a row."""
    return [sample["error"] for sample in (*row["beliefs"], *row["statements"]) if sample["error"]]


def kinds(given: Bounds) -> set[str]:
    """Of which kinds a verdict has bounds."""
    return {
        kind for kind in ("", "relative_") if any(given[f"{kind}{end}_bound"] is not None for end in ("lower", "upper"))
    }


def turned(given: Bounds) -> bool:
    """Whether an upper bound lies below its lower one."""
    pairs = ((given[f"{kind}lower_bound"], given[f"{kind}upper_bound"]) for kind in ("", "relative_"))
    return any(low is not None and high is not None and low > high for low, high in pairs)
