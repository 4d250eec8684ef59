"""Training an adapter that makes a model more honest, into a folder that PEFT reads.

`lorra` is low-rank representation adaptation after Zou et al. 2023; `prompt-distill` uses the same loss to write the
effect of a developer's honest system prompt into weights, beside a loss that leaves neutral text as it is.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from maskbench.doors import system_prompt
from maskbench.errors import RunLocked, UsageError
from maskbench_whitebox.lorra.card import AdapterRecord, Identity, about, card, curve, read_curve, record_from
from maskbench_whitebox.lorra.loss import Loss, encoded
from maskbench_whitebox.lorra.recipe import Recipe, default_layers
from maskbench_whitebox.lorra.steps import Checkpoint, steps
from maskbench_whitebox.lorra.texts import DISHONEST, HONEST, Templates, Text, content_hash, read_texts
from maskbench_whitebox.models.adapters import CONFIG, WEIGHTS, adapter_config, adapter_hash

if TYPE_CHECKING:
    from maskbench_whitebox.models.loading import Loaded

RECORD, CARD, CURVE, CHECKPOINT, LOCK = "lorra.json", "README.md", "loss.csv", "training.pt", "training.lock"
PARTIAL = "training.partial"  # a checkpoint that is being written
_TEMPLATES = ("system_prompt", "honest", "dishonest")


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Be the only process that trains into the folder."""
    from filelock import FileLock, Timeout

    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise RunLocked(f"Another maskbench is training into {out}. Wait for it, or give another --out.") from None
    try:
        yield
    finally:
        lock.release()
        (out / LOCK).unlink(missing_ok=True)


def finished(out: Path, identity: Identity) -> tuple[AdapterRecord, list[Loss]] | None:
    """Record and losses of the adapter in the folder, None where there is none yet or half of one.

    Raises UsageError where the folder holds anything else, or an adapter that was made otherwise.
    """
    held = {path.name for path in out.iterdir()} - {LOCK, PARTIAL}
    if not held or CHECKPOINT in held:
        return None
    if not {RECORD, CONFIG} <= held:
        raise UsageError(f"{out} holds other files ({min(held)}). Give --out a new folder, or an empty one.")
    record = _record(out)
    for name, now in structs.asdict(identity).items():
        if (before := getattr(record, name)) != now:
            raise UsageError(
                f"{out} holds an adapter made with {name} {before}, and this one asks for {now}. Give another --out."
            )
    return record, read_curve(out / CURVE)


def write(out: Path, adapter: Any, record: AdapterRecord, losses: Sequence[Loss]) -> None:
    """Everything that the folder holds; who is stopped here has the checkpoint of the last step."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    config = adapter.peft_config["default"].to_dict()
    # PEFT notes a path of this machine; the name that the user gave is right on other machines, too.
    config |= {"inference_mode": True, "base_model_name_or_path": record.model}
    weights = get_peft_model_state_dict(adapter, save_embedding_layers=False)
    tensors = {name: weight.cpu().contiguous() for name, weight in weights.items()}
    (out / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))
    (out / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True, default=sorted) + "\n", encoding="utf-8")
    (out / CURVE).write_text(curve(losses), encoding="utf-8")
    (out / CARD).write_text(card(record), encoding="utf-8")
    (out / RECORD).write_text(json.dumps(record.as_dict(), indent=2) + "\n", encoding="utf-8")


def _record(folder: Path) -> AdapterRecord:
    """The record of an adapter; raises UsageError where it cannot be read."""
    try:
        return record_from(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise UsageError(
            f"{folder / RECORD} is no record of this version's `maskbench-whitebox lorra`. Give another --out."
        ) from None


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished adapter: its folder, how it was made (as `lorra.json` says), and the loss of every step."""

    folder: Path
    about: AdapterRecord
    losses: Sequence[Loss]


def train(
    loaded: Loaded,
    recipe: Recipe,
    out: Path,
    *,
    watch: Callable[[Loss], None] = lambda loss: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Trained:
    """Train an adapter for the model into a folder; goes on where the folder has a training of this recipe.

    `watch` is called after every step, `stopped` asked between two. The model is left as it was, whatever happens.
    Raises UsageError for a recipe that does not fit the model or the folder, Interrupted where `stopped` says so,
    RunLocked where another process trains into the folder, OSError where it cannot be written.
    """
    recipe = checked(recipe, loaded)
    templates = _templates(recipe)
    texts = read_texts(recipe.data, templates, recipe.seed)
    if recipe.retain and all(text.honest for text in texts):
        raise UsageError(f"--data {recipe.data} has no neutral text for --retain {recipe.retain:g}; give --retain 0.")
    identity = _identity(recipe, loaded, templates, texts)
    with writing(out):
        if (before := finished(out, identity)) is not None:
            return Trained(out, *before)
        rows = encoded(loaded, texts, recipe.answer_tokens)
        checkpoint = Checkpoint(out / CHECKPOINT, json.dumps(to_builtins(identity)))
        with adapted(loaded, recipe) as adapter:
            losses = steps(adapter, loaded, rows, recipe, checkpoint, watch=watch, stopped=stopped)
            record = about(identity, losses, sum(p.numel() for p in adapter.parameters() if p.requires_grad))
            write(out, adapter, record, losses)
        checkpoint.remove()
    return Trained(out, record, losses)


def checked(recipe: Recipe, loaded: Loaded) -> Recipe:
    """The recipe with its target layers filled in; raises UsageError where it cannot be meant for this model."""
    if loaded.adapter_hash is not None:
        raise UsageError(f"{loaded.name} has an adapter on it already. Load it without one.")
    count = len(loaded.layers)
    chosen = tuple(sorted(set(recipe.target_layers))) or default_layers(count)
    wrong = [layer for layer in chosen if not 0 <= layer < count]
    if wrong:
        raise UsageError(
            f"--target-layers: there is no layer {wrong[0]}; the {count} layers of {loaded.name} are numbered 0 to "
            f"{count - 1}."
        )
    for name in ("rank", "steps", "batch", "answer_tokens", "at_once"):
        if getattr(recipe, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be 1 or more.")
    if not (math.isfinite(recipe.alpha) and 0 < recipe.rate < math.inf and 0 <= recipe.retain < math.inf):
        raise UsageError("--alpha must be a finite number, --rate above 0, --retain 0 or above.")
    if not recipe.modules:
        raise UsageError("--modules must name at least one linear layer, such as q_proj.")
    _check_templates(recipe)
    return replace(recipe, target_layers=chosen)


def targets(loaded: Loaded, recipe: Recipe) -> list[str]:
    """The full names of the linear layers that get a LoRA; raises UsageError where a layer has none of that name."""
    from torch import nn

    names = {module: name for name, module in loaded.model.named_modules()}
    full_names: list[str] = []
    for layer in range(max(recipe.target_layers) + 1):
        linear = [names[module] for module in loaded.layers[layer].modules() if isinstance(module, nn.Linear)]
        for wanted in recipe.modules:
            fits = [name for name in linear if name.rpartition(".")[2] == wanted]
            if not fits:
                have = ", ".join(sorted({name.rpartition(".")[2] for name in linear}))
                raise UsageError(
                    f"--modules {wanted}: layer {layer} of {loaded.name} has none of that name, but {have}."
                )
            full_names += fits
    return full_names


@contextmanager
def adapted(loaded: Loaded, recipe: Recipe) -> Iterator[Any]:
    """A fresh adapter on the model, its A drawn by the recipe's seed and its B zero; taken off at the end."""
    from peft import LoraConfig

    names = targets(loaded, recipe)
    # Scaled by 2 as in the public scripts.
    config = LoraConfig(r=recipe.rank, lora_alpha=2 * recipe.rank, target_modules=names, task_type="CAUSAL_LM")
    with _put_back(loaded.model, names):
        adapter = _wrapped(loaded.model, config)
        _draw(adapter, recipe.seed)
        yield adapter


@contextmanager
def _put_back(model: Any, names: Sequence[str]) -> Iterator[None]:
    """Undo what PEFT does to a model, also where it fails half-way: modules, attributes, what asks for a gradient."""
    attributes = set(vars(model))
    modules = {name: model.get_submodule(name) for name in names}
    asked = {parameter: parameter.requires_grad for parameter in model.parameters()}
    try:
        yield
    finally:
        for name, module in modules.items():
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module)
        for name in set(vars(model)) - attributes:
            delattr(model, name)
        for parameter, wanted in asked.items():
            parameter.requires_grad_(wanted)


def _wrapped(model: Any, config: Any) -> Any:
    from peft import get_peft_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how PEFT uses transformers, and of the base model's name, which we write
        return get_peft_model(model, config)  # its weights are float32, whatever the model's are


def _draw(adapter: Any, seed: int) -> None:
    """Draw every A as PEFT does, but from a generator of its own."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapter.named_parameters():
        if ".lora_A." in name:
            drawn = torch.empty(parameter.shape)
            torch.nn.init.kaiming_uniform_(drawn, a=math.sqrt(5), generator=generator)
            parameter.data.copy_(drawn)


def scaled(adapter: Path, factor: float, out: Path) -> Path:
    """Write a copy of a LoRA adapter whose effect on every linear layer is `factor` times as large; returns its folder.

    0 is no effect, −1 the opposite one; `lorra.json` is written last. Raises UsageError where the folder holds no
    adapter, or one that changes more than low-rank weights.
    """
    from safetensors.torch import load_file, save

    config, source = adapter_config(adapter), adapter_hash(adapter)
    more = config.get("use_dora") or config.get("modules_to_save") or config.get("bias", "none") != "none"
    if config.get("peft_type") != "LORA" or more or not math.isfinite(factor):
        raise UsageError(f"{adapter} times {factor}: only a plain LoRA can be scaled, and by a finite number.")
    weights = load_file(adapter / WEIGHTS)
    out.mkdir(parents=True, exist_ok=True)
    moved = {name: weight * factor if "lora_B" in name else weight for name, weight in weights.items()}
    (out / WEIGHTS).write_bytes(save(moved, metadata={"format": "pt"}))
    (out / CONFIG).write_bytes((adapter / CONFIG).read_bytes())
    record = {"format": "maskbench-scaled-1", "factor": factor, "of": source}
    (out / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return out


def _templates(recipe: Recipe) -> Templates:
    if recipe.variant == "lorra":
        return Templates("lorra", honest=recipe.honest or HONEST, dishonest=recipe.dishonest or DISHONEST)
    return Templates("prompt-distill", developer=system_prompt(recipe.system_prompt or "honest"))


def _check_templates(recipe: Recipe) -> None:
    """Raise UsageError for a template that would have no effect."""
    takes = {"lorra": ("honest", "dishonest"), "prompt-distill": ("system_prompt",)}[recipe.variant]
    for name in _TEMPLATES:
        option = f"--{name.replace('_', '-')}"
        if getattr(recipe, name) is not None and recipe.data == "sandbox":
            raise UsageError(f"{option} has no effect on --data sandbox, whose texts bring their own.")
        if getattr(recipe, name) is not None and name not in takes:
            raise UsageError(f"{option} has no effect on --variant {recipe.variant}. Leave it out.")


def _identity(recipe: Recipe, loaded: Loaded, templates: Templates, texts: Sequence[Text]) -> Identity:
    shaping = {name: value for name, value in dataclasses.asdict(recipe).items() if name in Identity.__struct_fields__}
    return Identity(
        model=loaded.name,
        fingerprint=loaded.fingerprint,
        dtype=loaded.dtype,
        **shaping,
        templates=templates.texts if recipe.data != "sandbox" else "the sandbox's own",
        texts=len(texts),
        texts_hash=content_hash(texts),
    )
