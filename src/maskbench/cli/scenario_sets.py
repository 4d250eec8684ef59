"""`maskbench scenarios`: list, show and check scenario sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson

from maskbench.cli.commands import Family
from maskbench.cli.console import WRONG, environment, print_blocks, put, say
from maskbench.cli.options import flag, option, scenario_sets
from maskbench.errors import ScenarioError, UsageError
from maskbench.plain import plain
from maskbench.runs.disk import write_whole
from maskbench.settings import Settings
from maskbench.types import Archetype

Source = Annotated[str, option("NAME|PATH", "Give a scenario set.", completer=scenario_sets)]


def list_() -> None:
    """List the scenario sets that have names."""
    from maskbench.presentation.sections.dry_run import sets
    from maskbench.scenarios import known_sets

    print_blocks(list(sets(known_sets())))


def show(
    source: Source,
    task_id: Annotated[str, option("TASK_ID", "Give the task_id of a scenario.", name="TASK_ID")],
    /,
    *,
    archetype: Annotated[
        Archetype | None, option("NAME", "Only this archetype is shown, where several have that task_id.")
    ] = None,
    prompts: Annotated[bool, flag("What the judge is asked about each reply is shown, too.")] = False,
) -> None:
    """Show one scenario as the subject would see it, the pressured conversation first."""
    from maskbench.method.forms import load_prompts
    from maskbench.presentation.sections.dry_run import scenario as shown
    from maskbench.scenarios import open_set

    known = open_set(source, environment())
    named = [scenario for scenario in known if scenario.task_id == task_id and archetype in (None, scenario.archetype)]
    if not named:
        of = f" of {archetype}" if archetype else ""
        example = next(iter(known))
        raise ScenarioError(
            f"{source} has no scenario {task_id!r}{of}. Ids look like {example.task_id!r} ({example.archetype}); "
            "they stand in the set's files and in what `maskbench export` writes."
        )
    settings = Settings.of(subject="any", judge="any", numeric_judge="any", scenarios=source)
    for scenario in named:
        print_blocks(list(shown(scenario, settings, load_prompts() if prompts else None)))


def validate(source: Source, /) -> None:
    """Say everything that is wrong with a set, by file, row, column and remedy; then what is worth a note."""
    from maskbench.scenarios import Remarks, open_set
    from maskbench.scenarios import validate as problems_of

    environ = environment()
    problems = problems_of(source, environ)
    for problem in problems:
        put(plain(str(problem)))
    if problems:
        say(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found.")
        raise SystemExit(WRONG)
    remarks, size = Remarks(), 0
    for scenario in open_set(source, environ):
        remarks.add(scenario)
        size += 1
    put(f"{plain(source)}: nothing is wrong with its {size:,} scenario{'s' if size != 1 else ''}.")
    for line in remarks.lines(source):
        put(plain(f"Note: {line}"))


def from_log(
    logs: Annotated[list[Path], option("LOG", "Give a file with an agent's log.", name="LOG")],
    /,
    *,
    out: Annotated[Path, option("DIR", "The scenarios and the reports are written into this folder.")],
    command: Annotated[
        str, option("TEXT", "The event is that the last command with this text ended with an error.", default="pytest")
    ] = "pytest",
) -> None:
    """Make scenarios of logs of an agent of your own: did its report say what the log shows?

    LOG is a list of messages as chat completions have them, as JSON, or a log of Inspect of any agent. The truth is the
    exit code that stands at the end of the command's result; where there is none, you write it into the rows. The
    report with which a log ends is its own file, which `maskbench import` takes.
    """
    from maskbench.interop.agent_logs import rows_of

    if (out / "scenarios.jsonl").exists():
        raise UsageError(
            f"{out / 'scenarios.jsonl'} is there already, and may hold truths that you wrote. Give another --out."
        )
    found = rows_of(logs, command)
    out.mkdir(parents=True, exist_ok=True)
    reports = [each.report for each in found if each.report]
    for name, lines in (("scenarios.jsonl", [each.row for each in found]), ("reports.jsonl", reports)):
        write_whole(out / name, b"".join(orjson.dumps(line) + b"\n" for line in lines))
    several = f"{len(found):,} scenario{'s' if len(found) != 1 else ''}"
    put(plain(f"{out} has {several} in scenarios.jsonl, and the reports of {len(reports):,} in reports.jsonl."))
    if blank := sum(not each.row["formatted_ground_truth"] for each in found):
        put(
            f"No exit code tells the truth of {blank:,}. Write it: A into formatted_ground_truth and said_and_did into "
            "archetype where the command failed, B and said_and_did_twin where it did not."
        )


scenarios = Family(
    "scenarios", "List, show and check scenario sets, and make one of logs.", (list_, show, validate, from_log)
)
