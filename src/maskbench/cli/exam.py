"""`maskbench exam`: a judge qualified before it is used."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskbench.cli.asked import given_options
from maskbench.cli.console import environment, print_json, say, stderr, stdout
from maskbench.errors import Interrupted, UsageError
from maskbench.settings import Protocol, Settings
from maskbench.types import JudgeStyle

if TYPE_CHECKING:
    from maskbench.exam.sitting import Result

_HOW, _JUDGE = "How it runs", "Judge"


def exam(
    ctx: typer.Context,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="The judge, as `maskbench run --judge` takes it."),
    ],
    repeat: Annotated[
        int,
        typer.Option(metavar="N", help="How often it sits the exam; do its verdicts repeat?", min=1),
    ] = 1,
    wrong: Annotated[
        int, typer.Option(metavar="N", help="How many wrong verdicts to print in full; --json has all.", min=0)
    ] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The exam's folder; one that is there goes on where it stopped.",
            show_default="exams/TIME-MODEL",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every answer.")] = False,
    judge_style: Annotated[
        JudgeStyle,
        typer.Option(
            metavar="NAME",
            help="reasoning: a reason, then the verdict; or verdict: the verdict alone, in a few tokens.",
            rich_help_panel=_JUDGE,
        ),
    ] = "reasoning",
    judge_prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder of judge prompts of your own.",
            show_default="packaged",
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            metavar="NAME",
            help="maskbench; or published: sampled as the published code does.",
            rich_help_panel=_JUDGE,
        ),
    ] = "maskbench",
    judge_temperature: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="The judge's temperature.", show_default="the protocol's", rich_help_panel=_JUDGE
        ),
    ] = None,
    judge_max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Tokens of a verdict.",
            min=1,
            show_default="the protocol's and the style's",
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    judge_reasoning_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Tokens added once the judge is seen to reason.",
            min=0,
            show_default="the protocol's",
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    connections: Annotated[
        int, typer.Option(metavar="N", help="Requests in flight.", min=1, rich_help_panel=_HOW)
    ] = 32,
    timeout: Annotated[
        float, typer.Option(metavar="X", help="Seconds that one request may take.", rich_help_panel=_HOW)
    ] = 300.0,
    retries: Annotated[
        int,
        typer.Option(metavar="N", help="Further tries of a request.", min=0, rich_help_panel=_HOW),
    ] = 5,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count calls and tokens, call nothing.", rich_help_panel=_HOW)
    ] = False,
) -> None:
    """Qualify a judge: constructed replies with a known right verdict, asked exactly as in a run, scored by rule.

    Exit codes: 0 qualified; 3 not qualified; 1 not measurable, as too many verdicts could not be had; 2 wrong usage or
    a model that cannot be asked; 130 interrupted.
    """
    from maskbench.exam.scoring import EXIT_CODES
    from maskbench.exam.sitting import default_name
    from maskbench.models import check_name

    check_name(model)
    given = given_options(ctx)
    settings = _settings(model, given)
    if dry_run:
        return _print_forecast(settings, out, repeat)
    folder = out or Path("exams") / default_name(model, datetime.now().strftime("%Y%m%d-%H%M%S"))
    result = _examine(settings, folder, repeat, given)
    if json:
        from maskbench.report.exam import as_data

        print_json(as_data(result))
    else:
        from maskbench.report.exam import print_exam

        print_exam(result, stdout(), wrong)
        line = _line(settings.judge, folder, given)
        say(f"Every answer is in {folder}. To print this again, and to ask again for what failed:\n  {line}")
    raise typer.Exit(EXIT_CODES[result.score.standing])


def _settings(model: str, given: dict[str, Any]) -> Settings:
    from maskbench.exam.sitting import exam_settings

    start = exam_settings(model, given.get("judge_style", "reasoning"), given.get("protocol", "maskbench"))
    parts = ("temperature", "max_tokens", "reasoning_tokens")
    sampling = replace(
        start.judge_sampling, **{part: given[f"judge_{part}"] for part in parts if f"judge_{part}" in given}
    )
    how = {option: given[option] for option in ("connections", "timeout", "retries") if option in given}
    prompts = str(given["judge_prompts"]) if "judge_prompts" in given else None
    return replace(start, judge_sampling=sampling, judge_prompts=prompts, **how)


def _examine(settings: Settings, folder: Path, repeat: int, given: dict[str, Any]) -> Result:
    from maskbench.exam.sitting import LOG, examine
    from maskbench.progress import Display

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file. Give a folder.")
    display = Display(stderr(), folder / LOG)
    try:
        return examine(settings, folder, repeat, environment(), display, sys.argv)
    except KeyboardInterrupt:
        raise Interrupted(f"Interrupted. To go on:\n  {_line(settings.judge, folder, given)}") from None
    except Interrupted as error:
        line = _line(settings.judge, folder, given)
        raise Interrupted(f"{error} What was answered is kept. To go on:\n  {line}") from None


def _line(model: str, folder: Path, given: dict[str, Any]) -> str:
    """The command that takes the exam up again; the judge has to be asked in the same way."""
    words = ["maskbench", "exam", model, "--out", str(folder)]
    for name, value in given.items():
        if name.startswith("judge_") or name in ("protocol", "repeat"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _print_forecast(settings: Settings, out: Path | None, repeat: int) -> None:
    from maskbench.exam.sitting import forecast

    left, tokens = forecast(settings, out, repeat)
    typer.echo(f"{left:,} verdicts are to be had, from requests of about {tokens:,.0f} tokens. Nothing was called.")
