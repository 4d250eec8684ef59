"""A key that a server sends back reaches neither disk nor screen: whole, broken by white space, as base64 or as hex.

What a server says in errors and names is masked for every key. A reply is what is measured, so that nothing is taken
out of it but a key of 16 characters and more, which no model says by chance; that is told (`client.ChatModel`). Our
own words are never masked, and a word that people set where a server wants no key is no key.
"""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import reduce

MASK = "***"
_LEAST = 8  # characters: shorter keys (EMPTY, none) are no secrets
LEAST_IN_REPLIES = 16
_NO_KEYS = frozenset(  # what is set where a server wants no key
    (
        *("lm-studio", "not-needed", "not_needed", "notneeded", "not-required", "no-key-required", "no-key-needed"),
        *("sk-no-key-required", "sk-not-needed", "dummy-key", "dummy_key", "fake-key", "placeholder", "password"),
        *("your-api-key", "your_api_key", "api-key", "llama.cpp", "llama-cpp"),
    )
)
_BREAK = r"[\s\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]*"


class Mask:
    """Puts *** in the place of a key; made once for an endpoint, and quick where the text does not hold it."""

    def __init__(self, key: str | None, least: int = _LEAST) -> None:
        """`least` is how many characters a key has that is looked for."""
        self._forms = forms = tuple(_forms(key)) if key and len(key) >= least and _is_secret(key) else ()
        # A single break leaves one half of a form whole, so a text that holds none of the halves holds no form.
        halves = (half for form in forms for half in (form[: len(form) // 2], form[len(form) // 2 :]))
        self._halves = tuple(dict.fromkeys(halves))
        self._pattern = re.compile("|".join(_BREAK.join(map(re.escape, form)) for form in forms))

    def __call__(self, text: str) -> str:
        """The text without the key."""
        if not self._forms:
            return text
        bare = "".join(text.split())  # hex is often written with a blank behind each byte
        if any(half in text for half in self._halves) or any(form in bare for form in self._forms):
            return self._pattern.sub(MASK, text)
        return text


def mask_of(environ: Mapping[str, str], least: int = _LEAST) -> Callable[[str], str]:
    """The mask that puts *** in the place of every key of an environment that has so many characters."""
    masks = [Mask(key, least) for key in keys_in(environ)]
    return lambda text: reduce(lambda masked, mask: mask(masked), masks, text)


def keys_in(environ: Mapping[str, str]) -> list[str]:
    """The keys of an environment, by what variables that hold one are called; words that are no keys are left out."""
    ends = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
    named = (value for name, value in environ.items() if name.upper().endswith(ends))
    return [value for value in named if len(value) >= _LEAST and value.lower() not in _NO_KEYS]


def _is_secret(key: str) -> bool:
    """Whether this can be a key: a word that stands for none (`password`) is left alone in what a model says."""
    return key.lower() not in _NO_KEYS and (len(key) >= 20 or not key.isalpha())


def _forms(key: str) -> Iterator[str]:
    """The key, its hex, and what every base64 of a text that holds it holds, wherever in the text it begins."""
    data = key.encode()
    yield from (key, data.hex(), data.hex().upper())
    for before in range(3):
        first, last = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + data).decode()[first:last]
