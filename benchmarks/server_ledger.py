"""What a chat server was asked, by role: requests, characters in and out, and how much of it a cache could have held.

Nothing here asks a tokenizer: four characters are taken to be a token, which docs/project/performance.md holds against
real ones. A cache is taken to work as OpenAI's does: it has the beginning of a request if an earlier request of the
same model, which is already answered, began alike for 1,024 tokens or more, and it has it in whole blocks of 128.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

CHARACTERS_PER_TOKEN = 4
LEAST, BLOCK = 1024 * CHARACTERS_PER_TOKEN, 128 * CHARACTERS_PER_TOKEN  # characters


@dataclass(slots=True)
class Sums:
    """Counts of one role; characters, but for `requests`. `alone` is the input if each sample were asked for alone."""

    requests: int = 0
    input: int = 0
    alone: int = 0
    cacheable: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that waits for its answer: who is asked, its length, and the beginnings that a cache could take."""

    role: str
    length: int
    cacheable: int
    beginnings: Sequence[bytes]


class Ledger:
    """Counts requests as they come and answers as they go."""

    def __init__(self) -> None:
        self._sums: dict[str, Sums] = defaultdict(Sums)
        self._held: set[bytes] = set()

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """Count a request's JSON; a model whose name holds `judge` is a judge."""
        model = str(body["model"])
        text = "\n".join(f"{message['role']}: {words(message['content'])}" for message in body["messages"])
        length = sum(len(words(message["content"])) for message in body["messages"])
        marks = beginnings(model, text)
        known = sum(mark in self._held for mark in marks)
        cacheable = LEAST + (known - 1) * BLOCK if known else 0
        sums = self._sums[role := "judge" if "judge" in model else "subject"]
        sums.requests += 1
        sums.input += length
        sums.alone += length * (body.get("n") or 1)
        sums.cacheable += min(cacheable, length)
        return Asked(role, length, min(cacheable, length), marks)

    def answered(self, asked: Asked, texts: Sequence[str]) -> None:
        """Count the texts of its answer; from now on a cache has its beginnings."""
        self._sums[asked.role].output += sum(map(len, texts))
        self._held.update(asked.beginnings)

    def sums(self) -> dict[str, dict[str, int]]:
        """The counts of both roles, by name."""
        return {role: asdict(self._sums[role]) for role in ("subject", "judge")}


def words(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a message, which some interfaces take in parts."""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def beginnings(model: str, text: str) -> list[bytes]:
    """A digest of each beginning that a cache would take: of LEAST characters, and of a BLOCK more each time."""
    if len(text) < LEAST:
        return []
    digest = blake2b(f"{model}\n{text[:LEAST]}".encode("utf-8", "surrogatepass"), digest_size=12)
    marks = [digest.digest()]
    for end in range(LEAST + BLOCK, len(text) + 1, BLOCK):
        digest.update(text[end - BLOCK : end].encode("utf-8", "surrogatepass"))
        marks.append(digest.digest())
    return marks
