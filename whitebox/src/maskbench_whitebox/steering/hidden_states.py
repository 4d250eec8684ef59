"""Recording: the hidden states that leave each decoder layer, as one mean a conversation.

Hooks are entered on an ExitStack, pool at once what they see, and are gone whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Literal

from maskbench.errors import UsageError
from maskbench.types import Message
from maskbench_whitebox.models.template import shared_start
from maskbench_whitebox.models.threads import using

if TYPE_CHECKING:
    from torch import Tensor

    from maskbench_whitebox.models.loading import Loaded

Position = Literal["last", "answer", "turn"]
TOKENS = 4096  # read at once, padding among them
SMALL = 50_000_000  # parameters, below which threads cost more than they give


def place(loaded: Loaded, messages: Sequence[Message], position: Position) -> tuple[list[int], int]:
    """The tokens of a conversation, and the first of them from which on hidden states are taken.

    `answer` is the assistant's last turn; `turn` the last user's turn and whatever follows it; `last` the last token
    of the answer, or the one before it would begin. Raises UsageError where there is no answer, or the conversation
    is longer than the model's context.
    """
    tokens, start = _tokens(loaded, messages)
    if position == "answer" and start == len(tokens):
        raise UsageError(
            "Positions `answer` need conversations that end in an assistant's turn; take `turn` or `last`."
        )
    if len(tokens) > loaded.context:
        raise UsageError(
            f"A conversation of the contrast has {len(tokens)} tokens; {loaded.name} reads {loaded.context}."
        )
    if position == "last":
        start = len(tokens) - 1
    elif position == "turn":
        turn = max(number for number, message in enumerate(messages) if message.role == "user")
        alone, _ = _tokens(loaded, messages[turn:])
        start = len(tokens) - max(shared_start(tokens[::-1], alone[::-1]), 1)
    return tokens, start


def _tokens(loaded: Loaded, messages: Sequence[Message]) -> tuple[list[int], int]:
    """The tokens up to the end of the conversation's text, and where the model's own last turn begins in them."""
    if messages[-1].role != "assistant":
        prompt = loaded.prompt(messages)
        return prompt, len(prompt)
    whole = loaded.chat.tokens(messages, answering=False)
    start = shared_start(whole, loaded.prompt(messages[:-1]))
    end = next((at for at in range(start + 1, len(whole)) if whole[at] in loaded.ends), len(whole))
    return whole[:end], start


def record(
    loaded: Loaded,
    conversations: Sequence[Sequence[Message]],
    position: Position,
    tokens_at_once: int = TOKENS,
    seen: Callable[[int], None] = lambda _: None,
) -> Tensor:
    """The mean hidden state over the positions, by conversation and layer: (conversations, layers, hidden), float32.

    `seen` is told of how many conversations were read. Raises UsageError as `place` does, where memory runs out, or
    where hidden states are not finite.
    """
    import torch

    placed = [place(loaded, messages, position) for messages in conversations]
    states = torch.empty(len(placed), len(loaded.layers), loaded.hidden_size)
    with torch.no_grad():
        for numbers in _batches([len(tokens) for tokens, _ in placed], tokens_at_once):
            try:
                states[numbers] = _means(loaded, [placed[number] for number in numbers])
            except torch.OutOfMemoryError:
                half = max(tokens_at_once // 2, 1)
                raise UsageError(
                    f"Out of memory at {tokens_at_once} tokens at once. Try --batch-tokens {half}."
                ) from None
            seen(len(numbers))
    if not states.isfinite().all():
        raise UsageError(f"Hidden states of {loaded.name} are not finite in {loaded.dtype}. Try --dtype bf16 or fp32.")
    return states


def threads_for(loaded: Loaded) -> AbstractContextManager[None]:
    """One thread for what torch computes with a small model: quicker, and the same bits on any number of cores."""
    small = sum(parameter.numel() for parameter in loaded.model.parameters()) < SMALL
    return using(1 if small else None)


def _batches(lengths: Sequence[int], tokens_at_once: int) -> Iterator[list[int]]:
    """Numbers of conversations of like length, as many together as the tokens allow, and at least one."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if batch and lengths[number] * (len(batch) + 1) > tokens_at_once:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _means(loaded: Loaded, placed: Sequence[tuple[list[int], int]]) -> Tensor:
    """The means of one batch, padded on the right, where padding is seen by nothing before it."""
    import torch

    from maskbench_whitebox.models.padding import right_padded

    tokens, attended = right_padded([own for own, _ in placed], loaded.device)
    shares = torch.zeros(tokens.shape, device=loaded.device)
    for row, (own, start) in enumerate(placed):
        shares[row, start : len(own)] = 1 / (len(own) - start)
    means: dict[int, Tensor] = {}
    with ExitStack() as hooks:
        for number, layer in enumerate(loaded.layers):
            hooks.enter_context(layer.register_forward_hook(_pooling(means, number, shares)))
        loaded.model(input_ids=tokens, attention_mask=attended, use_cache=False, logits_to_keep=1)
    return torch.stack([means[number] for number in range(len(loaded.layers))], dim=1)


def _pooling(means: dict[int, Tensor], number: int, shares: Tensor) -> Callable[[Any, Any, Any], None]:
    """A hook that keeps the weighted mean over positions of what leaves a layer, and changes nothing."""

    def hook(_module: Any, _inputs: Any, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        share = shares.to(hidden.device)[:, :, None]
        # A product alone is not enough: a sliding window may leave NaN at padded positions.
        means[number] = (share * hidden.float()).where(share > 0, 0).sum(dim=1).cpu()

    return hook
