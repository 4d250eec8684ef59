"""The command line: parses, calls, prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import gc
import os
import sys
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from maskbench.cli import (
    audit,
    boards,
    compare,
    dose,
    exam,
    judge,
    label,
    lorra,
    reports,
    results,
    run,
    scenario_sets,
    steer,
)
from maskbench.cli.commands import Command, Group
from maskbench.cli.console import INTERRUPTED, WRONG, say
from maskbench.cli.streams import lasting
from maskbench.errors import Interrupted, MaskbenchError

_SETS = "Sets and published figures"
_PANELS = {
    "Measure": (run.run, compare.plan),
    "Read results": (
        *(reports.report, reports.view, results.score, results.export),
        *(compare.compare, boards.check, boards.leaderboard),
    ),
    "The judge": (exam.exam, judge.judge, audit.audit, label.label, label.agreement),
    "Make it more honest": (steer.steer, lorra.lorra, dose.dose),
    _SETS: (boards.published,),
}

app = typer.Typer(
    cls=Group,
    help="Does a language model say what it believes? The MASK method, end to end.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they print local variables, keys among them
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=panel)(command)
app.add_typer(scenario_sets.app, name="scenarios", rich_help_panel=_SETS)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maskbench {version('maskbench')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The `maskbench` command: maps errors to exit codes."""
    # Measured in docs/performance.md: a collection of the oldest generation stops every call in flight for a tenth of
    # a second, and BLAS threads spin for nothing in the few small sums of scoring.
    gc.set_threshold(50_000, 20, 100)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with lasting():
        _end_as_told()


def _end_as_told() -> None:
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except Interrupted as error:
        _stop(str(error), INTERRUPTED)
    except MaskbenchError as error:
        _stop(f"Error: {error}", WRONG)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"Error: {where}{error.strerror or error}.", WRONG)


def _stop(text: str, code: int) -> NoReturn:
    say(text)
    sys.exit(code)
