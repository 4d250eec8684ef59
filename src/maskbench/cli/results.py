"""`maskbench score` and `maskbench export`: what a run holds, without asking any model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

from cyclopts import Parameter

from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    print_blocks,
    print_data,
    print_json,
    print_summary,
    put,
    say,
)
from maskbench.cli.options import FULL, As, RulesOfRun, Run, Verdicts, flag, option
from maskbench.errors import UsageError
from maskbench.plain import one_line
from maskbench.results.together import check_together
from maskbench.store.endings import resuming
from maskbench.store.folder import RunFolder, is_exam
from maskbench.types import OutputForm, RowForm

if TYPE_CHECKING:
    from maskbench.results.conventions import ConventionFigures
    from maskbench.results.summary import Summary
    from maskbench.store.exam_result import ExamResult as ExamSat
    from maskbench.store.verdict_sets import OpenRun, RunPart


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PartTyped:
    """The part of a run that is scored, as it is typed."""

    archetype: Annotated[
        list[str] | None,
        option(
            "NAME",
            "The rates are as if the run had been over this archetype alone. You may give it several times; calls and "
            "tokens stay those of the whole run.",
            default="all of the run",
        ),
    ] = None
    answered_by: Annotated[
        str | None,
        option(
            "NAME",
            "The rates are over the scenarios in which this model gave every reply, where an endpoint answered from "
            "several. These scenarios were not drawn at random.",
            default="whoever answered",
        ),
    ] = None
    where: Annotated[
        str | None,
        option("LABEL=VALUE", "The rates are over the rows with this label alone, as asked=no.", default="all rows"),
    ] = None
    without: Annotated[
        Path | None,
        option("FILE", "The rates leave out the scenarios whose task_ids stand in FILE, one a line.", default="none"),
    ] = None

    @property
    def part(self) -> RunPart:
        """The part; raises UsageError for a label or a file that is none."""
        from maskbench.store.verdict_sets import RunPart

        return RunPart(tuple(self.archetype or ()), self.answered_by, _label(self.where), _ids(self.without))

    @property
    def words(self) -> Iterator[tuple[str, object]]:
        """The options that are given, to be typed again."""
        given = [("--answered-by", self.answered_by), ("--where", self.where), ("--without", self.without)]
        yield from (pair for pair in given if pair[1] is not None)
        yield from (("--archetype", name) for name in self.archetype or ())


WHOLE = PartTyped()


def score(
    run: Run,
    /,
    *,
    rules: RulesOfRun = None,
    verdicts: Verdicts = None,
    as_: As = None,
    why: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "The formula of --as is changed to this one, a part at a time and in a fixed order, on the same replies; "
            "each step has its points.",
            default="none",
        ),
    ] = None,
    by: Annotated[
        str | None,
        option(
            "LABEL",
            "P(lie) is split by what rows ask for, within archetypes: asked (outright), asked_by, addressee, fiction, "
            "harm. The public scenarios have these labels; a set of your own may have the columns.",
            default="none",
        ),
    ] = None,
    of: PartTyped = WHOLE,
    max_error_rate: Annotated[
        float | None,
        option(
            "X",
            "The headline is withheld where a larger share of outcomes than X is missing; beside it stands what they "
            "could have been.",
            default="the run's own",
        ),
    ] = None,
    format: Annotated[
        Literal[OutputForm, "card"],
        option(
            "FORM",
            "The result is printed as text, or as markdown to paste, or as card: a paragraph and a table for "
            "a model card.",
        ),
    ] = "text",
    with_prompt: Annotated[
        bool, flag("The card has the developer's system prompt in words. Without this it has its hash and length.")
    ] = False,
    full: Annotated[bool, flag(FULL)] = False,
    json: Annotated[bool, flag("The result is printed as JSON, as summary.json has it.")] = False,
) -> None:
    """Score a run again from its stored verdicts; asks no model and needs no network.

    Of the exam of a judge, which `maskbench exam` makes, it prints the marks and ends with the exit code of `exam`.
    """
    from maskbench.results.conventions import figures
    from maskbench.results.scored import result
    from maskbench.results.shown_to_others import Redaction, prompt_for_others
    from maskbench.store.verdict_sets import OpenRun

    is_card = format == "card"
    given = {"as_": as_, "rules": rules, "why": why, "by": by, "max_error_rate": max_error_rate, **asdict(of)}
    check_together("score", with_prompt=with_prompt, format=format, json=json, **given)
    typed: dict[str, object] = {"--rules": rules, "--by": by, **dict(of.words)}
    typed |= {"--max-error-rate": max_error_rate, "--format card": is_card or None}
    if is_exam(run):
        typed |= {"--verdicts": verdicts, "--as": as_, "--why": why, "--format": None if format == "text" else format}
        _print_marks(run, typed, json=json)
    part = of.part
    if why is not None and as_ is not None:
        _print_why(run, as_, why, verdicts, format, json=json)  # type: ignore[arg-type]  # it is no card
        return
    if by is not None:
        _print_split(run, part, by, rules, verdicts, json=json)
        return
    with OpenRun(RunFolder(run), part=part, max_error_rate=max_error_rate) as opened:
        computed = figures(opened, as_, verdicts) if as_ else []
        if computed and not is_card:
            _print_figures(computed, run, format, json=json)  # type: ignore[arg-type]  # it is no card
            return
        summary = result(opened, rules, verdicts)
        settings, measured = opened.settings, opened.record.created[:10]
        exams = _exams(opened, verdicts, summary) if is_card else {}
    chosen: list[tuple[str, object]] = [("--rules", rules), ("--verdicts", verdicts), *of.words]
    chosen += [("--max-error-rate", None if max_error_rate is None else f"{max_error_rate:g}")]
    words = [word for pair in chosen if pair[1] for word in pair]
    if format != "text":
        summary = Redaction.of(settings).summary(summary)
    if json:
        print_json(summary.as_dict())
    elif is_card:
        from maskbench.presentation.sections.card import card

        line = command("score", run.name, *words)
        prompt = settings.design.system_prompt_text
        shown = prompt and (f"“{one_line(prompt, 400)}”" if with_prompt else prompt_for_others(prompt))
        print_blocks(list(card(summary, settings, measured, line, computed, exams, shown)), "markdown")
    else:
        more = None if full else command("score", run, *words, "--full")
        print_summary(summary, format, more)  # type: ignore[arg-type]  # it is no card
    if summary.withheld:
        raise SystemExit(TOO_MANY_ERRORS)


def _print_marks(run: Path, typed: Mapping[str, object], *, json: bool) -> NoReturn:
    """Print the marks of an exam, of which nothing else can be scored."""
    from maskbench.cli.exam import print_marks
    from maskbench.store.exam_result import stored_result

    if unused := next((name for name, value in typed.items() if value is not None), None):
        raise UsageError(f"{run} holds the exam of a judge, of which the marks are printed. Leave {unused} out.")
    print_marks(stored_result(run), json=json)


def _print_why(run: Path, as_: str, why: str, verdicts: str | None, form: OutputForm, *, json: bool) -> None:
    """Print the steps from one publisher's figure of a run to another's."""
    from maskbench.presentation.sections.conventions import steps
    from maskbench.results.formula_steps import formula_steps

    told = formula_steps(run, as_, why, verdicts)
    print_data(told, steps(told), form, json=json, runs=[run])


def _label(text: str | None) -> tuple[str, str] | None:
    """A label and a value of it, as `asked=no`; raises UsageError for what is none."""
    from maskbench.scenarios.row_labels import ROW_LABELS

    if text is None:
        return None
    name, _, value = text.partition("=")
    values = ROW_LABELS[name].values if name in ROW_LABELS else ()
    if value not in values:
        known = ", ".join(f"{label}={each}" for label, about in ROW_LABELS.items() for each in about.values)
        raise UsageError(f"--where {text}: give one of {known}.")
    return name, value


def _ids(file: Path | None) -> frozenset[str]:
    """The task_ids in a file, one a line; what follows # is a remark."""
    if file is None:
        return frozenset()
    from maskbench.store.disk import read_whole

    try:
        lines = read_whole(file).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--without {file} cannot be read ({error}). Give a text file, a task_id a line.") from error
    return frozenset(name for line in lines if (name := line.partition("#")[0].strip()))


def _print_split(run: Path, part: RunPart, by: str, rules: str | None, verdicts: str | None, *, json: bool) -> None:
    """Print P(lie) by a label of rows."""
    from maskbench.presentation.of_runs import Alone
    from maskbench.presentation.sections.archetypes import split_blocks
    from maskbench.results.scored import split_by
    from maskbench.scenarios.row_labels import ROW_LABELS
    from maskbench.store.verdict_sets import OpenRun

    if by not in ROW_LABELS:
        raise UsageError(f"--by {by}: give one of {', '.join(ROW_LABELS)}.")
    with OpenRun(RunFolder(run), part=part) as opened:
        summary, split = split_by(opened, by, rules, verdicts)
    print_data(split, split_blocks({Alone(summary).name: split}, [summary.scenarios]), json=json)


def _exams(run: OpenRun, verdicts: str | None, summary: Summary) -> dict[str, ExamSat | None]:
    """The exams of the judges of a run by name, from the folder `exams` here, or beside the run or its folder."""
    from maskbench.results.gain_minus_plain import on_logs_alone
    from maskbench.store.exam_result import exam_of

    judged = run.verdicts(verdicts)
    path = run.folder.path.resolve()
    places = [place / "exams" for place in (Path(), path.parent, path.parent.parent)]
    prompts = judged.judge.prompts.hash
    logs = on_logs_alone(summary.by_archetype)
    return {judge: exam_of(judge, judged.settings, prompts, places, logs=logs) for judge in judged.judges}


def _print_figures(computed: Sequence[ConventionFigures], run: Path, form: OutputForm, *, json: bool) -> None:
    """Print what a run comes to under a publisher's convention, or under all of them."""
    from maskbench.presentation.sections.conventions import blocks

    print_data(computed, blocks(computed), form, json=json, runs=[run])
    if any(each.withheld for each in computed):
        raise SystemExit(TOO_MANY_ERRORS)


def export(
    run: Run,
    /,
    *,
    format: Annotated[
        Literal[RowForm, "run", "markdown"],
        option(
            "FORM",
            "For yourself, with texts: jsonl, csv, parquet, published. For others, without: run (a run folder whose "
            "figures anybody can compute again), markdown.",
        ),
    ],
    out: Annotated[
        Path | None,
        option(
            "PATH",
            "It goes to this file, or to this folder for run and published.",
            default="stdout, where the form is text",
        ),
    ] = None,
    rules: RulesOfRun = None,
    verdicts: Verdicts = None,
    raw: Annotated[bool, flag("CSV keeps text as it is that a spreadsheet could take for a formula.")] = False,
) -> None:
    """Write a run for other programs: for yourself a row a scenario with its texts, or for others what they may see.

    `published` writes a folder of CSVs in the column names of the published scripts. docs/results.md has a table of
    all forms: for whom each is, and whether texts are in it.
    """
    check_together("export", format=format, out=out, raw=raw, rules=rules, verdicts=verdicts)
    match format:
        case "run" if out:
            _export_run(run, out)
        case "jsonl" | "csv" | "parquet" | "published":
            _export_rows(run, format, out, rules, verdicts, raw=raw)
        case _:
            _export_markdown(run, out, rules, verdicts)


def _export_run(run: Path, out: Path) -> None:
    """Write the run without its texts, and say what went out and what stayed."""
    from maskbench.results.textless_run import write_without_texts

    told = write_without_texts(RunFolder(run), out)
    letters = (
        "A and B of each scenario have changed places, or not, by a coin, so that no answer key goes out"
        if told.exchanged
        else "The answer that counts as true is in it for each scenario"
    )
    say(
        f"{told.scenarios:,} scenarios are in {out}, without a text. {letters}; numbers are as they are.\n"
        f"Anybody computes its figures again: {command('score', out)}"
    )


def _export_markdown(run: Path, out: Path | None, rules: str | None, verdicts: str | None) -> None:
    """Write the result as Markdown, as others may see it."""
    from maskbench.presentation import markdown
    from maskbench.presentation.of_one_run import result
    from maskbench.results.shown_to_others import public_summary

    text = markdown.render(result(public_summary(RunFolder(run), rules, verdicts)))
    if out is None:
        return put(text, end="")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename or out} cannot be written ({error.strerror}). Try another --out.") from error
    return say(f"It is in {out}.")


def _export_rows(
    run: Path, form: RowForm, out: Path | None, rules: str | None, verdicts: str | None, *, raw: bool
) -> None:
    """Write a row a scenario, for oneself; say what is left out because it is not done."""
    from maskbench.interop.export import write
    from maskbench.method.asks import VERDICTS

    RunFolder(run).check_texts("rows with texts cannot be written")
    left_out, remedy = write(RunFolder(run), rules, form, out, raw=raw, verdicts=verdicts)
    if out is not None:
        say(f"The rows are in {out}.")
    if left_out:
        lost = "1 scenario that is" if left_out == 1 else f"{left_out:,} scenarios that are"
        is_own = verdicts in (None, VERDICTS)
        plain = is_own and remedy == "Start the run again"
        go_on = f"To go on:\n  {resuming(run, RunFolder(run).read())}" if plain else f"{remedy}."
        say(f"Left out: {lost} not done. {go_on}")
