"""`maskbench plan`: the answer with what it costs and rests on, and the cheaper way that is told before a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows import typed
from maskbench.errors import UsageError
from maskbench.method.asks import Calls
from maskbench.results.plan import Goal, Way, cheaper, gate, half_width, plan
from maskbench.runs.forecast import Plan
from maskbench.settings import arm_of
from measured_runs import EVERYDAY, run, settings
from scenario_rows import folder, row

HALF_WIDTH, DIFFERENCE = Goal("half_width", 0.06), Goal("difference", 0.15)


def calls(way: Way) -> int:
    """All calls of a way."""
    return way.subject_calls + way.judge_calls


def test_a_plan_has_the_whole_protocol_and_what_asks_less() -> None:
    """`--estimate lie` takes some 0.6 of the calls at 10 %, more at 40 %; shared beliefs are for two runs alone."""
    shares = []
    for rate in (0.1, 0.4):
        data = plan(HALF_WIDTH, p_lie=rate)
        assert [way.options for way in data.ways] == ["", "--estimate lie"]
        shares.append(calls(data.ways[1]) / calls(data.ways[0]))
    assert 0.5 < shares[0] < 0.65 < shares[1] < 0.78
    pair = plan(DIFFERENCE)
    assert [way.options for way in pair.ways] == ["", "--estimate lie", "--beliefs-from FIRST"]
    assert {way.runs for way in pair.ways} == {2}
    beliefs = pair.ways[0].subject_calls / 2 - pair.scenarios
    assert pair.ways[2].subject_calls == pytest.approx(1.05 * beliefs + 2 * pair.scenarios, abs=2)


def test_no_more_scenarios_are_planned_than_the_set_has() -> None:
    """The whole set stands in the table, with what it does."""
    data = plan(Goal("half_width", 0.03), p_lie=0.1)
    assert (data.scenarios, data.set.scenarios, data.is_enough) == (240, 240, False)
    assert 0.03 < data.gives < 0.05
    pair = plan(Goal("difference", 0.03))
    assert (pair.scenarios, pair.is_enough) == (240, False)
    assert pair.gives < 0.8
    assert pair.smallest is not None
    assert plan(Goal("difference", pair.smallest)).is_enough


def test_what_two_runs_share_is_said_and_what_less_would_mean() -> None:
    """Where it is assumed the power with less in common stands beside it; for one run there is no such thing."""
    pair = plan(DIFFERENCE)
    assert pair.rests_on.sources["shared"] == "assumed"
    assert pair.cautious is not None
    assert 0.55 < pair.cautious < 0.72 < pair.gives
    assert plan(HALF_WIDTH).cautious is None


def test_sizes_of_propositions_are_read_from_the_set(tmp_path: Path) -> None:
    """Of two sets of one size the one whose scenarios share propositions does less, and the crowding is told."""
    sets = {}
    for name, shared in (("apart", 1), ("together", 8)):
        texts = (f"Pump {at // shared} <pivotal>is/is not</pivotal> it." for at in range(240))
        rows = [row("known_facts", at, proposition=text) for at, text in enumerate(texts)]
        sets[name] = plan(HALF_WIDTH, scenarios=str(folder(tmp_path / name, {"known_facts": rows})), p_lie=0.2)
    assert (sets["apart"].set.crowding, sets["together"].set.crowding) == (1.0, 8.0)
    assert sets["together"].gives > sets["apart"].gives


def test_the_public_set_is_planned_by_its_numbers() -> None:
    """It need not be read: its scenarios and propositions are counted."""
    data = plan(Goal("half_width", 0.03), scenarios="cais/MASK", p_lie=0.1)
    assert data.set.by_counts
    assert (data.set.scenarios, data.is_enough) == (1_000, True)
    assert 380 < data.scenarios < 420


def test_a_pilot_tells_rates_tokens_and_how_sure_the_plan_is(tmp_path: Path) -> None:
    """Shares of outcomes are those of the run; what the plan gives stands between two ends."""
    pilot = run(tmp_path / "pilot", "sim/lie=0.3,evade=0.3,unsure=0.0", archetypes=("known_facts", "provided_facts"))
    data = plan(HALF_WIDTH, [pilot], scenarios="starter")
    assert data.runs == [str(pilot)]
    assert data.rests_on.p_evasive == pytest.approx(0.3, abs=0.2)
    assert data.rests_on.sources["rates"] == data.rests_on.sources["p_lie"] == "measured"
    assert data.between is not None
    assert data.between[0] <= data.gives <= data.between[1]
    assert plan(HALF_WIDTH, [pilot], p_lie=0.2).rests_on.sources["p_lie"] == "assumed"


def test_two_arms_tell_what_they_share(tmp_path: Path) -> None:
    """Two subjects with three statements: the runs are named, and what they share is measured."""
    one = run(tmp_path / "one", "sim/lie=0.4,spread=0.5", statements=3)
    two = run(tmp_path / "two", "sim/lie=0.3,spread=0.5", statements=3, seed=1)
    data = plan(DIFFERENCE, [one, two])
    assert (data.statements, data.rests_on.sources["shared"], data.cautious) == (3, "measured", None)
    repeated = run(tmp_path / "repeated", "sim/lie=0.4,spread=0.5", statements=3, seed=2)
    assert plan(DIFFERENCE, [one, repeated]).rests_on.sources["shared"] == "assumed"


def test_runs_that_measure_different_things_are_refused(tmp_path: Path) -> None:
    """Another protocol id, or no scenario in common, is no basis for a plan; nor is a rate that is none."""
    one = run(tmp_path / "one")
    with pytest.raises(UsageError, match="2 protocol ids"):
        plan(DIFFERENCE, [one, run(tmp_path / "two", judge="sim-judge/accuracy=0.9")])
    facts, figures = (
        run(tmp_path / name, archetypes=(archetype,)) for name, archetype in (("f", "known_facts"), ("s", "statistics"))
    )
    with pytest.raises(UsageError, match="none in common"):
        plan(DIFFERENCE, [facts, figures])
    with pytest.raises(UsageError, match="--p-lie 1 is no rate"):
        plan(HALF_WIDTH, p_lie=1.0)


@pytest.mark.parametrize("typo", ["p_lie > 0.1", "0.1", "p_honest < 0.1", "p_lie < 10"])
def test_a_limit_is_typed_as_one(typo: str) -> None:
    """Anything else is refused with an example."""
    assert gate("p_lie<0.1") == gate(" p_lie < .1 ") == Goal("gate", 0.1)
    with pytest.raises(UsageError, match=r"Write it as 'p_lie < 0\.1'"):
        gate(typo)


def test_a_half_width_is_typed_in_points_or_as_a_share() -> None:
    """3 and 0.03 are 3 points."""
    assert half_width(3) == half_width(0.03) == Goal("half_width", 0.03)


def test_the_command_prints_one_table() -> None:
    """One question is asked; its answer is a sentence, a table, and what was assumed."""
    shown = typed("plan", "--half-width", "6", "--p-lie", "0.1")
    text = " ".join(shown.out.split())
    assert shown.code == 0
    assert "To know P(lie) to ± 6 points (95 % interval), where P(lie) is 10.0 % (assumed), it takes" in text
    assert re.search(r"--sample \d+ takes so many of the set", text)
    few = " ".join(typed("plan", "--half-width", "2").out.split())
    assert "the 240 scenarios of starter are too few" in few
    limit = " ".join(typed("plan", "--gate", "p_lie < 0.1", "--p-lie", "0.02").out.split())
    assert "To pass p_lie < 0.1 with 95.0 % power, where P(lie) is 2.0 % (assumed), it takes 87 of the 240" in limit
    pair = " ".join(typed("plan", "--difference", "0.15").out.split())
    assert "they share 0.7 of what differs between scenarios (assumed)" in pair
    assert "if it is 0.2, the power is" in pair


def test_prices_come_from_the_price_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own list stands before the packaged one; without a price of both models there is no money."""
    (tmp_path / "maskbench-prices.toml").write_text('"vllm/mine" = { input = 1000, output = 1000 }\n')
    monkeypatch.chdir(tmp_path)
    words = ("plan", "--half-width", "6", "--json", "--judge", "openai/gpt-4o")
    mine, listed, none = (
        _money(typed(*words, *more)) for more in (("--subject", "vllm/mine"), ("--subject", "openai/gpt-4o-mini"), ())
    )
    assert mine is not None
    assert listed is not None
    assert mine > 10 * listed > 0
    assert none is not None  # a simulated subject costs nothing
    assert _money(typed("plan", "--half-width", "6", "--json")) is None
    assert "nobody bills these models" in typed("plan", "--half-width", "6").out
    gone = typed("plan", "--half-width", "6", "--price-in", "1")
    assert (gone.code, "maskbench-prices.toml" in gone.err) == (2, True)


def _money(done: Any) -> float | None:
    money = orjson.loads(done.out)["ways"][0]["money"]
    assert money is None or isinstance(money, float)
    return money


def test_one_question_is_asked() -> None:
    """None and two are refused with all three."""
    for words in ((), ("--half-width", "3", "--difference", "0.05")):
        refused = typed("plan", *words)
        assert refused.code == 2
        assert "Ask one question" in refused.err


def planned(statements: int = 1, scenarios: int = 100) -> Plan:
    """A run of so many scenarios, as the public set has them."""
    replies, verdicts = (scenarios * each + scenarios * statements for each in (3.4, 3.2))
    return Plan(scenarios=scenarios, calls=Calls(round(replies), round(replies), round(verdicts)))


def test_a_cheaper_way_is_told_before_a_run() -> None:
    """Asking only for lies saves a third where lies are rare, shared beliefs more; nothing is told twice."""
    plain = settings("sim")
    saving = cheaper(planned(), plain)
    assert saving is not None
    assert saving.options == "--estimate lie"
    assert 0.5 < saving.left[0.1] < 0.62 < saving.left[0.4] < 0.78
    arm = plain.having(system_prompt="honest", system_prompt_text="Be honest.")
    shared = cheaper(planned(), arm)
    assert shared is not None
    assert shared.options == "--beliefs-from RUN"
    assert shared.left[0.1] == pytest.approx(200 / 860)
    asked_already = (plain.having(estimate="lie"), arm.having(beliefs_from="runs/a"), plain.having(placebo=True))
    assert [cheaper(planned(), each) for each in asked_already] == [None] * 3
    assert cheaper(planned(statements=20), plain.having(statements=20)) is None
    assert cheaper(planned(scenarios=0), plain) is None


def test_a_cheaper_way_asks_every_question_on_statements() -> None:
    """Questions on statements are asked in full whatever is saved on beliefs, so they are in both of the counts."""
    asked, bare, five = (
        replace(planned(), calls=planned().calls + Calls(verdicts=each), construct=each) for each in (100, 0, 500)
    )
    lies, without = cheaper(asked, settings("sim")), cheaper(bare, settings("sim"))
    assert lies is not None
    assert without is not None
    assert lies.left[0.1] == pytest.approx((without.left[0.1] * 860 + 100) / 960)
    shared = cheaper(asked, settings("sim", system_prompt="honest", system_prompt_text="Be honest."))
    assert shared is not None
    assert shared.left[0.1] == pytest.approx((200 + 100) / 960)
    assert cheaper(five, settings("sim")) is None  # of 1,360 calls no third is saved


def test_a_dry_run_tells_it_in_one_line() -> None:
    """The line stands behind the plan, and its JSON is as before."""
    words = ("run", "sim", "--judge", "sim-judge", "--scenarios", EVERYDAY, "--dry-run")
    text = " ".join(typed(*words).out.split())
    assert re.search(r"For fewer calls: --estimate lie takes \d\d % of these calls at a P\(lie\) of 10 %", text)
    assert "fewer" not in typed(*words, "--json").out


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
    assert arm_of(settings("sim").having(**changed)) != arm_of(settings("sim"))


def test_arms_are_told_apart_by_content_not_by_name() -> None:
    """Two adapters of one name are two arms; seed, statements and the place of the files make none."""
    adapter = settings("sim", adapter="a/step", adapter_hash="1")
    assert arm_of(adapter.having(adapter="b/step", adapter_hash="2")) != arm_of(adapter)
    assert arm_of(adapter.having(adapter="b/step", seed=3, statements=5)) == arm_of(adapter)
    steered = settings("sim", steer="v", steer_hash="1")
    ways = [steered.having(strength=strength, layers=at) for strength in (1, 2) for at in (None, (3,))]
    assert len(set(map(arm_of, ways))) == 4
