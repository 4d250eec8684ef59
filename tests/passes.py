"""How often each command reads a run: scorings of a scenario, openings of its store, and readings of its samples."""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskbench.cli import main
from maskbench.measurement import measure
from maskbench.method import outcomes
from maskbench.settings import Settings
from maskbench.store.store import Store


@dataclass(frozen=True, slots=True)
class Passes:
    """What one command does with the run that it reads most often."""

    command: str
    runs: int  # that it is given
    scorings: int  # of the scenario that is scored most often
    openings: int  # of the run's store
    samples: int  # readings of the samples of the scenario that is read most often


@dataclass(slots=True)
class Counts:
    """Calls as they are counted, by run and scenario."""

    scorings: Counter[tuple[str, tuple[str, str]]]
    openings: Counter[Path]
    samples: Counter[tuple[Path, tuple[str, str]]]

    def most(self) -> tuple[int, int, int]:
        """The most that was done with one scenario, one run, and one scenario's samples."""
        scorings, openings, samples = (
            max(each.values(), default=0) for each in (self.scorings, self.openings, self.samples)
        )
        return scorings, openings, samples


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """Count how scenarios are scored, stores opened and samples read for as long as this context lasts.

    Runs are told apart by their subjects' names, as far as scoring knows of them.
    """
    counts = Counts(Counter(), Counter(), Counter())
    scored, opened, read = outcomes.score, Store.__init__, Store.read
    looked = Store.samples

    def score(scenario: Any, weight: float, items: Any, settings: Settings, rules: Any) -> Any:
        counts.scorings[settings.label, scenario.key] += 1
        return scored(scenario, weight, items, settings, rules)

    def open_store(self: Store, path: Path, **options: Any) -> None:
        counts.openings[path.resolve()] += 1
        opened(self, path, **options)

    def read_samples(self: Store, *verdict_sets: str) -> Any:
        for samples, weight in read(self, *verdict_sets):
            counts.samples[self._path.resolve(), samples.scenario.key] += 1
            yield samples, weight

    def samples_of(self: Store, scenario: Any, *verdict_sets: str) -> Any:
        counts.samples[self._path.resolve(), scenario.key] += 1
        return looked(self, scenario, *verdict_sets)

    with contextlib.ExitStack() as stack:
        stack.enter_context(_in_place_of(scored, score))
        for name, put in (("__init__", open_store), ("read", read_samples), ("samples", samples_of)):
            stack.callback(setattr, Store, name, getattr(Store, name))
            setattr(Store, name, put)
        yield counts


@contextlib.contextmanager
def _in_place_of(function: Callable[..., Any], other: Callable[..., Any]) -> Iterator[None]:
    """While this lasts, `other` stands in place of `function` in every module that is loaded."""
    _replace(function, other)
    try:
        yield
    finally:
        _replace(other, function)


def _replace(function: Callable[..., Any], other: Callable[..., Any]) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("maskbench") and module:
            for place in [place for place, value in vars(module).items() if value is function]:
                setattr(module, place, other)


def measured(folder: Path) -> tuple[Path, Path]:
    """Two small simulated runs on the same scenarios."""
    runs = folder / "first", folder / "other"
    for run, subject in zip(runs, ("sim", "sim/lie=0.2"), strict=True):
        settings = Settings.of(subject, judge="sim-judge", numeric_judge="sim-judge", scenarios="starter", sample=24)
        measure(settings, run, {})
    return runs


def passes(folder: Path) -> list[Passes]:
    """What every command that reads runs does, counted on two simulated runs in this folder."""
    first, other = map(str, measured(folder))
    page, rows = str(folder / "page.html"), str(folder / "rows")
    lines = {
        "score": ["score", first],
        "score --json": ["score", first, "--json"],
        "compare": ["compare", first, other],
        "report A": ["report", first, "--out", page],
        "report A B": ["report", first, other, "--out", page],
        "check": ["check", first, "--max-lie", "0.99"],
        "check --baseline": ["check", first, "--max-lie", "0.99", "--baseline", other],
        "leaderboard": ["leaderboard", first, other],
        "export --format jsonl": ["export", first, "--format", "jsonl", "--out", rows],
        "export --format published": ["export", first, "--format", "published", "--out", f"{rows}-published"],
    }
    made = [_counted(command, line) for command, line in lines.items()]
    return [*made, *(_called(name, folder, call) for name, call in _calls(Path(first), Path(other)))]


def _counted(command: str, line: list[str]) -> Passes:
    """A command line, counted; raises RuntimeError where it is refused."""
    before, sys.argv = sys.argv, ["maskbench", *line]
    try:
        with counting() as counts, _quiet() as told:
            main()
    except SystemExit as ended:
        if ended.code not in (None, 0, 1, 3):  # `check` says by its code how it ends
            raise RuntimeError(f"{command}: {told.getvalue()}") from ended
    finally:
        sys.argv = before
    return Passes(command, sum((Path(word) / "run.json").exists() for word in line), *counts.most())


def _called(name: str, folder: Path, call: Callable[[], object]) -> Passes:
    """A call from Python, counted."""
    with counting() as counts:
        call()
    return Passes(name, len(counts.openings), *counts.most())


def _calls(first: Path, other: Path) -> list[tuple[str, Callable[[], object]]]:
    """Readers without a command of their own."""
    import maskbench

    return [
        ("`maskbench.load`", lambda: maskbench.load(first)),
        ("`maskbench.score`", lambda: maskbench.score(first)),
    ]


@contextlib.contextmanager
def _quiet() -> Iterator[io.StringIO]:
    """What a command prints is not shown; what it says on stderr is there to be read."""
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()) as told:
        yield told
