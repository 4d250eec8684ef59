"""Audits of a judge: the same stored replies judged once more with the options exchanged, or simply once more.

An audit is a verdict set of its own, named after the one that it audits (`default~swap`, `default~repeat`), by the
same judge, asked in the same way. No subject is asked; an audit that was stopped goes on where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from maskbench.errors import RunMismatch, UsageError
from maskbench.judges.audit_kinds import fits, kind_of
from maskbench.judges.judge_again import Job, check_judging, hearing_of, set_job
from maskbench.judges.second_look import Key, shuffled
from maskbench.judges.verdict_sets import Ensemble, SecondLook, VerdictSet, open_verdicts, reading
from maskbench.method.forms import prompts_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.runs.folder import RunFolder
from maskbench.runs.protocol import Pass, judging_stored
from maskbench.runs.record import AUDIT, Audit
from maskbench.runs.source import UNSAID, judge_line
from maskbench.runs.store import Store
from maskbench.runs.stored_programs import check_typed
from maskbench.runs.watching import Unwatched, Watcher
from maskbench.settings import Settings
from maskbench.types import Kind, Model


def audit(
    folder: RunFolder,
    wanted: Audit,
    settings: Settings | None = None,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    judges: Mapping[Kind, Model] | None = None,
) -> None:
    """Carry an audit out, or take it up where it stands; `audit_figures.figures` then says what it found.

    `settings` are those of the audited set at another pace (default: at its own); `environ` gives keys and addresses;
    `command` is recorded; `judges` are models of one's own. It runs a loop of its own. Raises UsageError for a set that
    no single judge gave, RunMismatch where the prompts have changed since, ModelError, RunError or Interrupted.
    """
    if settings is None:
        settings = settings_of(folder, wanted)
        if not judges:
            check_typed(settings, (), folder.path, ("judge",))
    with folder.writing("audit a copy of the folder"), closing(folder.store(write=True)) as store:
        job = _job(folder, store, wanted, settings)
        check_judging(
            folder, settings, job.name, environ or {}, judges, is_new=job.name not in folder.read().verdict_sets
        )
        if job.name not in folder.read().verdict_sets:
            job.add(_choose(store, wanted), audit=wanted)
        job.carry_out(environ or {}, watcher or Unwatched(), command, judges)


def forecast(folder: RunFolder, wanted: Audit) -> tuple[int, float]:
    """How many verdicts an audit still has to get, and about how many tokens their requests hold; asks nothing."""
    with closing(folder.store()) as store:
        job = _job(folder, store, wanted, settings_of(folder, wanted))
        return job.left(store.chosen(wanted.set_name) or _choose(store, wanted))


def settings_of(folder: RunFolder, wanted: Audit) -> Settings:
    """The settings that an audit asks by: those of the set that it audits, live."""
    with reading(folder) as opened:
        return opened.verdicts(wanted.of).settings.having(batch=None)


def _job(folder: RunFolder, store: Store, wanted: Audit, settings: Settings) -> Job:
    audited = open_verdicts(folder, store, wanted.of)
    if isinstance(audited, Ensemble | SecondLook) or AUDIT in wanted.of:
        raise UsageError(f"--verdicts {wanted.of}: an audit asks one judge again. Give a set that one judge gave.")
    if not audited.is_complete():
        raise UsageError(
            f"The verdict set {wanted.of} of {folder.path} is not complete, and what is there first is no sample. "
            f"{audited.go_on(folder.path)}, then audit it."
        )
    prompts = _prompts(folder, audited)
    hearing = _hearing(settings, prompts, wanted)

    def passes(chosen: Mapping[Key, float]) -> list[Pass]:
        return judging_stored(hearing, store.leaders(), chosen or None)  # no controls, which an audit is not about

    return set_job(folder, store, settings, wanted.set_name, prompts, passes)


def _prompts(folder: RunFolder, audited: VerdictSet) -> Prompts:
    """The prompts that the set was judged by; raises RunMismatch where they have changed since."""
    settings = audited.settings
    prompts = prompts_of(settings)
    before = audited.judge.prompts
    if before.name == UNSAID:
        raise RunMismatch(
            f"{folder.path}: the verdicts of {audited.name} were imported, and nobody knows how their judge was asked, "
            f"so it cannot be asked again. Judge the replies here, `{judge_line(folder.path)}`, and audit that set."
        )
    if settings.judging.reads_prompts and before.hash != prompts.hash:
        raise RunMismatch(
            f"{folder.path}: the verdict set {audited.name} was judged by other prompts than {before.name} has now "
            f"(hash {before.hash[:12]}, now {prompts.hash[:12]}), so that an audit would compare two instruments. "
            "Audit with the version of maskbench that judged it, or judge it again (`maskbench judge`) and audit that."
        )
    return prompts


def _choose(store: Store, wanted: Audit) -> dict[Key, float]:
    """The scenarios of the sample with the chance that each had; empty where all are audited."""
    if wanted.sample is None:
        return {}
    fit = [scenario.key for scenario, _ in store.scenarios() if fits(wanted, scenario)]
    drawn = shuffled(fit, wanted.seed)[: wanted.sample]
    return {key: len(drawn) / len(fit) for key in drawn}


def _hearing(settings: Settings, prompts: Prompts, wanted: Audit) -> Hearing:
    """The judge sees each scenario as the audit shows it; its verdicts are kept in the letters of the scenario."""
    kind = kind_of(wanted.kind)
    return replace(
        hearing_of(settings, prompts, wanted.set_name),
        shares=settings.judging.shares_verdicts and not kind.anew,
        anew=wanted.kind if kind.anew else "",
        shows=kind.shown,
        keeps=lambda judgement: replace(judgement, verdict=kind.kept(judgement.verdict)),
    )
