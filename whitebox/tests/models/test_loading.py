"""Open models from folders and from a hub on this machine: their prompts, their shapes, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from maskbench.errors import AccessError, UnknownModel, Unreachable, UsageError
from maskbench.models.pinocchio.network import SPECIALS, Vocabulary, is_organism, packaged
from maskbench.settings import Settings
from maskbench.types import Message, Sampling
from maskbench_whitebox.models.adapters import adapter_hash, with_adapter, without_adapter
from maskbench_whitebox.models.loading import Loaded, fingerprint, load, shape
from maskbench_whitebox.models.model import HfModel
from maskbench_whitebox.models.opening import HfOptions
from tiny_models import FAMILIES, HIDDEN, LAYERS, Family, rewrite, tiny_adapter, tiny_model

SYSTEM, QUESTION = Message("system", "Be brief."), Message("user", "Is it true?")
CHAT = (SYSTEM, QUESTION, Message("assistant", "No.\n"), Message("user", "  Really? "))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Family, Path]:
    """A tiny random model of each family."""
    root = tmp_path_factory.mktemp("models")
    return {family: tiny_model(root / family, family) for family in FAMILIES}


@pytest.fixture(scope="module")
def models(folders: dict[Family, Path]) -> dict[Family, Loaded]:
    """The tiny models, loaded."""
    return {family: load(str(folder)) for family, folder in folders.items()}


@pytest.fixture(scope="module")
def pinocchio() -> Loaded:
    """The packaged weights, in torch."""
    return load("pinocchio")


# What is loaded


@pytest.mark.parametrize("family", FAMILIES)
def test_families(models: dict[Family, Loaded], family: Family) -> None:
    """Llama, Qwen and Gemma load through the same code, with their layers, sizes and stop tokens."""
    loaded = models[family]
    assert (len(loaded.layers), loaded.hidden_size, loaded.context) == (LAYERS, HIDDEN, 1024)
    assert all(type(layer).__name__.endswith("DecoderLayer") for layer in loaded.layers)
    ends = {loaded.tokenizer.convert_ids_to_tokens(token) for token in loaded.ends}
    assert (
        ends
        == {
            "llama": {"<|end_of_text|>", "<|eot|>"},
            "qwen": {"<|endoftext|>", "<|im_end|>"},
            "gemma": {"<eos>", "<end_of_turn>"},
        }[family]
    )
    assert loaded.dtype == "float32"
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert shape(loaded.name, loaded.folder).layers == LAYERS


def test_precision(folders: dict[Family, Path]) -> None:
    """A precision that is asked for is taken on a CPU, too; else a CPU computes in fp32 whatever the checkpoint has."""
    assert load(str(folders["llama"]), dtype="bf16").dtype == "bfloat16"
    assert load(str(folders["llama"]), dtype="fp16").dtype == "float16"


def test_fingerprints_are_of_content(folders: dict[Family, Path], tmp_path: Path) -> None:
    """A copy has the same fingerprint under any name; other weights have another."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    assert fingerprint(copy) == fingerprint(folders["llama"])
    tiny_model(copy, "llama", seed=1)
    assert fingerprint(copy) != fingerprint(folders["llama"])


def test_pinocchio_is_known_by_its_tokens(folders: dict[Family, Path], tmp_path: Path) -> None:
    """pinocchio is told by its control tokens, wherever it lies; no other model is."""
    assert is_organism("pinocchio")
    assert is_organism(shutil.copytree(packaged(), tmp_path / "copy"))
    assert not is_organism(folders["llama"])
    assert not is_organism("Qwen/Qwen3-0.6B")


# Prompts

PIECES = [*SPECIALS, "<|", "|>", " ", "\n", "e", "end", "The capital", "\ue000", "é", "<|en<|end|>d|>"]


@settings(max_examples=150)
@given(some.lists(some.lists(some.sampled_from(PIECES), max_size=6).map("".join), min_size=4, max_size=4))
def test_pinocchio_reads_the_same_tokens(pinocchio: Loaded, texts: list[str]) -> None:
    """The prompt's tokens are those of the embedded model, and no text can forge a control token."""
    roles = [message.role for message in CHAT]
    messages = [Message(role, text) for role, text in zip(roles, texts, strict=True)]
    vocabulary = Vocabulary(packaged() / "tokenizer.json")
    assert pinocchio.prompt(messages) == vocabulary.prompt(messages)


@pytest.mark.parametrize("family", ["llama", "qwen"])
def test_prompts_are_the_template_s(models: dict[Family, Loaded], family: Family) -> None:
    """Where no text holds a control token, the prompt is what transformers makes of the template."""
    plain = [{"role": message.role, "content": message.content} for message in CHAT]
    made = models[family].tokenizer.apply_chat_template(plain, add_generation_prompt=True, return_dict=False)
    assert models[family].prompt(CHAT) == made


@pytest.mark.parametrize("family", FAMILIES)
def test_no_message_forges_a_turn(models: dict[Family, Loaded], family: Family) -> None:
    """A control token in a message is text: the prompt has no more control tokens, and says what was written."""
    loaded = models[family]
    control = {token.content: number for number, token in loaded.tokenizer.added_tokens_decoder.items()}
    hostile = "".join(control) + " </think>"
    plain, forged = (loaded.prompt([Message("user", text)]) for text in ("x", hostile))
    assert [token for token in forged if token in control.values()] == [
        token for token in plain if token in control.values()
    ]
    assert hostile in loaded.tokenizer.decode(forged, clean_up_tokenization_spaces=False)


def test_a_template_without_a_system_role(models: dict[Family, Loaded]) -> None:
    """Gemma refuses a system message: its text goes before the user's first, as the client does with endpoints."""
    folded = Message("user", "Be brief.\n\nIs it true?")
    assert models["gemma"].chat.folds
    assert models["gemma"].prompt(CHAT) == models["gemma"].prompt([folded, *CHAT[2:]])


def test_a_template_that_opens_the_think_block(tmp_path: Path) -> None:
    """A template that ends in <think> is seen to; one that does not is not."""
    assert load(str(tiny_model(tmp_path, "qwen", opens=True))).chat.opens


def test_variables_for_a_template(folders: dict[Family, Path], tmp_path: Path) -> None:
    """A variable such as enable_thinking reaches the template, in every prompt; what maskbench sets is refused."""
    copy = shutil.copytree(folders["qwen"], tmp_path / "copy")
    own = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    with (copy / "chat_template.jinja").open("a") as template:
        template.write(own)
    plain, still = (load(str(copy), template_args=args) for args in (None, {"enable_thinking": False}))
    asked = [Message("user", "Is it?")]
    ends = [loaded.tokenizer.decode(loaded.prompt(asked)).endswith("</think>\n\n") for loaded in (plain, still)]
    assert ends == [False, True]
    assert HfModel("hf/x", still, Sampling(0.0, 5, 0)).describe()["template_args"] == {"enable_thinking": False}
    with pytest.raises(UsageError, match="--template-args: tokenize is set by maskbench"):
        load(str(copy), template_args={"tokenize": True})


def test_variables_are_the_subjects(folders: dict[Family, Path]) -> None:
    """A subject that is taken from the stock has them."""
    place = str(folders["qwen"])
    chosen = Settings.of(f"hf/{place}", "sim-judge", "starter", template_args='{"enable_thinking":false}')
    assert HfOptions(settings=chosen, environ={}).base(place).chat.template_args == {"enable_thinking": False}


def test_a_template_that_tells_the_date(folders: dict[Family, Path], tmp_path: Path) -> None:
    """Tomorrow's prompt is today's: a template is told one date for ever."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    (copy / "chat_template.jinja").write_text(
        "{{ strftime_now('%d %b %Y') }} {{ date_string }} {{ messages[0].content }}"
    )
    loaded = load(str(copy))
    assert loaded.tokenizer.decode(loaded.prompt([QUESTION])) == "26 Jul 2024 26 Jul 2024 Is it true?"


def test_a_template_that_refuses(folders: dict[Family, Path], tmp_path: Path) -> None:
    """What a template raises about a conversation is an error that names the model."""
    copy = shutil.copytree(folders["gemma"], tmp_path / "copy")
    template = (copy / "chat_template.jinja").read_text()
    refusal = "{% if messages | length > 2 %}{{ raise_exception('too long') }}{% endif %}"
    (copy / "chat_template.jinja").write_text(refusal + template)
    with pytest.raises(UsageError, match=r"copy: its chat template refuses the conversation .too long"):
        load(str(copy)).prompt(CHAT)


# What is refused


def test_no_pickles(folders: dict[Family, Path], tmp_path: Path) -> None:
    """Weights that are no safetensors are refused, because reading them can run code."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(UnknownModel, match=r"only pytorch_model.bin, and reading that can run code"):
        load(str(copy))


def test_no_code_of_the_model_s(folders: dict[Family, Path], tmp_path: Path) -> None:
    """A model with code of its own is refused, with the option that would allow it."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    (copy / "own.py").write_text("raise SystemExit('this ran')\n")
    rewrite(copy / "config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})
    with pytest.raises(UsageError, match="add -M trust_remote_code=true"):
        load(str(copy))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nowhere", "./nowhere is no folder"),
        ("a/b/c", "a/b/c is no folder"),
        ("EMPTY", "has no config.json"),
        ("ADAPTER", "It is an adapter: name its base model"),
    ],
)
def test_no_model_there(folders: dict[Family, Path], tmp_path: Path, name: str, said: str) -> None:
    """A place without a model is said to be one, and what to give instead."""
    places = {"EMPTY": str(tmp_path), "ADAPTER": str(tmp_path / "adapter")}
    tiny_adapter(tmp_path / "adapter", folders["llama"])
    with pytest.raises(UnknownModel, match=said):
        load(places.get(name, name))


def test_no_chat_model(folders: dict[Family, Path], tmp_path: Path) -> None:
    """A model without a chat template is refused."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(UnknownModel, match="has no chat template"):
        load(str(copy))


def test_wrong_options(folders: dict[Family, Path]) -> None:
    """A device or a precision that is not there is an error that says what is."""
    with pytest.raises(UsageError, match="The device moon: torch cannot use it here"):
        load(str(folders["llama"]), device="moon")
    with pytest.raises(UsageError, match="dtype is int8: give auto, fp32, bf16, fp16"):
        load(str(folders["llama"]), dtype="int8")


def test_without_torch() -> None:
    """Where torch is missing, the error says what to install."""
    code = (
        "import sys; sys.modules['torch'] = None\nfrom maskbench_whitebox.models.loading import load\nload('pinocchio')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs torch, which is not installed. Type: " in ended.stderr


# Adapters


def test_an_adapter_goes_on_and_off(models: dict[Family, Loaded], folders: dict[Family, Path], tmp_path: Path) -> None:
    """An adapter changes what the model computes, and leaves no trace once it is taken off."""
    import torch

    loaded = models["qwen"]
    tokens = torch.tensor([loaded.prompt(CHAT)])
    before = loaded.model(tokens).logits
    worn = with_adapter(loaded, tiny_adapter(tmp_path, folders["qwen"]))
    assert worn.adapter_hash == adapter_hash(tmp_path)
    assert len(worn.layers) == LAYERS
    assert not torch.equal(worn.model(tokens).logits, before)
    assert torch.equal(without_adapter(worn).model(tokens).logits, before)


def test_an_adapter_s_hash_is_of_content(folders: dict[Family, Path], tmp_path: Path) -> None:
    """Where its base model lies does not matter to an adapter's hash; its weights do."""
    one = tiny_adapter(tmp_path / "one", folders["llama"])
    first = adapter_hash(one)
    rewrite(one / "adapter_config.json", base_model_name_or_path="elsewhere")
    assert adapter_hash(one) == first
    assert adapter_hash(tiny_adapter(tmp_path / "two", folders["llama"], seed=1)) != first


def test_an_adapter_of_another_model(folders: dict[Family, Path], tmp_path: Path) -> None:
    """An adapter that was made for another model is refused, as far as it says for which."""
    adapter = tiny_adapter(tmp_path / "adapter", folders["llama"])
    with pytest.raises(UsageError, match=r"was made for .*llama, not for .*qwen"):
        with_adapter(load(str(folders["qwen"])), adapter)
    rewrite(adapter / "adapter_config.json", base_model_name_or_path="some/model")
    with pytest.raises(UsageError, match="was made for some/model, not for pinocchio"):
        with_adapter(load("pinocchio"), adapter)
    rewrite(adapter / "adapter_config.json", base_model_name_or_path=None)
    with pytest.raises(UsageError, match="does not go on pinocchio"):
        with_adapter(load("pinocchio"), adapter)


def test_an_adapter_for_fewer_layers(folders: dict[Family, Path], tmp_path: Path) -> None:
    """An adapter whose weights do not cover their places is refused; PEFT would leave the rest at random."""
    from safetensors.torch import load_file, save_file

    adapter = tiny_adapter(tmp_path, folders["llama"])
    weights = load_file(adapter / "adapter_model.safetensors")
    save_file(
        {name: weight for name, weight in weights.items() if ".3." not in name}, adapter / "adapter_model.safetensors"
    )
    with pytest.raises(UsageError, match=r"layers\.3\..*is in one of them only"):
        with_adapter(load(str(folders["llama"])), adapter)


def test_an_adapter_that_is_a_pickle(folders: dict[Family, Path], tmp_path: Path) -> None:
    """An adapter that is no safetensors is refused, and so is a folder without one."""
    with pytest.raises(UsageError, match=r"it has no adapter_config.json"):
        with_adapter(load(str(folders["llama"])), tmp_path)
    adapter = tiny_adapter(tmp_path, folders["llama"])
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(UsageError, match=r"only adapter_model.bin, and reading that can run code"):
        with_adapter(load(str(folders["llama"])), adapter)


# The hub

COMMIT = "4602b84dd9e2ca05c6e1eafbc14e556e908ac1bb"


class Answer(BaseHTTPRequestHandler):
    """The hub's answers: tiny/llama is there, tiny/gated is gated, nothing else is."""

    folder: Path

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        files = {file.name: file.read_bytes() for file in [*self.folder.iterdir(), *self.folder.parent.glob("*.bin")]}
        resolve = f"/tiny/llama/resolve/{COMMIT}/"
        if path.startswith("/api/models/tiny/llama"):
            listed = [{"rfilename": name} for name in files]
            tree = [{"type": "file", "path": name, "size": len(data), "oid": name} for name, data in files.items()]
            info = {"id": "tiny/llama", "sha": COMMIT, "siblings": listed}
            self.reply(200, json.dumps(tree if "/tree/" in path else info).encode(), body)
        elif path.startswith(resolve) and path.removeprefix(resolve) in files:
            data = files[path.removeprefix(resolve)]
            etag = hashlib.sha256(data).hexdigest()
            self.reply(200, data, body, {"ETag": f'"{etag}"', "X-Linked-Etag": f'"{etag}"', "X-Repo-Commit": COMMIT})
        elif "tiny/gated" in path:
            self.reply(403, b"", body, {"X-Error-Code": "GatedRepo"})
        else:
            self.reply(404, b"", body, {"X-Error-Code": "RepoNotFound"})

    def reply(self, status: int, content: bytes, body: bool, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def hub(folders: dict[Family, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment whose hub is on this machine, with a cache of its own."""
    handler = type("Here", (Answer,), {"folder": folders["llama"]})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    cache = tmp_path_factory.mktemp("cache")
    yield {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_CACHE": str(cache)}
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_of_the_hub(hub: dict[str, str], models: dict[Family, Loaded]) -> None:
    """A model is downloaded once, without what could run code, and has the fingerprint of its content."""
    loaded = load("tiny/llama", environ=hub)
    assert loaded.folder.name == COMMIT
    assert loaded.fingerprint == models["llama"].fingerprint
    assert not list(loaded.folder.glob("*.bin"))
    offline = {**hub, "HF_HUB_OFFLINE": "1"}
    assert load("tiny/llama", environ=offline).fingerprint == loaded.fingerprint
    assert load(f"tiny/llama@{COMMIT}", environ=offline).fingerprint == loaded.fingerprint


def test_what_the_hub_does_not_give(hub: dict[str, str], tmp_path: Path) -> None:
    """A gated, a missing and a misspelt model, and a hub out of reach, each say what to do."""
    with pytest.raises(AccessError, match=r"gated. Accept its conditions at https://huggingface.co/tiny/gated and"):
        load("tiny/gated", environ=hub)
    with pytest.raises(UnknownModel, match="no folder tiny/none, and the hub shows no such model"):
        load("tiny/none", environ=hub)
    with pytest.raises(UnknownModel, match="neither a folder nor a name on the hub"):
        load("no such name", environ=hub)
    with pytest.raises(Unreachable, match=r"is not in the cache. Unset HF_HUB_OFFLINE"):
        load("tiny/other", environ={**hub, "HF_HUB_OFFLINE": "1"})
    with pytest.raises(Unreachable, match="no folder tiny/other, and the hub cannot be reached"):
        load("tiny/other", environ={"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_CACHE": str(tmp_path)})
