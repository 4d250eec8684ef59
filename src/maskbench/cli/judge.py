"""`maskbench judge`: the stored replies of a run judged once more, into a verdict set with a name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from maskbench.asking.options import OF_JUDGES, check, check_together
from maskbench.asking.stored_programs import to_ask_by
from maskbench.cli.asked import judged_as
from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    environment,
    interruptible,
    paced_by,
    print_json,
    print_plan,
    print_summary,
    say,
    stdout,
)
from maskbench.cli.options import FULL, RulesOfRun, Run, flag, option
from maskbench.cli.run_options import SAME, DryRun, takes
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.plain import plain
from maskbench.settings import Budget, Settings
from maskbench.store.folder import SUMMARY, RunFolder
from maskbench.store.record import judged_settings
from maskbench.store.source import UNSAID

if TYPE_CHECKING:
    from maskbench.results.summary import Summary

_AGAIN = (  # what may be asked otherwise than in the run
    *("numeric_judge", "judge_sampling", "judge_style", "judge_numbers"),
    *("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens", "judge_prompts"),
    *("connections", "timeout", "retries", "batch"),
    *OF_JUDGES,
)
_SAID = {
    **dict.fromkeys(OF_JUDGES, "none"),
    "numeric_judge": "the judge",
    "judge_max_tokens": f"{SAME}, and of another style as `maskbench run` has it",
    "judge_prompts": f"{SAME}; packaged: the packaged ones",
}


@in_short(
    "judge name list numeric-judge judge-style judge-prompts connections batch dry-run json",
    "maskbench judge runs/A --judge openai/gpt-4o",
    "maskbench judge runs/A --judge openai/gpt-4o --name again",
)
@takes(*_AGAIN, default=SAME, defaults=_SAID)
def judge(
    run: Run,
    /,
    *,
    judge: Annotated[
        str | None,
        option(
            "MODEL",
            "This model judges every reply. It is SERVICE/NAME, or what else `maskbench run --judge` takes. The judge "
            "that the run has already is asked once more, about each reply and by other seeds.",
            default="none; the set's, where --name goes on with one",
        ),
    ] = None,
    name: Annotated[
        str | None,
        option(
            "NAME",
            "The new verdicts get this name. A set of that name goes on where it stopped.",
            default="the judge's name",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        option(
            "FILE.jsonl",
            "The verdicts were read elsewhere and stand in this file, a row each: archetype, task_id, elicitation, "
            "run, and `read` or a judge's whole `answer`. No model is asked. docs/judges.md has the form.",
            name="--from",
        ),
    ] = None,
    by: Annotated[
        str | None,
        option("TEXT", "This says who read the verdicts of --from.", default="unknown; the set's, where it goes on"),
    ] = None,
    requests: Annotated[
        Path | None,
        option(
            "FILE.jsonl",
            "What a judge would be asked is written to this file, a row for each reply, for whoever has another way to "
            "ask; with --name only what that set lacks. No model is asked.",
        ),
    ] = None,
    list_: Annotated[bool, flag("The run's verdict sets are listed, and nothing is judged.", name="--list")] = False,
    rules: RulesOfRun = None,
    full: Annotated[bool, flag(FULL)] = False,
    json: Annotated[bool, flag("The result is printed as JSON. With --dry-run that is the plan.")] = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Judge the stored replies of RUN once more, into a verdict set of its own; the subject is not asked.

    Then `maskbench score RUN --verdicts NAME`. Exit codes as for `maskbench run`.
    """
    folder = RunFolder(run)
    apart = {"from_": from_, "requests": requests, "by": by, "name": name, "dry_run": dry_run}
    check_together("judge", judge=judge, **apart, **given)
    if list_:
        return _list(folder)
    if requests is not None:
        return _write_requests(folder, requests, name, given)
    if from_ is not None:
        return _take(folder, from_, str(name), by, rules, given, full=full, json=json)
    chosen, settings = _chosen(folder, name, judge, given)
    check(settings)
    if judge is not None and name is None:
        from maskbench.asking.judging.judge_again import own_set

        chosen = own_set(folder, settings) or chosen
    if dry_run:
        return _print_forecast(folder, settings, chosen, json=json)
    settings = to_ask_by(settings, (), folder.path, ("judge",))
    which = ("--judge", settings.judging.judge) if chosen == VERDICTS else ("--name", chosen)
    go_on = command("judge", run, *which, *paced_by(given), *_in_batches(settings))
    summary = _judge(folder, settings, chosen, rules, go_on)
    _print(folder, summary, chosen, full=full, json=json)
    if summary.withheld:
        raise SystemExit(TOO_MANY_ERRORS)
    return None


def _print(folder: RunFolder, summary: Summary, name: str, *, full: bool, json: bool) -> None:
    """What a verdict set comes to, and how it is scored by."""
    by = () if name == VERDICTS else ("--verdicts", name)
    if json:
        print_json(summary.as_dict())
    else:
        print_summary(summary, more=None if full else command("score", folder.path, *by, "--full"))
    say(f"These verdicts are in {folder.path} as {name}. To score by them: {command('score', folder.path, *by)}")


def _read_by(folder: RunFolder, name: str | None, by: str | None, given: Mapping[str, Any]) -> Settings:
    """The settings of a verdict set that is read elsewhere, with whoever reads in the judge's place."""
    sets, settings = folder.read().verdict_sets, folder.settings()
    if name in sets:
        settings = judged_settings(settings, sets[name])
    reader = by or (settings.judging.judge if name in sets else UNSAID)
    return judged_as(settings.having(judge=reader, numeric_judge=reader, budget=Budget(), batch=None), given)


def _write_requests(folder: RunFolder, file: Path, name: str | None, given: Mapping[str, Any]) -> None:
    from maskbench.asking.judging.elsewhere import write_requests

    count = write_requests(folder, _read_by(folder, name, None, given), name, file)
    line = command("judge", folder.path, "--from", "ANSWERS.jsonl", "--name", name or "NAME")
    say(f"{count:,} requests are in {file}. When each row has `read` or `answer`:\n  {line}")


def _take(
    folder: RunFolder,
    file: Path,
    name: str,
    by: str | None,
    rules: str | None,
    given: Mapping[str, Any],
    *,
    full: bool,
    json: bool,
) -> None:
    """Take verdicts that were read elsewhere, and print what came and what they come to."""
    from maskbench.asking.judging.elsewhere import take
    from maskbench.results.scored import result

    taken = take(folder, _read_by(folder, name, by, given), name, file, environment(), sys.argv)
    for line in taken.lines():
        say(plain(line))
    if taken.missing:
        line = command("judge", folder.path, "--name", name, "--requests", "FILE.jsonl")
        say(f"To write what a judge would be asked about those without a verdict:\n  {line}")
    summary = result(folder, rules, name)
    _keep_summary(folder, name)
    _print(folder, summary, name, full=full, json=json)
    if summary.withheld and summary.complete:
        raise SystemExit(TOO_MANY_ERRORS)


def _in_batches(settings: Settings) -> tuple[str, ...]:
    return ("--batch", settings.pace.batch) if settings.pace.batch else ()


def _chosen(folder: RunFolder, name: str | None, judge: str | None, given: Mapping[str, Any]) -> tuple[str, Settings]:
    """The verdict set's name, and the settings.

    Settings are the set's where it goes on by its name alone, else the run's with another judge in them.
    """
    from maskbench.asking.judging.judge_again import check_asked, default_name
    from maskbench.models.names import check_name

    if name is not None:
        check_asked(folder, name)
    sets = folder.read().verdict_sets
    settings = folder.settings()
    otherwise = given.get("judge_numbers") == "apart"
    if judge is None and otherwise and name not in sets:  # by the judges that the run has
        settings = judged_as(replace(settings, budget=Budget()), given)
        return name or default_name(settings), settings
    if judge is not None:
        check_name(judge)
        settings = judged_as(settings.having(judge=judge, numeric_judge=judge, budget=Budget(), batch=None), given)
        return name or default_name(settings), settings
    if name is None or name not in sets:
        example = command("judge", folder.path, "--judge", "openai/gpt-4o")
        known = f" What goes on by --name alone: {', '.join(sets)}." if sets else ""
        raise UsageError(f"Which judge? Name one, as in `{example}`.{known}")
    before = judged_settings(settings, sets[name]).having(budget=Budget(), batch=None)  # the run's is for its own judge
    return name, judged_as(before, given)


def _judge(folder: RunFolder, settings: Settings, name: str, rules: str | None, line: str) -> Summary:
    """Have the verdicts, and say what they come to; `line` takes a set up again that was begun."""
    from maskbench.asking.judging.judge_again import judge
    from maskbench.asking.progress import Display
    from maskbench.results.scored import result

    with interruptible(lambda: line if name in folder.read().verdict_sets else command(*sys.argv[1:])):
        judge(folder, settings, name, environment(), Display(None, folder.log), sys.argv)
    summary = result(folder, rules, name)
    _keep_summary(folder, name)
    return summary


def _keep_summary(folder: RunFolder, name: str) -> None:
    """Write the run's own summary anew where it is by this verdict set, as by the first of a run that had none."""
    from maskbench.results.scored import result
    from maskbench.store.verdict_sets import OpenRun

    with OpenRun(folder) as run:
        if name == run.own:
            folder.write(SUMMARY, result(run).as_dict())


def _print_forecast(folder: RunFolder, settings: Settings, name: str, *, json: bool) -> None:
    from maskbench.asking.judging.judge_again import asked_before, forecast

    left, tokens = forecast(folder, settings, name)
    how = "each reply is asked about" if asked_before(folder, settings, name) else "equal requests are asked once"
    text = (
        f"{plain(settings.judging.judge)} would be asked for {left:,} verdicts for {plain(name)}, by requests of about "
        f"{tokens:,.0f} tokens in all; {how}. Nothing was called."
    )
    print_plan(left, tokens, settings, text, json=json, name=name)


def _list(folder: RunFolder) -> None:
    from maskbench.presentation.sections.judges import verdict_sets
    from maskbench.presentation.terminal import show
    from maskbench.store.verdict_sets import listed

    show([verdict_sets(listed(folder))], stdout(), whole=True)
