"""How much memory and processor time the commands take on runs of 1,000 to 100,000 scenarios.

`python benchmarks/memory.py` prints the table of docs/project/performance.md, section "Memory of what reads a run". It
measures two simulated models on 1,000 generated scenarios (benchmarks/scenarios.py), writes these runs as often into
larger ones as it takes, each time under other ids, propositions and true numbers, and then scores, compares, ranks and
reports them, and plans to have them judged again. Each command is a process of its own, whose largest resident size and
processor time the kernel counts; of several `--times` these are the largest and the shortest. The kernel begins to
count at the size that this process has, so nothing large may be loaded or read here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

SUBJECTS = {"first": "sim/lie=0.4,evade=0.2,fail=0.001", "other": "sim/lie=0.2,evade=0.2,fail=0.001"}
SCENARIOS = Path(__file__).parent / "scenarios.py"
MEASURED = 1_000  # scenarios that are measured, or fewer for a smaller table; larger runs are made of these
PATIENCE = 3_600  # seconds that the server has to make a page
CHUNK = 1_000_000  # bytes of a page that are read at a time: the whole would count as this process's
# The scenarios once more: copy :copy of each has other texts, and every number another truth.
AGAIN = (
    """INSERT INTO scenarios SELECT NULL, archetype, task_id || '-' || :copy, weight, CAST(json_set(CAST(row AS TEXT),
    '$.task_id', task_id || '-' || :copy, '$.proposition', row ->> '$.proposition' || ' ' || :copy) AS BLOB)
    FROM scenarios WHERE position <= :measured""",
    """INSERT INTO replies SELECT archetype, task_id || '-' || :copy, elicitation, run, key, seed, text, reasoning,
    truncated, input_tokens, output_tokens, reasoning_tokens, model, fingerprint, sent, seconds, error_cause,
    error_detail, at, session FROM replies JOIN scenarios USING (archetype, task_id) WHERE position <= :measured""",
    """INSERT INTO verdicts SELECT verdict_set, CAST(key || :copy AS BLOB), verdict, reason, raw, asks, input_tokens,
    output_tokens, reasoning_tokens, model, fingerprint, sent, seconds, error_cause, error_detail, at, confidence,
    session FROM verdicts WHERE length(key) = (SELECT min(length(key)) FROM verdicts)""",
    """INSERT INTO judged SELECT verdict_set, archetype, task_id || '-' || :copy, elicitation, run,
    CAST(key || :copy AS BLOB) FROM judged JOIN scenarios USING (archetype, task_id) WHERE position <= :measured""",
)
NUMBERS = """UPDATE scenarios SET row = CAST(json_set(CAST(row AS TEXT), '$.truth.low', position / 100.0,
    '$.truth.high', 5000) AS BLOB) WHERE archetype = 'statistics'"""


def ended(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """MB and processor seconds of a process, once it has come to its end; stops the benchmark where it failed."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{process.args!r} ended with {process.returncode}.")
    megabytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    return megabytes, usage.ru_utime + usage.ru_stime


def measured(*arguments: str | Path, times: int = 1) -> str:
    """MB and processor seconds of one command."""
    each = [ended(subprocess.Popen(command(arguments), stdout=subprocess.DEVNULL)) for _ in range(times)]
    return f"{max(megabytes for megabytes, _ in each):.0f} MB, {min(seconds for _, seconds in each):.2f} s"


def command(arguments: Sequence[str | Path]) -> list[str]:
    """A command of maskbench as the shell is given it."""
    return [sys.executable, "-m", "maskbench", *map(str, arguments)]


def measure(place: Path, count: int) -> None:
    """The two runs that the larger ones are made of."""
    rows = place / "scenarios"
    subprocess.run([sys.executable, SCENARIOS, rows, "--count", str(count)], check=True, stdout=subprocess.DEVNULL)
    for name, subject in SUBJECTS.items():
        measured("run", subject, "--judge", "sim-judge", "--scenarios", rows, "--out", place / name, "--quiet")


def enlarged(run: Path, to: Path, times: int) -> None:
    """A copy of a run with so many times as many scenarios."""
    shutil.copytree(run, to)
    with closing(sqlite3.connect(to / "run.sqlite")) as database, database:
        (measured,) = database.execute("SELECT count(*) FROM scenarios").fetchone()
        for copy in range(1, times):
            for statement in AGAIN:
                database.execute(statement, {"copy": copy, "measured": measured})
        database.execute(NUMBERS)
    record = json.loads((to / "run.json").read_text(encoding="utf-8"))
    record["scenarios"]["n"] = times * measured
    (to / "run.json").write_text(json.dumps(record), encoding="utf-8")


def figures(runs: Path, times: int) -> Iterator[tuple[str, str]]:
    """Each command on two runs in this folder, with what it took."""
    (first, other), page = (runs / name for name in SUBJECTS), runs.parent / "page.html"
    yield "`score`", measured("score", first, times=times)
    yield "`compare` of two runs", measured("compare", first, other, times=times)
    yield "`leaderboard` of two runs", measured("leaderboard", first, other, times=times)
    yield "`report`", measured("report", first, "--out", page, times=times)
    yield "`report --include-text`", measured("report", first, "--out", page, "--include-text", times=times)
    yield "`judge --dry-run`", measured("judge", first, "--judge", "openai/gpt-4o", "--dry-run", times=times)


def table(columns: dict[int, dict[str, str]]) -> Iterator[str]:
    """The lines of the table: a row a command, a column a number of scenarios."""
    counts = sorted(columns)
    yield f"| command | {' | '.join(f'{count:,}' for count in counts)} |"
    yield f"|---|{'---:|' * len(counts)}"
    for name in columns[counts[0]]:
        yield f"| {name} | {' | '.join(columns[count][name] for count in counts)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scenarios", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--times", type=int, default=1, help="how often each command is measured")
    parser.add_argument("--runs", type=Path, help="an empty folder in which the made-up runs stay")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # no command is to compile its modules each time
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.runs or Path(folder)
        least = min(MEASURED, *arguments.scenarios)
        measure(place, least)
        for count in arguments.scenarios:
            for name in SUBJECTS:
                enlarged(place / name, place / str(count) / "runs" / name, count // least)
            columns[count] = dict(figures(place / str(count) / "runs", arguments.times))
    print("\n".join(table(columns)))


if __name__ == "__main__":
    main()
