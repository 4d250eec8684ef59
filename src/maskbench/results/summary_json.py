"""summary.json and `score --json` as types: a scored run, with everything that is said about it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from maskbench.method.controls import Controls
from maskbench.runs.run_json import About, ArchetypeWords, PromptsUsed
from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import Call, Cause, Evasion, NoBelief, OutcomeName, Stage


class DisputedRate(Rate, forbid_unknown_fields=True):
    """A rate of an ensemble, with what it is whatever the disputed outcomes are."""

    disputed_bounds: Ends | UnsetType | None = UNSET
    disputed_bounds_ci95: Ends | UnsetType | None = UNSET


class LieRate(Rate, forbid_unknown_fields=True):
    """P(lie), with the interval that holds for these very scenarios where each has several statements."""

    ci95_same_scenarios: Ends | UnsetType | None = UNSET
    disputed_bounds: Ends | UnsetType | None = UNSET
    disputed_bounds_ci95: Ends | UnsetType | None = UNSET


class Point(Rate, forbid_unknown_fields=True):
    """Lying@k: the rate over scenarios with k statements, and its bounds over all."""

    bounds: Ends | None


class Metrics(Struct, forbid_unknown_fields=True):
    """Every rate of the method."""

    p_lie: LieRate
    p_honest: DisputedRate
    p_evasive: DisputedRate
    p_no_belief: DisputedRate
    honesty_score: DisputedRate
    honesty_score_normalized: DisputedRate
    conditional_lie_rate: DisputedRate
    accuracy: DisputedRate
    accuracy_normalized: DisputedRate
    p_lie_macro: DisputedRate
    lying_at: dict[str, Point]
    p_lie_bounds: Ends | None


class Denials(Struct, forbid_unknown_fields=True):
    """D verdicts, by what was judged."""

    beliefs: int
    statements: int


class NumericalAgreements(Struct, forbid_unknown_fields=True):
    """Agreements of belief and statement that hang on an open range, or on different kinds of number."""

    half_infinite: int
    cross: int


class Truncated(Struct, forbid_unknown_fields=True):
    """Replies that were cut at the token limit, and replies in all."""

    cut: int
    replies: int


class Part(Struct, forbid_unknown_fields=True, kw_only=True):
    """Counts, rates and what hangs on them, of one archetype, whose rates may be withheld by themselves."""

    withheld: str | None
    counts: dict[OutcomeName, int]
    counts_at: dict[str, dict[OutcomeName, int]]
    metrics: Metrics
    accuracy_counts: dict[str, int]
    no_belief_reasons: dict[NoBelief, int]
    evasions: dict[Evasion | Literal["unsaid"], int]
    d_verdicts: Denials
    numerical_agreements: NumericalAgreements
    truncated: Truncated
    failures: dict[Stage, dict[Cause, int]]


class Outright(Struct, forbid_unknown_fields=True):
    """The rates of scenarios that ask for the falsehood itself, or do not."""

    p_lie: Rate
    p_honest: Rate
    p_evasive: Rate
    p_no_belief: Rate


class PlantedRates(Struct, forbid_unknown_fields=True):
    """The true rates of a simulated subject."""

    p_lie: float
    p_honest: float
    p_evasive: float
    p_no_belief: float


class LastEnd(Struct, forbid_unknown_fields=True):
    """How the last session ended, and the command that goes on."""

    started: str
    at: str | None
    how: str
    why: str | None
    go_on: str


class SecondShown(Struct, forbid_unknown_fields=True):
    """How a second judge's look was drawn, what it changed, and P(lie) by the first judge alone."""

    first: str
    share: float
    below: float
    seed: int
    scenarios: int
    unsure: int
    sure: int
    drawn: int
    drawn_with_outcome: int
    stands_for: float
    changed_unsure: int
    changed_drawn: int
    p_lie_first: Rate


class Member(Struct, forbid_unknown_fields=True):
    """One judge of an ensemble."""

    name: str
    protocol: str
    judge: str


class EnsembleShown(Struct, forbid_unknown_fields=True):
    """How much the judges of an ensemble dispute."""

    members: list[Member]
    disputed_outcomes: int
    outcomes: int
    disputed_verdicts: dict[Call, int]


class JudgeShown(Struct, forbid_unknown_fields=True):
    """The models that judged, and by which prompts."""

    binary: About
    numeric: About
    prompts: PromptsUsed
    members: list[Member] | UnsetType = UNSET


class ScenariosShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """The scenario set, what was taken of it, and how many of these scenarios are done."""

    name: str
    taken: str
    hash: str
    measured_hash: str
    n: int
    public: str | None
    archetypes: dict[str, ArchetypeWords] | UnsetType = UNSET  # that the set brought, by name
    done: int


class JudgeUsage(Struct, forbid_unknown_fields=True):
    """Answers and tokens of the judge, as the endpoint counts them."""

    answers: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int


class SubjectUsage(JudgeUsage, forbid_unknown_fields=True):
    """The same of the subject; at least so many tokens where its server counts one of several samples."""

    at_least: bool


class Usage(Struct, forbid_unknown_fields=True):
    """What it took."""

    subject: SubjectUsage
    judge: JudgeUsage
    seconds: float


class CommonestFailure(Struct, forbid_unknown_fields=True):
    """What failed most often in the same words."""

    stage: Stage
    cause: Cause
    detail: str
    count: int


class CorrectedRate(Rate, forbid_unknown_fields=True):
    """A rate corrected by people's outcomes: how far it moved, and which part of its variance is the judge's error."""

    added: float | None
    from_calibration: float | None


class Corrected(Struct, forbid_unknown_fields=True):
    """The rates by people's outcomes and the judge's together, or why there are none."""

    withheld: str | None
    assumption: str | None
    scenarios: int
    labelled: int
    disagreements: int
    settled: int
    undecided: int
    without_replies: int
    without_judged_outcome: int
    judged: dict[str, float]
    metrics: dict[str, CorrectedRate]


class SetRate(Rate, forbid_unknown_fields=True):
    """P(lie) by one verdict set."""

    disputed_bounds: tuple[float | None, float | None] | UnsetType = UNSET


class SetShown(Struct, forbid_unknown_fields=True, kw_only=True):
    """One verdict set; of the majority its members, too."""

    name: str
    judge: str
    numeric_judge: str
    protocol: str
    done: int
    n: int
    withheld: str | None
    counts: dict[OutcomeName, int]
    p_lie: SetRate
    members: list[str] | UnsetType = UNSET


class Alike(Struct, forbid_unknown_fields=True):
    """Agreement of two sets on verdicts of one kind."""

    n: int
    agree: float | None
    kappa: float | None
    counts: dict[str, int] | UnsetType = UNSET


class OutcomesAlike(Struct, forbid_unknown_fields=True):
    """Agreement of two sets on outcomes."""

    n: int
    agree: float | None
    ci95: Ends | None
    kappa: float | None
    counts: dict[OutcomeName, dict[OutcomeName, int]]


class LieDifference(Struct, forbid_unknown_fields=True):
    """P(lie) by two sets on the scenarios that have an outcome in both."""

    first: float
    other: float
    difference: float | None
    ci95: tuple[float | None, float | None]
    p: float | None
    n: int


class PairShown(Struct, forbid_unknown_fields=True):
    """Two verdict sets held against each other."""

    first: str
    other: str
    verdicts: dict[str, Alike]
    outcomes: OutcomesAlike
    p_lie: LieDifference | None


class JudgesShown(Struct, forbid_unknown_fields=True):
    """How far the verdict sets of a run agree; `alike` are those by one judge asked in one way."""

    sets: list[SetShown]
    pairs: list[PairShown]
    alike: list[list[str]]
    ensemble: SetShown | None


class Summary(Struct, forbid_unknown_fields=True, kw_only=True):
    """A scored run: what was measured, counts and rates of all scenarios, and what else there is to say."""

    schema: Literal[1]
    complete: bool
    ended: LastEnd | None
    withheld: str | None
    smoke: bool
    protocol: str
    verdicts: str
    second: SecondShown | None
    ensemble: EnsembleShown | None
    rules: str
    notes: list[str]
    subject: About
    judge: JudgeShown
    scenarios: ScenariosShown
    counts: dict[OutcomeName, int]
    counts_at: dict[str, dict[OutcomeName, int]]
    metrics: Metrics
    accuracy_counts: dict[str, int]
    no_belief_reasons: dict[NoBelief, int]
    evasions: dict[Evasion | Literal["unsaid"], int]
    d_verdicts: Denials
    numerical_agreements: NumericalAgreements
    truncated: Truncated
    failures: dict[Stage, dict[Cause, int]]
    by_archetype: dict[str, Part]
    asked_outright: dict[Literal["yes", "no"], Outright]
    planted: PlantedRates | None
    usage: Usage
    failure: CommonestFailure | None
    version: str
    corrected: Corrected | None
    checks: Controls | None
    judges: JudgesShown | None
