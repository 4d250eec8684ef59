"""How much of each room the tests run: lines and branches, by room.

    python benchmarks/covered.py               the quick tests (--fast), processes that they start included
    python benchmarks/covered.py tests/stats   other tests than that

Needs `coverage`, which comes with the extra `mutants`. A line that ran is not a line that is held: what the tests
notice is in CONTRIBUTING.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "maskbench"
COUNTED = ("covered_lines", "num_statements", "covered_branches", "num_branches")
_SETTINGS = """
[run]
branch = true
parallel = true
patch = subprocess
source = {source}
data_file = {place}/covered
"""


def measured(tests: list[str], place: Path) -> dict[str, Counter[str]]:
    """Lines and branches of each room, there and run, after these tests; what fails there is printed."""
    settings = place / "coveragerc"
    settings.write_text(_SETTINGS.format(source=SOURCE, place=place), "utf-8")
    command = [sys.executable, "-m", "coverage"]
    environ = os.environ | {"COVERAGE_RCFILE": str(settings)}
    line = ["-m", "pytest", "-q", "--numprocesses", "auto", "--dist", "loadfile", *tests]
    subprocess.run([*command, "run", *line], cwd=ROOT, env=environ, check=False)
    subprocess.run([*command, "combine", "--quiet"], cwd=ROOT, env=environ, check=True)
    subprocess.run([*command, "json", "--quiet", "-o", place / "covered.json"], cwd=ROOT, env=environ, check=True)
    rooms = defaultdict[str, Counter[str]](Counter)
    for name, file in json.loads((place / "covered.json").read_text("utf-8"))["files"].items():
        first, *rest = (ROOT / name).relative_to(SOURCE).parts
        counts = {key: file["summary"][key] for key in COUNTED}
        rooms[first if rest else "(top)"].update(counts)
        rooms["all"].update(counts)
    return rooms


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as place:
        rooms = measured(sys.argv[1:] or ["--fast"], Path(place))
    print("| room | lines | run | branches | run |", "|---|---|---|---|---|", sep="\n")
    for room, counts in sorted(rooms.items(), key=lambda each: (each[0] == "all", each[0])):
        ran, lines, taken, branches = (counts[key] for key in COUNTED)
        print(
            f"| {room} | {lines:,} | {100 * ran / lines:.1f} % | {branches:,} | {100 * taken / (branches or 1):.1f} % |"
        )


if __name__ == "__main__":
    main()
