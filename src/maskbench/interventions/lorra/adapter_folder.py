"""The folder of an adapter: what PEFT reads, how it was made, and who is writing to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maskbench.errors import RunLocked, UsageError
from maskbench.interventions.lorra.card import FORMAT, card, curve, read_curve
from maskbench.interventions.lorra.loss import Loss
from maskbench.models.hf.adapters import CONFIG, WEIGHTS

RECORD, CARD, CURVE, CHECKPOINT, LOCK = "lorra.json", "README.md", "loss.csv", "training.pt", "training.lock"
PARTIAL = "training.partial"  # a checkpoint that is being written


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


def finished(out: Path, identity: Mapping[str, Any]) -> tuple[dict[str, Any], list[Loss]] | None:
    """Record and losses of the adapter in the folder, None where there is none yet or half of one.

    Raises UsageError where the folder holds anything else, or an adapter that was made otherwise.
    """
    held = {path.name for path in out.iterdir()} - {LOCK, PARTIAL}
    if not held or CHECKPOINT in held:
        return None
    if not {RECORD, CONFIG} <= held:
        raise UsageError(f"{out} holds other files ({min(held)}). Give --out a new folder, or an empty one.")
    record = _record(out)
    for name, value in identity.items():
        if record.get(name) != value:
            raise UsageError(
                f"{out} holds an adapter made with {name} {record.get(name)}, and this one asks for {value}. "
                "Give another --out."
            )
    return record, read_curve(out / CURVE)


def write(out: Path, adapter: Any, record: Mapping[str, Any], losses: Sequence[Loss]) -> None:
    """Everything that the folder holds; who is stopped here has the checkpoint of the last step."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    config = {
        name: sorted(value) if isinstance(value, set) else value
        for name, value in _config(adapter, record["model"]).items()
    }
    weights = get_peft_model_state_dict(adapter, save_embedding_layers=False)
    tensors = {name: weight.cpu().contiguous() for name, weight in weights.items()}
    (out / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))
    (out / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (out / CURVE).write_text(curve(losses), encoding="utf-8")
    (out / CARD).write_text(card(record), encoding="utf-8")
    (out / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _config(adapter: Any, name: str) -> dict[str, Any]:
    config: dict[str, Any] = adapter.peft_config["default"].to_dict()
    kind = str(config["peft_type"].value)
    # PEFT notes a path of this machine; the name that the user gave is right on other machines, too.
    return {**config, "peft_type": kind, "inference_mode": True, "base_model_name_or_path": name}


def _record(folder: Path) -> dict[str, Any]:
    """The record of an adapter; raises UsageError where it cannot be read."""
    try:
        record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["format"] == FORMAT:
            return record
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UsageError(f"{folder / RECORD} is no record of this version's `maskbench lorra`. Give another --out.")
