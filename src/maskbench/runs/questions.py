"""Questions on stored statements: who was asked what, and what is answered.

Answers are kept like verdicts, under a set of their own for each judge, and are no verdict set: nothing is scored by
them. What has an answer keeps it, and what failed is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, to_builtins

from maskbench.errors import RunUnreadable
from maskbench.method.construct import Question, named, parts_of
from maskbench.method.forms import form_of, styles
from maskbench.method.forms.questions import prompts_hash
from maskbench.runs.bill import ledger_of
from maskbench.runs.fitting import Misfit, fitted
from maskbench.runs.store import Store
from maskbench.settings import Settings

FACT = "construct"  # the fact under which a run remembers who was asked what about its statements


class Asked(Struct, forbid_unknown_fields=True):
    """Who was asked these questions about the statements of a run, and by which prompts (a hash for each question)."""

    judge: str
    questions: list[str]
    prompts: dict[str, str]
    maskbench: str


def set_of(judge: str) -> str:
    """The name under which a store keeps a judge's answers: no verdict set is called so."""
    return f"~construct {judge}"


def billed_sets(store: Store) -> list[str]:
    """The names under which a run keeps bills of answers that were asked for on demand."""
    return [name for asked in who_was_asked(store) if ledger_of(store, name := set_of(asked.judge))]


def remember(store: Store, settings: Settings) -> None:
    """Note who is asked what, with earlier questions to the same judge; who is noted last is shown.

    What was asked by prompts of another version keeps their hash.
    """
    from importlib.metadata import version

    others = asked_otherwise(store, settings)
    known = {asked.judge: asked for asked in who_was_asked(store)}
    before = known.pop(settings.judging.judge, None)
    wanted = {*settings.design.construct, *(before.questions if before else ())}
    parts = [part for question in named({*settings.design.construct} - {*others}) for part in parts_of(question)]
    prompts = {**(before.prompts if before else {}), **_hashes(parts, settings)}
    asked = Asked(settings.judging.judge, [question.name for question in named(wanted)], prompts, version("maskbench"))
    store.remember(FACT, [to_builtins(each) for each in (*known.values(), asked)])


def _hashes(parts: Sequence[Question], settings: Settings) -> dict[str, str]:
    return {part.name: prompts_hash(part, form_of(settings.judging).style.name)[:12] for part in parts}


def asked_otherwise(store: Store, settings: Settings) -> list[str]:
    """The wanted questions that this judge was asked by prompts of another version, which are not asked again.

    Its answers stand as they are: those by two versions make no one measurement.
    """
    before = next((each.prompts for each in who_was_asked(store) if each.judge == settings.judging.judge), {})
    return [
        question.name
        for question in named(settings.design.construct)
        for part in parts_of(question)
        if before.get(part.name) not in {None, *(prompts_hash(part, style)[:12] for style in styles())}
    ]


def who_was_asked(store: Store) -> list[Asked]:
    """Who was asked about the statements of a run, the last one last; raises RunUnreadable for what is no such note."""
    try:
        return fitted(store.fact(FACT) or [], list[Asked], FACT)
    except Misfit as error:
        raise RunUnreadable(f"The run's note on --construct is none: {error}. Restore the run's database.") from None
