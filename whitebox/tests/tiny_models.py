"""Tiny random models made on the fly: Llama, Qwen and Gemma as transformers builds them, each with its way of chatting.

They say nothing that makes sense; what is tested with them is that the same code works on all of them.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Literal

Family = Literal["llama", "qwen", "gemma"]
FAMILIES: tuple[Family, ...] = ("llama", "qwen", "gemma")
LAYERS, HIDDEN = 4, 32

_TEMPLATES = {
    "llama": "<|begin|>{% for message in messages %}<|head|>{{ message.role }}<|/head|>\n\n{{ message.content | trim }}"
    "<|eot|>{% endfor %}{% if add_generation_prompt %}<|head|>assistant<|/head|>\n\n{% endif %}",
    "qwen": "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "gemma": "<bos>{% for message in messages %}{% if message.role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "<start_of_turn>{{ 'model' if message.role == 'assistant' else message.role }}\n"
    "{{ message.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
}
_SPECIALS = {
    "llama": ["<|end_of_text|>", "<|begin|>", "<|head|>", "<|/head|>", "<|eot|>"],
    "qwen": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    "gemma": ["<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"],
}
_TEXT = [
    "The capital of France is Paris.",
    "Is it true that the moon is made of cheese?",
    "You are a helpful assistant.",
]


def tiny_model(folder: Path, family: Family = "llama", *, opens: bool = False, seed: int = 0) -> Path:
    """Write a random model of four layers of 32 numbers, with tokenizer and chat template; returns the folder.

    `opens` lets the template open a think block for the model.
    """
    import torch
    import transformers

    automatic: Any = transformers.AutoModelForCausalLM
    tokenizer = tiny_tokenizer(family, opens=opens)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = automatic.from_config(_config(family, tokenizer), dtype=torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_tokenizer(family: Family, *, opens: bool = False) -> Any:
    """A byte-level tokenizer with a few merges, the family's control tokens and its chat template."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=_SPECIALS[family], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(_TEXT, trainer)
    if family == "qwen":
        core.add_tokens(["<think>", "</think>"])
    fast: Any = transformers.PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=core, eos_token=_SPECIALS[family][0])
    tokenizer.chat_template = _TEMPLATES[family]
    if opens:
        tokenizer.chat_template += "{% if add_generation_prompt %}<think>\n{% endif %}"
    return tokenizer


def _config(family: Family, tokenizer: Any) -> Any:
    from transformers import Gemma3TextConfig, LlamaConfig, Qwen3Config

    kind = {"llama": LlamaConfig, "qwen": Qwen3Config, "gemma": Gemma3TextConfig}[family]
    own = {"sliding_window": 64, "query_pre_attn_scalar": 16} if family == "gemma" else {}
    return kind(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=1024,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.eos_token_id,
        **own,
    )


def tiny_adapter(folder: Path, model: Path, *, seed: int = 0, scale: float = 1.0) -> Path:
    """Write a random adapter for the model in a folder, strong enough to change what it says; returns the folder."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft about transformers
        torch.manual_seed(seed)
        adapted = get_peft_model(
            AutoModelForCausalLM.from_pretrained(model), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
        )
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                torch.nn.init.normal_(parameter, std=scale)
    adapted.save_pretrained(str(folder))
    return folder


def rewrite(path: Path, **changes: Any) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
