"""What a transformers model in this process takes, and how it is opened; its options are checked before its weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from maskbench.doors import Options, Takes, fields, unheard
from maskbench.errors import UnknownModel, UsageError
from maskbench.settings import Mark
from maskbench.types import Model, Stage
from maskbench_whitebox.models.adapters import adapter_hash, check_base, with_adapter, without_adapter
from maskbench_whitebox.models.loading import (
    check_quantize,
    check_safetensors,
    device_of,
    folder_of,
    load,
    require_torch,
    shape,
)
from maskbench_whitebox.models.steering import layer_numbers
from maskbench_whitebox.models.vectors import load_vectors

if TYPE_CHECKING:
    from maskbench_whitebox.models.batches import Steering
    from maskbench_whitebox.models.loading import Loaded

_MOST = math.nextafter(math.inf, 0)  # what is larger is infinite


def _of_vectors(path: Path) -> str:
    require_torch()
    return load_vectors(path).content_hash


def _place(words: str) -> Takes:
    """Where and how fast the model computes, which changes no answer."""
    return Takes(words, shapes=False, kept=True)


@dataclass(frozen=True, kw_only=True)
class HfOptions(Options):
    """What a transformers model in this process takes."""

    adapter: Annotated[
        Path | None,
        Takes("A folder: the subject wears this adapter, which PEFT wrote", kept=True, content=adapter_hash),
    ] = None
    steer: Annotated[
        Path | None,
        Takes("A file of vectors, which are added to its hidden states", kept=True, content=_of_vectors),
    ] = None
    layers: Annotated[
        str | None, Takes("The layers to steer from 0, as in 10,12-16; else all that the vectors have", kept=True)
    ] = None
    strength: Annotated[
        float, Meta(ge=-_MOST, le=_MOST), Takes("The vectors are added so many times; it may be negative", kept=True)
    ] = 1.0
    dtype: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"],
        Takes("The type of the weights: auto is the checkpoint's own, fp32 on a CPU", kept=True),
    ] = "auto"
    quantize: Annotated[Literal["4bit", "8bit"] | None, Takes("Weights in fewer bits, by bitsandbytes", kept=True)] = (
        None
    )
    trust_remote_code: Annotated[bool, Takes("The code that the model brings along is run")] = False
    device: Annotated[str | None, _place("cpu, cuda, cuda:1, or auto: its layers over all GPUs")] = None
    batch_tokens: Annotated[
        Annotated[int, Meta(ge=1)] | None, _place("Tokens of prompts and answers that a batch may come to hold")
    ] = None
    threads: Annotated[Annotated[int, Meta(ge=1)] | None, _place("Threads that torch computes with on a CPU")] = None
    cluster: Annotated[
        str | None,
        Takes("Its copies are on this Ray cluster: auto (this machine's), local, or HOST:PORT", shapes=False),
    ] = None
    gpus_per_model: Annotated[
        Annotated[float, Meta(gt=0, le=1024)] | None, _place("GPUs of each copy on the cluster, such as 0.5")
    ] = None

    stages: ClassVar[tuple[Stage, ...]] = ("subject",)

    def __post_init__(self) -> None:
        """Refuse a way to steer without anything to steer by."""
        if self.steer is None and (self.layers is not None or self.strength != 1.0):
            raise UsageError("-M layers and -M strength say how to steer. Give the vectors, too: -M steer=FILE.")

    @classmethod
    def check_name(cls, name: str) -> None:
        """Raise UnknownModel where nothing stands behind the slash."""
        place_of(name)

    def check(self, name: str) -> None:
        """Raise for a model that cannot be opened, an adapter or steering that cannot fit, before weights are read.

        A model on the hub is downloaded.
        """
        require_torch()
        check_quantize(self.quantize)
        place = place_of(name)
        folder = folder_of(place, self.environ)
        check_safetensors(folder, place)
        if self.cluster is None:  # else it is there that a device must be
            device_of(self.device)
        about = shape(place, folder, self.trust_remote_code)
        if self.adapter:
            adapter_hash(self.adapter)
            check_base(self.adapter, place, folder)
        if (steering := self.steering()) is not None:
            steering.check(about.layers, about.hidden, place)

    def occupies(self) -> str:
        """The device, or the whole of the cluster."""
        if self.cluster:
            return "the cluster"
        require_torch()
        device = device_of(self.device)
        return "cuda" if device == "auto" else device

    def marks(self, known: Mapping[str, Mark]) -> dict[str, Mark]:
        """Steering is one mark: by which vectors, where, and how strongly."""
        before = {"steer": Mark(known["steering"].value[0])} if "steering" in known else {}
        made = super().marks({**known, **before})
        steer, _, _ = (made.pop(name, None) for name in ("steer", "layers", "strength"))
        if steer is not None and self.steer is not None:
            layers = None if self.layers is None else list(layer_numbers(self.layers))
            where = "" if layers is None else f" at {', '.join(map(str, layers))}"
            words = f"{self.strength:g}".replace("-", "−") + f" × {self.steer.name}{where}"
            made["steering"] = Mark([steer.value, layers, self.strength], words)
        return made

    def steering(self) -> Steering | None:
        """The vectors, the layers that get them, and how often they are added."""
        from maskbench_whitebox.models.batches import Steering

        if self.steer is None:
            return None
        layers = None if self.layers is None else layer_numbers(self.layers)
        return Steering(load_vectors(self.steer), layers, self.strength)

    def base(self, place: str) -> Loaded:
        """The model without an adapter, its template with its arguments; raises as `load` does."""
        arguments = self.settings.subject.template_args
        key = place, self.dtype, self.quantize, self.device, self.trust_remote_code, arguments
        if key not in self.loaded:
            self.loaded[key] = load(
                place,
                dtype=self.dtype,
                quantize=self.quantize,
                device=self.device,
                trust_remote_code=self.trust_remote_code,
                environ=self.environ,
                template_args=fields(arguments),
            )
        loaded: Loaded = self.loaded[key]
        return loaded


def open_hf(name: str, options: HfOptions) -> Model:
    """The subject `hf/NAME_OR_PATH` with what its options do to it; raises as `load` does."""
    require_torch()
    return _on_cluster(name, options.cluster, options) if options.cluster else _open_here(name, options)


def _open_here(name: str, options: HfOptions) -> Model:
    from maskbench_whitebox.models.model import HfModel

    loaded = options.base(place_of(name))
    let_go: Callable[[], object] | None = None
    if options.adapter:
        loaded = with_adapter(loaded, options.adapter)
        let_go = partial(without_adapter, loaded)
    try:
        return HfModel(
            name,
            loaded,
            options.sampling,
            on_truncation=options.settings.subject.on_truncation,
            batch_tokens=options.batch_tokens,
            threads=options.threads,
            steering=options.steering(),
            let_go=let_go,
        )
    except BaseException:
        if let_go is not None:
            let_go()
        raise


def _on_cluster(name: str, address: str, options: HfOptions) -> Model:
    from maskbench_whitebox.cluster.copies import open_copies

    def opening(device: str | None) -> Callable[[Mapping[str, str]], Model]:
        there = replace(options, cluster=None, device=device, environ={}, loaded={}, tell=unheard)
        return partial(_open_there, name, there)  # keys travel with calls alone

    return open_copies(name, address, options, folder_of(place_of(name), options.environ), opening)


def _open_there(name: str, options: HfOptions, environ: Mapping[str, str]) -> Model:
    """A copy, in a process that has nothing else of the run."""
    return _open_here(name, replace(options, environ=environ))


def place_of(name: str) -> str:
    """The folder or the name on the hub in a model's name; raises UnknownModel where there is none."""
    place = name.partition("/")[2]
    if not place:
        raise UnknownModel(f"{name}: give a folder or a name on the hub, as in hf/Qwen/Qwen3-0.6B.")
    return place
