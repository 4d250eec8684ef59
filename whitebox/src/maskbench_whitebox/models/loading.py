"""An open model with its tokenizer, from the hub, a folder, or the package; never from a pickle.

Weights are safetensors, in a model and in an adapter alike: other formats can run code when they are read.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.doors import TOKENS, cache_of, install, is_offline, packaged, status_of, token_of
from maskbench.errors import AccessError, MaskbenchError, UnknownModel, Unreachable, UsageError
from maskbench.types import Message
from maskbench_whitebox.models.template import Chat

if TYPE_CHECKING:
    import torch
    from torch import nn


PACKAGES = ("torch", "transformers", "peft", "safetensors")
DTYPES: Mapping[str, str] = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
QUANTISED = ("4bit", "8bit")
_FAULTS = (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError, TypeError)  # of the libraries
_FOREVER = 1_000_000  # tokens: the context where a configuration gives none
WANTED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.py")
UNWANTED = ("*/*", "consolidated*")  # the same weights once more, in other layouts


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model ready to be asked, recorded, steered or trained; its parameters ask for no gradient.

    `layers` are its decoder layers in order; `context` is in tokens; `ends` are the tokens that end an answer;
    `device` is where tokens go; the layers may lie elsewhere. `fingerprint` stands for the content of weights,
    configuration and tokenizer, `adapter_hash` for an adapter's.
    """

    name: str
    folder: Path
    model: Any
    tokenizer: Any
    device: torch.device
    dtype: str
    context: int
    fingerprint: str
    layers: Sequence[nn.Module]
    chat: Chat
    ends: frozenset[int]
    adapter_hash: str | None = None
    quantize: str | None = None

    @property
    def hidden_size(self) -> int:
        """The length of a hidden state."""
        return int(self.model.config.get_text_config().hidden_size)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens up to where the model's answer begins; raises UsageError for roles the template refuses."""
        return self.chat.prompt(messages)


def load(
    name: str,
    *,
    dtype: str = "auto",
    quantize: str | None = None,
    device: str | Mapping[str, str] | None = None,
    trust_remote_code: bool = False,
    template_args: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Load a model: `pinocchio`, a folder, or a name on the hub (`ORG/NAME`, or `ORG/NAME@REVISION`).

    `dtype` is auto, fp32, bf16 or fp16; auto is the checkpoint's, but fp32 on a CPU. `quantize` is 4bit or 8bit, and
    needs bitsandbytes. `device` is as torch names it, default cuda where there is one; `auto` spreads the layers over
    all GPUs, and a mapping says where each part goes, as accelerate takes it.
    `template_args` are variables for the chat template. Raises UnknownModel, AccessError or Unreachable where there is
    no such model, UsageError for options it cannot be loaded with.
    """
    require_torch()
    check_quantize(quantize)
    places = {"": device_of(device)} if device is None or isinstance(device, str) else dict(device)
    folder = folder_of(name, environ)
    check_safetensors(folder, name)
    with quiet():
        tokenizer, model = _read(name, folder, dtype, quantize, places, trust_remote_code)
    model.eval().requires_grad_(False)
    chat = Chat(name, tokenizer, template_args)
    return Loaded(
        name=name,
        folder=folder,
        model=model,
        tokenizer=tokenizer,
        device=_entrance(model),
        dtype=str(model.dtype).removeprefix("torch."),
        context=int(getattr(model.config.get_text_config(), "max_position_embeddings", None) or _FOREVER),
        fingerprint=fingerprint(folder),
        layers=decoder_layers(model),
        chat=chat,
        ends=chat.ends | _ends(model),
        quantize=quantize,
    )


def require_torch() -> None:
    """Raise UsageError with what to install where torch, transformers or peft is missing."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"A model in this process needs {missing[0]}, which is not installed. Type: {install(*PACKAGES)}"
        )


def device_of(device: str | None) -> str:
    """The device as torch names it; raises UsageError for one that is not there."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "auto":
        if find_spec("accelerate") is None:
            raise UsageError(f"The device auto needs accelerate, which is not installed. Type: {install('accelerate')}")
        return "auto" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        words = str(error).partition("\n")[0]
        known = "cpu, cuda, cuda:1, or auto"
        raise UsageError(f"The device {device}: torch cannot use it here ({words}). Give {known}.") from None
    return device


def check_quantize(quantize: str | None) -> None:
    """Raise UsageError for a quantisation that there is not, or whose library is not installed."""
    if quantize is None:
        return
    if quantize not in QUANTISED:
        raise UsageError(f"quantize is {quantize}: give {' or '.join(QUANTISED)}.")
    if find_spec("bitsandbytes") is None:
        raise UsageError(
            f"Weights in {quantize} need bitsandbytes, which is not installed. Without it, the dtype bf16 takes half "
            f"the memory of fp32. To install it, type: {install('bitsandbytes')}"
        )


def folder_of(name: str, environ: Mapping[str, str] | None = None) -> Path:
    """The folder that holds a model's files, downloaded where it is a name on the hub.

    Raises UnknownModel, AccessError or Unreachable where there is none.
    """
    if name == "pinocchio":
        return packaged()
    place = Path(name).expanduser()
    if place.is_dir():
        return place
    if place.suffix.lower() == ".gguf":
        raise UnknownModel(_gguf(name, place))
    if place.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or place.exists():
        raise UnknownModel(f"{name} is no folder. Give the folder that holds a model's config.json.")
    return fetch(name, environ or {})


def _gguf(name: str, file: Path) -> str:
    """What to do with weights of llama.cpp, which this process does not run."""
    return (
        f"{name} is a GGUF file, which runs on llama.cpp's server and not in this process. Start `llama-server -m "
        f"{file.name} --port 8080`, and name the model llama-cpp/{file.stem}. Steering and adapters need safetensors: "
        "take the model that the file was made of, or write it out once as whitebox/README.md shows."
    )


def check_safetensors(folder: Path, name: str) -> None:
    """Raise UnknownModel where a folder holds no model, or only weights that are no safetensors."""
    has_config, has_weights = (folder / "config.json").is_file(), any(folder.glob("*.safetensors"))
    if not (has_config and has_weights) and (files := sorted(folder.glob("*.gguf"))):
        raise UnknownModel(_gguf(str(files[0]), files[0]))
    if not has_config:
        adapter = (folder / "adapter_config.json").is_file()
        hint = (
            "It is an adapter: name its base model, and give it as the adapter." if adapter else "Is it another folder?"
        )
        raise UnknownModel(f"{name} holds no model: it has no config.json. {hint}")
    if not has_weights:
        other = sorted(path.name for kind in ("*.bin", "*.pt", "*.pth") for path in folder.glob(kind))
        has = f"only {other[0]}, and reading that can run code" if other else "no weights"
        raise UnknownModel(f"{name} has {has}. maskbench reads safetensors: save the model as such.")


def fingerprint(folder: Path) -> str:
    """16 hexadecimal digits that stand for the content of a model's files, whatever the folder is called."""
    kinds = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.py")
    files = sorted({path for kind in kinds for path in folder.glob(kind)} - {folder / "card.json"})
    return digest(files)


def digest(files: Sequence[Path]) -> str:
    """16 hexadecimal digits that stand for the content of some files of different names."""
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.name} {_file_hash(path)}\n".encode())
    return total.hexdigest()[:16]


def _file_hash(path: Path) -> str:
    """The SHA-256 of a file; the hub's cache names large files by it, so that gigabytes need not be read."""
    blob = path.resolve().name
    if len(blob) == 64 and not set(blob) - set("0123456789abcdef"):
        return blob
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def decoder_layers(model: Any) -> list[nn.Module]:
    """The decoder layers of a language model in order, an adapter around it or not.

    They are the outermost list of modules that is as long as the configuration says. Raises UnknownModel where there
    is none.
    """
    from torch import nn

    count = model.config.get_text_config().num_hidden_layers
    lists = [
        (name.count("."), list(module))
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count and "vision" not in name
    ]
    if not lists:
        raise UnknownModel(f"No list of {count} layers is to be found in {type(model).__name__}.")
    return min(lists, key=lambda candidate: candidate[0])[1]


@dataclass(frozen=True, slots=True)
class Shape:
    """How many decoder layers a model has, and how long its hidden states are."""

    layers: int
    hidden: int


def shape(name: str, folder: Path, trust_remote_code: bool = False) -> Shape:
    """A model's shape from its configuration alone; raises UnknownModel where that cannot be read."""
    with quiet():
        config = _config(name, folder, trust_remote_code).get_text_config()
    return Shape(int(config.num_hidden_layers), int(config.hidden_size))


def _config(name: str, folder: Path, trust: bool) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=trust)
    except _FAULTS as error:
        raise _unloadable(name, error) from error


def _unloadable(name: str, error: Exception) -> MaskbenchError:
    """What the libraries raise, as one error with what they said."""
    words = " ".join(str(error).split())
    if "trust_remote_code" in words:
        return UsageError(
            f"{name} brings code of its own. If you have read it and trust it, add -M trust_remote_code=true."
        )
    return UnknownModel(f"{name} cannot be loaded: {words[:300]}")


def _read(
    name: str, folder: Path, dtype: str, quantize: str | None, places: Mapping[str, str], trust: bool
) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    config = _config(name, folder, trust)
    chosen = _dtype(dtype, config, on_cpu=set(places.values()) <= {"cpu", "disk"})
    options: dict[str, Any] = {"device_map": "auto" if places == {"": "auto"} else dict(places)}
    if quantize is not None:
        options["quantization_config"] = _quantisation(quantize, chosen)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust)
        model = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=chosen, use_safetensors=True, trust_remote_code=trust, **options
        )
    except _FAULTS as error:
        if out_of_memory(error):
            advice = "Try the dtype bf16, to quantize to 4bit, or the device auto (several GPUs) or another."
            raise UsageError(f"{name} does not fit the memory of {', '.join(places.values())}. {advice}") from error
        raise _unloadable(name, error) from error
    return tokenizer, model


def _quantisation(quantize: str, dtype: Any) -> Any:
    """How bitsandbytes keeps weights: 4 bits as QLoRA does (NF4), or 8 bits; computed in the precision chosen."""
    import torch
    import transformers

    config: Any = transformers.BitsAndBytesConfig
    if quantize == "8bit":
        return config(load_in_8bit=True)
    precision = dtype if isinstance(dtype, torch.dtype) else torch.bfloat16
    return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=precision)


def _entrance(model: Any) -> torch.device:
    """The device that tokens go to: that of the embeddings, or of what computes them where they lie on disk."""
    import torch

    embeddings = model.get_input_embeddings()
    device = embeddings.weight.device
    if device.type == "meta":
        device = getattr(getattr(embeddings, "_hf_hook", None), "execution_device", None) or "cpu"
    return torch.device(device)


def out_of_memory(error: BaseException) -> bool:
    """Whether this says that memory ran out; on a CPU torch says so in words alone."""
    import torch

    words = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(word in str(error) for word in words)


def _dtype(dtype: str, config: Any, *, on_cpu: bool) -> Any:
    """The precision to load in; processors are slow at, or imprecise in, half of it."""
    import torch

    if dtype != "auto" and dtype not in DTYPES:
        raise UsageError(f"dtype is {dtype}: give auto, {', '.join(DTYPES)}.")
    if dtype != "auto":
        return getattr(torch, DTYPES[dtype])
    if on_cpu:
        return torch.float32
    return getattr(config.get_text_config(), "dtype", None) or getattr(config, "dtype", None) or "auto"


def _ends(model: Any) -> frozenset[int]:
    """The tokens by which the model's own generation settings end an answer."""
    ends = getattr(model.generation_config, "eos_token_id", None)
    if ends is None:
        return frozenset()
    return frozenset([ends] if isinstance(ends, int) else ends)


@contextmanager
def quiet() -> Iterator[None]:
    """Loading without the libraries' progress bars and advice, which are put back afterwards."""
    from transformers import utils

    logging: Any = utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # libraries warn about each other; what matters is checked here
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def fetch(name: str, environ: Mapping[str, str]) -> Path:
    """The folder of `ORG/NAME` or `ORG/NAME@REVISION` in the hub's cache, downloaded where it is not there.

    Of `environ` it uses HF_TOKEN or HUGGINGFACE_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_CACHE and HF_HOME.
    Raises UnknownModel, AccessError or Unreachable with what to do.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = name.partition("@")
    offline = is_offline(environ)
    try:
        folder = snapshot_download(
            repository,
            revision=revision or None,
            allow_patterns=list(WANTED),
            ignore_patterns=list(UNWANTED),
            token=token_of(environ),
            endpoint=environ.get("HF_ENDPOINT") or None,
            cache_dir=cache_of(environ),
            local_files_only=offline,
        )
    except HFValidationError:
        raise UnknownModel(f"{name} is neither a folder nor a name on the hub, such as Qwen/Qwen3-0.6B.") from None
    except Exception as error:  # the library has raised errors of requests, of httpx and of the system
        raise _refused(name, error, offline) from error
    return Path(folder)


def _refused(name: str, error: Exception, offline: bool) -> MaskbenchError:
    from huggingface_hub.errors import GatedRepoError

    status = status_of(error)
    page = f"https://huggingface.co/{name.partition('@')[0]}"
    if offline:
        return Unreachable(f"{name} is not in the cache. Unset HF_HUB_OFFLINE, so that it can be downloaded once.")
    if status == 403 or isinstance(error, GatedRepoError):
        return AccessError(f"{name} is gated. Accept its conditions at {page} and set {TOKENS[0]} to a token of yours.")
    if status in (401, 404):
        return UnknownModel(
            f"There is no folder {name}, and the hub shows no such model. Check it; private ones need {TOKENS[0]}."
        )
    what = f"status {status}" if status else type(error).__name__
    return Unreachable(
        f"There is no folder {name}, and the hub cannot be reached ({what}). Check the name, and the network."
    )
