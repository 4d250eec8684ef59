"""The options that set a setting, as commands that ask take them: `takes` gives a command those that it names.

Words, types, defaults and limits are from the one table of `asking/options.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypedDict, Unpack, get_type_hints

from cyclopts import Group

from maskbench.asking.options import ASKED, CHECKS, HOW, JUDGE, MONEY, OPTIONS, SCENARIOS, SCORING, SUBJECT
from maskbench.cli.commands import Command
from maskbench.cli.options import flag, option, scenario_sets
from maskbench.together import typed_as

SAME = "as in the run"
GROUPS = {
    title: Group(title, sort_key=place)
    for title, place in (
        (SCENARIOS, 2),
        (SUBJECT, 3),
        (ASKED, 3),
        (CHECKS, 4),
        (JUDGE, 6),
        (SCORING, 7),
        (HOW, 8),
        (MONEY, 9),
    )
}


def declared(name: str, default: str | None = None) -> Any:
    """The type of what is typed for an option, with all that is shown; `default` goes before the setting's own."""
    row = OPTIONS[name]
    words = default or row.default
    if words is None and row.metavar and row.standard is not None:
        words = str(row.standard)
    more: dict[str, Any] = {"choices": row.choices, "show_choices": False} if row.choices else {}
    more |= {"completer": scenario_sets} if name == "scenarios" else {}
    more |= {"name": typed_as(name)} if name == "model_options" else {}
    shown = option(row.metavar, row.help, default=words, limits=row.limits, group=GROUPS[row.panel], **more)
    return Annotated[row.kind, shown]


def takes(
    *names: str, own: type | None = None, default: str | None = None, defaults: Mapping[str, str] | None = None
) -> Callable[[Command], Command]:
    """Give a command the options of these settings, and those of a TypedDict of its own, as `**given`.

    `given` holds what was typed and nothing else. `default` says in words what is done without an option, where that
    is not the setting's default; `defaults` says it of one of them.
    """
    words = {name: (defaults or {}).get(name, default) for name in names}

    def taking(command: Command) -> Command:
        typed = get_type_hints(own, include_extras=True) if own else {}
        typed |= {name: declared(name, words[name]) for name in names}
        command.__annotations__["given"] = Unpack[TypedDict("Given", typed, total=False)]  # type: ignore[operator]  # a type that is made here
        return command

    return taking


# Of several commands that ask, and no setting
Shared = Annotated[
    bool, flag("Others may read the new folder, as the umask says. Without this it is its owner's alone.", group=HOW)
]
DryRun = Annotated[bool, flag("maskbench counts calls and tokens, and calls nothing.", group=HOW)]
