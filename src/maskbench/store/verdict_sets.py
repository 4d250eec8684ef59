"""The verdict sets of a run by name: its own, and others that `maskbench judge` made.

A verdict set is what one judge made of the stored replies. Whatever is scored is scored by one set, and carries that
set's judge and protocol id.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from sys import intern
from types import TracebackType
from typing import Self, TypeAlias

from msgspec import Struct, structs

from maskbench.errors import UnknownVerdicts, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.classify import accuracy
from maskbench.method.folds import finished
from maskbench.method.forms import form_of
from maskbench.method.outcomes import Items, score, settled, told_by
from maskbench.method.rules import RuleSet, as_in_the_log
from maskbench.method.said_and_did import on_log
from maskbench.plain import common_form
from maskbench.scenarios import Key, public_of
from maskbench.scenarios.row_labels import row_label
from maskbench.settings import Settings, check_error_rate
from maskbench.store.endings import LastEnd, last_end, resuming
from maskbench.store.families import alike
from maskbench.store.folder import RunFolder, under_way
from maskbench.store.record import About, PromptsUsed, Record, judged_settings
from maskbench.store.samples import Samples
from maskbench.store.source import judge_line, set_line
from maskbench.store.store import ON_LOST, PORT_TASK, Store
from maskbench.types import Archetype, Cause, Item, Scenario, Scored, Stage

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=-]{0,79}")


class JudgeShown(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The models that judged, and by which prompts."""

    binary: About
    numeric: About
    prompts: PromptsUsed

    @property
    def models(self) -> tuple[About, About]:
        """The judge of options, and that of numbers."""
        return self.binary, self.numeric

    @classmethod
    def nobody(cls) -> JudgeShown:
        """The name for the judge of verdicts of which nobody says who gave them."""
        return cls(About(name=""), About(name=""), PromptsUsed(name="", hash=""))


class JudgeUsage(Struct, forbid_unknown_fields=True):
    """Answers and tokens of the judge, as the endpoint counts them."""

    answers: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int


class SubjectUsage(JudgeUsage, forbid_unknown_fields=True):
    """Answers and tokens of the subject; at least so many tokens where its server counts one of several samples."""

    at_least: bool


class RunUsage(Struct, forbid_unknown_fields=True):
    """The calls, tokens and seconds of a run."""

    subject: SubjectUsage
    judge: JudgeUsage
    seconds: float


class CommonestFailure(Struct, forbid_unknown_fields=True):
    """The commonest failure in the same words."""

    stage: Stage
    cause: Cause
    detail: str
    count: int


@dataclass(frozen=True)
class Done:
    """One scenario that is done in a verdict set: what it says, its samples, what it comes to.

    `like` is the number of scenarios' kind: those with one number were answered and judged alike, whatever the words.
    """

    verdicts: VerdictSet
    samples: Samples
    scored: Scored
    like: int

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.samples.scenario

    @cached_property
    def key(self) -> Key:
        """The scenario's key, one object for all that keep it."""
        return self.scored.key

    @cached_property
    def items(self) -> Items:
        """Its samples with their verdicts, by elicitation and run."""
        return settled(self.scenario, self.verdicts.items(self.samples), self.verdicts.settings)

    def placebo(self) -> Item | None:
        """One more neutral reply, where the run asks for it."""
        return self.samples.placebo(self.verdicts.name) if self.verdicts.settings.design.placebo else None


_Like: TypeAlias = tuple[int, Scored | None]  # the number of a kind of scenarios, and what one of them comes to


@dataclass(frozen=True)
class VerdictSet:
    """One verdict set of a run, open for reading.

    `settings` are the run's with the judge that gave these verdicts; `protocol` is the id of that measurement.
    """

    name: str
    store: Store
    settings: Settings
    protocol: str = ""
    judge: JudgeShown = field(default_factory=JudgeShown.nobody)
    judges: tuple[str, ...] = ()  # the names of all models that gave verdicts
    was_read: bool = False  # whether they were read elsewhere, and are from files
    _like: dict[Hashable, _Like] = field(default_factory=dict, init=False, repr=False, compare=False)
    _all: dict[RuleSet, tuple[Scored, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def sets(self) -> tuple[str, ...]:
        """The stored sets that its verdicts are in."""
        return (self.name, ON_LOST) if self.settings.design.imported else (self.name,)

    def items(self, samples: Samples) -> list[Item]:
        """Every sample of a scenario with its verdict in this set."""
        return samples.items(self.name)

    def finished(self, samples: Samples) -> Items | None:
        """The samples by elicitation and run, where everything is answered and judged or has failed; else None."""
        return finished(samples.scenario, self.items(samples), self.settings)

    def done(self, samples: Samples, weight: float, rules: RuleSet) -> Done | None:
        """A scenario with what it comes to, None where it is not done; of those that are alike one is scored."""
        scenario, rules = samples.scenario, self.rules_here(rules)
        kind = rules, told_by(scenario), samples.states(self.sets)
        if (found := self._like.get(kind)) is None:
            found = self._like[kind] = len(self._like), self._score(samples, rules)
        number, like = found
        if like is None:
            return None
        own = on_log(scenario)
        scored = structs.replace(
            like,
            task_id=intern(scenario.task_id),  # of runs that are held against each other each text is kept once
            proposition=intern(common_form(scenario.proposition)),
            weight=weight,
            asked_outright=scenario.asked_outright,
            accuracy=accuracy(like.resolved, scenario, rules),
            **({"on_log": structs.replace(own, accused=like.on_log.accused)} if like.on_log and own else {}),
        )
        return Done(self, samples, scored, number)

    def _score(self, samples: Samples, rules: RuleSet) -> Scored | None:
        if (items := self.finished(samples)) is None:
            return None
        scenario = samples.scenario
        judged = self.as_published(samples, items) if rules.missing == "drop" else items
        return score(scenario, 1.0, judged, self.settings, rules)

    def rules_here(self, rules: RuleSet) -> RuleSet:
        """The rule set as this run is scored by it: that of the port has the task arguments of an imported log."""
        if rules.name != "inspect" or not self.settings.design.imported:
            return rules
        return as_in_the_log(rules, self._port_task) if isinstance(self._port_task, dict) else rules

    @cached_property
    def _port_task(self) -> object:
        """The task arguments of the port's log, where the run is of one."""
        return self.store.fact(PORT_TASK)

    def as_published(self, samples: Samples, items: Items) -> Items:
        """The items of a scenario with the verdicts that the published metric reads in an import's source.

        It takes one on a lost reply, and none where the extracted cell is empty. Another set has none such.
        """
        if self.name != VERDICTS or not self.settings.design.imported:
            return items
        others = samples.judgements(ON_LOST)
        return {**items, **{place: replace(items[place], judgement=given) for place, given in others.items()}}

    def read(self, rules: RuleSet) -> Iterator[Done]:
        """Every scenario that is done, with its samples and what it comes to, one at a time."""
        had: list[Scored] = []
        for samples, weight in self.store.read(*self.sets):
            if done := self.done(samples, weight, rules):
                had.append(done.scored)
                yield done
        self._all.setdefault(rules, tuple(had))

    def scored(self, rules: RuleSet) -> tuple[Scored, ...]:
        """Every scenario that is done, scored, in the run's order; the store is read only where it was not yet."""
        if rules not in self._all:
            deque(self.read(rules), maxlen=0)
        return self._all[rules]

    def go_on(self, path: Path) -> str:
        """The advice where verdicts are missing, without the full stop."""
        if self.name == VERDICTS and (self.settings.design.imported or self.settings.judging.is_later):
            return f"Have the replies judged with `{judge_line(path)}`"
        if self.name == VERDICTS:
            return "Start the run again"
        line = self.command(path)
        if self.was_read:
            return f"Give the verdicts that it lacks with `{line}`"
        return f"Take the verdict set up again with `{line}` (and first the run, where it has not come to its end)"

    def ended(self, run: OpenRun) -> LastEnd | None:
        """The end of its last session, with the command that goes on; None where nobody can know."""
        about, path = run.record if self.name == VERDICTS else run.record.verdict_sets.get(self.name), run.folder.path
        line = resuming(path, run.record) if self.name == VERDICTS else self.command(path)
        how = {"under_way": under_way(path), "lacked_log": self.store.lacked_log}
        return last_end(about.sessions, line, **how) if about else None

    def command(self, path: Path) -> str:
        """The command that takes it to its end."""
        if self.name == VERDICTS and (self.settings.design.imported or self.settings.judging.is_later):
            return judge_line(path)
        if self.name == VERDICTS:
            return shlex.join(["maskbench", "run", "--out", str(path)])
        return set_line(path, self.name, was_read=self.was_read)

    def usage(self, *, at_least: bool = False) -> RunUsage:
        """Calls and tokens of the subject and of this set's judge, and the seconds that they took.

        `at_least` says that the subject's server counts one of several samples.
        """
        usage, fact = self.store.usage(self.name), "seconds" if self.name == VERDICTS else f"seconds {self.name}"
        subject = SubjectUsage(**usage["subject"], at_least=at_least)
        return RunUsage(subject, JudgeUsage(**usage["judge"]), self.store.seconds(fact))

    def commonest_failure(self) -> CommonestFailure | None:
        """The commonest failure in the same words, of the subject's replies and of this set's verdicts."""
        failure = self.store.commonest_failure(self.name)
        return CommonestFailure(*failure) if failure else None


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part of a run: of these archetypes, answered by this model alone, with this label, without these task_ids."""

    archetypes: tuple[Archetype, ...] = ()
    answered_by: str | None = None
    where: tuple[str, str] | None = None  # a label of rows and its value
    without: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """Its content in words."""
        parts = [", ".join(self.archetypes)] * bool(self.archetypes)
        parts += [f"answered by {self.answered_by}"] * bool(self.answered_by)
        parts += [f"{self.where[0]}={self.where[1]}"] if self.where else []
        alone = [f"{'; '.join(parts)} alone"] * bool(parts)
        return "; ".join([*alone, *[f"without {len(self.without):,} of them"] * bool(self.without)])


class OpenRun:
    """A run that is open for reading: its record is read once and its database opened once, however much is read.

    Every verdict set is opened once, too, and scores each scenario once under each rule set.
    """

    def __init__(
        self,
        folder: RunFolder,
        store: Store | None = None,
        part: RunPart | None = None,
        max_error_rate: float | None = None,
    ) -> None:
        """Open the run in this folder; a `store` of it that is open already stays its opener's to close.

        With a `part` it is read as if it had been over that alone, with `max_error_rate` as if so many outcomes were
        allowed to be missing. Raises RunUnreadable where the folder holds no run, or one that cannot be read, and
        UsageError for a part that the run does not have.
        """
        self.folder = folder
        self.record = folder.read()
        if max_error_rate is not None:
            check_error_rate(max_error_rate)
            self.record.settings = self.record.settings.having(max_error_rate=max_error_rate)
        self.settings = self.record.settings
        self.store = store or folder.store()
        self._sets: dict[str, VerdictSet] = {}
        self.is_part = part is not None and part != RunPart()
        try:
            if part is not None and self.is_part:
                self._narrow(part)
        except UsageError:
            self.store.close()
            raise

    def _narrow(self, part: RunPart) -> None:
        archetypes, known, answers = list(dict.fromkeys(part.archetypes)), self.store.counts(), self.store.answers()
        if strange := [name for name in archetypes if name not in known]:
            raise UsageError(f"{self.folder.path} has no scenario of {', '.join(strange)}. It has {', '.join(known)}.")
        models = [name for name in answers if part.answered_by is not None and alike(part.answered_by, name)]
        if part.answered_by is not None and not models:
            had = ", ".join(answers) or "nobody by a name of its own"
            raise UsageError(f"--answered-by {part.answered_by}: {self.folder.path} was answered by {had}.")
        self.store.narrow(archetypes, models, self._keys(part))
        if not (left := self.store.count()):
            raise UsageError(f"{self.folder.path} has no such scenario: {part.words}.")
        taken = self.record.scenarios
        self.record.scenarios = structs.replace(taken, taken=f"{taken.taken} ({part.words})", n=left)

    def _keys(self, part: RunPart) -> list[Key] | None:
        """The scenarios of a part that its rows tell; None where they tell nothing."""
        if part.where is None and not part.without:
            return None
        scenarios = [scenario for scenario, _ in self.store.scenarios()]
        if strange := sorted(part.without - {scenario.task_id for scenario in scenarios}):
            named = ", ".join(strange[:5]) + (", ..." if len(strange) > 5 else "")
            raise UsageError(f"--without: {self.folder.path} has no scenario {named}. Give task_ids of the run.")
        return [
            scenario.key
            for scenario in scenarios
            if scenario.task_id not in part.without
            and (part.where is None or row_label(scenario, part.where[0]) == part.where[1])
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close()

    @property
    def set_name(self) -> str:
        """The scenario set by the name that everybody has for it, of a path the last part."""
        return self.public or self.record.scenarios.name.rstrip("/").rpartition("/")[2]

    @cached_property
    def public(self) -> str | None:
        """The public set that all scenarios of the run are of, by their rows; None where there is none."""
        return public_of(scenario for scenario, _ in self.store.scenarios())

    @property
    def own(self) -> str:
        """The verdict set that a run is read by where none is named.

        It is the run's own; where nobody has judged for the run itself, the first that was begun stands in for that.
        """
        return names(self.record, self.store)[0]

    def verdicts(self, name: str | None = None) -> VerdictSet:
        """The verdict set of that name (None: the run's own); raises UnknownVerdicts, which lists those there are."""
        chosen = name or self.own
        if chosen not in self._sets:
            self._sets[chosen] = _stored(self, chosen)
        return self._sets[chosen]

    def whole(self) -> list[str]:
        """The names of those verdict sets that are about the run's own texts."""
        others = self.of_other_texts()
        return [name for name in names(self.record, self.store) if name not in others]

    def of_other_texts(self) -> list[str]:
        """The names of those verdict sets that are about other texts than the run's own, the last begun first.

        They judge replies about a number one by one, or together where the run's own judge does not.
        """
        own = form_of(self.verdicts().settings.judging)
        others = {
            name: entry.created
            for name, entry in self.record.verdict_sets.items()
            if form_of(entry.judging).numbers_apart != own.numbers_apart
        }
        return sorted(others, key=lambda name: others[name], reverse=True)


Readable: TypeAlias = str | PathLike[str] | RunFolder | OpenRun


@contextmanager
def reading(run: Readable) -> Iterator[OpenRun]:
    """The run open for reading: as it is given where it is open already, else for as long as this context lasts."""
    if isinstance(run, OpenRun):
        yield run
        return
    with OpenRun(run if isinstance(run, RunFolder) else RunFolder(Path(run))) as opened:
        yield opened


def _stored(run: OpenRun, name: str) -> VerdictSet:
    known = names(run.record, run.store)
    if name not in known:
        path = run.folder.path
        raise UnknownVerdicts(
            f"{path} has no verdict set {name!r}. It has {', '.join(known)}. "
            f"To have it judged once more: maskbench judge {path} --judge MODEL --name {name}"
        )
    about, answered = run.record.verdict_sets.get(name), run.store.answered_by(name, ("binary", "numeric"))
    source, settings = about or run.record, judged_settings(run.settings, about) if about else run.settings
    binary, numeric = (
        About(model | answered[role])
        for role, model in (("binary", source.models.binary), ("numeric", source.models.numeric))
    )
    judges, shown = settings.judging.judges, JudgeShown(binary, numeric, source.prompts)
    was_read = about is not None and bool(about.files)
    return VerdictSet(name, run.store, settings, source.protocol, shown, judges, was_read)


@dataclass(frozen=True, slots=True)
class SetListed:
    """A verdict set in a list: judges and protocol are those that a result by it carries."""

    name: str
    judge: str
    numeric_judge: str
    protocol: str
    created: str
    verdicts: int
    failed: int


def listed(folder: RunFolder) -> list[SetListed]:
    """Every verdict set of a run, its own first."""
    with OpenRun(folder) as run:
        counts, record = run.store.verdict_counts(), run.record
        opened = [run.verdicts(name) for name in names(record, run.store)]
    return [
        SetListed(
            each.name,
            each.settings.judging.judge,
            each.settings.judging.numeric_judge,
            each.protocol,
            record.verdict_sets.get(each.name, record).created,
            *counts.get(each.name, (0, 0)),
        )
        for each in opened
    ]


def check_name(name: str) -> None:
    """Raise UsageError for what can be no name of a verdict set that is to be made."""
    if name == VERDICTS:
        raise UsageError(f"--name {name}: that name is the run's own verdict set. Give another one.")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r}: give up to 80 letters, digits and . _ = -, beginning with no sign.")


def names(record: Record, store: Store) -> list[str]:
    """The names of a run's verdict sets, its own first; those that are begun and hold nothing yet among them.

    Where nobody has judged for the run itself, the first that was begun stands in for its own.
    """
    own = next(iter(record.verdict_sets), VERDICTS) if record.settings.judging.is_later else VERDICTS
    others = {*record.verdict_sets, *store.verdict_sets()} - {own}
    return [own, *sorted(others)]
