"""What a page carries for its scripts: JSON in a form that no browser executes, with texts cut to a budget."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass, field
from typing import Any

import orjson

BUDGET = 4_400_000  # bytes of packed texts for every 1,000 scenarios of a run: a page of them stays under 5 MB
CUTS = (8_000, 6_000, 4_000, 3_000, 2_000, 1_500, 1_000, 700, 500, 250)  # characters of a text, the most that fit


def packed(content: Any) -> str:
    """Content as base64 of gzipped JSON; the same content gives the same text."""
    return base64.b64encode(gzip.compress(orjson.dumps(content), 9, mtime=0)).decode()


@dataclass(slots=True)
class Texts:
    """All texts of a page by number, each once; numbers follow first use, so that what is alike stands together."""

    numbers: dict[tuple[str, int], int] = field(default_factory=dict)  # by what is kept of a text, and its length

    def add(self, text: str | None) -> int | None:
        """The number of a text; None for none. Of a text beyond the longest cut, the two ends are kept."""
        if not text:
            return None
        kept = text if len(text) <= CUTS[0] else "".join(_ends(text, CUTS[0]))
        return self.numbers.setdefault((kept, len(text)), len(self.numbers))

    def fitted(self, budget: float) -> tuple[list[Any], int]:
        """The texts, cut to the greatest length at which they fit the budget of packed bytes, and that length.

        Packing takes time, so a length is tried only where the last one tried lets hope that it fits.
        """
        share = 0.2  # of the characters that is left once they are packed: no prose packs better
        for cut in CUTS:
            size = sum(min(length, cut) for _, length in self.numbers)
            if cut > CUTS[-1] and size * share > budget:
                continue
            texts = self._cut(cut)
            if cut == CUTS[-1] or (packs := len(packed(texts))) <= budget:
                break
            share = packs / size
        return texts, cut

    def _cut(self, most: int) -> list[Any]:
        """Every text whole, or as its beginning, how many characters are left out, and its end."""
        return [text if length <= most else _in_part(text, length, most) for text, length in self.numbers]


def _in_part(text: str, length: int, most: int) -> dict[str, Any]:
    head, tail = _ends(text, most)
    return {"head": head, "left_out": length - most, "tail": tail}


def _ends(text: str, most: int) -> tuple[str, str]:
    """The beginning and the end of a text, `most` characters in all: a reply's last words often decide."""
    end = most // 4
    return text[: most - end], text[len(text) - end :]
