"""Tokens a second of a model in this process: ours, transformers' batched `generate`, and its continuous batching.

    python whitebox/benchmarks/throughput.py                    a small shape, which a CPU computes in some minutes
    python whitebox/benchmarks/throughput.py --shape 1.5b       the shape of a model of 1.5 billion parameters, on a GPU

Weights are random; each sample has a prompt and a length of its own, drawn by `--seed`, and samples at temperature 1.
Each way answers the same samples, once. `maskbench run` needs a seed for each sample, so that a reply does not hang on
what is answered beside it; the last column says who has that. On a busy machine read the seconds of the processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from maskbench_whitebox.models.batches import Engine
from maskbench_whitebox.models.decoding import Sample
from maskbench_whitebox.models.loading import Loaded, load
from tiny_models import tiny_tokenizer

SHAPES = {  # hidden size, layers, heads, heads of keys and values, inner size, vocabulary
    "small": (256, 8, 4, 2, 1024, 8192),
    "1.5b": (1536, 28, 12, 2, 8960, 151_936),
}
PROMPT, ANSWER = (60, 400), (16, 200)  # tokens, at least and at most


class Wanted(NamedTuple):
    """A prompt, the tokens that are asked for, and a seed."""

    prompt: tuple[int, ...]
    tokens: int
    seed: int


def made(shape: str, folder: Path, device: str | None, dtype: str) -> Loaded:
    """A model of this shape with random weights; nothing that it says ends an answer."""
    hidden, layers, heads, shared, inner, words = SHAPES[shape]
    tokenizer = tiny_tokenizer("qwen")
    config = transformers.Qwen2Config(
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        intermediate_size=inner,
        vocab_size=words,
        max_position_embeddings=2048,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    automatic: Any = transformers.AutoModelForCausalLM
    automatic.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return load(str(folder), device=device, dtype=dtype)


def drawn(count: int, words: int, seed: int) -> list[Wanted]:
    """So many samples, each with a prompt of its own."""
    rng = Random(seed)
    return [
        Wanted(
            tuple(rng.randrange(400, words) for _ in range(rng.randint(*PROMPT))),
            rng.randint(*ANSWER),
            rng.getrandbits(31),
        )
        for _ in range(count)
    ]


def ours(loaded: Loaded, wanted: Sequence[Wanted], threads: int) -> int:
    """As `maskbench run` has them answered; returns the tokens."""
    engine = Engine(loaded, threads=threads)
    waiting = [Sample(each.prompt, each.seed, 1.0, each.tokens, each.tokens) for each in wanted]
    while waiting or engine.samples:
        engine.admit(waiting)
        engine.advance(lambda sample: sample.limit, lambda: False)
    return engine.drawn


def generate(loaded: Loaded, wanted: Sequence[Wanted], rows: int) -> int:
    """By `generate`, so many rows at a time, those of like length together; a batch goes on for its longest answer."""
    ordered = sorted(wanted, key=lambda each: each.tokens)
    tokens = 0
    for start in range(0, len(ordered), rows):
        batch = ordered[start : start + rows]
        width = max(len(each.prompt) for each in batch)
        ids = torch.tensor([[0] * (width - len(each.prompt)) + list(each.prompt) for each in batch])
        mask = torch.tensor([[0] * (width - len(each.prompt)) + [1] * len(each.prompt) for each in batch])
        most = max(each.tokens for each in batch)
        how = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_new_tokens": most}
        loaded.model.generate(
            ids.to(loaded.device), attention_mask=mask.to(loaded.device), max_new_tokens=most, pad_token_id=0, **how
        )
        tokens += sum(each.tokens for each in batch)
    return tokens


def continuous(loaded: Loaded, wanted: Sequence[Wanted]) -> int:
    """By the manager of continuous batching, which takes each answer's length; it has one generator for all."""
    kind: Any = transformers.GenerationConfig
    config = kind(
        do_sample=True, temperature=1.0, top_k=0, top_p=1.0, eos_token_id=-1, pad_token_id=0, max_new_tokens=ANSWER[1]
    )
    with loaded.model.continuous_batching_context_manager(generation_config=config) as manager:
        for each in wanted:
            manager.add_request(list(each.prompt), max_new_tokens=each.tokens)
        tokens = 0
        for _ in wanted:
            result = manager.get_result(timeout=600)
            if result is None or result.error:
                raise SystemExit(f"continuous batching gave no answer: {result and result.error}")
            tokens += len(result.generated_tokens)
    return tokens


def main() -> None:
    """Measure each way and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="small")
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--rows", type=int, default=64, help="of a batch of `generate`")
    parser.add_argument("--device", help="as torch names it (default: a GPU where there is one)")
    parser.add_argument("--dtype", default="auto", help="auto, fp32, bf16 or fp16")
    parser.add_argument("--threads", type=int, default=1, help="of a CPU")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    transformers_logging: Any = transformers.utils.logging
    transformers_logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        loaded = made(chosen.shape, Path(folder), chosen.device, chosen.dtype)
        wanted = drawn(chosen.samples, SHAPES[chosen.shape][-1], chosen.seed)
        ways: dict[str, tuple[Callable[[], int], str]] = {
            "maskbench": (lambda: ours(loaded, wanted, chosen.threads), "yes"),
            "`generate`": (lambda: generate(loaded, wanted, chosen.rows), "no"),
            "continuous batching": (lambda: continuous(loaded, wanted), "no"),
        }
        name = torch.cuda.get_device_name() if loaded.device.type == "cuda" else f"threads: {chosen.threads}"
        print(f"{chosen.samples} samples, shape {chosen.shape}, {loaded.dtype}, {loaded.device} ({name})\n")
        head = ("", "tokens", "seconds", "of the processor", "tokens a second", "a seed for each sample")
        print(f"| {' | '.join(head)} |", "|---|--:|--:|--:|--:|---|", sep="\n")
        ours(loaded, wanted[:2], chosen.threads)  # what is done once
        for way, (answer, seeds) in ways.items():
            began, computed = time.monotonic(), time.process_time()
            tokens = answer()
            seconds, computed = time.monotonic() - began, time.process_time() - computed
            figures = f"{tokens:,} | {seconds:.1f} | {computed:.1f} | {tokens / seconds:,.0f}"
            print(f"| {way} | {figures} | {seeds} |", flush=True)


if __name__ == "__main__":
    main()
