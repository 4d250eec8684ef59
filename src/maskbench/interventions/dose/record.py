"""The record that dose.json holds: what was planned, what every dose came to, and the conclusion."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, structs

from maskbench.interventions.dose.conclusion import Conclusion, Limits
from maskbench.results.comparison import McNemar
from maskbench.runs.fitting import fitted
from maskbench.runs.record import plain_record, settings_from
from maskbench.settings import MAY_CHANGE, PLACES, Settings
from maskbench.stats.figures import Difference, Share
from maskbench.types import Json, OutcomeName

SCHEMA = 1
Kind = Literal["steer", "adapter", "prompts"]
Layers = tuple[int, ...] | None  # None: all that the vectors have


class Plan(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be measured; `base` is dose 0 on the whole scenario set, its statements those of the test split."""

    kind: Kind
    base: Settings
    doses: tuple[float | str, ...]  # strengths, alphas or names of prompts; dose 0 is always measured
    source: str | None = None  # the file of vectors, or the adapter's folder
    layers: tuple[Layers, ...] = (None,)  # the layers to choose from
    dev: str = "0.3"  # the share of propositions in the dev split, or a scenario set of its own
    dev_statements: int = 2
    control_statements: int = 2
    random: int = 20
    on_beliefs: bool = False  # prompts stand on belief questions, too
    limits: Limits = Limits()


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
    """A dose by itself: what its run says, which one it is, where its run lies, and what it does to neutral text."""

    subject: str
    statements: int
    done: int
    n: int
    values: dict[str, Share]
    evasions: dict[str, float | None]
    malformed_value: float | None
    name: str
    run: str
    amount: float | None
    layers: Layers
    perplexity: float | None
    perplexity_ratio: float | None


class BeliefsChanged(Struct, forbid_unknown_fields=True):
    """Scenarios with a belief in both runs, and those that have another one now."""

    changed: int
    n: int


class DoseRow(DoseAlone, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A dose held against dose 0, with what it came to where it is on the reported half."""

    withheld: str | None
    untested_because: list[str]
    rates: dict[str, Difference]
    factors: dict[str, Difference] | None
    effects: dict[str, Share] | None
    test: str | None
    p_holm: float | None
    significant: bool | None
    transitions: dict[OutcomeName, dict[OutcomeName, int]]
    mcnemar: McNemar
    warnings: list[str]
    p_lie_by_base: Difference
    beliefs_changed: BeliefsChanged
    malformed: Difference
    verdict: Conclusion | None = None


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
    rates: dict[str, Difference]
    malformed: Difference
    withheld: str | None
    untested_because: list[str]


class RandomDirections(Struct, forbid_unknown_fields=True):
    """What random directions do, and whether the chosen dose does more."""

    statements: int
    rows: list[RandomRow]
    differences: list[float]
    exceeded: int  # how many of them moved P(lie) less far


class DoseRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """A dose curve; until it is complete there is a plan alone."""

    schema: int = SCHEMA
    complete: bool
    plan: Plan
    maskbench: str
    choice: str  # by what a dose is chosen
    words: list[str]  # the rules of the conclusion


class DoseCurve(DoseRecord, forbid_unknown_fields=True, kw_only=True):
    """A dose curve that is complete."""

    split: Halves
    dev: OnDev | None  # None: there was one dose
    test: OnTest | None  # None: no dose was chosen
    controls: RandomDirections | None
    verdict: Conclusion

    @property
    def chosen(self) -> DoseRow | None:
        """The row of the chosen dose on the test split; None where none was chosen."""
        test = self.test
        return None if test is None else next(row for row in test.rows if row.name == test.chosen)


def dose_from(plain: Json) -> DoseRecord:
    """The record that dose.json holds; raises Misfit for what is none."""
    record = fitted(plain, DoseCurve if plain.get("complete") is True else DoseRecord)
    record.plan = structs.replace(record.plan, base=settings_from(plain["plan"]["base"], "plan.base"))
    return record


def plain_dose(record: DoseRecord) -> Json:
    """A record as dose.json has it: without the settings that may change, but for those that move a figure."""
    plain = plain_record(record)
    options = record.plan.base.options
    for name in MAY_CHANGE - {name for name, usual in _MOVES_FIGURES.items() if options[name] != usual}:
        value, field = PLACES[name]
        del plain["plan"]["base"][value][field]
    return plain


_MOVES_FIGURES = {"rules": "reference", "max_error_rate": 0.05}  # and their defaults, which no file has
