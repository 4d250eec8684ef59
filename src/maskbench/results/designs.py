"""Which way of measuring answers a question for the fewest calls, or the least money: a table of small functions.

A design says how many scenarios it takes and what it asks about one of them, on average; both follow from shares that
are measured on runs or assumed (`Basis`). docs/fewer-calls.md describes the designs; how often plans keep their
promise is simulated by `python benchmarks/fewer_calls.py --plans`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

from maskbench.errors import UsageError
from maskbench.judges.looks_needed import FirstJudge, Rates, looks_needed
from maskbench.method.rates import tabulate
from maskbench.models.prices import FREE, Price, price_of
from maskbench.models.prices import Tokens as Priced
from maskbench.models.prices import cost as cost_of
from maskbench.results.designs_json import Assumed, DesignsData, DesignShown, Goal, Spent, Tokens
from maskbench.results.pilot import Asked, Pilot, read_pilot
from maskbench.results.sample_size import plan_of, split_of
from maskbench.results.sample_size_json import PlanData
from maskbench.runs.forecast import REPLY_TOKENS, VERDICT_TOKENS, Plan
from maskbench.settings import Settings
from maskbench.stats.power import LEVEL, POWER, STATEMENTS, Source, Split, assumed, needed
from maskbench.stats.precision import CROWDING, PASSES, any_of, for_gate, for_half_width, scenarios_for, worth

Prices = Mapping[str, Price]
NO_PRICES: Prices = {}
SUBJECT, JUDGE, STRONG = "subject", "judge", "strong judge"  # who has a price

# What is assumed where no run is given: the public set's calls (docs/method.md) and shares that models often have.
EVASIVE, NO_BELIEF = 0.15, 0.1
GIVEN, NUMERICAL, DIRECT = 0.274, 0.096, 3
BELIEF_REPLIES, BELIEF_VERDICTS = 3.438, 3.246
SETTLED = 1.1  # belief replies until one takes the side of a statement that is no lie
WANDERING = 0.5  # of the belief replies, until one does so in a scenario without a belief
MORE = (1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0)  # times the scenarios of one judge, for two judges
WORTH_TELLING = 2 / 3  # of a planned run's calls: a design that leaves more is not worth a line
RATES_TOLD = (0.1, 0.4)  # P(lie) for which a saving is told
CONSISTENCY = 2  # questions that most binary scenarios have beside the direct one
# Tokens in of a call, as in the starter set; those out are what `--dry-run` assumes.
BELIEF_IN, STATEMENT_IN, JUDGED_BELIEF_IN, JUDGED_STATEMENT_IN = 28.0, 245.0, 690.0, 1080.0


@dataclass(frozen=True, slots=True)
class Work:
    """What all runs of a design ask about one scenario, on average."""

    belief_replies: float
    statements: float
    belief_verdicts: float
    statement_verdicts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a plan rests on: the variance, the shares of outcomes, what scenarios ask for, and what tokens cost.

    `given` and `numerical` are the shares of scenarios without belief questions, and with a figure. `scale` is what
    tokens measured on a run come to beside those assumed: in and out of the subject, in and out of the judge. Where a
    strong judge has a price, its P(lie) is the one that is wanted, and `first_judge` is how often the other one errs.
    """

    split: Split
    evasive: float = EVASIVE
    no_belief: float = NO_BELIEF
    given: float = GIVEN
    numerical: float = NUMERICAL
    direct: int = DIRECT
    crowding: float = CROWDING
    belief_replies: float = BELIEF_REPLIES
    belief_verdicts: float = BELIEF_VERDICTS
    scale: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    prices: Prices = field(default_factory=dict)  # by subject, judge and strong judge
    first_judge: FirstJudge = field(default_factory=FirstJudge)
    runs: tuple[str, ...] = ()

    def whole(self, statements: int) -> Work:
        """What the whole protocol asks about a scenario."""
        return Work(self.belief_replies, statements, self.belief_verdicts, statements)

    def with_rate(self, p_lie: float | None) -> Basis:
        """With another P(lie): the variance grows and shrinks as that of a share does."""
        if p_lie is None:
            return self
        if not 0 < p_lie < 1:
            raise UsageError(f"--p-lie {p_lie:g} is no rate to plan with. Give a share such as 0.1.")
        split, old = self.split, self.split.p_lie * (1 - self.split.p_lie)
        times = p_lie * (1 - p_lie) / old if old else 0.0
        if not times:
            return replace(self, split=assumed(p_lie))
        left = (1 - p_lie) / (1 - split.p_lie)
        together = (split.together[0] * times, split.together[1] * times)
        sources: dict[str, Source] = {**split.sources, "p_lie": "assumed"}
        judge = None if split.judge is None else split.judge * times
        split = replace(
            split,
            p_lie=p_lie,
            scenario=split.scenario * times,
            belief=split.belief * times,
            statement=split.statement * times,
            alike=split.alike * times,
            together=together,
            judge=judge,
            sources=sources,
        )
        return replace(self, split=split, evasive=self.evasive * left, no_belief=self.no_belief * left)


@dataclass(frozen=True, slots=True)
class Offer:
    """A design with its numbers, before they are priced."""

    options: str
    scenarios: int
    work: Work
    runs: int = 1
    looks: int | None = None  # scenarios that the strong judge sees, where another one saw all
    rests_on: str | None = None


Answer = Offer | str  # or why the design does not answer this question
Design = Callable[[Basis, Goal, int], Answer]


def scenarios(basis: Basis, goal: Goal, statements: int) -> int:
    """How many scenarios answer the question where each is asked the whole protocol, in every run."""
    split = basis.split
    match goal.kind:
        case "difference":
            return split.scenarios(goal.value, statements)
        case "half_width":
            return scenarios_for(split, for_half_width(split.p_lie, goal.value), statements, basis.crowding)
        case "gate":  # a failure counts as a lie
            lost = 1 - (1 - split.lost[0]) * (1 - split.lost[1])
            counted = replace(split, p_lie=split.p_lie * (1 - lost) + lost, lost=(0.0, 0.0))
            return scenarios_for(counted, for_gate(counted.p_lie, goal.value), statements, basis.crowding)


def whole(basis: Basis, goal: Goal, statements: int) -> Offer:
    """Everything is asked of everybody."""
    several = f" --statements {statements}" if statements > 1 else ""
    runs = 2 if goal.kind == "difference" else 1
    work = _times(basis.whole(statements), runs)
    return Offer(several.strip(), scenarios(basis, goal, statements), work, runs)


def only_lies(basis: Basis, goal: Goal, statements: int) -> Offer:
    """Belief questions stop where a lie is settled; a part of the scenarios has the whole protocol."""
    start, part = whole(basis, goal, statements), 0.2
    asked = _until_settled(basis, statements)
    full = basis.whole(statements)
    replies, verdicts = (
        part * getattr(full, name) + (1 - part) * getattr(asked, name) for name in ("belief_replies", "belief_verdicts")
    )
    work = _times(replace(full, belief_replies=replies, belief_verdicts=verdicts), start.runs)
    shares = f"P(evasive) {basis.evasive:.0%}, P(no belief) {basis.no_belief:.0%}"
    return replace(start, options=f"{start.options} --estimate lie".strip(), work=work, rests_on=shares)


def shared_beliefs(basis: Basis, goal: Goal, statements: int) -> Answer:
    """The second arm takes the first one's beliefs over: they are asked once, and bring no chance of their own.

    What chance they bring counts only where runs have shown it: a plan that leans on a guess would promise too much.
    """
    if goal.kind != "difference":
        return "only arms of one subject share beliefs"
    split = basis.split
    known = replace(split, belief=0.0) if split.sources["belief"] == "measured" else split
    start, full = whole(replace(basis, split=known), goal, statements), basis.whole(statements)
    work = replace(_times(full, 2), belief_replies=full.belief_replies, belief_verdicts=full.belief_verdicts)
    return replace(
        start,
        options=f"{start.options} --beliefs-from FIRST".strip(),
        work=work,
        rests_on="both arms are one model, and differ in the pressured conversation alone",
    )


def second_look(basis: Basis, goal: Goal, statements: int) -> Answer:
    """A first judge sees everything and the strong one a part, which is drawn by what the first one found."""
    if STRONG not in basis.prices:
        return "name two judges, by --judge and --second, to have it planned"
    if goal.kind != "half_width" or statements > 1:
        return "it is planned for half-widths alone"
    rates = Rates(basis.split.p_lie, basis.evasive, basis.no_belief)
    least = scenarios(basis, goal, 1)
    offers = []
    for times in MORE:
        n = math.ceil(least * times)
        looks = looks_needed(rates, basis.first_judge, worth(basis.split, n, 1, basis.crowding), n, goal.value)
        if looks is not None and looks < n:
            offers.append(
                Offer(
                    f"--judge FIRST, then judge RUN --second STRONG --second-share {looks / n:.3g}",
                    n,
                    basis.whole(1),
                    looks=looks,
                    rests_on=_as_judged(basis.first_judge),
                )
            )
    if not offers:
        return "the first judge errs too often for a part of the scenarios to do"
    return min(offers, key=lambda offer: cost(priced("", 1, offer, basis)))


def _as_judged(judge: FirstJudge) -> str:
    wrong = f"{1 - judge.specificity:.0%} of what is none"
    return f"the first judge finds {judge.sensitivity:.0%} of the lies, and takes {wrong} for one (assumed)"


DESIGNS: Mapping[str, Design] = {
    "whole protocol": whole,
    "ask only for lies": only_lies,
    "beliefs once": shared_beliefs,
    "two judges": second_look,
}


def designs(goal: Goal, basis: Basis) -> DesignsData:
    """Every design that answers the question, the cheapest first: each with the number of statements that is cheapest.

    The whole protocol with one statement is among them, whatever it costs. Raises UsageError for a question that no
    number of scenarios answers.
    """
    shown: list[DesignShown] = []
    left_out: dict[str, str] = {}
    for name, design in DESIGNS.items():
        answers = {k: design(basis, goal, k) for k in STATEMENTS}
        offers = [priced(name, k, answer, basis) for k, answer in answers.items() if isinstance(answer, Offer)]
        if not offers:
            left_out[name] = str(answers[1])
            continue
        cheapest = min(offers, key=cost)
        shown += [offers[0], cheapest] if design is whole and cheapest.statements > 1 else [cheapest]
    return DesignsData(
        schema=1,
        goal=goal,
        level=LEVEL,
        power={"half_width": None, "gate": PASSES, "difference": POWER}[goal.kind],
        runs=list(basis.runs),
        assumed=_assumed(basis),
        ordered_by="calls" if shown[0].money is None else "money",
        designs=sorted(shown, key=cost),
        left_out=left_out,
    )


def cost(design: DesignShown) -> float:
    """What designs are put in order by: money where prices are known, else calls."""
    calls = design.subject.calls + design.judge.calls + (design.strong_judge.calls if design.strong_judge else 0)
    return float(calls) if design.money is None else design.money


def priced(name: str, statements: int, offer: Offer, basis: Basis) -> DesignShown:
    """The design with calls, tokens and money of all its runs."""
    work, n, scale = offer.work, offer.scenarios, basis.scale
    subject = _spent(
        n,
        (work.belief_replies, BELIEF_IN * scale[0], REPLY_TOKENS["direct"] * scale[1]),
        (work.statements, STATEMENT_IN * scale[0], REPLY_TOKENS["statement"] * scale[1]),
    )
    verdict = VERDICT_TOKENS["reasoning"] * scale[3]
    verdicts = (
        (work.belief_verdicts, JUDGED_BELIEF_IN * scale[2], verdict),
        (work.statement_verdicts, JUDGED_STATEMENT_IN * scale[2], verdict),
    )
    judge, strong = _spent(n, *verdicts), _spent(offer.looks or 0, *verdicts)
    if STRONG in basis.prices and offer.looks is None:
        judge, strong = strong, judge
    return DesignShown(
        name=name,
        options=offer.options,
        scenarios=n,
        statements=statements,
        runs=offer.runs,
        looks=offer.looks,
        subject=subject,
        judge=judge,
        strong_judge=strong if strong.calls else None,
        money=_money(basis.prices, {SUBJECT: subject, JUDGE: judge, STRONG: strong}),
        rests_on=offer.rests_on,
    )


def _spent(scenarios: int, *kinds: tuple[float, float, float]) -> Spent:
    """Calls of these kinds about so many scenarios; each kind has calls a scenario, tokens in and tokens out."""
    asked = [scenarios * calls for calls, _, _ in kinds]
    tokens = (sum(count * kind[at] for count, kind in zip(asked, kinds, strict=True)) for at in (1, 2))
    return Spent(math.ceil(round(sum(asked), 6)), Tokens(*tokens))


def _money(prices: Prices, spent: Mapping[str, Spent]) -> float | None:
    """What it costs by these prices; None where a model that is called has none."""
    called = {who: each for who, each in spent.items() if each.calls}
    if not called.keys() <= prices.keys():
        return None
    return sum(
        cost_of(Priced(input=each.tokens.input, output=each.tokens.output), prices[who]) for who, each in called.items()
    )


def _until_settled(basis: Basis, statements: int) -> Work:
    """What `--estimate lie` asks about a scenario that is not of the whole part.

    A lie takes every belief question; a statement that takes no side takes none; any other one takes about one.
    """
    lying = any_of(basis.split, basis.split.p_lie, statements)
    silent = max(0.0, 1 - any_of(basis.split, 1 - basis.evasive, statements))
    honest = max(0.0, 1 - lying - silent - basis.no_belief)
    binary = 1 - basis.given - basis.numerical
    joint = basis.numerical * (1 - silent)
    each = (basis.belief_replies - basis.numerical * basis.direct) / binary if binary > 0 else 0.0
    replies = binary * (lying * each + basis.no_belief * each * WANDERING + honest * min(SETTLED, each))
    return Work(replies + joint * basis.direct, statements, replies + joint, statements)


def _times(work: Work, runs: int) -> Work:
    return Work(*(getattr(work, name) * runs for name in Work.__slots__))


def _assumed(basis: Basis) -> Assumed:
    split = basis.split
    counted: Source = "measured" if basis.runs else "assumed"
    sources = dict.fromkeys(("p_evasive", "p_no_belief", "belief_replies", "belief_verdicts"), counted)
    return Assumed(
        p_lie=split.p_lie,
        p_evasive=basis.evasive,
        p_no_belief=basis.no_belief,
        belief_replies=basis.belief_replies,
        belief_verdicts=basis.belief_verdicts,
        sources=split.sources | sources,
    )


@dataclass(frozen=True, slots=True)
class Saving:
    """A cheaper way to make a planned run: what is typed, and the share of its calls that is left at rates of lies."""

    options: str
    left: Mapping[float, float]  # by P(lie)


def cheaper(planned: Plan, settings: Settings) -> Saving | None:
    """The way that saves most of a planned run's calls, where that is a third or more; controls need every call."""
    savings = [] if settings.checks or not planned.scenarios else list(_savings(planned, settings))
    best = min(savings, key=lambda saving: min(saving.left.values()), default=None)
    return best if best and min(best.left.values()) <= WORTH_TELLING else None


def _savings(planned: Plan, settings: Settings) -> Iterator[Saving]:
    n, k, calls = planned.scenarios, settings.statements, planned.calls
    asked = planned.construct  # questions on statements, which every way asks in full
    whole, method = calls.replies + calls.verdicts, calls.replies + calls.verdicts - asked
    replies, verdicts = calls.replies / n - k, (calls.verdicts - asked) / n - k
    if settings.beliefs_from is None and settings.system_prompt and not settings.prompt_on_beliefs:
        yield Saving("--beliefs-from RUN", dict.fromkeys(RATES_TOLD, (2 * k * n + asked) / whole))
    if settings.beliefs_from is None and settings.estimate == "all":
        numerical = (replies - verdicts) / (settings.beliefs - 1) if settings.beliefs > 1 else 0.0
        binary = (replies - numerical * settings.beliefs) / (settings.beliefs + CONSISTENCY)
        basis = Basis(
            split=assumed(),
            given=max(0.0, 1 - numerical - binary),
            numerical=numerical,
            direct=settings.beliefs,
            belief_replies=replies,
            belief_verdicts=verdicts,
        )
        left = {
            rate: _left(only_lies(basis.with_rate(rate), Goal("half_width", 0.1), k).work, basis, k)
            for rate in RATES_TOLD
        }
        left = {rate: (share * method + asked) / whole for rate, share in left.items()}
        yield Saving("--estimate lie", left)


def _left(work: Work, basis: Basis, statements: int) -> float:
    """What share of the whole protocol's calls a scenario takes."""
    mine, whole = (sum(getattr(each, name) for name in Work.__slots__) for each in (work, basis.whole(statements)))
    return float(mine / whole)


def basis_of(pilot: Pilot, prices: Prices, split: Split) -> Basis:
    """What runs tell of their subject and their set; `split` is that of their variance."""
    asked, table = pilot.asked, tabulate(pilot.arms[0].rows)[0]
    usable = max(1, int(table.usable.sum()))
    each = 1 / max(1, asked.scenarios)
    sharing = Counter(table.clusters.tolist()).values()
    return Basis(
        split=split,
        evasive=float(table.evasive.sum()) / usable,
        no_belief=float(table.absent.sum()) / usable,
        given=asked.given * each,
        numerical=asked.numerical * each,
        direct=asked.direct,
        crowding=sum(count**2 for count in sharing) / max(1, sum(sharing)),
        belief_replies=asked.belief_replies * each,
        belief_verdicts=asked.belief_verdicts * each,
        scale=_scale(asked),
        prices=prices,
        runs=tuple(str(arm.path) for arm in pilot.arms),
    )


def _scale(asked: Asked) -> tuple[float, float, float, float]:
    """What the run's tokens come to beside those that are assumed; 1 where an endpoint does not report them."""
    if asked.usage is None:
        return (1.0, 1.0, 1.0, 1.0)
    subject, judge = asked.usage.subject, asked.usage.judge
    verdicts = asked.belief_verdicts + asked.statements
    expected = (
        (subject.input_tokens, asked.belief_replies * BELIEF_IN + asked.statements * STATEMENT_IN),
        (
            subject.output_tokens,
            asked.belief_replies * REPLY_TOKENS["direct"] + asked.statements * REPLY_TOKENS["statement"],
        ),
        (judge.input_tokens, asked.belief_verdicts * JUDGED_BELIEF_IN + asked.statements * JUDGED_STATEMENT_IN),
        (judge.output_tokens, verdicts * VERDICT_TOKENS["reasoning"]),
    )
    first, second, third, last = (tokens / usual if tokens and usual else 1.0 for tokens, usual in expected)
    return first, second, third, last


def plan(
    difference: float,
    runs: Sequence[str | PathLike[str]] = (),
    rules: str | None = None,
    p_lie: float | None = None,
    prices: Prices = NO_PRICES,
) -> PlanData:
    """Scenarios needed to show a difference in P(lie), by number of statements and by design.

    `runs` are folders to measure the variance on; without any, assumptions. `p_lie` takes the place of their rate.
    Raises UsageError for a difference that cannot be planned for and for runs without a shared scenario, RunUnreadable
    for folders without a run.
    """
    goal = Goal("difference", difference)
    needed(1.0, difference)
    basis, taken = _read(runs, rules, p_lie, prices)
    return plan_of(designs(goal, basis), basis.split, taken)


def answer(
    goal: Goal,
    runs: Sequence[str | PathLike[str]] = (),
    rules: str | None = None,
    p_lie: float | None = None,
    prices: Prices = NO_PRICES,
) -> DesignsData:
    """The designs that answer a question; arguments and errors as for `plan`.

    Where neither runs nor `p_lie` tell the rate it is 35 %, and half of the limit for a gate.
    """
    if not runs and p_lie is None and goal.kind == "gate":
        p_lie = goal.value / 2
    return designs(goal, _read(runs, rules, p_lie, prices)[0])


def _read(
    runs: Sequence[str | PathLike[str]], rules: str | None, p_lie: float | None, prices: Prices
) -> tuple[Basis, int]:
    """What these runs tell, and on how many scenarios that they share."""
    if not runs:
        return Basis(split=assumed(), prices=prices).with_rate(p_lie), 0
    pilot = read_pilot(runs, rules)
    split, taken = split_of(pilot.arms, pilot.again)
    return basis_of(pilot, prices, split).with_rate(p_lie), taken


def prices_of(models: Mapping[str, str], *lists: Mapping[str, Price]) -> Prices:
    """The prices of these models, by who they are, from the first list that has each; none where nobody bills any."""
    known = {who: price for who, model in models.items() if (price := price_of(model, *lists)) is not None}
    return NO_PRICES if all(price == FREE for price in known.values()) else known


_GATE = re.compile(r"\s*p_lie\s*<\s*(0?\.\d+)\s*")


def gate(expression: str) -> Goal:
    """The limit of an expression such as `p_lie < 0.1`; raises UsageError for any other one."""
    match = _GATE.fullmatch(expression)
    if match is None:
        raise UsageError(f"--gate {expression!r} is no limit to plan for. Write it as 'p_lie < 0.1'.")
    return Goal("gate", float(match[1]))


def half_width(value: float) -> Goal:
    """A half-width that was typed, in points from 0.5 on, such as 3, or as a share below that, such as 0.03."""
    return Goal("half_width", value / 100 if value >= 0.5 else value)
