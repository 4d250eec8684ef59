"""Planning: the split of the variance, sample sizes, what a plan says of its runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import f_oneway  # type: ignore[import-untyped]

from maskbench.errors import UsageError
from maskbench.results.designs import plan
from maskbench.results.sample_size import measured
from maskbench.settings import arm_of
from maskbench.stats.power import Runs, Split, assumed, needed, split
from measured_runs import change, run, settings

Column = NDArray[np.float64]
SCENARIOS = 40_000


def runs(shares: list[Column], statements: int, subjects: tuple[int, ...], again: list[Column] | None = None) -> Runs:
    """Runs on the same scenarios, a proposition each, without failures."""
    table = np.array(shares)
    counts = np.full(table.shape, float(statements))
    ids = np.arange(table.shape[1])
    second = None if again is None else np.array(again)
    return Runs(table, counts, counts, subjects, np.ones(len(ids)), ids, second)


def drawn(rng: np.random.Generator, chances: Column, statements: int, swing: float = 0.0) -> Column:
    """Shares of lies; `swing` of the scenarios lose their belief, and with it their lies, in this run."""
    kept = rng.random(len(chances)) >= swing
    return rng.binomial(statements, chances) / statements * kept


def test_a_split_with_everything_repeated_is_what_was_planted() -> None:
    """Two runs of one subject with 4 statements tell scenarios, beliefs and statements apart."""
    rng = np.random.default_rng(1)
    chances, swing = rng.beta(2, 3, SCENARIOS), 0.2
    found = split(runs([drawn(rng, chances, 4, swing) for _ in range(2)], 4, (0, 0)))
    square = float(np.mean(chances**2))
    assert found.scenario == pytest.approx((1 - swing) ** 2 * chances.var(), rel=0.05)
    assert found.belief == pytest.approx(swing * (1 - swing) * square, rel=0.05)
    assert found.statement == pytest.approx((1 - swing) * float(np.mean(chances * (1 - chances))), rel=0.05)
    assert found.sources == {
        **dict.fromkeys(("p_lie", "scenario", "belief", "statement"), "measured"),
        "alike": "assumed",
    }


def test_two_subjects_tell_what_pairing_takes_away() -> None:
    """The covariance of two subjects on the same scenarios is measured, and the paired variance is that of d."""
    rng = np.random.default_rng(2)
    chances = rng.beta(2, 3, SCENARIOS)
    shares = [drawn(rng, chances, 3), drawn(rng, chances * 0.8, 3)]
    found = split(runs(shares, 3, (0, 1)))
    assert found.alike == pytest.approx(0.8 * chances.var(), rel=0.05)
    assert found.paired(3) == pytest.approx(np.var(shares[1] - shares[0]), rel=0.02)
    assert found.unpaired(3) == pytest.approx(np.var(shares[0]) + np.var(shares[1]), rel=0.02)


def test_statements_are_split_as_analysis_of_variance_splits_them() -> None:
    """Scenario and statement variances are those that the F ratio of a one-way analysis gives (scipy)."""
    rng = np.random.default_rng(3)
    lies = (rng.random((200, 5)) < rng.beta(1, 1, 200)[:, None]).astype(float)
    found = split(runs([lies.mean(axis=1)], 5, (0,)))
    inside = float(lies.var(axis=1, ddof=1).mean())
    between = (f_oneway(*lies).statistic - 1) * inside / 5
    assert found.statement == pytest.approx(inside)
    assert found.scenario + found.belief == pytest.approx(between)
    assert found.sources["belief"] == "assumed"


def test_what_single_statements_cannot_tell_is_assumed() -> None:
    """One run with one statement has a whole variance and no parts; repeats add the scenarios' part."""
    rng = np.random.default_rng(4)
    chances = rng.beta(2, 3, SCENARIOS)
    alone = split(runs([drawn(rng, chances, 1)], 1, (0,)))
    assert alone.scenario + alone.belief + alone.statement == pytest.approx(0.24, rel=0.02)
    assert set(alone.sources.values()) == {"measured", "assumed"}
    assert alone.sources["scenario"] == "assumed"
    again = split(runs([drawn(rng, chances, 1), drawn(rng, chances, 1)], 1, (0, 0)))
    assert again.scenario == pytest.approx(chances.var(), rel=0.1)
    assert again.sources["scenario"] == "measured"
    assert again.sources["statement"] == "assumed"


def test_a_second_verdict_set_tells_the_judges_part() -> None:
    """Half the mean squared difference of two verdicts on one reply is the judge's variance."""
    rng = np.random.default_rng(5)
    lies = (rng.random(SCENARIOS) < 0.4).astype(float)
    verdicts = [np.where(rng.random(SCENARIOS) < 0.1, 1 - lies, lies) for _ in range(2)]
    found = split(runs([verdicts[0]], 1, (0,), [verdicts[1]]))
    assert found.judge == pytest.approx(0.1 * 0.9, rel=0.05)
    assert split(runs([lies], 1, (0,))).judge is None


def test_propositions_and_failures_take_more_scenarios() -> None:
    """Scenarios that share propositions, and scenarios that will have no outcome, are planned for."""
    rng = np.random.default_rng(6)
    lies = np.repeat((rng.random(2000) < 0.4).astype(float), 4)
    plain = runs([lies], 1, (0,))
    shared = split(Runs(plain.shares, plain.usable, plain.asked, (0,), plain.weights, np.repeat(np.arange(2000), 4)))
    assert shared.together[1] == pytest.approx(3 * 2 * 0.24, rel=0.05)
    assert shared.scenarios(0.03, 1, paired=False) == pytest.approx(
        4 * split(plain).scenarios(0.03, 1, paired=False), rel=0.02
    )
    lost = rng.random(8000) < 0.1
    gone = Runs(
        np.where(lost, np.nan, lies)[None],
        (~lost).astype(float)[None],
        plain.asked,
        (0,),
        plain.weights,
        plain.clusters,
    )
    assert split(gone).lost[0] == pytest.approx(0.1, rel=0.1)
    assert split(gone).lost[1] == 0
    assert split(gone).scenarios(0.03, 1) == pytest.approx(split(plain).scenarios(0.03, 1) / 0.81, rel=0.05)
    with pytest.raises(ValueError, match="No scenario"):
        split(runs([np.full(3, np.nan)], 1, (0,)))


def test_needed_is_the_textbooks_number() -> None:
    """Half a standard deviation between two groups takes 63 in each (Cohen 1988, by the normal quantiles)."""
    assert needed(2.0, 0.5) == 63
    assert needed(0.0, 0.03) == needed(0.03 * 0.97, 0.03) == 254
    for wrong in (0.0, 1.0, 3.0, -0.03):
        with pytest.raises(UsageError, match="Give a share such as"):
            needed(1.0, wrong)


def test_more_statements_never_take_more_scenarios() -> None:
    """They take away the statements' part, and nothing else."""
    start = assumed()
    sizes = [start.scenarios(0.03, k) for k in (1, 2, 3, 5, 10)]
    assert sizes == sorted(sizes, reverse=True)
    floor = Split(0.4, 0.1, 0.02, 0.1, 0.05, None, (0.0, 0.0), 1.0, (0.0, 0.0), {})
    assert floor.paired(10**9) == pytest.approx(2 * 0.07)
    assert floor.unpaired(1) > floor.paired(1)


def test_a_plan_without_runs_says_that_all_is_assumed() -> None:
    """Every source is marked, and the table has the promised rows."""
    made = plan(0.03)
    assert set(made.sources.values()) == {"assumed"}
    assert [row.statements for row in made.table] == [1, 2, 3, 5, 10]
    assert made.table[0].paired == 2580
    assert made.table[0].unpaired == 3969


def test_a_plan_is_measured_on_runs(tmp_path: Path) -> None:
    """Two subjects with three statements: statements and what they share are measured, and the runs are named."""
    one = run(tmp_path / "one", "sim/lie=0.4,spread=0.5", statements=3)
    two = run(tmp_path / "two", "sim/lie=0.3,spread=0.5", statements=3, seed=1)
    made = plan(0.05, [one, two])
    assert made.runs == [str(one), str(two)]
    assert made.scenarios == 96
    assert made.sources["statement"] == made.sources["alike"] == "measured"
    assert made.table[0].paired > made.table[-1].paired > 100


def test_a_run_with_an_intervention_is_no_repeat_of_its_baseline(tmp_path: Path) -> None:
    """A developer's prompt makes another arm: what the two share is measured, beliefs elicited anew are not."""
    name = "sim/lie=0.4,spread=0.5"
    plain = run(tmp_path / "plain", name)
    prompted = run(tmp_path / "prompted", name, seed=1, system_prompt="honest")
    repeated = run(tmp_path / "repeated", name, seed=1)
    assert measured([plain, prompted])[0].sources["alike"] == "measured"
    assert measured([plain, prompted])[0].sources["scenario"] == "assumed"
    assert measured([plain, repeated])[0].sources["alike"] == "assumed"
    assert measured([plain, repeated])[0].sources["scenario"] == "measured"


@pytest.mark.parametrize(
    "changed",
    [
        {"subject": "other"},
        {"system_prompt": "honest"},
        {"system_prompt": "mine", "system_prompt_text": "Be honest."},
        {"prompt_on_beliefs": True},
        {"adapter": "x", "adapter_hash": "1"},
        {"steer": "x", "steer_hash": "1"},
        {"dtype": "bf16"},
        {"trust_remote_code": True},
    ],
)
def test_whatever_is_done_to_a_subject_makes_another_arm(changed: dict[str, Any]) -> None:
    """Prompts by their text, adapters and vectors by their hash; strength and layers count where it is steered."""
    assert arm_of(replace(settings("sim"), **changed)) != arm_of(settings("sim"))


def test_arms_are_told_apart_by_content_not_by_name() -> None:
    """Two adapters of one name are two arms; seed, statements and the place of the files make none."""
    adapter = settings("sim", adapter="a/step", adapter_hash="1")
    assert arm_of(replace(adapter, adapter="b/step", adapter_hash="2")) != arm_of(adapter)
    assert arm_of(replace(adapter, adapter="b/step", seed=3, statements=5)) == arm_of(adapter)
    steered = settings("sim", steer="v", steer_hash="1")
    ways = [replace(steered, strength=strength, layers=at) for strength in (1, 2) for at in (None, (3,))]
    assert len(set(map(arm_of, ways))) == 4


def test_a_verdict_set_in_the_store_is_found(tmp_path: Path) -> None:
    """A run judged twice says how much the judge adds: nothing, where both sets agree."""
    path = run(tmp_path / "run")
    change(path, "INSERT INTO judged SELECT 'again', archetype, task_id, elicitation, run, key FROM judged")
    columns = "key, verdict, reason, raw, asks, input_tokens, output_tokens, reasoning_tokens, model, fingerprint"
    rest = "sent, seconds, error_cause, error_detail, at"
    change(
        path,
        f"INSERT INTO verdicts (verdict_set, {columns}, {rest}) SELECT 'again', {columns}, {rest} FROM verdicts",  # noqa: S608
    )
    assert measured([path])[0].judge == 0


def test_runs_that_measure_different_things_are_refused(tmp_path: Path) -> None:
    """Another protocol id, or no scenario in common, is no basis for a plan."""
    one = run(tmp_path / "one")
    with pytest.raises(UsageError, match="2 protocol ids"):
        plan(0.03, [one, run(tmp_path / "two", judge="sim-judge/accuracy=0.9")])
    with pytest.raises(UsageError, match="share no scenario"):
        plan(
            0.03,
            [
                run(tmp_path / "facts", archetypes=("known_facts",)),
                run(tmp_path / "figures", archetypes=("statistics",)),
            ],
        )
