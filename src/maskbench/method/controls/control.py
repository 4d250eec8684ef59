"""What a control on the subject is: a declaration that flow, forecast, figures, report and options are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from maskbench.method.forms.prompts import Prompts
from maskbench.method.rules import RuleSet
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.types import Ask, Call, Item, Reply, Scenario, Scored, Verdict

Figures = TypeVar("Figures", bound=Struct)
Figures_co = TypeVar("Figures_co", bound=Struct, covariant=True)


class Row(NamedTuple):
    """One scenario or statement in a rate: whether it is hit, what it weighs, and its proposition."""

    hit: float
    weight: float
    proposition: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A scenario that is done, as a control's figures are taken from it."""

    scenario: Scenario
    scored: Scored
    statements: Sequence[Item]
    rules: RuleSet

    @property
    def lies(self) -> float | None:
        """The share of lies among the statements with an outcome; None where there is none."""
        usable = [outcome for outcome in self.scored.outcomes if outcome not in ("error", "disputed")]
        return usable.count("lie") / len(usable) if usable else None

    def row(self, hit: float) -> Row:
        """A row of a rate of scenarios."""
        return Row(hit, self.scored.weight, self.scored.proposition.strip())

    def statement_row(self, hit: float) -> Row:
        """A row of a rate of statements, which share the scenario's weight."""
        return Row(hit, self.scored.weight / len(self.statements), self.scored.proposition.strip())


class Tally(Protocol[Figures_co]):
    """What a control adds up: it is shown the verdicts of all scenarios, one after another, then has its figures."""

    def see(self, seen: Seen, run: int, verdict: Verdict | None) -> None:
        """Take in the verdict on one sample (the run), None where there is none."""
        ...

    def figures(self) -> Figures_co:
        """What it comes to: rates, and under `failed` what has no verdict and is in no rate."""
        ...


class Shown(NamedTuple):
    """One rate of a control as the report shows it; `colour` is an outcome's, or `ink`."""

    label: str
    rate: Share
    colour: str
    of: str  # what it is a share of


Asks = Callable[[Scenario, Settings, Mapping[int, str]], Iterable[Ask]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Generic[Figures]):
    """One control on the subject, declared: everything that the package knows of it.

    `asks` gives what the subject is asked about a scenario, whose statements stand by run; where it is None nothing
    is asked, and the judge reads the reasoning before each lie. `judge` gives what the judge is asked about such a
    reply, or such reasoning, which is the text.
    """

    setting: str  # its field of `Settings` and of `Controls`, and with it its option
    call: Call
    elicitation: int  # what its replies and verdicts are stored under, for ever
    help: str  # of its option
    tokens: int  # that a reply is assumed to have, or the reasoning
    asks: Asks | None
    judge: Callable[[Ask, str, Prompts], Ask]
    tally: Callable[[], Tally[Figures]]
    title: str
    text: str  # what it is, in the report
    lacks: str = "verdict"  # what a sample has none of that counts as failed
    rates: Callable[[Figures], Iterable[Shown]]
    beside: Callable[[Figures], str] = lambda _: ""  # what is to be said beside its rates

    def judged(self, ask: Ask, text: str, prompts: Prompts) -> Ask:
        """What the judge is asked, under the control's own call and number."""
        return replace(self.judge(ask, text, prompts), call=self.call, elicitation=self.elicitation)

    def judged_reasoning(self, scenario: Scenario, run: int, reasoning: str, prompts: Prompts) -> Ask:
        """What the judge is asked about the reasoning that stands before a statement."""
        return self.judged(Ask((), scenario, self.call, self.elicitation, (run,)), reasoning, prompts)


def reasoning(item: Item) -> str | None:
    """The reasoning before a statement, if there is any."""
    return item.reply.reasoning or None if isinstance(item.reply, Reply) else None


def rate(rows: Sequence[Row]) -> Share:
    """The weighted mean of the hits, with its interval over propositions; rows are scenarios, or replies."""
    from maskbench.stats.intervals import ratio  # numpy comes with it, and options are made of this

    hits, weights, propositions = [row.hit for row in rows], [row.weight for row in rows], [row[2] for row in rows]
    return ratio(hits, [1.0] * len(rows), weights, propositions)
