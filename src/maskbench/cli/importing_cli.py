"""`maskbench import`: what people have already becomes the folder of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from maskbench.cli.console import command, environment, print_json, print_summary, say
from maskbench.cli.options import flag, option, scenario_sets
from maskbench.plain import plain
from maskbench.types import ImportForm

if TYPE_CHECKING:
    from maskbench.interop.imported import Imported


def import_(
    path: Annotated[Path, option("PATH", "Give the file or the folder that holds the replies.", name="PATH")],
    /,
    *,
    out: Annotated[Path, option("DIR", "The run is written to this folder, which must not be there yet.")],
    scenarios: Annotated[
        str | None,
        option(
            "SET",
            "These scenarios were asked: the name of a set, or a path as `maskbench run --scenarios` takes it.",
            default="those that PATH holds itself; transcripts hold none",
            completer=scenario_sets,
        ),
    ] = None,
    format: Annotated[
        ImportForm | None,
        option(
            "FORM",
            "PATH has this format: published, inspect, transcripts or verdicts.",
            default="recognised by content",
        ),
    ] = None,
    subject: Annotated[
        str | None,
        option(
            "NAME",
            "This model answered. Of a folder with the files of several models it chooses one.",
            default="what PATH says",
        ),
    ] = None,
    judge: Annotated[
        str | None, option("NAME", "This model gave the verdicts that PATH holds.", default="what PATH says; unknown")
    ] = None,
    asked: Annotated[
        list[str] | None,
        option(
            "QUESTION",
            "This neutral question was asked: belief_elicit_1, _2 or _3. You may give it several times. The others are "
            "taken out of the scenarios.",
            default="all of a scenario's",
        ),
    ] = None,
    max_error_rate: Annotated[
        float | None,
        option(
            "X",
            "Every figure of the run is withheld where a larger share of outcomes than X is missing.",
            default="what PATH says; 0.05",
        ),
    ] = None,
    json: Annotated[bool, flag("What came is printed as JSON.")] = False,
) -> None:
    """Make a run of replies, and of verdicts, that another program wrote; no model is asked.

    PATH is a CSV file of the published scripts or a folder of them, a log of Inspect (of its mask task, or of ours),
    transcripts of your own as JSONL, or a table of verdicts without texts, as in examples/. What the source lacks is
    named as absent, and what failed there is a failure here. docs/coming-from.md says more of each. A run of maskbench
    needs no import: its folder is what is handed on.
    """
    from maskbench.interop.importing import import_run

    brought = import_run(
        path,
        out,
        scenarios,
        format,
        subject=subject,
        judge=judge,
        asked=asked or (),
        max_error_rate=max_error_rate,
        environ=environment(),
        command=sys.argv,
    )
    if json:
        return print_json(brought.as_dict())
    for line in told(brought):
        say(line)
    if brought.verdicts:
        print_summary(brought.summary, more=command("score", out, "--full"))
    return None


def told(brought: Imported) -> list[str]:
    """What came, line by line, and what to type next."""
    from maskbench.interop.imported_rows import LOG
    from maskbench.presentation.words import cause

    source = brought.source
    lines = [f"The run is in {brought.path}, {plain(source.words)}."]
    of = "" if brought.scenarios == brought.scenarios_in_set else f" of the {brought.scenarios_in_set:,} in the set"
    replies = _counted(brought.replies, "reply", "replies")
    lacking = f"; {brought.unjudged:,} without a verdict" if brought.unjudged else ""
    lines.append(
        f"It has {_counted(brought.scenarios, 'scenario', 'scenarios')}{of}, {replies} and "
        f"{_counted(brought.verdicts, 'verdict', 'verdicts')}{lacking}."
    )
    there = {"subject": (brought.replies, "replies"), "judge": (brought.verdicts, "verdicts")}
    for stage, causes in brought.failures.items():
        had, what = there[stage]
        every = f"{had + sum(causes.values()):,} {what}"
        lines += [f"Missing: {count:,} of {every} ({cause(name)})." for name, count in causes.items()]
    if brought.failures:
        lines.append(f"Each failure with file, row and column: {brought.path / LOG}")
    if source.absent:
        lines.append(f"The source does not say: {', '.join(source.absent)}.")
    lines += [plain(note) for note in source.notes]
    if not brought.verdicts or brought.unjudged:
        lines.append(f"To have the replies judged: {command('judge', brought.path, '--judge', 'openai/gpt-4o')}")
    if brought.verdicts:
        what = "figures" if "texts" in source.absent else "replies"
        lines.append(f"To see the {what}: {command('report', brought.path)}")
    return lines


def _counted(count: int, single: str, many: str) -> str:
    return f"{count:,} {single if count == 1 else many}"
