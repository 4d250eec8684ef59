"""Faults planted in the rooms that make the figures, a sample of them: how many do the tests of these modules find?

    python -m benchmarks.mutants --sample 120 --seed 2    (or `make mutants`)
    python -m benchmarks.mutants --rooms asking,method,results,store,stats --sample 1000    200 a room, for hours

mutmut plants every fault that it knows behind a switch, in a copy of the project (`mutants/`); [tool.mutmut] in
pyproject.toml names the rooms. All of them take days: this draws the same number from each room and runs, for each, the
test files that belong to its module, slow ones included, until one of them fails.
Survivors are printed with what was changed; CONTRIBUTING.md counts those of the last sample.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from mutmut import __main__ as mutmut
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, setup_source_paths, walk_mutatable_files

ROOT = Path(__file__).parents[1]
SECONDS = 600  # that the tests of one fault may take: a fault that makes a loop endless is noticed
PASSED, FAILED = 0, 1  # exit codes of pytest; any other is a fault of this script, but for what kills the process

MOST = 5  # test files of a module that TESTS does not name

# The test files that belong to a module, the likeliest first, below tests/. Of a module that is not here they are those
# that import it, or that import what does.
TESTS: Mapping[str, str] = {
    "method.archetypes": "scenarios/test_own_archetypes method/test_judge_ask method/test_method results/test_labels",
    "method.asks": "method/test_method method/test_outcomes asking/test_flow",
    "method.chance": "method/test_chance",
    "method.classify": "method/test_method method/test_outcomes",
    "method.elicit": "method/test_method",
    "method.false_lies": "method/test_false_lies",
    "method.forms": "method/test_judge_style method/test_judge_ask",
    "method.forms.alone": "asking/test_flow method/test_judge_style",
    "method.forms.groups": "asking/test_flow method/test_judge_ask",
    "method.forms.apart": "asking/test_flow method/test_judge_style",
    "method.forms.jointly": "asking/test_flow results/test_numbers_judged_apart",
    "method.forms.published": "method/test_published_form",
    "method.forms.prompts": "method/test_judge_ask scenarios/test_own_archetypes",
    "method.forms.case": "method/test_judge_ask method/test_judge_style",
    "method.placebo": "asking/test_placebo method/test_false_lies",
    "method.outline": "asking/test_flow method/test_tasks",
    "method.proposition": "method/test_judge_ask scenarios/test_own_archetypes",
    "method.tasks": "method/test_tasks asking/test_flow asking/test_placebo",
    "method.steps": "method/test_tasks asking/test_flow",
    "method.folds": "method/test_tasks asking/test_forecast asking/test_flow",
    "asking.desk": "asking/test_flow",
    "asking.live": "asking/test_flow asking/test_resume",
    "method.outcomes": "method/test_outcomes method/test_method results/test_withheld",
    "method.rates": "method/test_rates results/test_summary results/test_withheld",
    "method.belief": "method/test_method method/test_outcomes",
    "method.rules": "method/test_method method/test_outcomes",
    "store.system_prompts": "store/test_system_prompts",
    "method.numbers_apart": "method/test_numbers_apart",
    "method.verdict": "method/test_verdict method/test_judge_style",
    "results.comparison": "results/test_comparison results/test_pairing results/test_limits results/test_contrasts",
    "results.comparability": "results/test_pairing results/test_judged_apart results/test_same_texts",
    "results.contrasts": "results/test_contrasts",
    "results.conventions": "results/test_conventions results/test_schemas results/test_formula_steps",
    "results.calibration": "results/test_against_judge stats/test_calibration",
    "results.formula_steps": "results/test_formula_steps",
    "results.frames": "results/test_frames results/test_outcome_rows",
    "results.gate": "results/test_gate results/test_limits",
    "results.leaderboard": "results/test_leaderboard results/test_ranks results/test_correlations",
    "results.leaderboard_data": "results/test_leaderboard results/test_ranks",
    "results.outcome_rows": "results/test_outcome_rows",
    "results.people.spreadsheet": "results/test_labels results/test_against_judge",
    "results.published": "results/test_published",
    "results.scaling": "results/test_scaling results/test_correlations results/test_leaderboard",
    "results.score_rows": "results/test_score_rows",
    "results.further_rate": "results/test_readers",
    "results.reader": "results/test_readers results/test_schemas",
    "results.readers": "asking/test_placebo method/test_false_lies results/test_scored results/test_summary",
    "results.scored": "results/test_scored results/test_read_once results/test_summary",
    "results.summary": "results/test_summary results/test_withheld",
    "stats.agreement": "stats/test_agreement results/test_judges_agree",
    "stats.all_pairs": "stats/test_all_pairs results/test_ranks",
    "stats.calibration": "stats/test_calibration results/test_against_judge stats/test_label_checks",
    "stats.intervals": "stats/test_intervals stats/test_variances stats/test_cluster_variances method/test_rates "
    "results/test_ranks",
    "stats.paired": "stats/test_paired stats/test_variances results/test_contrasts results/test_pairing",
    "stats.precision": "stats/test_precision",
}


def planted(processes: int) -> list[str]:
    """Plant every fault in a copy of the project; returns their names."""
    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    setup_source_paths()
    mutmut.create_mutants(processes)
    return [name for path in sorted(walk_mutatable_files()) for name in _planted_in(path)]


def _planted_in(path: Path) -> Iterator[str]:
    data = SourceFileMutationData(path=path)
    data.load()
    yield from data.exit_code_by_key


def module(name: str) -> str:
    """The module of a fault, `maskbench.stats.paired.…` being in stats.paired."""
    return ".".join(name.split(".")[1:-1])


def room(name: str) -> str:
    """The room of a fault."""
    return name.split(".")[1]


def drawn(names: Iterable[str], sample: int, seed: int) -> list[str]:
    """A sample of the faults, the same number from each room."""
    rooms = defaultdict[str, list[str]](list)
    for name in sorted(names):
        rooms[room(name)].append(name)
    rng, share = random.Random(seed), sample // max(1, len(rooms))
    return [name for _, known in sorted(rooms.items()) for name in rng.sample(known, min(len(known), share))]


def test_files(name: str) -> list[str]:
    """The test files that belong to the module of a fault."""
    named = [f"tests/{file}.py" for file in TESTS.get(module(name), "").split()]
    return named or list(_importing(module(name)))


@cache
def _importing(of: str, steps: int = 2) -> tuple[str, ...]:
    """The test files that import a module, the one of its name and those that speak of it most first."""
    word = re.compile(rf"\bmaskbench\.{re.escape(of)}\b")
    texts = [(path, text) for path, text in _texts("tests") if path.name.startswith("test_") and len(path.parts) > 2]
    found = {path: len(word.findall(text)) for path, text in texts}
    found = {path: count for path, count in found.items() if count}
    if not found and steps:
        others = (
            ".".join(path.with_suffix("").parts[2:]) for path, text in _texts("src/maskbench") if word.search(text)
        )
        return tuple(dict.fromkeys(file for other in others for file in _importing(other, steps - 1)))[:MOST]
    own = f"test_{of.rpartition('.')[2]}"
    return tuple(map(str, sorted(found, key=lambda path: (path.stem != own, -found[path], path))[:MOST]))


@cache
def _texts(folder: str) -> list[tuple[Path, str]]:
    return [(path, path.read_text("utf-8")) for path in sorted(Path(folder).rglob("*.py"))]


def passes(files: Iterable[str], fault: str = "") -> bool:
    """Whether these tests pass in the copy with one fault switched on, or none; they are stopped at the first failure.

    Raises RuntimeError where pytest itself fails, which says nothing about the fault.
    """
    own = {"MUTANT_UNDER_TEST": fault, "PYTHONPATH": str(ROOT / "mutants" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *files]
    try:
        ended = subprocess.run(
            line,
            cwd=ROOT / "mutants",
            env=os.environ | own,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if ended.returncode > FAILED and "error" not in ended.stdout.lower():
        raise RuntimeError(f"pytest ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.returncode == PASSED


def main() -> None:
    """Plant, draw, test, and print what was not found; the exit code is 1 where fewer than `--least` were."""
    parser = argparse.ArgumentParser(description="Plant faults and count how many the tests of their modules find.")
    parser.add_argument("--sample", type=int, default=120, help="faults in all, the same number from each room")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.95, help="the share that has to be found")
    parser.add_argument("--processes", type=int, default=2, help="that plant; tests run one after another")
    parser.add_argument("--rooms", default="method,results,stats", help="with commas; [tool.mutmut] has to name them")
    parser.add_argument("--only", default="", help="draw only faults whose name begins so: maskbench.stats, for one")
    given = parser.parse_args()
    os.chdir(ROOT)
    rooms = given.rooms.split(",")
    known = [name for name in planted(given.processes) if name.startswith(given.only) and room(name) in rooms]
    if untested := {module(name) for name in known if not test_files(name)}:
        sys.exit(f"Name the test files of {', '.join(sorted(untested))} in TESTS.")
    names = drawn(known, given.sample, given.seed)
    if not passes(sorted({file for name in names for file in test_files(name)})):
        sys.exit("The tests fail without any fault.")
    alive = []
    for place, name in enumerate(names, start=1):
        if passes(test_files(name), name):
            alive.append(name)
            print(f"\n{name}\n{get_diff_for_mutant(name)}", flush=True)
        print(f"{place} of {len(names)}, {len(alive)} not found", end="\n" if given.only else "\r", flush=True)
    print()
    for each, count in sorted(Counter(map(room, names)).items()):
        print(f"{each}: {count - sum(room(name) == each for name in alive)} of {count} found")
    share = 1 - len(alive) / len(names)
    print(f"{len(names) - len(alive)} of {len(names)} planted faults found, {100 * share:.1f} %, of {len(known):,}")
    sys.exit(share < given.least)


if __name__ == "__main__":
    main()
