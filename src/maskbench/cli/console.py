"""What every command shares: where it prints, how it ends, and the names it takes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import BudgetReached, Interrupted, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from maskbench.presentation.blocks import Block, Section
    from maskbench.results.shown_to_others import Redaction
    from maskbench.results.summary import Summary
    from maskbench.settings import Settings
    from maskbench.types import OutputForm

OK, TOO_MANY_ERRORS, WRONG, NOTHING_LEFT, INTERRUPTED = 0, 1, 2, 4, 130


@contextmanager
def hushed(quiet: bool) -> Iterator[None]:
    """With `quiet` nothing goes to stderr while this context is open; an error is printed after it."""
    with ExitStack() as opened:
        if quiet:
            opened.enter_context(redirect_stderr(opened.enter_context(Path(os.devnull).open("w", encoding="utf-8"))))
        yield


def say(text: str) -> None:
    """Print a line for the user to stderr, made harmless."""
    from maskbench.plain import plain

    print(plain(text, lines=True), file=sys.stderr)  # noqa: T201  # the command line is where printing belongs


def put(text: str, end: str = "\n") -> None:
    """Write a result to stdout as it is."""
    sys.stdout.write(f"{text}{end}")
    sys.stdout.flush()


def command(*words: object) -> str:
    """A command of maskbench as a line that can be copied."""
    return shlex.join(["maskbench", *map(str, words)])


def resume_line(folder: Path) -> str:
    """The command that takes a run up again, by the process that has made it."""
    from maskbench.asking.stored_programs import words_again
    from maskbench.store.folder import RunFolder

    record = RunFolder(folder).read()
    return command("run", "--out", folder, *words_again(record.settings))


def paced_by(given: Mapping[str, object]) -> list[str]:
    """The paces that were typed, as words: whatever goes on has to know them, and no file keeps them."""
    kept = {name: value for name, value in given.items() if name in ("rpm", "tpm")}
    return [
        word
        for name, value in kept.items()
        for word in (f"--{name.replace('_', '-')}", f"{value:.12g}" if isinstance(value, float) else str(value))
    ]


@contextmanager
def interruptible(go_on: Callable[[], str], begun: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Whatever stops what is done here says which line takes it up again; `go_on` gives that line.

    `begun` says whether there is anything to take up; where nothing is, the command itself is what to type.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not begun():
            raise Interrupted("Interrupted. Nothing was asked yet; type the same command again.") from None
        raise Interrupted(f"Interrupted. To go on:\n  {go_on()}") from None
    except BudgetReached as error:
        from maskbench.store.endings import with_more

        line = with_more(go_on(), error.option, error.limit)
        raise BudgetReached(f"{error} What was answered is kept. To go on:\n  {line}", error.option) from None
    except Interrupted as error:
        raise Interrupted(f"{error} What was answered is kept. To go on:\n  {go_on()}") from None


@contextmanager
def with_rights(folder: Path, shared: bool) -> Iterator[None]:
    """A new folder is its owner's alone, and with `shared` open to whom the umask lets in; files follow the folder.

    Raises UsageError for a private folder that is there.
    """
    from maskbench.store.disk import PRIVATE, SHARED, inherited, make_folder

    is_new = shared and not folder.exists()
    if is_new:
        make_folder(folder, SHARED)
    elif shared and inherited(folder) == PRIVATE:
        line = f"chmod -R go+rX {shlex.quote(str(folder))}"
        raise UsageError(f"--shared is for a new folder, and {folder} is there. To open it to others: `{line}`.")
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()  # where nothing came into it


def environment() -> dict[str, str]:
    """The environment with what `.env` in the working folder adds."""
    from maskbench.models.chat import services

    return services.environment(Path.cwd())


def stdout() -> Console:
    """Where results go; 120 columns where that is no terminal and nothing else is said."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(width=width, markup=False, emoji=False, highlight=False)


def print_summary(summary: Summary, form: OutputForm = "text", more: str | None = None) -> None:
    """Print a result; as text some 30 lines of it where `more` is the command that prints the rest."""
    from maskbench.presentation.of_one_run import result

    print_blocks(result(summary, more if form == "text" else None), form)


def print_data(
    data: Any,
    blocks: Iterable[Block | Section],
    form: OutputForm = "text",
    *,
    json: bool,
    runs: Iterable[Path] = (),
) -> None:
    """Print a result as JSON, or what sections made of it, as `print_blocks` does."""
    from msgspec import to_builtins

    if json:
        print_json(to_builtins(data))
    else:
        print_blocks(list(blocks), form, runs)


def redaction(runs: Iterable[Path]) -> Redaction:
    """What stays at home of these runs where something is pasted or published."""
    from maskbench.results.shown_to_others import Redaction
    from maskbench.store.folder import RunFolder

    return Redaction.of(*(RunFolder(run).settings() for run in runs))


def print_blocks(blocks: Sequence[Block | Section], form: OutputForm = "text", runs: Iterable[Path] = ()) -> None:
    """Print what sections made: for a terminal, or as Markdown to paste, which has no folders in it.

    `runs` are those that it is about: their settings name folders with blanks in their names.
    """
    if form == "text":
        from maskbench.presentation.terminal import show

        show(blocks, stdout())
        return
    from maskbench.presentation import markdown

    put(markdown.render(redaction(runs)(list(blocks))), end="")  # what is pasted is read by others


def print_plan(verdicts: int, tokens: float, settings: Settings, text: str, *, json: bool, **beside: str) -> None:
    """Print what so many verdicts would cost and how long they would take, as `--dry-run` does, with `text` before it.

    They are asked for by requests of so many `tokens` in all; JSON has what is to stand `beside`.
    """
    from msgspec import to_builtins

    from maskbench.asking.estimate import estimate
    from maskbench.asking.forecast import INPUT_RANGE, verdict_load
    from maskbench.asking.meter import known_prices
    from maskbench.cli.sections.estimate import estimated

    size = INPUT_RANGE[0] * tokens, tokens, INPUT_RANGE[1] * tokens
    load = verdict_load(verdicts, size, settings)
    prices = known_prices(settings, environment(), stages=("judge",))
    costs = estimate({("judge", settings.judging.judge): load}, settings, prices)
    if json:
        data = {"verdicts": verdicts, "tokens": round(tokens), "estimate": to_builtins(costs)}
        return print_json({**beside, **data})
    put(text)
    return print_blocks(list(estimated(costs, settings)))


def print_json(data: Any) -> None:
    """Print data as JSON, hidden characters escaped."""
    import orjson

    from maskbench.plain import escaped, in_utf8

    put(escaped(orjson.dumps(in_utf8(data), option=orjson.OPT_INDENT_2).decode()))
