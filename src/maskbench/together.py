"""Options that do not go together: a row each, with why and what to do, and how the rows of a command are asked.

The rows of commands that ask are in the table of options of a run, those of commands that read beside the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from maskbench.errors import UsageError


class Clash(NamedTuple):
    """Options that do not go together, or not alone: the values with which they are refused, why, and what to do.

    `is_there` takes the options' values in their order, and {name} in the words is the value of that option.
    """

    options: tuple[str, ...]
    is_there: Callable[..., object]
    why: str
    remedy: str


def is_given(value: Any) -> bool:
    """Whether a value says that its option was given."""
    return bool(value) or (value == 0 and value is not False)


def beside(option: Any, *others: Any) -> bool:
    """The first option is given, and one of the others, too."""
    return is_given(option) and any(map(is_given, others))


def alone(option: Any, *others: Any) -> bool:
    """The first option is given, and none of the others."""
    return is_given(option) and not any(map(is_given, others))


def typed_as(name: str) -> str:
    """How an option is typed: --name, and the options of a model's own behind one letter."""
    return "-M" if name == "model_options" else f"--{name.rstrip('_').replace('_', '-')}"


def refuse(clashes: Iterable[Clash], given: Mapping[str, Any]) -> None:
    """Raise UsageError for the first row whose options are all among those given and do not go together."""
    for clash in clashes:
        if given.keys() >= set(clash.options) and clash.is_there(*(given[name] for name in clash.options)):
            raise UsageError(f"{clash.why} {clash.remedy}".format_map(given))
