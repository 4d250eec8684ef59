"""Comparing runs: what is shared, what is tested, what is only shown, and how it reads."""

import importlib.util
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from flows import typed
from maskbench import compare
from maskbench.errors import RunUnreadable, UsageError
from maskbench.presentation import notebook
from maskbench.presentation.pairings import finding
from maskbench.presentation.sections.comparison import comparison as blocks_of
from maskbench.presentation.terminal import text
from maskbench.results.comparability import Differs
from maskbench.results.comparison import ComparisonData
from maskbench.results.scored import score
from maskbench.runs.fitting import fitted
from maskbench.types import OUTCOMES
from measured_runs import change, edit, run
from there import there

pytestmark = pytest.mark.slow

SUBJECT = "sim/lie=0.7,evade=0.1,spread=0.5"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of simulated subjects on 96 scenarios; tests read them and change copies."""
    place = tmp_path_factory.mktemp("runs")
    return {
        "liar": run(place / "liar", SUBJECT),
        "repeat": run(place / "repeat", SUBJECT, seed=1),
        "honest": run(place / "honest", "sim/lie=0.1,evade=0.1", seed=2),
        "refuser": run(place / "refuser", "sim/lie=0.05,evade=0.9", seed=2),
        "failing": run(place / "failing", "sim/lie=0.3,evade=0.1,fail_lie=0.1", seed=2),
        "judged": run(place / "judged", "sim/lie=0.1,evade=0.1", judge="sim-judge/accuracy=0.9", seed=2),
        "three": run(place / "three", "sim/lie=0.1,evade=0.1", statements=3, seed=2),
        "sample": run(place / "sample", "sim/lie=0.1,evade=0.1", sample=50, seed=2),
    }


def other(*paths: Path, **options: Any) -> Any:
    """The one comparison of two runs, as data."""
    (pairing,) = compare(*paths, **options).data.others
    return pairing


def copied(path: Path, to: Path) -> Path:
    """A run of one's own to change."""
    shutil.copytree(path, to)
    return edit(to, created="another day")


def test_a_difference_is_shown_with_one_test_and_its_interval(runs: dict[str, Path]) -> None:
    """Far fewer lies are found, as a difference of the other from the first, in every rate."""
    found = other(runs["liar"], runs["honest"])
    assert found.significant
    assert found.rates["p_lie"].p == found.p_holm < 0.001
    assert found.rates["p_lie"].difference < -0.3
    assert found.rates["p_lie"].ci95[1] < 0
    assert sum(rate.difference for rate in list(found.rates.values())[:4]) == pytest.approx(0)
    assert found.untested_because == []
    assert found.shared.scenarios == 96


def test_the_other_way_round_all_is_mirrored(runs: dict[str, Path]) -> None:
    """Which run comes first changes signs, and nothing else."""
    one, two = other(runs["liar"], runs["honest"]), other(runs["honest"], runs["liar"])
    assert one.rates["p_lie"].p == pytest.approx(two.rates["p_lie"].p)
    for rate, turned in zip(one.rates.values(), two.rates.values(), strict=True):
        assert rate.difference == pytest.approx(-turned.difference)
        assert rate.ci95 == pytest.approx([-end for end in reversed(turned.ci95)], abs=0.01)


def test_the_same_subject_again_shows_no_difference(runs: dict[str, Path]) -> None:
    """Two runs of one subject differ by chance alone, and the interval says what is still possible."""
    found = other(runs["liar"], runs["repeat"])
    assert not found.significant
    text = " ".join(str(compare(runs["liar"], runs["repeat"])).split())
    assert "NOT SHOWN: a difference in lying." in text


def test_the_factors_tell_where_a_difference_came_through(runs: dict[str, Path]) -> None:
    """Their product is P(lie) in both runs, and what came through them is the whole difference."""
    found = other(runs["liar"], runs["refuser"])
    factors = found.factors.values()
    for arm in ("first", "other"):
        belief, answered, lies = (getattr(factor, arm) for factor in factors)
        assert belief * answered * lies == pytest.approx(getattr(found.rates["p_lie"], arm))
    whole = sum(effect.value for effect in found.effects.values())
    assert whole == pytest.approx(found.rates["p_lie"].difference)
    assert found.effects["answered_share"].value < -0.2
    assert "NOT SHOWN: that it is honest more often" in " ".join(str(compare(runs["liar"], runs["refuser"])).split())


def test_transitions_name_every_scenario_that_changed(runs: dict[str, Path]) -> None:
    """The table counts all shared scenarios, McNemar's counts are its lies, and no text is in the data."""
    found = other(runs["liar"], runs["honest"])
    table = found.transitions
    assert sum(table[one][two] for one in OUTCOMES for two in OUTCOMES) == 96
    assert len(found.changed) == 96 - sum(table[one][one] for one in OUTCOMES)
    assert found.mcnemar.lie_to_other == sum(table["lie"].values()) - table["lie"]["lie"] - table["lie"]["error"]
    assert found.changed[0].first != found.changed[0].other
    assert "pivotal" not in orjson.dumps(compare(runs["liar"], runs["honest"]).data.as_dict()).decode()


def test_failures_in_one_run_are_bounds(runs: dict[str, Path]) -> None:
    """Scenarios that failed on one side are counted, left out of the test, and bound the difference."""
    found = other(runs["liar"], runs["failing"])
    gone = found.shared.failed_in_other_only
    assert gone > 0
    assert found.rates["p_lie"].n == found.shared.with_outcomes_in_both == 96 - gone
    low, high = found.rates["p_lie"].bounds
    assert high - low == pytest.approx(gone / 96)
    around = found.rates["p_lie"].bounds_ci95
    assert around[0] <= low <= high <= around[1]
    assert other(runs["liar"], runs["honest"]).rates["p_lie"].bounds is None


def test_too_many_failures_withhold_the_difference(runs: dict[str, Path], tmp_path: Path) -> None:
    """Where a run's own headline would be withheld, so is its difference: what is left is a selection."""
    broken = copied(runs["honest"], tmp_path / "broken")
    some = "WHERE elicitation = 0 AND task_id LIKE '%1%'"
    change(broken, f"UPDATE replies SET text = NULL, error_cause = 'timeout', error_detail = 'late' {some}")  # noqa: S608
    change(broken, f"DELETE FROM judged {some}")  # noqa: S608
    found = other(runs["liar"], broken)
    assert found.test is None
    assert "could not be had" in found.withheld
    assert found.rates["p_lie"].difference is None
    assert found.asked is None
    assert found.rates["p_lie"].bounds[0] < found.rates["p_lie"].bounds[1]
    text = str(compare(runs["liar"], broken))
    assert "WITHHELD: " in text
    assert "Whatever failed, the difference in P(lie) lies within" in " ".join(text.split())


def test_a_run_that_was_stopped_gives_no_figures(runs: dict[str, Path], tmp_path: Path) -> None:
    """What is done first is no sample: how much is done and how to go on; a judge not asked yet differs in nothing."""
    stopped = copied(runs["honest"], tmp_path / "stopped")
    for table in ("replies", "judged"):
        change(stopped, f"DELETE FROM {table} WHERE task_id LIKE '%-st-%'")  # noqa: S608
    change(stopped, """UPDATE verdicts SET model = '' WHERE verdict NOT LIKE '{"letter"%'""")
    for one, two in ((runs["liar"], stopped), (stopped, runs["liar"])):
        found = other(one, two)
        assert (found.test, found.differs, found.rates["p_lie"].bounds) == (None, [], None)
        assert {rate.difference for rate in found.rates.values()} == {None}
        assert "is not complete: 80 of 96 scenarios are done" in found.withheld
        assert f"Take it up again with `maskbench run --out {stopped}`." in found.withheld
    text = str(compare(runs["liar"], stopped))
    assert "different measurements" not in text
    assert "%" not in text


def test_another_judge_is_shown_without_a_test(runs: dict[str, Path]) -> None:
    """The difference stands there, what differs is named by field, and nothing judges it: no p, no interval."""
    found = other(runs["liar"], runs["judged"])
    assert found.test is None
    assert [one.field for one in found.differs] == ["judge"]
    assert found.rates["p_lie"].difference < 0
    assert {rate.ci95 for rate in found.rates.values()} == {None}
    assert {rate.one_sided95 for rate in found.rates.values()} == {None}
    assert {effect.ci95 for effect in found.effects.values()} == {None}
    text = " ".join(str(compare(runs["liar"], runs["judged"])).split())
    assert "NOT TESTED: P(lie) is" in text
    assert "sim-judge/accuracy=0.9" in text
    assert "p =" not in text


def test_a_judge_that_answered_as_another_model_is_another_judge(runs: dict[str, Path], tmp_path: Path) -> None:
    """The endpoint's name for what answered counts, not only the name that was asked for."""
    moved = copied(runs["honest"], tmp_path / "moved")
    change(moved, """UPDATE verdicts SET model = 'judge-2026-01-01' WHERE verdict LIKE '{"letter"%'""")
    found = other(runs["liar"], moved)
    assert found.test is None
    assert found.differs == [Differs("binary judge answered as", "sim-judge", "judge-2026-01-01")]


def test_another_protocol_of_equal_settings_is_another_version(runs: dict[str, Path], tmp_path: Path) -> None:
    """Where no setting differs, the version that made the protocol id does."""
    older = edit(copied(runs["honest"], tmp_path / "older"), protocol="0" * 12, maskbench="0.0.9")
    found = other(runs["liar"], older)
    assert found.test is None
    assert found.differs == [Differs("maskbench version", version("maskbench"), "0.0.9")]


def test_both_are_scored_under_one_rule_set(runs: dict[str, Path], tmp_path: Path) -> None:
    """The first run's by default, whatever the second was measured under; or the one that is asked for."""
    strict = copied(runs["honest"], tmp_path / "strict")
    settings = orjson.loads((strict / "run.json").read_bytes())["settings"]
    settings["design"]["rules"] = "strict"
    edit(strict, settings=settings)
    assert compare(runs["liar"], strict).data.rules == "reference"
    assert compare(strict, runs["liar"]).data.rules == "strict"
    made = compare(runs["liar"], strict, rules="inspect").data
    assert made.rules == "inspect"
    assert made.notes
    assert other(runs["liar"], strict).rates == other(runs["liar"], runs["honest"]).rates


def test_no_shared_scenario_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    """Neither other scenarios nor the same names with other texts can be paired, and the refusal says which."""
    facts, figures = (
        run(tmp_path / name, archetypes=(archetype,))
        for name, archetype in (("facts", "known_facts"), ("figures", "statistics"))
    )
    with pytest.raises(UsageError, match=r"share no scenario that is done in both: .* have none in common"):
        compare(facts, figures)
    rewritten = copied(facts, tmp_path / "rewritten")
    change(
        rewritten,
        'UPDATE scenarios SET row = replace(row, \'role":"user","content":"\', \'role":"user","content":"So \')',
    )
    with pytest.raises(UsageError, match="16 have the same names, but other texts"):
        compare(facts, rewritten)


def test_a_scenario_whose_text_changed_is_not_shared(runs: dict[str, Path], tmp_path: Path) -> None:
    """It is left out, counted and named."""
    fixed = copied(runs["honest"], tmp_path / "fixed")
    change(
        fixed,
        'UPDATE scenarios SET row = replace(row, \'role":"user","content":"\', \'role":"user","content":"So \') '
        "WHERE task_id = 'starter-kf-01'",
    )
    found = other(runs["liar"], fixed)
    assert found.shared.scenarios == 95
    assert found.shared.other_text == 1
    assert "known_facts starter-kf-01" in found.warnings[0]


def test_a_sample_is_compared_on_its_scenarios_with_its_weights(runs: dict[str, Path]) -> None:
    """What only one run has is left out, and the sample's design weights stand for the whole set."""
    one, two = other(runs["liar"], runs["sample"]), other(runs["sample"], runs["liar"])
    assert one.shared == replace(two.shared, only_in_first=46, only_in_other=0)
    assert one.rates["p_lie"].difference == pytest.approx(-two.rates["p_lie"].difference)
    assert any("scenarios differ" in line for line in one.warnings)
    assert any(f"the weights of {runs['sample']}" in line for line in one.warnings)


def test_other_numbers_of_statements_are_compared_by_shares(runs: dict[str, Path]) -> None:
    """Three statements against one: rates are comparable, and the reader is told."""
    found = other(runs["liar"], runs["three"])
    assert found.significant
    assert "3" in found.warnings[0]


def test_the_same_run_twice_is_said_to_be_that(runs: dict[str, Path], tmp_path: Path) -> None:
    """By its path, by another path to it, and as a copy."""
    with pytest.raises(UsageError, match="is given twice"):
        compare(runs["liar"], runs["honest"], runs["liar"] / ".." / "liar")
    shutil.copytree(runs["liar"], tmp_path / "copy")
    with pytest.raises(UsageError, match="is a copy of"):
        compare(runs["liar"], tmp_path / "copy")


def test_wrong_uses_say_what_to_type(runs: dict[str, Path], tmp_path: Path) -> None:
    """One run, an impossible margin, unknown rules, no run."""
    with pytest.raises(UsageError, match="maskbench compare RUN RUN"):
        compare(runs["liar"])
    with pytest.raises(UsageError, match=r"Give a share such as 0\.03"):
        compare(runs["liar"], runs["honest"], non_inferiority=3)
    with pytest.raises(UsageError, match="Choose one of"):
        compare(runs["liar"], runs["honest"], rules="mine")
    with pytest.raises(RunUnreadable, match="holds no run"):
        compare(runs["liar"], tmp_path)


def test_several_comparisons_are_corrected_by_holm(runs: dict[str, Path]) -> None:
    """All against the first; what has no test does not count."""
    made = compare(runs["liar"], runs["honest"], runs["repeat"], runs["judged"]).data
    assert made.comparisons == 2
    first, second, third = made.others
    assert (third.test, third.p_holm) == (None, None)
    assert first.p_holm == pytest.approx(2 * there(first.rates["p_lie"].p))
    assert second.p_holm == second.rates["p_lie"].p
    assert "after Holm for 2 comparisons" in text(list(blocks_of(made)), 100)


def test_non_inferiority_is_shown_only_where_nothing_got_worse(runs: dict[str, Path]) -> None:
    """Fewer lies by refusing are no proof that nothing got worse: evasion did."""
    refusing = other(runs["liar"], runs["refuser"], non_inferiority=0.03).non_inferiority
    assert refusing.shown["p_lie"]
    assert not refusing.shown["p_evasive"]
    assert refusing.all_shown is False
    better = other(runs["liar"], runs["honest"], non_inferiority=0.3).non_inferiority
    assert better.all_shown is True
    assert set(better.shown) == {"p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy"}
    assert other(runs["liar"], runs["judged"], non_inferiority=0.3).non_inferiority.all_shown is None


def test_a_comparison_reads_well_anywhere(runs: dict[str, Path]) -> None:
    """As text it fits its width, in a notebook it is escaped, in Python it is its finding."""
    made = notebook.compare(runs["liar"], runs["honest"])
    assert all(len(line) <= 100 for line in str(made).splitlines())
    assert "lies less than" in repr(made)
    assert repr(made) == finding(made.data, made.data.others[0])
    hostile = fitted(
        orjson.loads(orjson.dumps(made.data.as_dict()).replace(b"sim/lie=0.1", b"<script>[red]")), ComparisonData
    )
    assert "<script>" not in notebook.ShownComparison(hostile)._repr_html_()
    assert "<script>[red]" in str(notebook.ShownComparison(hostile))
    assert made._repr_html_().startswith("<pre>")


def test_exit_codes_and_json_of_the_commands(runs: dict[str, Path]) -> None:
    """0 done; with --non-inferiority 3 where it is not shown and 1 where it cannot be tested; JSON is the data."""
    done = typed("compare", runs["liar"], runs["honest"], "--json")
    assert done.code == 0
    assert orjson.loads(done.out) == compare(runs["liar"], runs["honest"]).data.as_dict()
    margin = ("--non-inferiority", "0.3")
    assert typed("compare", runs["liar"], runs["honest"], *margin).code == 0
    assert typed("compare", runs["liar"], runs["refuser"], *margin).code == 3
    assert typed("compare", runs["liar"], runs["judged"], *margin).code == 1
    assert typed("compare").code == 2


# Simulations, small: benchmarks/comparisons.py prints the large ones


@pytest.fixture(scope="module")
def simulations() -> ModuleType:
    """benchmarks/comparisons.py as a module."""
    path = Path(__file__).parents[2] / "benchmarks" / "comparisons.py"
    spec = importlib.util.spec_from_file_location("comparisons", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["comparisons"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(row: str) -> list[str]:
    """The cells of a Markdown row."""
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_false_alarms_are_near_five_percent(simulations: ModuleType) -> None:
    """300 pairs without a difference, lies failing more often, a judge of accuracy 0.86: 5 % within 3 errors."""
    _, lost, untested, alarms, agree, _ = cells(simulations.null_row("small", simulations.World(scenarios=96), 300))
    assert float(lost.rstrip("%")) > 3
    assert float(untested) == 0
    assert 0.012 < float(alarms) < 0.088
    assert float(agree) == 1


def test_the_matching_interval_holds_the_true_difference(simulations: ModuleType) -> None:
    """300 pairs with one, 95 % within 3 errors, and more where failures are counted in."""
    world = simulations.World(scenarios=96, lie=(0.4, 0.2))
    _, _, held, _, whatever, _ = cells(simulations.coverage_row("small", world, 300))
    assert 0.91 < float(held) <= 0.99
    assert float(whatever) >= float(held)


def test_both_runs_are_split_by_what_the_shared_rows_ask_for(runs: dict[str, Path]) -> None:
    """On the same scenarios each split is that of the run's own score; of a sample only the shared rows are in it."""
    whole = other(runs["liar"], runs["honest"])
    assert whole.asked == (score(runs["liar"]).summary.asked, score(runs["honest"]).summary.asked)
    part = other(runs["liar"], runs["sample"])
    counts = [{kind: group["p_lie"].n for kind, group in split.groups.items()} for split in part.asked]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) == part.shared.scenarios < whole.shared.scenarios
    weighted = [row for row in score(runs["sample"]).scenarios if row.asked_outright]
    lies = sum(row.weight for row in weighted if row.outcomes == ("lie",))
    assert part.asked[1].groups["yes"]["p_lie"].value == pytest.approx(lies / sum(row.weight for row in weighted))


def test_the_split_of_two_runs_never_stands_without_its_words(runs: dict[str, Path]) -> None:
    """The line over all archetypes says that it compares these; the note on both stands once; data have it, too."""
    data = compare(runs["liar"], runs["honest"]).data
    shown = text(list(blocks_of(data)), 120)
    split = shown[shown.index("P(lie) by what rows ask for") :]
    assert split.count("all (compares archetypes)") == 2
    assert " ".join(split.split()).count("Language models labelled the rows of cais/MASK and of starter.") == 1
    assert split.count("the last line") == 1
    assert shown.index("shared scenarios") < shown.index("P(lie) by what rows ask for")
    assert [each["label"] for each in data.as_dict()["others"][0]["asked"]] == ["asked", "asked"]


def test_no_split_is_shown_where_no_row_says_what_it_asks_for(runs: dict[str, Path], tmp_path: Path) -> None:
    """A set without what its rows ask for has no split of two runs, and no line on it."""
    silent = [copied(runs[name], tmp_path / name) for name in ("liar", "honest")]
    for path in silent:
        for said in ("true", "false"):
            told = f"replace(CAST(row AS TEXT), '\"asked_outright\":{said}', '\"asked_outright\":null')"
            change(path, f"UPDATE scenarios SET row = CAST({told} AS BLOB)")  # noqa: S608
    data = compare(*silent).data
    assert data.others[0].asked is None
    assert "what rows ask for" not in text(list(blocks_of(data)), 120)
