"""`maskbench exam`: a judge qualified before it is used."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from maskbench.cli.asked import with_given
from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    command,
    costs_as_data,
    environment,
    interruptible,
    print_costs,
    print_data,
    print_json,
    put,
    say,
    stderr,
    with_rights,
)
from maskbench.cli.options import OF_JUDGES, DryRun, Shared, flag, option, takes
from maskbench.errors import UsageError
from maskbench.settings import Settings

if TYPE_CHECKING:
    from msgspec import Struct

    from maskbench.judges.exam.construct_sitting import ConstructResult
    from maskbench.judges.exam.sitting import Result
    from maskbench.report.blocks import Block

_LOCAL = ("dtype", "quantize", "device", "batch_tokens", "threads", "trust_remote_code")  # of a judge in this process
_HOW = ("connections", "timeout", "retries")
_JUDGE = (
    *("judge_style", "judge_beliefs", "judge_prompts", "judge_sampling"),
    *("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens"),
)


@in_short(
    "out short construct stop-early wrong judge-style judge-prompts connections json dry-run",
    "maskbench exam openai/gpt-4o --short",
    "maskbench exam openai/gpt-4o --construct all",
)
@takes(*_JUDGE, *_LOCAL, *_HOW, *OF_JUDGES)
def exam(
    model: Annotated[str, option("MODEL", "This model is the judge, named as for `maskbench run --judge`.")],
    /,
    *,
    repeat: Annotated[
        int, option("N", "The judge sits the exam N times, which shows whether its verdicts repeat.", limits=(1, None))
    ] = 1,
    wrong: Annotated[
        int, option("N", "N wrong verdicts are printed in full. --json has all of them.", limits=(0, None))
    ] = 20,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "The exam is kept in this folder. One that is there goes on where it stopped.",
            default="exams/TIME-MODEL",
        ),
    ] = None,
    short: Annotated[
        bool, flag("The exam has eight replies of each rule. It is cheaper, and a weak rule passes more often.")
    ] = False,
    construct: Annotated[
        str | None,
        option(
            "NAMES",
            "The exam is on the questions on statements that `run --construct` asks, and not on verdicts. With commas "
            "you name some.",
            default="none",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        option(
            "FILE",
            "The result is written to this file as a card for others, without texts, addresses and paths. "
            "docs/judges.md says where cards are gathered.",
        ),
    ] = None,
    stop_early: Annotated[bool, flag("The exam stops once the judge cannot pass any more.")] = False,
    json: Annotated[
        bool, flag("The result is printed as JSON, with every answer. With --dry-run that is the plan.")
    ] = False,
    shared: Shared = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Qualify a judge: constructed replies with a known right verdict, asked exactly as in a run, scored by rule.

    Exit codes: 0 qualified; 3 not qualified; 1 not measurable, as too many verdicts could not be had; 2 wrong usage or
    a model that cannot be asked; 130 interrupted.
    """
    from maskbench.judges.exam.marks import EXIT_CODES
    from maskbench.models.names import check_name
    from maskbench.report.sections.exam_result import as_data, blocks

    check_name(model)
    settings = _settings(model, given)
    if to and stop_early:
        raise UsageError("--to writes the card of a whole exam. Leave --stop-early out.")
    if construct:
        _check_whole({"repeat": repeat > 1, "short": short, "stop-early": stop_early, "to": to is not None})
        if settings.judging.beliefs == "together":
            raise UsageError("--judge-beliefs together is for the exam on verdicts: --construct judges no belief.")
        how = _Shown(wrong, json, shared, dry_run)
        return _sit_construct(settings, out, given | {"construct": construct}, how)
    given |= {name: how for name, how in (("short", short), ("stop_early", stop_early)) if how}
    given |= {} if repeat == 1 else {"repeat": repeat}
    if dry_run:
        return _print_forecast(settings, out, repeat, short, json=json)
    folder = _folder(out, model)
    with with_rights(folder, shared):
        result = _examine(settings, folder, repeat, given, short, stop_early)
    _print(as_data(result), blocks(result, wrong), folder, _line(settings.judging.judge, folder, given), json=json)
    if to is not None:
        _write_card(result, to)
    raise SystemExit(EXIT_CODES[result.score.standing])


def _folder(out: Path | None, model: str) -> Path:
    """Where the exam is kept."""
    from maskbench.judges.exam.sitting import default_name

    folder = out or Path("exams") / default_name(model, datetime.now().strftime("%Y%m%d-%H%M%S"))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file. Give a folder.")
    return folder


def _print(data: Struct, blocks: Iterable[Block], folder: Path, line: str, *, json: bool) -> None:
    """Print what an exam came to, and which line takes it up again."""
    print_data(data, blocks, json=json)
    if not json:
        say(f"Every answer is in {folder}. To print this again, and to ask again for what failed:\n  {line}")


def _write_card(result: Result, to: Path) -> None:
    """Write the result as a card for others."""
    from maskbench.interop.exam_card import card_of, written

    content = written(card_of(result))
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
    except OSError as error:
        raise UsageError(f"--to {to} cannot be written ({error.strerror}). Give another file.") from error
    say(f"The card is in {to}.")


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is printed, and how."""

    wrong: int
    json: bool
    shared: bool
    dry_run: bool


def _check_whole(others: Mapping[str, bool]) -> None:
    for name, is_given in others.items():
        if is_given:
            raise UsageError(f"--{name} is for the exam on verdicts. Leave it out: --construct is sat once and whole.")


def _sit_construct(settings: Settings, out: Path | None, given: dict[str, Any], how: _Shown) -> None:
    """The exam on the questions on statements."""
    from maskbench.judges.exam.construct_sitting import forecast_construct
    from maskbench.judges.exam.marks import EXIT_CODES
    from maskbench.method.construct import as_typed, asked_for
    from maskbench.report.sections.construct_exam import construct_blocks, construct_data

    settings = settings.having(construct=asked_for(given["construct"]))
    if not settings.design.construct:
        raise UsageError("--construct none: there is nothing to examine. Name questions, or leave the option out.")
    if how.dry_run:
        left, tokens = forecast_construct(settings, out)
        if how.json:
            return print_json(costs_as_data(left, tokens, settings))
        return _print_calls(settings, "answers", left, tokens)
    given = given | {"construct": as_typed(settings.design.construct)}
    folder = _folder(out, settings.judging.judge)
    with with_rights(folder, how.shared):
        result = _answered(settings, folder, given)
    line = _line(settings.judging.judge, folder, given)
    _print(construct_data(result), construct_blocks(result, how.wrong), folder, line, json=how.json)
    raise SystemExit(EXIT_CODES[result.score.standing])


def _answered(settings: Settings, folder: Path, given: dict[str, Any]) -> ConstructResult:
    from maskbench.cli.progress import Display
    from maskbench.judges.exam.construct_sitting import examine_construct
    from maskbench.judges.exam.sitting import LOG

    with interruptible(lambda: _line(settings.judging.judge, folder, given)):
        return examine_construct(settings, folder, environment(), Display(stderr(), folder / LOG), sys.argv)


def _settings(model: str, given: dict[str, Any]) -> Settings:
    from maskbench.judges.exam.sitting import exam_settings
    from maskbench.models.hf.opening import check_options

    start = exam_settings(model, given.get("judge_style", "reasoning"), given.get("judge_sampling", "maskbench"))
    settings = with_given(start, given)
    check_options(settings)
    return settings


def _examine(
    settings: Settings, folder: Path, repeat: int, given: dict[str, Any], short: bool, stop_early: bool
) -> Result:
    from maskbench.cli.progress import Display
    from maskbench.judges.exam.papers import paper_for
    from maskbench.judges.exam.sitting import LOG, examine

    display = Display(stderr(), folder / LOG)
    paper = paper_for(settings.judging.judge, short, settings.judging.beliefs)
    with interruptible(lambda: _line(settings.judging.judge, folder, given)):
        return examine(settings, folder, repeat, environment(), display, sys.argv, paper=paper, stop_early=stop_early)


def _line(model: str, folder: Path, given: Mapping[str, object]) -> str:
    """The command that takes the exam up again; the judge has to be asked in the same way."""
    words = ["exam", model, "--out", str(folder)]
    for name, value in given.items():
        if name.startswith("judge_") or name in ("repeat", "short", "stop_early", "construct", *_LOCAL):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return command(*words)


def _print_forecast(settings: Settings, out: Path | None, repeat: int, short: bool, *, json: bool) -> None:
    from maskbench.judges.exam.papers import paper_for
    from maskbench.judges.exam.sitting import forecast

    left, tokens = forecast(settings, out, repeat, paper_for(settings.judging.judge, short, settings.judging.beliefs))
    if json:
        print_json(costs_as_data(left, tokens, settings))
    else:
        _print_calls(settings, "verdicts", left, tokens)


def _print_calls(settings: Settings, what: str, left: int, tokens: float) -> None:
    put(f"{left:,} {what} are to be had, from requests of about {tokens:,.0f} tokens. Nothing was called.")
    print_costs(left, tokens, settings)
