"""A model as copies on a cluster.

Flow, limits, pace and the one writer of a run stay in this process, and an ask brings its seeds along, so that a reply
does not hang on where it was made. Keys are in nothing that the cluster keeps: they travel with calls, and stay in
memory.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import Interrupted, MaskbenchError, ModelError, UsageError
from maskbench.types import Ask, Failure, Reply
from maskbench_whitebox.cluster import connection as cluster
from maskbench_whitebox.cluster.connection import RESTARTS, awaited, cause_of, why_of
from maskbench_whitebox.cluster.places import Place, by_node, lines
from maskbench_whitebox.cluster.worker import Answered, Open, Opened, versions

if TYPE_CHECKING:
    from maskbench_whitebox.models.opening import HfOptions

TRIES = 3  # of an ask whose worker was lost
LOOK = 0.5  # seconds between two looks at a worker that is gone
TOLD = 10.0  # seconds after which a user hears that a model waits for room
_ANYWHERE = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE")  # what is true on any machine
Tell = Callable[[str], object]
BASE = 2**29  # bytes that a worker takes without weights
ROOM = 1.25  # times the weights: what answers under way take besides
WIDENED = 2  # times a checkpoint of 16 bits that a CPU reads into 32
GIB = 2**30
# Memory in GiB by the name that Ray gives to a kind of GPU (ray.util.accelerators), the smallest that is sold so.
_MEMORY = {
    "H100": 80,
    "H200": 141,
    "B200": 180,
    "A100-40G": 40,
    "A100-80G": 80,
    "A100": 40,
    "L40S": 48,
    "L4": 24,
    "A10G": 24,
    "A10": 24,
    "RTX-A6000": 48,
    "V100": 16,
    "P100": 16,
    "T4": 16,
}
_KIND = "accelerator_type:"


def open_copies(
    name: str, address: str, options: HfOptions, weights: Path, opening: Callable[[str | None], Open]
) -> ClusterModel:
    """As many copies as the machines have room for; raises UsageError as `joined` does.

    Each is opened by what `opening` gives for the device that it computes on.
    """
    with ExitStack() as stack:
        stack.enter_context(cluster.joined(address))
        nodes = cluster.nodes()
        demand = demand_of(options, weights, nodes)
        check_gpus(name, options, demand)
        count = capacity(demand, nodes)
        if not count:
            raise UsageError(
                f"{name} does not fit the cluster: each copy takes {demand.words}. {in_words(nodes)} Add a machine, or "
                "change -M threads or -M gpus_per_model."
            )
        model = ClusterModel(
            name,
            opening("auto" if demand.gpus > 1 else options.device),
            demand,
            count,
            environ=options.environ,
            tell=options.tell,
            patience=options.settings.pace.timeout,
        )
        model.leave = stack.pop_all().close
    return model


class ClusterModel:
    """A local model as `count` copies on a cluster: each ask goes to the copy that has the fewest."""

    def __init__(
        self,
        name: str,
        opening: Open,
        demand: Demand,
        count: int,
        *,
        environ: Mapping[str, str] | None = None,
        tell: Tell = print,
        patience: float = 300.0,
    ) -> None:
        """Wait for the first copy; the others join when they are there.

        Raises ModelError where no copy has room within `patience` seconds, and whatever opening the model raises.
        """
        self.name, self._tell, self._patience, self._demand = name, tell, patience, demand
        self.leave: Callable[[], object] | None = None  # what lets go of the cluster
        self._call = opening, {key: value for key, value in (environ or {}).items() if key in _ANYWHERE}
        self._places = cluster.workers(count, num_cpus=demand.cpus, num_gpus=demand.gpus, memory=demand.memory)
        self._drained: str | None = None
        self._last = asyncio.Lock()
        try:
            first = self._first()
        except BaseException:
            self.release()
            raise
        self.together, self.queues, self._about = first.together, first.queues, first.about

    def _first(self) -> Opened:
        """Wait until a copy is there; any of them may be the first."""
        references = {place.actor.open.remote(*self._call): place for place in self._places}
        began, is_told = time.monotonic(), False
        while references:
            for reference, opened in cluster.answers(list(references), LOOK):
                place = references.pop(reference)
                if isinstance(opened, Opened):
                    return self._take_in(place, opened)
                place.gone = why_of(opened)
                if isinstance(cause := cause_of(opened), MaskbenchError):
                    raise cause
            waited = time.monotonic() - began
            if waited > self._patience:
                raise ModelError(f"{self._waits} Nothing was free in {waited:.0f} s. Free them, or add a machine.")
            if waited > TOLD and not is_told:
                is_told = True
                self._tell(self._waits)
        raise self._hopeless()

    @property
    def _waits(self) -> str:
        return f"{self.name} waits for room on the cluster: each copy takes {self._demand.words}."

    def _take_in(self, place: Place, opened: Opened) -> Opened:
        if opened.versions != versions():
            there, here = (f"maskbench {of[0]} on Python {of[1]}" for of in (opened.versions, versions()))
            raise ModelError(f"{opened.node} has {there}, and this machine {here}. Install the same on both.")
        place.is_up, place.node = True, opened.node
        return opened

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure | None]:
        """Have a copy answer; another one where it is lost.

        An ask that three copies were lost at has failed; the third has no other such ask beside it, as one may have
        taken the others down. Raises ModelError where no copy is left, none ever answered, or the model fails on each
        that is tried, and Interrupted once drained.
        """
        error: BaseException | None = None
        for tries in range(1, TRIES + 1):
            async with self._last if tries == TRIES else nullcontext():
                answered = await self._tried(ask)
            if isinstance(answered, Answered):
                return answered.answers
            error = answered
        if isinstance(error, ModelError):
            raise error
        why = f"{TRIES} workers were tried. The last: {why_of(error)}"
        if not any(place.replies for place in self._places):
            raise ModelError(f"{self.name} has answered nothing on the cluster. {why}")
        return [Failure("subject", "raised", why) for _ in ask.runs]

    async def _tried(self, ask: Ask) -> Answered | BaseException | None:
        """What the copy with the fewest asks says to this one, or raised; None where it was restarted meanwhile."""
        place = await self._free()
        place.under_way += 1
        try:
            answered: Answered | None = await awaited(place.actor.ask.remote(ask))
        except Exception as raised:
            error = cause_of(raised)
            if isinstance(error, Interrupted):
                raise error from None
            if error is raised or isinstance(error, MemoryError):  # not what its model raised
                self._lost(place, raised)
            return error
        finally:
            place.under_way -= 1
        if answered is None:
            place.is_up = False
        else:
            place.take(answered)
        return answered

    async def _free(self) -> Place:
        """The copy with the fewest asks, once there is one."""
        began = time.monotonic()
        while True:
            for place in self._places:
                if not (place.is_up or place.gone or place.back):
                    place.back = asyncio.create_task(self._come(place))
            if self._drained is not None:
                raise Interrupted(self._drained)
            if up := [place for place in self._places if place.is_up]:
                return min(up, key=lambda place: place.under_way)
            if all(place.gone for place in self._places):
                raise self._hopeless()
            if time.monotonic() - began > self._patience:
                raise ModelError(f"{self._waits} None came back in {self._patience:.0f} s. Add a machine, and go on.")
            await asyncio.sleep(LOOK / 5)

    async def _come(self, place: Place) -> None:
        """Open the copy's model as soon as Ray has (re)started it."""
        while not (place.is_up or place.gone):
            try:
                self._take_in(place, await awaited(place.actor.open.remote(*self._call)))
                if place.restarts:
                    self._tell(f"A worker of {self.name} is back, on {place.node}.")
            except Exception as error:
                if cluster.is_over(error) or isinstance(cause_of(error), MaskbenchError):
                    place.gone = why_of(error)
                    self._tell(f"A worker of {self.name} is given up: {place.gone}")
                else:
                    await asyncio.sleep(LOOK)
        place.back = None

    def _lost(self, place: Place, error: BaseException) -> None:
        """Note that a copy is away; Ray restarts it, here or on another machine."""
        if not place.is_up:
            return
        place.lose()
        if isinstance(cause_of(error), MemoryError):
            cluster.restart(place)
        self._tell(f"A worker of {self.name} on {place.node} was lost, and Ray restarts it: {why_of(error)}")

    def _hopeless(self) -> ModelError:
        why = next((place.gone for place in self._places if place.gone), "")
        return ModelError(f"{self.name} has no worker left, though each was restarted up to {RESTARTS} times: {why}")

    @property
    def warnings(self) -> list[str]:
        """What the copies warn of, and how much each machine did."""
        theirs = dict.fromkeys(line for place in self._places for line in place.warnings)
        return [*theirs, *lines(self.name, self._places)]

    @property
    def drawn(self) -> int:
        """The tokens drawn by all copies, as far as their answers have told."""
        return sum(place.drawn_before + place.drawn for place in self._places)

    def describe(self) -> dict[str, Any]:
        """What the first copy says of itself, and what each machine did."""
        return {**self._about, "cluster": by_node(self._places)}

    def drain(self, why: str) -> None:
        """Begin nothing any more."""
        self._drained = why
        for place in self._places:
            if place.is_up:
                place.actor.drain.remote(why)

    async def close(self) -> None:
        """Give the machines back."""
        self.release()

    def release(self) -> None:
        """End all copies; who still waits hears nothing more."""
        cluster.end(self._places)
        if self.leave is not None:
            self.leave()
            self.leave = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What one copy takes of a machine, in Ray's resources."""

    cpus: float
    gpus: float
    memory: int

    @property
    def resources(self) -> dict[str, float]:
        """As a machine of the cluster lists what it has."""
        return {"CPU": self.cpus, "GPU": self.gpus, "memory": self.memory}

    @property
    def words(self) -> str:
        """For people: 1 CPU, 0.5 GPU and 3.2 GiB of memory."""
        gpus = f", {self.gpus:g} GPU" if self.gpus else ""
        return f"{self.cpus:g} CPU{gpus} and {self.memory / GIB:.1f} GiB of memory"


def demand_of(options: HfOptions, weights: Path, nodes: Sequence[Mapping[str, float]]) -> Demand:
    """What a copy of the model takes; `weights` is its folder, `nodes` are the resources of each machine.

    On a CPU that is memory for the weights, on GPUs so many that the weights fit, where Ray knows their kind.
    """
    size = sum(file.stat().st_size for file in weights.glob("*.safetensors"))
    cpus, on_gpus = float(options.threads or 1), any(node.get("GPU") for node in nodes)
    if not on_gpus or options.device == "cpu":
        return Demand(cpus, 0, BASE + int(ROOM * WIDENED * size))
    return Demand(cpus, options.gpus_per_model or _gpus(size, nodes), BASE)


def check_gpus(name: str, options: HfOptions, demand: Demand) -> None:
    """Raise UsageError for GPUs that are asked for and a model that would be computed on CPUs instead."""
    if options.gpus_per_model is None or demand.gpus:
        return
    on_cpu = options.device == "cpu"
    why = "-M device is cpu" if on_cpu else "no machine of the cluster has a GPU that Ray knows of"
    raise UsageError(
        f"-M gpus_per_model={options.gpus_per_model:g}: {name} would be computed on CPUs, as {why}. Leave it out, or "
        "mend that."
    )


def _gpus(size: int, nodes: Iterable[Mapping[str, float]]) -> int:
    """The GPUs that weights need, of the smallest kind there is; one where Ray does not know the kind."""
    kinds = (name.removeprefix(_KIND) for node in nodes for name in node if name.startswith(_KIND))
    memories = [_MEMORY[kind] * GIB for kind in kinds if kind in _MEMORY]
    return math.ceil(ROOM * size / min(memories)) or 1 if memories else 1


def capacity(demand: Demand, nodes: Iterable[Mapping[str, float]]) -> int:
    """How many copies the machines have room for while nothing else is on them."""
    needs = {name: amount for name, amount in demand.resources.items() if amount}
    # Ray counts in ten thousandths, and 0.9 // 0.3 is 2.
    return sum(min(int(round(node.get(name, 0.0) / amount, 4)) for name, amount in needs.items()) for node in nodes)


def in_words(nodes: Sequence[Mapping[str, float]]) -> str:
    """What the largest machine has, for people."""
    if not nodes:
        return "The cluster has no machine that is up."
    most = {name: max(node.get(name, 0.0) for node in nodes) for name in ("CPU", "GPU", "memory")}
    has = Demand(most["CPU"], most["GPU"], int(most["memory"])).words
    return f"Of {len(nodes)} machines none has more than {has}."
