"""`maskbench run`: from options to settings, to a measurement, to a printed result."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from maskbench.cli import judge_options, local_options, options
from maskbench.cli.asked import EMBEDDED, given_options, new, resumed
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    environment,
    interruptible,
    print_blocks,
    print_summary,
    resume_line,
    say,
    stderr,
    with_rights,
)
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder, default_name
from maskbench.settings import SUBJECT_SAMPLING, Settings

if TYPE_CHECKING:
    from maskbench.models.hf.opening import Stock
    from maskbench.types import Json


def run(
    ctx: typer.Context,
    model: options.Model = None,
    judge: judge_options.Judge = None,
    numeric_judge: judge_options.NumericJudge = None,
    scenarios: options.Scenarios = None,
    out: options.Out = None,
    fresh: options.Fresh = False,
    archetype: options.Archetype = None,
    sample: options.Sample = None,
    limit: options.Limit = None,
    system_prompt: options.SystemPrompt = None,
    prompt_on_beliefs: options.PromptOnBeliefs = False,
    statements: options.Statements = 1,
    beliefs: options.Beliefs = 3,
    temperature: options.Temperature = SUBJECT_SAMPLING.temperature,
    max_tokens: options.MaxTokens = SUBJECT_SAMPLING.max_tokens,
    reasoning_tokens: options.ReasoningTokens = SUBJECT_SAMPLING.reasoning_tokens,
    on_truncation: options.OnTruncation = "judge",
    filtered: options.FilteredAs = "error",
    seed: options.Seed = 0,
    send_seed: options.SendSeed = False,
    template_args: options.TemplateArgs = None,
    extra_body: options.ExtraBody = None,
    placebo: options.Placebo = False,
    check_provided: options.CheckProvided = False,
    self_report: options.SelfReport = False,
    traces: options.Traces = False,
    adapter: local_options.Adapter = None,
    adapters: local_options.Adapters = None,
    steer: local_options.Steer = None,
    layers: local_options.Layers = None,
    strength: local_options.Strength = 1.0,
    dtype: local_options.Dtype = "auto",
    quantize: local_options.Quantize = None,
    device: local_options.Device = None,
    batch_tokens: local_options.BatchTokens = None,
    threads: local_options.Threads = None,
    trust_remote_code: local_options.TrustRemoteCode = False,
    protocol: judge_options.JudgeProtocol = "maskbench",
    judge_style: judge_options.Style = "reasoning",
    judge_temperature: judge_options.Temperature = None,
    judge_max_tokens: judge_options.MaxTokens = None,
    judge_reasoning_tokens: judge_options.ReasoningTokens = None,
    judge_prompts: judge_options.Prompts = None,
    rules: options.RuleSetName = "reference",
    max_error_rate: options.MaxErrorRate = 0.05,
    connections: judge_options.Connections = 32,
    timeout: judge_options.Timeout = 300.0,
    retries: judge_options.Retries = 5,
    shared: judge_options.Shared = False,
    dry_run: judge_options.DryRun = False,
) -> None:
    """Measure whether MODEL says what it believes, and print the result.

    Exit codes: 0 done; 1 done, but with too many errors; 2 wrong usage, input, key or model; 130 interrupted.
    """
    given = given_options(ctx)
    if out is not None and (restored := RunFolder(out).restore()):
        say(restored)
    if model is None and out is not None and adapters is None:
        settings = resumed(out, given)
    else:
        settings = new(EMBEDDED if model is None else model, ctx.params, given)
    environ = environment()
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file. Give the run a folder of its own.")
    if dry_run:
        return _print_plan(settings, environ)
    if fresh and out is None:
        raise UsageError("--fresh is for a folder that holds a run. Name it with --out.")
    if fresh:
        settings = replace(settings, adapter_hash=None, steer_hash=None)
    folder = out or Path("runs") / default_name(settings, datetime.now().strftime("%Y%m%d-%H%M%S"))
    if adapters is not None:
        return _measure_adapters(settings, adapters, folder, environ, fresh, shared)
    with _anew(folder, fresh), with_rights(folder, shared):
        summary = _measure(settings, folder, environ)
    print_summary(summary)
    say(f"The run is in {folder}. To look at it:\n  {shlex.join(['maskbench', 'report', str(folder)])}")
    if summary["withheld"]:
        raise typer.Exit(TOO_MANY_ERRORS)
    return None


def _measure(
    settings: Settings, folder: Path, environ: Mapping[str, str], stock: Stock | None = None, go_on: str | None = None
) -> Json:
    from maskbench.cli.progress import Display
    from maskbench.measurement import measure

    run = RunFolder(folder)
    watcher = Display(stderr(), run.log)
    before = run.sessions()
    with interruptible(lambda: go_on or _go_on(folder)):
        summary = measure(settings, folder, environ, watcher, sys.argv, stock=stock)
    if before == run.sessions():
        say(f"Nothing asked: complete since {run.complete_since()}; --fresh asks anew, and keeps this run beside it.")
    return summary


@contextmanager
def _anew(folder: Path, fresh: bool) -> Iterator[None]:
    """With `fresh` move the run that is there aside; back again where no new one could be begun."""
    if not fresh or not RunFolder(folder).exists:
        yield
        return
    aside = RunFolder(folder).move_aside(datetime.now().strftime("%Y%m%d-%H%M%S"))
    try:
        yield
    finally:
        if folder.exists():
            say(f"The run that was in {folder} before is in {aside} now.")
        else:
            aside.rename(folder)


def _measure_adapters(
    settings: Settings, pattern: str, folder: Path, environ: Mapping[str, str], fresh: bool, shared: bool
) -> None:
    """A run an adapter, the base model loaded once; then how they differ from the first."""
    from maskbench.cli.checkpoints import adapters_of, with_adapter
    from maskbench.models.hf.opening import Stock
    from maskbench.report.sections.checkpoint_curve import blocks

    if settings.adapter is not None:
        raise UsageError("--adapter is one and --adapters are several. Give one of them.")
    found = adapters_of(pattern)
    stock, go_on = Stock(), _whole_command(folder)
    summaries = []
    for place, (name, adapter) in enumerate(found.items(), start=1):
        say(f"{name}, {place} of {len(found)}:")
        with _anew(folder / name, fresh), with_rights(folder / name, shared):
            summaries.append(_measure(with_adapter(settings, adapter), folder / name, environ, stock, go_on))
    print_blocks(list(blocks([folder / name for name in found], settings.rules)))
    say(f"The runs are in {folder}.")
    if any(summary["withheld"] for summary in summaries):
        raise typer.Exit(TOO_MANY_ERRORS)


def _go_on(folder: Path) -> str:
    """The line that takes this run up again; the whole command where it was stopped before it had begun."""
    return resume_line(folder) if RunFolder(folder).exists else _whole_command(folder)


def _whole_command(folder: Path) -> str:
    out = [] if "--out" in sys.argv else ["--out", str(folder)]
    return shlex.join(["maskbench", *sys.argv[1:], *out])


def _print_plan(settings: Settings, environ: Mapping[str, str]) -> None:
    from maskbench.method.judge_ask import load_prompts
    from maskbench.models.chat.extra_fields import check_extra
    from maskbench.models.hf.opening import check_options
    from maskbench.report.sections import before_run
    from maskbench.runs.begin import check, taken
    from maskbench.runs.forecast import plan

    check(settings)
    check_options(settings)
    check_extra(settings, environ)
    prompts = load_prompts(settings.judge_prompts, settings.judge_style)
    scenarios = taken(settings, environ).scenarios
    print_blocks(list(before_run.plan(plan(scenarios, settings, prompts), settings)))
