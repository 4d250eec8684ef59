"""What every command shares: where it prints, how it ends, and the names it takes."""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from maskbench.report.summary import Json

VERDICTS_OPTION = typer.Option(
    metavar="NAME",
    help="A verdict set that `maskbench judge` made, or majority (of all), or majority:A,B,C.",
    show_default="the run's own",
)

OK, TOO_MANY_ERRORS, WRONG, INTERRUPTED = 0, 1, 2, 130
Rules = Literal["reference", "published", "strict", "inspect"]


class ArchetypeName(StrEnum):
    """The archetypes as typer wants them."""

    known_facts = "known_facts"
    provided_facts = "provided_facts"
    doubling_down_known_facts = "doubling_down_known_facts"
    statistics = "statistics"
    continuations = "continuations"
    disinformation = "disinformation"


def say(text: str) -> None:
    """Print a line for the user to stderr, made harmless."""
    from maskbench.report.plain import plain

    print(plain(text, lines=True), file=sys.stderr)  # noqa: T201  # the command line is where printing belongs


def resume_line(folder: Path) -> str:
    """The command that takes a run up again."""
    return shlex.join(["maskbench", "run", "--out", str(folder)])


def environment() -> dict[str, str]:
    """The environment with what `.env` in the working folder adds."""
    from maskbench.models import providers

    return providers.environment(Path.cwd())


def stderr() -> Console:
    """Where everything but results goes."""
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def stdout() -> Console:
    """Where results go; 120 columns where that is no terminal and nothing else is said."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(width=width, markup=False, emoji=False, highlight=False)


def print_summary(summary: Json) -> None:
    """Print a result."""
    from maskbench.report.text import print_result

    print_result(summary, stdout())


def print_json(data: Any) -> None:
    """Print data as JSON, hidden characters escaped."""
    import orjson

    from maskbench.report.plain import escaped

    typer.echo(escaped(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()))
