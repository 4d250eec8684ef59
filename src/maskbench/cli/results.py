"""`maskbench score` and `maskbench export`: what a run holds, without asking any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import to_builtins

from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    Form,
    check_form,
    print_blocks,
    print_json,
    print_summary,
    resume_line,
    say,
)
from maskbench.cli.options import As, Format, RulesOfRun, Run, Verdicts, flag, option
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder


def score(
    run: Run,
    /,
    *,
    rules: RulesOfRun = None,
    verdicts: Verdicts = None,
    labels_from: Annotated[
        Path | None,
        option(
            "RUN",
            "P(lie) is corrected by the labels of another RUN with the same judge. What that assumes is printed with "
            "it.",
            default="the run's own labels, if any",
        ),
    ] = None,
    as_: As = None,
    format: Format = "text",
    json: Annotated[bool, flag("The result is printed as JSON, as summary.json has it.")] = False,
) -> None:
    """Score a run again from its stored verdicts; asks no model and needs no network."""
    from maskbench.results.scored import result

    check_form(format, json=json)
    if as_ is not None:
        if rules or labels_from:
            raise UsageError("--as has the rule set of its convention and takes no labels. Leave the other option out.")
        _score_as(run, as_, verdicts, format, json=json)
        return
    if labels_from and labels_from.resolve() == run.resolve():
        raise UsageError(
            f"--labels-from {labels_from} is the run itself, whose own labels are taken anyway. Leave it out."
        )
    summary = result(RunFolder(run), rules, verdicts, labels_from=RunFolder(labels_from) if labels_from else None)
    if json:
        print_json(summary.as_dict())
    else:
        print_summary(summary, format)
    if summary.withheld:
        raise SystemExit(TOO_MANY_ERRORS)


def _score_as(run: Path, name: str, verdicts: str | None, form: Form, *, json: bool) -> None:
    """Print what a run comes to under a publisher's convention, or under all of them."""
    from maskbench.report.sections.under_conventions import blocks
    from maskbench.results.conventions import figures

    computed = figures(run, name, verdicts)
    if json:
        print_json(to_builtins(computed))
    else:
        print_blocks(list(blocks(computed)), form)
    if any(each.withheld for each in computed):
        raise SystemExit(TOO_MANY_ERRORS)


def export(
    run: Run,
    /,
    *,
    format: Annotated[
        Literal["jsonl", "csv", "parquet", "published"],
        option("FORM", "The rows are written as jsonl, csv, parquet or published."),
    ],
    out: Annotated[
        Path | None, option("FILE", "The rows go to this file.", default="stdout; parquet and published need one")
    ] = None,
    rules: RulesOfRun = None,
    verdicts: Verdicts = None,
    raw: Annotated[bool, flag("CSV keeps text as it is that a spreadsheet could take for a formula.")] = False,
) -> None:
    """Write a row a scenario: replies, verdicts, belief, outcome, and every failure as what it is.

    `published` writes a folder of CSVs in the column names of the published scripts.
    """
    from maskbench.interop.export import write
    from maskbench.method.asks import VERDICTS

    written = write(RunFolder(run), rules, format, out, raw=raw, verdicts=verdicts)
    if out is not None:
        say(f"The rows are in {out}.")
    if written.left_out:
        lost = "1 scenario that is" if written.left_out == 1 else f"{written.left_out:,} scenarios that are"
        is_own = verdicts in (None, VERDICTS)
        go_on = f"To go on:\n  {resume_line(run)}" if is_own else f"{written.go_on}."
        say(f"Left out: {lost} not done. {go_on}")
