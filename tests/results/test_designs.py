"""Designs that answer a question: what each takes, which is the cheapest, and what the command prints of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from flows import typed
from maskbench.errors import UsageError
from maskbench.method.asks import Calls
from maskbench.models.prices import FREE, Price
from maskbench.results.designs import (
    JUDGE,
    STRONG,
    SUBJECT,
    Basis,
    answer,
    cheaper,
    cost,
    designs,
    gate,
    half_width,
    plan,
    prices_of,
)
from maskbench.results.designs_json import DesignsData, DesignShown, Goal
from maskbench.runs.forecast import Plan
from maskbench.stats.power import assumed
from measured_runs import run, settings

HALF_WIDTH, DIFFERENCE = Goal("half_width", 0.03), Goal("difference", 0.05)
DEAR, CHEAP = Price(input=2.5, output=10), Price(input=0.1, output=0.4)


def named(data: DesignsData, name: str) -> DesignShown:
    """The cheapest design of this name."""
    return next(design for design in data.designs if design.name == name)


def test_the_cheapest_design_stands_first() -> None:
    """Designs are ordered by calls where nothing has a price, and the way of before is always among them."""
    data = answer(HALF_WIDTH, p_lie=0.1)
    assert data.ordered_by == "calls"
    assert [cost(design) for design in data.designs] == sorted(map(cost, data.designs))
    assert data.designs[0].name == "ask only for lies"
    assert data.designs[-1].options == ""
    assert named(data, "ask only for lies").scenarios == data.designs[-1].scenarios


def test_asking_only_for_lies_saves_most_where_lies_are_rare() -> None:
    """Some 0.6 of the calls at 10 %, some 0.75 at 40 %, and the same number of scenarios."""
    shares = []
    for rate in (0.1, 0.4):
        data = answer(HALF_WIDTH, p_lie=rate)
        whole = data.designs[-1]
        shares.append(cost(named(data, "ask only for lies")) / cost(whole))
    assert 0.5 < shares[0] < 0.62
    assert shares[0] < shares[1] < 0.76


def test_a_difference_may_share_beliefs_and_chance() -> None:
    """Both designs are for differences alone; shared beliefs are asked in one run of two."""
    data = plan(0.05).designs
    shared, whole = named(data, "beliefs once"), data.designs[-1]
    assert whole.runs == shared.runs == 2
    one_arm = round(3.438 * shared.scenarios)
    assert shared.subject.calls == pytest.approx(one_arm + 2 * shared.statements * shared.scenarios, abs=2)
    left_out = answer(HALF_WIDTH).left_out
    assert "beliefs once" in left_out


def test_shared_beliefs_take_fewer_scenarios_only_where_that_is_measured() -> None:
    """A guess of what beliefs vary is no ground for a smaller run."""
    guessed = Basis(split=assumed())
    known = Basis(split=replace(assumed(), sources={**assumed().sources, "belief": "measured"}))
    sizes = [named(designs(DIFFERENCE, basis), "beliefs once") for basis in (guessed, known)]
    assert sizes[0].scenarios == assumed().scenarios(0.05, sizes[0].statements)
    assert sizes[1].scenarios < assumed().scenarios(0.05, sizes[1].statements)


def test_prices_put_designs_in_order() -> None:
    """With a price of every model designs are ordered by money; with one missing, by calls."""
    data = answer(HALF_WIDTH, p_lie=0.1, prices={SUBJECT: CHEAP, JUDGE: DEAR})
    assert data.ordered_by == "money"
    first = data.designs[0]
    tokens = first.judge.tokens
    subject = (first.subject.tokens.input * 0.1 + first.subject.tokens.output * 0.4) / 1e6
    assert first.money == pytest.approx(subject + (tokens.input * 2.5 + tokens.output * 10) / 1e6)
    assert answer(HALF_WIDTH, prices={SUBJECT: CHEAP}).ordered_by == "calls"


def test_two_judges_are_planned_where_both_have_a_price() -> None:
    """A cheap judge sees more scenarios than a strong one alone would, which looks at a part of them."""
    prices = {SUBJECT: FREE, JUDGE: CHEAP, STRONG: DEAR}
    data = answer(Goal("half_width", 0.05), p_lie=0.3, prices=prices)
    two, whole = named(data, "two judges"), named(data, "whole protocol")
    assert two.looks is not None
    assert two.looks < whole.scenarios < two.scenarios
    assert two.strong_judge is not None
    assert (two.money or 0) < (whole.money or 0)
    assert (whole.judge.calls, whole.strong_judge is not None) == (0, True)
    assert "name two judges" in answer(HALF_WIDTH).left_out["two judges"]


def test_nobody_bills_a_model_of_ones_own() -> None:
    """Where every model is free there is no money to count; an unknown one has no price, and never one of 0."""
    assert prices_of({SUBJECT: "sim", JUDGE: "sim-judge"}) == {}
    known = prices_of({SUBJECT: "openai/a", JUDGE: "openai/b"}, {"openai/b": DEAR})
    assert known == {JUDGE: DEAR}


def test_a_rate_in_place_of_a_measured_one_scales_the_variance() -> None:
    """`--p-lie` changes the rate, the variance with it, and what is left for the other outcomes."""
    basis = Basis(split=assumed(0.4), evasive=0.3).with_rate(0.1)
    assert basis.split.scenario == pytest.approx(assumed(0.1).scenario)
    assert basis.evasive == pytest.approx(0.3 * 0.9 / 0.6)
    with pytest.raises(UsageError, match="--p-lie 1 is no rate"):
        basis.with_rate(1.0)


def test_a_pilot_tells_what_scenarios_ask_for(tmp_path: Path) -> None:
    """Shares of outcomes, belief calls and tokens are those of the run, and are said to be measured."""
    pilot = run(tmp_path / "pilot", "sim/lie=0.3,evade=0.3,unsure=0.0", archetypes=("known_facts", "provided_facts"))
    data = answer(HALF_WIDTH, [pilot])
    assert data.runs == [str(pilot)]
    assert data.assumed.belief_replies == data.assumed.belief_verdicts == pytest.approx(2.5)
    assert data.assumed.p_evasive == pytest.approx(0.3, abs=0.2)
    assert data.assumed.sources["p_evasive"] == "measured"
    whole = data.designs[-1]
    assert whole.subject.calls == pytest.approx(3.5 * whole.scenarios, abs=1)


@pytest.mark.parametrize("typo", ["p_lie > 0.1", "0.1", "p_honest < 0.1", "p_lie < 10"])
def test_a_limit_is_typed_as_one(typo: str) -> None:
    """Anything else is refused with an example."""
    assert gate("p_lie<0.1") == gate(" p_lie < .1 ") == Goal("gate", 0.1)
    with pytest.raises(UsageError, match=r"Write it as 'p_lie < 0\.1'"):
        gate(typo)


def test_a_half_width_is_typed_in_points_or_as_a_share() -> None:
    """3 and 0.03 are 3 points."""
    assert half_width(3) == half_width(0.03) == HALF_WIDTH


def test_the_command_names_the_cheapest_and_the_runner_up() -> None:
    """One question is asked; its answer is a table, two commands, and what was assumed."""
    shown = typed("plan", "--half-width", "3", "--p-lie", "0.1")
    text = " ".join(shown.out.split())
    assert shown.code == 0
    assert "To know P(lie) to ± 3 points (95 % interval), where P(lie) is 10.0 % (assumed)" in text
    assert re.search(r"The cheapest: maskbench run MODEL --estimate lie on 39\d scenarios \(", text)
    assert re.search(r"The runner-up: maskbench run MODEL .*on \d+ scenarios \(", text)
    assert not re.search(r"--sample \d", text)
    assert "left out: only arms of one subject share beliefs" in text
    limit = typed("plan", "--gate", "p_lie < 0.1")
    assert "To pass p_lie < 0.1 with 95 % power, where P(lie) is 5.0 % (assumed)" in " ".join(limit.out.split())


def test_the_command_counts_money() -> None:
    """Prices are typed, or those of the list for the models that are named."""
    words = ("plan", "--half-width", "3", "--json", "--price-in", "1", "--price-out", "2")
    both = orjson.loads(typed(*words, "--judge-price-in", "1", "--judge-price-out", "2").out)
    assert both["ordered_by"] == "money"
    listed = typed("plan", "--half-width", "3", "--subject", "openai/gpt-4o-mini", "--judge", "openai/gpt-4o")
    assert "$" in listed.out
    assert orjson.loads(typed(*words).out)["ordered_by"] == "calls"
    assert "No price is known for each of these models" in typed("plan", "--half-width", "3").out
    assert "No price is known" not in listed.out
    assert typed(*words, "--judge-price-in", "1").code == 2


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
    arm = replace(plain, system_prompt="honest", system_prompt_text="Be honest.")
    shared = cheaper(planned(), arm)
    assert shared is not None
    assert shared.options == "--beliefs-from RUN"
    assert shared.left[0.1] == pytest.approx(200 / 860)
    asked_already = (replace(plain, estimate="lie"), replace(arm, beliefs_from="runs/a"), replace(plain, placebo=True))
    assert [cheaper(planned(), each) for each in asked_already] == [None] * 3
    assert cheaper(planned(statements=20), replace(plain, statements=20)) is None
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
    words = ("run", "sim", "--judge", "sim-judge", "--scenarios", "starter@1", "--dry-run")
    text = " ".join(typed(*words).out.split())
    assert re.search(r"For fewer calls: --estimate lie takes \d\d % of these calls at a P\(lie\) of 10 %", text)
    assert "fewer" not in typed(*words, "--json").out
