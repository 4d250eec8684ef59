"""The command `plan`: parses, calls, prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group

from maskbench.cli.console import print_blocks, print_json
from maskbench.cli.options import RulesOfAll, flag, option
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.results.designs_json import Goal

_QUESTION = Group("The question", sort_key=1)


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
    json: Annotated[bool, flag("The plan is printed as JSON.")] = False,
) -> None:
    """Say which design answers a question for the fewest calls: how many scenarios, statements and calls it takes.

    The question is one of --difference, --half-width and --gate. No model is asked. The variance is measured on runs
    (--from RUN RUN...). Runs with 2+ statements show how much statements vary. Two runs of one model show how much
    beliefs vary. Runs of two models (or of one with and without an intervention) show what pairing gains. The rest is
    assumed, and the result names it.
    """
    from msgspec import to_builtins

    from maskbench.results.designs import answer
    from maskbench.results.sample_size_json import PlanData

    answered = answer(_goal(difference, half_width, gate), [*(source or ()), *more], rules, p_lie)
    if json:
        return print_json(to_builtins(answered))
    from maskbench.report.sections import designs_offered, scenarios_needed

    if isinstance(answered, PlanData):
        return print_blocks([*scenarios_needed.blocks(answered), *designs_offered.blocks(answered.designs)])
    return print_blocks(list(designs_offered.blocks(answered)))


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
