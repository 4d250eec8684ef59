"""From the settings of a run to a model in this process; what can be checked without its weights is checked first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from maskbench.errors import RunMismatch, UnknownModel, UsageError
from maskbench.models.chat.extra_fields import fields
from maskbench.models.hf.adapters import adapter_hash, check_base, with_adapter, without_adapter
from maskbench.models.hf.loading import (
    check_quantize,
    check_safetensors,
    device_of,
    folder_of,
    load,
    require_torch,
    shape,
)
from maskbench.models.hf.vectors import load_vectors
from maskbench.settings import Settings

if TYPE_CHECKING:
    from maskbench.models.hf.batches import Steering
    from maskbench.models.hf.loading import Loaded
    from maskbench.models.hf.model import HfModel


class Stock:
    """Base models that are kept from one run to the next; each is loaded when a run first needs it."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, ...], Loaded] = {}

    def __len__(self) -> int:
        return len(self._loaded)

    def base(self, place: str, settings: Settings, environ: Mapping[str, str]) -> Loaded:
        """The model without an adapter, its template with its arguments; raises as `load` does."""
        how = (
            settings.subject.dtype,
            settings.subject.quantize,
            settings.pace.device,
            settings.subject.trust_remote_code,
            settings.subject.template_args,
        )
        key = (place, *map(str, how))
        if key not in self._loaded:
            self._loaded[key] = load(
                place,
                dtype=settings.subject.dtype,
                quantize=settings.subject.quantize,
                device=settings.pace.device,
                trust_remote_code=settings.subject.trust_remote_code,
                environ=environ,
                template_args=fields(settings.subject.template_args),
            )
        return self._loaded[key]


def open_hf(name: str, settings: Settings, environ: Mapping[str, str], stock: Stock | None = None) -> HfModel:
    """The subject `hf/NAME_OR_PATH` with what the settings do to it; raises as `load` does.

    `stock` keeps the base model for the next run; without it, its memory is free once the model is closed.
    """
    require_torch()
    from maskbench.models.hf.model import HfModel

    loaded = (Stock() if stock is None else stock).base(place_of(name), settings, environ)
    let_go: Callable[[], object] | None = None
    if settings.subject.adapter:
        loaded = with_adapter(loaded, Path(settings.subject.adapter))
        let_go = partial(without_adapter, loaded)
    try:
        return HfModel(
            name,
            loaded,
            settings.subject.sampling,
            on_truncation=settings.subject.on_truncation,
            batch_tokens=settings.pace.batch_tokens,
            threads=settings.pace.threads,
            steering=_steering(settings),
            let_go=let_go,
        )
    except BaseException:
        if let_go is not None:
            let_go()
        raise


def check_hf(name: str, settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise for a model that cannot be opened, an adapter or steering that cannot fit, before weights are read.

    A model on the hub is downloaded.
    """
    require_torch()
    check_quantize(settings.subject.quantize)
    place = place_of(name)
    folder = folder_of(place, environ)
    check_safetensors(folder, place)
    device_of(settings.pace.device)
    about = shape(place, folder, settings.subject.trust_remote_code)
    if settings.subject.adapter:
        adapter_hash(Path(settings.subject.adapter))
        check_base(Path(settings.subject.adapter), place, folder)
    if (steering := _steering(settings)) is not None:
        steering.check(about.layers, about.hidden, place)


def check_options(settings: Settings) -> None:
    """Raise UsageError for options of models in this process that nothing here can follow."""
    subject = settings.subject.name
    for option, value in (("--adapter", settings.subject.adapter), ("--steer", settings.subject.steer)):
        if value and not is_local(subject):
            instead = "hf/pinocchio" if subject == "pinocchio" else "hf/NAME_OR_PATH"
            served = " A server's adapter is a model of its own: vllm/ADAPTER." if option == "--adapter" else ""
            raise UsageError(f"{option} needs a model in this process, as {instead}; {subject} is none.{served}")
    given = {
        "dtype": settings.subject.dtype != "auto",
        "quantize": settings.subject.quantize,
        "device": settings.pace.device,
        "batch-tokens": settings.pace.batch_tokens,
        "threads": settings.pace.threads,
        "trust-remote-code": settings.subject.trust_remote_code,
    }
    for option, is_given in given.items():
        if is_given and not is_local(subject):
            raise UsageError(f"--{option} is for a model in this process (hf/NAME_OR_PATH), and {subject} is none.")


def is_local(name: str) -> bool:
    """Whether a model's name says that it runs in this process."""
    return name.startswith("hf/")


def identified(settings: Settings) -> Settings:
    """The settings with the hashes of adapter and vectors as they are now.

    Files that are gone keep the hash that the settings know: a finished run needs them no more. Raises RunMismatch
    for files that are no longer what they were, UsageError where there is nothing to read.
    """
    if settings.subject.steer is not None:
        require_torch()
    adapter = _hash(settings.subject.adapter, settings.subject.adapter_hash, adapter_hash)
    steer = _hash(settings.subject.steer, settings.subject.steer_hash, lambda path: load_vectors(path).content_hash)
    return settings.having(adapter_hash=adapter, steer_hash=steer)


def _hash(path: str | None, known: str | None, read: Callable[[Path], str]) -> str | None:
    if path is None:
        return None
    if known is not None and not Path(path).exists():
        return known
    now = read(Path(path))
    if known is not None and now != known:
        raise RunMismatch(
            f"{path} has changed since the run was begun (hash {known}, now {now}). Restore it, or begin another run."
        )
    return now


def place_of(name: str) -> str:
    """The folder or the name on the hub in a model's name; raises UnknownModel where there is none."""
    place = name.partition("/")[2]
    if not place:
        raise UnknownModel(f"{name}: give a folder or a name on the hub, as in hf/Qwen/Qwen3-0.6B.")
    return place


def _steering(settings: Settings) -> Steering | None:
    from maskbench.models.hf.batches import Steering

    if settings.subject.steer is None:
        return None
    return Steering(load_vectors(Path(settings.subject.steer)), settings.subject.layers, settings.subject.strength)
