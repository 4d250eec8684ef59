"""A key that a server sends back reaches neither disk nor screen: whole, broken by white space, or as base64."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import reduce

MASK = "***"
_LEAST = 8  # characters: shorter keys (EMPTY, none) are no secrets, and words that a model may well say
_BREAK = r"[\s\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]*"


class Mask:
    """Puts *** in the place of a key; made once for an endpoint, and quick where the text does not hold it."""

    def __init__(self, key: str | None) -> None:
        forms = tuple(_forms(key)) if key and _is_secret(key) else ()
        # A single break leaves one half of a form whole, so a text that holds none of the halves holds no form.
        halves = (half for form in forms for half in (form[: len(form) // 2], form[len(form) // 2 :]))
        self._halves = tuple(dict.fromkeys(halves))
        self._pattern = re.compile("|".join(_BREAK.join(map(re.escape, form)) for form in forms))

    def __call__(self, text: str) -> str:
        """The text without the key."""
        for half in self._halves:
            if half in text:
                return self._pattern.sub(MASK, text)
        return text


def mask_of(environ: Mapping[str, str]) -> Callable[[str], str]:
    """What puts *** in the place of every key of an environment."""
    masks = [Mask(key) for key in keys_in(environ)]
    return lambda text: reduce(lambda masked, mask: mask(masked), masks, text)


def keys_in(environ: Mapping[str, str]) -> list[str]:
    """The keys of an environment, by what variables that hold one are called; words too short for a key are none."""
    ends = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
    return [value for name, value in environ.items() if name.upper().endswith(ends) and len(value) >= _LEAST]


def _is_secret(key: str) -> bool:
    """Whether this can be a key: a word that stands for none (`password`) is left alone in what a model says."""
    return len(key) >= 20 or (len(key) >= _LEAST and not key.isalpha())


def _forms(key: str) -> Iterator[str]:
    """The key, and what every base64 of a text that holds it holds, wherever in the text it begins."""
    yield key
    data = key.encode()
    for before in range(3):
        first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + data).decode()[first:last]
