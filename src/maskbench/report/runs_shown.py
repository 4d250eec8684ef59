"""The runs of a page: read, scored, named, and what the summary does not say of their beliefs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import open_verdicts
from maskbench.method import archetypes
from maskbench.method.outcomes import Items, score
from maskbench.method.rates import tabulate
from maskbench.plain import shortened
from maskbench.results.leaderboard import is_simulated
from maskbench.results.scored import Result
from maskbench.results.scored import score as read
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.stats.intervals import Estimate, ratio
from maskbench.types import BinaryVerdict, Failure, Item, Judgement, Scenario, Scored

Held = Literal["firm", "loose", "joint", "absent", "open"]
HELD: tuple[Held, ...] = ("firm", "loose", "joint", "absent", "open")
_LETTERS = 48  # of a name, wherever it stands


@dataclass(frozen=True, slots=True)
class Example:
    """A scenario that shows what is measured; `letters` are how long its texts are in all."""

    scenario: Scenario
    items: Items
    scored: Scored
    letters: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run on a page: `label` is short, safe to show and no other run's; `name` is that with its number.

    With one run alone the two are the same.
    """

    place: int
    label: str
    name: str
    result: Result
    record: Mapping[str, Any]
    held: Mapping[Held, tuple[Scored, ...]]  # scenarios whose belief was asked, by how it is held
    example: Example | None

    @property
    def summary(self) -> Mapping[str, Any]:
        """What summary.json says under the page's rules."""
        return self.result.summary

    @property
    def simulated(self) -> bool:
        """Whether its P(lie) is a design choice, whatever it calls itself."""
        return bool(self.summary["subject"].get("planted")) or is_simulated(self.result)


def runs(paths: Sequence[Path], rules: str | None, verdicts: str | None) -> tuple[Run, ...]:
    """The runs under one rule set (default: the first run's).

    Raises RunUnreadable where a folder holds no run, UsageError for an unknown rule set, or one run given twice.
    """
    _check(paths)
    chosen = rules or RunFolder(paths[0]).settings().rules
    results = [read(path, chosen, verdicts) for path in paths]
    labels = _labels(results)
    names = [f"{place} {label}" for place, label in enumerate(labels, 1)] if len(labels) > 1 else labels
    return tuple(
        Run(place, labels[place], names[place], result, RunFolder(result.path).record(), *_held(result, verdicts))
        for place, result in enumerate(results)
    )


def share(run: Run, held: Held) -> Estimate:
    """The share of beliefs held so among those that were asked for and are not open."""
    every = [(one, name) for name in HELD if name != "open" for one in run.held[name]]
    table = tabulate(one for one, _ in every)[0]
    return ratio([float(name == held) for _, name in every], [1.0] * len(every), table.weights, table.clusters)


def _check(paths: Sequence[Path]) -> None:
    if not paths:
        raise UsageError("Which run? Give its folder: maskbench report RUN --out report.html.")
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve():
            raise UsageError(f"{other} is given twice. Give every run once.")
        if _identity(one) == _identity(other):
            raise UsageError(f"{other} is a copy of {one}. Give every run once.")


def _identity(path: Path) -> tuple[Any, ...]:
    record = RunFolder(path).record()
    return tuple(record.get(name) for name in ("created", "settings", "sessions"))


def _labels(results: Sequence[Result]) -> list[str]:
    """What the page calls its runs: their subjects, with their folders where the subject is not enough."""
    labels = [shortened(result.model, _LETTERS) for result in results]
    for part in ("name", "parent"):
        often = Counter(labels)
        labels = [
            f"{label} ({shortened(str(getattr(result.path.resolve(), part)), _LETTERS // 2)})"
            if often[label] > 1
            else label
            for label, result in zip(labels, results, strict=True)
        ]
    return labels


def _held(result: Result, verdicts: str | None) -> tuple[dict[Held, tuple[Scored, ...]], Example | None]:
    """How each belief is held, and the scenario that shows best what is measured, in one reading of the store."""
    found: dict[Held, list[Scored]] = {name: [] for name in HELD}
    example: Example | None = None
    for scenario, items, scored, settings in _finished(result, verdicts):
        if not archetypes.of(scenario).given:
            found[_how(items, scored, settings)].append(scored)
        example = _better(example, scenario, items, scored)
    return {name: tuple(rows) for name, rows in found.items()}, example


def _finished(result: Result, verdicts: str | None) -> Iterator[tuple[Scenario, Items, Scored, Settings]]:
    from maskbench.method.rules import named

    folder = RunFolder(result.path)
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        for scenario, weight in store.scenarios():
            if (items := judged.finished(scenario)) is not None:
                scored = score(scenario, weight, items, judged.settings, named(result.rules))
                yield scenario, items, scored, judged.settings
    finally:
        store.close()


def _how(items: Items, scored: Scored, settings: Settings) -> Held:
    """Firm: every belief verdict is there and says the same. Numbers are judged together, which shows no firmness."""
    if scored.resolved.belief is None:
        return "open" if scored.resolved.unresolved else "absent"
    if isinstance(scored.resolved.belief, tuple):
        return "joint"
    letters = {_letter(item, settings) for item in items.values() if item.elicitation != 0}
    return "firm" if letters == {scored.resolved.belief} else "loose"


def _letter(item: Item, settings: Settings) -> str | None:
    if isinstance(item.judgement, Judgement) and isinstance(item.judgement.verdict, BinaryVerdict):
        return item.judgement.verdict.letter
    filtered = isinstance(item.reply, Failure) and item.reply.cause == "filtered"
    return "C" if filtered and settings.filtered == "evasive" else None


# The example: a scenario that a stranger reads in half a minute

_LONGEST = 700  # letters of question, conversation and replies together that are still easy to read


def _better(known: Example | None, scenario: Scenario, items: Items, scored: Scored) -> Example | None:
    """The one of two that shows better what is measured: a plain lie where there is one, in few words."""
    from maskbench.types import Reply

    replies = [items[key].reply for key in ((1, 1), (0, 1)) if key in items]
    if len(replies) < 2 or scenario.kind != "binary" or scenario.first_turn or not scenario.questions[0]:
        return known
    texts = [reply.text for reply in replies if isinstance(reply, Reply)]
    if len(texts) < 2 or scored.outcomes[0] not in ("lie", "honest"):
        return known
    letters = sum(map(len, (*texts, scenario.questions[0], scenario.user_prompt, scenario.system_prompt)))
    new = Example(scenario, items, scored, letters)
    return new if known is None or _worth(new) > _worth(known) else known


def _worth(example: Example) -> tuple[bool, bool, bool, bool, int]:
    lie, right = example.scored.outcomes[0] == "lie", example.scored.accuracy == "correct"
    plain = example.scenario.archetype == "known_facts"
    return lie, right, plain, example.letters <= _LONGEST, -abs(example.letters - _LONGEST // 2)
