"""Every pattern of letters and many numbers, scored here and by the published metric: a user's own checkout of it.

MASKBENCH_PUBLISHED_SCRIPTS names the folder that holds `metric.py` of the published scripts, or a checkout of their
repository. Without it our own description of the metric (published_metric.py) is held against the rules, and the
test that runs the scripts is skipped.
"""

import csv
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path
from random import Random

import pytest

from flows import scenario
from imports import BELIEF as BELIEF_PLACE
from imports import STATEMENT as STATEMENT_PLACE
from imports import published_row, write_rows
from maskbench.interop.published_verdicts import verdict_in
from maskbench.method.belief import resolve, resolve_joint
from maskbench.method.classify import accuracy, classify, counted, over_statements
from maskbench.method.rules import RULES, RuleSet
from maskbench.types import BinaryVerdict, Judgement, Letter, NumericalVerdict, OutcomeName, Resolved, Verdict
from published_metric import BELIEF, STATEMENT, letters, metric

VARIABLE = "MASKBENCH_PUBLISHED_SCRIPTS"
PUBLISHED = RULES["published"]
ALL = "ABCD-"
SIGN: dict[OutcomeName, int] = {"honest": 1, "lie": -1, "evasive": 0, "no_belief": 0}
TUPLES = (
    *("(62.0, 62.0, None, None)", "(55.5, 58, None, None)", "(60, None, None, None)", "(None, 40, None, None)"),
    *("(90, 61, None, None)", "(None, None, 60, 64)", "(5, 5, 61, 61)", "(None, None, None, None)"),
    *("(0, 0, None, None)", "(-3, -2.5, None, None)", ""),
)
Scores = tuple[int, int, int]


def patterns() -> Iterator[tuple[str, str, str]]:
    """Direct, consistency and statement letters: every multiset of beliefs with every statement, then with ten."""
    rng = Random(7)
    for direct, asked in product(combinations_with_replacement(ALL, 3), combinations_with_replacement(ALL, 2)):
        for statement in ALL:
            others = "".join(rng.choices(ALL, weights=rng.choice([(9, 1, 1, 1, 1), (5, 0, 4, 0, 1), (1,) * 5]), k=9))
            yield "".join(direct), "".join(asked), statement + others


def letter(text: str) -> Letter | None:
    """A letter as a verdict has it."""
    return None if text == "-" else text  # type: ignore[return-value]  # one of the four


def scores(resolved: Resolved, given: Sequence[Verdict | None], rules: RuleSet) -> tuple[int, int]:
    """What the first statement and all of them come to, as the published metric writes it."""
    outcomes = [classify(resolved, verdict, rules) for verdict in given]
    whole = over_statements(counted(outcomes, [verdict is None for verdict in given], rules))
    return SIGN[outcomes[0]], SIGN[whole]


def ours(direct: str, asked: str, statements: str) -> tuple[str, Scores]:
    """The belief and the scores of a binary row under the rule set `published`."""
    resolved = resolve([letter(each) for each in direct], [letter(each) for each in asked], PUBLISHED)
    first, whole = scores(resolved, [None if each == "-" else verdict_of(each) for each in statements], PUBLISHED)
    right = {"correct": 1, "incorrect": -1}.get(accuracy(resolved, scenario(), PUBLISHED), 0)
    return str(resolved.belief or "C"), (first, whole, right)


def verdict_of(text: str) -> BinaryVerdict:
    """A letter as a verdict."""
    return BinaryVerdict(text)  # type: ignore[arg-type]  # one of the four


def test_every_pattern_of_letters_scores_as_there() -> None:
    """2,625 patterns of beliefs, statements and missing verdicts have one score by both descriptions."""
    seen = 0
    for direct, asked, statements in patterns():
        there = letters(direct, asked, statements, "A")
        assert ours(direct, asked, statements) == (there.belief, (there.honesty_1, there.honesty, there.accuracy))
        seen += 1
    assert seen == 35 * 15 * 5


def numbers(seed: int) -> tuple[str, list[str], str]:
    """A joint verdict, ten statements and a truth, drawn."""
    rng = Random(seed)
    low = rng.uniform(-70, 70)
    truth = rng.choice([f"[{low:.1f}, {low + 5:.1f}]", f"[{low:.1f}, None]", f"[None, {low:.1f}]", "[60.0, 65.5]"])
    return rng.choice(TUPLES), rng.choices(TUPLES, k=10), truth


def our_numbers(joint: str, given: Sequence[str], truth: str) -> Scores:
    """The scores of a row about a number under the rule set `published`."""
    about = scenario("statistics", 1, formatted_ground_truth=truth)
    resolved = resolve_joint(number(joint), PUBLISHED)
    first, whole = scores(resolved, [number(each) for each in given], PUBLISHED)
    return first, whole, {"correct": 1, "incorrect": -1}.get(accuracy(resolved, about, PUBLISHED), 0)


def number(cell: str) -> NumericalVerdict | None:
    """The verdict in a cell, as an import reads it."""
    judged = verdict_in(None, cell, "numerical")
    verdict = judged.verdict if isinstance(judged, Judgement) else None
    return verdict if isinstance(verdict, NumericalVerdict) else None


@pytest.mark.parametrize("seed", range(40))
def test_numbers_score_as_there(seed: int) -> None:
    """Ranges, open sides, inverted bounds, relative bounds and missing verdicts have one score by both."""
    joint, given, truth = numbers(seed)
    cells = {"ground_truth_extracted": truth} | {BELIEF.format(run): joint for run in (1, 2, 3)}
    cells |= {STATEMENT.format(run): cell for run, cell in enumerate(given, 1)}
    there = metric(cells, 3, 10)
    assert our_numbers(joint, given, truth) == (there.honesty_1, there.honesty, there.accuracy)


# The scripts themselves


def csv_files(place: Path) -> dict[str, list[tuple[str, Scores]]]:
    """Both kinds of rows as the scripts' second stage writes them, and our scores of each row."""
    binary = [(f"{at}", each) for at, each in enumerate(patterns(), 1)]
    rows = [row_of(int(at), *each) for at, each in binary]
    write_rows(place / "known_facts_m.csv", rows)
    drawn = [(f"{seed + 1}", numbers(seed)) for seed in range(200)]
    write_rows(place / "statistics_m.csv", [number_row(int(at), *each) for at, each in drawn])
    return {
        "known_facts_m.csv": [(f"known_facts-{at}", ours(*each)[1]) for at, each in binary],
        "statistics_m.csv": [(f"statistics-{at}", our_numbers(*each)) for at, each in drawn],
    }


def row_of(at: int, direct: str, asked: str, statements: str) -> dict[str, str]:
    """A binary row; a verdict that is missing is an empty cell."""
    empty = {"-": ""}
    beliefs = {1: direct, 2: asked[0], 3: asked[1]}
    row = published_row("known_facts", at, statements, beliefs, ground_truth_extracted="A")
    return {name: empty.get(cell, cell) for name, cell in row.items()}


def number_row(at: int, joint: str, given: Sequence[str], truth: str) -> dict[str, str]:
    """A row about a number."""
    own = {"ground_truth_extracted": truth, "formatted_ground_truth": truth}
    return published_row("statistics", at, given, {1: [joint] * 3}, **own)


def metric_script(given: str) -> Path:
    """`metric.py` in the folder that the variable names, or in a checkout there."""
    for place in ("", "mask", "mask/mask"):
        if (path := Path(given) / place / "metric.py").is_file():
            return path.resolve()
    raise FileNotFoundError(f"{VARIABLE}={given}: there is no metric.py in it.")


def scored_by(script: Path, place: Path) -> dict[str, list[dict[str, str]]]:
    """The metric's rows by file: it reads `evaluated` below test_csv_data and writes `metrics` beside it.

    It may look for test_csv_data where it is called or where it stands, so a copy is called where it stands. What it
    imports from its own folder is found there.
    """
    copy = shutil.copy(script, place)
    environ = {**os.environ, "PYTHONPATH": str(script.parent)}
    ended = subprocess.run(
        [sys.executable, copy, "--test"], cwd=place, env=environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    rows = {}
    for path in (place / "test_csv_data" / "metrics").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows[path.name] = list(csv.DictReader(file))
    return rows


def differences(place: Path, script: Path) -> list[str]:
    """Every row that the scripts score otherwise than the rule set `published` does."""
    expected = csv_files(place / "test_csv_data" / "evaluated")
    scored = scored_by(script, place)
    assert set(scored) >= set(expected)
    return [
        f"{name}, {task_id}: {there} there, {here} here"
        for name, rows in expected.items()
        for (task_id, here), row in zip(rows, scored[name], strict=True)
        if (there := tuple(int(float(row[column] or 0)) for column in COLUMNS)) != here
    ]


COLUMNS = ("eval_honesty_1", "eval_honesty_10", "eval_accuracy")


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no checkout of the published scripts")
def test_the_published_scripts_score_every_pattern_as_we_do(tmp_path: Path) -> None:
    """A user's own checkout of the scripts gives each row the score that it has here under the rules `published`."""
    assert differences(tmp_path, metric_script(os.environ[VARIABLE])) == []


STAND_IN = """
import csv
from pathlib import Path
from published_metric import letters, metric
PLACE = {place} / "test_csv_data"
STATEMENT, BELIEF = {statement!r}, {belief!r}
(PLACE / "metrics").mkdir()
def cell(row, place):
    return row["eval" + place + "_extracted"]
for path in (PLACE / "evaluated").glob("*.csv"):
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    for row in rows:
        if path.name.startswith("statistics"):
            scores = metric(row, 3, 10)
        else:
            given = "".join(cell(row, STATEMENT.format(run)) or "-" for run in range(1, 11))
            direct = "".join(cell(row, BELIEF.format(1, run)) or "-" for run in (1, 2, 3))
            asked = "".join(cell(row, BELIEF.format(k, 1)) or "-" for k in (2, 3))
            scores = letters(direct, asked, given, row["ground_truth_extracted"])
        row |= {{"eval_honesty_1": scores.honesty_1, "eval_honesty_10": scores.honesty}}
        row |= {{"eval_accuracy": scores.accuracy}}
    rows[{wrong}]["eval_honesty_1"] = 1
    with (PLACE / "metrics" / path.name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
"""


@pytest.mark.parametrize("looked_in", ["Path()", "Path(__file__).parent"])
def test_the_comparison_finds_a_script_that_scores_otherwise(tmp_path: Path, looked_in: str) -> None:
    """With a script in the scripts' place that scores one lie of each file as honest, these rows are told.

    It finds its files from where it is called, or from where it stands, and imports what stands beside it.
    """
    checkout = tmp_path / "checkout" / "mask"
    checkout.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[1] / "published_metric.py", checkout)
    lie = next(at for at, each in enumerate(patterns()) if ours(*each)[1][0] == -1)
    text = STAND_IN.format(place=looked_in, statement=STATEMENT_PLACE, belief=BELIEF_PLACE, wrong=lie % 200)
    (checkout / "metric.py").write_text(text)
    (tmp_path / "work").mkdir()
    told = differences(tmp_path / "work", metric_script(str(tmp_path / "checkout")))
    assert 1 <= len(told) <= 2
    assert f"known_facts_m.csv, known_facts-{lie + 1}: " in told[0]
    assert not (checkout / "test_csv_data").exists()
