"""Hostile text: what a terminal would obey, what a spreadsheet would run, what JSON must keep."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.plain import escaped, plain, unformula

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def hidden(text: str) -> set[str]:
    """The characters in a text that show nothing and may steer what shows it."""
    return {character for character in text if unicodedata.category(character) in HIDDEN}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]8;;http://evil\x07click\x1b]8;;\x07", "]8;;http://evilclick]8;;"),
        ("\x9b31mred", "31mred"),  # the C1 form of ESC [
        ("over\rwritten", "overwritten"),
        ("back\b\b\b\bspace", "backspace"),
        ("abc\u202edcba", "abcdcba"),  # right-to-left override
        ("\u2066isolated\u2069\u200b\ufeff", "isolated"),
        ("tag\U000e0041", "tag"),
        ("nul\0", "nul"),
        ("half \ud800 a pair", "half  a pair"),
        ("private \ue000", "private "),
        ("Ünïcödé, 日本語, emoji 🙂, – and ½", "Ünïcödé, 日本語, emoji 🙂, – and ½"),
        ("[red]markup is text[/red]", "[red]markup is text[/red]"),
    ],
)
def test_nothing_steers_a_terminal(text: str, shown: str) -> None:
    """Control, format, surrogate and private characters go, everything that shows stays."""
    assert plain(text) == shown


def test_one_line_or_several() -> None:
    """Breaks and tabs become spaces in a line, and stay in a text."""
    text = "one\ntwo\tthree\r\nfour\u2028five"
    assert plain(text) == "one two three four five"
    assert plain(text, lines=True) == "one\ntwo\tthree\nfour\nfive"


@given(TEXT)
def test_plain_text_shows_whole(text: str) -> None:
    """Nothing hidden is left, what shows keeps its order, and doing it twice changes nothing."""
    shown = plain(text)
    assert not hidden(shown)
    assert hidden(plain(text, lines=True)) <= {"\n", "\t"}
    assert plain(shown) == shown
    assert [c for c in shown if c != " "] == [c for c in text if unicodedata.category(c) not in HIDDEN and c != " "]


@given(TEXT)
def test_escaped_json_reads_back(text: str) -> None:
    """JSON with hidden characters as escapes is the same JSON, and shows none."""
    shown = escaped(json.dumps({"said": text}, ensure_ascii=False))
    assert json.loads(shown) == {"said": text}
    assert not hidden(shown)


def test_escaped_json_keeps_its_lines() -> None:
    """Indented JSON stays indented."""
    shown = json.dumps({"a": ["é", "\u202e"]}, indent=2, ensure_ascii=False)
    assert escaped(shown) == shown.replace("\u202e", "\\u202e")


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-5",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\ttab alone",
        "   =1",
        "\u00a0=1",
        "\u200b=1",
        "\ufeff=1",
        "＝1+1",
        "＋1",
        "－1",
        "＠x",
        "﹦1",
        '=HYPERLINK("http://evil")',
    ],
)
def test_formulas_are_made_text(text: str) -> None:
    """What a spreadsheet could take for a formula gets an apostrophe in front, also behind blanks and full-width."""
    assert unformula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", " ", "A", "5", "a=1", "1-2", "'=1", "x@y", "(=1)", "[1.0, 2.0]", '{"a": -1}'])
def test_other_text_is_left_alone(text: str) -> None:
    """Everything else stays as it is."""
    assert unformula(text) == text
