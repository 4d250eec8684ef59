"""The record that run.json holds: what was asked and of whom, by which prompts, in which sessions, judged how."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

import msgspec
import orjson
from msgspec import UNSET, Struct, UnsetType

from maskbench.errors import Interrupted, MaskbenchError, UsageError
from maskbench.method.asks import VERDICTS
from maskbench.method.rules import RULES
from maskbench.settings import VALUES, Judging, Settings, Stored
from maskbench.store.fitting import Misfit, Unknown, fitted
from maskbench.store.masking import keys_in
from maskbench.store.source import UNSAID, ImportedFrom, SourceFile
from maskbench.store.store import Store
from maskbench.types import Json, Kind, Model

T = TypeVar("T", Settings, Judging)
SCHEMA = 2
LONGEST_WHY = 500  # characters


class Planted(Struct):
    """The rates that a simulated subject was told to have; a simulated judge has other parts."""

    lie: float
    evade: float
    unsure: float


class Known(Struct, kw_only=True):
    """The fields that are read of a model's description of itself; it may have more."""

    name: str
    base_url: str | None = None
    sampling: Json = {}
    learned: Json = {}
    resolved: list[str] = []
    fingerprints: list[str] = []
    fingerprint: str | None = None
    answers: dict[str, int] = {}  # replies by resolved name, where it was not one model alone


class About(dict[str, Any]):
    """A model as it describes itself (`Model.describe`), with who answered in its name: JSON with a name."""

    @classmethod
    def read(cls, plain: Any) -> About:
        """A description that run.json can hold and be read by again; raises ValueError for another one."""
        try:
            msgspec.convert(plain, Known)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        return cls(plain)

    @property
    def name(self) -> str:
        """Its name when it was asked for."""
        return str(self["name"])

    @property
    def learned(self) -> Json:
        """The facts that were learned of its endpoint; empty for a model that has none."""
        return dict(self.get("learned", {}))


class Judges(Struct, forbid_unknown_fields=True):
    """The models that judge: options, and numbers."""

    binary: About
    numeric: About


class Models(Struct, forbid_unknown_fields=True):
    """Every model of a run."""

    subject: About
    binary: About
    numeric: About


class PromptsUsed(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The judge's prompts: a name for people, and a hash of the texts."""

    name: str
    version: str | None = None  # None: of no judge
    hash: str

    @classmethod
    def unsaid(cls) -> PromptsUsed:
        """What stands for prompts of which nobody says which they were."""
        return cls(name=UNSAID, version=UNSAID, hash=hashlib.sha256(UNSAID.encode()).hexdigest())


class ArchetypeWords(Struct, forbid_unknown_fields=True):
    """The title and text of an archetype that the scenario set brought."""

    title: str
    text: str


class TakenScenarios(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The scenario set and what the run took of it, with hashes of both."""

    name: str
    taken: str
    hash: str
    measured_hash: str
    n: int
    public: str | UnsetType | None = UNSET  # where a result is shown, by the rows; run.json does not say it
    archetypes: dict[str, ArchetypeWords] = {}  # that the set brought, by name


class Ended(Struct, forbid_unknown_fields=True):
    """The end of a session: finished, stopped or failed, and why."""

    at: str
    how: str
    why: str | None


class Session(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A session: when and where it measured, with the versions of what can matter."""

    started: str
    ended: Ended | None  # None: not yet, or the process was killed
    command: list[str] | None = None
    addresses: dict[str, str | None] | None = None
    python: str | None = None
    system: str | None = None
    versions: dict[str, str] | None = None


class VerdictSetRecord(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A verdict set beside the run's own: by whom, how, in which sessions."""

    created: str
    maskbench: str | None = None
    protocol: str
    judging: Judging
    prompts: PromptsUsed
    models: Judges
    sessions: list[Session]
    files: list[SourceFile] = []  # that its verdicts are from, where they were read elsewhere


class WithoutTexts(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The note of a folder that it holds a run without its texts.

    Where options are `exchanged`, a coin has put A and B of each binary scenario in place of each other, or not, so
    that no answer key goes out: what counts A against B means nothing there.
    """

    exchanged: bool = False


class Record(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """run.json: everything that is to be known of how a run was measured."""

    schema: int
    maskbench: str
    created: str
    protocol: str
    prompts: PromptsUsed
    models: Models
    settings: Settings
    scenarios: TakenScenarios
    sessions: list[Session]
    verdict_sets: dict[str, VerdictSetRecord] = {}  # beside the run's own
    imported: ImportedFrom | None = None  # where replies and verdicts are from, where no run asked for them
    without_texts: WithoutTexts | None = None  # None: the run has its texts
    unjudged: bool = False  # whether it was begun with no judge: the first that is named gives it its own verdicts
    exam: bool = False  # whether a judge sits an exam: the replies are a paper's, and no subject is asked


def is_copy(first: Record, other: Record) -> bool:
    """Whether two records are of one measurement: begun at the same instant, with the same settings and sessions."""
    return all(
        getattr(first, name) == getattr(other, name) for name in ("created", "settings", "sessions", "without_texts")
    )


def record_from(plain: Mapping[str, Any]) -> Record:
    """The record that run.json holds; raises Misfit for what is none."""
    if isinstance(settings := plain.get("settings"), Mapping):
        _check_known(settings, Settings, "settings")
    record = fitted(plain, Record)
    record.settings = stored_settings(plain["settings"])
    for name, judged in record.verdict_sets.items():
        judged.judging = known(plain["verdict_sets"][name]["judging"], Judging, f"verdict_sets.{name}.judging")
    if record.models.subject.get("planted") is not None:
        fitted(record.models.subject["planted"], Planted, "models.subject.planted")
    return record


def plain_record(record: Struct) -> Json:
    """A record as JSON has it."""
    plain: Json = orjson.loads(orjson.dumps(msgspec.to_builtins(record)))
    return plain


def wrong_model(about: Mapping[str, Any]) -> str | None:
    """The part of a model's description that run.json cannot hold, or be read with again; None where all is well."""
    try:
        orjson.dumps(about)
        fitted(about, About)
    except TypeError as error:
        return f"it is no JSON ({error})"
    except Misfit as error:
        return str(error)
    return None


_NEEDED = (("subject", "name"), ("subject", "sampling"), ("judging", "sampling"), ("design", "archetypes"))


def settings_from(plain: Mapping[str, Any], where: str = "settings") -> Settings:
    """Settings as a file holds them; raises Misfit for those that no run can have."""
    settings = known(plain, Settings, where)
    for value, name in _NEEDED:  # whose defaults would be another measurement
        if name not in plain[value]:
            raise Misfit(f"there is no {where}.{value}.{name}")
    if settings.design.rules not in RULES:
        raise Misfit(f'{where}.design.rules is "{settings.design.rules}"')
    return settings


def stored_settings(plain: Mapping[str, Any], where: str = "settings") -> Stored:
    """Settings as the file of a folder holds them, marked as such; raises as `settings_from` does."""
    settings = settings_from(plain, where)
    return Stored(**{name: getattr(settings, name) for name in VALUES})


def known(plain: Mapping[str, Any], kind: type[T], where: str) -> T:
    """Settings, or a value of them, as a file holds them; raises Misfit, for a field that is not known, too."""
    _check_known(plain, kind, where)
    return fitted(plain, kind, where)


def _check_known(plain: Any, kind: type, where: str) -> None:
    hints = _hints(kind)
    for name, part in plain.items() if isinstance(plain, Mapping) else ():
        if name not in hints:
            raise Unknown(f"{where}.{name}")
        if is_dataclass(hints[name]):
            _check_known(part, hints[name], f"{where}.{name}")


_hints = lru_cache(maxsize=16)(get_type_hints)


def judged_settings(settings: Settings, judged: VerdictSetRecord) -> Settings:
    """A run's settings with the judge of one of its verdict sets."""
    return replace(settings, judging=judged.judging)


# Who measures, as a session writes it


def session(command: Sequence[str], environ: Mapping[str, str], models: Mapping[str, Json]) -> Session:
    """A session: when and where it measured, with the versions of what can matter."""
    from importlib.metadata import version  # loading it takes long, and a run that is read needs none

    packages = ("maskbench", "aiohttp", "numpy", "orjson", "scipy")
    return Session(
        started=now(),
        ended=None,  # `ending` says how; where a process was killed nobody does
        command=[_without(keys_in(environ), argument) for argument in command],
        addresses={role: about.get("base_url") for role, about in models.items()},
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        versions={name: version(name) for name in packages},
    )


@contextmanager
def ending(session: Session) -> Iterator[None]:
    """Put into a session how what is done here ended, and why."""
    try:
        yield
    except BaseException as error:
        how = "stopped" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed"
        why = str(error) if isinstance(error, MaskbenchError) else f"{type(error).__name__} {error}".strip()
        session.ended = Ended(now(), how, why[:LONGEST_WHY])
        raise
    session.ended = Ended(now(), "finished", None)


def describe(subject: Model, judges: Mapping[Kind, Model]) -> dict[str, About]:
    """The models as the record has them; raises UsageError for one whose description cannot be recorded."""
    return {"subject": _described(subject), **describe_judges(judges)}


def describe_judges(judges: Mapping[Kind, Model]) -> dict[str, About]:
    """The judges of the same."""
    return {"binary": _described(judges["binary"]), "numeric": _described(judges["numerical"])}


def _described(model: Model) -> About:
    about = About({"name": model.name, **model.describe()})
    if problem := wrong_model(about):
        raise UsageError(f"{model.name}: what its describe() returns cannot be recorded: {problem}.")
    return about


def with_answers(models: Mapping[str, Json], store: Store) -> dict[str, About]:
    """Models as described, with who answered by what is stored: a client knows of its own session only."""
    return {role: About(models.get(role, {}) | answered) for role, answered in store.answered_by(VERDICTS).items()}


def moved(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    """The warning that a model now answers at another address than when the run was begun."""
    for role in (role for role in ("subject", "binary", "numeric") if role in before and role in after):
        was, is_ = before[role].get("base_url"), after[role].get("base_url")
        if was and was != is_ and (role != "numeric" or after["numeric"]["name"] != after["binary"]["name"]):
            yield f"Caution: {after[role]['name']} answered at {was} before and now at {is_}. Is it the same model?"
        weights = before[role].get("fingerprint"), after[role].get("fingerprint")
        if None not in weights and weights[0] != weights[1]:
            yield f"Caution: {after[role]['name']} has other weights now ({weights[1]}, before {weights[0]})."


def _without(keys: Sequence[str], text: str) -> str:
    for key in keys:
        text = text.replace(key, "***")
    return text


def now() -> str:
    """This moment, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
