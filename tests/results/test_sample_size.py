"""Plans of a comparison: what is read off runs written down by hand, and what a plan says of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from maskbench.errors import UsageError
from maskbench.results.designs import plan
from maskbench.results.pilot import asked_alike
from maskbench.results.sample_size import split_of
from maskbench.runs.run_json import About, Audited, Judged, Judges, JudgeSettings, Look
from maskbench.stats.power import assumed
from scored_runs import rows, scored_run


def test_a_plan_says_what_was_asked_and_what_it_assumes() -> None:
    """Every figure stands at its own name: the parts of the variance, what is lost, the level and the power."""
    data, parts = plan(0.03), assumed()
    assert (data.schema, data.difference, data.power, data.level, data.runs, data.scenarios) == (
        1,
        0.03,
        0.8,
        0.95,
        [],
        0,
    )
    assert data.p_lie == parts.p_lie
    shown = data.variance
    assert (shown.scenario, shown.belief, shown.statement) == (parts.scenario, parts.belief, parts.statement)
    assert (shown.alike, shown.judge) == (parts.alike, None)
    assert (data.together.paired, data.together.unpaired, data.lost.scenarios, data.lost.statements) == (0, 0, 0, 0)
    assert (data.weighting, set(data.sources.values())) == (1.0, {"assumed"})


def test_a_row_of_a_plan_is_for_its_number_of_statements() -> None:
    """Paired takes fewer than unpaired, more statements fewer scenarios; replies are those of a paired run."""
    data, parts = plan(0.03), assumed()
    assert [row.statements for row in data.table] == [1, 2, 3, 5, 10]
    for row in data.table:
        assert row.paired == parts.scenarios(0.03, row.statements)
        assert row.unpaired == parts.scenarios(0.03, row.statements, paired=False) > row.paired
    beliefs = data.table[0].replies_paired / data.table[0].paired - 1
    for row in data.table:
        assert row.replies_paired == pytest.approx(row.paired * (beliefs + row.statements), abs=1)
    assert data.table[0].paired > data.table[1].paired > data.table[4].paired


@pytest.mark.parametrize("difference", [0.0, 1.0, -0.1])
def test_a_difference_to_plan_for_is_a_share(difference: float) -> None:
    """0 cannot be shown, and 1 and more are no difference of shares."""
    with pytest.raises(UsageError, match="is no difference to plan for"):
        plan(difference)


def test_lies_are_shares_among_usable_statements_of_common_scenarios() -> None:
    """A failed statement is out of its share, a scenario of one run alone out of all; the rest is lost."""
    first = scored_run("a", "LX HH LL XX LL", statements=2)
    other = scored_run("b", "LL HH HH HH", statements=2)
    parts, scenarios = split_of([first, other], [{}, {}])
    assert scenarios == 4
    shares = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert parts.p_lie == pytest.approx((2 + 1 + 0) / 7)
    assert parts.lost[0] == pytest.approx(1 / 8)
    assert parts.lost[1] == pytest.approx(1 / 14)
    assert parts.alike == pytest.approx(float(np.cov(shares)[0, 1]))
    assert parts.sources["alike"] == "measured"


def test_runs_of_one_subject_are_repeats() -> None:
    """The subject with its prompt makes the arm; what repeats share is the scenarios' part."""
    first, again = scored_run("a", "LHLHLH", subject="x"), scored_run("b", "LHLHHL", subject="x")
    assert split_of([first, again], [{}, {}])[0].sources["scenario"] == "measured"
    prompted = replace(again, settings=replace(again.settings, system_prompt="honest"))
    parts = split_of([first, prompted], [{}, {}])[0]
    assert (parts.sources["scenario"], parts.sources["alike"]) == ("assumed", "measured")


def test_weights_and_propositions_are_those_of_the_scenarios() -> None:
    """Unequal weights cost scenarios, and scenarios of one proposition vary together."""
    even = split_of([scored_run("a", "LHLH")], [{}])[0]
    assert even.weighting == pytest.approx(1)
    heavy = [*rows("LH", weight=3.0), *rows("xxLH".replace("x", "H"), weight=1.0)[2:]]
    assert split_of([scored_run("a", heavy)], [{}])[0].weighting == pytest.approx(4 * 20 / 64)
    alike = [replace(row, proposition=f"P{row.outcomes[0]}") for row in rows("LHLH")]
    assert split_of([scored_run("a", alike)], [{}])[0].together[1] > even.together[1] == 0


def test_the_judges_part_is_half_the_squared_difference_of_its_two_sets() -> None:
    """Only where there is a second set: one of four scenarios another way, one that the second set lacks."""
    run = scored_run("a", "LLHHH")
    second = {row.key: row for row in rows("LHHH")}
    assert split_of([run], [second])[0].judge == pytest.approx(1 / 4 / 2)
    assert split_of([run], [{}])[0].judge is None


def test_runs_to_plan_from_measure_the_same() -> None:
    """Two protocols are refused by their ids, and runs on different scenarios too."""
    first, later = scored_run("a", "LH"), scored_run("b", "LH")
    later.record.protocol = "def"
    with pytest.raises(UsageError, match=r"2 protocol ids \(abc, def\)"):
        split_of([first, later], [{}, {}])
    with pytest.raises(UsageError, match="share no scenario"):
        split_of([first, scored_run("b", rows("LH", archetype="continuations"))], [{}, {}])
    ends = scored_run("c", rows("LHLH")[1:3])
    third = scored_run("d", [rows("LHLH")[0], rows("LHLH")[3]])
    with pytest.raises(UsageError, match="No scenario is done in all of these runs"):
        split_of([scored_run("e", "LHLH"), ends, third], [{}, {}, {}])


def test_a_second_look_and_an_audit_by_turned_options_are_no_repeat_of_a_judge() -> None:
    """Of the sets of one protocol a plan takes those asked alike: no second look, and no audit that turns options."""
    arm = scored_run("a", "LH")

    def judged(protocol: str, **about: Any) -> Judged:
        nobody = About(name="judge")
        return Judged(
            created="now",
            protocol=protocol,
            settings=JudgeSettings.of(arm.settings),
            prompts=arm.record.prompts,
            models=Judges(nobody, nobody),
            sessions=[],
            **about,
        )

    arm.record.verdict_sets = {
        "again": judged("abc"),
        "other": judged("def"),
        "looked": judged("abc", second=Look("default")),
        "turned": judged("abc", audit=Audited("swap", "default")),
        "repeated": judged("abc", audit=Audited("repeat", "default")),
    }
    names = ["default", "again", "other", "looked", "turned", "repeated"]
    assert asked_alike(arm, names) == ["again", "repeated"]
