"""From the settings of a run to a model in this process; what can be checked without its weights is checked first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from maskbench.doors import Options, fields
from maskbench.errors import RunMismatch, UnknownModel, UsageError
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
from maskbench.types import Stage

if TYPE_CHECKING:
    from maskbench.models.hf.batches import Steering
    from maskbench.models.hf.loading import Loaded
    from maskbench.models.hf.model import HfModel


@dataclass(frozen=True, kw_only=True)
class HfOptions(Options):
    """What a transformers model in this process takes."""

    stages: ClassVar[tuple[Stage, ...]] = ("subject",)

    @classmethod
    def check_name(cls, name: str) -> None:
        """Raise UnknownModel where nothing stands behind the slash."""
        place_of(name)

    def check(self, name: str) -> None:
        """Raise for a model that cannot be opened, an adapter or steering that cannot fit, before weights are read.

        A model on the hub is downloaded.
        """
        require_torch()
        subject = self.settings.subject
        check_quantize(subject.quantize)
        place = place_of(name)
        folder = folder_of(place, self.environ)
        check_safetensors(folder, place)
        device_of(self.settings.pace.device)
        about = shape(place, folder, subject.trust_remote_code)
        if subject.adapter:
            adapter_hash(Path(subject.adapter))
            check_base(Path(subject.adapter), place, folder)
        if (steering := _steering(self.settings)) is not None:
            steering.check(about.layers, about.hidden, place)

    def base(self, place: str) -> Loaded:
        """The model without an adapter, its template with its arguments; raises as `load` does."""
        subject, device = self.settings.subject, self.settings.pace.device
        how = subject.dtype, subject.quantize, device, subject.trust_remote_code, subject.template_args
        key = (place, *map(str, how))
        if key not in self.kept:
            self.kept[key] = load(
                place,
                dtype=subject.dtype,
                quantize=subject.quantize,
                device=device,
                trust_remote_code=subject.trust_remote_code,
                environ=self.environ,
                template_args=fields(subject.template_args),
            )
        loaded: Loaded = self.kept[key]
        return loaded


def open_hf(name: str, options: HfOptions) -> HfModel:
    """The subject `hf/NAME_OR_PATH` with what its options do to it; raises as `load` does."""
    require_torch()
    from maskbench.models.hf.model import HfModel

    settings = options.settings
    loaded = options.base(place_of(name))
    let_go: Callable[[], object] | None = None
    if settings.subject.adapter:
        loaded = with_adapter(loaded, Path(settings.subject.adapter))
        let_go = partial(without_adapter, loaded)
    try:
        return HfModel(
            name,
            loaded,
            options.sampling,
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
