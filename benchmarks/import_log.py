"""How long `maskbench import` takes for a log of Inspect, and how much memory, on a made log in the shape of real ones.

    python benchmarks/import_log.py                     # 1,500 scenarios with ten statements each
    python benchmarks/import_log.py --scenarios 150 --statements 1

writes scenarios (scenarios.py) and a `.eval` log over them into a scratch folder, imports it in a process of its own,
and prints its processor seconds, the largest memory that the process had, and the sizes of log and run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import scenarios

REPLY, VERDICT = 1_000, 400  # characters
Made = dict[str, Any]


class Sample:
    """A sample as Inspect writes it: calls in a pool, long texts as attachments."""

    def __init__(self, cells: Mapping[str, str], archetype: str, rng: random.Random) -> None:
        self._cells, self._archetype, self._rng = cells, archetype, rng
        self._pool: list[Made] = []
        self._events: list[Made] = []
        self._attached: dict[str, str] = {}

    def document(self, statements: int) -> Made:
        """The sample with so many statements."""
        asked = [self._cells[name] for name in scenarios.BELIEFS if name in self._cells]
        first = [self._said(asked[0]) for _ in range(3)] if asked else []
        further = [self._said(question) for question in asked[1:]]
        pressed = [self._said(self._cells["user_prompt"]) for _ in range(statements)]
        own = {name: text for name, text in self._cells.items() if name not in ("system_prompt", "user_prompt")}
        facts = {
            **own,
            "config": self._archetype,
            "pressured_system_prompt": self._cells["system_prompt"],
            "pressured_user_prompt": self._cells["user_prompt"],
        }
        store = {"belief_elicit_1_responses": first, "belief_elicit_2_and_3_responses": further}
        return {
            "id": f"mask_{self._cells['task_id']}",
            "epoch": 1,
            "input": "",
            "target": "",
            "metadata": facts,
            "store": {**store, "pressured_responses": pressed},
            "events": self._events,
            "events_data": {"messages": self._pool, "calls": []},
            "attachments": self._attached,
            "scores": {"accuracy_and_honesty": {"value": {"honesty": "lie"}}},
        }

    def _said(self, question: str) -> Made:
        """An answer of the subject, and the judge's call about it."""
        text = scenarios.prose(self._rng, REPLY)
        self._call([("system", self._cells["system_prompt"]), ("user", question)], text)
        shown = f"{scenarios.prose(self._rng, 3_000)}\n{question}\n---\nReply:\n{text}\n####\n"
        number = '{"lower_bound": 26, "upper_bound": 29, "relative_lower_bound": null, "relative_upper_bound": null}'
        verdict = number if self._archetype == "statistics" else f"Final Answer: {self._rng.choice('ABC')}"
        self._call([("user", shown)], f"{scenarios.prose(self._rng, VERDICT)}\n{verdict}")
        return output(text)

    def _call(self, prompt: list[tuple[str, str]], answer: str) -> None:
        start = len(self._pool)
        self._pool += [{"role": role, "content": self._attach(text)} for role, text in prompt]
        refs = [[start, len(self._pool)]]
        event = {
            "event": "model",
            "model": "m",
            "input": [],
            "input_refs": refs,
            "tools": [],
            "tool_choice": "auto",
            "config": {},
            "output": output(self._attach(answer)),
        }
        self._events += [{"event": "span_begin", "id": "1", "name": "call"}, event]

    def _attach(self, text: str) -> str:
        name = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        self._attached[name] = text
        return f"attachment://{name}"


def output(text: str) -> Made:
    """An answer as Inspect keeps it."""
    choice = {"message": {"role": "assistant", "content": text, "source": "generate"}, "stop_reason": "stop"}
    return {"model": "subject", "choices": [choice], "usage": {"input_tokens": 200, "output_tokens": 250}, "time": 1.0}


def members(count: int, statements: int) -> Iterator[tuple[str, Made]]:
    """The members of a log, one after the other."""
    arguments = {"honesty_at_n": statements, "belief_repeats_n": 3, "binary_judge_model": "openai/gpt-4o"}
    task = {
        "created": "2026-11-20T10:00:00+00:00",
        "task": "inspect_evals/mask",
        "task_args": arguments,
        "model": "openai/gpt-4o-mini",
        "dataset": {},
        "config": {},
    }
    head = {"version": 2, "status": "success", "eval": task, "plan": {"config": {"temperature": 1, "max_tokens": 1000}}}
    yield "_journal/start.json", head
    rng = random.Random(0)
    for archetype, rows in scenarios.rows(count).items():
        for cells in rows:
            yield f"samples/{cells['task_id']}_epoch_1.json", Sample(cells, archetype, rng).document(statements)
    yield "header.json", head


def measured(log: Path, folder: Path, run: Path) -> tuple[float, float]:
    """Processor seconds and megabytes of an import in a process of its own."""
    code = (
        f"from maskbench.interop.importing import import_run; import_run({str(log)!r}, {str(run)!r}, {str(folder)!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    """Make, import, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=1500)
    parser.add_argument("--statements", type=int, default=10)
    arguments = parser.parse_args()
    import_module("inspect_ai.log")  # which teaches zipfile Zstandard
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        folder, log, run = scratch / "scenarios", scratch / "log.eval", scratch / "run"
        count, unpacked = scenarios.write(folder, arguments.scenarios), 0
        with zipfile.ZipFile(log, "w", 93) as file:
            for member, document in members(arguments.scenarios, arguments.statements):
                text = json.dumps(document)
                unpacked += len(text)
                file.writestr(member, text)
        seconds, peak = measured(log, folder, run)
        size = sum(path.stat().st_size for path in run.iterdir())
        print(
            f"{count:,} scenarios with {arguments.statements} statements: a log of {log.stat().st_size / 1e6:.0f} MB, "
            f"{unpacked / 1e6:.0f} MB unpacked, was a run of {size / 1e6:.0f} MB after {seconds:.1f} s of processor "
            f"time, with at most {peak:.0f} MB of memory."
        )


if __name__ == "__main__":
    main()
