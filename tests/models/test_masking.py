"""A server that sends the key back in a good answer: no file of the run holds it, in any form."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import Answer, Body, completion
from flows import MODELS, environ, run, serving, six_files
from maskbench.models.chat.masking import Mask
from maskbench.runs.record import session

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


@pytest.mark.parametrize("key", [None, "", "EMPTY", "password", "token-1"])
def test_no_secret(key: str | None) -> None:
    """What stands for no key changes nothing that a model says."""
    text = "The box is EMPTY, its password is token-1."
    assert Mask(key)(text) == text


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
        ended = run("run", *MODELS, *options, env=environ(server))
    files = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    for name, data in {**files, "the terminal": (ended.out + ended.err).encode()}.items():
        assert not [piece for piece in pieces() if piece in data], name
    assert files["run.sqlite"].count(b"***") > 50


def test_the_command_is_recorded_without_the_environments_keys() -> None:
    """Whatever a variable with a key is called, the same ones as `--extra-body` may not hold."""
    environ = {"A_KEY": "first-key", "B_TOKEN": "second-key", "C_SECRET": "third-key", "d_password": "fourth-key"}
    command = ["maskbench", *environ.values(), "--limit=3"]
    assert session(command, environ, {}).command == ["maskbench", *["***"] * 4, "--limit=3"]
