"""The command line: parses, calls, prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import NoReturn

from cyclopts import App

from maskbench.cli.commands import ALL, COMPLETE, INSTALL, Entry, Panels, application, call, told_of_fields
from maskbench.cli.console import INTERRUPTED, NOTHING_LEFT, OK, WRONG, say
from maskbench.cli.streams import lasting
from maskbench.errors import BudgetReached, Interrupted, MaskbenchError

# Each command with its module and the first sentence of its help, so that only the one that is typed is loaded.
PANELS: Panels = {
    "Measure": {
        "run": Entry("run", "Measure whether MODEL says what it believes, and print the result."),
        "sweep": Entry(
            "sweep",
            "Measure many runs beside each other: models x their options x judges x prompts x sampling x sets, from a "
            "file.",
        ),
        "import": Entry(
            "importing_cli", "Make a run of replies, and of verdicts, that another program wrote; no model is asked."
        ),
        "doctor": Entry(
            "doctor", "Make four small calls to a model, and say what came and what to type; or list all models."
        ),
    },
    "Read results": {
        "report": Entry(
            "reports",
            "Make one self-contained page of a run, or of several that are compared with the first; it asks no model.",
        ),
        "score": Entry("results", "Score a run again from its stored verdicts; asks no model and needs no network."),
        "export": Entry(
            "results",
            "Write a run for other programs: for yourself a row a scenario with its texts, or for others what they may "
            "see.",
        ),
        "compare": Entry(
            "compare",
            "Compare runs on the scenarios that they share: differences, one test, what changed. Asks no model.",
        ),
        "check": Entry("boards", "Check in CI that a run stays within limits."),
        "leaderboard": Entry(
            "boards", "Rank runs that measured the same, in a table for each protocol and scenario set."
        ),
    },
    "The judge": {
        "exam": Entry(
            "exam",
            "Qualify a judge: constructed replies with a known right verdict, asked exactly as in a run, scored by "
            "rule.",
        ),
        "judge": Entry(
            "judge",
            "Judge the stored replies of RUN once more, into a verdict set of its own; the subject is not asked.",
        ),
        "label": Entry(
            "label", "Have a sample of RUN's replies labelled, on a page on this machine, blind to the judge."
        ),
    },
    "Sets and published figures": {
        "published": Entry("boards", "Print the figures that others have published, with their sources."),
        "scenarios": Entry("scenario_sets", "List, show, check and begin scenario sets."),
    },
}


@cache
def app(*, in_full: bool = False, only: str | None = None) -> App:
    """All commands; `in_full` has their help show all options, and with `only` the others are names with a sentence."""
    return application(PANELS, in_full=in_full, only=only)


def _only(typed: Sequence[str]) -> str | None:
    """The one command that has to be loaded; None where it is all, for the shell's completion."""
    words = [word for word in typed if not word.startswith("-") and word != COMPLETE]
    return None if INSTALL in typed else words[0] if words else ""


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
            call(app(in_full=ALL in sys.argv, only=_only(sys.argv[1:])), sys.argv[1:])
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
