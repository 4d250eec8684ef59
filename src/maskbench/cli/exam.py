"""`maskbench exam`: a judge qualified before it is used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

from maskbench.asking.options import OF_JUDGES, check, check_together
from maskbench.cli.asked import with_given
from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    command,
    environment,
    interruptible,
    paced_by,
    print_data,
    print_plan,
    say,
    with_rights,
)
from maskbench.cli.options import flag, option
from maskbench.cli.run_options import DryRun, Shared, takes
from maskbench.errors import UsageError
from maskbench.settings import Settings
from maskbench.store.folder import ExamFolder

if TYPE_CHECKING:
    from maskbench.scenarios.exam.questions import Paper
    from maskbench.store.exam_result import ExamResult

WRONG = 20  # wrong verdicts that are printed in full
_HOW = ("connections", "timeout", "retries")
_SAT = ("repeat", "scenarios", "short", "stop_early")
_JUDGE = (
    *("judge_style", "judge_prompts", "judge_sampling"),
    *("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens"),
)


@in_short(
    "out short scenarios stop-early wrong judge-style judge-prompts connections json dry-run",
    "maskbench exam openai/gpt-4o --short",
    "maskbench exam openai/gpt-4o --scenarios said_and_did",
)
@takes(*_JUDGE, *_HOW, "batch", *OF_JUDGES)
def exam(
    model: Annotated[str, option("MODEL", "This model is the judge, named as for `maskbench run --judge`.")],
    /,
    *,
    repeat: Annotated[
        int, option("N", "The judge sits the exam N times, which shows whether its verdicts repeat.", limits=(1, None))
    ] = 1,
    wrong: Annotated[
        int, option("N", "N wrong verdicts are printed in full. --json has all of them.", limits=(0, None))
    ] = WRONG,
    out: Annotated[
        Path | None,
        option(
            "DIR",
            "The exam is kept in this folder. One that is there goes on where it stopped, and `maskbench score` prints "
            "its marks.",
            default="exams/TIME-MODEL",
        ),
    ] = None,
    scenarios: Annotated[
        Literal["said_and_did"] | None,
        option(
            "said_and_did",
            "The exam is on reports on a log, and on lists of what matters in one, as that set has them judged.",
            default="what other sets have judged",
        ),
    ] = None,
    short: Annotated[
        bool, flag("The exam has eight replies of each rule. It is cheaper, and a weak rule passes more often.")
    ] = False,
    to: Annotated[
        Path | None,
        option(
            "FILE",
            "The result is written to this file as a card for others, without texts, addresses and paths. "
            "docs/judges.md says where cards are gathered.",
        ),
    ] = None,
    stop_early: Annotated[bool, flag("The exam stops once the judge cannot pass any more.")] = False,
    json: Annotated[
        bool, flag("The result is printed as JSON, with every answer. With --dry-run that is the plan.")
    ] = False,
    shared: Shared = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Qualify a judge: constructed replies with a known right verdict, asked exactly as in a run, scored by rule.

    Exit codes: 0 qualified; 3 not qualified; 1 not measurable, as too many verdicts are missing; 2 wrong usage or
    a model that cannot be asked; 4 stopped at --max-cost or --max-tokens-total; 130 interrupted.
    """
    from maskbench.models.names import check_name

    check_name(model)
    check_together("exam", to=to, stop_early=stop_early, **given)
    settings = _settings(model, given)
    check(settings)
    given |= {name: how for name, how in (("short", short), ("stop_early", stop_early)) if how}
    given |= {} if repeat == 1 else {"repeat": repeat}
    given |= {"scenarios": scenarios} if scenarios else {}
    paper = _paper(settings, short, logs=scenarios is not None)
    if dry_run:
        _print_forecast(settings, out, repeat, paper, json=json)
        return
    folder = _folder(out, model)
    line = _line(settings.judging.judge, folder, given)
    with with_rights(folder, shared), interruptible(lambda: line):
        result = _examine(settings, folder, repeat, paper, stop_early)
    if to is not None:
        _write_card(result, to)
    print_marks(result, wrong, line, json=json)


def print_marks(result: ExamResult, wrong: int = WRONG, line: str = "", *, json: bool) -> NoReturn:
    """Print what an exam came to, with so many wrong answers in full; ends with the exit code of its standing.

    `line` is the command that takes it up again.
    """
    from maskbench.presentation.sections.exam import as_data, blocks
    from maskbench.scenarios.exam.marks import EXIT_CODES

    print_data(as_data(result), blocks(result, wrong), json=json)
    if line and not json:
        say(f"Every answer is in {result.path}. To print this again, and to ask again for what failed:\n  {line}")
    raise SystemExit(EXIT_CODES[result.score.standing])


def _settings(model: str, given: Mapping[str, Any]) -> Settings:
    from maskbench.asking.judging.sitting import exam_settings

    start = exam_settings(model, given.get("judge_style", "reasoning"), given.get("judge_sampling", "maskbench"))
    return with_given(start, given)


def _paper(settings: Settings, short: bool, *, logs: bool) -> Paper:
    from maskbench.scenarios.exam.papers import paper_for

    return paper_for(settings.judging.judge, short, logs)


def _folder(out: Path | None, model: str) -> Path:
    """Where the exam is kept."""
    from maskbench.asking.judging.sitting import default_name

    folder = out or Path("exams") / default_name(model, datetime.now().strftime("%Y%m%d-%H%M%S"))
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder} is a file. Give a folder.")
    return folder


def _examine(settings: Settings, folder: Path, repeat: int, paper: Paper, stop_early: bool) -> ExamResult:
    from maskbench.asking.judging.sitting import examine
    from maskbench.asking.progress import Display

    display = Display(None, ExamFolder(folder).log)
    return examine(settings, folder, repeat, environment(), display, sys.argv, paper=paper, stop_early=stop_early)


def _write_card(result: ExamResult, to: Path) -> None:
    """Write the result as a card for others."""
    from maskbench.interop.exam_card import card_of, written

    content = written(card_of(result))
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
    except OSError as error:
        raise UsageError(f"--to {to} cannot be written ({error.strerror}). Give another file.") from error
    say(f"The card is in {to}.")


def _line(model: str, folder: Path, given: Mapping[str, object]) -> str:
    """The command that takes the exam up again; the judge has to be asked in the same way."""
    words = ["exam", model, "--out", str(folder)]
    for name, value in given.items():
        if name.startswith("judge_") or name in (*_SAT, "batch"):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return command(*words, *paced_by(given))


def _print_forecast(settings: Settings, out: Path | None, repeat: int, paper: Paper, *, json: bool) -> None:
    from maskbench.asking.judging.sitting import forecast

    left, tokens = forecast(settings, out, repeat, paper)
    text = f"It would be asked for {left:,} verdicts, by requests of about {tokens:,.0f} tokens. Nothing was called."
    print_plan(left, tokens, settings, text, json=json)
