"""`maskbench export` in the forms that are made for others: what goes out holds no texts by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from maskbench.cli.console import put, say
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder

if TYPE_CHECKING:
    from maskbench.interop.shown_to_others import Shown

Rows: TypeAlias = Literal["jsonl", "csv", "parquet", "published"]  # for oneself
Form: TypeAlias = Literal["hf", "every-eval-ever", "markdown"]  # for others
_WITH_TEXT = ("hf", "every-eval-ever")


def hand_over(
    run: Path,
    form: Form,
    out: Path | None,
    rules: str | None,
    verdicts: str | None,
    *,
    with_text: bool,
) -> None:
    """Write a run in a form that is made for others, and say what is left for people to do."""
    from maskbench.interop.shown_to_others import shown

    if with_text and form not in _WITH_TEXT:
        raise UsageError(f"--format {form} has no place for texts. Leave --with-text out.")
    if out is None and form in _WITH_TEXT:
        raise UsageError(f"--format {form} needs a place: add --out FOLDER.")
    seen = shown(RunFolder(run), rules, verdicts, with_text=with_text)
    if seen.summary.of_two_judges and form != "markdown":
        raise UsageError(
            f"The rates of {seen.summary.verdicts} are estimated from a second look at some of the scenarios, which "
            f"--format {form} has no words for. Hand over another set by --verdicts, or --format markdown."
        )
    try:
        _WRITERS[form](seen, out)
    except OSError as error:
        raise UsageError(f"{error.filename or out} cannot be written ({error.strerror}). Try another --out.") from error


def _hf(seen: Shown, out: Path | None) -> None:
    from maskbench.interop.hub_data_set import write
    from maskbench.presentation.words import RATES

    if out is not None:
        write(seen, out, RATES)
        say(f"The data set is in {out}, with its card in {out / 'README.md'}. Read the card before you upload it.")


def _every_eval_ever(seen: Shown, out: Path | None) -> None:
    from maskbench.interop.every_eval_ever import write
    from maskbench.presentation.words import EXPLAINED, RATES

    if out is not None:
        record = write(
            seen, out, {name: (title, EXPLAINED.get(name, "")) for name, title in RATES.items()}, time.time()
        )
        say(
            f"The record is in {record}, its outcomes beside it. Before you hand it in, say in source_metadata who you "
            "are and what you have to do with the model's makers: nobody told maskbench."
        )


def _markdown(seen: Shown, out: Path | None) -> None:
    from maskbench.presentation import markdown
    from maskbench.presentation.of_one_run import result

    _text(markdown.render(result(seen.summary)), out)


def _text(text: str, out: Path | None) -> None:
    if out is None:
        return put(text, end="")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    return say(f"It is in {out}.")


_WRITERS: dict[Form, Callable[[Shown, Path | None], None]] = {
    "hf": _hf,
    "every-eval-ever": _every_eval_ever,
    "markdown": _markdown,
}
