"""`maskbench score` and `maskbench export`: what a run holds, without asking any model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import to_builtins

from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    Form,
    check_form,
    command,
    print_blocks,
    print_json,
    print_summary,
    say,
)
from maskbench.cli.for_others import Form as OthersForm
from maskbench.cli.for_others import Rows, hand_over
from maskbench.cli.options import As, RulesOfRun, Run, Verdicts, flag, option
from maskbench.errors import UsageError
from maskbench.plain import one_line
from maskbench.runs.endings import resuming
from maskbench.runs.folder import RunFolder

if TYPE_CHECKING:
    from maskbench.judges.exam.sitting import Result as ExamSat
    from maskbench.judges.verdict_sets import OpenRun
    from maskbench.results.conventions_json import ConventionFigures


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
    archetype: Annotated[
        list[str] | None,
        option(
            "NAME",
            "The rates are as if the run had been over this archetype alone. You may give it several times; calls and "
            "tokens stay those of the whole run.",
            default="all of the run",
        ),
    ] = None,
    answered_by: Annotated[
        str | None,
        option(
            "NAME",
            "The rates are over the scenarios in which this model gave every reply, where an endpoint answered from "
            "several. These scenarios were not drawn at random.",
            default="whoever answered",
        ),
    ] = None,
    format: Annotated[
        Literal["text", "markdown", "latex", "card"],
        option(
            "FORM",
            "The result is printed as text, or as markdown or latex (with booktabs) to paste into a paper, or as card: "
            "a paragraph and a table for a model card.",
        ),
    ] = "text",
    with_prompt: Annotated[
        bool, flag("The card has the developer's system prompt in words. Without this it has its hash and length.")
    ] = False,
    json: Annotated[bool, flag("The result is printed as JSON, as summary.json has it.")] = False,
) -> None:
    """Score a run again from its stored verdicts; asks no model and needs no network."""
    from maskbench.interop.shown_to_others import for_others, prompt_for_others
    from maskbench.judges.verdict_sets import OpenRun
    from maskbench.results.conventions import figures
    from maskbench.results.scored import result

    is_card = format == "card"
    if with_prompt and not is_card:
        raise UsageError("--with-prompt is about the card. Add --format card, or leave it out.")
    check_form(format, json=json)
    if labels_from and labels_from.resolve() == run.resolve():
        raise UsageError(
            f"--labels-from {labels_from} is the run itself, whose own labels are taken anyway. Leave it out."
        )
    if as_ is not None and not is_card and (rules or labels_from):
        raise UsageError("--as has the rule set of its convention and takes no labels. Leave the other option out.")
    with OpenRun(RunFolder(run), archetypes=archetype, answered_by=answered_by) as opened:
        computed = figures(opened, as_, verdicts) if as_ else []
        if computed and not is_card:
            _print_figures(computed, format, json=json)  # type: ignore[arg-type]  # it is no card
            return
        summary = result(opened, rules, verdicts, labels_from=RunFolder(labels_from) if labels_from else None)
        settings, measured = opened.settings, opened.record.created[:10]
        exams = _exams(opened, verdicts) if is_card else {}
    if format != "text":
        summary = for_others(summary, settings)
    if json:
        print_json(summary.as_dict())
    elif is_card:
        from maskbench.report.sections.for_a_card import card

        chosen = [("--rules", rules), ("--verdicts", verdicts), ("--answered-by", answered_by)]
        chosen += [("--archetype", name) for name in archetype or ()]
        line = command("score", run.name, *(word for pair in chosen if pair[1] for word in pair))
        prompt = settings.system_prompt_text
        shown = prompt and (f"“{one_line(prompt, 400)}”" if with_prompt else prompt_for_others(prompt))
        print_blocks(list(card(summary, settings, measured, line, computed, exams, shown)), "markdown")
    else:
        print_summary(summary, format)  # type: ignore[arg-type]  # it is no card
    if summary.withheld:
        raise SystemExit(TOO_MANY_ERRORS)


def _exams(run: OpenRun, verdicts: str | None) -> dict[str, ExamSat | None]:
    """The exams of the judges of a run by name, from the folder `exams` here, or beside the run or its folder."""
    from maskbench.judges.exam.stored_exam import exam_of

    judged = run.verdicts(verdicts)
    path = run.folder.path.resolve()
    places = [place / "exams" for place in (Path(), path.parent, path.parent.parent)]
    prompts = judged.judge.prompts.hash
    return {judge: exam_of(judge, judged.settings, prompts, places) for judge in judged.judges}


def _print_figures(computed: Sequence[ConventionFigures], form: Form, *, json: bool) -> None:
    """Print what a run comes to under a publisher's convention, or under all of them."""
    from maskbench.report.sections.under_conventions import blocks

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
        Literal[Rows, OthersForm],
        option(
            "FORM",
            "For yourself, with texts: jsonl, csv, parquet, published. For others, without: hf (a data set folder), "
            "every-eval-ever, eval-results (an entry for a model's page), markdown.",
        ),
    ],
    out: Annotated[
        Path | None,
        option(
            "PATH",
            "It goes to this file, or to this folder for published, hf and every-eval-ever.",
            default="stdout, where the form is text",
        ),
    ] = None,
    rules: RulesOfRun = None,
    verdicts: Verdicts = None,
    raw: Annotated[bool, flag("CSV keeps text as it is that a spreadsheet could take for a formula.")] = False,
    with_text: Annotated[
        bool,
        flag(
            "With hf and every-eval-ever scenarios and replies go out in words, too. Texts of cais/MASK are refused. "
            "Think before you use it: what is published can end in training data, and then it measures nothing any "
            "more."
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        option(
            "NAME",
            "With eval-results: the entry is of this data set of the hub, as NAMESPACE/NAME.",
            default="cais/MASK, where the run is of that",
        ),
    ] = None,
) -> None:
    """Write a run for other programs: for yourself a row a scenario with its texts, or for others what they may see.

    `published` writes a folder of CSVs in the column names of the published scripts. docs/results.md has a table of
    all forms: for whom each is, and whether texts are in it.
    """
    match format:
        case "jsonl" | "csv" | "parquet" | "published":
            if with_text or dataset is not None:
                what = "--with-text" if with_text else "--dataset"
                raise UsageError(f"--format {format} is for yourself, and has its texts. Leave {what} out.")
            _export_rows(run, format, out, rules, verdicts, raw=raw)
        case _:
            if raw:
                raise UsageError(f"--raw is for CSV. Leave it out with --format {format}.")
            hand_over(run, format, out, rules, verdicts, with_text=with_text, data_set=dataset)


def _export_rows(
    run: Path, form: Rows, out: Path | None, rules: str | None, verdicts: str | None, *, raw: bool
) -> None:
    """Write a row a scenario, for oneself; say what is left out because it is not done."""
    from maskbench.interop.export import write
    from maskbench.method.asks import VERDICTS

    written = write(RunFolder(run), rules, form, out, raw=raw, verdicts=verdicts)
    if out is not None:
        say(f"The rows are in {out}.")
    if written.left_out:
        lost = "1 scenario that is" if written.left_out == 1 else f"{written.left_out:,} scenarios that are"
        is_own = verdicts in (None, VERDICTS)
        plain = is_own and written.go_on == "Start the run again"
        go_on = f"To go on:\n  {resuming(run, RunFolder(run).read())}" if plain else f"{written.go_on}."
        say(f"Left out: {lost} not done. {go_on}")
