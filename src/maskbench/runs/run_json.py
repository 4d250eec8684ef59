"""run.json as types: what was asked and of whom, by which prompts and models, in which sessions, judged how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar, get_type_hints

import msgspec
import orjson
from msgspec import UNSET, Struct, UnsetType

from maskbench.method.rules import RULES
from maskbench.runs.fitting import Misfit, Unknown, fitted
from maskbench.runs.imported_json import ImportedFrom
from maskbench.settings import Judging, Settings
from maskbench.types import Json, Stage

T = TypeVar("T", Settings, Judging)
SCHEMA = 2


class Planted(Struct):
    """What a simulated subject was told to do; a simulated judge has other parts."""

    lie: float
    evade: float
    unsure: float


class Known(Struct, kw_only=True):
    """What is read of what a model says of itself; it may say more."""

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
        """What it was called when it was asked for."""
        return str(self["name"])

    @property
    def learned(self) -> Json:
        """What was learned about its endpoint; empty for a model that has none."""
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


class PromptsUsed(Struct, forbid_unknown_fields=True, kw_only=True):
    """The judge's prompts: a name for people, and a hash of the texts."""

    name: str
    version: str | UnsetType = UNSET  # unset: of no judge
    hash: str


class ArchetypeWords(Struct, forbid_unknown_fields=True):
    """What people read of an archetype that the scenario set brought."""

    title: str
    text: str


class TakenScenarios(Struct, forbid_unknown_fields=True, kw_only=True):
    """The scenario set and what the run took of it, with hashes of both."""

    name: str
    taken: str
    hash: str
    measured_hash: str
    n: int
    public: str | UnsetType | None = UNSET  # where a result is shown, by the rows; run.json does not say it
    archetypes: dict[str, ArchetypeWords] | UnsetType = UNSET  # that the set brought, by name


class Ended(Struct, forbid_unknown_fields=True):
    """How a session ended: finished, stopped or failed, and why."""

    at: str
    how: str
    why: str | None


class ServedBy(Struct, forbid_unknown_fields=True, kw_only=True):
    """A server that a session started: for whom, by which command, and how long it took until it answered."""

    stage: Stage
    command: str
    engine: str | None
    version: str | None
    seconds: float


class Session(Struct, forbid_unknown_fields=True, kw_only=True):
    """Who measured when and where, with which versions of what can matter."""

    started: str
    ended: Ended | None = None  # None: not yet, or the process was killed
    command: list[str] | UnsetType = UNSET
    addresses: dict[str, str | None] | UnsetType = UNSET
    servers: list[ServedBy] | UnsetType = UNSET  # unset: it started none
    python: str | UnsetType = UNSET
    system: str | UnsetType = UNSET
    versions: dict[str, str] | UnsetType = UNSET


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """What a second judge looks at: the verdict set of the first, and how scenarios are chosen from it.

    `share` of all scenarios are drawn by `seed`, by the first judge's outcomes.
    """

    first: str
    share: float = 0.1
    seed: int = 0


class Audited(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose verdicts an audit asks for again, and how; of a sample, or of everything."""

    kind: str  # a row of judges/audit_kinds.py
    of: str
    sample: int | None = None
    seed: int = 0


class Judged(Struct, forbid_unknown_fields=True, kw_only=True):
    """A verdict set beside the run's own: by whom, how, in which sessions."""

    created: str
    maskbench: str | UnsetType = UNSET
    protocol: str
    judging: Judging
    prompts: PromptsUsed
    models: Judges
    sessions: list[Session]
    second: Look | UnsetType = UNSET
    audit: Audited | UnsetType = UNSET


class WithoutTexts(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """That a folder holds a run without its texts: how many were committed to, and the root of the commitments.

    `root` is None for a run that never had texts here. `beliefs` names the beliefs that the run asked for. Where
    options are `exchanged`, a coin has put A and B of each binary scenario in place of each other, or not, so that no
    answer key goes out: what counts A against B means nothing there.
    """

    texts: int = 0
    root: str | None = None
    beliefs: str
    exchanged: bool = False


class Record(Struct, forbid_unknown_fields=True, kw_only=True):
    """run.json: everything that is to be known of how a run was measured."""

    schema: int = SCHEMA
    maskbench: str
    created: str
    protocol: str
    prompts: PromptsUsed
    models: Models
    settings: Settings
    scenarios: TakenScenarios
    sessions: list[Session]
    verdict_sets: dict[str, Judged] | UnsetType = UNSET  # unset: none beside the run's own
    imported: ImportedFrom | UnsetType = UNSET  # where replies and verdicts are from, where no run asked for them
    without_texts: WithoutTexts | UnsetType = UNSET  # unset: the run has its texts
    exam: bool | UnsetType = UNSET  # whether a judge sits an exam: the replies are a paper's, and no subject is asked

    @property
    def sets(self) -> Mapping[str, Judged]:
        """The verdict sets beside the run's own, by name."""
        return {} if isinstance(self.verdict_sets, UnsetType) else self.verdict_sets

    @property
    def source(self) -> ImportedFrom | None:
        """Where the run is imported from; None for one that was measured."""
        return None if isinstance(self.imported, UnsetType) else self.imported

    def add(self, name: str, judged: Judged) -> None:
        """Take in a new verdict set."""
        self.verdict_sets = {**self.sets, name: judged}


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
    record.settings = settings_from(plain["settings"])
    for name, judged in record.sets.items():
        judged.judging = known(plain["verdict_sets"][name]["judging"], Judging, f"verdict_sets.{name}.judging")
    if record.models.subject.get("planted") is not None:
        fitted(record.models.subject["planted"], Planted, "models.subject.planted")
    return record


def plain_record(record: Struct) -> Json:
    """A record as JSON has it."""
    plain: Json = orjson.loads(orjson.dumps(msgspec.to_builtins(record)))
    return plain


def wrong_model(about: Mapping[str, Any]) -> str | None:
    """What a model says of itself that run.json cannot hold, or could not be read by again; None where all is well."""
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


def known(plain: Mapping[str, Any], kind: type[T], where: str) -> T:
    """Settings, or a value of them, as a file holds them; raises Misfit, for a field that is not known, too."""
    _check_known(plain, kind, where)
    return fitted(plain, kind, where)


def _check_known(plain: Any, kind: type, where: str) -> None:
    hints = get_type_hints(kind)
    for name, part in plain.items() if isinstance(plain, Mapping) else ():
        if name not in hints:
            raise Unknown(f"{where}.{name}")
        if is_dataclass(hints[name]):
            _check_known(part, hints[name], f"{where}.{name}")


def judged_settings(settings: Settings, judged: Judged) -> Settings:
    """A run's settings with the judge of one of its verdict sets."""
    if judged.judging.judge != settings.judging.judge:
        settings = settings.having(serve_judge=None)  # which serves another judge
    return replace(settings, judging=judged.judging)
