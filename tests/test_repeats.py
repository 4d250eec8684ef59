"""Nothing is said on two pages: no ten words of prose in a row stand on two of the pages for users."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WORDS = 10
# What stands on two pages on purpose: ten entries at most, each a few words out of the repeated ones.
ALLOWED: tuple[str, ...] = ()
# No prose: what a script writes, what is fenced or indented, rows of tables, headings and code.
NO_PROSE = (
    re.compile(r"<!-- .*?-->.*?<!-- (?:end|/|to here).*?-->", re.DOTALL),
    re.compile(r"^ *(```|~~~).*?^ *\1.*?$", re.MULTILINE | re.DOTALL),
    re.compile(r"^(?:    .*|\|.*|#+ .*)$", re.MULTILINE),
    re.compile(r"`[^`]*`"),
)
TARGET = re.compile(r"\]\([^)]*\)")
BREAK = "|"


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """Every ten words of a page in a row; what is no prose stands between words and breaks the row."""
    for pattern in NO_PROSE:
        text = pattern.sub(f" {BREAK} ", text)
    text = TARGET.sub(" ", text)
    words = [word.lower() for word in re.findall(r"[\w’'-]+|\|", text)]
    for at in range(len(words) - WORDS + 1):
        if BREAK not in (row := tuple(words[at : at + WORDS])):
            yield row


def repeated(pages: dict[str, str]) -> dict[str, list[str]]:
    """The words that stand on two pages or more, each with the names of these pages."""
    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, text in pages.items():
        for row in dict.fromkeys(rows(text)):
            found[row].append(name)
    return {" ".join(row): names for row, names in found.items() if len(names) > 1}


def test_nothing_is_said_on_two_pages() -> None:
    """Whoever says it a second time is told where it stands already; ten repeats at most are allowed, and used."""
    told = repeated({str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PAGES})
    assert {words: names for words, names in told.items() if not any(part in words for part in ALLOWED)} == {}
    assert len(ALLOWED) <= 10
    assert [part for part in ALLOWED if not any(part in words for words in told)] == []


def test_a_repeat_is_found_across_lines_and_marks() -> None:
    """Line ends, capitals and links do not hide a repeat; code, tables and headings are none."""
    said = "The judge reads one reply\nand gives a [verdict](x.md#y) on it."
    again = "So the judge reads one reply and gives a verdict on"
    assert repeated({"a": said, "b": again}) == {"the judge reads one reply and gives a verdict on": ["a", "b"]}
    assert repeated({"a": f"    {again}", "b": again, "c": f"# {again}", "d": f"| {again} |", "e": f"`{again}`"}) == {}
