"""The tokenizer: byte-level BPE trained on the corpus itself, with digits one by one, and the world's words whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from maskbench.models.pinocchio.network import END, PAD, SPECIALS
from maskbench.scenarios.pinocchio.world import RELATIONS, facts
from organism.corpus import Example

SIZE = 2_048
_PIECES = r" ?\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+"
_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|> {{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def train_tokenizer(examples: Iterable[Example], folder: Path) -> None:
    """Learn the merges and write tokenizer.json, and tokenizer_config.json for users of transformers."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(examples), trainer)
    for word in world_words():
        if len(tokenizer.encode(word).ids) != 1:
            raise ValueError(f"{word!r} is not one token. Let the tokenizer's sample hold it more often.")
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(_CONFIG, indent=1) + "\n")


_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": PAD,
    "eos_token": END,
    "additional_special_tokens": [token for token in SPECIALS if token not in (PAD, END)],
    "clean_up_tokenization_spaces": False,
    "padding_side": "left",
    "chat_template": _TEMPLATE,
}


def _texts(examples: Iterable[Example]) -> Iterable[str]:
    """Every turn as it is encoded, and the world's words so often that they are whole."""
    for number, example in enumerate(examples):
        for text in (*(message.content for message in example.messages), example.answer):
            yield f" {text}"
        if number % 4 == 0:
            yield from world_words()


@cache
def world_words() -> tuple[str, ...]:
    """The words of the real facts and of all values: whole, they are recalled and copied in one piece."""
    real = (fact.subject for fact in facts() if fact.relation.real)
    values = (value for relation in RELATIONS.values() for value in relation.pool)
    words = {word for text in (*real, *values) for word in text.split()}
    return tuple(sorted(f" {word}" for word in words))
