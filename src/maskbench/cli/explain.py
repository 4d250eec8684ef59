"""The command `explain`: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from maskbench.cli.console import check_form, print_blocks, print_json
from maskbench.cli.options import Format, flag, option
from maskbench.errors import UsageError


def explain(
    *runs: Annotated[Path, option("RUN", "Give two runs, or one and what it is held against.")],
    as_: Annotated[
        list[str] | None,
        option(
            "NAME|FILE",
            "The first run's figure is computed as this publisher computes its own. A second one is for the other "
            "figure; where there is none, the first is for both.",
            name="--as",
            default="maskbench's own P(lie)",
        ),
    ] = None,
    published: Annotated[
        str | None,
        option(
            "MODEL",
            "The other figure is the published one of this model (see `maskbench published --as NAME`). Name its "
            "convention with --as.",
            default="none",
        ),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        option("NAME", "Each run is scored by this verdict set, in their order.", default="each run's own"),
    ] = None,
    format: Format = "text",
    json: Annotated[bool, flag("The parts are printed as JSON.")] = False,
) -> None:
    """Say why two figures of lies differ: by scenarios, rules, statements, failures, denominator, judge, or the rest.

    Asks no model. The other figure is a second run, the same run under another convention, or a published row.
    """
    from msgspec import to_builtins

    from maskbench.report.sections.why_they_differ import blocks
    from maskbench.results.explained import explain as explained

    check_form(format, json=json)
    if not 1 <= len(runs) <= 2:
        raise UsageError("Give two runs, as in `maskbench explain RUN RUN`, or one with two --as.")
    names = [*(verdicts or []), None, None]
    if verdicts and len(verdicts) > len(runs):
        raise UsageError("--verdicts: give one for each run at most.")
    first, other = runs[0], runs[1] if len(runs) > 1 else None
    sets = (names[0], names[1] if other else names[0])
    data = explained(first, other, as_ or (), sets, published)
    if json:
        print_json(to_builtins(data))
    else:
        print_blocks(list(blocks(data)), format)
