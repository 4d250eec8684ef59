"""Estimates of a run's cost and time, as ranges: counted loads, list prices, a pace that is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from msgspec import Struct, structs

from maskbench.asking.begin import taken
from maskbench.asking.forecast import Load, Plan, plan
from maskbench.asking.meter import known_prices
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import prompts_of
from maskbench.method.forms.prompts import Prompts
from maskbench.scenarios import draw, limit, open_set
from maskbench.scenarios.hub import NAME, SIZES, cached
from maskbench.settings import Settings
from maskbench.store.bill import StagePrices, prices_kept
from maskbench.store.folder import RunFolder
from maskbench.store.prices import FREE, Price, Tokens, cost
from maskbench.types import STAGES, Scenario, Stage

SECONDS = (1.0, 10.0)  # that a request to a service is assumed to take
UNREAD = (0.5, 2.0)  # how far the texts of a set that was not read may be from those that stand for them
REASONING = (100.0, 500.0, 2000.0)  # tokens that an answer is assumed to reason with: least, usual and most
_CROWDING = 1.11  # of the public set: its 1,000 scenarios have 944 propositions
Range = tuple[float, float]


class ModelEstimate(Struct, frozen=True, omit_defaults=True):
    """The calls, tokens and cost of one model, least and most; costs are null where no list has a price.

    `usual` is the cost by the usual tokens and the fewest calls, between the two ends. `at_most` is what it would cost
    if every answer used all of its --max-tokens, and no call had to be repeated. What is `batched` costs what the
    price list has for batches.
    """

    stage: Stage
    model: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    usual: float | None
    at_most: float | None
    price: Price | None
    batched: bool = False


class Estimate(Struct, frozen=True):
    """The cost of a run in dollars and its time in seconds; null where that is not known.

    `by_counts` says that the scenarios were not read: their number is known, and their length is assumed.
    """

    models: list[ModelEstimate]
    cost: Range | None
    usual: float | None
    at_most: float | None
    seconds: Range | None
    by_counts: bool = False


def estimate(
    loads: Mapping[tuple[Stage, str], Load], settings: Settings, prices: StagePrices, *, by_counts: bool = False
) -> Estimate:
    """The estimate of these loads: their cost and their time."""
    wide = UNREAD if by_counts else (1.0, 1.0)
    models = [
        _model(stage, model, load, prices.get(stage, {}).get(model), wide, settings)
        for (stage, model), load in loads.items()
    ]
    return _in_all(models, settings, by_counts=by_counts)


def summed(estimates: Iterable[Estimate], settings: Settings) -> Estimate:
    """The estimate of several runs together; `settings` have the connections and the pace that they share."""
    estimates = list(estimates)
    rows: dict[tuple[object, ...], ModelEstimate] = {}
    for each in (row for estimate in estimates for row in estimate.models):
        key = each.stage, each.model, each.price, each.batched
        rows[key] = _both(rows[key], each) if key in rows else each
    return _in_all(list(rows.values()), settings, by_counts=any(each.by_counts for each in estimates))


def _both(one: ModelEstimate, other: ModelEstimate) -> ModelEstimate:
    """What one model would be asked by two runs, at one price."""
    return structs.replace(
        one,
        calls=_sum((one.calls, other.calls)),
        input_tokens=_sum((one.input_tokens, other.input_tokens)),
        output_tokens=_sum((one.output_tokens, other.output_tokens)),
        cost=_sum((one.cost, other.cost)) if one.cost and other.cost else None,
        usual=_both_known(one.usual, other.usual),
        at_most=_both_known(one.at_most, other.at_most),
    )


def _both_known(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _sum(ranges: Sequence[Range]) -> Range:
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _in_all(models: list[ModelEstimate], settings: Settings, *, by_counts: bool) -> Estimate:
    unknown = any(each.price is None for each in models)
    costs = [each.cost for each in models if each.cost]
    return Estimate(
        models,
        None if unknown else _sum(costs),
        None if unknown else sum(each.usual or 0.0 for each in models),
        None if unknown else sum(each.at_most or 0.0 for each in models),
        _seconds(models, settings),
        by_counts,
    )


def _model(stage: Stage, model: str, load: Load, price: Price | None, wide: Range, settings: Settings) -> ModelEstimate:
    batched = settings.pace.in_batches(stage)
    sampling = (settings.subject if stage == "subject" else settings.judging).sampling
    thought = load.calls[1] if price and price.reasons else 0.0  # how many answers are reasoned about before
    input = load.input[0] * wide[0], load.input[1], load.input[2] * wide[1]
    output = [
        tokens + thought * min(more, sampling.reasoning_tokens)
        for tokens, more in zip(load.output, REASONING, strict=True)
    ]
    charged = price.batched if price and batched else price

    def paid(input_tokens: float, output_tokens: float) -> float | None:
        return cost(Tokens(input=input_tokens, output=output_tokens), charged) if charged else None

    low, usual, high = map(paid, input, output)
    return ModelEstimate(
        stage,
        model,
        load.calls,
        (input[0], input[2]),
        (output[0], output[2]),
        None if low is None or high is None else (low, high),
        usual,
        paid(input[2], load.most_output + thought * sampling.reasoning_tokens),
        price,
        batched,
    )


def _seconds(models: Iterable[ModelEstimate], settings: Settings) -> Range | None:
    """How long the calls take that go to services; None where this machine or a batch sets the pace."""
    models = list(models)
    if any(each.price == FREE or each.batched for each in models):
        return None
    low, high = (
        max(
            SECONDS[end],  # nothing is quicker than one request
            SECONDS[end] * sum(each.calls[end] for each in models) / settings.pace.connections,
            _paced(models, settings, end),
        )
        for end in (0, 1)
    )
    return low, high


def _paced(models: Iterable[ModelEstimate], settings: Settings, end: int) -> float:
    """The seconds that --rpm and --tpm make of it."""
    budget, seconds = settings.budget, 0.0
    for each in models:
        if budget.rpm:
            seconds = max(seconds, 60 * each.calls[end] / budget.rpm)
        if budget.tpm:
            seconds = max(seconds, 60 * (each.input_tokens[end] + each.output_tokens[end]) / budget.tpm)
    return seconds


def planned(settings: Settings, environ: Mapping[str, str], prompts: Prompts) -> tuple[Plan, bool]:
    """The plan of a run, and whether it was made by counts alone; raises as `taken` does."""
    scenarios, by_counts = scenarios_of(settings, environ)
    return plan_of(scenarios, settings, prompts, by_counts=by_counts), by_counts


def plan_of(scenarios: Sequence[Scenario], settings: Settings, prompts: Prompts, *, by_counts: bool) -> Plan:
    """The plan of a run of these scenarios, which may stand for others by their counts alone."""
    counted = plan(scenarios, settings, prompts)
    if by_counts:  # the texts that stand in share propositions that the set does not
        counted.crowding = 1 + (_CROWDING - 1) * (counted.scenarios - 1) / (sum(SIZES.values()) - 1)
    return counted


def of_run(
    settings: Settings,
    environ: Mapping[str, str],
    folder: RunFolder | None,
    stages: Sequence[Stage] = STAGES,
    verdicts: str = VERDICTS,
) -> tuple[list[Scenario], Plan, Estimate]:
    """The scenarios that a run would take, its plan, and the estimate of what these stages take of it.

    A price that nobody knows now is that by which this set of verdicts was billed in the folder. Raises as `taken` and
    `known_prices` do.
    """
    scenarios, by_counts = scenarios_of(settings, environ)
    counted = plan_of(scenarios, settings, prompts_of(settings), by_counts=by_counts)
    loads = {key: load for key, load in counted.loads.items() if key[0] in stages}
    prices = known_prices(settings, environ, stages=stages, kept=prices_kept(folder, verdicts) if folder else None)
    return scenarios, counted, estimate(loads, settings, prices, by_counts=by_counts)


def by_length(scenarios: Iterable[Scenario], settings: Settings, whole: Estimate) -> dict[str, tuple[Plan, Estimate]]:
    """The plan and the cost of each part of a set whose column `length` names several; else nothing."""
    parts: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        parts.setdefault(scenario.extra.get("length", ""), []).append(scenario)
    if len(parts) < 2 or "" in parts:
        return {}
    prices: StagePrices = {each.stage: {} for each in whole.models}
    for each in whole.models:
        prices[each.stage][each.model] = each.price
    prompts = prompts_of(settings)
    plans = {length: plan(part, settings, prompts) for length, part in parts.items()}
    return {length: (part, estimate(part.loads, settings, prices)) for length, part in plans.items()}


def scenarios_of(settings: Settings, environ: Mapping[str, str]) -> tuple[list[Scenario], bool]:
    """The scenarios that a run would take, read once, and whether they stand for others by their counts alone.

    cais/MASK is read only where it is in the cache: its counts are known, and the starter set's texts stand for its
    own, so that nobody needs access to it to learn what it would cost. Raises as `taken` does.
    """
    if settings.design.scenarios.lower() != NAME.lower() or cached(environ):
        read = list(open_set(settings.design.scenarios, environ))
        return list(taken(settings, environ, read).scenarios), False
    return _standing_in(settings, environ), True


def _standing_in(settings: Settings, environ: Mapping[str, str]) -> list[Scenario]:
    """A scenario of the starter set for each that a run would take of cais/MASK."""
    for archetype in settings.design.archetypes:
        if archetype not in SIZES:
            raise UsageError(f"--archetype {archetype}: {NAME} has only {', '.join(SIZES)}.")
    wanted = settings.design.archetypes or tuple(SIZES)
    keys = [(archetype, str(number)) for archetype in wanted for number in range(SIZES[archetype])]
    if settings.design.sample is not None:
        keys = list(draw(keys, settings.design.sample, settings.design.seed))
    elif settings.design.limit is not None:
        keys = list(limit(keys, settings.design.limit))
    starter = list(open_set("starter", environ))
    texts = {archetype: cycle([each for each in starter if each.archetype == archetype]) for archetype in wanted}
    return [next(texts[archetype]) for archetype, _ in keys]
