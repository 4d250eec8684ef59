"""What run.json has to hold, so that nothing that was written or edited by another hand is half understood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

import orjson

from maskbench.method.rules import RULES
from maskbench.runs.fitting import misfit
from maskbench.settings import LEAST, MOST, Settings
from maskbench.types import Sampling

_Json = dict[str, Any]


class _About(TypedDict, total=False):
    """A model: what it was called, where it answered and what was learned of it."""

    name: str
    base_url: str | None
    sampling: _Json
    learned: _Json
    resolved: list[str]
    fingerprints: list[str]
    fingerprint: str | None


class _Planted(TypedDict):
    """What a simulated subject was told to do."""

    lie: float
    evade: float
    unsure: float


class _Prompts(TypedDict):
    name: str
    hash: str


class _Words(TypedDict):
    title: str
    text: str


class _Scenarios(TypedDict):
    name: str
    taken: str
    hash: str
    measured_hash: str
    n: int
    archetypes: NotRequired[dict[str, _Words]]  # that the set brought, by name


class _Ended(TypedDict):
    at: str
    how: str
    why: str | None


class _Session(TypedDict):
    started: str
    command: NotRequired[list[str]]
    ended: NotRequired[_Ended | None]


class _Look(TypedDict):
    first: str
    share: float
    below: float
    seed: int


class _Audit(TypedDict):
    kind: Literal["swap", "repeat"]
    of: str
    sample: NotRequired[int | None]
    seed: NotRequired[int]


class _VerdictSet(TypedDict):
    created: str
    protocol: str
    settings: _Json
    prompts: _Prompts
    models: dict[str, _About]
    sessions: list[_Session]
    second: NotRequired[_Look]
    audit: NotRequired[_Audit]


class _Record(TypedDict):
    maskbench: str
    created: str
    protocol: str
    prompts: _Prompts
    settings: _Json
    scenarios: _Scenarios
    models: dict[str, _About]
    sessions: list[_Session]
    verdict_sets: NotRequired[dict[str, _VerdictSet]]


def wrong_record(record: Mapping[str, Any]) -> str | None:
    """What run.json should hold and does not; None where all is well."""
    if problem := misfit(record, _Record):
        return problem
    models: list[tuple[str, Any, tuple[str, ...]]] = [("models", record["models"], ("subject", "binary", "numeric"))]
    models += [(f"verdict_sets.{name}.models", each["models"], ("binary", "numeric")) for name, each in _sets(record)]
    for where, roles, wanted in models:
        for role in wanted:
            if "name" not in roles.get(role, {}):
                return f"there is no {where}.{role}.name"
    if problem := misfit(record["models"]["subject"].get("planted"), _Planted | None, "models.subject.planted"):
        return problem
    audits = ((name, each["audit"]) for name, each in _sets(record) if "audit" in each)
    return next((f"verdict_sets.{name}.audit is no audit" for name, each in audits if not _is_audit(each)), None)


def wrong_model(about: Mapping[str, Any]) -> str | None:
    """What a model says of itself that run.json cannot hold, or could not be read by again; None where all is well."""
    try:
        orjson.dumps(about)
    except TypeError as error:
        return f"it is no JSON ({error})"
    return misfit(about, _About)


def _sets(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return list(record.get("verdict_sets", {}).items())


def _is_audit(plain: Mapping[str, Any]) -> bool:
    return plain.keys() <= _Audit.__annotations__.keys() and misfit(plain, _Audit) is None


def wrong_settings(settings: Settings) -> str | None:
    """Which setting no run can have; None where all are well."""
    if problem := misfit(settings, Settings, "settings"):
        return problem
    numbers: dict[str, Any] = {name: getattr(settings, name) for name in {**LEAST, **MOST}}
    for name, value in numbers.items():
        if not LEAST.get(name, 0) <= value <= MOST.get(name, math.inf):
            return f"settings.{name} is {value}"
    for name in ("sampling", "judge_sampling"):
        if problem := _wrong_sampling(getattr(settings, name), f"settings.{name}"):
            return problem
    if settings.rules not in RULES:
        return f'settings.rules is "{settings.rules}"'
    rest = {"max_error_rate": 0 <= settings.max_error_rate <= 1, "strength": math.isfinite(settings.strength)}
    rest["timeout"] = 0 < settings.timeout < math.inf
    return next(
        (f"settings.{name} is {getattr(settings, name)}" for name, is_well in rest.items() if not is_well), None
    )


def _wrong_sampling(sampling: Sampling, where: str) -> str | None:
    if not 0 <= sampling.temperature <= 2:
        return f"{where}.temperature is {sampling.temperature}"
    return None if sampling.max_tokens >= 1 and sampling.reasoning_tokens >= 0 else f"{where} leaves no tokens"
