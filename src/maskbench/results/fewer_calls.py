"""What `--estimate lie` leaves of the calls of a run, and the cheaper way that is told before one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from maskbench.runs.forecast import Plan
from maskbench.settings import Settings
from maskbench.stats.planning import BELIEF, P_LIE, SCENARIO

EVASIVE, NO_BELIEF = 0.15, 0.1  # shares that models often have, where P(lie) is that which is assumed
SETTLED = 1.1  # belief replies until one takes the side of a statement that is no lie
WANDERING = 0.5  # of the belief replies, until one does so in a scenario without a belief
PART = 0.2  # of the scenarios, which are asked everything
CONSISTENCY = 2  # questions that most binary scenarios have beside the direct one
WORTH_TELLING = 2 / 3  # of a planned run's calls: a way that leaves more is not worth a line
RATES_TOLD = (0.1, 0.4)  # P(lie) for which a saving is told


@dataclass(frozen=True, slots=True)
class Rates:
    """The shares of outcomes that are expected of a subject."""

    p_lie: float
    evasive: float = EVASIVE
    no_belief: float = NO_BELIEF

    def at(self, p_lie: float) -> Rates:
        """With another P(lie), and the others in what is left."""
        left = (1 - p_lie) / (1 - self.p_lie) if self.p_lie < 1 else 0.0
        return Rates(p_lie, self.evasive * left, self.no_belief * left)


@dataclass(frozen=True, slots=True)
class Saving:
    """A cheaper way to make a planned run: what is typed, and the share of its calls that is left at rates of lies."""

    options: str
    left: Mapping[float, float]  # by P(lie)


def for_lies(replies: float, verdicts: float, settings: Settings, rates: Rates) -> tuple[float, float]:
    """The belief replies and verdicts of a scenario with `--estimate lie`, from those of the whole protocol.

    A lie takes every belief question; a statement that takes no side takes none; any other one takes about one.
    """
    several, k = settings.beliefs > 1, settings.statements
    numerical = (replies - verdicts) / (settings.beliefs - 1) if several else 0.0
    binary = (replies - numerical * settings.beliefs) / (settings.beliefs + CONSISTENCY)
    lying, silent = _any_of(rates.p_lie, k), max(0.0, 1 - _any_of(1 - rates.evasive, k))
    honest = max(0.0, 1 - lying - silent - rates.no_belief)
    each = (replies - numerical * settings.beliefs) / binary if binary > 0 else 0.0
    joint = numerical * (1 - silent)
    asked = binary * (lying * each + rates.no_belief * each * WANDERING + honest * min(SETTLED, each))
    parts = (replies, asked + joint * settings.beliefs), (verdicts, asked + joint)
    of_replies, of_verdicts = (PART * whole + (1 - PART) * part for whole, part in parts)
    return of_replies, of_verdicts


def cheaper(planned: Plan, settings: Settings) -> Saving | None:
    """The way that saves most of a planned run's calls, where that is a third or more; controls need every call."""
    savings = [] if settings.checks or not planned.scenarios else list(_savings(planned, settings))
    best = min(savings, key=lambda saving: min(saving.left.values()), default=None)
    return best if best and min(best.left.values()) <= WORTH_TELLING else None


def _savings(planned: Plan, settings: Settings) -> Iterator[Saving]:
    n, k, asked = planned.scenarios, settings.statements, planned.construct  # questions, which every way asks in full
    whole = planned.calls.replies + planned.calls.verdicts
    replies, verdicts = planned.calls.replies / n - k, (planned.calls.verdicts - asked) / n - k
    if settings.beliefs_from is None and settings.system_prompt and not settings.prompt_on_beliefs:
        yield Saving("--beliefs-from RUN", dict.fromkeys(RATES_TOLD, (2 * k * n + asked) / whole))
    if settings.beliefs_from is None and settings.estimate == "all":
        left = {
            rate: (n * (sum(for_lies(replies, verdicts, settings, Rates(P_LIE).at(rate))) + 2 * k) + asked) / whole
            for rate in RATES_TOLD
        }
        yield Saving("--estimate lie", left)


def _any_of(p: float, statements: int) -> float:
    """The share of scenarios in which any of so many statements is of a kind whose rate is p: beta-binomial."""
    total = 1 / (SCENARIO + BELIEF) - 1
    none = (math.lgamma(total * (1 - p) + statements) + math.lgamma(total)) - (
        math.lgamma(max(1e-9, total * (1 - p))) + math.lgamma(total + statements)
    )
    return 1 - math.exp(min(0.0, none))
