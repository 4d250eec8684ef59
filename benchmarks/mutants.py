"""Faults planted in the rooms that make the figures, a sample of them: how many do the quick tests of these rooms find?

    python -m benchmarks.mutants --sample 120 --seed 2    (or `make mutants`)

mutmut plants every fault that it knows behind a switch, in a copy of the project (`mutants/`), and learns which test
comes by which function; [tool.mutmut] in pyproject.toml names rooms and tests. All of them, some thirteen thousand,
take hours: this draws the same number from each room. Survivors are printed with what was changed. docs/mutants.md has
those of the last sample, each with why it changes nothing that can be seen, or with the test that it led to.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutmut import __main__ as mutmut
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.workers import isolation

FOUND = ("killed", "timeout", "segfault", "caught by type check")


class Runner(PytestRunner):
    """mutmut's runner of tests, for tests whose names hold the texts of judges, the quickest ones first."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let a fault be found by the quickest test that finds it."""
        items.sort(key=lambda item: state().duration_by_test.get(item.nodeid, 0.0))

    def execute_pytest(self, params: list[str], **options: Any) -> int:
        """Run pytest with test functions in place of single cases, whose names it would not understand."""
        others = [param for param in params if param.startswith("-") or "::" not in param]
        functions = {param.partition("[")[0] for param in params if param not in others}
        options["plugins"] = [*options.get("plugins", ()), self]
        return super().execute_pytest([*others, *sorted(functions)], **options)

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """Run the tests of a fault; without a fault they have just passed, when mutmut learned what they come by."""
        if mutant_name is None and not os.environ.get("MUTANT_UNDER_TEST"):
            return 0
        return super().run_tests(mutant_name=mutant_name, tests=tests)


def results() -> Iterator[tuple[str, int | None]]:
    """Every planted fault by its name, with how its tests ended, if they ran."""
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        yield from data.exit_code_by_key.items()


def room(name: str) -> str:
    """The room of a fault, `maskbench.stats.…` being in stats."""
    return name.split(".")[1]


def drawn(names: Iterable[str], sample: int, seed: int) -> list[str]:
    """A sample of the faults, the same number from each room."""
    rooms = defaultdict[str, list[str]](list)
    for name in sorted(names):
        rooms[room(name)].append(name)
    rng, share = random.Random(seed), sample // max(1, len(rooms))
    return [name for _, known in sorted(rooms.items()) for name in rng.sample(known, min(len(known), share))]


def main() -> None:
    """Plant, draw, test, and print what was not found; the exit code is 1 where fewer than `--least` were."""
    parser = argparse.ArgumentParser(description="Plant faults and count how many the quick tests find.")
    parser.add_argument("--sample", type=int, default=120, help="faults in all, the same number from each room")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.95, help="the share that has to be found")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="draw only faults whose name holds this")
    given = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    isolation.PytestRunner = Runner  # type: ignore[misc, attr-defined]
    set_mutant_under_test("mutant_generation")
    mutmut.create_mutants(given.processes)
    names = drawn((name for name, _ in results() if given.only in name), given.sample, given.seed)
    mutmut._run(names, given.processes)
    ended = {name: status_by_exit_code[code] for name, code in results() if name in set(names)}
    alive = [name for name in names if ended[name] not in FOUND]
    for name in alive:
        print(f"\n{name}: {ended[name]}\n{get_diff_for_mutant(name)}")
    for each, count in sorted(Counter(map(room, names)).items()):
        print(f"{each}: {count - sum(room(name) == each for name in alive)} of {count} found")
    share = 1 - len(alive) / len(names)
    print(f"{len(names) - len(alive)} of {len(names)} planted faults found, {100 * share:.1f} %")
    sys.exit(share < given.least)


if __name__ == "__main__":
    main()
