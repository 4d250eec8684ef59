"""Every form of a model's name, the key that each wants, and whether it is set; never what it holds."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from maskbench.models.chat.services import ANY, SERVICES, base_variable, key_variables
from maskbench.models.inspect_provider import key_variables_of


class KnownModel(Struct, frozen=True, forbid_unknown_fields=True):
    """One form of a name, what it is, the variables that may hold its key, and whether one is (None: it needs none)."""

    name: str
    about: str
    keys: list[str] = []
    is_set: bool | None = None


class KnownModels(Struct, frozen=True, forbid_unknown_fields=True):
    """`maskbench doctor --json` without a model."""

    models: list[KnownModel]
    schema: int = 2


_BY_INSPECT = ("anthropic", "google", "azureai", "mistral")  # those that people ask for most
_OTHERS = (
    KnownModel(f"{ANY}/SERVICE/NAME", "any other, at SERVICE_BASE_URL with SERVICE_API_KEY"),
    KnownModel("inspect/PROVIDER/NAME", "any other provider of Inspect AI"),
    KnownModel("hf/NAME_OR_PATH", "open weights in this process (subject), by maskbench-whitebox"),
    KnownModel("pinocchio", "the small model that comes with maskbench (subject)"),
    KnownModel("rules/sandbox", "the judge that reads pinocchio"),
    KnownModel("scripted/FILE.json", "answers by rule"),
    KnownModel("sim", "simulated subject, with known rates; sim-judge judges it"),
)


def known_models(environ: Mapping[str, str]) -> KnownModels:
    """Every form of a name, services first; `environ` is asked for names alone."""

    def wanting(name: str, about: str, keys: tuple[str, ...]) -> KnownModel:
        return KnownModel(name, about, list(keys), any(environ.get(key, "").strip() for key in keys))

    of_service = [
        KnownModel(f"{name}/NAME", f"{service.address}, or set {base_variable(name)}")
        if service.local
        else wanting(f"{name}/NAME", service.address, key_variables(name))
        for name, service in SERVICES.items()
    ]
    by_inspect = [
        wanting(f"inspect/{name}/NAME", "a provider of Inspect AI", key_variables_of(name)) for name in _BY_INSPECT
    ]
    return KnownModels([*of_service, *by_inspect, *_OTHERS])
