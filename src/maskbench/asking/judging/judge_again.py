"""Stored replies judged once more: another verdict set of a run, by another judge, in another way, or simply again.

No subject is asked. A verdict set is resumed like a run: what has a verdict keeps it, what failed is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import takewhile
from typing import TypeAlias

from msgspec.structs import asdict

from maskbench.asking.begin import give_judge, judges_of, prompts_used
from maskbench.asking.executor import executor, executor_for
from maskbench.asking.forecast import tokens, unjudged
from maskbench.asking.loop import Stopper
from maskbench.asking.meter import known_prices
from maskbench.asking.options import check, check_together
from maskbench.asking.passes import expected, steps_left, stored
from maskbench.asking.session import Asked, Asking, Book
from maskbench.asking.watching import Unwatched, Watcher
from maskbench.errors import RunMismatch, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import form_of, prompts_of
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.steps import Step
from maskbench.models.names import check_judges, open_judges
from maskbench.settings import Settings, protocol_id
from maskbench.store.bill import prices_kept
from maskbench.store.folder import RECORD, RunFolder, check_same_judge
from maskbench.store.protocol import Pass, judging_stored
from maskbench.store.record import About, Judges, Models, Record, VerdictSetRecord, now
from maskbench.store.source import set_line
from maskbench.store.store import Store
from maskbench.store.verdict_sets import check_name
from maskbench.types import Ask, Kind, Model


def judge(
    folder: RunFolder,
    settings: Settings,
    name: str,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    judges: Mapping[Kind, Model] | None = None,
    stopper: Stopper | None = None,
) -> None:
    """Judge all stored replies of a run into its verdict set `name`, or take that set up where it stands.

    `settings` are the run's, with another judge, other prompts or sampling in them; `environ` gives keys and
    addresses; `command` is recorded; `judges` are models of one's own, whose names the settings have to give. `stopper`
    stops it from another thread. It runs a loop of its own. Raises UsageError, ModelError, RunError (RunMismatch where
    the set is another judge's), or Interrupted; whatever was answered is kept.
    """
    watcher, environ = watcher or Unwatched(), environ or {}
    if name != VERDICTS or own_set(folder, settings) is None:
        check_name(name)
    check_asked(folder, name)
    check_judging(folder, settings, name, environ, judges, is_new=name not in folder.read().verdict_sets)
    prompts = prompts_of(settings)
    with folder.writing("judge a copy of the folder"), closing(folder.store(write=True)) as store:
        check_has_numbers(folder, store, settings)
        job = set_job(folder, store, settings, name, prompts, stopper=stopper or Stopper())
        begin(job)
        job.copy_known()
        job.carry_out(environ, watcher, command, judges)


def check_asked(folder: RunFolder, name: str) -> None:
    """Raise RunMismatch where the verdicts of this set were read elsewhere, so that no judge is asked for more."""
    had = folder.read().verdict_sets.get(name)
    if had and had.files:
        line = set_line(folder.path, name, was_read=True)
        raise RunMismatch(
            f"The verdicts of {name} were read elsewhere. To go on with it: `{line}`. A judge's set has another --name."
        )


def check_judging(
    folder: RunFolder,
    settings: Settings,
    name: str,
    environ: Mapping[str, str],
    judges: Mapping[Kind, Model] | None,
    *,
    is_new: bool,
) -> None:
    """Raise UsageError where nobody can judge by these settings into the set `name`.

    Of what `is_new` models and keys are looked for, so that what is wrong with them leaves nothing empty behind.
    """
    check(settings)
    check_together("judge", judge=settings.judging.judge)
    _check_own(settings, judges)
    brought = [model.name for model in (judges or {}).values()]
    known_prices(settings, environ, brought, ("judge",), prices_kept(folder, name))
    if is_new and not judges:
        check_judges(settings, environ)


def forecast(folder: RunFolder, settings: Settings, name: str) -> tuple[int, float]:
    """How many verdicts are still to be had, and about how many tokens their requests hold; judges nothing."""
    prompts = prompts_of(settings)
    with closing(folder.store()) as store:
        check_has_numbers(folder, store, settings)
        return set_job(folder, store, settings, name, prompts).left()


def default_name(settings: Settings) -> str:
    """The name of a verdict set that has none: its judge's, as far as a name can hold it, and what is special."""
    kept = "".join(
        char if char.isascii() and (char.isalnum() or char in "._=-") else "-" for char in settings.judging.judge
    )
    name = kept.strip("-._=")[:50].rstrip("-._=")
    if not name:
        raise UsageError(f"No name can be made of {settings.judging.judge!r}. Give the verdict set one with --name.")
    return f"{name}{form_of(settings.judging).suffix}"


Passes: TypeAlias = Callable[[], list[Pass]]


@dataclass(frozen=True, slots=True)
class Job:
    """One set of verdicts on its way; the store is open for writing, and this process is the folder's one writer.

    `passes` are what is asked; the sessions are noted in `book`, and `seconds` is the fact that has the time it took.
    """

    folder: RunFolder
    store: Store
    settings: Settings
    name: str
    prompts: Prompts
    passes: Passes
    book: Callable[[], Book]
    seconds: str
    stopper: Stopper = field(default_factory=Stopper, kw_only=True)

    def add(self) -> None:
        """Make the set's entry in run.json."""
        record = self.folder.read()
        entry = VerdictSetRecord(
            created=now(),
            maskbench=version("maskbench"),
            protocol=protocol_id(self.settings, self.prompts.hash),
            judging=self.settings.judging,
            prompts=prompts_used(self.settings, self.prompts),
            models=judges_of(self.settings),
            sessions=[],
        )
        record.verdict_sets[self.name] = entry
        self.folder.write(RECORD, record)

    def carry_out(
        self, environ: Mapping[str, str], watcher: Watcher, command: Sequence[str], own: Mapping[Kind, Model] | None
    ) -> None:
        """Have every verdict that is not there yet; opens no model where all are."""
        if next(self._steps(), None) is not None:
            self._ask(environ, watcher, command, own)

    def left(self) -> tuple[int, float]:
        """How many verdicts are not there yet, and about how many tokens their requests hold."""
        if not (others := self._others()):
            parts = [unjudged(each, stored(self.store, each), self.settings) for each in self.passes()]
            return sum(count for count, _ in parts), sum(size for _, size in parts)
        left = (step for step in self._steps() if not self._is_known(step, others))
        sizes = [tokens(step.make(step.fills)) for step in left]
        return len(sizes), sum(sizes)

    def copy_known(self) -> None:
        """Take what other sets of the run have on the very same requests: what is stored is not paid for again."""
        others = self._others()
        steps = steps_left(self.settings, self.store, self.passes()[0]) if others else ()
        asks = (step.make((slot,)) for _, step in steps for slot in step.fills)
        places = (self._found(ask, (self.name, *others)) for ask in asks)
        self.store.copy_verdicts(self.name, {place for place in places if place and place[0] != self.name})

    def _steps(self) -> Iterator[Step]:
        """The requests for verdicts that are not there yet."""
        for each in self.passes():
            yield from (step for _, step in steps_left(self.settings, self.store, each))

    def _others(self) -> list[str]:
        """The other verdict sets of the run that a judge of this one has a part in; none where all is asked anew."""
        if self.name == VERDICTS or self._hearing.salt:
            return []
        record, judges = self.folder.read(), set(self.settings.judging.judges)
        judged = {VERDICTS: record.settings.judging, **{name: had.judging for name, had in record.verdict_sets.items()}}
        return [name for name, by in judged.items() if name != self.name and judges & set(by.judges)]

    def _is_known(self, step: Step, sets: Sequence[str]) -> bool:
        return all(self._found(step.make((slot,)), sets) for slot in step.fills)

    def _found(self, ask: Ask, sets: Sequence[str]) -> tuple[str, bytes] | None:
        """Where a verdict on the request stands: the set, and the key in it."""
        keys = self._hearing.keys(ask)
        places = ((name, key) for name in sets for key in keys)
        return next((place for place in places if self.store.has_verdict(*place)), None)

    @property
    def _hearing(self) -> Hearing:
        return self.passes()[0].hearing

    def _ask(
        self, environ: Mapping[str, str], watcher: Watcher, command: Sequence[str], own: Mapping[Kind, Model] | None
    ) -> None:
        """Let the verdicts come."""
        make = executor_for(self.folder.path, self.settings, self.name)
        passes = self.passes()
        asking = Asking(
            settings=self.settings,
            store=self.store,
            environ=environ,
            watcher=watcher,
            command=command,
            stopper=self.stopper,
            verdicts=self.name,
            own=[model.name for model in (own or {}).values()],
            kept=prices_kept(self.folder, self.name),
            stages=("judge",),
            seconds=self.seconds,
        )
        asking.carry_out(
            self.book(),
            lambda reach: Asked(own or open_judges(self.settings, reach)),
            lambda asked, gate: executor(self.settings, self.store, passes, asked.judges, watcher, gate, make=make),
            expected(self.store, passes),
        )


def set_job(
    folder: RunFolder,
    store: Store,
    settings: Settings,
    name: str,
    prompts: Prompts,
    passes: Passes | None = None,
    stopper: Stopper | None = None,
) -> Job:
    """The job of a verdict set: by default all stored replies are judged, those to controls among them."""
    hearing = _hearing(folder, settings, prompts, name)
    return Job(
        folder,
        store,
        settings,
        name,
        prompts,
        passes or (lambda: judging_stored(hearing, store.leaders())),
        partial(_book, folder, store, name),
        "seconds" if name == VERDICTS else f"seconds {name}",
        stopper=stopper or Stopper(),
    )


def _hearing(folder: RunFolder, settings: Settings, prompts: Prompts, name: str) -> Hearing:
    """The hearing of a verdict set: a judge that has one here already is asked by other seeds, and about each reply."""
    if asked_before(folder, settings, name):
        return Hearing(settings, prompts, name, shares=False, salt=name)
    return Hearing(settings, prompts, name, settings.judging.shares_verdicts)


def asked_before(folder: RunFolder, settings: Settings, name: str) -> bool:
    """Whether a verdict set that was begun before this one is by the same judge, asked in the same way."""
    if name == VERDICTS:
        return False
    record = folder.read()
    begun = takewhile(lambda other: other != name, record.verdict_sets)
    before = [record.protocol, *(record.verdict_sets[other].protocol for other in begun)]
    return protocol_id(settings, prompts_of(settings).hash) in before


def begin(job: Job) -> None:
    """Begin a verdict set: its entry in run.json is new, or checked to be by this same judge."""
    if job.name == VERDICTS:
        job.store.flush()
        give_judge(job.folder, job.settings, job.prompts)
        return
    known = job.folder.read().verdict_sets.get(job.name)
    if known is None:
        job.add()
        return
    check_same_judge(job.folder, job.name, job.settings, job.prompts.hash)


def _book(folder: RunFolder, store: Store, name: str) -> Book:
    """Where the sessions of a set are noted: its judges with who answered, beside the subject of a run's own."""
    record = folder.read()
    about = record if name == VERDICTS else record.verdict_sets[name]

    def note(models: Mapping[str, About]) -> None:
        answered = store.answered_by(name)
        judges = Judges(**{role: About(model | answered[role]) for role, model in models.items()})
        if isinstance(about, Record):
            about.models = Models(about.models.subject, judges.binary, judges.numeric)
        else:
            about.models = judges
        folder.write(RECORD, record)

    return Book(asdict(about.models), about.sessions, note)


def _check_own(settings: Settings, judges: Mapping[Kind, Model] | None) -> None:
    if judges and (settings.judging.judge, settings.judging.numeric_judge) != (
        judges["binary"].name,
        judges["numerical"].name,
    ):
        names = f"{judges['binary'].name} and {judges['numerical'].name}"
        raise UsageError(f"The settings name other judges than the ones given: name {names} there.")


def check_has_numbers(folder: RunFolder, store: Store, settings: Settings) -> None:
    """Raise UsageError where numbers are to be judged apart and no scenario has one."""
    if form_of(settings.judging).numbers_apart and not store.has_numbers():
        raise UsageError(
            f"--judge-numbers apart: no scenario of {folder.path} asks for a belief in a number, so there is nothing "
            "to judge otherwise. Leave the option out."
        )


def own_set(folder: RunFolder, settings: Settings) -> str | None:
    """The name of a run's own verdict set where these settings begin it or go on with it; else None.

    That is so where the run was imported without verdicts or begun with no judge, and nobody but this judge has given
    it one since.
    """
    record = folder.read()
    source = record.imported
    if not record.unjudged and (source is None or source.judged):
        return None
    if record.protocol == protocol_id(settings, prompts_of(settings).hash):
        return VERDICTS
    with closing(folder.store()) as store:
        had, _ = store.verdict_counts().get(VERDICTS, (0, 0))
    return VERDICTS if not (had or record.verdict_sets) else None
