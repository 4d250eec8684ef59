"""`maskbench score` and `maskbench export`: what a run holds, without asking any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from maskbench.cli import options
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    check_form,
    print_json,
    print_summary,
    resume_line,
    say,
)
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder


def score(
    folder: options.Run,
    rules: options.RulesOfRun = None,
    verdicts: options.Verdicts = None,
    labels_from: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Correct by the labels of another RUN with the same judge; what that assumes is printed with it.",
            show_default="the run's own labels, if any",
        ),
    ] = None,
    format: options.Format = "text",
    json: Annotated[bool, typer.Option("--json", help="Print summary.json for these rules.")] = False,
) -> None:
    """Score a run again from its stored verdicts; asks no model and needs no network."""
    from maskbench.results.scored import result

    check_form(format, json=json)
    if labels_from and labels_from.resolve() == folder.resolve():
        raise UsageError(
            f"--labels-from {labels_from} is the run itself, whose own labels are taken anyway. Leave it out."
        )
    summary = result(RunFolder(folder), rules, verdicts, labels_from=RunFolder(labels_from) if labels_from else None)
    if json:
        print_json(summary)
    else:
        print_summary(summary, format)
    if summary["withheld"]:
        raise typer.Exit(TOO_MANY_ERRORS)


def export(
    folder: options.Run,
    format: Annotated[
        Literal["jsonl", "csv", "parquet", "published"],
        typer.Option(metavar="FORM", help="jsonl, csv, parquet or published."),
    ],
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write.", show_default="stdout; parquet and published need one"),
    ] = None,
    rules: options.RulesOfRun = None,
    verdicts: options.Verdicts = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="CSV: leave text as it is that a spreadsheet could take for a formula.")
    ] = False,
) -> None:
    """Write a row a scenario: replies, verdicts, belief, outcome, and every failure as what it is.

    `published` writes a folder of CSVs in the column names of the published scripts.
    """
    from maskbench.interop.export import write

    left_out = write(RunFolder(folder), rules, format, to, raw=raw, verdicts=verdicts)
    if to is not None:
        say(f"The rows are in {to}.")
    if left_out:
        lost = "1 scenario that is" if left_out == 1 else f"{left_out:,} scenarios that are"
        say(f"Left out: {lost} not done. {_go_on(folder, verdicts)}")


def _go_on(folder: Path, verdicts: str | None) -> str:
    """What to do so that nothing is left out."""
    from maskbench.judges.verdict_sets import open_verdicts
    from maskbench.method.asks import VERDICTS

    if verdicts in (None, VERDICTS):
        return f"To go on:\n  {resume_line(folder)}"
    run = RunFolder(folder)
    store = run.store()
    try:
        return f"{open_verdicts(run, store, verdicts).go_on(folder)}."
    finally:
        store.close()
