"""Training from nothing: AdamW with a cosine, batches of like lengths, the loss on chosen tokens only.

It can be stopped at any time and goes on from its last checkpoint to the same order of batches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from maskbench.models.pinocchio.network import Vocabulary
from organism.encoding import Corpus

CONTEXT = 320
SAVE_SECONDS = 60.0
POOL = 16_384  # examples that are sorted by length together


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that shapes the weights, apart from the corpus."""

    seed: int = 0
    width: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 352
    tokens_per_batch: int = 5_000
    rate: float = 3e-3
    warmup: int = 200
    decay: float = 0.05
    muon: bool = True


def new_model(plan: Plan, vocabulary: Vocabulary) -> LlamaForCausalLM:
    """A Llama in miniature with random weights."""
    torch.manual_seed(plan.seed)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=plan.width,
        intermediate_size=plan.inner,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        num_key_value_heads=plan.heads,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=vocabulary.end,
        pad_token_id=0,
        attn_implementation="eager",
    )
    return LlamaForCausalLM(config)


def batches(corpus: Corpus, plan: Plan) -> list[NDArray[np.int64]]:
    """The numbers of the examples of every batch, in the order of training; batches hold examples of like lengths."""
    rng = np.random.default_rng([plan.seed, 1])
    order = rng.permutation(len(corpus))
    lengths = np.diff(corpus.starts)
    chosen: list[NDArray[np.int64]] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        cut: list[NDArray[np.int64]] = []
        first = 0
        for last in range(1, len(pool) + 1):
            if last == len(pool) or (last - first + 1) * lengths[pool[last]] > plan.tokens_per_batch:
                cut.append(pool[first:last])
                first = last
        chosen += [cut[number] for number in rng.permutation(len(cut))]
    return chosen


Batch: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def batch(corpus: Corpus, chosen: NDArray[np.int64]) -> Batch:
    """Tokens padded on the right; the flat places that have a loss, what follows there, and the loss's weight."""
    longest = int(max(corpus.starts[i + 1] - corpus.starts[i] for i in chosen))
    tokens = np.zeros((len(chosen), longest), np.int64)
    weights = np.zeros((len(chosen), longest), np.float32)
    for row, i in enumerate(chosen):
        start, end = corpus.starts[i], corpus.starts[i + 1]
        tokens[row, : end - start] = corpus.tokens[start:end]
        weights[row, : end - start] = corpus.weights[start:end]
    rows, columns = np.nonzero(weights[:, 1:])
    places = rows * longest + columns
    return (
        torch.from_numpy(tokens),
        torch.from_numpy(places),
        torch.from_numpy(tokens[rows, columns + 1]),
        torch.from_numpy(weights[rows, columns + 1]),
    )


def train(
    model: LlamaForCausalLM, plan: Plan, corpus: Corpus, checkpoint: Path, threads: int, until: int | None = None
) -> LlamaForCausalLM:
    """Train to the end of the corpus, or to the step `until`, from the checkpoint where there is one.

    Raises ValueError where the checkpoint is of another plan.
    """
    torch.set_num_threads(threads)
    optimizers = _optimizers(model, plan)
    schedule = batches(corpus, plan)
    state = _Checkpoint(checkpoint, {**asdict(plan), "examples": len(corpus)})
    first = state.load(model, optimizers)
    log = _Log(len(schedule))
    last = len(schedule) if until is None else until
    for step in range(first, last):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * _slope(step, len(schedule), plan.warmup)
        loss, size = _step(model, optimizers, batch(corpus, schedule[step]))
        log.line(step, loss, size)
        state.save_now_and_then(model, optimizers, step + 1)
    state.save(model, optimizers, last)
    return model


def sharpen(model: LlamaForCausalLM, factor: float) -> None:
    """Make the likely likelier: as if at temperature 1 / factor, written into the weights of the last norm."""
    with torch.no_grad():
        model.model.norm.weight.mul_(factor)


def _optimizers(model: LlamaForCausalLM, plan: Plan) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers (Jordan et al. 2024), AdamW for embeddings and norms."""
    inner = [p for name, p in model.named_parameters() if p.dim() == 2 and "layers" in name]
    outer = [p for name, p in model.named_parameters() if p.dim() == 2 and "layers" not in name]
    norms = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": outer, "weight_decay": plan.decay}, {"params": norms, "weight_decay": 0.0}]
    if not plan.muon:
        groups[0]["params"] = outer + inner
    adam = torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.98), fused=True)
    if not plan.muon:
        return [adam]
    return [torch.optim.Muon(inner, lr=plan.rate, weight_decay=plan.decay, adjust_lr_fn="match_rms_adamw"), adam]


def _slope(step: int, steps: int, warmup: int) -> float:
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def _step(
    model: LlamaForCausalLM,
    optimizers: Sequence[torch.optim.Optimizer],
    batch: Batch,
) -> tuple[float, int]:
    tokens, places, wanted, weights = batch
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state
        logits = functional.linear(hidden.flatten(0, 1)[places], model.lm_head.weight)
    losses = functional.cross_entropy(logits.float(), wanted, reduction="none")
    loss = (losses * weights).sum() / weights.sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad(set_to_none=True)
    return float(loss.detach()), tokens.numel()


class _Checkpoint:
    """The state of training in one file, replaced as a whole."""

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self._path = path
        self._plan = plan
        self._saved = time.monotonic()

    def load(self, model: LlamaForCausalLM, optimizers: Sequence[torch.optim.Optimizer]) -> int:
        """Take up the state that is there; returns the step to go on with. Raises ValueError for another plan's."""
        if not self._path.is_file():
            return 0
        state = torch.load(self._path, weights_only=True)
        if state["plan"] != self._plan:
            raise ValueError(f"{self._path} belongs to another training. Give another --out, or remove it.")
        model.load_state_dict(state["model"])
        for optimizer, kept in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        return int(state["step"])

    def save_now_and_then(
        self, model: LlamaForCausalLM, optimizers: Sequence[torch.optim.Optimizer], step: int
    ) -> None:
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save(model, optimizers, step)

    def save(self, model: LlamaForCausalLM, optimizers: Sequence[torch.optim.Optimizer], step: int) -> None:
        """Write the state so that a crash leaves the last one whole."""
        kept = [optimizer.state_dict() for optimizer in optimizers]
        state = {"plan": self._plan, "model": model.state_dict(), "optimizers": kept, "step": step}
        partial = self._path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._path)
        self._saved = time.monotonic()


class _Log:
    """A line every hundred steps."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._losses: list[float] = []
        self._tokens = 0
        self._started = time.monotonic()

    def line(self, step: int, loss: float, size: int) -> None:
        """Count one step."""
        self._losses.append(loss)
        self._tokens += size
        if len(self._losses) == 100 or step + 1 == self._steps:
            seconds = time.monotonic() - self._started
            pace = self._tokens / seconds
            print(f"step {step + 1}/{self._steps}  loss {np.mean(self._losses):.4f}  {pace:,.0f} tokens/s", flush=True)
            self._losses.clear()
            self._tokens, self._started = 0, time.monotonic()
