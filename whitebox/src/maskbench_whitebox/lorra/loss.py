"""The loss of low-rank representation adaptation (Zou et al. 2023, representation engineering).

For a text T with the same answer under an honest and a dishonest template, and each target layer, the frozen model's
hidden states on the answer give a contrast vector v = h(T+) − h(T−). A LoRA on the layers up to there is trained so
that its h(T) comes near the frozen h(T) + alpha · v; the loss is the mean length of what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskbench.errors import UsageError
from maskbench.types import Message
from maskbench_whitebox.lorra.recipe import Recipe
from maskbench_whitebox.lorra.texts import Conversation, Text

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens of a conversation with its answer; the last `kept` positions are those that matter.

    They begin with the last token of the prompt, because its hidden state decides the answer's first token.
    """

    tokens: tuple[int, ...]
    kept: int


@dataclass(frozen=True, slots=True)
class Rows:
    """A text as the model reads it; without `honest` it is neutral, and without `dishonest` T− is T."""

    plain: Row
    honest: Row | None = None
    dishonest: Row | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """One step: the loss and its parts, and what the contrast part would be had nothing been learned."""

    step: int  # from 1
    loss: float
    contrast: float
    retention: float | None  # None where no neutral text is read
    asked: float


# Texts → tokens


def encoded(loaded: Loaded, texts: Sequence[Text], longest: int) -> list[Rows]:
    """The texts as tokens, answers cut at `longest` of them; raises UsageError where one exceeds the context."""
    return [_rows(loaded, text, longest) for text in texts]


def _rows(loaded: Loaded, text: Text, longest: int) -> Rows:
    plain = _row(loaded, text.messages, text.answer, longest)
    if text.honest is None or text.dishonest is None:
        return Rows(plain)
    honest = _row(loaded, text.honest, text.answer, plain.kept - 1)
    if text.dishonest == text.messages:
        return Rows(plain, honest)
    return Rows(plain, honest, _row(loaded, text.dishonest, text.answer, plain.kept - 1))


def _row(loaded: Loaded, messages: Conversation, answer: str, longest: int) -> Row:
    prompt = loaded.prompt(messages)
    tokens = _answer_tokens(loaded, messages, answer, prompt)[:longest]
    if len(prompt) + len(tokens) > loaded.context:
        raise UsageError(
            f"A text to train on has {len(prompt) + len(tokens)} tokens, and {loaded.name} reads {loaded.context}: "
            f"{messages[-1].content[:80]!r}. Shorten it."
        )
    return Row((*prompt, *tokens), len(tokens) + 1)


def _answer_tokens(loaded: Loaded, messages: Conversation, answer: str, prompt: Sequence[int]) -> list[int]:
    """The answer as the chat template writes it, with its end; by itself where the template changes what was before."""
    whole = loaded.chat.tokens([*messages, Message("assistant", answer)], answering=False)
    if whole[: len(prompt)] == list(prompt):
        return whole[len(prompt) :]
    return list(loaded.tokenizer.encode(answer, add_special_tokens=False))


# Hidden states and the loss


class _Deep(Exception):
    """The deepest layer that is wanted has been computed: what comes after it need not be."""


def hidden_states(loaded: Loaded, rows: Sequence[Row], layers: Sequence[int]) -> Tensor:
    """What leaves these layers at the kept positions of all rows, one row after the other.

    Float32, of shape (layers, positions, hidden). The forward pass ends at the deepest of the layers.
    """
    import torch

    from maskbench_whitebox.models.padding import right_padded

    states: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for layer in layers:
            hook = _keeping(states, layer, deepest=layer == max(layers))
            hooks.enter_context(loaded.layers[layer].register_forward_hook(hook))
        tokens, mask = right_padded([row.tokens for row in rows], loaded.device)
        with suppress(_Deep):
            loaded.model(input_ids=tokens, attention_mask=mask, use_cache=False)
    return torch.stack([_kept(states[layer], rows).to(loaded.device) for layer in layers])  # of several devices


def _keeping(states: dict[int, Tensor], layer: int, deepest: bool) -> Callable[[Any, Any, Any], None]:
    """A forward hook; some layers return a tensor, others a tuple that begins with it."""

    def hook(_module: Any, _inputs: Any, output: Any) -> None:
        states[layer] = output[0] if isinstance(output, tuple) else output
        if deepest:
            raise _Deep

    return hook


def _kept(states: Tensor, rows: Sequence[Row]) -> Tensor:
    import torch

    return torch.cat(
        [states[place, len(row.tokens) - row.kept : len(row.tokens)] for place, row in enumerate(rows)]
    ).float()


def contrast(loaded: Loaded, texts: Sequence[Rows], layers: Sequence[int], plain: Tensor) -> Tensor:
    """h(T+) − h(T−) of the model as it is, of shape (layers, positions, hidden); `plain` is h(T) of the same texts."""
    honest = hidden_states(loaded, [text.honest for text in texts if text.honest], layers)
    dishonest = [text.dishonest for text in texts if text.dishonest]
    return honest - (hidden_states(loaded, dishonest, layers) if dishonest else plain)


def backward(adapter: Any, loaded: Loaded, texts: Sequence[Rows], recipe: Recipe) -> Loss:
    """The loss of a batch, its gradient added to the adapter's, `recipe.at_once` texts at a time.

    Contrast is the mean over target layers and positions of |h(T) − (frozen h(T) + alpha · v)|, retention that of
    |h − frozen h| over neutral texts; the loss is contrast + retain · retention.
    """
    pressed = [text for text in texts if text.honest]
    neutral = [text for text in texts if not text.honest]
    shares = [
        1 / (len(recipe.target_layers) * max(1, sum(text.plain.kept for text in some))) for some in (pressed, neutral)
    ]
    missing, drifted, asked = 0.0, 0.0, 0.0
    ordered = [*pressed, *neutral]
    for start in range(0, len(ordered), recipe.at_once):
        part = ordered[start : start + recipe.at_once]
        wanted, vectors = _wanted(adapter, loaded, part, recipe)
        lengths = (hidden_states(loaded, [text.plain for text in part], recipe.target_layers) - wanted).norm(dim=-1)
        edge = vectors.shape[1]
        contrast_, retention = lengths[:, :edge].sum() * shares[0], lengths[:, edge:].sum() * shares[1]
        (contrast_ + recipe.retain * retention).backward()
        missing, drifted = missing + float(contrast_.detach()), drifted + float(retention.detach())
        asked += float(vectors.norm(dim=-1).sum()) * shares[0]
    return Loss(0, missing + recipe.retain * drifted, missing, drifted if neutral else None, asked)


def _wanted(adapter: Any, loaded: Loaded, texts: Sequence[Rows], recipe: Recipe) -> tuple[Tensor, Tensor]:
    """Where the hidden states of these texts should be, and alpha · v of the pressed ones, which come first."""
    import torch

    with torch.no_grad(), adapter.disable_adapter():
        base = hidden_states(loaded, [text.plain for text in texts], recipe.target_layers)
        pressed = [text for text in texts if text.honest]
        edge = sum(text.plain.kept for text in pressed)
        if not pressed:
            return base, base[:, :0]
        vectors = recipe.alpha * contrast(loaded, pressed, recipe.target_layers, base[:, :edge])
        return torch.cat([base[:, :edge] + vectors, base[:, edge:]], dim=1), vectors
