"""Text that models and endpoints wrote, made harmless for a terminal and for a spreadsheet."""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^ -~\n]")
_HIDDEN = ("Cc", "Cf", "Cs", "Co")  # control, format (bidi, zero-width), surrogates, private use
_BREAKS = {"\t": "\t", "\u2028": "\n", "\u2029": "\n"}


def plain(text: str, *, lines: bool = False) -> str:
    """The text without control, format, surrogate and private characters.

    `lines` keeps line breaks and tabs; else they become spaces, and the text one line.
    """
    shown = _SUSPECT.sub(lambda found: _BREAKS.get(found[0], "" if _is_hidden(found[0]) else found[0]), text)
    return shown if lines else shown.replace("\n", " ").replace("\t", " ")


def escaped(json: str) -> str:
    """The same JSON with those characters as escapes, so that it can be printed and reads back unchanged."""
    return _SUSPECT.sub(lambda found: _escape(found[0]) if _is_hidden(found[0]) else found[0], json)


def unformula(text: str) -> str:
    """The text so that no spreadsheet takes it for a formula: an apostrophe in front where it might.

    Looked at is the first character that shows, full-width and other forms alike. Source: OWASP, CSV injection.
    """
    first = next((character for character in text if not character.isspace() and not _is_hidden(character)), "")
    risky = text.startswith(("\t", "\r", "\n")) or unicodedata.normalize("NFKC", first).startswith(("=", "+", "-", "@"))
    return f"'{text}" if risky else text


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in (*_HIDDEN, "Zl", "Zp")


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
