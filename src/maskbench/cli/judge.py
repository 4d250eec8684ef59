"""`maskbench judge`: the stored replies of a run judged once more, into a verdict set with a name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from maskbench.asking.options import check, check_together
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
    stderr,
    stdout,
)
from maskbench.cli.options import FULL, OF_JUDGES, SAME, DryRun, RulesOfRun, Run, flag, option, takes
from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.plain import plain
from maskbench.settings import Budget, Settings
from maskbench.store.folder import SUMMARY, RunFolder
from maskbench.store.record import judged_settings

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
    check_together("judge", **given)
    if list_:
        return _list(folder)
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
    by = () if chosen == VERDICTS else ("--verdicts", chosen)
    if json:
        print_json(summary.as_dict())
    else:
        print_summary(summary, more=None if full else command("score", run, *by, "--full"))
    say(f"These verdicts are in {run} as {chosen}. To score by them: {command('score', run, *by)}")
    if summary.withheld:
        raise SystemExit(TOO_MANY_ERRORS)
    return None


def _in_batches(settings: Settings) -> tuple[str, ...]:
    return ("--batch", settings.pace.batch) if settings.pace.batch else ()


def _chosen(folder: RunFolder, name: str | None, judge: str | None, given: Mapping[str, Any]) -> tuple[str, Settings]:
    """The verdict set's name, and the settings.

    Settings are the set's where it goes on by its name alone, else the run's with another judge in them.
    """
    from maskbench.asking.judging.judge_again import default_name
    from maskbench.models.names import check_name

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
        judge(folder, settings, name, environment(), Display(stderr(), folder.log), sys.argv)
    summary = result(folder, rules, name)
    if name == VERDICTS:  # an imported run's first verdicts: the run's own summary is by them
        folder.write(SUMMARY, result(folder).as_dict())
    return summary


def _print_forecast(folder: RunFolder, settings: Settings, name: str, *, json: bool) -> None:
    from maskbench.asking.judging.judge_again import asked_before, forecast

    left, tokens = forecast(folder, settings, name)
    how = "each reply is asked about" if asked_before(folder, settings, name) else "equal requests are asked once"
    text = (
        f"{left:,} verdicts by {plain(settings.judging.judge)} are to be had for {plain(name)}, from requests of about "
        f"{tokens:,.0f} tokens in all; {how}. Nothing was called."
    )
    print_plan(left, tokens, settings, text, json=json, name=name)


def _list(folder: RunFolder) -> None:
    from maskbench.presentation.sections.judges import verdict_sets
    from maskbench.presentation.terminal import show
    from maskbench.store.verdict_sets import listed

    show([verdict_sets(listed(folder))], stdout(), whole=True)
