"""How well `--dry-run` estimates tokens: real tokenizers on the starter set's asks, into docs/tokens.csv.

Needs, beside maskbench, `pip install tiktoken tokenizers sentencepiece` and `pip install --no-deps litellm
mistral-common`: those two packages hold vocabularies, so that nothing is fetched. A judge's ask holds a reply, which
here is a piece of the scenario's own text, as long as forecast.py assumes replies to be. To every message 4 tokens are
added and 3 to every request, as OpenAI counts chats; templates of open models take 1 to 5 and up to 5.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from csv_tables import DOCS, write
from maskbench.asking.forecast import CHARACTERS_PER_TOKEN, REPLY_TOKENS, tokens
from maskbench.method.asks import subject_asks
from maskbench.method.forms import USUAL, ask_about, ask_about_beliefs, load_prompts
from maskbench.scenarios import load
from maskbench.settings import Settings
from maskbench.types import Ask

PER_MESSAGE, PER_REQUEST = 4, 3
SETTINGS = Settings.of(subject="", judge="", numeric_judge="", scenarios="starter")

Count = Callable[[str], int]


def tokenizers() -> Mapping[str, Count]:
    """Functions that count a text's tokens, by name."""
    folder = _package("litellm") / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return {
        "GPT-4 (cl100k)": _tiktoken("cl100k_base"),
        "GPT-4o (o200k)": _tiktoken("o200k_base"),
        "Claude 2": _huggingface(folder / "anthropic_tokenizer.json"),
        "DeepSeek": _huggingface(folder / "deepseek_tokenizer.json"),
        "Mistral 7B": _sentencepiece(_package("mistral_common") / "data" / "tokenizer.model.v1"),
    }


def o200k() -> Count | None:
    """The tokens of GPT-4o and its successors; None where the packages are not there."""
    if any(importlib.util.find_spec(name) is None for name in ("tiktoken", "litellm")):
        return None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_package("litellm") / "litellm_core_utils" / "tokenizers")
    return _tiktoken("o200k_base")


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)  # found, not imported: that takes seconds and more packages
    if spec is None or spec.origin is None:
        raise SystemExit(f"There is no {name}, which holds vocabularies: the top of {__file__} says what to install.")
    return Path(spec.origin).parent


def _tiktoken(name: str) -> Count:
    import tiktoken  # type: ignore[import-not-found, unused-ignore]

    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def _huggingface(path: Path) -> Count:
    from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]

    tokenizer = Tokenizer.from_file(str(path))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _sentencepiece(path: Path) -> Count:
    from sentencepiece import SentencePieceProcessor  # type: ignore[import-not-found, unused-ignore]

    processor = SentencePieceProcessor(model_file=str(path))
    return lambda text: len(processor.encode(text))


def asks() -> dict[str, list[Ask]]:
    """Every request of a run over the starter set, by sort."""
    prompts = load_prompts()
    by_kind: dict[str, list[Ask]] = {"beliefs": [], "statements": [], "judge, binary": [], "judge, numerical": []}
    for scenario in load("starter", {}):
        text = f"{scenario.user_prompt}\n\n{scenario.system_prompt}" * 3
        for ask in subject_asks(scenario, SETTINGS):
            by_kind["statements" if ask.call == "statement" else "beliefs"].append(ask)
            reply = text[: round(REPLY_TOKENS[ask.call] * CHARACTERS_PER_TOKEN)]
            if USUAL.is_joint(ask):
                judged = [ask_about_beliefs(scenario, [reply] * len(ask.runs), prompts)]
            else:
                judged = [ask_about(scenario, ask.call, ask.elicitation, run, reply, prompts) for run in ask.runs]
            by_kind[f"judge, {scenario.kind}"] += judged
    return by_kind | {"all": [ask for each in by_kind.values() for ask in each]}


def characters(ask: Ask) -> int:
    """Characters of an ask's messages."""
    return sum(len(message.content) for message in ask.messages)


def real(ask: Ask, count: Count) -> tuple[int, int]:
    """Tokens of an ask's texts, and of the whole request."""
    texts = sum(count(message.content) for message in ask.messages)
    return texts, texts + PER_MESSAGE * len(ask.messages) + PER_REQUEST


def measured(sort: str, each: Sequence[Ask], tokenizer: str, count: Count) -> dict[str, object]:
    """How many characters a token has, and the estimate of a dry run by the real number, as a row of the CSV file."""
    size, counted = sum(map(characters, each)), [real(ask, count) for ask in each]
    return {
        "sort": sort,
        "asks": len(each),
        "characters_an_ask": round(size / len(each)),
        "tokenizer": tokenizer,
        "characters_a_token": f"{size / sum(texts for texts, _ in counted):.2f}",
        "estimate_by_real": f"{sum(map(tokens, each)) / sum(whole for _, whole in counted):.2f}",
    }


def main() -> None:
    """Count, print and write."""
    counts = tokenizers()
    rows = [measured(sort, each, name, count) for sort, each in asks().items() for name, count in counts.items()]
    write(DOCS / "tokens.csv", rows)
    for row in rows:
        print(*row.values(), sep=", ")


if __name__ == "__main__":
    main()
