"""From settings to a result in one call: opens scenarios, models and folder, lets the flow run, scores, closes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from os import PathLike
from pathlib import Path

from maskbench.cli.progress import Display
from maskbench.errors import UsageError
from maskbench.judges.judges_agree import agreement
from maskbench.judges.people.labelled_outcomes import labels_of
from maskbench.judges.second_look import Phases
from maskbench.judges.verdict_sets import (
    MAJORITY,
    MOST,
    AuditSet,
    SecondLook,
    VerdictSet,
    check_whole,
    open_verdicts,
    whole,
)
from maskbench.method.judge_ask import Prompts, load_prompts
from maskbench.method.outcomes import finished
from maskbench.method.rules import RuleSet, named
from maskbench.method.system_prompts import system_prompt
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.chat.providers import environment
from maskbench.models.families import kinship
from maskbench.models.hf.opening import Stock, check_options, identified, is_local
from maskbench.models.names import check_models, open_models
from maskbench.results.control_figures import checks
from maskbench.results.corrected import Label, carried, corrected
from maskbench.results.summary import Json, Weighed, summarise
from maskbench.runs.begin import as_held, check, prepare, wanted
from maskbench.runs.control_flow import CheckingFlow, checks_finished, expected_traces
from maskbench.runs.flow import VERDICTS, Calls, Flow, Gate, calls, stands
from maskbench.runs.folder import RECORD, SUMMARY, RunFolder
from maskbench.runs.loop import Stopper, Watcher, awaited, beside_loop, in_loop, run_flow
from maskbench.runs.record import describe, ending, moved, session, with_answers
from maskbench.runs.store import Store
from maskbench.scenarios import Key, Remarks
from maskbench.settings import Settings
from maskbench.types import ARCHETYPES, Failure, Item, Kind, Model


def measure(
    settings: Settings | str | PathLike[str],
    out: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    models: tuple[Model, Model] | None = None,
    stock: Stock | None = None,
) -> Json:
    """Measure a subject's honesty, or take the measurement in `out` up again; returns the summary.

    Everything is kept in the folder `out`, run.log among it; a folder alone, `measure("runs/x")`, goes on with the run
    in it. `environ` gives keys and addresses (default: the environment, with what `.env` in the working folder adds);
    `watcher` sees how it goes (default: nothing is shown); `command` is recorded. `models` are a subject and a judge
    of one's own, whose names the settings have to give; `stock` keeps models that are loaded in this process for
    further runs. Where a loop is running, as in a notebook, it works in a thread of its own while the loop waits.
    Raises a MaskbenchError: UsageError, ScenarioError, ModelError, RunError, or Interrupted.
    """
    begun, folder = _begun(settings, out)
    work = partial(_measure, begun, folder, environ, watcher, command, models, stock)
    return beside_loop(work) if in_loop() else work(Stopper())


async def measure_async(
    settings: Settings | str | PathLike[str],
    out: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    models: tuple[Model, Model] | None = None,
    stock: Stock | None = None,
) -> Json:
    """Measure as `measure` does while the running loop goes on, as a server's has to.

    The work is done in a thread of its own, in which `watcher` and the calls of `models` are called, too. A task that
    is cancelled lets calls in flight come home first, and stops at once where it is cancelled again.
    """
    begun, folder = _begun(settings, out)
    return await awaited(partial(_measure, begun, folder, environ, watcher, command, models, stock))


def _begun(settings: Settings | str | PathLike[str], out: str | PathLike[str] | None) -> tuple[Settings, Path]:
    """The settings of a run and its folder; of a folder alone those of the run in it."""
    if isinstance(settings, Settings):
        if out is None:
            raise UsageError('Where to? Give the run a folder of its own: measure(settings, "runs/x").')
        return settings, Path(out)
    if out is not None:
        raise UsageError(
            f"{settings} are no settings. Give measure(Settings(...), folder), or a folder alone to go on with its run."
        )
    return RunFolder(Path(settings)).settings(), Path(settings)


def _quiet(folder: RunFolder) -> Watcher:
    """Who watches where nobody does: the run's log is written all the same."""
    from rich.console import Console

    return Display(Console(file=StringIO(), quiet=True, force_terminal=False, force_jupyter=False), folder.log)


def _measure(
    settings: Settings,
    out: Path,
    environ: Mapping[str, str] | None,
    watcher: Watcher | None,
    command: Sequence[str],
    models: tuple[Model, Model] | None,
    stock: Stock | None,
    stopper: Stopper,
) -> Json:
    watcher = watcher or _quiet(RunFolder(out))
    environ = environment(Path.cwd()) if environ is None else environ
    check(settings)
    check_options(settings)
    check_extra(settings, environ)
    if settings.system_prompt and settings.system_prompt_text is None:
        settings = replace(settings, system_prompt_text=system_prompt(settings.system_prompt))
    settings = identified(settings)
    if models:
        subject, judge = (model.name for model in models)
        if (settings.subject, settings.judge, settings.numeric_judge) != (subject, judge, judge):
            raise UsageError(f"The settings name other models than the ones given: name {subject} and {judge} there.")
    prompts = load_prompts(settings.judge_prompts, settings.judge_style)
    folder = RunFolder(out)
    if restored := folder.restore():
        watcher.tell(restored)
    if not folder.exists and not models:
        check_models(settings, environ)  # a wrong name or a missing key leaves no folder behind
    settings = as_held(folder, settings, watcher)
    wants = wanted(folder, settings, environ, watcher)
    with folder.writing():
        store = prepare(folder, settings, prompts, wants)
        try:
            if not (is_finished(store, settings) and checks_finished(store, settings, prompts, VERDICTS)):
                _let_flow(folder, store, settings, prompts, environ, watcher, command, models, stock, stopper)
        finally:
            store.close()
        summary = result(folder, settings.rules)
        folder.write(SUMMARY, summary)
    return summary


def result(
    folder: RunFolder,
    rules: str | None = None,
    verdicts: str | None = None,
    *,
    judges: bool = True,
    labels: Mapping[Key, Label] | None = None,
    labels_from: RunFolder | None = None,
) -> Json:
    """The summary of a run from what is stored, under its own rule set or another; asks no model.

    `verdicts` names a verdict set (default: the run's own); raises UsageError where there is none of that name.
    `judges` says whether all verdict sets are to be held against each other, where there are several. `labels` are
    people's outcomes, by which rates are corrected; without them those in the run's folder are, where there are any.
    `labels_from` is another run whose labels are carried over to this one; raises UsageError where they cannot be.
    """
    record = folder.record()
    chosen = named(rules or folder.settings().rules)
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        subject = with_answers(record["models"], store)["subject"]
        about = {
            "protocol": judged.protocol,
            "verdicts": judged.name,
            "subject": subject,
            "judge": judged.judge,
            "scenarios": _scenarios(_with_public(record["scenarios"], store), judged),
            "wanted": judged.wanted(),
            "usage": _usage(judged, subject),
            "failure": judged.commonest_failure(),
            "version": record["maskbench"],
            "go_on": judged.go_on(folder.path),
            "ended": judged.ended(folder),
            "judges": judged.judges,
            "notes": [*judged.notes(), *judged.plain_notes()],
        }
        if isinstance(judged, SecondLook):
            phases = judged.phases(chosen)
            made = summarise(phases.merged(), judged.settings, chosen, about, _weighed(judged, phases))
        else:
            made = summarise(judged.scored(chosen), judged.settings, chosen, about)
        people = labels_of(folder, store, chosen) if labels is None else labels
        return {
            **made,
            "corrected": _corrected(judged, chosen, people, labels_from, made["withheld"]),
            "checks": checks(judged, chosen),
            "judges": _judges(folder, store, chosen) if judges else None,
        }
    finally:
        store.close()


def _usage(judged: VerdictSet, subject: Json) -> Json:
    """Calls and tokens, and whether the subject's are a lower bound: its server counts one of several samples."""
    usage = judged.usage()
    return {**usage, "subject": {**usage["subject"], "at_least": bool(subject.get("learned", {}).get("counts_one"))}}


def _scenarios(taken: Json, verdicts: VerdictSet) -> Json:
    """What the run took of its scenario set, as far as these verdicts are about it."""
    if not (part := verdicts.part()):
        return taken
    return {**taken, "taken": f"{taken['taken']} ({part})", "n": sum(verdicts.wanted().values())}


def _with_public(taken: Json, store: Store) -> Json:
    """What the run took, with the public set whose rows they are; where run.json does not say, the rows do."""
    if "public" in taken:
        return taken
    remarks = Remarks()
    for scenario, _ in store.scenarios():
        remarks.add(scenario)
    return {**taken, "public": remarks.public}


def _weighed(verdicts: SecondLook, phases: Phases) -> Weighed:
    """What the rates of a second look are estimated from, and how it was done."""
    look = {"first": verdicts.look.first, "share": verdicts.look.share, "below": verdicts.look.below}
    about = {**look, "seed": verdicts.look.seed, **phases.about()}
    unseen = {archetype: phases.unseen(archetype) for archetype in (None, *ARCHETYPES)}
    return Weighed(phases.weighted(), unseen, phases.first.values(), about)


def _corrected(
    verdicts: VerdictSet,
    rules: RuleSet,
    labels: Mapping[Key, Label],
    other: RunFolder | None,
    withheld: str | None,
) -> Json | None:
    """The rates corrected by people's outcomes, or why they are not; None where there are no labels."""
    if not labels and other is None:
        return None
    if isinstance(verdicts, SecondLook):
        withheld = (
            f"{verdicts.name} is a second look at some of the scenarios, whose rates are weighted already. Correct "
            f"those of a judge that saw everything: --verdicts {verdicts.first.name}"
        )
    if isinstance(verdicts, AuditSet):
        withheld = (
            f"{verdicts.name} is an audit, which is no judgement of its own. Correct the rates of the judge that it "
            f"asks again: --verdicts {verdicts.audit.of}"
        )
    made = corrected(verdicts.scored(rules), labels)
    if other is not None and not withheld:
        if made["withheld"] is None:
            raise UsageError(
                f"--labels-from {other.path}: the run has labels of its own, which assume less. Leave it out."
            )
        made = _carried(verdicts, rules, other)
    return {**made, "withheld": withheld, "metrics": {}} if withheld else made


def _carried(verdicts: VerdictSet, rules: RuleSet, other: RunFolder) -> Json:
    """The same by the labels of another run, which has to have been judged alike; a set of the same name is taken."""
    store = other.store()
    try:
        labels = labels_of(other, store, rules)
        if not labels:
            raise UsageError(
                f"--labels-from {other.path}: nobody has labelled it. Begin with maskbench label, or leave it out."
            )
        theirs = open_verdicts(other, store, None if verdicts.name == VERDICTS else verdicts.name)
        check_whole(theirs, other.path)
        if theirs.protocol != verdicts.protocol:
            raise UsageError(
                f"--labels-from {other.path}: its verdicts have the protocol {theirs.protocol}, those here "
                f"{verdicts.protocol}. What people say of one judge says nothing of another: label this run."
            )
        return carried(verdicts.scored(rules), theirs.scored(rules), labels)
    finally:
        store.close()


def _judges(folder: RunFolder, store: Store, rules: RuleSet) -> Json | None:
    """How far the judges of the run agree; None where there is one."""
    record = folder.record()
    sets = [open_verdicts(folder, store, name) for name in whole(record, store)]
    if len(sets) < 2:
        return None
    ensemble = open_verdicts(folder, store, MAJORITY) if len(sets) <= MOST else None
    return agreement(sets, rules, record["scenarios"]["n"], ensemble)


def is_finished(store: Store, settings: Settings) -> bool:
    """Whether nothing is left to ask: everything is answered, and nothing failed."""
    for scenario, _ in store.scenarios():
        items = finished(scenario, store.items(VERDICTS, scenario), settings)
        if items is None or any(_failed(item, settings) for item in items.values()):
            return False
    return True


def _failed(item: Item, settings: Settings) -> bool:
    return isinstance(item.judgement, Failure) or not stands(item.reply, settings)


def _let_flow(
    folder: RunFolder,
    store: Store,
    settings: Settings,
    prompts: Prompts,
    environ: Mapping[str, str],
    watcher: Watcher,
    command: Sequence[str],
    models: tuple[Model, Model] | None,
    stock: Stock | None,
    stopper: Stopper,
) -> None:
    """Let the flow run to its end in a loop of its own, and record models, versions and time whatever happens."""
    record = folder.record()
    gate = Gate(settings.connections)
    learned = {role: about.get("learned", {}) for role, about in record["models"].items()}
    if not models and is_local(settings.subject) and not stock:  # a stock that holds something has the subject
        watcher.tell(f"Loading {settings.subject}.")
    subject, judges = _own(*models) if models else open_models(settings, environ, gate, learned, stock)
    described = describe(subject, judges)
    for line in moved(record["models"], described):
        watcher.tell(line)
    if warning := kinship(settings.subject, (settings.judge, settings.numeric_judge)):
        watcher.tell(f"Beware: {warning}")
    record["sessions"].append(begun := session(command, environ, described))
    record["models"] = with_answers(described, store)
    folder.write(RECORD, record)
    expected = sum((calls(scenario, settings) for scenario, _ in store.scenarios()), Calls())
    expected += Calls(verdicts=expected_traces(settings) * store.count())
    watcher.begin(expected, [subject, *judges.values()])
    started = time.monotonic()
    try:
        flow_class = CheckingFlow if settings.checks else Flow
        flow = flow_class(settings, store, subject, judges, prompts, watcher, gate)
        with ending(begun):
            run_flow(flow, [subject, *judges.values()], watcher, stopper)
    finally:
        watcher.end()
        store.remember("seconds", store.seconds() + time.monotonic() - started)
        record["models"] = with_answers(describe(subject, judges), store)
        folder.write(RECORD, record)


def _own(subject: Model, judge: Model) -> tuple[Model, dict[Kind, Model]]:
    return subject, {"binary": judge, "numerical": judge}
