"""Every form of a model's name, the variables that each needs, and whether these are set; never what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Literal

from msgspec import Struct

from maskbench.models.brought import PLACE, WHITE_BOX, brought
from maskbench.models.chat.services import ANY, SERVICES, base_variable, key_variables
from maskbench.models.inspect_provider import key_variables_of
from maskbench.models.install import extra

Sort = Literal["service", "own server", "inspect", "in this process"]
_ADDRESS = re.compile(r"([A-Z][A-Z0-9_]*)_BASE_URL")
_BY_INSPECT = {  # the providers that people ask for most, and the package that each needs
    "anthropic": "anthropic",
    "google": "google-genai",
    "bedrock": "aiobotocore",
    "azureai": "azure-ai-inference",
    "mistral": "mistralai",
}
_MODULES = {"google-genai": "google.genai", "azure-ai-inference": "azure.ai.inference"}


class VariableShown(Struct, frozen=True, forbid_unknown_fields=True):
    """One variable of the environment: whether it is set; `needed` where nothing can be asked without it."""

    name: str
    is_set: bool
    needed: bool


class KnownModels(Struct, frozen=True, forbid_unknown_fields=True):
    """One form of a name, what it is, which variables it has, and whether all that it needs is there.

    One variable of several keys is enough. `lacks` names what is to be installed.
    """

    name: str
    sort: Sort
    about: str
    variables: list[VariableShown]
    ready: bool
    lacks: str = ""


class KnownModelsData(Struct, frozen=True, forbid_unknown_fields=True):
    """`maskbench doctor --json` without a model."""

    models: list[KnownModels]
    schema: int = 1


def known_models(environ: Mapping[str, str]) -> list[KnownModels]:
    """Every form of a name, services first; `environ` is asked for names alone."""
    return [*_services(environ), *_own(environ), *_by_inspect(environ), *_here(environ)]


def _shown(environ: Mapping[str, str], names: tuple[str, ...], *, needed: bool) -> list[VariableShown]:
    return [VariableShown(name, bool(environ.get(name, "").strip()), needed) for name in names]


def _services(environ: Mapping[str, str]) -> Iterator[KnownModels]:
    for name, service in SERVICES.items():
        keys = _shown(environ, key_variables(name), needed=not service.local)
        place = _shown(environ, (base_variable(name),), needed=False)
        ready = service.local or any(key.is_set for key in keys)
        sort: Sort = "own server" if service.local else "service"
        yield KnownModels(f"{name}/NAME", sort, service.address, [*keys, *place], ready)


def _own(environ: Mapping[str, str]) -> Iterator[KnownModels]:
    """The servers that the environment names, and the form of their name."""
    taken = {base_variable(name) for name in SERVICES}
    for variable in sorted(environ):
        match = _ADDRESS.fullmatch(variable)
        if match and variable not in taken and environ[variable].strip():
            service = match[1].lower().replace("_", "-")
            given = [
                *_shown(environ, (variable,), needed=True),
                *_shown(environ, key_variables(service), needed=False),
            ]
            yield KnownModels(f"{ANY}/{service}/NAME", "own server", "an address of your own", given, ready=True)
    about = "any other service, or a server of your own"
    any_ = [VariableShown("SERVICE_BASE_URL", False, True), VariableShown("SERVICE_API_KEY", False, False)]
    yield KnownModels(f"{ANY}/SERVICE/NAME", "own server", about, any_, ready=False)


def _by_inspect(environ: Mapping[str, str]) -> Iterator[KnownModels]:
    has_inspect = _is_there("inspect_ai")
    for name, package in _BY_INSPECT.items():
        keys = _shown(environ, key_variables_of(name), needed=True)
        lacking = [] if has_inspect else extra("inspect")
        lacking += [] if _is_there(_MODULES.get(package, package)) else [package]
        enough = all if name == "bedrock" else any
        ready = not lacking and enough(key.is_set for key in keys)
        yield KnownModels(f"inspect/{name}/NAME", "inspect", "a provider of Inspect AI", keys, ready, " ".join(lacking))
    lacks = "" if has_inspect else " ".join(extra("inspect"))
    yield KnownModels("inspect/PROVIDER/NAME", "inspect", "any other provider of Inspect AI", [], False, lacks)


def _here(environ: Mapping[str, str]) -> Iterator[KnownModels]:
    is_there, token = brought(WHITE_BOX) is not None, _shown(environ, ("HF_TOKEN",), needed=False)
    lacks = "" if is_there else PLACE
    yield KnownModels("hf/NAME_OR_PATH", "in this process", "a transformers model", token, is_there, lacks)
    for name, about in (
        ("pinocchio", "the small model that comes with maskbench (subject)"),
        ("rules/sandbox", "the judge that reads pinocchio"),
        ("scripted/FILE.json", "answers by rule"),
        ("sim", "simulated subject, with known rates; sim-judge judges it"),
    ):
        yield KnownModels(name, "in this process", about, [], ready=True)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
