"""`compare --json` as types: two runs or more on the scenarios that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Struct, UnsetType, json, structs

from maskbench.results.calibration import CorrectedPair
from maskbench.results.splits import Split
from maskbench.stats.figures import Ends, Share
from maskbench.types import Json, OutcomeName

if TYPE_CHECKING:
    from maskbench.stats.figures import Share


class PairedRate(Struct, forbid_unknown_fields=True):
    """A rate in both runs and the difference, other minus first; None where it is withheld or not tested."""

    first: float | None
    other: float | None
    difference: float | None
    ci95: Ends | None
    one_sided95: Ends | None
    n: int

    @property
    def estimate(self) -> Share:
        """The difference as charts take it."""
        return Share(self.difference, self.ci95, self.n)


class PairedRates(Struct, forbid_unknown_fields=True):
    """The rates that are compared."""

    p_lie: PairedRate
    p_honest: PairedRate
    p_evasive: PairedRate
    p_no_belief: PairedRate
    accuracy: PairedRate

    def by_name(self) -> dict[str, PairedRate]:
        """Every rate by its name, in this order."""
        return structs.asdict(self)


class PairedFactor(Struct, forbid_unknown_fields=True):
    """One factor of P(lie) in both runs, its difference, and what it contributes to that of P(lie)."""

    first: float
    other: float
    difference: float | None
    ci95: Ends | None
    contribution: float | None
    contribution_ci95: Ends | None


class PairedFactors(Struct, forbid_unknown_fields=True):
    """The three factors of P(lie)."""

    belief_share: PairedFactor
    answered_share: PairedFactor
    conditional_lie_rate: PairedFactor

    def by_name(self) -> dict[str, PairedFactor]:
        """Every factor by its name, in this order."""
        return structs.asdict(self)


class Test(Struct, forbid_unknown_fields=True):
    """The one test, on P(lie), adjusted for all comparisons that are made.

    `p` is a mid-p, so that `exact` is false; `p_exact` counts ties in full, and is null where `patterns` were drawn.
    """

    name: str
    p: float
    propositions: int
    exact: bool
    patterns: int | None
    p_holm: float
    significant: bool
    p_exact: float | UnsetType | None = UNSET


class Bounds(Struct, forbid_unknown_fields=True):
    """Least and greatest difference in P(lie), whatever failed or is disputed."""

    difference: Ends
    ci95: Ends | None


class Differs(Struct, forbid_unknown_fields=True):
    """What makes the two different measurements: a field, and what it is in each."""

    field: str
    first: Any
    other: Any


class SharedScenarios(Struct, forbid_unknown_fields=True):
    """How many scenarios both have, and what keeps the others out."""

    scenarios: int
    propositions: int
    with_outcomes_in_both: int
    failed_in_first_only: int
    failed_in_other_only: int
    failed_in_both: int
    only_in_first: int
    only_in_other: int
    other_text: int


class Worst(Struct, forbid_unknown_fields=True):
    """The most that a rate can have got worse by, and whether that is within the margin."""

    worst: float
    shown: bool


class NonInferiority(Struct, forbid_unknown_fields=True):
    """Whether nothing got worse by the margin or more."""

    margin: float
    rates: dict[str, Worst]
    p_lie_shown: bool | None
    all_shown: bool | None


class McNemar(Struct, forbid_unknown_fields=True):
    """Scenarios that went from a lie to another outcome, and back."""

    lie_to_other: int
    other_to_lie: int


class Change(Struct, forbid_unknown_fields=True):
    """A scenario with another outcome than in the first run."""

    archetype: str
    task_id: str
    first: OutcomeName
    other: OutcomeName


class ChangeKind(Struct, forbid_unknown_fields=True):
    """One kind of change: how often it was seen, how often it comes by itself, and whether it was seen more often."""

    first: OutcomeName
    other: OutcomeName
    changed: int
    by_itself: float
    above: bool


class ByThemselves(Struct, forbid_unknown_fields=True):
    """How many scenarios would change with nothing changed, over `scenarios` of which a repeat tells it.

    `source` is a retest, whose folder is `run`, or repeats within the runs: statements alone (then beliefs are held
    fixed, and more would change), or beliefs, too. `lies_each_way` is how many lies would come, and go, by themselves.
    """

    source: Literal["run", "statements", "statements_and_beliefs", "statements_on_shared_beliefs"]
    run: str | None
    scenarios: int
    changed: int
    by_itself: float
    above: bool
    lies_each_way: float
    kinds: list[ChangeKind]


class RunCompared(Struct, forbid_unknown_fields=True):
    """Which run this is."""

    run: str
    subject: str
    scenarios: str
    statements: int
    protocol: str
    verdicts: str
    done: int
    n: int


class Pairing(RunCompared, forbid_unknown_fields=True):
    """A run held against the first one."""

    withheld: str | None
    untested_because: list[str]
    differs: list[Differs]
    warnings: list[str]
    shared: SharedScenarios
    rates: PairedRates
    factors: PairedFactors | None
    test: Test | None
    bounds: Bounds | None
    corrected: CorrectedPair | None
    non_inferiority: NonInferiority | None
    transitions: dict[OutcomeName, dict[OutcomeName, int]]
    mcnemar: McNemar
    changed: list[Change]
    by_themselves: ByThemselves | None
    shared_beliefs: str | UnsetType = UNSET  # the run whose beliefs both have
    readings: dict[str, PairedRate] | UnsetType = UNSET  # of P(lie) by the words of the lies, where both were asked
    asked: tuple[Split, Split] | UnsetType = UNSET  # both by whether the falsehood was asked for, on shared scenarios


class ComparisonData(Struct, forbid_unknown_fields=True):
    """Runs held against the first of them; `comparisons` is how many are tested."""

    schema: Literal[1]
    rules: str
    notes: list[str]
    comparisons: int
    first: RunCompared
    others: list[Pairing]
    confirm: list[str] | UnsetType = UNSET  # how the best of several runs with the same beliefs is confirmed

    def as_dict(self) -> Json:
        """What `maskbench compare --json` prints."""
        plain: Json = json.decode(json.encode(self))
        return plain
