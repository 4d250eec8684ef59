"""Data of a page for its scripts: JSON in a form that no browser executes, with texts cut to a budget."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile

import orjson

BUDGET = 4_400_000  # bytes of packed texts for every 1,000 scenarios of a run: a page of them stays under 5 MB
MOST = 10 * BUDGET  # for a whole page: browsers and memory take no more
CUTS = (8_000, 6_000, 4_000, 3_000, 2_000, 1_500, 1_000, 700, 500, 250)  # characters of a text, the most that fit
_IN_MEMORY = 16_000_000  # bytes of texts, and of their digests, which beyond that wait on disk


class Pack:
    """JSON in the making: its parts are gzipped as they come, so that the whole is never held at once."""

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(9, zlib.DEFLATED, 31)  # gzip, with no time in it
        self._base64: list[str] = []
        self._rest = b""  # what does not make three bytes yet, of which base64 makes four letters
        self.size = 0  # about how long it is so far, as base64

    def add(self, part: bytes) -> None:
        """Take in the next part."""
        self._write(self._gzip.compress(part))

    def done(self) -> str:
        """The whole as base64."""
        self._write(self._gzip.flush())
        return "".join((*self._base64, base64.b64encode(self._rest).decode()))

    def _write(self, packed_part: bytes) -> None:
        if packed_part:
            whole = self._rest + packed_part
            end = len(whole) - len(whole) % 3
            self._base64.append(base64.b64encode(whole[:end]).decode())
            self._rest = whole[end:]
            self.size += len(self._base64[-1])


def packed(parts: Iterable[bytes]) -> str:
    """These parts of a JSON text, gzipped, as base64; equal parts give an equal text."""
    pack = Pack()
    for part in parts:
        pack.add(part)
    return pack.done()


class Numbers:
    """Digests of texts with their numbers: a database that nobody else sees, of which a part is in memory.

    A dictionary of them takes 120 bytes a text, and a large page has a million texts.
    """

    def __init__(self) -> None:
        self._digests = sqlite3.connect("", isolation_level=None)  # on disk once it is larger than its cache
        for setting in ("journal_mode = off", "synchronous = off", f"cache_size = -{_IN_MEMORY // 1_024}"):
            self._digests.execute(f"PRAGMA {setting}")
        self._digests.execute("CREATE TABLE digests (digest BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._digests.execute("BEGIN")
        self._next = 0

    def of(self, digest: bytes) -> int:
        """The number of the text with this digest, which is the next one where it is new."""
        values = digest, self._next
        if self._digests.execute("INSERT OR IGNORE INTO digests VALUES (?, ?)", values).rowcount:
            self._next += 1
            return self._next - 1
        number: int = self._digests.execute("SELECT number FROM digests WHERE digest = ?", (digest,)).fetchone()[0]
        return number

    def close(self) -> None:
        """Let go of the digests."""
        self._digests.close()


class Texts:
    """All texts of a page by number, each once; numbers follow first use, so that what is alike stands together."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._lengths = array("Q")  # of the whole texts, in characters
        self._sizes = array("L")  # of what is kept of them, in bytes
        self._kept = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # `close` closes it

    def close(self) -> None:
        """Let go of the texts."""
        self._numbers.close()
        self._kept.close()

    def add(self, text: str | None) -> int | None:
        """The number of a text; None for none. Of a text beyond the longest cut, the two ends are kept."""
        if not text:
            return None
        kept = (text if len(text) <= CUTS[0] else "".join(_ends(text, CUTS[0]))).encode()
        key = hashlib.blake2b(kept, digest_size=16, salt=len(text).to_bytes(8)).digest()
        number = self._numbers.of(key)
        if number == len(self._lengths):
            self._lengths.append(len(text))
            self._sizes.append(len(kept))
            self._kept.write(kept)
        return number

    def fitted(self, budget: float) -> tuple[str, int]:
        """The texts packed, cut to the greatest length at which they fit the budget of bytes, and that length.

        Packing takes time, so a length is tried only where the last one tried lets hope that it fits. Where even the
        shortest cut is too long, the last texts are left out, each with its length. Without texts there is no pack.
        No text can be added after.
        """
        self._numbers.close()
        if not self._lengths:
            return "", CUTS[0]
        share = 0.2  # of the characters that is left once they are packed: no prose packs better
        for cut in CUTS[:-1]:
            size = sum(min(length, cut) for length in self._lengths)
            if size * share > budget:
                continue
            text = self._packed(cut, budget)
            if len(text) <= budget:
                return text, cut
            share = len(text) / size
            del text  # before the next one is made
        return self._packed(CUTS[-1], budget), CUTS[-1]

    def _packed(self, cut: int, budget: float) -> str:
        """Every text whole, or as its beginning, how many characters are left out, and its end."""
        pack = Pack()
        for place, (text, length) in enumerate(self._each()):
            pack.add(b"," if place else b"[")
            if pack.size > budget:
                if cut > CUTS[-1]:
                    break  # it does not fit
                pack.add(_in_part("", length, 0))
            else:
                pack.add(orjson.dumps(text) if length <= cut else _in_part(text, length, cut))
        pack.add(b"]")
        return pack.done()

    def _each(self) -> Iterator[tuple[str, int]]:
        """What is kept of every text, and how long the text is."""
        self._kept.seek(0)
        for size, length in zip(self._sizes, self._lengths, strict=True):
            yield self._kept.read(size).decode(), length


def _in_part(text: str, length: int, most: int) -> bytes:
    head, tail = _ends(text, most)
    return orjson.dumps({"head": head, "left_out": length - most, "tail": tail})


def _ends(text: str, most: int) -> tuple[str, str]:
    """The beginning and the end of a text, `most` characters in all: a reply's last words often decide."""
    end = most // 4
    return text[: most - end], text[len(text) - end :]
