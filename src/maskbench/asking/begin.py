"""Before a measurement: whether its settings are meant and can be, what it takes of its scenario set, its folder."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import version
from typing import Literal, NamedTuple

from maskbench.asking.options import check
from maskbench.asking.passes import is_finished, passes_of
from maskbench.asking.watching import Watcher
from maskbench.errors import RunMismatch, RunUnreadable, ScenarioError, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms.prompts import Prompts
from maskbench.method.said_and_did import pair
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.names import identified
from maskbench.scenarios import Key, Remarks, SetHash, draw, few_pairs, limit, open_set
from maskbench.settings import Settings, protocol_id
from maskbench.store.folder import RECORD, RunFolder, check_same, complete_by_others
from maskbench.store.record import (
    SCHEMA,
    About,
    ArchetypeWords,
    Judges,
    Models,
    PromptsUsed,
    Record,
    TakenScenarios,
    now,
)
from maskbench.store.source import judge_line
from maskbench.store.store import Store
from maskbench.types import Archetype, Scenario

FEW = 3  # remarks on a set that are told when a run begins
_MOST = 65_536  # some systems call their limit infinite, and take no such number
_OTHERS = 100  # files that a run has open beside its connections


class Taken(NamedTuple):
    """The part of a scenario set that a run takes, with weights by identity; hash and remarks are of the whole set."""

    weights: dict[Key, float]
    hash: str
    scenarios: Iterator[Scenario]
    remarks: Remarks
    pairs: int = 0  # of a log and its twin
    exam: bool = False  # whether they are those of a paper


def checked(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Settings of which all is checked that needs no model, with the marks of the files that the subject takes."""
    check(settings)
    check_extra(settings, environ)
    return identified(settings)


def taken(settings: Settings, environ: Mapping[str, str], source: Iterable[Scenario] | None = None) -> Taken:
    """The part of its scenario set that a run takes; `source` is the set where it was read already.

    Without it reads the set once for identities, hash and remarks, a row at a time; the iterator reads it once more.
    Raises ScenarioError for a set that cannot be read, UsageError for an archetype that it does not have.
    """
    if source is None:
        source = open_set(settings.design.scenarios, environ)
    fingerprint, remarks = SetHash(), Remarks()
    keys: list[Key] = []
    pairs: dict[Key, str] = {}
    for scenario in source:
        fingerprint.add(scenario)
        remarks.add(scenario)
        keys.append(scenario.key)
        if name := pair(scenario):
            pairs[scenario.key] = name
        if scenario.kind == "numerical" and scenario.archetype in (settings.design.archetypes or (scenario.archetype,)):
            _check_beliefs(settings)
    there = {archetype for archetype, _ in keys}
    for archetype in settings.design.archetypes:
        if archetype not in there:
            raise UsageError(_not_there(archetype, settings.design.scenarios, sorted(there)))
    keys = [key for key in keys if not settings.design.archetypes or key[0] in settings.design.archetypes]
    if settings.design.sample is not None:
        weights = draw(keys, settings.design.sample, settings.design.seed, pairs)
    elif settings.design.limit is not None:
        weights = limit(keys, settings.design.limit, pairs)
    else:
        weights = dict.fromkeys(keys, 1.0)
    scenarios = (scenario for scenario in source if scenario.key in weights)
    drawn = {name for key, name in pairs.items() if key in weights}
    return Taken(weights, fingerprint.hexdigest(), scenarios, remarks, len(drawn))


def _not_there(archetype: Archetype, source: str, there: list[Archetype]) -> str:
    """That a set does not have an archetype, what it has, and which of these may be meant."""
    close = get_close_matches(archetype, there, 1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return f"--archetype {archetype}: {source} has only {', '.join(there)}.{meant}"


def _check_beliefs(settings: Settings) -> None:
    if settings.design.beliefs < 2:
        raise UsageError(
            f"--beliefs {settings.design.beliefs}: the joint verdict on a numerical belief needs two replies. "
            "Give 2 or more, or leave statistics out by naming the others with --archetype."
        )


def check_measured(folder: RunFolder) -> None:
    """Raise RunMismatch for an imported run, whose subject is asked nothing here; what cannot be read others say."""
    try:
        source = folder.read().imported if folder.exists else None
    except RunUnreadable:
        return
    if source:
        folder.check_texts("nobody can be asked here")
        raise RunMismatch(
            f"{folder.path} is {source.words}, and its subject is asked nothing here. To measure the model itself, "
            f"give another --out. To have the replies judged, `{judge_line(folder.path)}`."
        )


def wanted(folder: RunFolder, settings: Settings, environ: Mapping[str, str], watcher: Watcher) -> Taken | None:
    """The scenarios that the run takes; None where the set is out of reach and the run, which holds it, goes on."""
    try:
        wants = taken(settings, environ)
        if not folder.exists:
            _remark(wants.remarks, settings.design.scenarios, watcher)
            if few := few_pairs(wants.pairs):
                watcher.tell(few)
        return wants
    except ScenarioError as error:
        if not folder.exists or error.problems:
            raise
        watcher.tell(f"The scenarios are taken from the run itself: {error}")
        return None


def _remark(remarks: Remarks, name: str, watcher: Watcher) -> None:
    """Tell the remarks on the set, the first of them where there are more than a few."""
    lines = remarks.lines(name)
    for line in lines[:FEW]:
        watcher.tell(line)
    if len(lines) > FEW:
        watcher.tell(f"There are {len(lines) - FEW} further notes on {name}: maskbench scenarios validate prints them.")


def prepare(
    folder: RunFolder,
    settings: Settings,
    prompts: Prompts,
    wanted: Taken | None,
    watcher: Watcher,
    is_whole: Callable[[Store], bool] | None = None,
) -> Store:
    """The store with the scenarios in it, and run.json: new, or checked to be of this same measurement.

    `is_whole` says whether nothing is left to ask (default: as a run has it).
    """
    if wanted is None or folder.exists:
        match check_held(folder, settings, prompts, wanted, is_whole):
            case "unjudged":
                give_judge(folder, settings, prompts)
            case "by others":
                watcher.tell(complete_by_others(folder, settings, prompts.hash))
        return _resumed(folder, settings)
    return _begin(folder, settings, prompts, wanted)


def check_held(
    folder: RunFolder,
    settings: Settings,
    prompts: Prompts,
    wanted: Taken | None,
    is_whole: Callable[[Store], bool] | None = None,
) -> Literal["unjudged", "by others", "the same"]:
    """The way in which a run goes on by these settings; writes nothing, and raises RunMismatch where it cannot.

    A run that is `unjudged` takes another judge, and one that was judged `by others` is whole by other prompts.
    """
    hashes = {"scenarios": wanted.hash} if wanted else {}
    if _is_unjudged(folder):
        before = folder.settings()
        check_same(folder, replace(settings, judging=before.judging), hashes)
        return "unjudged"
    is_whole = is_whole or partial(_is_measured, settings=settings, prompts=prompts)
    if _is_whole_by_others(folder, settings, prompts, is_whole):
        check_same(folder, settings, hashes)
        return "by others"
    check_same(folder, settings, {**hashes, "prompts": prompts.hash})
    return "the same"


def _is_whole_by_others(
    folder: RunFolder, settings: Settings, prompts: Prompts, is_whole: Callable[[Store], bool]
) -> bool:
    """Whether nothing is left to ask of a run that was judged by the prompts of another version of maskbench.

    Prompts of one's own that were changed since ask for other verdicts, whatever is there already.
    """
    record = folder.read()
    is_changed_here = settings.judging.prompts is not None and record.maskbench == version("maskbench")
    if not settings.judging.reads_prompts or record.prompts.hash == prompts.hash or is_changed_here:
        return False
    return _holds(folder, lambda store: store.count() == record.scenarios.n and is_whole(store))


def _is_measured(store: Store, settings: Settings, prompts: Prompts) -> bool:
    return is_finished(settings, store, passes_of(settings, store, prompts))


def _is_unjudged(folder: RunFolder) -> bool:
    """Whether the run's own judge has given no verdict, but for failures: it may be another one then."""
    return _holds(folder, lambda store: not store.verdict_counts().get(VERDICTS, (0, 0))[0])


def _holds(folder: RunFolder, condition: Callable[[Store], bool]) -> bool:
    """Whether this is so of the run's store; False where there is none that can be read: `_resumed` says so."""
    try:
        store = folder.store()
    except RunUnreadable:
        return False
    try:
        return condition(store)
    finally:
        store.close()


def give_judge(folder: RunFolder, settings: Settings, prompts: Prompts) -> None:
    """Note in run.json who judges and how; what the endpoint of another judge taught is forgotten.

    The rest of the settings stays the run's.
    """
    record, used = folder.read(), prompts_used(settings, prompts)
    protocol = protocol_id(settings, prompts.hash)
    if (record.protocol, record.prompts) == (protocol, used):
        return
    judges = judges_of(settings)
    record.protocol, record.prompts = protocol, used
    record.settings = record.settings.having(judging=settings.judging)
    record.unjudged = record.unjudged or settings.judging.is_later
    record.models = Models(record.models.subject, judges.binary, judges.numeric)
    folder.write(RECORD, record)


def prompts_used(settings: Settings, prompts: Prompts) -> PromptsUsed:
    """The judge's prompts as run.json names them."""
    return PromptsUsed(name=settings.judging.prompts or "packaged", version=prompts.version, hash=prompts.hash)


def judges_of(settings: Settings) -> Judges:
    """The judges that are to be asked, of which nothing is known yet but their names."""
    return Judges(About(name=settings.judging.judge), About(name=settings.judging.numeric_judge))


def _resumed(folder: RunFolder, settings: Settings) -> Store:
    """The store of a run that is there, with what may change in its settings noted."""
    record = folder.read()
    store = folder.store(write=True)
    if store.count() != record.scenarios.n:
        store.close()
        raise RunUnreadable(f"{folder.path} has lost its database. Restore it, or give this run another --out.")
    if record.settings != settings:
        if record.settings.design.scenarios != settings.design.scenarios:
            record.scenarios.name, record.scenarios.taken = settings.design.scenarios, settings.design.name
        record.settings = settings
        folder.write(RECORD, record)
    return store


def _begin(folder: RunFolder, settings: Settings, prompts: Prompts, wanted: Taken) -> Store:
    """A new store and a new run.json, in this order: a run that was killed in between has not begun."""
    store = folder.store(write=True)
    try:
        store.add_scenarios((scenario, wanted.weights[scenario.key]) for scenario in wanted.scenarios)
        measured = (scenario for scenario, _ in store.scenarios())
        record = new_record(settings, prompts_used(settings, prompts), measured, settings.design.name, wanted.hash)
        record.exam, record.unjudged = wanted.exam, settings.judging.is_later
        folder.write(RECORD, record)
    except BaseException:
        store.close()
        raise
    return store


def new_record(
    settings: Settings, prompts: PromptsUsed, scenarios: Iterable[Scenario], taken: str, fingerprint: str
) -> Record:
    """run.json of a run that has these scenarios; `taken` says for people what of its set, `fingerprint` is the set's.

    Nothing is known yet of the models but their names.
    """
    judges, measured, count = judges_of(settings), SetHash(), 0
    brought: dict[Archetype, ArchetypeWords] = {}
    for scenario in scenarios:
        measured.add(scenario)
        count += 1
        if own := scenario.definition:
            brought[own.name] = ArchetypeWords(own.title, own.text)
    return Record(
        schema=SCHEMA,
        maskbench=version("maskbench"),
        created=now(),
        protocol=protocol_id(settings, prompts.hash),
        prompts=prompts,
        models=Models(About(name=settings.subject.name), judges.binary, judges.numeric),
        settings=settings,
        scenarios=TakenScenarios(
            name=settings.design.scenarios,
            taken=taken,
            hash=fingerprint,
            measured_hash=measured.hexdigest(),
            n=count,
            archetypes=brought,
        ),
        sessions=[],
    )


def allow_files(connections: int, watcher: Watcher) -> None:
    """Have this process open as many files as the system lets it; tell where that is too few for the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    if soft != resource.RLIM_INFINITY and soft < connections + _OTHERS:
        watcher.tell(
            f"Caution: this process may have {soft:,} files open, which is too few for --connections {connections:,}. "
            f"Give {max(1, soft - _OTHERS):,} or fewer, or have the limit raised (`ulimit -Hn` shows it)."
        )
