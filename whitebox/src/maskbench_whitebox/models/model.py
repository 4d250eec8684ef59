"""A transformers model in this process as the subject.

Samples are answered many at a time, in a thread of their own; the event loop stays free. Each is handed over when it
ends, and whoever waits takes its row. Samples of one prompt that begin together are drawn from one reading of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from maskbench.doors import (
    Split,
    before_mark,
    control_mark,
    is_organism,
    is_visible,
    split_reasoning,
    tag_warning,
    unknown_tag,
)
from maskbench.errors import Interrupted, ModelError, UsageError
from maskbench.settings import Truncation
from maskbench.types import Ask, Failure, Reply, Sampling, Usage
from maskbench_whitebox.models.batches import Engine, NoRoom, Steering, free
from maskbench_whitebox.models.decoding import Sample
from maskbench_whitebox.models.steering import checked_layers

if TYPE_CHECKING:
    from maskbench_whitebox.models.loading import Loaded

LULL = 0.002  # seconds without a new ask, after which a batch begins
IGNORED = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")  # of the model's own generation settings


class HfModel:
    """A subject in this process.

    `batch_tokens` bounds what may be held at a time, prompts and answers together; where memory runs out all the
    same, it is halved for good. `threads` is for what torch computes on a CPU, None for the quicker of one and all.
    `let_go` is called on closing.
    """

    together = False  # each sample is handed over when it ends, and does not wait for others
    queues = True  # the more asks wait, the better batches can be filled

    def __init__(
        self,
        name: str,
        loaded: Loaded,
        sampling: Sampling,
        *,
        on_truncation: Truncation = "judge",
        batch_tokens: int | None = None,
        threads: int | None = None,
        steering: Steering | None = None,
        let_go: Callable[[], object] | None = None,
    ) -> None:
        """Raises UsageError for steering that does not fit the model."""
        self.name = name
        self._engine: Engine | None = Engine(loaded, steering, batch_tokens, threads)
        self._sampling = sampling
        self._on_truncation = on_truncation
        self._let_go = let_go
        self._about = _about(name, self._engine, sampling, steering)
        self._warned: dict[str, str] = {}
        self._waiting: list[Sample] = []
        self._work: asyncio.Task[None] | None = None
        self._closing = False
        self._drained: str | None = None  # why nothing is begun any more
        self._drawn = 0
        if loaded.chat.opens:
            self._expect_reasoning(self._engine)

    @property
    def warnings(self) -> list[str]:
        """Lines that a user should see once."""
        return list(self._warned.values())

    @property
    def drawn(self) -> int:
        """The tokens that were drawn so far, those of answers under way among them."""
        return self._drawn if self._engine is None else self._engine.drawn

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One reply a run, drawn with the seed of that run; raises ModelError where torch fails."""
        loaded = self._opened().loaded
        if self._drained is not None:
            raise Interrupted(self._drained)
        try:
            prompt = tuple(loaded.prompt(ask.messages))
        except UsageError as error:  # the template refuses this conversation; it may take others
            return [Failure("subject", "bad_request", str(error)) for _ in ask.runs]
        room = loaded.context - len(prompt)
        if room < 1:
            detail = f"The prompt has {len(prompt)} tokens; {self.name} reads fewer than {loaded.context}."
            return [Failure("subject", "too_large", detail) for _ in ask.runs]
        first, heat = min(self._sampling.max_tokens, room), self._sampling.temperature
        samples = [Sample(prompt, seed, heat, first, room) for seed in ask.seeds]
        await asyncio.gather(*(self._answered(sample) for sample in samples))
        return [sample.failure or self._reply(loaded, sample) for sample in samples]

    def describe(self) -> dict[str, Any]:
        """Which weights, what was done to them, and what they are run by."""
        return self._about

    def drain(self, why: str) -> None:
        """Begin nothing any more: what is under way goes on, who waits or comes later gets Interrupted."""
        self._drained = why
        waiting, self._waiting = self._waiting, []
        for sample in waiting:
            if sample.done is not None and not sample.done.done():
                sample.done.set_exception(Interrupted(why))

    async def close(self) -> None:
        """Stop between two steps and let go of the model; whoever still waits is cancelled."""
        self._closing = True
        if self._work is not None:
            await self._work
        if self._engine is not None:
            self._give_up(self._engine)
            self._drawn = self._engine.drawn
        self._engine = None
        if self._let_go is not None:
            self._let_go()
            self._let_go = None
        free()

    def _opened(self) -> Engine:
        if self._engine is None:
            raise ModelError(f"{self.name} was closed, and answers no more.")
        return self._engine

    # Samples

    async def _answered(self, sample: Sample) -> None:
        sample.done = asyncio.get_running_loop().create_future()
        self._waiting.append(sample)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer(self._opened()))
        await sample.done

    async def _answer(self, engine: Engine) -> None:
        """Answer for as long as anybody waits, and hand each sample over when it ends."""
        try:
            with engine.steered():
                while (self._waiting or engine.samples) and not self._closing:
                    if not engine.samples:
                        await self._lull()
                    engine.admit(self._waiting)
                    await self._advance(engine)
        except ModelError as error:
            self._give_up(engine, error)
        except Exception as error:  # else those who wait would wait for ever
            words = " ".join(str(error).split())[:300]
            self._give_up(engine, ModelError(f"{self.name} failed: {type(error).__name__}: {words}"))

    async def _advance(self, engine: Engine) -> None:
        try:
            _finish(await asyncio.to_thread(engine.advance, self._grown, lambda: self._closing))
        except NoRoom:
            self._shrink(engine, engine.abandon())

    async def _lull(self) -> None:
        """Wait until nobody else comes: the more begin together, the fewer times a prompt is read."""
        seen = 0
        while seen != len(self._waiting):
            seen = len(self._waiting)
            await asyncio.sleep(LULL)

    def _shrink(self, engine: Engine, samples: list[Sample]) -> None:
        """Have samples that did not fit the memory begin anew, fewer at a time; one that does not fit alone fails."""
        if len(samples) == 1:
            (alone,) = samples
            size, device = len(alone.prompt), engine.loaded.device
            detail = f"A prompt of {size} tokens and its answer do not fit the memory of {device}."
            alone.failure = Failure("subject", "too_large", detail)
            return _finish(samples)
        engine.shrink(samples)
        self._about["batch_tokens"] = engine.budget
        self._warned["memory"] = (
            f"{self.name} ran out of memory and went on with batches of at most {engine.budget:,} tokens."
        )
        self._waiting += samples
        return None

    def _give_up(self, engine: Engine, error: Exception | None = None) -> None:
        """Nobody gets an answer any more: all get the error, or are cancelled."""
        for sample in [*engine.abandon(), *self._waiting]:
            if sample.done is not None and not sample.done.done():
                sample.done.cancel() if error is None else sample.done.set_exception(error)
        self._waiting.clear()

    # Answers

    def _grown(self, sample: Sample) -> int:
        """The limit of a sample that has come to its limit: what reasoning may have besides, then twice that, once.

        As the client does with endpoints, only that nothing is asked again: the answer goes on where it stands.
        """
        engine = self._opened()
        text, reasoning, _, _ = _read(engine.loaded, sample)
        full = self._sampling.max_tokens
        if reasoning is not None or not is_visible(text):
            full += self._sampling.reasoning_tokens
            self._expect_reasoning(engine)
        if sample.limit >= min(full, sample.most):
            if sample.doubled or (is_visible(text) and self._on_truncation != "retry"):
                return sample.limit
            sample.doubled, full = True, 2 * full
        return min(full, sample.most)

    def _expect_reasoning(self, engine: Engine) -> None:
        engine.extra = self._sampling.reasoning_tokens

    def _reply(self, loaded: Loaded, sample: Sample) -> Reply | Failure:
        """A finished sample as a reply or a failure."""
        text, reasoning, unclosed, opened = _read(loaded, sample)
        cut = not sample.tokens or sample.tokens[-1] not in loaded.ends
        if (failure := self._trouble(sample, text, cut=cut, unclosed=unclosed)) is not None:
            return failure
        mark = control_mark(text)
        if tag := unknown_tag(text, cut) or (mark and mark[0]):
            self._warned.setdefault("tag", f"{self.name} {tag_warning(tag)}.")
        thought = len(loaded.tokenizer.encode(reasoning, add_special_tokens=False)) if reasoning else None
        return Reply(
            loaded.chat.text(sample.tokens) if opened else text,  # the run decides what a lone closing mark is
            None if opened else reasoning,
            truncated=cut,
            usage=Usage(len(sample.prompt), len(sample.tokens), thought),
            model=loaded.name,
            fingerprint=loaded.fingerprint,
            sent={
                "temperature": sample.temperature,
                "max_tokens": sample.limit,
                "seed": sample.seed,
                "top_p": 1.0,
            },
            seconds=sample.seconds,
        )

    def _trouble(self, sample: Sample, text: str, *, cut: bool, unclosed: bool) -> Failure | None:
        tokens = len(sample.tokens)
        if sample.broken:
            detail = "the logits are no numbers any more: try the dtype bf16 or fp32, or a smaller strength"
            return Failure("subject", "raised", f"{self.name}: {detail}.")
        if unclosed or (cut and not is_visible(text)):
            return Failure("subject", "unclosed_reasoning", f"the answer was still only reasoning at {tokens} tokens")
        if not is_visible(before_mark(text)):
            return Failure("subject", "empty", f"the answer was empty after {tokens} tokens")
        if cut and self._on_truncation != "judge":
            return Failure("subject", "truncated", f"the answer was cut off at {tokens} tokens")
        return None


def _read(loaded: Loaded, sample: Sample) -> Split:
    """Visible text and reasoning of a sample; the template may have opened a think block."""
    answer = loaded.chat.text(sample.tokens)
    return split_reasoning(f"<think>{answer}" if loaded.chat.opens else answer)


def _finish(samples: Sequence[Sample]) -> None:
    for sample in samples:
        if sample.done is not None and not sample.done.done():
            sample.done.set_result(None)


def _about(name: str, engine: Engine, sampling: Sampling, steering: Steering | None) -> dict[str, object]:
    loaded = engine.loaded
    own = loaded.model.generation_config
    ignored = {key: value for key in IGNORED if (value := getattr(own, key, None)) is not None}
    return {
        "name": name,
        "service": "transformers",
        "model": loaded.name,
        "organism": is_organism(loaded.folder),
        "fingerprint": loaded.fingerprint,
        "adapter": loaded.adapter_hash,
        "steering": steering
        and {
            "vectors": steering.vectors.content_hash,
            "layers": list(checked_layers(len(loaded.layers), steering.vectors, steering.layers)),
            "strength": steering.strength,
        },
        "chat_template": loaded.chat.template_hash,
        "folds_system": loaded.chat.folds,
        "context": loaded.context,
        "layers": len(loaded.layers),
        "sampling": asdict(sampling),
        "ignored": ignored,  # the whole distribution is sampled, whatever the model's own settings say
        "dtype": loaded.dtype,
        "device": str(loaded.device),
        **({"quantize": loaded.quantize} if loaded.quantize else {}),
        **({"template_args": dict(loaded.chat.template_args)} if loaded.chat.template_args else {}),
        "threads": engine.threads,
        "batch_tokens": engine.budget,
        "runtime": {package: version(package) for package in ("torch", "transformers", "peft")},
    }
