"""Subjects and judges by name: `SERVICE/NAME` for an endpoint, `hf/NAME_OR_PATH` for a model in this process,
`pinocchio` and `rules/sandbox`, `sim`, `scripted`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from maskbench.errors import MaskbenchError, UnknownModel, UsageError
from maskbench.models.brought import NONE, WHITE_BOX, Brought, Options, brought, lacking, unheard
from maskbench.models.chat.services import ANY, SERVICES
from maskbench.settings import NOBODY, Mark, Settings, Stored
from maskbench.store.masking import keys_in
from maskbench.types import STAGES, Kind, Model, Stage

if TYPE_CHECKING:
    import asyncio

    from maskbench.models.chat.client import ChatModel
    from maskbench.models.chat.pacing import Pace
    from maskbench.models.chat.services import Endpoint


@dataclass(frozen=True, slots=True)
class Defaults:
    """The judge and scenarios of a kind of subject where the user names nothing else."""

    judge: str | None = None
    scenarios: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """A model to be opened: its full name, its part in the run, and all that it may hang on."""

    name: str
    stage: Stage
    settings: Settings
    environ: Mapping[str, str]
    gate: asyncio.Semaphore
    learned: Mapping[str, Any] | None = None
    stock: dict[Any, Any] | None = None  # what models of this process leave for the next
    tell: Callable[[str], object] = unheard

    def __post_init__(self) -> None:
        """Refuse what only a folder gives of a model's own options."""
        check_typed(self.settings, (self.stage,))

    @property
    def rest(self) -> str:
        """The name without its kind: what stands behind the first slash."""
        return self.name.partition("/")[2]


@dataclass(frozen=True, slots=True)
class ModelKind:
    """A kind of model: the word before the first slash of a name that is no service's, and how it is opened.

    `stages` are the parts that it can take. `check` says whether a name can be such a model's, before anything else
    is asked of it; `try_out` what `open` would raise, where opening takes long; `options` are what it takes for itself.
    """

    open: Callable[[Opening], Model]
    stages: tuple[Stage, ...] = ("subject", "judge")
    defaults: Defaults = Defaults()
    check: Callable[[str], object] | None = None
    try_out: Callable[[Opening], object] | None = None
    options: type[Options] = Options


class Reach(NamedTuple):
    """The reach to models: keys and addresses, the gate that they wait at, and where a line for people goes.

    `learned` is what their endpoints taught earlier sessions, by role: subject, binary and numeric.
    """

    environ: Mapping[str, str]
    gate: asyncio.Semaphore
    learned: Mapping[str, Mapping[str, Any]] = {}
    tell: Callable[[str], object] = unheard

    def to(
        self, name: str, role: str, stage: Stage, settings: Settings, stock: dict[Any, Any] | None = None
    ) -> Opening:
        """A model to be opened this way."""
        learned = self.learned.get(role)
        return Opening(name, stage, settings, self.environ, self.gate, learned, stock, self.tell)


def _sim(opening: Opening) -> Model:
    from maskbench.models.sim import SimSubject

    return SimSubject(opening.name, opening.settings.design.seed, opening.settings.design.beliefs)


def _sim_judge(opening: Opening) -> Model:
    from maskbench.models.sim import SimJudge

    return SimJudge(opening.name, opening.settings.design.seed)


def _pinocchio(opening: Opening) -> Model:
    from maskbench.models.pinocchio.network import open_pinocchio

    return open_pinocchio(opening.name, opening.settings.subject.sampling)


def _rules(opening: Opening) -> Model:
    from maskbench.models.pinocchio.rule_judge import NAME, SandboxJudge

    if opening.name != NAME:
        raise UnknownModel(f"There is no judge {opening.name!r}; there is {NAME}.")
    return SandboxJudge()


def _nobody(opening: Opening) -> Model:
    from maskbench.models.scripted import Nobody

    return Nobody({}, opening.name)


def _inspect(opening: Opening) -> Model:
    from maskbench.models.inspect_provider import InspectModel

    given = _asked_by_us(opening, _place_of(opening.name))
    options, arguments = None, None
    if opening.stage == "subject":
        options, arguments = _extra(opening.settings), opening.settings.subject.options
    return InspectModel(opening.name, opening.environ, options, arguments, **given)


def _place_of(name: str) -> Endpoint:
    """Where the pace of a provider is kept: one for all models of one provider."""
    from maskbench.models.chat.services import Endpoint
    from maskbench.models.inspect_provider import service_of, split

    provider, model = split(name)
    return Endpoint(service_of(provider, model), model, f"inspect/{provider}", None)


def _inspect_name(name: str) -> object:
    from maskbench.models.inspect_provider import split

    return split(name)


class ProviderOptions(Options):
    """The options of a provider of Inspect: any names, which go to its constructor."""

    @classmethod
    def read(cls, model: str, typed: Mapping[str, Any]) -> dict[str, Any]:
        """Text is read as JSON where it is that, as in `-M vertex=true`."""
        return {name: _as_json(value) for name, value in typed.items() if value not in (NONE, None)}

    @classmethod
    def typed_again(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """All of them: nobody knows what a provider does by them."""
        return dict(stored)

    @classmethod
    def made(cls, model: str, typed: Mapping[str, Any], **opened: Any) -> Options:
        """They stay in the settings."""
        return cls(**opened)

    def marks(self, known: Mapping[str, Mark]) -> dict[str, Mark]:
        """All of them as one."""
        given = self.settings.subject.options
        words = ", ".join(f"{name}={value}" for name, value in given.items())
        return {"provider_args": Mark(dict(given), words)} if given else {}


def _as_json(value: Any) -> Any:
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        return value


def _scripted(opening: Opening) -> Model:
    from maskbench.models.scripted import load_script

    return load_script(opening.name, Path(opening.rest))


_OF_PINOCCHIO = Defaults(judge="rules/sandbox", scenarios="sandbox")
KINDS: Mapping[str, ModelKind] = {
    "inspect": ModelKind(_inspect, check=_inspect_name, options=ProviderOptions),
    "pinocchio": ModelKind(_pinocchio, ("subject",), _OF_PINOCCHIO),
    "sim": ModelKind(_sim, ("subject",), Defaults(judge="sim-judge", scenarios="starter")),
    "sim-judge": ModelKind(_sim_judge, ("judge",)),
    "rules": ModelKind(_rules, ("judge",)),
    NOBODY: ModelKind(_nobody, ("judge",)),
    "scripted": ModelKind(_scripted),
}


def kind_of(name: str) -> ModelKind | None:
    """The kind of a model by its name, ours or brought by another distribution; None for a service."""
    word = _kind(name)
    if word in KINDS or word == ANY or word in SERVICES:
        return KINDS.get(word)
    if found := brought(word):
        return _as_kind(found)
    if word == WHITE_BOX:
        raise UnknownModel(lacking(name))
    return None


def _as_kind(found: Brought) -> ModelKind:
    """Models of another distribution as a kind."""

    def options(opening: Opening) -> Options:
        typed = opening.settings.subject.options if opening.stage == "subject" else {}
        return found.options.made(
            opening.name,
            typed,
            settings=opening.settings,
            environ=opening.environ,
            stage=opening.stage,
            loaded={} if opening.stock is None else opening.stock,
            tell=opening.tell,
        )

    return ModelKind(
        lambda opening: found.open(opening.name, options(opening)),
        found.options.stages,
        check=found.options.check_name,
        try_out=lambda opening: options(opening).check(opening.name),
        options=found.options,
    )


def identified(settings: Settings) -> Settings:
    """The settings with the subject's own options read as it takes them, and with what they make of it now.

    Raises UsageError for options that it does not take or that cannot be meant, RunMismatch for files that are no
    longer what they were.
    """
    subject = settings.subject
    if not subject.options:
        return settings.having(marks={}) if subject.marks else settings
    taker = _taker(subject.name)
    settings = settings.having(model_options=taker.read(subject.name, subject.options))
    options = taker.made(subject.name, settings.subject.options, settings=settings, environ={})
    return settings.having(marks=options.marks(subject.marks))


def _taker(subject: str) -> type[Options]:
    kind = kind_of(subject)
    return kind.options if kind else Options


def device_of(settings: Settings) -> str | None:
    """The device that the subject has to itself while it is asked; None where there is none, or nobody can tell."""
    subject = settings.subject
    if _kind(subject.name) == "pinocchio":
        return "cpu"
    try:
        return _taker(subject.name).made(subject.name, subject.options, settings=settings, environ={}).occupies()
    except MaskbenchError:
        return None  # an error of the run itself, later


def is_loaded(name: str) -> bool:
    """Whether a model is one of another distribution, which takes a while to be there."""
    kind = kind_of(name)
    return kind is not None and kind.try_out is not None


def typed_again(settings: Settings, stages: Sequence[Stage] = STAGES) -> dict[str, Any]:
    """The subject's own options that count only where somebody types them, where these stages are asked."""
    subject = settings.subject
    if "subject" not in stages or not subject.options:
        return {}
    return _taker(subject.name).typed_again(subject.options)


def check_typed(settings: Settings, stages: Sequence[Stage]) -> None:
    """Raise UsageError where a model would be asked by options that only a folder gives."""
    if isinstance(settings, Stored) and (named := typed_again(settings, stages)):
        raise UsageError(
            f"These settings were read from a folder, and {' and '.join(named)} may run code or open a file here. "
            "Nothing that a folder holds is run unasked. Give them in settings of your own (Settings.of)."
        )


def is_served(name: str) -> bool:
    """Whether a model of this name is at an endpoint: it is of no kind of ours, and no distribution brings it."""
    word = name.partition("/")[0]
    return word not in KINDS and word != WHITE_BOX and (word in SERVICES or brought(word) is None)


def defaults(subject: str) -> Defaults:
    """The defaults of a subject; most have none, and need both to be named."""
    if is_pinocchio(subject):
        return _OF_PINOCCHIO
    kind = kind_of(subject)
    return kind.defaults if kind else Defaults()


def is_pinocchio(subject: str) -> bool:
    """Whether this is pinocchio, embedded or as a model of hf/, trained further or not."""
    if _kind(subject) != WHITE_BOX:
        return _kind(subject) == "pinocchio"
    from maskbench.models.pinocchio.network import is_organism

    return is_organism(subject.partition("/")[2])


def check_name(name: str) -> None:
    """Raise UnknownModel for a name that can be no model's, before anything else is asked of it."""
    from maskbench.models.chat.services import parse

    kind = kind_of(name)
    if kind is None:
        parse(name)
    elif kind.check:
        kind.check(name)


def check_models(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise what opening all models would, as far as can be told without reading gigabytes."""
    _check_one(settings.subject.name, "subject", settings, environ)
    check_judges(settings, environ)


def check_judges(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise what `open_judges` would, as far as can be told without reading gigabytes."""
    for name in settings.judging.judges:
        _check_one(name, "judge", settings, environ)


def _check_one(name: str, stage: Stage, settings: Settings, environ: Mapping[str, str]) -> None:
    if any(key in name for key in keys_in(environ)):
        raise UsageError(
            f"The name of the {stage} holds a key of the environment, and names are written everywhere. Give the "
            "model's name, and the key in its variable alone."
        )
    from asyncio import Semaphore  # loading it takes long, and names alone need none

    opening = Opening(name, stage, settings, environ, Semaphore(1))
    kind = _able(opening)
    if kind and kind.try_out:
        kind.try_out(opening)
    else:
        _open(opening)


def open_subject(settings: Settings, reach: Reach, stock: dict[Any, Any] | None = None) -> Model:
    """The subject; `stock` keeps models in this process for a further run.

    Raises UnknownModel, AccessError or UsageError, before anything is asked.
    """
    return _open(reach.to(settings.subject.name, "subject", "subject", settings, stock))


def open_judges(settings: Settings, reach: Reach) -> dict[Kind, Model]:
    """The judge for each kind of scenario, often one and the same; raises as `open_subject` does."""
    binary = _open(reach.to(settings.judging.judge, "binary", "judge", settings))
    if settings.judging.numeric_judge == settings.judging.judge:
        return {"binary": binary, "numerical": binary}
    return {
        "binary": binary,
        "numerical": _open(reach.to(settings.judging.numeric_judge, "numeric", "judge", settings)),
    }


def _open(opening: Opening) -> Model:
    kind = _able(opening)
    return kind.open(opening) if kind else open_chat(opening)


def _able(opening: Opening) -> ModelKind | None:
    """The kind of a model, None for one at an endpoint; raises UsageError where it cannot take its part in the run."""
    kind = kind_of(opening.name)
    if kind and opening.stage not in kind.stages:
        named = _kind(opening.name)
        if named == WHITE_BOX:
            raise UsageError(
                f"{opening.name} cannot be the judge: a model in this process is only ever the subject, and a judge "
                "is on a server, as in `vllm serve NAME` and --judge vllm/NAME."
            )
        raise UsageError(f"{opening.name} cannot be the {opening.stage}. {named} is a {kind.stages[0]}.")
    return kind


def open_chat(opening: Opening, kind: type[ChatModel] | None = None) -> ChatModel:
    """The client of an endpoint, of a `kind` of one's own where one is given; raises as `open_subject` does."""
    from maskbench.models.chat.client import ChatModel
    from maskbench.models.chat.services import endpoint

    place = endpoint(opening.name, opening.environ)
    extra = _extra(opening.settings) if opening.stage == "subject" else None
    return (kind or ChatModel)(name=opening.name, endpoint=place, extra=extra, **_asked_by_us(opening, place))


def _asked_by_us(opening: Opening, place: Endpoint) -> dict[str, Any]:
    """How a model at an endpoint is asked, whichever way the requests take."""
    from maskbench.models.chat.client import Patience

    settings, subject = opening.settings, opening.stage == "subject"
    return {
        "sampling": settings.subject.sampling if subject else settings.judging.sampling,
        "stage": opening.stage,
        "gate": opening.gate,
        "patience": Patience(timeout=settings.pace.timeout, retries=settings.pace.retries, pace=_pace(opening, place)),
        "on_truncation": settings.subject.on_truncation if subject else "judge",  # a judge that was cut is read, or not
        "send_seed": settings.subject.send_seed,
        "whole_ends": settings.subject.whole_ends,
        "learned": opening.learned,
    }


def _pace(opening: Opening, place: Endpoint) -> Pace:
    """The pace of a service, which all models of a run at one address share, as they share the gate."""
    from maskbench.models.chat.pacing import START, Pace

    paces = opening.gate.__dict__.setdefault("paces", {})
    if place.address not in paces:
        settings = opening.settings
        start = settings.pace.connections if place.local else START
        paces.setdefault(
            place.address, Pace(settings.pace.connections, start, settings.budget.rpm, settings.budget.tpm)
        )
    pace: Pace = paces[place.address]
    return pace


def _extra(settings: Settings) -> dict[str, object]:
    """The fields that a user adds to requests to the subject; a server gets template arguments as one of them."""
    from maskbench.models.chat.extra_fields import fields

    arguments = fields(settings.subject.template_args)
    return {**fields(settings.subject.extra_body), **({"chat_template_kwargs": arguments} if arguments else {})}


def _kind(name: str) -> str:
    if not name:
        raise UnknownModel("A model needs a name, such as openai/gpt-4o or sim.")
    return name.partition("/")[0]
