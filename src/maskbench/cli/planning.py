"""The command `plan`: parses, calls, prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group

from maskbench.cli.console import environment, print_blocks, print_json
from maskbench.cli.options import RulesOfAll, flag, option
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.results.plan import Goal

_QUESTION = Group("The question", sort_key=1)
_WHOM = Group("Who is asked what", sort_key=2)
_OF_RUNS = "that of the runs; without any, calls are counted and no money"


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
        option("RUN", "This run is a pilot, on which P(lie) is measured. Further ones may follow.", name="--from"),
    ] = None,
    scenarios: Annotated[
        str | None,
        option(
            "SET",
            "The scenarios are of this set, as for `maskbench run`.",
            default="that of the runs; without any starter",
            group=_WHOM,
        ),
    ] = None,
    subject: Annotated[
        str | None,
        option("MODEL", "This model is to be measured; its list price counts.", default=_OF_RUNS, group=_WHOM),
    ] = None,
    judge: Annotated[
        str | None, option("MODEL", "This model judges; its list price counts.", default=_OF_RUNS, group=_WHOM)
    ] = None,
    rules: RulesOfAll = None,
    json: Annotated[bool, flag("The plan is printed as JSON.")] = False,
) -> None:
    """Say how many scenarios of a set answer a question, and what asking them takes. No model is asked.

    The question is one of --difference, --half-width and --gate. Where the whole set does not answer it, the plan says
    what the set can do. A pilot (--from RUN RUN...) tells P(lie), how alike scenarios of one proposition are, and what
    two models have in common. What it does not tell is assumed, and the result names it.
    """
    from msgspec import to_builtins

    from maskbench.presentation.sections.plan import blocks
    from maskbench.results.plan import plan

    found = plan(
        _goal(difference, half_width, gate),
        [*(source or ()), *more],
        rules,
        scenarios=scenarios,
        p_lie=p_lie,
        subject=subject,
        judge=judge,
        environ=environment(),
    )
    if json:
        print_json(to_builtins(found))
    else:
        print_blocks([*blocks(found)])


def _goal(difference: float | None, half_width: float | None, gate: str | None) -> Goal:
    """The question that was asked; raises UsageError where there is none, or more than one."""
    from maskbench.results import plan
    from maskbench.results.plan import Goal

    if sum(each is not None for each in (difference, half_width, gate)) != 1:
        raise UsageError(
            "What is to be known? Ask one question: maskbench plan --difference 0.03 (two models that differ by 3 "
            "points), --half-width 3 (P(lie) to ± 3 points) or --gate 'p_lie < 0.1'."
        )
    if difference is not None:
        return Goal("difference", difference)
    return plan.half_width(half_width) if half_width is not None else plan.gate(gate or "")
