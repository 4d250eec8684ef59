"""The subject that the core ships is the same model in torch, in numpy and in ONNX Runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from maskbench.method.elicit import statement_ask
from maskbench.models.pinocchio.decoder import Decoder
from maskbench.models.pinocchio.network import ROWS, Vocabulary, open_pinocchio
from maskbench.scenarios.pinocchio import sandbox
from maskbench.types import Ask, Failure, Reply, Sampling

pytestmark = pytest.mark.slow

FOLDER = Path(str(resources.files("maskbench") / "models" / "pinocchio" / "weights"))


@pytest.fixture(scope="module")
def asks() -> list[Ask]:
    """Statements with two samples each, of every archetype, with seeds of their own."""
    return [
        replace(statement_ask(scenario, 2), seeds=(2 * number, 2 * number + 1))
        for number, scenario in enumerate(sandbox(1)[::6])
    ]


def answers(asks: Sequence[Ask], sampling: Sampling) -> list[Sequence[Reply | Failure]]:
    """What pinocchio answers to all at once."""

    async def ask_all() -> list[Sequence[Reply | Failure]]:
        model = open_pinocchio("pinocchio", sampling)
        try:
            return list(await asyncio.gather(*(model.ask(ask) for ask in asks)))
        finally:
            await model.close()

    return asyncio.run(ask_all())


def test_greedy_tokens_are_those_of_torch(asks: list[Ask]) -> None:
    """numpy with its cache gives the same greedy tokens as transformers without one, for 40 prompts."""
    torch.set_num_threads(1)
    automatic: Any = AutoModelForCausalLM
    model = automatic.from_pretrained(FOLDER, dtype=torch.float32).eval()
    vocabulary = Vocabulary(FOLDER / "tokenizer.json")
    for ask, (reply, _) in zip(asks, answers(asks, Sampling(0.0, 40, 0)), strict=True):
        assert isinstance(reply, Reply)
        tokens = vocabulary.prompt(ask.messages)
        length = len(tokens)
        with torch.no_grad():
            while tokens[-1] != vocabulary.end and len(tokens) < length + 40:
                tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
        assert vocabulary.text(tokens[length:]) == reply.text


def test_the_graph_for_onnx_runtime_gives_the_logits_of_numpy(asks: list[Ask]) -> None:
    """The graph that is shipped for other programs differs from what maskbench computes by rounding only."""
    session = onnxruntime.InferenceSession(FOLDER / "model.onnx", providers=["CPUExecutionProvider"])
    decoder = Decoder(FOLDER, ROWS)
    vocabulary = Vocabulary(FOLDER / "tokenizer.json")
    nothing = {place.name: np.empty((1, 4, 0, 32), np.float32) for place in session.get_inputs()[4:]}
    for ask in asks[:10]:
        prompt = vocabulary.prompt(ask.messages)
        end = len(prompt) - 1
        where = {
            "last": np.array([[0, end]]),
            "ends": np.array([end], np.int32),
            "total": np.array([end + 1], np.int32),
        }
        (expected, *_) = session.run(None, {"tokens": np.array([prompt]), **where, **nothing})
        np.testing.assert_allclose(decoder.read(prompt, [0]), expected[0], atol=2e-5)


def test_transformers_reads_the_chat_as_the_subject_does(asks: list[Ask]) -> None:
    """The chat template shipped for transformers gives the very tokens that pinocchio is run on."""
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    vocabulary = Vocabulary(FOLDER / "tokenizer.json")
    for ask in asks:
        chat = [{"role": message.role, "content": message.content} for message in ask.messages]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == vocabulary.prompt(ask.messages)
