"""What a run would cost, before it is asked: ranges in calls, tokens, money and time, with what is not known said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows import MODELS, PROMPTS, command, environ, in_file, reply_to, serving
from maskbench.asking.begin import taken
from maskbench.asking.estimate import Estimate, estimate, planned, summed
from maskbench.asking.forecast import plan
from maskbench.cli.sections.estimate import estimated
from maskbench.presentation.terminal import text
from maskbench.settings import Budget, Settings
from maskbench.store.bill import StagePrices
from maskbench.store.prices import FREE, Price
from maskbench.types import Sampling

pytestmark = pytest.mark.slow

NAMES = ("openai/gpt-4o", "openai/gpt-4o-mini")
PRICES: StagePrices = {
    "subject": {NAMES[0]: Price(input=1, output=10)},
    "judge": {NAMES[1]: Price(input=2, output=20)},
}


def chosen(**options: Any) -> Settings:
    """Settings of a run on the starter set."""
    return Settings.of(*NAMES, **{"scenarios": "starter", "limit": 12, **options})


def of(settings: Settings, prices: StagePrices = PRICES) -> Estimate:
    """The estimate of a run."""
    return estimate(plan(taken(settings, {}).scenarios, settings, PROMPTS).loads, settings, prices)


def words(costs: Estimate, settings: Settings) -> str:
    """The estimate as people read it, on one line."""
    return " ".join(text(list(estimated(costs, settings)), 160).split())


def test_money_is_a_range_for_subject_and_judge() -> None:
    """Each has least and most of calls, tokens and dollars, and the whole is their sum."""
    costs = of(chosen())
    subject, judge = costs.models
    assert (subject.stage, judge.stage) == ("subject", "judge")
    for each in costs.models:
        for low, high in (each.input_tokens, each.output_tokens, each.cost or (0, 0)):
            assert 0 < low < high
    assert subject.cost is not None
    assert subject.cost[0] == pytest.approx((subject.input_tokens[0] * 1 + subject.output_tokens[0] * 10) / 1e6)
    assert costs.cost == pytest.approx(tuple(sum(ends) for ends in zip(subject.cost, judge.cost or (), strict=True)))
    assert costs.at_most is not None
    assert costs.cost is not None
    assert costs.at_most > costs.cost[1]


def test_the_usual_cost_lies_between_least_and_most() -> None:
    """It is the cost of the assumed tokens, and a batch halves it as it halves the ends."""
    costs = of(chosen())
    assert costs.cost is not None
    assert costs.usual is not None
    assert costs.cost[0] < costs.usual < costs.cost[1]
    assert costs.usual == pytest.approx(sum(each.usual or 0 for each in costs.models))
    assert "In all about $" in words(costs, chosen())


def test_reasoning_is_counted_where_the_list_knows_of_it() -> None:
    """Each answer of such a model has the assumed tokens more, never above its limit, and the sentence says so."""
    thinking: StagePrices = {**PRICES, "subject": {NAMES[0]: Price(input=1, output=10, reasons=True)}}
    plain, more = of(chosen()), of(chosen(), thinking)
    answers = more.models[0].calls[1]
    assert more.models[0].output_tokens[0] - plain.models[0].output_tokens[0] == pytest.approx(100 * answers)
    assert (more.usual or 0) - (plain.usual or 0) == pytest.approx(500 * answers * 10 / 1e6)
    assert (more.at_most or 0) - (plain.at_most or 0) == pytest.approx(16_000 * answers * 10 / 1e6)
    assert "openai/gpt-4o reasons: each answer is assumed to take 500 tokens of that" in words(more, chosen())
    tight = of(chosen(sampling=Sampling(1.0, 1000, 50)), thinking)
    assert tight.models[0].output_tokens[0] - plain.models[0].output_tokens[0] == pytest.approx(50 * answers)


def test_calls_are_exact_where_a_service_gives_one_sample_a_request() -> None:
    """Anthropic's messages have no samples, so the number of requests is that of replies."""
    settings = Settings.of("anthropic/claude-opus-5-5", NAMES[1], "starter", limit=12)
    counted = plan(taken(settings, {}).scenarios, settings, PROMPTS)
    assert counted.calls.requests == counted.calls.replies
    least, most = counted.loads["subject", "anthropic/claude-opus-5-5"].calls
    assert least == most == counted.calls.replies


def test_a_judge_that_is_the_subject_is_warned_of_before_anything_is_asked() -> None:
    """A dry run says it, where another judge still costs nothing."""
    arguments = ("run", NAMES[0], "--judge", NAMES[0], "--scenarios", "starter", "--limit", "6", "--dry-run")
    assert "is the subject itself" in command(*arguments, env={"OPENAI_API_KEY": "k"}).out


def test_runs_together_take_what_each_takes() -> None:
    """Calls and money add up, a model at another price has a row of its own, and time is for shared connections."""
    prices: StagePrices = {**PRICES, "judge": {NAMES[1]: Price(input=3, output=30)}}
    runs = [of(chosen()), of(chosen(limit=6)), of(chosen(), prices)]
    whole = summed(runs, chosen())
    assert [each.price.input for each in whole.models if each.price] == [1, 2, 3]
    assert whole.models[0].calls[1] == sum(run.models[0].calls[1] for run in runs)
    for end in (0, 1):
        assert whole.cost
        assert whole.cost[end] == pytest.approx(sum(run.cost[end] for run in runs if run.cost))
        assert whole.seconds
        assert whole.seconds[end] == pytest.approx(sum(r.seconds[end] for r in runs if r.seconds))
    assert whole.at_most == pytest.approx(sum(run.at_most or 0 for run in runs))
    unknown = summed([*runs, of(chosen(), {**PRICES, "judge": {NAMES[1]: None}})], chosen())
    assert (unknown.cost, unknown.at_most) == (None, None)


def test_no_answer_is_longer_than_it_may_be() -> None:
    """The most is capped by --max-tokens."""
    tight = chosen(sampling=Sampling(1.0, 50, 0), judge_sampling=Sampling(0.0, 20, 0))
    subject, judge = of(tight).models
    assert subject.output_tokens[1] == 50 * subject.calls[1]
    assert judge.output_tokens[1] == 20 * judge.calls[1]


def test_a_model_without_a_price_is_said_and_no_zero() -> None:
    """Without one of the prices there is no sum, and the sentence says what to give."""
    costs = of(chosen(), {**PRICES, "judge": {NAMES[1]: None}})
    assert (costs.cost, costs.at_most, costs.models[1].cost) == (None, None, None)
    told = words(costs, chosen())
    assert "no price known" in told
    assert "No price list has openai/gpt-4o-mini: give a row" in told


def test_models_that_nobody_bills_are_not_spoken_of() -> None:
    """A dry run of models on one's own machine says nothing of money."""
    costs = of(chosen(), {"subject": {NAMES[0]: FREE}, "judge": {NAMES[1]: FREE}})
    assert words(costs, chosen()) == ""


def test_time_follows_from_connections_and_from_requests_a_minute() -> None:
    """Twice the connections halve the time; --rpm sets a pace that no connections help against."""
    slow, quick = of(chosen(connections=10)), of(chosen(connections=20))
    assert slow.seconds is not None
    assert quick.seconds is not None
    assert slow.seconds == pytest.approx([2 * end for end in quick.seconds])
    paced = of(chosen(connections=1000, budget=Budget(rpm=10)))
    assert paced.seconds is not None
    assert paced.seconds[0] == pytest.approx(6 * max(each.calls[0] for each in paced.models))


def test_the_public_set_needs_no_hub(tmp_path: Path) -> None:
    """Its counts are known: 1,000 scenarios, 4,438 replies and 4,246 verdicts, and a wider range that is said."""
    nothing = {"HF_HUB_CACHE": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    settings = chosen(scenarios="cais/MASK", limit=None)
    counted, by_counts = planned(settings, nothing, PROMPTS)
    assert by_counts
    assert (counted.scenarios, counted.calls.replies, counted.calls.verdicts) == (1000, 4438, 4246)
    told = words(estimate(counted.loads, settings, PRICES, by_counts=True), settings)
    assert "cais/MASK was not read" in told
    part, _ = planned(chosen(scenarios="cais/MASK", limit=None, archetypes=("statistics",)), nothing, PROMPTS)
    assert part.scenarios == 96
    sample, _ = planned(chosen(scenarios="cais/MASK", limit=None, sample=100), nothing, PROMPTS)
    assert sample.scenarios == 100


def test_the_command_prints_it_and_gives_it_as_json() -> None:
    """`--dry-run` has the ranges after the plan, and `--json` beside it; nothing is called."""
    arguments = ("run", NAMES[0], "--judge", NAMES[1], "--scenarios", "starter", "--limit", "6", "--dry-run")
    shown = command(*arguments, env={"OPENAI_API_KEY": "k"})
    assert "US dollars" in shown.out
    assert "Prices of a million tokens: openai/gpt-4o $2.5 in, $1.25 cached, $10 out (2026-05-27)" in " ".join(
        shown.out.split()
    )
    costs = json.loads(command(*arguments, "--json", env={"OPENAI_API_KEY": "k"}).out)
    assert costs["scenarios"] == 6
    low, high = costs["estimate"]["cost"]
    assert 0 < low < high < costs["estimate"]["at_most"]


def test_what_was_spent_lies_in_the_range(tmp_path: Path) -> None:
    """On a server with answers of the assumed kind the bill is between least and most."""
    prices = ["--price-in", "1", "--price-out", "10", "--judge-price-in", "1", "--judge-price-out", "10"]
    arguments = in_file(tmp_path, "run", *MODELS, "--scenarios", "starter", "--limit", "12", *prices)
    usage = {"prompt_tokens": 700, "completion_tokens": 120}
    with serving(reply=reply_to, usage=usage, keep=False) as server:
        costs = json.loads(command(*arguments, "--dry-run", "--json", env=environ(server)).out)
        assert server.requests == 0
        ended = command(*arguments, "--out", tmp_path / "run", "--json", env=environ(server))
    low, high = costs["estimate"]["cost"]
    assert low < json.loads(ended.out)["bill"]["cost"] < high


@pytest.mark.parametrize("words_", [("exam", "openai/gpt-4o", "--short")])
def test_commands_that_only_judge_say_what_they_cost(words_: tuple[str, ...]) -> None:
    """`exam --dry-run` has the money of its verdicts."""
    shown = command(*words_, "--dry-run", env={"OPENAI_API_KEY": "k"})
    assert "judge openai/gpt-4o" in shown.out
    assert "US dollars" in shown.out


def test_judge_says_what_it_costs(tmp_path: Path) -> None:
    """Another judge of a run is priced before it is asked; nobody bills a simulated one."""
    run = tmp_path / "run"
    assert command("run", "sim", "--limit", "6", "--out", run, env={}).code == 0
    shown = command("judge", run, "--judge", "openai/gpt-4o", "--dry-run", env={"OPENAI_API_KEY": "k"})
    assert "judge openai/gpt-4o" in shown.out
    assert "In all about $" in shown.out
    assert "US dollars" not in command("judge", run, "--judge", "sim-judge", "--dry-run", env={}).out


@pytest.mark.parametrize("asked", [{}, {"placebo": True}])
def test_a_batch_has_its_share_of_the_price(asked: dict[str, Any]) -> None:
    """In batches at half the price everything costs half, controls among it."""
    prices: StagePrices = {
        "subject": {NAMES[0]: Price(input=1, output=10, batch=0.5)},
        "judge": {NAMES[1]: Price(input=2, output=20, batch=0.5)},
    }
    more, halved = of(chosen(**asked), prices), of(chosen(batch="both", **asked), prices)
    assert halved.cost == pytest.approx([end / 2 for end in more.cost or ()])
    assert halved.at_most == pytest.approx((more.at_most or 0) / 2)
