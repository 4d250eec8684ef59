"""`maskbench exam`: a judge qualified before it is used."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskbench.cli import judge_options, local_options
from maskbench.cli.asked import given_options, sampled
from maskbench.cli.console import environment, interruptible, print_blocks, print_json, say, stderr, with_rights
from maskbench.errors import UsageError
from maskbench.settings import Settings

if TYPE_CHECKING:
    from maskbench.judges.exam.sitting import Result

# Options of a judge in this process.
_LOCAL = ("dtype", "quantize", "device", "batch_tokens", "threads", "trust_remote_code")


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
    short: Annotated[
        bool,
        typer.Option("--short", help="Eight replies of each rule: cheaper, and a weak rule passes more often."),
    ] = False,
    stop_early: Annotated[
        bool,
        typer.Option("--stop-early", help="Stop once the bar is missed whatever the rest would bring."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every answer.")] = False,
    judge_style: judge_options.Style = "reasoning",
    judge_prompts: judge_options.Prompts = None,
    protocol: judge_options.JudgeProtocol = "maskbench",
    judge_temperature: judge_options.Temperature = None,
    judge_max_tokens: judge_options.MaxTokens = None,
    judge_reasoning_tokens: judge_options.ReasoningTokens = None,
    dtype: local_options.Dtype = "auto",
    quantize: local_options.Quantize = None,
    device: local_options.Device = None,
    batch_tokens: local_options.BatchTokens = None,
    threads: local_options.Threads = None,
    trust_remote_code: local_options.TrustRemoteCode = False,
    connections: judge_options.Connections = 32,
    timeout: judge_options.Timeout = 300.0,
    retries: judge_options.Retries = 5,
    shared: judge_options.Shared = False,
    dry_run: judge_options.DryRun = False,
) -> None:
    """Qualify a judge: constructed replies with a known right verdict, asked exactly as in a run, scored by rule.

    Exit codes: 0 qualified; 3 not qualified; 1 not measurable, as too many verdicts could not be had; 2 wrong usage or
    a model that cannot be asked; 130 interrupted.
    """
    from maskbench.judges.exam.marks import EXIT_CODES
    from maskbench.judges.exam.sitting import default_name
    from maskbench.models.names import check_name

    check_name(model)
    given = given_options(ctx)
    settings = _settings(model, given)
    if dry_run:
        return _print_forecast(settings, out, repeat, short)
    folder = out or Path("exams") / default_name(model, datetime.now().strftime("%Y%m%d-%H%M%S"))
    with with_rights(folder, shared):
        result = _examine(settings, folder, repeat, given, short, stop_early)
    if json:
        from maskbench.report.sections.exam_result import as_data

        print_json(as_data(result))
    else:
        from maskbench.report.sections.exam_result import blocks

        print_blocks(list(blocks(result, wrong)))
        line = _line(settings.judge, folder, given)
        say(f"Every answer is in {folder}. To print this again, and to ask again for what failed:\n  {line}")
    raise typer.Exit(EXIT_CODES[result.score.standing])


def _settings(model: str, given: dict[str, Any]) -> Settings:
    from maskbench.judges.exam.sitting import exam_settings
    from maskbench.models.hf.opening import check_options

    start = exam_settings(model, given.get("judge_style", "reasoning"), given.get("protocol", "maskbench"))
    how = {option: given[option] for option in ("connections", "timeout", "retries", *_LOCAL) if option in given}
    prompts = str(given["judge_prompts"]) if "judge_prompts" in given else None
    made = replace(start, judge_sampling=sampled(start.judge_sampling, given, "judge_"), judge_prompts=prompts, **how)
    check_options(made)
    return made


def _examine(
    settings: Settings, folder: Path, repeat: int, given: dict[str, Any], short: bool, stop_early: bool
) -> Result:
    from maskbench.cli.progress import Display
    from maskbench.judges.exam.papers import paper_for
    from maskbench.judges.exam.sitting import LOG, examine

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file. Give a folder.")
    display = Display(stderr(), folder / LOG)
    paper = paper_for(settings.judge, short)
    with interruptible(lambda: _line(settings.judge, folder, given)):
        return examine(settings, folder, repeat, environment(), display, sys.argv, paper=paper, stop_early=stop_early)


def _line(model: str, folder: Path, given: dict[str, Any]) -> str:
    """The command that takes the exam up again; the judge has to be asked in the same way."""
    words = ["maskbench", "exam", model, "--out", str(folder)]
    for name, value in given.items():
        if name.startswith("judge_") or name in ("protocol", "repeat", "short", "stop_early", *_LOCAL):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def _print_forecast(settings: Settings, out: Path | None, repeat: int, short: bool) -> None:
    from maskbench.judges.exam.papers import paper_for
    from maskbench.judges.exam.sitting import forecast

    left, tokens = forecast(settings, out, repeat, paper_for(settings.judge, short))
    typer.echo(f"{left:,} verdicts are to be had, from requests of about {tokens:,.0f} tokens. Nothing was called.")
