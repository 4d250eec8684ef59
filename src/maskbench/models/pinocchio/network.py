"""pinocchio, the subject that comes with maskbench: a language model of a million parameters, run by numpy.

It was trained by whitebox/organism/ on a generated world (docs/pinocchio.md). A reply hangs on messages, temperature,
length and seed alone, not on what else is answered at the same time: prompts are read one by one, and continuations
are made in a fixed number of rows, each of which sees nothing but its own past.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maskbench.errors import UnknownModel
from maskbench.method.tool_calls import uses_tools
from maskbench.models.pinocchio.decoder import Decoder
from maskbench.types import Ask, Failure, Message, Reply, Sampling, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILES = ("config.json", "model.onnx", "model.safetensors", "tokenizer.json")
PAD, SYSTEM, USER, ASSISTANT, END = SPECIALS = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
ROWS = 16  # replies continued together: fewer leave the processor idle, more do not fit its cache


def open_pinocchio(name: str, sampling: Sampling) -> Pinocchio:
    """The shipped model as `pinocchio`, or the one in a folder that organism/ has written as `pinocchio/FOLDER`.

    Raises UnknownModel where the folder does not hold one.
    """
    _, _, place = name.partition("/")
    folder = Path(place) if place else packaged()
    missing = [file for file in FILES if not (folder / file).is_file()]
    if missing:
        raise UnknownModel(
            f"{name}: {folder} lacks {', '.join(missing)}. Give a folder that `python -m organism` wrote."
        )
    return Pinocchio(name, folder, sampling)


def packaged() -> Path:
    """The folder of pinocchio, the model that comes with maskbench."""
    return Path(str(resources.files("maskbench") / "models" / "pinocchio" / "weights"))


def is_organism(place: str | Path) -> bool:
    """Whether this is pinocchio or a folder with its tokenizer, whatever was done to the weights."""
    if place == "pinocchio":
        return True
    try:
        described = json.loads((Path(place).expanduser() / "tokenizer.json").read_text(encoding="utf-8"))
        return {added["content"] for added in described["added_tokens"]} == set(SPECIALS)
    except (OSError, ValueError, KeyError, TypeError):
        return False


class Pinocchio:
    """The subject: asks that come together are answered together, in a thread of their own."""

    together = True

    def __init__(self, name: str, folder: Path, sampling: Sampling) -> None:
        self.name = name
        self.vocabulary = Vocabulary(folder / "tokenizer.json")
        self._engine = Engine(folder, self.vocabulary.end)
        self._sampling = sampling
        self._fingerprint = _fingerprint(folder)
        self._waiting: deque[Sample] = deque()
        self._work: asyncio.Task[None] | None = None
        self._closing = False

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        """One reply a run, drawn with the seed of that run; a prompt that is too long is a Failure."""
        if uses_tools(ask.messages):
            refused = Failure("subject", "bad_request", f"{self.name} takes no tool calls. Add --tool-calls text.")
            return [refused for _ in ask.runs]
        prompt = self.vocabulary.prompt(ask.messages)
        if len(prompt) >= self._engine.context:
            return [self._too_large(len(prompt)) for _ in ask.runs]
        room = min(self._sampling.max_tokens, self._engine.context - len(prompt))
        started = time.monotonic()
        heat = self._sampling.temperature
        samples = [Sample(prompt, room, heat, np.random.default_rng(seed)) for seed in ask.seeds]
        await asyncio.gather(*(self._generated(sample) for sample in samples))
        seconds = time.monotonic() - started
        return [self._reply(sample, seed, seconds) for sample, seed in zip(samples, ask.seeds, strict=True)]

    def describe(self) -> dict[str, Any]:
        """The description of the model: its weights, and what they are run by."""
        return {
            "name": self.name,
            "service": "embedded",
            "fingerprint": self._fingerprint,
            "runtime": f"numpy {np.__version__}",
            "context": self._engine.context,
        }

    async def close(self) -> None:
        """Stop at the next reply that is finished; whoever still waits is cancelled."""
        self._closing = True
        if self._work is not None:
            await self._work
        self._give_up()
        self._closing = False

    async def _generated(self, sample: Sample) -> None:
        sample.done = asyncio.get_running_loop().create_future()
        self._waiting.append(sample)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._generate())
        await sample.done

    async def _generate(self) -> None:
        """Keep the engine going for as long as anybody waits; the event loop stays free."""
        try:
            while not self._closing and (self._waiting or self._engine.busy):
                while self._waiting and self._engine.free:
                    self._engine.admit(self._waiting.popleft())
                for sample in await asyncio.to_thread(self._engine.advance):
                    if sample.done is not None and not sample.done.done():
                        sample.done.set_result(None)
        except Exception as error:  # else those who wait would wait for ever
            self._give_up(error)

    def _give_up(self, error: Exception | None = None) -> None:
        """Nobody gets an answer any more: all get the error, or are cancelled."""
        for sample in [*self._engine.abandon(), *self._waiting]:
            if sample.done is not None and not sample.done.done():
                sample.done.cancel() if error is None else sample.done.set_exception(error)
        self._waiting.clear()

    def _reply(self, sample: Sample, seed: int, seconds: float) -> Reply:
        finished = sample.tokens[-1] == self.vocabulary.end
        return Reply(
            self.vocabulary.text(sample.tokens),
            truncated=not finished,
            usage=Usage(len(sample.prompt), len(sample.tokens)),
            model="pinocchio",
            fingerprint=self._fingerprint,
            sent={"temperature": sample.temperature, "max_tokens": sample.room, "seed": seed},
            seconds=seconds,
        )

    def _too_large(self, length: int) -> Failure:
        context = self._engine.context
        return Failure(
            "subject", "too_large", f"The prompt has {length} tokens; {self.name} reads fewer than {context}."
        )


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in FILES:
        digest.update(hashlib.sha256((folder / file).read_bytes()).digest())
    return digest.hexdigest()[:16]


class Vocabulary:
    """Chats and tokens: each turn is a token for its role, a space and its text, and the model's turns have an end."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.encode_special_tokens = True  # the text <|end|> in a message is seven characters, and no end
        self._roles = {"system": self.id(SYSTEM), "user": self.id(USER), "assistant": self.id(ASSISTANT)}
        self.end = self.id(END)

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def id(self, token: str) -> int:
        """The number of a token; raises KeyError where there is none."""
        number = self._tokenizer.token_to_id(token)
        if number is None:
            raise KeyError(f"The vocabulary has no token {token!r}.")
        return int(number)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens up to where the model's answer begins."""
        tokens: list[int] = []
        for message in messages:
            tokens += [self._roles[message.role], *self.tokens(message.content)]
            if message.role == "assistant":
                tokens.append(self.end)
        return [*tokens, self._roles["assistant"]]

    def tokens(self, text: str) -> list[int]:
        """The tokens of one turn's text."""
        return list(self._tokenizer.encode(" " + text, add_special_tokens=False).ids)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """From which to which character of the text each of its tokens goes."""
        offsets = self._tokenizer.encode(" " + text, add_special_tokens=False).offsets
        return [(max(start - 1, 0), end - 1) for start, end in offsets]

    def text(self, tokens: Sequence[int]) -> str:
        """The text of an answer; what is no character becomes a replacement character."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True)).removeprefix(" ")


@dataclass(slots=True, eq=False)
class Sample:
    """One answer in the making."""

    prompt: Sequence[int]
    room: int  # tokens that it may have
    temperature: float
    rng: np.random.Generator
    tokens: list[int] = field(default_factory=list)
    done: asyncio.Future[None] | None = None


class Engine:
    """Continues up to ROWS prompts at a time."""

    def __init__(self, folder: Path, end: int) -> None:
        self._decoder = Decoder(folder, ROWS)
        self._end = end
        self._samples: list[Sample | None] = [None] * ROWS
        self._new: list[int] = []
        self._tokens = np.zeros(ROWS, np.int64)
        self._ends = np.zeros(ROWS, np.int64)  # how many tokens of a row are in the cache

    @property
    def context(self) -> int:
        """How many tokens prompt and answer may have together."""
        return self._decoder.context

    @property
    def logits(self) -> NDArray[np.float32]:
        """The logits of the last step, a row each."""
        return self._decoder.logits

    @property
    def free(self) -> bool:
        """Whether another sample can be taken in."""
        return None in self._samples

    @property
    def busy(self) -> bool:
        """Whether any sample is under way."""
        return any(sample is not None for sample in self._samples)

    def admit(self, sample: Sample) -> None:
        """Give a sample a free row; its prompt is read when the engine next advances."""
        row = self._samples.index(None)
        self._samples[row] = sample
        self._new.append(row)

    def advance(self) -> list[Sample]:
        """Read what is new, then continue all samples until at least one is finished; returns the finished ones."""
        by_prompt: dict[tuple[int, ...], list[int]] = {}
        for row, sample in self._under_way(self._new):
            by_prompt.setdefault(tuple(sample.prompt), []).append(row)
        self._new.clear()
        for prompt, rows in by_prompt.items():
            self._read(prompt, rows)
        while self.busy:
            if finished := self._finished():
                return finished
            self._step()
        return []

    def abandon(self) -> list[Sample]:
        """Empty all rows; returns the samples that were in them."""
        left = [sample for sample in self._samples if sample is not None]
        self._samples = [None] * ROWS
        self._new.clear()
        return left

    def _read(self, prompt: tuple[int, ...], rows: Sequence[int]) -> None:
        """Run a prompt by itself, put its keys and values into the cache of each row, and draw their first tokens."""
        logits = self._decoder.read(prompt, rows)
        self._ends[rows] = len(prompt)
        self._take(rows, logits[None].repeat(len(rows), axis=0))

    def _step(self) -> None:
        """One more token for every sample; empty rows are computed too and go nowhere."""
        self._decoder.step(self._tokens, self._ends)
        rows = [row for row, _ in self._under_way(range(ROWS))]
        self._ends[rows] += 1
        self._take(rows, self.logits[rows])

    def _under_way(self, rows: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        """Those of the rows that have a sample, with it."""
        for row in rows:
            sample = self._samples[row]
            if sample is not None:
                yield row, sample

    def _take(self, rows: Sequence[int], logits: NDArray[np.float32]) -> None:
        """Draw the next token of each of these rows."""
        samples = [sample for _, sample in self._under_way(rows)]
        for row, sample, token in zip(rows, samples, _draw(logits, samples).tolist(), strict=True):
            sample.tokens.append(token)
            self._tokens[row] = token

    def _finished(self) -> list[Sample]:
        finished = []
        for row, sample in self._under_way(range(ROWS)):
            if sample.tokens[-1] == self._end or len(sample.tokens) >= sample.room:
                finished.append(sample)
                self._samples[row] = None
                self._ends[row] = 0
        return finished


def _draw(logits: NDArray[np.float32], samples: Sequence[Sample]) -> NDArray[np.int64]:
    """A token for each row, by one number of that sample's own generator; at temperature 0 the likeliest."""
    temperatures = np.array([[sample.temperature or 1.0] for sample in samples], np.float32)
    likely = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperatures)
    sums = likely.cumsum(axis=1, dtype=np.float64)
    numbers = np.array([[sample.rng.random()] for sample in samples])
    drawn: NDArray[np.int64] = (sums <= numbers * sums[:, -1:]).sum(axis=1)
    cold = np.array([sample.temperature == 0 for sample in samples])
    return np.where(cold, logits.argmax(axis=1), drawn)
