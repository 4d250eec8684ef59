"""The table of gpu_smoke.sh: whether a served engine answers as the model in this process does, and how fast.

gpu_smoke.sh calls it as `python benchmarks/smoke_table.py FOLDER ENGINE MODEL`, on the four runs that it has in FOLDER.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from maskbench import load
from maskbench.store.folder import RunFolder

Key = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True)
class Speed:
    """What a run got in its time, and the megabytes that were in use on top of before."""

    replies: int
    seconds: float
    tokens: int
    megabytes: int

    @property
    def row(self) -> str:
        """The cells of a row."""
        rates = f"{self.replies / self.seconds:.2f} | {self.tokens / self.seconds:.0f}"
        return f"{self.replies} | {self.seconds:.0f} | {rates} | {self.megabytes:,}"


def replies(run: Path) -> dict[Key, dict[str, Any]]:
    """The replies of a run that did not fail, by what they answer."""
    rows = load(run).replies.to_dicts()
    return {
        (row["archetype"], row["task_id"], row["elicitation"], row["run"]): row
        for row in rows
        if row["error_cause"] is None
    }


def speed(folder: Path, name: str) -> Speed:
    """How fast a run was, from its first call to its last."""
    answered = replies(folder / name)
    with closing(RunFolder(folder / name).store()) as store:
        seconds = store.seconds()
    before, most = (int((folder / f"{name}.{when}").read_text()) for when in ("before", "most"))
    tokens = sum(row["output_tokens"] or 0 for row in answered.values())
    return Speed(len(answered), max(seconds, 1e-9), tokens, most - before)


def agreement(served: dict[Key, dict[str, Any]], here: dict[Key, dict[str, Any]]) -> str:
    """How greedy replies in both places agree, as one sentence."""
    pairs = [(served[key], here[key]) for key in served.keys() & here.keys()]
    if not pairs:
        return "No question was answered in both places: give SECONDS_EACH more, or look for failures in the runs."
    same = sum(first["text"] == other["text"] for first, other in pairs)
    prompts = sum(first["input_tokens"] == other["input_tokens"] for first, other in pairs)
    shared = sum(_alike(first["text"], other["text"]) for first, other in pairs) / len(pairs)
    return (
        f"Of {len(pairs)} greedy replies {same} are the same word for word; on average the first {100 * shared:.0f} % "
        f"of a reply is the same. {prompts} of {len(pairs)} prompts have the same number of tokens."
    )


def _alike(first: str, other: str) -> float:
    """Which part of the longer of two texts is their common beginning."""
    same = next((at for at, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1]), None)
    shorter, longer = sorted((len(first), len(other)))
    return 1.0 if not longer else (shorter if same is None else same) / longer


def machine() -> str:
    """The GPUs, or the processor."""
    if shutil.which("nvidia-smi") is None:
        return f"no GPU, {platform.machine()}"
    asked = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    return "; ".join(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")).strip("; ")


def table(folder: Path, engine: str, model: str) -> str:
    """The whole table in Markdown."""
    started = (folder / "server.seconds").read_text().strip()
    rows = {name: speed(folder, name).row for name in ("served-greedy", "served-fast", "here-greedy", "here-fast")}
    return "\n".join(
        [
            f"**{model}**: {engine} beside hf/ (transformers {version('transformers')}), {machine()}, maskbench "
            f"{version('maskbench')}. The server answered after {started} s.",
            "",
            agreement(replies(folder / "served-greedy"), replies(folder / "here-greedy")),
            "",
            "| run | replies | seconds | replies/s | tokens out/s | MB more in use |",
            "|---|--:|--:|--:|--:|--:|",
            *(f"| {name} | {row} |" for name, row in rows.items()),
            "",
            "MB: of all GPUs, or of the machine where it has none. vLLM and SGLang reserve memory in advance.",
        ]
    )


if __name__ == "__main__":
    print(table(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
