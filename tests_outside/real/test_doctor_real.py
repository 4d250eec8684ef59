"""`maskbench doctor` on a small real model: behind llama.cpp's server by two interfaces, and in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import real_models
from maskbench.models.chat.contact import Contact, contacts
from real_models import Server


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """llama.cpp's server with the model."""
    with real_models.llama_cpp(tmp_path_factory.mktemp("llama") / "log") as server:
        yield server


def findings(cwd: Path, environ: dict[str, str], *words: str) -> dict[str, dict[str, Any]]:
    """what a visit found, by part and ability."""
    command = [sys.executable, "-m", "maskbench", "doctor", *words, "--json"]
    ended = subprocess.run(command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    models = json.loads(ended.stdout)["models"]
    return {f"{model['part']} {each['what']}": each for model in models for each in model["findings"]}


def _lasting(contact: Contact) -> tuple[object, ...]:
    """What of a record holds from day to day: a seed is honoured or not, by what the server's cache holds."""
    parameters = {**contact.parameters, "seed": "seed" in contact.parameters}
    return contact.service, contact.model, contact.server, contact.served, parameters, list(contact.usage)


def test_llama_cpp_as_both(llama: Server, tmp_path: Path) -> None:
    """It takes several samples, a seed and a schema, says what its cache held, and has a verdict in its form.

    The record of this contact has what the one that comes with maskbench has.
    """
    limits = ("--max-tokens", "32", "--judge-max-tokens", "200", "--timeout", "600")
    record = ("--record", str(tmp_path / "llama-cpp.json"))
    shown = findings(tmp_path, llama.environ, llama.name, "--judge", llama.name, *limits, *record)
    made = msgspec.json.decode((tmp_path / "llama-cpp.json").read_bytes(), type=list[Contact])
    known = [contact for contact in contacts() if contact.service == "llama-cpp"]
    assert [_lasting(contact) for contact in made] == [_lasting(contact) for contact in known]
    able = ("samples (n)", "context", "system role", "temperature", "usage", "prompt cache")
    assert {shown[f"subject {what}"]["works"] for what in able} == {"yes"}
    assert shown["subject seed"]["works"] in ("yes", "differently")  # its cache changes the last bits of its sums
    assert shown["judge response schema"]["works"] == "yes"
    assert not shown["judge verdict on options"]["stops"]


def test_the_messages_interface_of_llama_cpp(llama: Server, tmp_path: Path) -> None:
    """By Anthropic's interface one sample comes with a request, and there is no seed."""
    environ = {"ANTHROPIC_BASE_URL": llama.environ["LLAMA_CPP_BASE_URL"], "ANTHROPIC_API_KEY": "sk-of-nobody-0123456"}
    shown = findings(tmp_path, environ, "anthropic/smollm2", "--max-tokens", "16", "--timeout", "600")
    assert (shown["subject samples (n)"]["works"], shown["subject seed"]["works"]) == ("differently", "no")
    assert shown["subject context"]["works"] == "yes"


def test_a_model_in_this_process(tmp_path: Path) -> None:
    """It says how much it reads, and that its samples have seeds."""
    shown = findings(tmp_path, {}, f"hf/{real_models.weights()}", "--max-tokens", "8")
    assert "It reads 8,192 tokens" in shown["subject context"]["says"]
    assert {shown[f"subject {what}"]["works"] for what in ("seed", "system role", "usage")} == {"yes"}
