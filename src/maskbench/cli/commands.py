"""How commands show their help and refuse a wrong choice: typer's own, without the types that only Python has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command; its arguments stand in the usage line as their metavars are written."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Everything is typer's; its help flows, and flags and arguments show no type."""
        super().__init__(*arguments, **options)
        self.help = flowing(self.help)
        for parameter in self.params:
            _untyped(parameter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in the usage line."""
        arguments = (one.metavar or one.name for one in self.params if one.param_type_name == "argument")
        return ["[OPTIONS]", *map(str, arguments)]

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, which is a flag, too."""
        return _untyped(super().get_help_option(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises BadParameter that names the nearest choice."""
        with _near_misses():
            return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A group of commands, its flags without a type."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Everything is typer's."""
        super().__init__(*arguments, **options)
        for parameter in self.params:
            _untyped(parameter)

    def get_help_option(self, ctx: Any) -> Any:
        """`--help`, which is a flag, too."""
        return _untyped(super().get_help_option(ctx))


def flowing(text: str | None) -> str | None:
    """A docstring whose paragraphs are one line each, for the terminal to break."""
    return text and "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _untyped(parameter: Any) -> Any:
    """The parameter without a type in its help: a flag has no value, and an argument's name says what it is."""
    if parameter is None:
        return None
    if getattr(parameter, "is_flag", False):
        parameter.metavar = ""
    elif parameter.param_type_name == "argument":
        parameter.display_type_rich = lambda ctx: None  # typer has no option for it
    return parameter


@contextmanager
def _near_misses() -> Iterator[None]:
    try:
        yield
    except typer.BadParameter as error:
        error.message = _suggesting(error.message)
        raise


def _suggesting(message: str) -> str:
    """What typer says of a wrong choice, which names it and then all that there are, with the nearest of these."""
    said = message.removeprefix("Value error, ")
    wrong, found, choices = said.partition(" is not one of ")
    near = get_close_matches(wrong.strip("'"), re.findall(r"'([^']*)'", choices), 1) if found else []
    return f"{said} Did you mean {near[0]}?" if near else said
