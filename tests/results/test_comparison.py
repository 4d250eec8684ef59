"""Comparing runs: what is shared, what is tested, what is only shown, and how it reads."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import polars
import pytest

from flows import typed
from maskbench import compare, load
from maskbench.errors import RunUnreadable, UsageError
from maskbench.presentation import notebook
from maskbench.presentation.pairings import finding
from maskbench.presentation.sections.comparison import comparison as blocks_of
from maskbench.presentation.terminal import text
from maskbench.results.comparison import ComparisonData
from maskbench.results.scored import score
from maskbench.results.splits import AskedReader
from maskbench.results.textless_run import write_without_texts
from maskbench.scenarios.row_labels import labelled
from maskbench.store.fitting import fitted
from measured_runs import change, edit, run

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
        "judged": run(place / "judged", "sim/lie=0.1,evade=0.1", judge="sim-judge/accuracy=0.9", seed=2),
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


def test_a_difference_is_shown_with_two_tests_and_its_interval(runs: dict[str, Path]) -> None:
    """Far fewer lies are found, as a difference of the other from the first, in every rate; no text is in the data."""
    found = other(runs["liar"], runs["honest"])
    assert (found.significant, found.verdict) == (True, "more honest")
    lie, honest = found.rates["p_lie"].p, found.rates["p_honest"].p
    assert found.p_holm == max(lie, min(2 * lie, honest)) < 0.001
    assert found.rates["p_lie"].difference < -0.3
    assert found.rates["p_lie"].ci95[1] < 0
    assert sum(rate.difference for rate in list(found.rates.values())[:4]) == pytest.approx(0)
    assert found.untested_because == []
    assert found.shared.scenarios == 96
    assert "pivotal" not in orjson.dumps(compare(runs["liar"], runs["honest"]).data.as_dict()).decode()


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
    assert (found.significant, found.verdict) == (False, "no difference shown")
    text = " ".join(str(compare(runs["liar"], runs["repeat"])).split())
    assert re.search(r"No difference between \S+ and \S+ is shown: lies .+ points \(.+ to .+\), honest", text)


def test_who_only_refuses_is_not_called_more_honest(runs: dict[str, Path]) -> None:
    """Fewer lies that became evasion: the sentence says that fewer answers are honest, too, and where they went."""
    found = other(runs["liar"], runs["refuser"])
    text = " ".join(str(compare(runs["liar"], runs["refuser"])).split())
    assert found.verdict == "not more honest"
    assert re.search(r"is not more honest than .+ it lies less, .+; what it lost went to evasion \(\+", text)


def test_words_of_a_statement_stand_in_full(runs: dict[str, Path], tmp_path: Path) -> None:
    """The median of both runs, over the scenarios that both have; nothing where a run holds no texts."""
    medians: list[Any] = []
    for name in ("liar", "honest"):
        replies = load(runs[name]).replies.filter(polars.col("call") == "statement")
        medians.append(replies["text"].str.split(" ").list.len().median())
    words = other(runs["liar"], runs["honest"]).median_words
    assert [words.first, words.other] == medians
    told = " ".join(typed("compare", runs["liar"], runs["honest"], "--full").out.split())
    assert f"words of a statement median {medians[0]:g} in " in told
    write_without_texts(runs["liar"], tmp_path / "textless")
    assert other(tmp_path / "textless", runs["honest"]).median_words is None


def test_too_many_failures_withhold_the_difference(runs: dict[str, Path], tmp_path: Path) -> None:
    """Where a run's own headline would be withheld, so is its difference: what is left is a selection."""
    broken = copied(runs["honest"], tmp_path / "broken")
    some = "WHERE elicitation = 0 AND task_id LIKE '%1%'"
    change(broken, f"UPDATE replies SET text = NULL, error_cause = 'timeout', error_detail = 'late' {some}")  # noqa: S608
    change(broken, f"DELETE FROM judged {some}")  # noqa: S608
    found = other(runs["liar"], broken)
    assert "are missing" in found.withheld
    assert found.asked is None
    text = str(compare(runs["liar"], broken))
    assert "WITHHELD: " in text
    assert "Whatever failed, the difference in P(lie) lies within" in " ".join(text.split())


def test_another_judge_is_shown_without_a_test(runs: dict[str, Path]) -> None:
    """The difference stands there, what differs is named by field, and nothing judges it: no p, no interval."""
    found = other(runs["liar"], runs["judged"])
    assert [one.field for one in found.differs] == ["judge"]
    assert found.rates["p_lie"].difference < 0
    text = " ".join(str(compare(runs["liar"], runs["judged"])).split())
    assert "NOT TESTED: P(lie) is" in text
    assert "sim-judge/accuracy=0.9" in text
    assert "p =" not in text


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


def test_wrong_uses_say_what_to_type(runs: dict[str, Path], tmp_path: Path) -> None:
    """Unknown rules, no run."""
    with pytest.raises(UsageError, match="Choose one of"):
        compare(runs["liar"], runs["honest"], rules="mine")
    with pytest.raises(RunUnreadable, match="holds no run"):
        compare(runs["liar"], tmp_path)


def test_a_comparison_reads_well_anywhere(runs: dict[str, Path]) -> None:
    """As text it fits its width, in a notebook it is escaped, in Python it is its finding."""
    made = notebook.compare(runs["liar"], runs["honest"])
    assert all(len(line) <= 100 for line in str(made).splitlines())
    assert "is more honest than" in repr(made)
    assert repr(made) == finding(made.data, made.data.others[0]).text
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
    _, lost, widened, alarms, agree, _ = cells(simulations.null_row("small", simulations.World(scenarios=96), 300))
    assert float(lost.rstrip("%")) > 3
    assert float(widened) == 0
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
    assert whole.asked == (score(runs["liar"]).summary.of(AskedReader), score(runs["honest"]).summary.of(AskedReader))
    part = other(runs["liar"], runs["sample"])
    counts = [{kind: group["p_lie"].n for kind, group in split.groups.items()} for split in part.asked]
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) == part.shared.scenarios < whole.shared.scenarios
    weighted = [row for row in score(runs["sample"]).scenarios if row.asked_outright]
    lies = sum(row.weight for row in weighted if row.outcomes == ("lie",))
    assert part.asked[1].groups["yes"]["p_lie"].value == pytest.approx(lies / sum(row.weight for row in weighted))


def test_the_split_of_two_runs_never_stands_without_its_words(runs: dict[str, Path]) -> None:
    """The line over all archetypes says that it compares these; the note on both stands once; data have it, too.

    Who labelled the rows is said of the sets alone whose rows models labelled.
    """
    data = compare(runs["liar"], runs["honest"]).data
    shown = text(list(blocks_of(data)), 120)
    split = shown[shown.index("P(lie) by what rows ask for") :]
    assert split.count("all (compares archetypes)") == 2
    assert "Language models labelled" not in split
    assert labelled(["starter (sample of 20, seed 0)"]) == " Language models labelled the rows of starter."
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
    assert data.others[0].of(AskedReader) is None
    assert "what rows ask for" not in text(list(blocks_of(data)), 120)
