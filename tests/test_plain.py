"""Hostile text: what a terminal would obey, what a spreadsheet would run, what JSON must keep."""

import json
import math
import time
import tomllib
import unicodedata
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.plain import escaped, plain, read_json, read_toml, unformula, whole

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


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}', {"a": 1}),
        (rb'{"cut \ud83d": ["\udc00 off", {"\ud83d\ude42": 1}]}', {"cut \ufffd": ["\ufffd off", {"🙂": 1}]}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('{"a": "é"}'.encode("utf-16"), {"a": "é"}),
        (b'{"a": "line\x0bbreak\ttab"}', {"a": "line\x0bbreak\ttab"}),
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"a": Infinity, "b": -Infinity}', {"a": math.inf, "b": -math.inf}),
        (b': STILL AT IT\n\n: STILL AT IT\n\n{"a": NaN, "b": 1}', {"a": math.nan, "b": 1}),
        (b"[NaN, 18446744073709551616, -1e400, 9007199254740993]", [math.nan, 2.0**64, -math.inf, 9007199254740993]),
    ],
)
def test_json_is_read_as_others_read_it(data: bytes, said: Any) -> None:
    """Half a character, numbers without a word in JSON, a mark of bytes, control characters, comments hide nothing."""
    assert repr(read_json(data)) == repr(said)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\xff\xfe", b"<html>", b'{"a": 1', b'{"a": 1} {"b": 2}', b"data: {}", b": comment", b'"\\ud83d'),
        *(b"[" * 900_000, b"[" * 5000 + b"NaN" + b"]" * 5000, b"-" + b"9" * 5000 + b"x"),
    ],
)
def test_what_is_no_json_is_an_error(data: bytes) -> None:
    """Text of another kind, and JSON that is nested too deeply, are one kind of error."""
    with pytest.raises(ValueError, match=r"\w"):
        read_json(data)


ODD_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(["\ud83d", "\udc00!"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.just("\udfff"), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(ODD_JSON)
def test_json_of_others_can_be_written_again(data: Any) -> None:
    """Whatever Python writes as JSON is read, and comes out as what every file can hold."""
    assert orjson.dumps(read_json(json.dumps(data).encode()))
    assert orjson.loads(orjson.dumps(whole(["\ud83d", {"\udc00": ("a\udfff", 1)}]))) == [
        "\ufffd",
        {"\ufffd": ["a\ufffd", 1]},
    ]


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 50_000) + " = 1",
        " . ".join(["a-b_c"] * 50_000) + " = 1",
        "x = 1\n" + ".".join(['"a b"'] * 50_000) + " = 1",
        "[" + ".".join(["'a'"] * 50_000) + "]",
        "x = { " + ".".join(["a"] * 50_000) + " = 1 }",
        "x = 1\n" * 500_000,
        "a" * 999_999,
        '"' * 999_999,
        ("a." * 30 + " ") * 10_000,
    ],
)
def test_no_toml_takes_long(text: str) -> None:
    """What a parser would need minutes for is refused at once."""
    started = time.monotonic()
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml(text)
    assert time.monotonic() - started < 10


def test_toml_is_read_as_ever() -> None:
    """Keys of a few parts, and texts in which many words have dots between them."""
    told = "One. " * 200 + "v1.2.3.4"
    assert read_toml(f'a.b."c d" = 1\n[x.y]\nz = "{told}"\nn = [0.5, 0.25]\n') == {
        "a": {"b": {"c d": 1}},
        "x": {"y": {"z": told, "n": [0.5, 0.25]}},
    }
