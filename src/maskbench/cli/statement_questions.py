"""`maskbench judge RUN --construct`: questions on the words of the stored statements, asked on demand."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from maskbench.cli.asked import with_given
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    environment,
    interruptible,
    print_blocks,
    print_json,
    print_plan,
    say,
    stderr,
)
from maskbench.errors import UsageError
from maskbench.plain import plain
from maskbench.runs.folder import RunFolder
from maskbench.runs.stored_programs import to_ask_by
from maskbench.settings import Budget, Settings

if TYPE_CHECKING:
    from maskbench.runs.questions import Asked


def ask_construct(folder: RunFolder, judge: str | None, given: Mapping[str, Any], *, dry_run: bool, json: bool) -> None:
    """Ask what was typed, by the run's judge or another, and print what it came to; with `dry_run` what it takes."""
    settings = _settings(folder, judge, given)
    if not settings.design.construct:
        raise UsageError("--construct none asks nothing. Leave it out, or name questions.")
    if dry_run:
        return _print_forecast(folder, settings, json=json)
    return _ask(folder, settings, json=json)


def _settings(folder: RunFolder, judge: str | None, given: Mapping[str, Any]) -> Settings:
    from maskbench.models.names import check_name

    settings = folder.settings().having(budget=Budget(), batch=None)  # the run's were for the run
    if judge is not None:
        check_name(judge)
        settings = settings.having(judge=judge)
    return to_ask_by(with_given(settings, given), given, folder.path, ("judge",))


def _print_forecast(folder: RunFolder, settings: Settings, *, json: bool) -> None:
    from maskbench.judges.construct_judging import forecast

    left, tokens = forecast(folder, settings)
    text = (
        f"{left:,} answers by {plain(settings.judging.judge)} are to be had to "
        f"{', '.join(settings.design.construct)}, from requests of about {tokens:,.0f} tokens in all; "
        "equal requests are asked once. Nothing was called."
    )
    print_plan(left, tokens, settings, text, json=json)


def _ask(folder: RunFolder, settings: Settings, *, json: bool) -> None:
    from maskbench.cli.progress import Display
    from maskbench.judges.construct_judging import ask_construct
    from maskbench.presentation.of_runs import Alone
    from maskbench.presentation.sections.questions import words_of_statements
    from maskbench.results.scored import result

    with interruptible(lambda: command(*sys.argv[1:])), _telling_whose(folder):
        ask_construct(folder, settings, environment(), Display(stderr(), folder.log))
    summary = result(folder, judges=False)
    if json:
        print_json(summary.as_dict())
    else:
        print_blocks(list(words_of_statements([Alone(summary)])))
    if summary.construct is None or summary.construct.all.withheld:
        raise SystemExit(TOO_MANY_ERRORS)


@contextmanager
def _telling_whose(folder: RunFolder) -> Iterator[None]:
    """Say whose answers count from now on, where another judge was asked before, also where the asking fails."""
    before = _asked_last(folder)
    try:
        yield
    finally:
        after = _asked_last(folder)
        if before and after and before.judge != after.judge:
            say(
                f"score, report and --as xai-rectified go by {plain(after.judge)}'s answers from now on; to go back to "
                f"{plain(before.judge)}'s: {_going_back(folder, before)}"
            )


def _asked_last(folder: RunFolder) -> Asked | None:
    """Whose answers count."""
    from maskbench.judges.construct_answers import chosen

    with closing(folder.store()) as store:
        return chosen(store)


def _going_back(folder: RunFolder, before: Asked) -> str:
    """The command that has a judge's answers count again, and how many answers it has to ask for, if any are lacking.

    Answers lack where they failed, or where they were asked for with a sampling or a style that the run does not have.
    """
    from maskbench.judges.construct_judging import forecast
    from maskbench.method.construct import as_typed

    names = as_typed(before.questions)
    line = command("judge", folder.path, "--judge", before.judge, "--construct", names)
    left, _ = forecast(folder, _settings(folder, before.judge, {"construct": names}))
    return line if not left else f"{line} (which asks for {left:,} answers that are not there)"
