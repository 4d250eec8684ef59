"""dose.json as types: what was planned, what every dose came to, and the conclusion."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from maskbench.interventions.dose.conclusion import Word
from maskbench.results.comparison_json import McNemar, PairedFactors, PairedRate, PairedRates, Test
from maskbench.runs.fitting import fitted
from maskbench.runs.run_json import settings_from
from maskbench.stats.rate_json import Rate
from maskbench.types import Json, OutcomeName

SCHEMA = 1


class Conclusion(Struct, forbid_unknown_fields=True):
    """What a dose came to, in a word, and why."""

    word: Word
    reasons: list[str]


class Half(Struct, forbid_unknown_fields=True):
    """One half of the scenarios."""

    scenarios: str
    name: str
    n: int
    propositions: int


class Halves(Struct, forbid_unknown_fields=True):
    """The half on which a dose is chosen, the half on which it is reported, and what they share."""

    dev: Half
    test: Half
    shared_propositions: int


class DoseAlone(Struct, forbid_unknown_fields=True, kw_only=True):
    """A dose by itself."""

    subject: str
    statements: int
    done: int
    n: int
    values: dict[str, Rate]
    evasions: dict[str, float | None]
    malformed_value: float | None
    name: str
    amount: float | None
    layers: list[int] | None
    run: str
    perplexity: float | None
    perplexity_ratio: float | None


class BeliefsChanged(Struct, forbid_unknown_fields=True):
    """Scenarios with a belief in both runs, and those that have another one now."""

    changed: int
    n: int


class DoseRow(Struct, forbid_unknown_fields=True, kw_only=True):
    """A dose held against dose 0, with what it came to where it is on the reported half."""

    subject: str
    statements: int
    done: int
    n: int
    values: dict[str, Rate]
    evasions: dict[str, float | None]
    malformed_value: float | None
    withheld: str | None
    untested_because: list[str]
    rates: PairedRates
    factors: PairedFactors | None
    test: Test | None
    smallest_difference: float | None
    transitions: dict[OutcomeName, dict[OutcomeName, int]]
    mcnemar: McNemar
    warnings: list[str]
    p_lie_by_base: PairedRate
    beliefs_changed: BeliefsChanged
    malformed: PairedRate
    name: str
    amount: float | None
    layers: list[int] | None
    run: str
    perplexity: float | None
    perplexity_ratio: float | None
    verdict: Conclusion | UnsetType = UNSET


class OnDev(Struct, forbid_unknown_fields=True):
    """The doses on the half on which one of them is chosen, and why others were ruled out."""

    zero: DoseAlone
    rows: list[DoseRow]
    chosen: str | None
    ruled_out: dict[str, str]


class OnTest(Struct, forbid_unknown_fields=True):
    """The doses on the half that is reported."""

    zero: DoseAlone
    rows: list[DoseRow]
    chosen: str


class RandomRow(Struct, forbid_unknown_fields=True):
    """A random direction at the chosen strength, held against dose 0."""

    name: str
    run: str
    rates: PairedRates
    malformed: PairedRate
    withheld: str | None
    untested_because: list[str]


class RandomDirections(Struct, forbid_unknown_fields=True):
    """What random directions do, and whether the chosen dose does more."""

    statements: int
    rows: list[RandomRow]
    differences: list[float]
    exceeded: int  # how many of them moved P(lie) less far


class LimitsPlanned(Struct, forbid_unknown_fields=True):
    """The thresholds of the conclusion, as `Limits` has them."""

    margin: float
    malformed: float
    perplexity: float
    vague: float


class Planned(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is to be measured."""

    kind: Literal["steer", "adapter", "prompts"]
    base: dict[str, Any]  # settings but for those that may change; what they hold is checked as a run's
    doses: list[float | str]
    source: str | None = None
    layers: list[list[int] | None]
    dev: str
    dev_statements: int
    control_statements: int
    random: int
    on_beliefs: bool
    limits: LimitsPlanned


class DoseRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """A dose curve; until it is complete there is a plan alone."""

    schema: int = SCHEMA
    complete: bool
    plan: Planned
    maskbench: str | UnsetType = UNSET
    choice: str | UnsetType = UNSET
    words: list[str] | UnsetType = UNSET
    split: Halves | UnsetType = UNSET
    dev: OnDev | UnsetType | None = UNSET
    test: OnTest | UnsetType | None = UNSET
    controls: RandomDirections | UnsetType | None = UNSET
    verdict: Conclusion | UnsetType = UNSET


def dose_from(plain: Json) -> DoseRecord:
    """The record that dose.json holds; raises Misfit for what is none, and Unknown for a part of a later version."""
    record = fitted(plain, DoseRecord)
    settings_from(record.plan.base, "plan.base")
    return record
