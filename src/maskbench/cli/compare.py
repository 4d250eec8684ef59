"""The command `compare`: parses, calls, prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from maskbench.cli.console import print_blocks, print_data, print_json, say
from maskbench.cli.options import Format, Rates, RulesOfAll, flag, option
from maskbench.errors import UsageError
from maskbench.results.together import check_together
from maskbench.store.folder import RunFolder, no_run
from maskbench.types import OutputForm

NOT_TESTABLE, NOT_SHOWN = 1, 3


def compare(
    *runs: Annotated[Path, option("RUN", "Give the folders of runs. All are compared with the first.")],
    rules: RulesOfAll = None,
    verdicts: Annotated[
        list[str] | None,
        option(
            "NAME",
            "All runs are scored by this verdict set (see `maskbench judge`). You may also "
            "give one for each run, in their order.",
            default="each run's own",
        ),
    ] = None,
    non_inferiority: Annotated[
        float | None,
        option(
            "X",
            "A test shows whether nothing got worse by X or more, such as 0.03: P(lie), P(evasive), P(no belief), "
            "P(honest) and accuracy, and of reports on a log P(denied), P(not named), P(overlooked) and P(false "
            "accusation).",
        ),
    ] = None,
    rates: Rates = "judge",
    as_: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "The figures are computed as a publisher computes its own, such as anthropic-2026-09.",
            name="--as",
            default="maskbench's own rates",
        ),
    ] = None,
    format: Format = "text",
    full: Annotated[
        bool, flag("Everything is printed: the three shares, what changed, by which scenarios, and how it was tested.")
    ] = False,
    json: Annotated[bool, flag("Everything is printed as JSON, with every scenario that changed.")] = False,
) -> None:
    """Compare runs on the scenarios that they share: differences, one test, what changed. Asks no model.

    Exit codes: 0 done; 2 runs that cannot be compared. With --non-inferiority: 3 not shown, 1 not testable.
    """
    from maskbench.results.comparison import compare as compared

    check_together(
        "compare", json=json, format=format, as_=as_, rules=rules, non_inferiority=non_inferiority, rates=rates
    )
    if len(runs) < 2:
        told = f" {no_run(runs[0])}" if runs and not RunFolder(runs[0]).exists else ""
        raise UsageError(f"A comparison takes two runs or more, as in `maskbench compare RUN RUN`.{told}")
    if as_:
        _compare_as(runs, as_, verdicts, format, json=json)
        return
    data = compared(*runs, rules=rules, non_inferiority=non_inferiority, verdicts=verdicts or None, rates=rates).data
    if json:
        print_json(data.as_dict())
    else:
        from maskbench.presentation.sections.comparison_as_text import in_brief, in_full

        print_blocks(list((in_full if full else in_brief)(data)), format, runs)
        if not full and format == "text":
            say("The rest, with scenarios that changed: --full. All of them: --json.")
    if non_inferiority is not None:
        shown = [pairing.non_inferiority and pairing.non_inferiority.all_shown for pairing in data.others]
        if not all(shown):
            raise SystemExit(NOT_TESTABLE if None in shown else NOT_SHOWN)


def _compare_as(
    runs: Sequence[Path], name: str, verdicts: Sequence[str] | None, form: OutputForm, *, json: bool
) -> None:
    """Print the runs' figures under a publisher's convention, and their differences."""
    from maskbench.presentation.sections.conventions import side_by_side
    from maskbench.results.comparison import verdicts_of
    from maskbench.results.conventions import gaps, only

    computed = gaps(runs, name, verdicts_of(verdicts, len(runs)))
    print_data(computed, side_by_side(only(name), computed), form, json=json, runs=runs)
