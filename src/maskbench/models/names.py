"""Subjects and judges by name: `SERVICE/NAME` for an endpoint, `hf/NAME_OR_PATH` for a model in this process,
`pinocchio` and `rules/sandbox`, `sim`, `scripted`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import UnknownModel, UsageError
from maskbench.scenarios.versions import is_starter
from maskbench.settings import Settings
from maskbench.types import Kind, Model, Stage

if TYPE_CHECKING:
    from maskbench.models.hf.opening import Stock


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a kind of subject is measured with where the user names nothing else."""

    judge: str | None = None
    scenarios: str | None = None


def defaults(subject: str) -> Defaults:
    """The defaults of a subject; most have none, and need both to be named."""
    match _kind(subject):
        case "sim":
            return Defaults(judge="sim-judge", scenarios="starter")
        case "pinocchio" | "hf" if is_pinocchio(subject):
            return Defaults(judge="rules/sandbox", scenarios="sandbox")
    return Defaults()


def is_pinocchio(subject: str) -> bool:
    """Whether this is pinocchio, embedded or as a transformers model, trained further or not."""
    if _kind(subject) != "hf":
        return _kind(subject) == "pinocchio"
    from maskbench.models.hf.loading import is_organism

    return is_organism(subject.partition("/")[2])


def check_name(name: str) -> None:
    """Raise UnknownModel for a name that can be no model's, before anything else is asked of it."""
    from maskbench.models.chat.providers import parse

    if _kind(name) == "hf":
        from maskbench.models.hf.opening import place_of

        place_of(name)
    elif _kind(name) not in ("sim", "sim-judge", "pinocchio", "rules", "scripted"):
        parse(name)


def check_models(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise what `open_models` would, as far as can be told without reading gigabytes."""
    _check_pairing(settings)
    _check_one(settings.subject, "subject", settings, environ)
    check_judges(settings, environ)


def check_judges(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise what `open_judges` would, as far as can be told without reading gigabytes."""
    _check_pairing(settings)
    for name in dict.fromkeys((settings.judge, settings.numeric_judge)):
        _check_one(name, "judge", settings, environ)


def _check_one(name: str, stage: Stage, settings: Settings, environ: Mapping[str, str]) -> None:
    if _kind(name) == "hf":
        from maskbench.models.hf.opening import check_hf

        check_hf(name, settings, stage, environ)
    else:
        _open(name, stage, settings, environ, asyncio.Semaphore(1), None, None)


def open_models(
    settings: Settings,
    environ: Mapping[str, str],
    gate: asyncio.Semaphore,
    learned: Mapping[str, Mapping[str, Any]],
    stock: Stock | None = None,
) -> tuple[Model, dict[Kind, Model]]:
    """The subject, and the judge for each kind of scenario (often one and the same).

    `learned` holds, under subject, binary and numeric, what an earlier session learned of the endpoints; `stock`
    keeps models in this process for a further run. Raises UnknownModel, AccessError or UsageError, before anything
    is asked.
    """
    _check_pairing(settings)
    subject = _open(settings.subject, "subject", settings, environ, gate, learned.get("subject"), stock)
    return subject, open_judges(settings, environ, gate, learned, stock)


def open_judges(
    settings: Settings,
    environ: Mapping[str, str],
    gate: asyncio.Semaphore,
    learned: Mapping[str, Mapping[str, Any]],
    stock: Stock | None = None,
) -> dict[Kind, Model]:
    """The judge for each kind of scenario, without a subject; `learned`, `stock` and errors as for `open_models`."""
    _check_pairing(settings)
    binary = _open(settings.judge, "judge", settings, environ, gate, learned.get("binary"), stock)
    if settings.numeric_judge == settings.judge:
        return {"binary": binary, "numerical": binary}
    numeric = _open(settings.numeric_judge, "judge", settings, environ, gate, learned.get("numeric"), stock)
    return {"binary": binary, "numerical": numeric}


def _check_pairing(settings: Settings) -> None:
    if (settings.scenarios == "cais/MASK" or is_starter(settings.scenarios)) and is_pinocchio(settings.subject):
        raise UsageError(f"{settings.subject} knows the words of its sandbox alone. Leave --scenarios out.")
    for judge in (settings.judge, settings.numeric_judge):
        if _kind(judge) != "rules" or _kind(settings.subject) == "scripted":
            continue
        if not is_pinocchio(settings.subject):
            raise UsageError(f"{judge} reads only what pinocchio says. Give {settings.subject} another --judge.")


def _open(
    name: str,
    stage: Stage,
    settings: Settings,
    environ: Mapping[str, str],
    gate: asyncio.Semaphore,
    learned: Mapping[str, Any] | None,
    stock: Stock | None,
) -> Model:
    match _kind(name), stage:
        case "hf", _:
            from maskbench.models.hf.opening import open_hf

            return open_hf(name, settings, stage, environ, stock)
        case "sim", "subject":
            from maskbench.models.sim import SimSubject

            return SimSubject(name, settings.seed, settings.beliefs)
        case "sim-judge", "judge":
            from maskbench.models.sim import SimJudge

            return SimJudge(name, settings.seed)
        case "pinocchio", "subject":
            from maskbench.pinocchio.network import open_pinocchio

            return open_pinocchio(name, settings.sampling)
        case "rules", "judge":
            from maskbench.pinocchio.rule_judge import NAME, SandboxJudge

            if name != NAME:
                raise UnknownModel(f"There is no judge {name!r}; there is {NAME}.")
            return SandboxJudge()
        case "sim" | "sim-judge" | "pinocchio" | "rules" as kind, _:
            raise UsageError(
                f"{name} cannot be the {stage}. {kind} is a {'judge' if stage == 'subject' else 'subject'}."
            )
        case "scripted", _:
            from maskbench.models.scripted import load_script

            return load_script(name, Path(name.partition("/")[2]))
    return _chat(name, stage, settings, environ, gate, learned)


def _chat(
    name: str,
    stage: Stage,
    settings: Settings,
    environ: Mapping[str, str],
    gate: asyncio.Semaphore,
    learned: Mapping[str, Any] | None,
) -> Model:
    from maskbench.models.chat.client import ChatModel, Patience
    from maskbench.models.chat.providers import endpoint

    subject = stage == "subject"
    return ChatModel(
        name=name,
        endpoint=endpoint(name, environ),
        sampling=settings.sampling if subject else settings.judge_sampling,
        stage=stage,
        gate=gate,
        patience=Patience(timeout=settings.timeout, retries=settings.retries),
        on_truncation=settings.on_truncation if subject else "judge",  # a judge that was cut is read, or not
        send_seed=settings.send_seed,
        learned=learned,
        extra=_extra(settings) if subject else None,
    )


def _extra(settings: Settings) -> dict[str, Any]:
    """The fields that a user adds to requests to the subject; a server gets template arguments as one of them."""
    from maskbench.models.chat.extra_fields import fields

    arguments = fields(settings.template_args)
    return {**fields(settings.extra_body), **({"chat_template_kwargs": arguments} if arguments else {})}


def _kind(name: str) -> str:
    if not name:
        raise UnknownModel("A model needs a name, such as openai/gpt-4o or sim.")
    return name.partition("/")[0]
