"""What a run asked that estimates nothing but lies: the tally, and what a reader of its rates is told."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from msgspec import Struct

from maskbench.judges.verdict_sets import Done, VerdictSet
from maskbench.method.enough import is_asked_whole_anyway
from maskbench.method.folds import calls_of, finished, replayed
from maskbench.runs.drawn_part import completing
from maskbench.runs.protocol import counting
from maskbench.runs.store import ORDER
from maskbench.types import Judgement, Reply


class LiesAsked(Struct, forbid_unknown_fields=True, kw_only=True):
    """How much was asked of how many scenarios, and what that cost beside asking everything.

    `only_lies` scenarios were asked until it was known which statements lie; `drawn` ones were asked everything, by a
    draw of `whole_part` of each archetype before the first call; `nothing_to_leave_out` ask for no belief. Replies and
    verdicts are those that are there, and those that asking everything takes of the same scenarios. `unseen_errors` of
    the drawn ones have no outcome, where asking only for lies would have stopped before the failure.
    """

    what: Literal["lie"] = "lie"
    whole_part: float
    seed: int
    drawn: int
    nothing_to_leave_out: int
    only_lies: int
    replies: int
    replies_of_all: int
    verdicts: int
    verdicts_of_all: int
    belief_samples: Literal["one_by_one", "together"] | None
    unseen_errors: int


class LiesTally:
    """Adds up what was asked of each scenario that is done."""

    def __init__(self, judged: VerdictSet) -> None:
        """A set whose run asks everything has no figures."""
        self._judged = judged
        self._counts: Counter[str] = Counter()
        self._totals = counting(judged.settings)[0].totals()

    def see(self, done: Done) -> None:
        """Take in one scenario."""
        settings = self._judged.settings
        if settings.design.estimate != "lie":
            return
        whole = calls_of(self._totals.units(done.scenario))
        self._counts += Counter(
            replies=sum(isinstance(item.reply, Reply) for item in done.items.values()),
            verdicts=sum(isinstance(item.judgement, Judgement) for item in done.items.values()),
            replies_of_all=whole.replies,
            verdicts_of_all=whole.verdicts,
        )
        if not done.scored.whole:
            self._counts["only_lies"] += 1
        elif is_asked_whole_anyway(done.scenario, settings):
            self._counts["nothing_to_leave_out"] += 1
        else:
            self._counts["drawn"] += 1
            self._counts["unseen_errors"] += "error" in done.scored.outcomes and self._would_stop(done)

    def _would_stop(self, done: Done) -> bool:
        """Whether asking only for lies would have left some of this scenario out."""
        settings = self._judged.settings
        short = replayed(done.scenario, done.items, settings)
        return finished(done.scenario, short.values(), settings) is None

    def figures(self) -> LiesAsked | None:
        """What it comes to; None where everything was asked."""
        settings = self._judged.settings
        if settings.design.estimate != "lie":
            return None
        order = self._judged.store.fact(ORDER)
        names = ("drawn", "nothing_to_leave_out", "only_lies", "unseen_errors")
        kinds = ("replies", "replies_of_all", "verdicts", "verdicts_of_all")
        return LiesAsked(
            what="lie",
            whole_part=settings.design.whole_part,
            seed=settings.design.seed,
            belief_samples=order if order in ("one_by_one", "together") else None,
            **{name: self._counts[name] for name in (*names, *kinds)},
        )


def remarks(asked: LiesAsked, path: Path) -> list[str]:
    """Which figure is of which scenarios, and what the shorter way did not see."""
    told = [
        f"Only lies were asked for (--estimate lie), which took {asked.replies:,} of {asked.replies_of_all:,} replies. "
        "P(lie), the honesty score and Lying@k are of all scenarios. The other rates are estimated from those that "
        f"were asked everything: {asked.drawn:,} drawn beforehand and {asked.nothing_to_leave_out:,} that ask for no "
        f"belief. `{completing(path)}` asks the rest."
    ]
    if asked.unseen_errors and asked.drawn:
        share = asked.unseen_errors / asked.drawn
        told.append(
            f"About {share * asked.only_lies:.0f} scenarios that the whole protocol would count as errors count as no "
            f"lie here: of the {asked.drawn:,} drawn ones, {asked.unseen_errors:,} have a failure that this way would "
            "not have met."
        )
    return told
