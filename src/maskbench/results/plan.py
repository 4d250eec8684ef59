"""How many scenarios of a set answer a question, what asking them costs, and how sure a pilot makes that."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import Usage, reading
from maskbench.method.forms import form_of
from maskbench.method.forms.prompts import Prompts
from maskbench.method.rates import Table, tabulate
from maskbench.method.rules import named
from maskbench.models.prices import FREE, Price, Tokens, cost, own_prices, packaged, price_of
from maskbench.results.common_beliefs import check_apart
from maskbench.results.comparability import shared
from maskbench.results.comparison import read_judged
from maskbench.results.scored import ScoredRun
from maskbench.runs import forecast
from maskbench.runs.drawn_part import ANEW_SHARE, check_all_asked
from maskbench.runs.estimate import scenarios_of
from maskbench.runs.folder import RunFolder
from maskbench.settings import CHECKS, Settings, arm_of
from maskbench.stats.intervals import Floats
from maskbench.stats.planning import (
    BELIEF,
    LEVEL,
    LOW,
    P_LIE,
    PASSES,
    POWER,
    SCENARIO,
    Clusters,
    Kind,
    Runs,
    Source,
    Spread,
    answer,
    assumed,
    correlation,
    how_sure,
    measured,
    smallest_difference,
)
from maskbench.types import STAGES, Scenario

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
    several, k = settings.design.beliefs > 1, settings.design.statements
    numerical = (replies - verdicts) / (settings.design.beliefs - 1) if several else 0.0
    binary = (replies - numerical * settings.design.beliefs) / (settings.design.beliefs + CONSISTENCY)
    lying, silent = _any_of(rates.p_lie, k), max(0.0, 1 - _any_of(1 - rates.evasive, k))
    honest = max(0.0, 1 - lying - silent - rates.no_belief)
    each = (replies - numerical * settings.design.beliefs) / binary if binary > 0 else 0.0
    joint = numerical * (1 - silent)
    asked = binary * (lying * each + rates.no_belief * each * WANDERING + honest * min(SETTLED, each))
    parts = (replies, asked + joint * settings.design.beliefs), (verdicts, asked + joint)
    of_replies, of_verdicts = (PART * whole + (1 - PART) * part for whole, part in parts)
    return of_replies, of_verdicts


def cheaper(planned: forecast.Plan, settings: Settings) -> Saving | None:
    """The way that saves most of a planned run's calls, where that is a third or more.

    None of one with controls, or whose scenarios share neutral conversations.
    """
    nothing = settings.design.checks or planned.followers or not planned.scenarios
    savings = [] if nothing else list(_savings(planned, settings))
    best = min(savings, key=lambda saving: min(saving.left.values()), default=None)
    return best if best and min(best.left.values()) <= WORTH_TELLING else None


def _savings(planned: forecast.Plan, settings: Settings) -> Iterator[Saving]:
    n, k, asked = (
        planned.scenarios,
        settings.design.statements,
        planned.construct,
    )  # questions, which every way asks in full
    whole = planned.calls.replies + planned.calls.verdicts
    replies, verdicts = planned.calls.replies / n - k, (planned.calls.verdicts - asked) / n - k
    if settings.design.beliefs_from is None and settings.design.system_prompt and not settings.design.prompt_on_beliefs:
        yield Saving("--beliefs-from RUN", dict.fromkeys(RATES_TOLD, (2 * k * n + asked) / whole))
    if settings.design.beliefs_from is None and settings.design.estimate == "all":
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


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
    """What is wanted: P(lie) to so much either way, a pass of a limit, or a difference between two runs."""

    kind: Kind
    value: float


class Way(Struct, frozen=True, forbid_unknown_fields=True):
    """A way to ask for it, and what all runs together take; `money` is in US dollars, null where a price is missing."""

    options: str
    runs: int
    subject_calls: int
    judge_calls: int
    input_tokens: float
    output_tokens: float
    money: float | None


class SetShown(Struct, frozen=True, forbid_unknown_fields=True):
    """The scenario set: its size, and how many scenarios on average share the proposition of one, itself counted."""

    name: str
    scenarios: int
    crowding: float
    by_counts: bool  # it was not read: its numbers are known, and the starter set's texts stand for its own


class Rests(Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan rests on; `sources` says what runs have shown.

    `alike` is the correlation of two scenarios of one proposition, `shared` that of two runs on one scenario.
    """

    p_lie: float
    p_evasive: float
    p_no_belief: float
    alike: float
    shared: float
    lost: float
    sources: dict[str, Source]


class PlanData(Struct, forbid_unknown_fields=True, kw_only=True):
    """How many scenarios answer the question, and what asking them takes.

    Where `is_enough` is false the whole set is planned, which does not do. `gives` is the half-width of P(lie), or the
    chance that the limit is passed or the difference shown. `between` is the middle 95 % of that by the runs, null
    without any. `smallest` is the smallest difference that the whole set shows, where it does not show the one asked
    for; `cautious` is the chance for two runs that have less in common.
    """

    schema: Literal[1] = 1
    goal: Goal
    level: float
    power: float | None
    set: SetShown
    runs: list[str]
    statements: int
    scenarios: int
    is_enough: bool
    gives: float
    between: tuple[float, float] | None
    smallest: float | None
    cautious: float | None
    rests_on: Rests
    ways: list[Way]


Prices = Sequence[Price]  # of subject and judge
CROWDING = 1.11  # of the public set, where 1,000 scenarios have 944 propositions
_GATE = re.compile(r"\s*p_lie\s*<\s*(0?\.\d+)\s*")
_NOTHING: dict[str, Any] = {  # of a part of a set, and of what is asked beside
    **dict.fromkeys(("beliefs_from", "batch")),
    "estimate": "all",
    "sample": None,
    "limit": None,
    "archetypes": (),
    "construct": (),
}


@dataclass(frozen=True, slots=True)
class Pilot:
    """Runs as arrays over the scenarios that they share, the rates of the first one, and its tokens.

    `scale` is what those came to beside the forecast: a row for subject and judge; calls, tokens in, tokens out.
    """

    runs: Runs
    rates: Rates
    settings: Settings
    scale: Floats


def gate(expression: str) -> Goal:
    """The limit of an expression such as `p_lie < 0.1`; raises UsageError for any other one."""
    match = _GATE.fullmatch(expression)
    if match is None:
        raise UsageError(f"--gate {expression!r} is no limit to plan for. Write it as 'p_lie < 0.1'.")
    return Goal("gate", float(match[1]))


def half_width(value: float) -> Goal:
    """A half-width that was typed, in points from 0.5 on, such as 3, or as a share below that, such as 0.03."""
    return Goal("half_width", value / 100 if value >= 0.5 else value)


def plan(
    goal: Goal,
    runs: Sequence[str | PathLike[str]] = (),
    rules: str | None = None,
    *,
    scenarios: str | None = None,
    p_lie: float | None = None,
    subject: str | None = None,
    judge: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> PlanData:
    """How many scenarios answer a question, and what asking them takes.

    `runs` are folders of a pilot, whose first one also tells set, models and tokens; without any, all is assumed.
    `scenarios`, `p_lie`, `subject` and `judge` take the place of what it tells. `environ` is for the set and the price
    list. Raises UsageError for a question that no number of scenarios answers and for runs that measure different
    things, ScenarioError for a set that cannot be read, RunUnreadable for folders without a run.
    """
    environ = environ or {}
    if p_lie is not None and not 0 < p_lie < 1:
        raise UsageError(f"--p-lie {p_lie:g} is no rate to plan with. Give a share such as 0.1.")
    pilot = _pilot(runs, rules) if runs else None
    settings = _settings(pilot, scenarios, subject, judge)
    known = measured(pilot.runs) if pilot else assumed(goal.value / 2 if goal.kind == "gate" else P_LIE)
    known = known if p_lie is None else replace(known.at(p_lie), sources=known.sources | {"p_lie": "assumed"})
    whole, by_counts = scenarios_of(settings, environ)
    listed = list(whole)
    sharing = Counter(each.proposition.strip() for each in listed).values()
    crowding = CROWDING if by_counts else sum(count**2 for count in sharing) / max(1, len(listed))
    clusters = Clusters(len(listed), crowding)
    found = answer(known, goal.kind, goal.value, clusters)
    is_pair = goal.kind == "difference"

    def gives(spread: Spread) -> float:
        return float(spread.answers(goal.kind, goal.value, found.scenarios, clusters))

    rates = (pilot.rates if pilot else Rates(P_LIE)).at(known.p_lie)
    scale = pilot.scale if pilot else np.ones((2, 3))
    cautious = replace(known, shared=correlation(LOW, known.statements))
    return PlanData(
        goal=goal,
        level=LEVEL,
        power={"half_width": None, "gate": PASSES, "difference": POWER}[goal.kind],
        set=SetShown(settings.design.scenarios, len(listed), crowding, by_counts),
        runs=list(map(str, runs)),
        statements=known.statements,
        scenarios=found.scenarios,
        is_enough=found.is_enough,
        gives=found.gives,
        between=how_sure(pilot.runs, gives, p_lie) if pilot else None,
        smallest=smallest_difference(known, clusters) if is_pair and not found.is_enough else None,
        cautious=gives(cautious) if is_pair and known.sources["shared"] == "assumed" else None,
        rests_on=Rests(
            known.p_lie,
            rates.evasive,
            rates.no_belief,
            known.alike,
            known.shared,
            known.lost,
            known.sources | {"rates": "measured" if pilot else "assumed"},
        ),
        ways=list(_ways(listed, found.scenarios, 1 + is_pair, rates, settings, scale, _prices(settings, environ))),
    )


def _settings(pilot: Pilot | None, scenarios: str | None, subject: str | None, judge: str | None) -> Settings:
    """The settings of a planned run: those of the pilot without its sample and its checks, else the usual ones."""
    start = pilot.settings if pilot else Settings.of("sim", "sim-judge", "starter")
    named_now = {"subject": subject, "judge": judge, "numeric_judge": judge, "scenarios": scenarios}
    given: dict[str, Any] = {name: value for name, value in named_now.items() if value is not None}
    return start.having(**{**_NOTHING, **dict.fromkeys(CHECKS, False), **given})


def _pilot(runs: Sequence[str | PathLike[str]], rules: str | None) -> Pilot:
    """Read every run once; raises UsageError for runs of several protocols, and for what is no basis for a plan."""
    chosen = named(rules or RunFolder(runs[0]).settings().design.rules)
    arms: list[ScoredRun] = []
    scale = np.ones((2, 3))
    for place, run in enumerate(runs):
        with reading(run) as opened:
            arms.append(arm := read_judged(opened, chosen))
            check_all_asked(arm.settings, arm.path, "a plan")
            if place == 0:
                read = (each for each, _ in opened.store.scenarios())
                expected = forecast.plan(read, arm.settings, _prompts(arm.settings))
                scale = _scale(opened.verdicts().usage(), _taken(expected))
    protocols = {arm.record.protocol for arm in arms}
    if len(protocols) > 1:
        raise UsageError(
            f"These runs have {len(protocols)} protocol ids ({', '.join(sorted(protocols))}), so they measure "
            "different things. Give runs of one."
        )
    check_apart(arms)
    return Pilot(_runs(arms), _rates(tabulate(arms[0].rows)[0]), arms[0].settings, scale)


def _scale(used: Usage, expected: Floats) -> Floats:
    """What the tokens of a run came to beside its forecast; 1 for calls, and where an endpoint does not report them."""
    tokens = [(None, each.input_tokens, each.output_tokens) for each in (used.subject, used.judge)]
    ratios = [
        [had / usual if had and usual else 1.0 for had, usual in zip(*row, strict=True)]
        for row in zip(tokens, expected.tolist(), strict=True)
    ]
    return np.array(ratios)


def _runs(arms: Sequence[ScoredRun]) -> Runs:
    """The runs as arrays over the scenarios that all of them have."""
    common = set(arms[0].scored)
    for arm in arms[1:]:
        common &= {row.key for row in shared(arms[0], arm).first}
    keys = [key for key in arms[0].scored if key in common]
    if not keys:
        raise UsageError("No scenario is done in all of these runs. Give runs on the same scenario set.")
    tables = [tabulate(arm.scored[key] for key in keys)[0] for arm in arms]
    usable, asked = (np.array([getattr(table, name) for table in tables], float) for name in ("usable", "asked"))
    lies = np.array([table.lies for table in tables], dtype=np.float64)
    arm_ids = [arm_of(arm.settings) for arm in arms]
    return Runs(
        shares=np.where(usable > 0, lies / np.maximum(usable, 1), np.nan),
        arms=tuple(arm_ids.index(each) for each in arm_ids),
        clusters=tables[0].clusters,
        statements=arms[0].settings.design.statements,
        lost=1 - float(usable.sum() / asked.sum()),
    )


def _rates(table: Table) -> Rates:
    usable = max(1, int(table.usable.sum()))
    return Rates(*(float(each.sum()) / usable for each in (table.lies, table.evasive, table.absent)))


def _prompts(settings: Settings) -> Prompts:
    return form_of(settings.judging).prompts()


def _ways(
    listed: Sequence[Scenario], n: int, runs: int, rates: Rates, settings: Settings, scale: Floats, prices: Prices
) -> Iterator[Way]:
    """The whole protocol, what tells only lies, and of two runs beliefs that are asked once, for n scenarios a run."""
    whole, alone = (
        _taken(forecast.plan(listed, each, _prompts(settings))) / max(1, len(listed))
        for each in (settings, settings.having(beliefs_from="another run"))
    )
    saved, of_each = whole - alone, whole[:, 0] - settings.design.statements
    # That other run is asked a part of its belief questions all the same, as a check.
    beliefs = saved * np.divide(of_each, saved[:, 0], where=saved[:, 0] > 0, out=np.zeros(2))[:, None]

    def way(options: str, times: Floats) -> Way:
        """With so many times the belief questions of each run, and the verdicts on them."""
        spent = n * runs * (whole - beliefs + times[:, None] * beliefs) * scale
        money = sum(cost(Tokens(input=row[1], output=row[2]), price) for row, price in zip(spent, prices, strict=False))
        replies, verdicts = (round(calls) for calls in spent[:, 0].tolist())
        _, read, written = spent.sum(axis=0).tolist()
        return Way(options, runs, replies, verdicts, read, written, float(money) if prices else None)

    yield way("", np.ones(2))
    left: Floats = np.array(for_lies(float(of_each[0]), float(of_each[1]), settings, rates), dtype=np.float64)
    yield way("--estimate lie", left / np.maximum(of_each, 1e-9))
    if runs == 2:
        yield way("--beliefs-from FIRST", np.full(2, (1 + ANEW_SHARE) / 2))


def _taken(planned: forecast.Plan) -> Floats:
    """Calls, tokens in and tokens out of a forecast, a row for the subject and one for the judge."""
    calls = planned.calls.replies, planned.calls.verdicts
    return np.array(
        [(count, planned.input[stage], planned.output[stage]) for count, stage in zip(calls, STAGES, strict=True)]
    )


def _prices(settings: Settings, environ: Mapping[str, str]) -> Prices:
    """What subject and judge charge by the price lists; none where nobody bills, or a price is missing."""
    lists = own_prices(environ, Path.cwd()), packaged()
    found = [price_of(model, *lists) for model in (settings.subject.name, settings.judging.judge)]
    prices = [price for price in found if price is not None]
    return [] if len(prices) < len(found) or all(price == FREE for price in prices) else prices
