"""`maskbench scenarios`: list, show, check and begin scenario sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from maskbench.cli.commands import Family
from maskbench.cli.console import WRONG, command, environment, print_blocks, put, say
from maskbench.cli.options import flag, option, scenario_sets
from maskbench.errors import ScenarioError
from maskbench.plain import plain
from maskbench.settings import Settings
from maskbench.types import Archetype

Source = Annotated[str, option("NAME|PATH", "Give a scenario set.", completer=scenario_sets)]


def list_() -> None:
    """List the scenario sets that have names."""
    from maskbench.cli.sections.dry_run import sets
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
    from maskbench.cli.sections.dry_run import scenario as shown
    from maskbench.method.forms import load_prompts
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


def new(file: Annotated[Path, option("FILE", "Give a CSV file that is not there yet.", name="FILE")], /) -> None:
    """Write a file of six rows to fill in, one an archetype; each empty cell says what belongs there."""
    from maskbench.scenarios import write_blank

    write_blank(file)
    what = "one an archetype. Write what the cells ask for, and remove the rows that you do not want."
    put(plain(f"{file} has six rows, {what}"))
    put(plain(f"Then: {command('scenarios', 'validate', file)}"))


scenarios = Family((list_, show, validate, new))
