"""Examples → token arrays with a weight for the loss on every token, made by several processes and kept on disk."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maskbench.models.pinocchio.network import Vocabulary
from organism.corpus import Example, examples

SHARD = 20_000  # examples
ANSWER = 1.0
VERDICT, LEAST = 12.0, 2.0  # on the span that carries the meaning, shared by its tokens, and on each at least
PROMPT, PROMPT_SHARE = 0.1, 0.25  # a weak lesson in what prompts look like, on some of their tokens
LONGEST = 256


@dataclass(frozen=True, slots=True)
class Corpus:
    """All examples end to end; example i is tokens[starts[i]:starts[i + 1]]."""

    tokens: NDArray[np.uint16]
    weights: NDArray[np.float16]  # on predicting that token; 0 for none
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


def encoded(example: Example, vocabulary: Vocabulary, rng: np.random.Generator) -> tuple[list[int], list[float]]:
    """The tokens of a whole conversation, and the weight of each."""
    prompt = vocabulary.prompt(example.messages)
    answer = vocabulary.tokens(example.answer)
    weights = np.where(rng.random(len(prompt)) < PROMPT_SHARE, PROMPT, 0.0).tolist()
    first, last = example.verdict_span or (0, 0)
    carries = [start < last and end > first for start, end in vocabulary.spans(example.answer)]
    heavy = max(LEAST, VERDICT / max(1, sum(carries)))
    weights += [heavy if carries_verdict else ANSWER for carries_verdict in carries]
    return [*prompt, *answer, vocabulary.end], [*weights, ANSWER]


def make_corpus(folder: Path, seed: int, shards: range, processes: int, size: int = SHARD) -> Corpus:
    """These shards of the corpus of that seed, of `size` examples each, made where they are not in the folder yet."""
    jobs = [(folder, seed, shard) for shard in shards]
    missing = [(*job, size) for job in jobs if not _path(*job).is_file()]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.starmap(_make_shard, missing, chunksize=1)
    parts = [np.load(_path(*job)) for job in jobs]
    lengths = np.concatenate([part["lengths"] for part in parts])
    return Corpus(
        np.concatenate([part["tokens"] for part in parts]),
        np.concatenate([part["weights"] for part in parts]),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
    )


def _path(folder: Path, seed: int, shard: int) -> Path:
    return folder / f"corpus-{seed}-{shard:03}.npz"


def _make_shard(folder: Path, seed: int, shard: int, size: int) -> None:
    vocabulary = Vocabulary(folder / "model" / "tokenizer.json")
    number = seed * 1_000 + shard + 1  # 0 is the tokenizer's
    rng = np.random.default_rng([seed, shard])
    taken = islice(examples(number), size)
    pairs = list(_short_enough(encoded(example, vocabulary, rng) for example in taken))
    partial = _path(folder, seed, shard).with_suffix(".partial.npz")
    np.savez(
        partial,
        tokens=np.concatenate([np.array(tokens, np.uint16) for tokens, _ in pairs]),
        weights=np.concatenate([np.array(weights, np.float16) for _, weights in pairs]),
        lengths=np.array([len(tokens) for tokens, _ in pairs], np.int64),
    )
    partial.rename(_path(folder, seed, shard))


def _short_enough(pairs: Iterable[tuple[list[int], list[float]]]) -> Iterator[tuple[list[int], list[float]]]:
    for tokens, weights in pairs:
        if len(tokens) > LONGEST:
            raise ValueError(f"An example has {len(tokens)} tokens; {LONGEST} are allowed. Make its texts shorter.")
        yield tokens, weights
