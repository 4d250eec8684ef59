"""The commands as Cyclopts has them: what is typed becomes a call, help is short or full, errors say what to type.

Cyclopts gives a command the settings that were typed and no others, so that a default is never taken for a wish.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, get_args

from cyclopts import App, Argument, CycloptsError, Group, MissingArgumentError, Parameter, UnusedCliTokensError
from cyclopts.exceptions import RepeatArgumentError, UnknownCommandError, UnknownOptionError

from maskbench.cli.console import WRONG, command
from maskbench.cli.gone import GONE
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions


NAME = "maskbench"
ALL = "--help-all"
INSTALL, COMPLETE = "--install-completion", "__complete"  # by the second a shell asks for the values of an option
ARGUMENTS, PLAIN = Group("Arguments", sort_key=0), Group("Options", sort_key=1)
Command = TypeVar("Command", bound=Callable[..., None])
_HELP = frozenset(("--help", "-h", ALL))
_ADDRESS = (
    "The address of a server is a variable, in the environment or in .env: for vllm/NAME set "
    "VLLM_BASE_URL=http://127.0.0.1:8000/v1."
)
_KEY = (
    "A key is a variable, so that no shell and no log keeps it: for openai/NAME set OPENAI_API_KEY, or put it in .env."
)
_MODEL = "The model has no option and stands behind the command, as in `maskbench run openai/gpt-4o`."
_SAMPLE = "To measure fewer scenarios, `--sample N`."
_SET = "Scenarios are named by `--scenarios NAME|PATH`."
_FILE = "What is written is named by `--out`."
# Options that other programs have, and what they are here.
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("--base-url", "--api-base", "--url", "--host", "--endpoint"), _ADDRESS),
    **dict.fromkeys(("--api-key", "--key", "--token"), _KEY),
    **dict.fromkeys(("--model", "--subject", "-m"), _MODEL),
    **dict.fromkeys(("-n", "--n", "--num", "--num-samples", "--max-samples"), _SAMPLE),
    **dict.fromkeys(("--data", "--dataset", "--set", "--task", "-d"), _SET),
    **dict.fromkeys(("-o", "--output", "--output-dir", "--html", "--csv"), _FILE),
    **dict.fromkeys(
        ("--resume", "--continue"), "A run goes on where its folder is given again, as in `maskbench run --out runs/A`."
    ),
    **dict.fromkeys(("-q", "--silent"), "To print nothing on stderr but errors, `maskbench run --quiet`."),
}
_FIELD = "is a field of the file of `maskbench run FILE.toml`"
_PRICED = ("run", "judge", "exam")
_FORMS = ("text", "markdown", "csv", "json", "jsonl", "parquet")  # of what is printed
_PICTURES = ("pdf", "svg", "png", "format")  # what a page is asked for by those who want its charts
_CHARTS = "Under each chart of the page stand buttons that save it, as SVG, PNG and CSV."
_TABLES = "Tables are printed by `maskbench score RUN --format markdown`."


# What the help of a long command shows: the options that most people need, and examples.
_Short: TypeAlias = tuple[frozenset[str], tuple[str, ...]]
_SHORT: dict[str, _Short] = {}


def in_short(options: str, *examples: str) -> Callable[[Command], Command]:
    """`--help` of this command shows these options (names with spaces between) and examples; --help-all shows all."""

    def noted(command: Command) -> Command:
        names = frozenset(f"--{name}" for name in options.split())
        _SHORT[command.__name__] = names, examples
        return command

    return noted


class Help:
    """Shows the panels of a command's help: each option by one name, and of a long command only some."""

    def __init__(self, names: frozenset[str] | None) -> None:
        """Everything is shown where no options are said to be enough."""
        self._names = names

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a panel; nothing where none of its options is shown."""
        from cyclopts.help import DefaultFormatter

        panel = panel.copy(entries=[entry for entry in panel.entries if self._shows(entry)])
        if panel.entries:
            DefaultFormatter()(console, options, panel)

    def _shows(self, entry: HelpEntry) -> bool:
        return self._names is None or not entry.names or not self._names.isdisjoint(entry.names)


@dataclass(frozen=True, slots=True)
class Family:
    """A command that has commands."""

    commands: tuple[Callable[..., None], ...]


class Entry(NamedTuple):
    """A command in the list of all: the module here that has it, and the first sentence of its help."""

    module: str
    about: str


Panels: TypeAlias = Mapping[str, Mapping[str, Entry]]  # by title, then by what is typed


def application(panels: Panels, *, in_full: bool = False, only: str | None = None) -> App:
    """The commands by panel; `in_full` shows all options in their help, and `only` is the one that is loaded."""
    app = _app(NAME, "Does a language model say what it believes? The MASK method, end to end.")
    app.version = _version
    for place, (title, commands) in enumerate(panels.items()):
        group = Group(title, sort_key=place + 2)
        for name, entry in commands.items():
            if only not in (None, name):
                app.command(App(name=name, help=entry.about, group=group, sort_key=len(tuple(app))))
                continue
            loaded = _loaded(entry.module, name)
            if isinstance(loaded, Family):
                several = _app(name, entry.about)
                for command_of_it in loaded.commands:
                    add(several, command_of_it, in_full=in_full)
                several.group, several.sort_key = (group,), len(tuple(app))
                app.command(several)
            else:
                add(app, loaded, group, in_full=in_full)
    app.register_install_completion_command(
        INSTALL,
        add_to_startup=False,
        group=PLAIN,
        help="Write a file by which your shell completes commands and options.",
    )
    for typed, about in (("--help", "Show this help."), ("--version", "Print the version and stop.")):
        app[typed].group, app[typed].help = (PLAIN,), about
    return app


def _version() -> str:
    """The line of `--version`."""
    from importlib.metadata import version  # loading it takes as long as half of maskbench's own command line

    return f"{NAME} {version(NAME)}"


def _loaded(module: str, name: str) -> Callable[..., None] | Family:
    """The function of a command, or those of one that has commands; a word of Python has a _ behind it."""
    there = import_module(f"maskbench.cli.{module}")
    found: Callable[..., None] | Family = getattr(there, f"{name}_" if iskeyword(name) else name)
    return found


def _app(name: str, about: str) -> App:
    return App(
        name=name,
        help=about,
        help_flags=["--help", "-h"],
        version_flags=["--version"] if name == NAME else [],
        help_format="plaintext",
        group_arguments=ARGUMENTS,
        group_parameters=PLAIN,
        default_parameter=Parameter(negative=(), show_choices=False),
    )


def add(app: App, command: Callable[..., None], group: Group | None = None, *, in_full: bool = False) -> None:
    """Put a command into an app; its docstring is its help."""
    name = command.__name__.rstrip("_").replace("_", "-")
    words = f"{NAME} {name}" if app.name[0] == NAME else f"{NAME} {app.name[0]} {name}"
    short = _SHORT.get(command.__name__)
    grouped: dict[str, Any] = {} if group is None else {"group": group}
    app.command(
        command,
        name=name,
        help=flowing(command.__doc__ or ""),
        usage=f"Usage: {words} [OPTIONS]{''.join(_positions(command))}",
        help_flags=["--help", "-h", *([ALL] if short else [])],
        help_formatter=Help(short[0] if short and not in_full else None),
        help_epilogue=None if short is None else _epilogue(words, short, in_full=in_full),
        sort_key=len(tuple(app)),
        **grouped,
    )


def _positions(command: Callable[..., None]) -> Iterable[str]:
    """What follows the options in the usage line."""
    for parameter in inspect.signature(command).parameters.values():
        name = parameter.name.upper()
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield f" [{name}...]"
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            yield f" {name}" if parameter.default is parameter.empty else f" [{name}]"


def _epilogue(words: str, short: _Short, *, in_full: bool) -> str:
    examples = "\n".join(("Examples:", *(f"  {line}" for line in short[1])))
    return examples if in_full else f"{examples}\n\nAll options: {words} {ALL}"


def flowing(text: str) -> str:
    """A docstring whose paragraphs are one line each, for the terminal to break."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def call(app: App, typed: Sequence[str]) -> None:
    """Do what was typed; raises UsageError for what is no command line."""
    try:
        command, bound, _ = app.parse_args([*typed], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UsageError(sentence(error, typed)) from None
    command(*bound.args, **bound.kwargs)
    if command.__name__ == "help_print" and _HELP.isdisjoint(typed):
        raise SystemExit(WRONG)  # nothing was asked for


def sentence(error: CycloptsError, typed: Sequence[str]) -> str:
    """What is wrong, what to type, and where to read more."""
    text, chain = str(error), error.command_chain or ()
    gone = [name for name in (word.partition("=")[0] for word in typed) if ("".join(chain[-1:]), name) in GONE]
    match error:
        case UnknownOptionError() | MissingArgumentError() if gone:
            text = f"Unknown option: {gone[0]}. {GONE[chain[-1], gone[0]]}"
        case UnusedCliTokensError():
            text = f"What is {shlex.join(error.unused_tokens or ())} for? Nothing takes it."
        case MissingArgumentError(argument=Argument(name=name, parameter=parameter)) if name.startswith("-"):
            text = f"{name} is missing. Add {name} {parameter.metavar}. {parameter.help}"
        case MissingArgumentError(argument=Argument(name=name, parameter=parameter)):
            text = f"{name} is missing. {parameter.help}"
        case RepeatArgumentError(token=token):
            text = f"{token.keyword} stands there more than once. Give it once."
        case UnknownOptionError(token=token):
            name = (token.keyword or token.value).partition("=")[0]
            advice = _form(name, error.argument_collection) or _field(name, chain) or _ELSEWHERE.get(name)
            text = f"Unknown option: {name}. {advice}" if advice else text
        case UnknownCommandError(unused_tokens=[word, *rest]):
            if word == "help":
                chain, text = (*chain, *rest[:1]), "help is an option."
            elif (
                "Did you mean" not in text or word.startswith("-") or "/" in word or ("".join(chain[-1:]), word) in GONE
            ):
                text = f'Unknown command "{word}". {_no_command(word, chain)}'
    return f"{text} For help: {command(*chain)} --help"


def _form(name: str, known: Iterable[Argument]) -> str | None:
    """How to have another form: by --format where the command has it, and charts as files from the page."""
    wanted, options = name.removeprefix("--"), {option: argument for argument in known for option in argument.names}
    if wanted in _FORMS and "--format" in options:
        hint = options["--format"].hint
        forms = {form for part in (hint, *get_args(hint)) for form in get_args(part)}  # one that may be left out, too
        return f"The form is an option: --format {wanted}." if wanted in forms else None
    if wanted in _PICTURES and "--include-text" in options:
        return f"{_CHARTS} {_TABLES}"
    return _TABLES if wanted in ("format", "latex", "markdown") else None


def _field(name: str, chain: Sequence[str]) -> str | None:
    """Where an option of a command stands that is a field of files alone; None for any other option."""
    from maskbench.asking.options import IN_FILES, JUDGED_AS, PRICES

    option, command = name.removeprefix("--").replace("-", "_"), chain[-1] if chain else ""
    if option in PRICES and command in _PRICED:
        return "Prices stand in maskbench-prices.toml, or as fields in `maskbench run FILE.toml`."
    if command != "run" or option not in IN_FILES:
        return None
    return f"See --like; alone it {_FIELD}." if option in JUDGED_AS else f"It {_FIELD}."


def told_of_fields(typed: Sequence[str], text: str) -> str:
    """An error's text; of a run it says which of the options that it names are fields of the run's file alone."""
    if not typed or typed[0] != "run":
        return text
    from maskbench.asking.options import IN_FILES

    named = dict.fromkeys(re.findall(r"(?<![\w-])--([a-z-]+[a-z])", text))
    fields = [name for name in named if name.replace("-", "_") in IN_FILES and f"--{name}" not in typed]
    if not fields:
        return text
    are = _FIELD if len(fields) == 1 else _FIELD.replace("is a field", "are fields")
    return f"{text} In a run {' and '.join(fields)} {are}."


def _no_command(word: str, chain: Sequence[str]) -> str:
    """What a word may be that stands where a command is to stand."""
    if gone := GONE.get((chain[-1] if chain else "", word)):
        return gone
    if chain:
        return f"If {word} is a scenario set: {command('scenarios', 'validate', word)}."
    if word.startswith("-"):
        return "An option stands behind its command, as in `maskbench run MODEL --out DIR`."
    if Path(word).is_dir():
        return f"If it is a run: {command('score', word)}."
    return f"If it is a model: {command('run', word)}."
