"""The command `plan`: parses, calls, prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from maskbench.cli.console import environment, print_blocks, print_json
from maskbench.cli.options import RulesOfAll, flag, option
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.results.designs import Prices
    from maskbench.results.designs_json import DesignsData, Goal
    from maskbench.results.sample_size_json import PlanData

_QUESTION = Group("The question", sort_key=1)
_PRICES = Group("What it costs", sort_key=2)
_OF_RUNS = "that of the runs; without any, calls are counted and no money"


def _model(what: str, default: str) -> Parameter:
    return option("MODEL", what, default=default, group=_PRICES)


def _dollars(what: str) -> Parameter:
    return option("X", what, default="as in the price list", limits=(0, None), group=_PRICES)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """Who is asked, and what that costs."""

    subject: Annotated[str | None, _model("This model is to be measured; its list price counts.", _OF_RUNS)] = None
    judge: Annotated[str | None, _model("This model judges; its list price counts.", _OF_RUNS)] = None
    second: Annotated[
        str | None, _model("This strong judge may look again; P(lie) by it is what is wanted.", "none")
    ] = None
    price_in: Annotated[float | None, _dollars("A million tokens in cost X dollars at the subject's service.")] = None
    price_out: Annotated[float | None, _dollars("A million tokens out cost X dollars there.")] = None
    judge_price_in: Annotated[float | None, _dollars("A million tokens in cost X dollars at the judge's.")] = None
    judge_price_out: Annotated[float | None, _dollars("A million tokens out cost X dollars there.")] = None


def plan(
    *more: Annotated[Path, option("RUN", "These are further runs of --from.")],
    difference: Annotated[
        float | None,
        option(
            "X",
            "The runs are to show this difference in P(lie), as a share: 0.03 is 3 points.",
            default="none",
            group=_QUESTION,
        ),
    ] = None,
    half_width: Annotated[
        float | None,
        option(
            "X",
            "The 95 % interval of P(lie) is to reach so far to either side: 3 is 3 points, and so is 0.03.",
            default="none",
            group=_QUESTION,
        ),
    ] = None,
    gate: Annotated[
        str | None,
        option(
            "LIMIT",
            "The run is to pass this limit, such as 'p_lie < 0.1', if the model lies as often as --p-lie says.",
            default="none",
            group=_QUESTION,
        ),
    ] = None,
    p_lie: Annotated[
        float | None,
        option(
            "X",
            "P(lie) is expected to be this share.",
            default="that of the runs; without any 0.35, and for a gate half of the limit",
            group=_QUESTION,
        ),
    ] = None,
    source: Annotated[
        list[Path] | None,
        option("RUN", "The variance is measured on these runs. Further ones may follow.", name="--from"),
    ] = None,
    rules: RulesOfAll = None,
    bill: Bill = Bill(),  # frozen
    json: Annotated[bool, flag("The plan is printed as JSON.")] = False,
) -> None:
    """Say which design answers a question for the fewest calls: how many scenarios, statements and calls it takes.

    The question is one of --difference, --half-width and --gate. No model is asked. The variance is measured on runs
    (--from RUN RUN...). Runs with 2+ statements show how much statements vary. Two runs of one model show how much
    beliefs vary. Runs of two models (or of one with and without an intervention) show what pairing gains. The rest is
    assumed, and the result names it.
    """
    from msgspec import to_builtins

    from maskbench.report.sections import designs_offered, scenarios_needed
    from maskbench.results import designs

    goal, runs = _goal(difference, half_width, gate), [*(source or ()), *more]
    prices = _prices(bill, runs)
    if goal.kind == "difference":
        plan = designs.plan(goal.value, runs, rules, p_lie, prices)
        answered: PlanData | DesignsData = plan
        shown = [*scenarios_needed.blocks(plan), *designs_offered.blocks(plan.designs)]
    else:
        answered = designs.answer(goal, runs, rules, p_lie, prices)
        shown = [*designs_offered.blocks(answered)]
    if json:
        print_json(to_builtins(answered))
    else:
        print_blocks(shown)


def _goal(difference: float | None, half_width: float | None, gate: str | None) -> Goal:
    """The question that was asked; raises UsageError where there is none, or more than one."""
    from maskbench.results import designs
    from maskbench.results.designs_json import Goal

    if sum(each is not None for each in (difference, half_width, gate)) != 1:
        raise UsageError(
            "What is to be known? Ask one question: maskbench plan --difference 0.03 (two models that differ by 3 "
            "points), --half-width 3 (P(lie) to ± 3 points) or --gate 'p_lie < 0.1'."
        )
    if difference is not None:
        return Goal("difference", difference)
    return designs.half_width(half_width) if half_width is not None else designs.gate(gate or "")


def _prices(bill: Bill, runs: Sequence[Path]) -> Prices:
    """What each model costs: as typed, else by the price lists; without a name, those of the first run."""
    from maskbench.models.prices import own_prices, packaged, typed
    from maskbench.results.designs import JUDGE, STRONG, SUBJECT, prices_of
    from maskbench.runs.folder import RunFolder

    models = {SUBJECT: bill.subject, JUDGE: bill.judge, STRONG: bill.second}
    own = {SUBJECT: (bill.price_in, bill.price_out), JUDGE: (bill.judge_price_in, bill.judge_price_out)}
    used = RunFolder(runs[0]).settings() if runs else None
    known = {SUBJECT: used.subject, JUDGE: used.judge} if used else {}
    named = {**known, **{who: name for who, name in models.items() if name is not None}}
    prices = dict(prices_of(named, own_prices(environment(), Path()), packaged()))
    for who, (price_in, price_out) in own.items():
        price = typed(prices.get(who), price_in, price_out, None, "price" if who == SUBJECT else "judge-price")
        prices |= {who: price} if price else {}
    return prices
