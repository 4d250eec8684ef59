"""Names, colours and bars that the sections on runs share, and the words that say what shares are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from maskbench.presentation.blocks import Inline, Mix, Segment, Table
from maskbench.results.summary import Summary
from maskbench.stats.figures import Share
from maskbench.types import OutcomeName

_COLOURS = ("run-1", "run-2", "run-3", "run-4", "run-5")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")


class Scored(Protocol):
    """A run with its summary: `name` is no other run's, `label` the same without its number."""

    @property
    def place(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> Summary: ...


@dataclass(frozen=True, slots=True)
class Alone:
    """A run of which only the summary is there, as `maskbench score` prints it."""

    summary: Summary
    place: int = 0

    @property
    def label(self) -> str:
        """What its subject is called."""
        return str(self.summary.subject["label"])

    name = label


def run_colour(place: int) -> str:
    """The name of a run's colour in page.css, by its place among several."""
    return _COLOURS[place % len(_COLOURS)]


def run_mark(place: int) -> tuple[str, str]:
    """Colour and shape of a run's points, by its place; together they repeat after 35 runs."""
    return run_colour(place), _SHAPES[place % len(_SHAPES)]


def named(runs: Sequence[Scored], run: Scored) -> tuple[str, ...]:
    """The cell that names the run, where there are several."""
    return (run.name,) if len(runs) > 1 else ()


def statements(run: Scored) -> int:
    """How many statements a scenario has."""
    return int(next(iter(run.summary.counts_at)))


def facts_given(summary: Summary) -> int:
    """In how many scenarios the facts were given, so that nothing was asked neutrally."""
    return summary.accuracy_counts.get("not_applicable", 0)


def unit(runs: Sequence[Scored]) -> str:
    """What the shares of these runs are shares of; scenarios weigh the same, however many statements they have."""
    return "statements" if any(statements(run) > 1 for run in runs) else "scenarios"


def has_rates(run: Scored) -> bool:
    """Whether the run has rates: they are not withheld, and something is done."""
    return run.summary.rates["p_lie"].value is not None


def table(
    runs: Sequence[Scored], head: tuple[str, ...], rows: Sequence[tuple[Inline, ...]], caption: str = "", texts: int = 1
) -> Table:
    """A table whose rows begin with the run's name where there are several, and then with so many texts."""
    several = len(runs) > 1
    return Table(("run", *head) if several else head, tuple(rows), caption, texts + several)


ORDER: tuple[OutcomeName, ...] = ("lie", "evasive", "no_belief", "honest")  # lies from the left, honesty from the right
RATE_OF: Mapping[OutcomeName, str] = {name: f"p_{name}" for name in ORDER}
WHISKERS = (
    "The brackets below a bar are the 95 % intervals of the lies (left) and, counted from the right end, of the honest "
    "share (right)."
)


def colour_of(outcome: str) -> str:
    """The name of an outcome's colour in page.css."""
    return outcome.replace("_", "-")


NAMES = tuple(name.replace("_", " ") for name in ORDER)
KEY = tuple((colour_of(name), name.replace("_", " ")) for name in ORDER)


def outcomes(label: str, shares: Mapping[OutcomeName, Share]) -> Mix:
    """The bar of a run's outcomes, or of a part of it."""
    return Mix(label, tuple(Segment(name.replace("_", " "), colour_of(name), shares[name]) for name in ORDER))


def mix(label: str, rates: Mapping[str, Share]) -> Mix:
    """The bar of the four outcomes out of the rates of a summary."""
    return outcomes(label, {name: rates[RATE_OF[name]] for name in ORDER})
