"""A server that sends the key back in a good answer: no file of the run holds it, in any form."""

import sqlite3
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import Answer, Body, completion
from flows import MODELS, command, environ, reply_to, serving, six_files
from maskbench.store.masking import Mask, mask_of
from maskbench.store.record import session

KEY = "sk-or-v1/8+a~?>?~?9d0f1b2c3e4d5a6978"  # some of its base64 differs between the two alphabets
MIDDLE = len(KEY) // 2
FORMS = {
    "whole": KEY,
    "halved by a line break": f"{KEY[:MIDDLE]}\n{KEY[MIDDLE:]}",
    "halved elsewhere": f"{KEY[:5]} \r\n\t{KEY[5:]}",
    "base64": b64encode(KEY.encode()).decode(),
    "base64 of a header": b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 after two letters": b64encode(f"k={KEY}; more".encode()).decode(),
    "base64 for addresses": urlsafe_b64encode(f"y{KEY}".encode()).decode(),
    "hex": KEY.encode().hex(),
    "hex of a header": f"Bearer {KEY}".encode().hex().upper(),
    "hex in bytes": KEY.encode().hex(" "),
    "base64 in lines": f"{b64encode(KEY.encode()).decode()[:20]}\n{b64encode(KEY.encode()).decode()[20:]}",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str) -> None:
    """The key is taken out of a text, and the rest of the text stays."""
    masked = Mask(KEY)(f"I hold that {FORMS[form]}, in all.")
    assert masked.startswith("I hold that ")
    assert masked.endswith(", in all.")
    assert "***" in masked
    assert len(masked) < 45


@pytest.mark.parametrize(
    "key", [None, "", "x", "key", "EMPTY", "password", "token-1", "lm-studio", "not-needed", "LM-Studio"]
)
def test_no_secret(key: str | None) -> None:
    """What stands for no key changes nothing, be it said by a model or by a server that refuses one."""
    text = "The box is EMPTY, its password is token-1; a key is not-needed: text of lm-studio (LM-Studio)."
    assert Mask(key)(text) == text
    assert mask_of({"OPENAI_API_KEY": key or ""})(text) == text


@pytest.mark.parametrize("key", ["x", "te", "7", "abc", "model"])
def test_a_short_key_garbles_no_message(key: str, tmp_path: Path) -> None:
    """A key that is part of any word is not looked for in what a server says, or in what we say."""
    with serving(rules=[lambda _: Answer(404, {"error": {"message": "the text model abc7 does not exist"}})]) as server:
        line = ("run", *MODELS, "--scenarios", six_files(tmp_path / "set", 1), "--out", tmp_path / "run")
        ended = command(*line, env={**environ(server), "LOCAL_API_KEY": key})
    assert "the text model abc7 does not exist" in ended.err


@pytest.mark.parametrize(("key", "is_told"), [("lm-studio", False), ("short-key-1", False), (KEY, True)])
def test_replies_stay_but_for_a_real_key(key: str, is_told: bool, tmp_path: Path) -> None:
    """A dummy or a short word is the model's; a real key is not stored, and it is told how often it came."""
    rows = six_files(tmp_path / "set", 1)
    said = f"A. I use {key} here."
    with serving(reply=lambda body: reply_to(body) if body["model"] == "judge" else said) as server:
        line = ("run", *MODELS, "--scenarios", rows, "--out", tmp_path / "run")
        ended = command(*line, env={**environ(server), "LOCAL_API_KEY": key})
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as database:
        texts = {text for (text,) in database.execute("SELECT text FROM replies")}
    assert texts == {said.replace(key, "***") if is_told else said}
    assert ("sent the key back in 29 of its samples" in ended.err) is is_told


@given(st.text(max_size=200))
def test_other_text_is_left_alone(text: str) -> None:
    """A text without the key comes back as it is."""
    assert Mask(KEY)(text) == text


def pieces() -> Iterator[bytes]:
    """Everything that would tell a part of the key: long pieces of it and of its base64."""
    for form in FORMS.values():
        length = min(12, len(form))
        yield from (form[start : start + length].encode() for start in range(8, len(form) - length - 8))


def test_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that puts the key into text, reasoning, model, fingerprint and errors leaves no piece of it in a run."""
    monkeypatch.setattr("flows.KEY", KEY)
    forms = list(FORMS.values())
    assert b64encode(f"y{KEY}".encode()) != urlsafe_b64encode(f"y{KEY}".encode())

    def echo(body: Body) -> Answer:
        drawn = len(str(body["messages"]))
        form = forms[drawn % len(forms)]
        if drawn % 7 == 0:
            return Answer(400, {"error": {"message": f"No: {form}"}})
        said = completion(body, [{"content": f"A. {form}", "reasoning_content": f"The header says {form}."}])
        return Answer(content={**said, "model": f"{'m' * 190}{form}", "system_fingerprint": f"fp {form}"})

    with serving(rules=[echo]) as server:
        options = ("--scenarios", six_files(tmp_path / "set", 1), "--out", tmp_path / "run")
        ended = command("run", *MODELS, *options, env=environ(server))
    files = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    for name, data in {**files, "the terminal": (ended.out + ended.err).encode()}.items():
        assert not [piece for piece in pieces() if piece in data], name
    assert files["run.sqlite"].count(b"***") > 50


def test_the_command_is_recorded_without_the_environments_keys() -> None:
    """Whatever a variable with a key is called, the same ones as `--extra-body` may not hold."""
    environ = {"A_KEY": "first-key", "B_TOKEN": "second-key", "C_SECRET": "third-key", "d_password": "fourth-key"}
    command = ["maskbench", *environ.values(), "--limit=3"]
    assert session(command, environ, {}).command == ["maskbench", *["***"] * 4, "--limit=3"]
