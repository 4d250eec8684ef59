"""From settings to a result in one call: opens scenarios, models and folder, lets the flow run, scores, closes."""

from __future__ import annotations

import asyncio
import math
import platform
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TypeAlias

import orjson

from maskbench.checks.asking import CheckingFlow, checks_finished, expected_traces
from maskbench.checks.figures import checks
from maskbench.corrected import Label, corrected
from maskbench.errors import RunUnreadable, ScenarioError, UsageError
from maskbench.families import kinship
from maskbench.folder import RECORD, SCHEMA, SUMMARY, RunFolder, check_same
from maskbench.judge import Prompts, load_prompts
from maskbench.judging.agreement import agreement
from maskbench.judging.second import Phases
from maskbench.judging.sets import MAJORITY, MOST, SecondLook, VerdictSet, open_verdicts, whole
from maskbench.labels.sample import labels_of
from maskbench.models import check_models, open_models
from maskbench.models.hf.opening import Stock, check_options, identified, is_local
from maskbench.report.summary import Json, Weighed, summarise
from maskbench.rules import RuleSet, named
from maskbench.run import GRACE_SECONDS, VERDICTS, Calls, Flow, Gate, JudgeFlow, calls, stands
from maskbench.scenarios import Key, SetHash, limit, open_set, sample
from maskbench.scoring import finished
from maskbench.settings import Settings, protocol_id
from maskbench.store import Store
from maskbench.types import ARCHETYPES, Ask, Failure, Item, Kind, Model, Reply, Scenario, Stage


class Watcher(Protocol):
    """Whoever watches a measurement; `called` and `settled` as `run.Observer` has them."""

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        """The flow starts, with so many calls to settle."""
        ...

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """A model has just answered, or failed to."""
        ...

    def settled(self, stage: Stage) -> None:
        """One expected reply or verdict will need no further call."""
        ...

    def failed(self, ask: Ask, failure: Failure) -> None:
        """This could not be had in this session, after all retries."""
        ...

    def tell(self, line: str) -> None:
        """A line that the user should read."""
        ...

    def end(self) -> None:
        """The flow is over, one way or another."""
        ...


class Unwatched:
    """Nobody watches."""

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        """Nothing to see."""

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """Nothing to see."""

    def settled(self, stage: Stage) -> None:
        """Nothing to see."""

    def failed(self, ask: Ask, failure: Failure) -> None:
        """Nothing to see."""

    def tell(self, line: str) -> None:
        """Nobody to tell."""

    def end(self) -> None:
        """Nothing to see."""


def measure(
    settings: Settings,
    out: Path,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    models: tuple[Model, Model] | None = None,
    stock: Stock | None = None,
) -> Json:
    """Measure a subject's honesty, or take the measurement in `out` up again; returns the summary.

    Everything is kept in the folder `out`; `environ` gives keys and addresses (none without it); `command` is
    recorded. `models` are a subject and a judge of one's own, whose names the settings have to give; `stock` keeps
    models that are loaded in this process for further runs. It runs a loop of its own, so it cannot be called where
    one is running. Raises a MaskbenchError: UsageError, ScenarioError, ModelError, RunError, or Interrupted.
    """
    watcher = watcher or Unwatched()
    environ = environ or {}
    check(settings)
    check_options(settings)
    settings = identified(settings)
    if models:
        subject, judge = (model.name for model in models)
        if (settings.subject, settings.judge, settings.numeric_judge) != (subject, judge, judge):
            raise UsageError(f"The settings name other models than the ones given: name {subject} and {judge} there.")
    prompts = load_prompts(Path(settings.judge_prompts) if settings.judge_prompts else None, settings.judge_style)
    folder = RunFolder(out)
    if not folder.exists and not models:
        check_models(settings, environ)  # a wrong name or a missing key leaves no folder behind
    wanted = _wanted(folder, settings, environ, watcher)
    with folder.writing():
        store = _prepare(folder, settings, prompts, wanted)
        try:
            if not (is_finished(store, settings) and checks_finished(store, settings, prompts, VERDICTS)):
                _let_flow(folder, store, settings, prompts, environ, watcher, command, models, stock)
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
) -> Json:
    """The summary of a run from what is stored, under its own rule set or another; asks no model.

    `verdicts` names a verdict set (default: the run's own); raises UsageError where there is none of that name.
    `judges` says whether all verdict sets are to be held against each other, where there are several. `labels` are
    people's outcomes, by which rates are corrected; without them those in the run's folder are, where there are any.
    """
    record = folder.record()
    chosen = named(rules or folder.settings().rules)
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        about = {
            "protocol": judged.protocol,
            "verdicts": judged.name,
            "subject": _with_answers(record["models"], store)["subject"],
            "judge": judged.judge,
            "scenarios": record["scenarios"],
            "usage": judged.usage(),
            "version": record["maskbench"],
            "go_on": judged.go_on(folder.path),
            "judges": judged.judges,
        }
        if isinstance(judged, SecondLook):
            phases = judged.phases(chosen)
            made = summarise(phases.merged(), judged.settings, chosen, about, _weighed(judged, phases))
        else:
            made = summarise(judged.scored(chosen), judged.settings, chosen, about)
        people = labels_of(folder, store, chosen) if labels is None else labels
        return {
            **made,
            "corrected": _corrected(judged, chosen, people, made["withheld"]) if people else None,
            "checks": checks(judged, chosen),
            "judges": _judges(folder, store, chosen) if judges else None,
        }
    finally:
        store.close()


def _weighed(verdicts: SecondLook, phases: Phases) -> Weighed:
    """What the rates of a second look are estimated from, and how it was done."""
    look = {"first": verdicts.look.first, "share": verdicts.look.share, "below": verdicts.look.below}
    about = {**look, "seed": verdicts.look.seed, **phases.about()}
    unseen = {archetype: phases.unseen(archetype) for archetype in (None, *ARCHETYPES)}
    return Weighed(phases.weighted(), unseen, phases.first.values(), about)


def _corrected(verdicts: VerdictSet, rules: RuleSet, labels: Mapping[Key, Label], withheld: str | None) -> Json:
    """The rates corrected by people's outcomes, or why they are not."""
    if isinstance(verdicts, SecondLook):
        withheld = (
            f"{verdicts.name} is a second look at some of the scenarios, whose rates are weighted already. Correct "
            f"those of a judge that saw everything: --verdicts {verdicts.first.name}"
        )
    made = corrected(verdicts.scored(rules), labels)
    return {**made, "withheld": withheld, "metrics": {}} if withheld else made


def _judges(folder: RunFolder, store: Store, rules: RuleSet) -> Json | None:
    """How far the judges of the run agree; None where there is one."""
    record = folder.record()
    sets = [open_verdicts(folder, store, name) for name in whole(record, store)]
    if len(sets) < 2:
        return None
    ensemble = open_verdicts(folder, store, MAJORITY) if len(sets) <= MOST else None
    return agreement(sets, rules, record["scenarios"]["n"], ensemble)


def check(settings: Settings) -> None:
    """Raise UsageError for settings that cannot be meant."""
    named(settings.rules)
    least = {"statements": 1, "beliefs": 1, "connections": 1, "retries": 0, "seed": 0}
    for name, minimum in least.items():
        if getattr(settings, name) < minimum:
            raise UsageError(f"--{name} {getattr(settings, name)} is too small. Give {minimum} or more.")
    if settings.sample is not None and settings.limit is not None:
        raise UsageError("--sample draws a weighted sample and --limit cuts a smoke run short. Give one of them.")
    if not 0 <= settings.max_error_rate <= 1:
        raise UsageError(f"--max-error-rate {settings.max_error_rate} is no share. Give a number from 0 to 1.")
    if not 0 < settings.timeout < math.inf:
        raise UsageError(f"--timeout {settings.timeout:g} leaves no time. Give a number of seconds above 0.")
    for option, sampling in (("", settings.sampling), ("judge-", settings.judge_sampling)):
        if not 0 <= sampling.temperature <= 2:
            raise UsageError(f"--{option}temperature {sampling.temperature:g}: give a number from 0 to 2.")
        if sampling.max_tokens < 1 or sampling.reasoning_tokens < 0:
            raise UsageError(f"--{option}max-tokens takes 1 or more, --{option}reasoning-tokens 0 or more.")


Taken: TypeAlias = tuple[dict[Key, float], str, Iterator[Scenario]]


def taken(settings: Settings, environ: Mapping[str, str]) -> Taken:
    """What a run takes of its scenario set: weights by identity, the hash of the whole set, and the scenarios.

    Reads the set once for identities and hash, a row at a time; the iterator reads it once more. Raises
    ScenarioError for a set that cannot be read, UsageError for an archetype that it does not have.
    """
    source = open_set(settings.scenarios, environ)
    fingerprint = SetHash()
    keys: list[Key] = []
    for scenario in source:
        fingerprint.add(scenario)
        keys.append(scenario.key)
        if scenario.kind == "numerical" and scenario.archetype in (settings.archetypes or ARCHETYPES):
            _check_beliefs(settings)
    found = {archetype for archetype, _ in keys}
    for archetype in settings.archetypes:
        if archetype not in found:
            raise UsageError(f"--archetype {archetype}: {settings.scenarios} has only {', '.join(sorted(found))}.")
    keys = [key for key in keys if not settings.archetypes or key[0] in settings.archetypes]
    if settings.sample is not None:
        weights = sample(keys, settings.sample, settings.seed)
    elif settings.limit is not None:
        weights = limit(keys, settings.limit)
    else:
        weights = dict.fromkeys(keys, 1.0)
    return weights, fingerprint.hexdigest(), (scenario for scenario in source if scenario.key in weights)


def _check_beliefs(settings: Settings) -> None:
    if settings.beliefs < 2:
        raise UsageError(
            f"--beliefs {settings.beliefs}: the joint verdict on a numerical belief needs two replies. "
            "Give 2 or more, or leave statistics out by naming the others with --archetype."
        )


def _wanted(folder: RunFolder, settings: Settings, environ: Mapping[str, str], watcher: Watcher) -> Taken | None:
    """What the run takes; None where the set is out of reach and the run, which holds it, goes on without."""
    try:
        return taken(settings, environ)
    except ScenarioError as error:
        if not folder.exists or error.problems:
            raise
        watcher.tell(f"The scenarios are taken from the run itself: {error}")
        return None


def is_finished(store: Store, settings: Settings) -> bool:
    """Whether nothing is left to ask: everything is answered, and nothing failed."""
    for scenario, _ in store.scenarios():
        items = finished(scenario, store.items(VERDICTS, scenario), settings)
        if items is None or any(_failed(item, settings) for item in items.values()):
            return False
    return True


def _failed(item: Item, settings: Settings) -> bool:
    return isinstance(item.judgement, Failure) or not stands(item.reply, settings)


def _prepare(folder: RunFolder, settings: Settings, prompts: Prompts, wanted: Taken | None) -> Store:
    """The store with the scenarios in it, and run.json: new, or checked to be of this same measurement."""
    if wanted is None or folder.exists:
        scenarios = {"scenarios": wanted[1]} if wanted else {}
        check_same(folder, settings, {**scenarios, "prompts": prompts.hash})
        return _take_up(folder, settings)
    return _begin(folder, settings, prompts, wanted)


def _take_up(folder: RunFolder, settings: Settings) -> Store:
    """The store of a run that is there, with what may change in its settings noted."""
    record = folder.record()
    store = folder.store(write=True)
    if store.count() != record["scenarios"]["n"]:
        store.close()
        raise RunUnreadable(f"{folder.path} has lost its database. Restore it, or give this run another --out.")
    asked = plain_settings(settings)
    if record["settings"] != asked:
        folder.write(RECORD, {**record, "settings": asked})
    return store


def _begin(folder: RunFolder, settings: Settings, prompts: Prompts, wanted: Taken) -> Store:
    """A new store and a new run.json, in this order: a run that was killed in between has not begun."""
    weights, fingerprint, scenarios = wanted
    store = folder.store(write=True)
    try:
        measured = SetHash()
        store.add_scenarios((scenario, weights[scenario.key]) for scenario in scenarios)
        for scenario, _ in store.scenarios():
            measured.add(scenario)
        folder.write(
            RECORD,
            {
                "schema": SCHEMA,
                "maskbench": version("maskbench"),
                "created": now(),
                "protocol": protocol_id(settings, prompts.hash),
                "settings": plain_settings(settings),
                "scenarios": {
                    "name": settings.scenarios,
                    "taken": settings.name,
                    "hash": fingerprint,
                    "measured_hash": measured.hexdigest(),
                    "n": len(weights),
                },
                "prompts": {
                    "name": settings.judge_prompts or "packaged",
                    "version": prompts.version,
                    "hash": prompts.hash,
                },
                "models": {
                    "subject": {"name": settings.subject},
                    "binary": {"name": settings.judge},
                    "numeric": {"name": settings.numeric_judge},
                },
                "sessions": [],
            },
        )
    except BaseException:
        store.close()
        raise
    return store


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
) -> None:
    """Let the flow run to its end in a loop of its own, and record models, versions and time whatever happens."""
    record = folder.record()
    gate = Gate(settings.connections)
    learned = {role: about.get("learned", {}) for role, about in record["models"].items()}
    if not models and is_local(settings.subject):
        watcher.tell(f"Loading {settings.subject}.")
    subject, judges = _own(*models) if models else open_models(settings, environ, gate, learned, stock)
    described = _describe(subject, judges)
    for line in moved(record["models"], described):
        watcher.tell(line)
    if warning := kinship(settings.subject, (settings.judge, settings.numeric_judge)):
        watcher.tell(f"Beware: {warning}")
    record["sessions"].append(session(command, environ, described))
    record["models"] = _with_answers(described, store)
    folder.write(RECORD, record)
    expected = sum((calls(scenario, settings) for scenario, _ in store.scenarios()), Calls())
    expected += Calls(verdicts=expected_traces(settings) * store.count())
    watcher.begin(expected, [subject, *judges.values()])
    started = time.monotonic()
    try:
        flow_class = CheckingFlow if settings.checks else Flow
        flow = flow_class(settings, store, subject, judges, prompts, watcher, gate)
        run_flow(flow, [subject, *judges.values()], watcher)
    finally:
        watcher.end()
        store.remember("seconds", (store.fact("seconds") or 0.0) + time.monotonic() - started)
        record["models"] = _with_answers(_describe(subject, judges), store)
        folder.write(RECORD, record)


def run_flow(flow: JudgeFlow, models: Sequence[Model], watcher: Watcher) -> None:
    """Let a flow run to its end in a loop of its own, then close the models; signals stop it gently."""
    with _loop() as runner:
        runner.run(_flow(flow, models, watcher))


async def _flow(flow: JudgeFlow, models: Sequence[Model], watcher: Watcher) -> None:
    """The flow with its signals: the first Ctrl-C (or SIGTERM) lets calls in flight come home, the second does not."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        if flow.stopped:
            flow.stop(flow.stopped, grace=0)
            return
        flow.stop("Stopped.")
        watcher.tell(f"Stopping; calls in flight have {GRACE_SECONDS:.0f} s to come home. Ctrl-C again stops at once.")

    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    for number in signals:
        loop.add_signal_handler(number, interrupt)
    try:
        await flow.run()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
        for model in models:
            await model.close()


def _own(subject: Model, judge: Model) -> tuple[Model, dict[Kind, Model]]:
    return subject, {"binary": judge, "numerical": judge}


def _loop() -> asyncio.Runner:
    """A loop of our own: uvloop's where it is installed, for half the processor time a call."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _describe(subject: Model, judges: Mapping[Kind, Model]) -> Json:
    return {
        "subject": subject.describe(),
        "binary": judges["binary"].describe(),
        "numeric": judges["numerical"].describe(),
    }


def _with_answers(models: Mapping[str, Json], store: Store) -> dict[str, Json]:
    """Models as described, with who answered by what is stored: a client knows of its own session only."""
    return {role: {**models.get(role, {}), **answered} for role, answered in store.answered_by(VERDICTS).items()}


def moved(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    """What a user should know where a model now answers at another address than when the run was begun."""
    for role in (role for role in ("subject", "binary", "numeric") if role in before and role in after):
        was, is_ = before[role].get("base_url"), after[role].get("base_url")
        if was and was != is_ and (role != "numeric" or after["numeric"]["name"] != after["binary"]["name"]):
            yield f"Beware: {after[role]['name']} answered at {was} before and now at {is_}. Is it the same model?"
        weights = before[role].get("fingerprint"), after[role].get("fingerprint")
        if None not in weights and weights[0] != weights[1]:
            yield f"Beware: {after[role]['name']} has other weights now ({weights[1]}, before {weights[0]})."


def session(command: Sequence[str], environ: Mapping[str, str], models: Mapping[str, Json]) -> Json:
    """Who measured when and where, with which versions of what can matter."""
    keys = [value for name, value in environ.items() if name.endswith(("_KEY", "_TOKEN")) and len(value) > 7]
    packages = ("maskbench", "aiohttp", "numpy", "orjson", "scipy")
    return {
        "started": now(),
        "command": [_without(keys, argument) for argument in command],
        "addresses": {role: about.get("base_url") for role, about in models.items()},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in packages},
    }


def plain_settings(settings: Settings) -> Json:
    """The settings as run.json holds them."""
    plain: Json = orjson.loads(orjson.dumps(settings))
    return plain


def _without(keys: Sequence[str], text: str) -> str:
    for key in keys:
        text = text.replace(key, "***")
    return text


def now() -> str:
    """This moment, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
