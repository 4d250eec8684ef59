"""Beliefs once: neutral replies and their verdicts of another run, where two runs differ under pressure alone.

They are copied before anything is asked, under the keys that this run's own would have, together with the fact of
whose they are; then the flow asks for statements only. What a model believes may be shared by all that leaves the
neutral questions as they are: `differences` names what does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs, to_builtins

from maskbench.errors import ModelError, RunMismatch, UsageError
from maskbench.method.asks import VERDICTS, subject_asks
from maskbench.method.folds import finished
from maskbench.method.forms.prompts import Prompts
from maskbench.runs.begin import taken
from maskbench.runs.beliefs_from import OPTION, Source, beliefs_id, source_of
from maskbench.runs.drawn_part import ANEW_PART, drawn_anew
from maskbench.runs.endings import resuming
from maskbench.runs.folder import RunFolder, options_of, shown_value
from maskbench.runs.record import About, Record, moved
from maskbench.runs.store import Keys, Neutral, Store
from maskbench.runs.watching import Watcher
from maskbench.scenarios import Key, canonical
from maskbench.settings import CHECKS, Settings, protocol_id, reply_key
from maskbench.types import Ask, Failure, Model, Reply, Scenario

_FRESH = f"Leave {OPTION} out, and this run asks for beliefs of its own."
_NAMED = 3  # scenarios in an error
# What may differ: the pressured conversation, which scenarios are taken, controls, and what draws the samples.
_FREE = frozenset(
    {
        *("the subject", "--system-prompt", "--system-prompt-text", "--prompt-on-beliefs", "--statements"),
        *("--scenarios", "--archetype", "--sample", "--limit", "--seed", OPTION),
        *(f"--{check.replace('_', '-')}" for check in CHECKS),
    }
)
_TOUCHES = ("--adapter-hash", "--steer-hash", "--layers", "--strength", "--dtype", "--quantize", "--trust-remote-code")


# Whether beliefs may be shared


def differences(settings: Settings, base: Settings) -> list[str]:
    """Every reason why a run with these settings may not have the beliefs of a run with the settings of `base`."""
    ours, theirs = options_of(settings), options_of(base)
    reasons = (
        []
        if settings.subject.name == base.subject.name
        else [f"the subject is {settings.subject.name}, there {base.subject.name}"]
    )
    for option in (option for option in ours if option not in _FREE and ours[option] != theirs[option]):
        pair = f"{option.removesuffix('-hash')} is {shown_value(ours[option])}, there {shown_value(theirs[option])}"
        reasons.append(f"{pair} (it changes neutral answers, too)" if option in _TOUCHES else pair)
    if _on_beliefs(settings) != _on_beliefs(base):
        reasons.append("a system prompt stands before the belief questions of one of them (--prompt-on-beliefs)")
    if settings.subject.name.partition("/")[0] == "sim" and settings.design.seed != base.design.seed:
        reasons.append(
            f"--seed is {settings.design.seed}, there {base.design.seed} (another seed is another simulated model)"
        )
    return reasons


def _on_beliefs(settings: Settings) -> str | None:
    return settings.design.system_prompt_text if settings.design.prompt_on_beliefs else None


def sharing(settings: Settings, base: Settings, run: Path) -> Settings:
    """These settings with the beliefs of `run`, which has those of `base`; as they are where they may not be shared.

    For whoever measures several arms: measure the first, and give every other one through this.
    """
    return settings if differences(settings, base) else settings.having(beliefs_from=str(run))


# Taking over


def check_source(run: RunFolder | None, settings: Settings, prompts: Prompts, environ: Mapping[str, str]) -> None:
    """Raise as `take_over` does before a run is begun, so that a refusal leaves no folder behind.

    Without a run (a plan of one) no scenario is looked at: the set may be out of reach.
    """
    if settings.design.beliefs_from is None or (run and run.exists):
        return
    if run and Path(settings.design.beliefs_from).resolve() == run.path.resolve():
        raise UsageError(f"{OPTION} {settings.design.beliefs_from} is this very run. Name another one. {_FRESH}")
    with _opened(settings, prompts) as source:
        scenarios = taken(settings, environ).scenarios if run else ()
        deque(_matched(source, settings, scenarios), maxlen=0)


def take_over(run: RunFolder, store: Store, settings: Settings, prompts: Prompts) -> None:
    """Copy the beliefs that the settings name into a run's store, all or none, unless they are there.

    Failures of the other run are copied as such, and looked for once more whenever this run is taken up. Raises
    RunMismatch and UsageError with every reason why they may not be shared, RunUnreadable where there is no such run.
    """
    known = source_of(store)
    if settings.design.beliefs_from is None or (known and not known.failed):
        return
    if known and not RunFolder(Path(settings.design.beliefs_from)).exists:
        return
    with _opened(settings, prompts) as source:
        about = source.about()
        if known and known.id != about.id:
            raise RunMismatch(
                f"{run.path} has the beliefs of {known.run}, and {source.path} has others. Name {known.run}, or give "
                "this run another --out."
            )
        scenarios = (scenario for scenario, _ in store.scenarios())
        beliefs = list(_matched(source, settings, scenarios))
    if known is None and not store.chosen(ANEW_PART):
        store.choose(ANEW_PART, drawn_anew((scenario for scenario, *_ in beliefs), settings))
    beliefs = [row for row in beliefs if row[0].key not in store.leaders()]
    rows = [neutral for _, _, neutral in beliefs]
    store.take_over(to_builtins(structs.replace(about, scenarios=len(rows), **_counted(rows))), beliefs)


class _Other(NamedTuple):
    """The run that is named, open."""

    path: Path
    record: Record
    store: Store

    def about(self) -> Source:
        """Whose beliefs it has: of a run that shares them itself those of the run that asked for them."""
        if first := source_of(self.store):
            return first
        record = self.record
        return Source(
            run=str(self.path),
            subject=record.settings.label,
            created=record.created,
            id=beliefs_id(record.created, record.settings, record.scenarios.measured_hash),
            scenarios=0,
            replies=0,
            verdicts=0,
            failed=0,
            served=About(record.models.subject | self.store.answered_by(VERDICTS)["subject"]),
        )


@contextmanager
def _opened(settings: Settings, prompts: Prompts) -> Iterator[_Other]:
    """The run that is named, whose settings leave neutral questions as they are here."""
    path = Path(settings.design.beliefs_from or "")
    record = RunFolder(path).read()
    reasons = differences(settings, record.settings)
    if not reasons and record.protocol != protocol_id(settings, prompts.hash):
        reasons.append("the judge's prompts are of another version than there")
    if reasons:
        raise RunMismatch(f"{OPTION} {path}: its beliefs are not this run's. {_listed(reasons)} {_FRESH}")
    store = RunFolder(path).store()
    try:
        yield _Other(path, record, store)
    finally:
        store.close()


def _listed(reasons: Sequence[str]) -> str:
    return " ".join(f"{reason[0].upper()}{reason[1:]}." for reason in reasons)


def _matched(
    source: _Other, settings: Settings, scenarios: Iterable[Scenario]
) -> Iterator[tuple[Scenario, Keys, Neutral]]:
    """Every scenario with this run's keys of its neutral replies and what the other run has of them.

    Raises RunMismatch where the other run lacks a scenario, has another text of it, or is not done with it.
    """
    there = {scenario.key: scenario for scenario, _ in source.store.scenarios()}
    lacking: list[Key] = []
    undone: list[Key] = []
    for scenario in scenarios:
        twin = there.get(scenario.key)
        if twin is None or canonical(twin) != canonical(scenario):
            lacking.append(scenario.key)
        elif finished(scenario, source.store.samples(scenario).items(), source.record.settings) is None:
            undone.append(scenario.key)
        else:
            asks = [ask for ask in subject_asks(scenario, settings) if ask.elicitation]
            keys = {(ask.elicitation, run): reply_key(settings, ask, run) for ask in asks for run in ask.runs}
            yield scenario, keys, source.store.neutral(scenario)
    if lacking:
        raise RunMismatch(f"{OPTION} {source.path}: it lacks {_some(lacking)} with this text. {_FRESH}")
    if undone:
        line = resuming(source.path, source.record)
        raise RunMismatch(f"{OPTION} {source.path}: it is not done with {_some(undone)}. Take it up first: `{line}`.")


def _some(keys: Sequence[Key]) -> str:
    named = ", ".join(" ".join(key) for key in keys[:_NAMED])
    return f"{len(keys):,} scenarios ({named}{', ...' if len(keys) > _NAMED else ''})"


def _counted(rows: Iterable[Neutral]) -> Mapping[str, int]:
    """How many replies and verdicts there are, and how many failed; a verdict counts for each reply that it is on."""
    replies, verdicts, failed = 0, 0, 0
    for neutral in rows:
        had = sum(row[4] is not None for row in neutral.replies)
        judged = sum(row[3] is not None for row in neutral.verdicts)
        replies, verdicts = replies + had, verdicts + judged
        failed += len(neutral.replies) - had + len(neutral.verdicts) - judged
    return {"replies": replies, "verdicts": verdicts, "failed": failed}


# Whether it is the same model that answers


class Served:
    """A subject whose statements count only where the model answers that the shared beliefs are of."""

    def __init__(self, model: Model, source: Source) -> None:
        self.within = self._model = model
        self._source = source
        self.name = model.name

    def __getattr__(self, name: str) -> Any:
        """Whatever else the model has, its queue among it."""
        return getattr(self._model, name)

    @property
    def together(self) -> bool:
        """Whether several samples of one ask cost one request."""
        return self._model.together

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """The model's answers; raises ModelError where another model gave them."""
        answers = await self._model.ask(ask)
        known = self._source.served.get("resolved", [])
        for answer in answers:
            if known and isinstance(answer, Reply) and answer.model and answer.model not in known:
                raise ModelError(
                    f"{self.name} answered as {answer.model}, and the beliefs of {self._source.run} are of "
                    f"{', '.join(known)}. Another model's beliefs cannot be shared: give this run another --out and "
                    f"leave {OPTION} out, so that it asks for beliefs of its own."
                )
        return answers

    def describe(self) -> dict[str, Any]:
        """What the model says of itself."""
        return self._model.describe()

    async def close(self) -> None:
        """Let go of the model."""
        await self._model.close()


def as_served(subject: Model, store: Store, watcher: Watcher) -> Model:
    """The subject, held to be the model that the shared beliefs are of; as it is where it shares none.

    Raises RunMismatch where its weights are others.
    """
    source = source_of(store)
    if source is None:
        return subject
    about = {"name": subject.name, **subject.describe()}
    weights = source.served.get("fingerprint"), about.get("fingerprint")
    if None not in weights and weights[0] != weights[1]:
        raise RunMismatch(
            f"{subject.name} has other weights ({weights[1]}) than when {source.run} asked for its beliefs "
            f"({weights[0]}). {_FRESH}"
        )
    for line in moved({"subject": source.served}, {"subject": about}):
        watcher.tell(line)
    watcher.tell(
        f"The beliefs are those of {source.run}: {source.replies:,} replies and {source.verdicts:,} verdicts are not "
        f"asked for. {len(store.chosen(ANEW_PART)):,} of the scenarios are asked for them anew, as a check."
    )
    return Served(subject, source)
