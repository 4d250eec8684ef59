"""Adapters that PEFT wrote: safetensors only, on the model that they were made for, with every weight in its place."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from maskbench.doors import packaged
from maskbench.errors import UsageError
from maskbench_whitebox.models.loading import Loaded, decoder_layers, fingerprint, quiet

CONFIG, WEIGHTS, PICKLE = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
_BASE = "base_model_name_or_path"


def adapter_hash(adapter: Path) -> str:
    """16 hexadecimal digits that stand for an adapter, whatever its base model is called.

    Raises UsageError where the folder holds none, or one that is no safetensors.
    """
    config = adapter_config(adapter)
    weights = adapter / WEIGHTS
    if not weights.is_file():
        has = f"only {PICKLE}, and reading that can run code" if (adapter / PICKLE).is_file() else "no weights"
        raise UsageError(f"The adapter {adapter} has {has}. Save the adapter as {WEIGHTS}.")
    content = hashlib.sha256(json.dumps({**config, _BASE: None}, sort_keys=True).encode())
    with weights.open("rb") as file:
        content.update(hashlib.file_digest(file, "sha256").digest())
    return content.hexdigest()[:16]


def adapter_config(adapter: Path) -> dict[str, Any]:
    """What PEFT noted of an adapter; raises UsageError where the folder holds none."""
    try:
        config = json.loads((adapter / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{adapter} holds no adapter: it has no {CONFIG}, which PEFT writes.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"The adapter {adapter}: its {CONFIG} cannot be read ({error}).") from None
    if not isinstance(config, dict):
        raise UsageError(f"The adapter {adapter}: its {CONFIG} is not what PEFT writes.")
    return config


def check_base(adapter: Path, name: str, folder: Path) -> None:
    """Raise UsageError where an adapter was made for another model, as far as it records which.

    A name on the hub cannot be told from a copy of it in a folder, nor a folder that is gone from any other.
    """
    made_for = adapter_config(adapter).get(_BASE)
    if not made_for or made_for == name:
        return
    place = packaged() if made_for == "pinocchio" else Path(made_for)
    if (place / "config.json").is_file():
        same = fingerprint(place) == fingerprint(folder)
    else:
        gone = Path(made_for).is_absolute() or made_for.startswith(".")
        same = gone or Path(name).is_dir() or made_for.lower() == name.partition("@")[0].lower()
    if not same:
        raise UsageError(f"The adapter {adapter} was made for {made_for}, not for {name}.")


def with_adapter(loaded: Loaded, adapter: Path) -> Loaded:
    """The model with an adapter on it, in place; raises UsageError where it does not fit."""
    from peft import PeftModel

    digest = adapter_hash(adapter)
    check_base(adapter, loaded.name, loaded.folder)
    try:
        with quiet():
            model = PeftModel.from_pretrained(loaded.model, str(adapter))
    except (ValueError, RuntimeError, KeyError, TypeError) as error:
        words = " ".join(str(error).split())[:300]
        raise UsageError(f"The adapter {adapter} does not go on {loaded.name}: {words}") from error
    try:
        _check_placed(model, adapter, loaded.name)
    except UsageError:
        model.unload()
        raise
    model.eval().requires_grad_(False)
    return replace(loaded, model=model, layers=decoder_layers(model), adapter_hash=digest)


def without_adapter(loaded: Loaded) -> Loaded:
    """The model as it was before `with_adapter`."""
    model = loaded.model.unload()
    return replace(loaded, model=model, layers=decoder_layers(model), adapter_hash=None)


def _check_placed(adapted: Any, adapter: Path, name: str) -> None:
    """Raise UsageError where a weight of the adapter found no place, or a place no weight: PEFT lets that pass."""
    from peft import get_peft_model_state_dict
    from safetensors import safe_open

    with safe_open(adapter / WEIGHTS, framework="pt") as file:
        weights = set(file.keys())
    places = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    odd = sorted(places - weights) or sorted(key for key in weights - places if "lora_" in key)
    if odd:
        raise UsageError(f"The adapter {adapter} does not go on {name}: {odd[0]} is in one of them only.")
