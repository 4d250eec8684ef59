"""docs/statistics.md: its worked examples come out of the code, its coverage out of the tables, and it stays short."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from maskbench.method.chance import AB, Design, coin
from maskbench.method.rules import RULES
from maskbench.report.sections import scenarios_needed
from maskbench.results.designs import plan
from maskbench.stats.intervals import Estimate, ratio
from maskbench.stats.paired import sign_flip
from maskbench.stats.power import assumed, needed
from there import there

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "statistics.md").read_text("utf-8").split())
SCENARIOS = 100
STRAINED = "strained: 1,000 scenarios, lies fail in one run only (10 %)"


def shown(estimate: Estimate) -> str:
    """An interval as the page writes it."""
    return f"({100 * there(estimate.low):.1f}–{100 * there(estimate.high):.1f})"


def lies(count: int, scenarios: int = 1) -> Estimate:
    """P(lie) with this many lies in 100 scenarios, so many of them on each proposition."""
    ones = np.ones(SCENARIOS)
    return ratio(np.arange(SCENARIOS) < count, ones, ones, np.arange(SCENARIOS) // scenarios)


def rows_of(file_name: str, **where: str) -> list[dict[str, str]]:
    """The rows of a table that have these cells."""
    with (DOCS / file_name).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row[key] == cell for key, cell in where.items())]
    assert rows
    return rows


def column(table: str, name: str, **where: str) -> list[float]:
    """The numbers in a column of a table, of the rows that have these cells."""
    return [float(row[name]) for row in rows_of(table, **where)]


def test_the_page_is_short() -> None:
    """A reader has it in a quarter of an hour: 18 kB at most, and no table of simulations."""
    text = (DOCS / "statistics.md").read_text("utf-8")
    assert len(text.encode()) < 18_000
    assert text.count("\n|---") == 1


@pytest.mark.parametrize(
    ("estimate", "sentence"),
    [
        (lies(12), "12.0 % {}"),
        (lies(0), "No lie in 100: 0.0 % {}"),
        (lies(12, 2), "the 12 % become {}"),
    ],
)
def test_examples_of_rates_are_those_of_the_code(estimate: Estimate, sentence: str) -> None:
    """A reader who does the sum by the formula, and one who calls the function, find what is printed."""
    assert sentence.format(shown(estimate)) in PAGE


def test_wilson_by_hand() -> None:
    """The formula of the page with m = 99 and t = 1.984 gives the interval of 12 lies in 100 scenarios."""
    p, m, t = 0.12, 99, 1.984
    ends = [
        (p + t**2 / (2 * m) + sign * t * (p * (1 - p) / m + t**2 / (4 * m**2)) ** 0.5) / (1 + t**2 / m)
        for sign in (-1, 1)
    ]
    assert ends == pytest.approx([there(lies(12).low), there(lies(12).high)], abs=1e-4)


def test_the_example_of_a_comparison_is_that_of_the_code() -> None:
    """Twelve scenarios that lied only in the first run, three only in the second."""
    d = np.repeat([-1.0, 1.0, 0.0], [12, 3, 85])
    test = sign_flip(d, np.ones(SCENARIOS), np.arange(SCENARIOS), np.random.default_rng(0))
    assert f"−9.0 points, p = {there(test.p):.3f} (exact p = {there(test.exact):.3f})" in PAGE
    low, high = (f"{100 * there(end):.1f}".replace("-", "−") for end in (test.low, test.high))
    assert f"(here {low} to {high})" in PAGE
    none = sign_flip(np.zeros(SCENARIOS), np.ones(SCENARIOS), np.arange(SCENARIOS), np.random.default_rng(0))
    assert f"a hundred without a change leave ± {100 * there(none.high):.1f} points" in PAGE


def test_the_coin_is_that_of_the_code() -> None:
    """Three direct and two consistency questions, and a provided fact."""
    lie, believes = coin(Design(False, 3, 2), AB, RULES["reference"])
    assert f"({100 * believes:.2f} %), and half of these are contradicted ({100 * lie:.1f} %)" in PAGE
    given, _ = coin(Design(True, 0, 0), AB, RULES["reference"])
    assert f"A provided fact is contradicted in {100 * given:.0f} %" in PAGE


def test_the_number_of_scenarios_is_that_of_the_code() -> None:
    """n by the page's formula, for what is assumed, a difference of ten points and one statement."""
    split = assumed()
    variance = 2 * (split.scenario + split.belief - split.alike) + 2 * split.statement
    assert max(variance, 0.1 * 0.9) * (2.80 / 0.1) ** 2 == pytest.approx(needed(variance, 0.1), rel=0.01)
    assert "n = max(V, D(1 − D)) · (2.80/D)²" in PAGE


@pytest.mark.parametrize(
    ("table", "where", "sentence"),
    [
        ("coverage.csv", {"interval": "a rate, for these scenarios again"}, "Coverage is {} (`python benchmarks/cov"),
        ("coverage.csv", {"interval": "the gap between two sets"}, "(Newcombe's). Coverage is {} "),
        ("second_look_differences.csv", {}, "Coverage is {} (`python benchmarks/second_look.py`"),
    ],
)
def test_coverage_is_that_of_the_tables(table: str, where: dict[str, str], sentence: str) -> None:
    """The range that the page gives is from the least to the most covered row."""
    coverage = column(table, "coverage", **where)
    assert min(coverage) >= 0.93
    assert sentence.format(f"{min(coverage):.2f} to {max(coverage):.2f}") in PAGE


def test_the_grid_has_as_many_cells_as_the_page_says() -> None:
    """All of them, those with 0.93 or more, and pinocchio's sandboxes."""
    coverage = column("rate_grid.csv", "ratio")
    enough = sum(share >= 0.93 for share in coverage)
    assert f"Coverage is 0.93 or more in {enough} of {len(coverage)} cells" in PAGE
    (sandboxes,) = column("calibration.csv", "coverage", interval="a rate, for new scenarios of this kind")
    assert f"On 200 sandboxes of pinocchio it is {sandboxes:.2f}" in PAGE


def figures_of(figure: str, table: str | None = None) -> dict[str, float]:
    """A figure of comparisons.csv in each case that is not strained on purpose, of one table or of all."""
    rows = rows_of("comparisons.csv", figure=figure, **({"table": table} if table else {}))
    return {
        f"{number} {row['case']}": float(row["value"])
        for number, row in enumerate(rows)
        if "strained" not in row["case"]
    }


def test_figures_of_comparisons_are_those_of_the_table() -> None:
    """Coverage, false alarms, power and what a pilot leaves open are quoted as they stand, with how many pairs."""
    covered = figures_of("interval").values()
    alike = figures_of("false alarms", "no true difference").values()
    power = figures_of("power").values()
    pilot, *_ = rows_of("comparisons.csv", figure="scenarios (90 % of plans)")
    n, low, high = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", pilot["value"]))
    pairs = {row["pairs"] for row in rows_of("comparisons.csv")}
    strained, *_ = column("comparisons.csv", "value", figure="false alarms", case=STRAINED)
    for sentence in (
        f"Coverage is {min(covered):.2f} to {max(covered):.2f} at differences",
        f"false alarms are {min(alike):.2f} to {max(alike):.2f} (`python benchmarks/comparisons.py`",
        f"{pairs.pop()} pairs a row: ± 0.02",
        f"there are {100 * strained:.0f} % false alarms instead of 5",
        f"reach a power of {min(power):.2f} to {max(power):.2f} where",
        f"uncertain by some {100 * max(high - n, n - low) / n:.0f} %",
    ):
        assert sentence in PAGE
    assert not pairs


def test_figures_of_lopsided_pairs_are_those_of_the_table() -> None:
    """Where a test would be far too sure: how often there is none, and what is left with few lies and with ten."""
    table = "no true difference, lopsided"
    untested = figures_of("no test", table)
    alarms = figures_of("false alarms", table)
    few = [share for case, share in alarms.items() if case.endswith(" lies expected") and " 10 lies" not in case]
    assert len(few) == 24
    boards = figures_of("somebody beats somebody")
    worst = max(boards, key=lambda case: boards[case])
    assert worst.endswith("8 models, 10 statements, 10 lies expected")
    for sentence in (
        f"print no p (in up to {100 * max(untested.values()):.0f} % of such pairs)",
        f"False alarms are then {100 * max(few):.0f} % at most up to six expected lies, and "
        f"{100 * max(alarms.values()):.0f} % at most at ten.",
        "on boards of eight alike, with ten statements and ten expected lies, some model beats another in "
        f"{100 * boards[worst]:.0f} %.",
    ):
        assert sentence in PAGE


def test_coverage_of_corrected_rates_is_that_of_the_table() -> None:
    """P(lie) over all worlds, and with 150 labels."""
    rows = [row for row in rows_of("corrections.csv", what="rates") if row["coverage"]]
    every, of_150 = (
        [float(row["coverage"]) for row in rows if row["labels"] in labels]
        for labels in (("50", "150", "400"), ("150",))
    )
    assert f"coverage is {min(every):.2f} to {max(every):.2f} with {rows[0]['replicates']} replicates" in PAGE
    judges = " ".join((DOCS / "judges.md").read_text("utf-8").split())
    assert f"holds P(lie) in {100 * min(of_150):.0f}–{100 * max(of_150):.0f} % of cases" in judges


def test_what_wrong_labels_do_is_that_of_the_table() -> None:
    """Raters who are wrong in 3.75 % of outcomes, and a third person who is right."""
    few, many = (
        column("raters.csv", "one_rater", people="even", p_lie="0.01", labels=labels)[0] for labels in ("150", "400")
    )
    assert f"in {100 * few:.0f} % of cases with 150 labels, and in {100 * many:.0f} % with 400" in PAGE
    right = [
        row
        for people in ("even", "by class", "shared", "shared by class")
        for row in rows_of("raters.csv", people=people)
    ]
    checked = [float(row[f"{who}_checked"]) for row in right for who in ("one", "two")]
    wider = [
        float(row[f"{who}_checked_width"]) / float(row[f"{who}_rater{'s' * (who == 'two')}_width"])
        for row in right
        for who in ("one", "two")
    ]
    depth = " ".join((DOCS / "judges-in-depth.md").read_text("utf-8").split())
    assert min(checked) >= 0.95
    assert f"is {min(wider):.1f} to {max(wider):.1f} times as wide" in depth


def test_widths_on_the_grid_are_those_of_the_table() -> None:
    """What several statements are worth, against counting a scenario once."""
    rows = [row for row in rows_of("rate_grid.csv") if "apart" in row["design"] and float(row["rate"]) >= 0.2]
    three, ten = (
        np.mean(
            [float(row["ratio_width"]) / float(row["by_scenarios_width"]) for row in rows if row["statements"] == n]
        )
        for n in ("3", "10")
    )
    derived = " ".join((DOCS / "derivations.md").read_text("utf-8").split())
    assert f"With three statements it is {three:.2f}, with ten {ten:.2f} of" in derived
    assert f"rates: {len(rows_of('rate_grid.csv')):,} cells" in derived


def test_every_benchmark_and_table_that_the_page_names_is_there() -> None:
    """A command that a reader types runs something, and what it writes is shipped."""
    for script in re.findall(r"`python (benchmarks/\w+\.py)", PAGE):
        assert (DOCS.parent / script).is_file(), script
    for table in re.findall(r"\]\((\w+\.csv)\)", PAGE):
        assert (DOCS / table).is_file(), table


def test_what_two_subjects_share_has_one_denominator() -> None:
    """The page on plans and what `plan` prints mean one share: of what differs between scenarios and beliefs."""
    split = assumed()
    share = f"{100 * split.alike / (split.scenario + split.belief):.1f} %"
    comparing = (DOCS / "comparing.md").read_text("utf-8")
    assert f"two subjects share {share} of what differs between scenarios and beliefs" in comparing
    assert f"{share} of what differs between scenarios and beliefs (assumed)" in str(
        [*scenarios_needed.blocks(plan(0.05))]
    )
