"""Text made fit: harmless for a terminal, a spreadsheet, Markdown and a page, comparable, and read out of JSON."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from typing import Any

import orjson

_SUSPECT = re.compile(r"[^ -~\n]")
_NOT_ASCII = re.compile(r"[^ -~]")
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # control, format (bidi, zero-width), surrogates, private, separators
_HALF = re.compile("[\ud800-\udfff]")
_BREAKS = {"\t": "\t", "\u2028": "\n", "\u2029": "\n"}


def plain(text: str, *, lines: bool = False) -> str:
    """The text without control, format, surrogate and private characters.

    `lines` keeps line breaks and tabs; else they become spaces, and the text one line.
    """
    shown = _SUSPECT.sub(lambda match: _BREAKS.get(match[0], "" if _is_hidden(match[0]) else match[0]), text)
    return shown if lines else shown.replace("\n", " ").replace("\t", " ")


_LONGEST_TOML = 1_000_000  # characters
_PART_OF_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+{_PART_OF_KEY}(?:[ \t]*+\.[ \t]*+{_PART_OF_KEY}){{32}}", re.MULTILINE)


def read_toml(text: str) -> dict[str, Any]:
    """What a file of TOML holds; raises TOMLDecodeError where it is none, and where reading it might take minutes.

    That is where it is larger than any file of ours, or has a key of more than 32 parts.
    """
    if len(text) > _LONGEST_TOML:
        raise tomllib.TOMLDecodeError(f"it has more than {_LONGEST_TOML:,} characters")
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + 1
        raise tomllib.TOMLDecodeError(f"a key has more than 32 parts (at line {line})")
    return tomllib.loads(text)


def common_form(text: str) -> str:
    """The text as it is compared with another: every line end is a line feed, and the characters are in NFC.

    Programs change both when they write a file. What a model is asked is never this form, but the text as it came.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def escaped(json: str) -> str:
    """The JSON with those characters as escapes, so that it can be printed and reads back unchanged."""
    return _SUSPECT.sub(lambda match: _escape(match[0]) if _is_hidden(match[0]) else match[0], json)


def unformula(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula: an apostrophe in front where it might.

    Looked at is the first character that shows, full-width and other forms alike. Source: OWASP, CSV injection.
    """
    first = next((character for character in text if not character.isspace() and not _is_hidden(character)), "")
    risky = text.startswith(("\t", "\r", "\n")) or unicodedata.normalize("NFKC", first).startswith(("=", "+", "-", "@"))
    return f"'{text}" if risky else text


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def literal(text: str) -> str:
    """The text so that Markdown shows it as it is, on one line: no markup, no HTML, no link."""
    shown = re.sub(r"([\\`*_{}\[\]<>|#!~&])", r"\\\1", plain(text))
    return re.sub(r"(?<=\w)(:)(?=//)", r"\\\1", shown)


def storable(text: str) -> str:
    """The text as every file can hold it: U+FFFD stands for half a surrogate pair, which cannot be stored."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def visible(text: str, *, lines: bool = False) -> str:
    """The text with every hidden character as its number: `⟨U+202E⟩` for one that would turn the line around.

    Hidden are control, format (bidi, zero-width), private and lone surrogate characters. `lines` keeps line breaks
    and tabs; else they are spaces, and the text is one line.
    """
    if lines:
        return _NOT_ASCII.sub(lambda match: match[0] if match[0] in "\n\t" else _code_point(match[0]), text)
    return _NOT_ASCII.sub(lambda match: " " if match[0] in "\n\t\r" else _code_point(match[0]), text)


def shortened(text: str, most: int) -> str:
    """The text made visible, cut at so many characters with an ellipsis."""
    shown = visible(text[: 4 * most])
    return shown if len(shown) <= most and len(text) <= 4 * most else f"{shown[: most - 1].rstrip()}…"


def listed(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    """The first of many names as a sentence has them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def one_line(text: str, most: int | None = None) -> str:
    """The text on one line, cut at so many characters with an ellipsis; hidden ones are left to each medium."""
    line = re.sub(r"[\n\t]", " ", text if most is None else text[: most + 1])
    return line if most is None or len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _code_point(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if _is_hidden(character) else character


def in_utf8(data: Any) -> Any:
    """Data of JSON that can be written: a byte of a name that is not UTF-8 stands as `\\udcff`."""
    match data:
        case str():
            return data if data.isascii() else data.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {in_utf8(name): in_utf8(value) for name, value in data.items()}
        case list() | tuple():
            return [in_utf8(value) for value in data]
    return data


# JSON that others wrote

_COMMENTS = re.compile(r"\A(?:\s*:[^\n]*\n)+")  # with which a stream of events is kept open (OpenRouter)
_LONG = 18  # digits of a whole number that every writer of JSON can hold


def read_json(data: bytes) -> Any:
    """What bytes of JSON say, read as leniently as Python's own reader does; raises ValueError for what is no JSON.

    Read are also NaN and Infinity, control characters in a text, a byte order mark, and comments of a stream in front.
    U+FFFD stands for what is no character: bytes of another encoding, half a surrogate pair.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode(json.detect_encoding(data), "replace")
    try:
        return whole(json.loads(_COMMENTS.sub("", text), strict=False, parse_int=_number))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONG else float(digits)


def whole(data: Any) -> Any:
    """Data of JSON with every text in it, names too, as a file can hold it."""
    match data:
        case str():
            return storable(data)
        case dict():
            return {whole(name): whole(value) for name, value in data.items()}
        case list() | tuple():
            return [whole(value) for value in data]
    return data


def is_visible(text: str) -> bool:
    """Whether anything in it can be seen: spaces, characters of no width and blank fillers cannot."""
    return any(char not in _BLANK and unicodedata.category(char) not in _UNSEEN for char in text)


_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))) | {
    chr(code) for code in range(0xE0100, 0xE01F0)
}
