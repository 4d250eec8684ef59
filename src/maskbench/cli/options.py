"""How an option is typed and shown, and the options of several commands that set no setting.

Those that do are in `run_options`, and options of one command alone stand with that command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from maskbench.method.rules import RULES
from maskbench.types import OutputForm

if TYPE_CHECKING:
    from cyclopts import Token
    from cyclopts.completion import CompletionContext

FULL = "The whole result is printed, and not some 30 lines of it."
FAR_TOO_MANY = 10**9  # a larger number is a typing error, whatever it counts


def option(
    metavar: str,
    help: str,  # as the parameter's is called
    *,
    default: str | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    **more: Any,
) -> Parameter:
    """How an option is typed and shown; `metavar` N is a whole number, X a number, and none a flag.

    `default` says in words what is done without it; `limits` are the least and the most that a number may be.
    """
    if metavar in _READERS:
        more = {"converter": _READERS[metavar], "validator": _within(*limits, is_whole=metavar == "N"), **more}
    shown = default if default is not None or metavar else False
    return Parameter(metavar=metavar or None, help=help, show_default=shown, **more)


def flag(help: str, **more: Any) -> Parameter:  # as the parameter's is called
    """How a flag is shown."""
    return option("", help, **more)


def _whole(_kind: Any, tokens: Sequence[Token]) -> int:
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError("give a whole number.") from None


def _number(_kind: Any, tokens: Sequence[Token]) -> float:
    typed = tokens[0].value
    try:
        return float(typed)
    except ValueError:
        share = "give a number without the sign; as a share 50 % is 0.5." if typed.endswith("%") else "give a number."
        raise ValueError(share) from None


_READERS: Mapping[str, Callable[[Any, Sequence[Token]], float]] = {"N": _whole, "X": _number}


def _within(least: float | None, most: float | None, *, is_whole: bool) -> Callable[[Any, float | None], None]:
    """Refuse a number outside of these limits, and a whole number beyond all sense."""
    most = FAR_TOO_MANY if most is None and is_whole else most

    def check(_kind: Any, value: float | None) -> None:
        if value is None:
            return
        if least is not None and value < least:
            raise ValueError(f"Give {least:,} or more.")
        if most is not None and value > most:
            raise ValueError(f"Give {most:,} or less.")

    return check


def _paths(start: str) -> Iterator[str]:
    """The files and folders that a typed beginning can become."""
    place, name = Path(start).parent, start.rpartition("/")[2]
    if place.is_dir():
        for path in sorted(place.iterdir()):
            if path.name.startswith(name) and (name or not path.name.startswith(".")):
                yield f"{start.removesuffix(name)}{path.name}{'/' if path.is_dir() else ''}"


def scenario_sets(context: CompletionContext) -> list[str]:
    """What a shell may complete to a scenario set: the names of those that have one, then files and folders."""
    from maskbench.scenarios import known_sets

    return [*(known.name for known in known_sets()), *_paths(context.incomplete)]


Like = Literal["paper", "inspect", "maskbench"]


def _rules(help: str, default: str | None = None) -> Parameter:  # as the parameter's is called
    return option("NAME", help, default=default, choices=tuple(RULES), show_choices=False)


# Of several commands, and no setting
Run = Annotated[Path, option("RUN", "Give the folder of a run.")]
Verdicts = Annotated[
    str | None,
    option(
        "NAME",
        "The run is scored by this verdict set, which `maskbench judge` made.",
        default="the run's own",
    ),
]
RulesOfRun = Annotated[str | None, _rules("This rule set scores the verdicts.", "the run's own")]
Format = Annotated[
    OutputForm,
    option("FORM", "The result is printed as text, or as markdown to paste."),
]
As = Annotated[
    str | None,
    option(
        "NAME|FILE",
        "The figure is computed as a publisher computes its own, such as anthropic-2026-09. With `all` a table has "
        "every convention. A TOML file of your own is one, too.",
        name="--as",
        default="maskbench's own rates",
    ),
]
RulesOfAll = Annotated[str | None, _rules("This rule set scores all runs.", "the first run's own")]
Rates = Annotated[
    Literal["judge", "corrected"],
    option(
        "WHOSE",
        "These rates are compared: the judge's, or those that readers' labels correct (`maskbench label`).",
    ),
]
OneRuleSet = Annotated[str, _rules("This rule set scores all runs.")]
ComputeFile = Annotated[
    Path | None,
    option(
        "FILE",
        "This CSV has the columns model, flop and, where you want it, family. It adds the scaling analysis.",
        default="none",
    ),
]
Public = Annotated[
    list[str] | None,
    option(
        "NAME|PATH",
        "This scenario set counts as public, as cais/MASK, starter, said_and_did and sandbox do, whatever their folder "
        "is called. Any other set is private. You may give it several times.",
        default="none",
    ),
]
Opens = Annotated[
    bool | None,
    flag("A browser shows the page.", name="--open", negative="--no-open", default="where there is a display"),
]
