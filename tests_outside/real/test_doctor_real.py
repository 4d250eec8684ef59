"""`maskbench doctor` on a small real model: behind llama.cpp's server by two interfaces, and in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import real_models
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


def test_llama_cpp_as_both(llama: Server, tmp_path: Path) -> None:
    """It answers both parts, and reads or refuses a long prompt: a model so small need not know the word."""
    limits = ("--max-tokens", "32", "--judge-max-tokens", "200", "--timeout", "600")
    shown = findings(tmp_path, llama.environ, llama.name, "--judge", llama.name, *limits)
    assert shown["subject question"]["works"] in ("yes", "differently")
    assert shown["subject longest of the set"]["works"] in ("yes", "differently")
    assert shown["subject long prompt"]["works"] != "no"
    assert shown["judge verdict on A"]["works"] != "no"


def test_the_messages_interface_of_llama_cpp(llama: Server, tmp_path: Path) -> None:
    """It answers by Anthropic's interface, too."""
    environ = {"ANTHROPIC_BASE_URL": llama.environ["LLAMA_CPP_BASE_URL"], "ANTHROPIC_API_KEY": "sk-of-nobody-0123456"}
    shown = findings(tmp_path, environ, "anthropic/smollm2", "--max-tokens", "16", "--timeout", "600")
    assert shown["subject longest of the set"]["works"] in ("yes", "differently")


def test_a_model_in_this_process(tmp_path: Path) -> None:
    """It answers, and is not asked for a word: it reads all of a prompt, or says that it does not fit."""
    shown = findings(tmp_path, {}, f"hf/{real_models.weights()}", "--max-tokens", "8")
    assert list(shown) == ["subject question", "subject longest of the set"]
