"""The command `maskbench-whitebox`: parses, calls, prints. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import inspect
import sys
from importlib.metadata import version
from typing import NoReturn

from cyclopts import App, CycloptsError, Parameter

from maskbench.doors import say
from maskbench.errors import Interrupted, MaskbenchError, UsageError
from maskbench_whitebox.cli.lorra import lorra
from maskbench_whitebox.cli.steer import steer

NAME = "maskbench-whitebox"
WRONG, INTERRUPTED = 2, 130


def app() -> App:
    """Both commands."""
    whole = App(
        name=NAME,
        help="Make a model more honest by steering or an adapter; `maskbench run hf/NAME` measures it.",
        version=lambda: f"{NAME} {version(NAME)}",
        help_format="plaintext",
        default_parameter=Parameter(negative=(), show_choices=False),
    )
    for command in (steer, lorra):
        paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
        whole.command(command, help="\n\n".join(" ".join(each.split()) for each in paragraphs))
    return whole


def main() -> NoReturn:
    """The command, which ends the process: maps errors to the exit codes of `maskbench`."""
    try:
        _call(sys.argv[1:])
    except (Interrupted, KeyboardInterrupt) as error:
        _stop(str(error) or "Interrupted.", INTERRUPTED)
    except MaskbenchError as error:
        _stop(f"Error: {error}", WRONG)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _stop(f"Error: {where}{error.strerror or error}.", WRONG)
    sys.exit()


def _call(typed: list[str]) -> None:
    """Do what was typed; raises UsageError for what is no command line."""
    try:
        command, bound, _ = app().parse_args(typed, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(f"{error} For help: {' '.join((NAME, *(error.command_chain or ())))} --help") from None
    command(*bound.args, **bound.kwargs)


def _stop(text: str, code: int) -> NoReturn:
    say(text)
    sys.exit(code)
