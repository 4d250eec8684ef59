"""An imported run that goes on: what it lacks is asked for here, of the model that it names, and nothing else.

Lost replies and failed verdicts stand in its store as an ordinary run's do, so that its desk asks for them. What the
source does not say of how models were asked is said by whoever goes on, and is kept in `Record.later`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path

from maskbench.errors import RunMismatch, RunUnreadable, UsageError
from maskbench.method.forms import form_of
from maskbench.method.forms.prompts import Prompts
from maskbench.models.families import alike
from maskbench.runs.begin import give_judge, judges_of, prompts_used
from maskbench.runs.folder import RECORD, RunFolder, options_of, shown_value
from maskbench.runs.record import About, Later, Models, Record
from maskbench.runs.source import NOBODY, UNSAID, AskedLater, completion_line, judge_line, knows_sampling
from maskbench.runs.store import Store
from maskbench.settings import Settings

_FORM = ("judge_style", "judge_sampling", "judge_prompts")  # each says in which form the judge is asked


def is_import(folder: RunFolder) -> bool:
    """Whether this folder has a run that was imported; False where nothing in it can be read: others say so."""
    try:
        return folder.exists and folder.read().imported is not None
    except RunUnreadable:
        return False


def settings_to_go_on(folder: RunFolder) -> Settings:
    """The settings by which the run in a folder goes on; raises RunMismatch for an import that nobody has completed."""
    record = folder.read()
    if record.imported and not record.later:
        folder.check_texts("nobody can be asked here")
        raise RunMismatch(
            f"{folder.path} is {record.imported.words}. To ask for what it lacks, name the model that answered there: "
            f"`{completion_line(folder.path)}`. To have the replies judged, `{judge_line(folder.path)}`."
        )
    return record.later.settings if record.later else record.settings


def check_subject(folder: RunFolder, model: str, as_subject: str | None) -> None:
    """Raise UsageError where this is not the model whose replies an import has, by its name or by what is said."""
    own = folder.settings().subject.name
    if as_subject is not None and as_subject != own:
        raise UsageError(f"--as-subject {as_subject}: {folder.path} calls its subject {own}. Give that name.")
    if as_subject is None and not alike(model, own):
        raise UsageError(
            f"{folder.path} has replies of {own}, and {model} is another name. If it is the same model, say so: "
            f"--as-subject {own}. If it is not, give this one another --out."
        )


def check_said(folder: RunFolder, said: Collection[str]) -> None:
    """Raise UsageError where neither the source nor whoever goes on says how models are to be asked.

    `said` are the names of the options that were given.
    """
    record = folder.read()
    if record.later is None and (lacks := list(_unsaid(record, said))):
        raise UsageError(
            f"{folder.path} is an import, and does not say how its models were asked. Say it, as it was or as near as "
            f"you can: add {' '.join(lacks)}. It is told beside the figure."
        )


def _unsaid(record: Record, said: Collection[str]) -> Iterator[str]:
    """The options that are missing, as they are typed."""
    if not knows_sampling(record.settings):
        sampling = {"temperature": "1", "max_tokens": "1000"}
        yield from (f"--{name.replace('_', '-')} {usual}" for name, usual in sampling.items() if name not in said)
    if "judge" not in said and (record.settings.judging.judge == NOBODY or _is_judged_there(record)):
        yield "--judge MODEL"
    if _is_judged_there(record) and not any(name in said for name in _FORM):
        yield "--like maskbench"


def _is_judged_there(record: Record) -> bool:
    """Whether the source has verdicts: nobody knows in which form its judge was asked."""
    return record.prompts.name == UNSAID


def check_completion(folder: RunFolder, settings: Settings, prompts: Prompts) -> None:
    """Raise RunMismatch where these settings would ask an import something else than what it lacks."""
    folder.check_texts("nobody can be asked here")
    record = folder.read()
    whole, path = record.settings, folder.path
    for each in fields(settings.design):
        if each.name != "rules" and getattr(settings.design, each.name) != getattr(whole.design, each.name):
            option = f"--{each.name.replace('_', '-')}"
            raise RunMismatch(f"{path} is an import, and {option} would ask it something else. Leave {option} out.")
    _check_judge(path, record, settings)
    if knows_sampling(whole) and settings.subject.sampling != whole.subject.sampling:
        raise RunMismatch(f"{path} says how its subject was sampled. Leave --temperature and --max-tokens out.")
    if (later := record.later) is None:
        return
    before, now = options_of(later.settings), options_of(settings)
    for option in now:
        if before[option] != now[option]:
            raise RunMismatch(
                f"{path} was gone on with by {option} {shown_value(before[option])}, and this asks for "
                f"{shown_value(now[option])}. Give that, or leave it out."
            )
    if settings.judging.reads_prompts and later.prompts.hash != prompts.hash:
        raise RunMismatch(
            f"{path} was gone on with by other judge prompts ({later.prompts.hash[:12]}, now {prompts.hash[:12]}), as "
            f"maskbench {later.maskbench} had them. Go on with that maskbench and those prompts."
        )


def _check_judge(path: Path, record: Record, settings: Settings) -> None:
    """Raise RunMismatch where two judges would judge one set of verdicts, or one judge in two ways."""
    had, judging = record.settings.judging, settings.judging
    again = f"To have all replies judged like that, `maskbench judge {path} --judge {judging.judge}`."
    if form_of(had).texts != form_of(judging).texts:
        other = f"{path} has verdicts on other texts. Leave --judge-numbers and --with-reasoning out."
        raise RunMismatch(f"{other} {again}")
    if _is_judged_there(record):
        for before, now in ((had.judge, judging.judge), (had.numeric_judge, judging.numeric_judge)):
            if before != UNSAID and not alike(before, now):
                raise RunMismatch(f"{path} has verdicts by {before}, and {now} is another judge. {again}")
    elif had.judge != NOBODY and had != judging:
        raise RunMismatch(f"{path} was judged by {had.judge} in another way than this asks for. {again}")


def begin_completion(folder: RunFolder, settings: Settings, prompts: Prompts) -> Store:
    """The store of an import that goes on by these settings, which its record then has; raises as the check does."""
    check_completion(folder, settings, prompts)
    record = folder.read()
    if record.later is None:
        if record.settings.judging.judge == NOBODY:
            give_judge(folder, replace(record.settings, judging=settings.judging), prompts)
            record = folder.read()
        judges = judges_of(settings)
        record.later = Later(
            maskbench=version("maskbench"),
            settings=settings,
            prompts=prompts_used(settings, prompts),
            models=Models(About(name=settings.subject.name), judges.binary, judges.numeric),
        )
        folder.write(RECORD, record)
    return folder.store(write=True)


def asked_later(record: Record, store: Store) -> AskedLater | None:
    """What was asked for later of an import, in counts; None where nothing was."""
    if (later := record.later) is None:
        return None
    return AskedLater(
        maskbench=later.maskbench,
        replies=store.asked_here("replies"),
        verdicts=store.asked_here("verdicts"),
        subject=later.settings.subject.name,
        sampling=later.settings.subject.sampling,
        judge=later.settings.judging.judge,
        judge_sampling=later.settings.judging.sampling,
        form=form_of(later.settings.judging).named,
        prompts_hash=later.prompts.hash,
    )
