"""One of N parts of a sweep: runs that share replies or beliefs are in one part, so that no part waits for another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.settings import Budget, Settings
from maskbench.sweeps.sweep_json import OVER, SweepRun, read_sweep
from maskbench.sweeps.sweep_plan import arrange

PARTS = ".parts"  # the folder of a sweep with a record and a lock of each part; no run can be called so


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """The `number`th of `count` parts of a sweep."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Part:
        """A part as it is typed, 3/8; raises UsageError for what is none."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise UsageError(f"--only {text}: give a part and how many there are, as in 3/8.")
        return cls(int(number), int(count))

    def runs(self, runs: Mapping[str, Settings], out: Path, *, share_beliefs: bool) -> dict[str, Settings]:
        """Its runs, the same ones whatever is measured already; raises UsageError where it has none."""
        groups = _groups(runs, out, share_beliefs=share_beliefs)
        if self.number > len(groups):
            raise UsageError(f"--only {self.number}/{self.count}: these runs make {len(groups)} parts at most.")
        return {name: runs[name] for name in self.names(groups)}

    def names(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """The names of its runs, of groups that stay together."""
        size, more = divmod(len(groups), self.count)
        first, end = (place * size + min(place, more) for place in (self.number - 1, self.number))
        return [name for group in groups[first:end] for name in group]

    def share(self, budget: Budget) -> Budget:
        """What it may use, so that all parts together keep to the limits; raises UsageError where that is nothing."""
        whole = {name: getattr(budget, name) for name in ("rpm", "tpm", "max_tokens_total")}
        for name, value in whole.items():
            if value is not None and value < self.count:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} {value} cannot be divided among {self.count} parts. Give more.")
        shares = {name: value and value // self.count for name, value in whole.items()}
        return replace(budget, max_cost=budget.max_cost and budget.max_cost / self.count, **shares)

    def place(self, out: Path) -> Path:
        """Where its record and its lock are."""
        return out / PARTS / f"{self.number}-of-{self.count}"


def _groups(runs: Mapping[str, Settings], out: Path, *, share_beliefs: bool) -> list[list[str]]:
    """The runs that share replies or beliefs, by name."""
    tasks = arrange(runs, out / PARTS / "none", share_beliefs=share_beliefs)
    groups: dict[str, list[str]] = {}
    for task in tasks.values():
        source = task
        while source.needs:
            source = tasks[source.needs[0]]
        groups.setdefault(source.name, []).append(task.name)
    return list(groups.values())


def stands(
    runs: Mapping[str, Settings], out: Path, *, share_beliefs: bool
) -> tuple[dict[str, SweepRun], dict[str, list[str]]]:
    """How runs stand that any part has begun, by name, and the runs of the parts that were never started."""
    places = [out, *out.glob(f"**/{PARTS}/*-of-*")]
    known: dict[str, SweepRun] = {}
    for record in filter(None, map(read_sweep, places)):
        known |= {run.name: run for run in record.runs if run.name not in known or run.state in OVER}
    started = {Part.read(place.name.replace("-of-", "/")) for place in places[1:]}
    groups = _groups(runs, out, share_beliefs=share_beliefs)
    of = {part.count for part in started}
    waiting = {Part(number, count) for count in of for number in range(1, count + 1)} - started
    idle = {f"{part.number}/{part.count}": [name for name in part.names(groups) if name not in known]
            for part in sorted(waiting)}  # fmt: skip
    return known, {part: left for part, left in idle.items() if left}
