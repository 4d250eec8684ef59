"""How an adapter was made: a record for programs, a card for people, the loss as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, fields
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct, convert, json, structs

from maskbench.doors import literal, plain
from maskbench_whitebox.lorra.loss import Loss
from maskbench_whitebox.lorra.texts import Variant

FORMAT = "maskbench-lorra-1"
_METHODS = {
    "lorra": "Low-rank representation adaptation (LoRRA, Zou et al. 2023): hidden states move by alpha times the "
    "difference between an honest and a dishonest template.",
    "prompt-distill": "Prompt distillation with the loss of LoRRA: hidden states move by alpha times the difference "
    "that a developer's honest system prompt makes. This is not LoRRA as published, which takes an honest and a "
    "dishonest template.",
}


class Identity(Struct, frozen=True, kw_only=True):
    """Everything that shapes the weights of an adapter; the templates by what they say."""

    model: str
    fingerprint: str
    dtype: str
    variant: Variant
    data: str
    target_layers: tuple[int, ...]
    alpha: float
    rank: int
    rate: float
    modules: tuple[str, ...]
    steps: int
    batch: int
    retain: float
    answer_tokens: int
    seed: int
    templates: dict[str, str] | str
    texts: int
    texts_hash: str


class AdapterRecord(Identity, frozen=True, kw_only=True):
    """lorra.json: what shaped the weights, how far the training came, and by which versions."""

    lora_layers: tuple[int, int]
    parameters: int
    first_loss: float
    last_loss: float
    moved: float | None
    versions: dict[str, str]

    @property
    def method(self) -> str:
        """What was done, in sentences."""
        return _METHODS[self.variant]

    def as_dict(self) -> dict[str, object]:
        """What the file holds and `maskbench-whitebox lorra --json` prints."""
        return {"format": FORMAT, "method": self.method, **json.decode(json.encode(self))}


def record_from(plain: object) -> AdapterRecord:
    """The record that lorra.json holds; raises ValueError for one that this version does not write."""
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise ValueError(f"It is no {FORMAT}.")
    return convert(plain, AdapterRecord)


def about(identity: Identity, losses: Sequence[Loss], parameters: int) -> AdapterRecord:
    """The record of a training that has come to its end."""
    packages = ("maskbench", "torch", "transformers", "peft")
    return AdapterRecord(
        **structs.asdict(identity),
        lora_layers=(0, max(identity.target_layers)),
        parameters=parameters,
        first_loss=losses[0].loss,
        last_loss=losses[-1].loss,
        moved=moved(losses),
        versions={package: version(package) for package in packages},
    )


def moved(losses: Sequence[Loss], window: int = 10) -> float | None:
    """How much of the movement asked for was learned over the last steps: 1 all of it, 0 as if nothing was learned.

    None where none was asked for.
    """
    last = losses[-window:]
    asked = sum(loss.asked for loss in last)
    return 1 - sum(loss.contrast for loss in last) / asked if asked else None


def card(record: AdapterRecord) -> str:
    """The adapter's README in Markdown, with the head that the hub reads."""
    settings = ("variant", "target_layers", "alpha", "rank", "rate", "modules", "steps", "batch", "retain", "seed")
    rows = [f"| {name.replace('_', ' ')} | {literal(_cell(getattr(record, name)))} |" for name in settings]
    lines = [
        "---",
        f"base_model: {_quoted(record.model)}",
        "library_name: peft",
        "tags: [lora, maskbench]",
        "---",
        "",
        f"# An adapter for {literal(record.model)}",
        "",
        f"{record.method} Trained by `maskbench-whitebox lorra` (maskbench {record.versions['maskbench']}) on "
        f"{record.texts} texts of {literal(record.data)} (hash {record.texts_hash}), none of them an "
        "evaluated scenario unless a file of one's own holds some. What it does to honesty is to be measured, not to "
        "be assumed:",
        "",
        "    maskbench run hf/MODEL -M adapter=FOLDER",
        "",
        "| setting | |",
        "| --- | --- |",
        *rows,
        f"| model fingerprint | {record.fingerprint} |",
        f"| trained parameters | {record.parameters:,} |",
        "",
        "Everything else is in lorra.json, the loss of every step in loss.csv.",
    ]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _quoted(text: str) -> str:
    """The text as a YAML string on one line."""
    return "'" + plain(text).replace("'", "''") + "'"


def curve(losses: Sequence[Loss]) -> str:
    """The loss of every step as CSV; retention is empty where no neutral text is read."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Loss))
    for loss in losses:
        writer.writerow([loss.step, *("" if part is None else f"{part:.6g}" for part in astuple(loss)[1:])])
    return text.getvalue()


def read_curve(path: Path) -> list[Loss]:
    """What `curve` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[float(cell) if cell else None for cell in row] for row in [*csv.reader(file)][1:]]
    return [
        Loss(int(step or 0), loss or 0.0, contrast or 0.0, retention, asked or 0.0)
        for step, loss, contrast, retention, asked in rows
    ]
