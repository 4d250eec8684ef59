"""`maskbench sweep`: many runs from one file, beside each other, within one budget, into a leaderboard."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group

from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    WRONG,
    command,
    environment,
    hushed,
    interruptible,
    print_blocks,
    print_json,
    say,
    with_rights,
)
from maskbench.cli.options import flag, option
from maskbench.cli.run_options import DryRun, Shared, takes
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from maskbench.cli.sweep_file import SweepFile
    from maskbench.presentation.blocks import Block, Section
    from maskbench.results.leaderboard_data import Page
    from maskbench.sweeps.sweeping import Swept

_PRINTED = Group("What is printed", sort_key=8)
BOARD = "leaderboard.json"


@in_short(
    "out max-cost max-tokens-total quiet json dry-run",
    "maskbench sweep sweep.toml --dry-run",
    "maskbench sweep sweep.toml --out sweeps/a --max-cost 20",
)
@takes("max_cost", "max_tokens_total", default="as in the file")
def sweep(
    file: Annotated[
        Path, option("FILE", "Give the TOML file that names the runs; docs/sweeps.md has all of its keys.")
    ],
    /,
    *,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "Each run is kept in a folder of this one. A sweep that is there goes on.",
            default="as in the file, else sweeps/<its name>",
        ),
    ] = None,
    json: Annotated[
        bool, flag("The end of every run is printed as JSON. With --dry-run that is the plan.", group=_PRINTED)
    ] = False,
    quiet: Annotated[bool, flag("Nothing is printed on stderr but errors.", group=_PRINTED)] = False,
    shared: Shared = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Measure many runs beside each other: models x their options x judges x prompts x sampling x sets, from a file.

    Exit codes: 0 done; 1 done, but a run has too many errors; 2 wrong usage, or a run that failed (with --dry-run one
    that would be refused), which is named; 4 stopped at --max-cost or --max-tokens-total of all runs together; 130
    interrupted.
    """
    from maskbench.cli.sweep_file import read_file, with_limits

    wanted = with_limits(read_file(file), given.get("max_cost"), given.get("max_tokens_total"))
    folder = out or wanted.out
    with hushed(quiet):
        if dry_run:
            return _print_plan(wanted, folder, json=json)
        with with_rights(folder, shared), interruptible(lambda: _go_on(file, out, given)):
            swept = _sweep(wanted, folder)
        _print(swept, wanted, folder, json=json)
    if any(each.state in ("failed", "held", "stopped") for each in swept.values()):
        raise SystemExit(WRONG)
    if any(each.state == "withheld" for each in swept.values()):
        raise SystemExit(TOO_MANY_ERRORS)
    return None


def _go_on(file: Path, out: Path | None, limits: Mapping[str, Any]) -> str:
    """The command as it was typed; whoever prints it doubles the limit that stopped it."""
    typed = (word for name, value in limits.items() for word in (f"--{name.replace('_', '-')}", f"{value:.12g}"))
    return command("sweep", file, *(("--out", out) if out else ()), *typed)


def _sweep(wanted: SweepFile, folder: Path) -> dict[str, Swept]:
    from maskbench.sweeps.sweeping import AT_ONCE, sweep

    return sweep(
        wanted.runs,
        folder,
        budget=wanted.budget,
        at_once=wanted.at_once or AT_ONCE,
        environ=environment(),
        tell=say,
        command=sys.argv,
    )


def _print_plan(wanted: SweepFile, folder: Path, *, json: bool) -> None:
    from msgspec import to_builtins

    from maskbench.asking.estimate import summed
    from maskbench.cli.sections.sweep import planned
    from maskbench.sweeps.record import changes, read_sweep
    from maskbench.sweeps.sweep_checks import estimates, refuse
    from maskbench.sweeps.sweep_plan import as_one

    left, why = estimates(wanted.runs, folder, environment(), wanted.budget)
    for line in changes(read_sweep(folder), wanted.runs, folder):
        say(line)
    settings = next(iter(as_one(wanted.runs, wanted.budget).values()))
    costs, in_all = {name: left.get(name) for name in wanted.runs}, summed(left.values(), settings)
    if json:
        print_json(to_builtins({"runs": costs, "estimate": in_all}))
    else:
        print_blocks(list(planned(costs, why, in_all, replace(settings, budget=wanted.budget))))
    refuse(why)


def _print(swept: Mapping[str, Swept], wanted: SweepFile, folder: Path, *, json: bool) -> None:
    """Print how all runs stand, the curves and the leaderboard, and leave that in the folder."""
    from maskbench.cli.sections.sweep import states
    from maskbench.presentation.sections.board import blocks
    from maskbench.results.leaderboard_data import as_json

    page = _board(swept)
    if json:
        print_json({name: _as_data(each) for name, each in swept.items()})
    else:
        shown = [*states(list(swept.values())), *_curves(swept, wanted.series)]
        print_blocks([*shown, *(blocks(page, command("leaderboard", folder, "--full")) if page.tables else ())])
    (folder / BOARD).write_text(as_json(page), encoding="utf-8")
    say(f"The runs are in {folder}, the leaderboard in {folder / BOARD}.")


def _as_data(each: Swept) -> dict[str, Any]:
    task = each.task
    summary = each.summary.as_dict() if each.summary else None
    return {
        "state": each.state,
        "why": each.why,
        "folder": str(task.folder),
        "verdicts": task.verdicts,
        "summary": summary,
    }


def _board(swept: Mapping[str, Swept]) -> Page:
    """The leaderboard of the runs that were measured, each by its own verdict set."""
    from maskbench.results.leaderboard_data import leaderboard_page
    from maskbench.results.scored import score

    measured = [each.task for each in swept.values() if each.summary]
    rules = {task.settings.design.rules for task in measured}
    one_for_all = rules.pop() if len(rules) == 1 else "reference"
    results = [score(task.folder, one_for_all, task.verdicts, judges=False) for task in measured]
    return leaderboard_page(results, {})


def _curves(swept: Mapping[str, Swept], series: Sequence[Sequence[str]]) -> Iterator[Block | Section]:
    """The curve of each series of checkpoints, of those of its runs that were measured."""
    from maskbench.cli.sections.sweep import checkpoints
    from maskbench.method.asks import VERDICTS
    from maskbench.presentation.blocks import Section, Warn

    for place, names in enumerate(series, start=1):
        measured = [swept[name] for name in names if swept[name].summary]
        if len(measured) < 2:
            yield Warn(f"{', '.join(names)}: fewer than two of these checkpoints were measured, so there is no curve.")
            continue
        try:
            folders, sets = zip(*((each.task.folder, each.task.verdicts) for each in measured), strict=True)
            rules = measured[0].task.settings.design.rules
            parts = list(checkpoints(folders, rules, [name or VERDICTS for name in sets]))
        except UsageError as error:
            parts = [Warn(str(error))]
        yield Section(f"curve-{place}", "Checkpoints in a row", f"curve {place}", tuple(parts))
