"""The command line: parses, calls, prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from typing import NoReturn

from cyclopts import App

from maskbench.cli import (
    boards,
    compare,
    doctor,
    exam,
    importing_cli,
    judge,
    label,
    reports,
    results,
    run,
    scenario_sets,
    sweep,
)
from maskbench.cli.commands import ALL, application, call, told_of_fields
from maskbench.cli.console import INTERRUPTED, NOTHING_LEFT, OK, WRONG, say
from maskbench.cli.streams import lasting
from maskbench.errors import BudgetReached, Interrupted, MaskbenchError

_PANELS = {
    "Measure": (run.run, sweep.sweep, importing_cli.import_, doctor.doctor),
    "Read results": (
        *(reports.report, results.score, results.export),
        *(compare.compare, boards.check, boards.leaderboard),
    ),
    "The judge": (exam.exam, judge.judge, label.label),
    "Sets and published figures": (boards.published, scenario_sets.scenarios),
}


@cache
def app(*, in_full: bool = False) -> App:
    """All commands; `in_full` has their help show all options."""
    return application(_PANELS, in_full=in_full)


def main() -> NoReturn:
    """The `maskbench` command, which ends the process: maps errors to exit codes."""
    # Measured in docs/project/performance.md: a collection of the oldest generation stops every call in flight for a
    # tenth of a second, and BLAS threads spin for nothing in the few small sums of scoring.
    gc.set_threshold(50_000, 20, 100)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with lasting():
        _end_as_told()
    sys.exit(OK)


def _end_as_told() -> None:
    try:
        try:
            call(app(in_full=ALL in sys.argv), sys.argv[1:])
        finally:
            sys.stdout.flush()
    except BudgetReached as error:
        _stop(str(error), NOTHING_LEFT)
    except Interrupted as error:
        _stop(str(error), INTERRUPTED)
    except KeyboardInterrupt:
        _stop("Interrupted.", INTERRUPTED)
    except MaskbenchError as error:
        _stop(f"Error: {told_of_fields(sys.argv[1:], str(error))}", WRONG)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"Error: {where}{error.strerror or error}.", WRONG)


def _stop(text: str, code: int) -> NoReturn:
    say(text)
    sys.exit(code)
