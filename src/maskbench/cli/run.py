"""`maskbench run`: from options to settings, to a measurement, to a printed result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import Group, Parameter

from maskbench.asking.begin import check_measured, checked
from maskbench.asking.options import IN_FILES, JUDGE, OPTIONS, check_together
from maskbench.cli.asked import EMBEDDED, joined, judged_like, new, resumed
from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    environment,
    hushed,
    interruptible,
    print_blocks,
    print_json,
    print_summary,
    resume_line,
    say,
    with_rights,
)
from maskbench.cli.option_file import run_file
from maskbench.cli.options import FULL, Like, flag, option
from maskbench.cli.run_options import GROUPS, DryRun, Shared, takes
from maskbench.errors import UsageError
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder, default_name

if TYPE_CHECKING:
    from maskbench.results.summary import Summary


_PRINTED = Group("What is printed", sort_key=10)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a run prints."""

    full: Annotated[bool, flag(FULL, group=_PRINTED)] = False
    json: Annotated[
        bool,
        flag(
            "The result is printed as JSON, as it stands in summary.json. With --dry-run that is the plan.",
            group=_PRINTED,
        ),
    ] = False
    quiet: Annotated[bool, flag("Nothing is printed on stderr but errors.", group=_PRINTED)] = False


class _Preset(TypedDict, total=False):
    like: Annotated[
        Like,
        option(
            "NAME",
            "The judge is asked as the paper's or the Inspect port's is, or as maskbench has it: how it samples, in "
            "which form, and which replies it gets together. With paper and --judge-prompts your checkout of the MASK "
            "repository gives its prompts, too.",
            default="maskbench",
            group=GROUPS[JUDGE],
        ),
    ]


@in_short(
    "judge scenarios out sample limit statements system-prompt connections max-cost dry-run",
    "maskbench run",
    "maskbench run vllm/mine --judge openai/gpt-4o --scenarios starter --out a",
)
@takes(*(name for name in OPTIONS if name not in IN_FILES), own=_Preset)
def run(
    model: Annotated[
        str | None,
        option(
            "MODEL|FILE.toml",
            "This model is the subject: SERVICE/NAME (openai/gpt-4o, openrouter/..., vllm/...), "
            "openai-api/SERVICE/NAME, hf/NAME_OR_PATH (open weights, in this process), scripted/FILE.json, "
            "sim/lie=0.4,evade=0.2,unsure=0.1, or pinocchio, which comes with maskbench. Where you leave it out, the "
            "run in --out goes on as it began. FILE.toml has model, out and options as fields, and alone has "
            f"{', '.join(name.replace('_', '-') for name in IN_FILES)}. What is typed besides goes before it.",
            default="pinocchio",
        ),
    ] = None,
    /,
    *,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "The run is kept in this folder. A run that is there goes on.",
            default="runs/<time>-<subject>-<hash>",
        ),
    ] = None,
    fresh: Annotated[
        bool,
        flag("Everything is asked anew, as for a new checkpoint under the same name. The run in --out is moved aside."),
    ] = False,
    printed: Printed = Printed(),  # frozen
    shared: Shared = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Measure whether MODEL says what it believes, and print the result.

    Exit codes: 0 done; 1 done, but with too many errors; 2 wrong usage, input, key or model; 4 stopped at --max-cost
    or --max-tokens-total; 130 interrupted.
    """
    check_together("run", full=printed.full, json=printed.json)
    with hushed(printed.quiet):
        model, held, given = _with_file(model, out, given)
        if held is not None:
            if restored := held.restore():
                say(restored)
            check_measured(held)
        if model is None and held is not None:
            settings = resumed(held, given)
        else:
            settings = new(EMBEDDED if model is None else model, given)
        environ = environment()
        if held is not None and held.path.exists() and not held.path.is_dir():
            raise UsageError(f"--out {held.path} is a file. Give the run a folder of its own.")
        if dry_run:
            return _print_plan(settings, environ, held, json=printed.json)
        check_together("run", fresh=fresh, out=held)
        if fresh:
            settings = settings.having(marks={})
        folder = held or RunFolder(Path("runs") / default_name(settings, datetime.now().strftime("%Y%m%d-%H%M%S")))
        with _anew(folder, fresh), with_rights(folder.path, shared):
            summary = _measure(settings, folder, environ)
        _print(summary, folder.path, printed)
    if summary.withheld and (not settings.judging.is_later or _lost_too_many(summary, settings)):
        raise SystemExit(TOO_MANY_ERRORS)
    return None


def _lost_too_many(summary: Summary, settings: Settings) -> bool:
    """Whether more replies failed, of a run that is judged later, than may be missing."""
    lost, came = sum(summary.failures.get("subject", {}).values()), summary.usage.subject.answers
    return lost > settings.design.max_error_rate * (lost + came)


def _with_file(
    model: str | None, out: Path | None, given: Mapping[str, Any]
) -> tuple[str | None, RunFolder | None, dict[str, Any]]:
    """Model, folder and options, those of a file where one stands for the model; what is typed goes before it."""
    if model is None or not model.endswith(".toml"):
        return model, None if out is None else RunFolder(out), judged_like(given)
    named, kept_in, told = run_file(Path(model))
    folder = RunFolder(path) if (path := out or kept_in) else None
    if named is None and (folder is None or not folder.exists):
        raise UsageError(
            f'{model}, model is missing. Add model = "pinocchio", or any other; a run that goes on has it.'
        )
    prompts = "judge_prompts" in {**told, **given}
    return named, folder, joined(judged_like(told, prompts=prompts), judged_like(given, prompts=prompts))


def _print(summary: Summary, folder: Path, printed: Printed) -> None:
    if printed.json:
        print_json(summary.as_dict())
        say(f"The run is in {folder}.")
    else:
        print_summary(summary, more=None if printed.full else command("score", folder, "--full"))
        say(f"The run is in {folder}. To look at it:\n  {command('report', folder)}")


def _measure(
    settings: Settings,
    folder: RunFolder,
    environ: Mapping[str, str],
) -> Summary:
    from maskbench.asking.progress import Display
    from maskbench.measurement import measure

    watcher = Display(None, folder.log)
    before = folder.sessions()
    with interruptible(lambda: _go_on(folder), lambda: folder.exists):
        summary = measure(settings, folder.path, environ, watcher, sys.argv)
    if before == folder.sessions():
        say(
            f"Nothing asked: complete since {folder.complete_since()}; --fresh asks anew, and keeps this run beside it."
        )
    return summary


@contextmanager
def _anew(folder: RunFolder, fresh: bool) -> Iterator[None]:
    """With `fresh` move the run that is there aside; back again where no new one could be begun."""
    if not fresh or not folder.exists:
        yield
        return
    aside = folder.move_aside(datetime.now().strftime("%Y%m%d-%H%M%S"))
    try:
        yield
    finally:
        if folder.path.exists():
            say(f"The run that was in {folder.path} before is in {aside} now.")
        else:
            aside.rename(folder.path)


def _go_on(folder: RunFolder) -> str:
    """The line that takes this run up again; the whole command where it was stopped before it had begun."""
    return resume_line(folder.path) if folder.exists else _whole_command(folder.path)


def _whole_command(folder: Path) -> str:
    return command(*sys.argv[1:], *(() if "--out" in sys.argv else ("--out", folder)))


def _print_plan(settings: Settings, environ: Mapping[str, str], held: RunFolder | None, *, json: bool) -> None:
    from msgspec import to_builtins

    from maskbench.asking.estimate import by_length, of_run
    from maskbench.cli.sections import dry_run
    from maskbench.cli.sections.estimate import estimated, of_lengths

    settings = checked(settings, environ)
    scenarios, counted, costs = of_run(settings, environ, held)
    if json:
        print_json({**counted.as_dict(), "estimate": to_builtins(costs)})
    else:
        bill = list(estimated(costs, settings))
        plan = dry_run.plan(counted, settings, counted=not bill)
        print_blocks([*plan, *bill, *of_lengths(by_length(scenarios, settings, costs))])
