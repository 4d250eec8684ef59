"""The folder of an adapter: what PEFT reads, how it was made, and who is writing to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from maskbench.errors import RunLocked, UsageError
from maskbench.interventions.lorra.card import AdapterRecord, Identity, card, curve, read_curve, record_from
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
    before, now = asdict(record.identity), asdict(identity)
    for name in now:
        if before[name] != now[name]:
            raise UsageError(
                f"{out} holds an adapter made with {name} {before[name]}, and this one asks for {now[name]}. "
                "Give another --out."
            )
    return record, read_curve(out / CURVE)


def write(out: Path, adapter: Any, record: AdapterRecord, losses: Sequence[Loss]) -> None:
    """Everything that the folder holds; who is stopped here has the checkpoint of the last step."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    config = adapter.peft_config["default"].to_dict()
    # PEFT notes a path of this machine; the name that the user gave is right on other machines, too.
    config |= {"inference_mode": True, "base_model_name_or_path": record.identity.model}
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
            f"{folder / RECORD} is no record of this version's `maskbench intervene lorra`. Give another --out."
        ) from None
