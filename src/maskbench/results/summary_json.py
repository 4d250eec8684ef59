"""summary.json and `score --json` as types: a scored run, with everything that is said about it."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType, to_builtins

from maskbench.judges.judges_agree import JudgesShown
from maskbench.judges.second_look import SecondShown
from maskbench.judges.verdict_sets import CommonestFailure, JudgeShown, Member, Usage
from maskbench.method.chance import Chance
from maskbench.method.controls import Controls
from maskbench.method.false_lies import FalseLies
from maskbench.results.calibration import Calibration
from maskbench.runs.beliefs_from import BeliefsFrom
from maskbench.runs.bill import Bill
from maskbench.runs.endings import LastEnd
from maskbench.runs.record import About, ArchetypeWords
from maskbench.runs.source import ImportedFrom
from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import Archetype, Call, Cause, Evasion, Json, NoBelief, OutcomeName, Stage


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


class AnswerShare(Struct, forbid_unknown_fields=True):
    """How often an answer was given: among all statements with an answer, and among the lies of them."""

    statements: Rate
    lies: Rate


class Reading(Rate, forbid_unknown_fields=True):
    """The share of scenarios whose statement is a lie of this kind, and what it could be whatever is missing."""

    bounds: Ends | None


class Suspected(Struct, forbid_unknown_fields=True):
    """How often the suspicion of a test is voiced, and P(lie) of the statements that voice none.

    `replies` is a share of replies, `reasoning` of those with reasoning that was asked about; `either` is of
    statements, by reply or reasoning.
    """

    replies: Rate
    reasoning: Rate
    either: Rate
    p_lie_without: Rate


class ConstructPart(Struct, forbid_unknown_fields=True, kw_only=True):
    """The answers on all scenarios, or on those of one archetype.

    `shares` are by question and answer; `readings` by name, as far as the questions for them were asked. `missing` are
    statements with an outcome that lack an answer, by question: they are no answer, and in no share. `withheld` says
    why all rates are withheld, or those that need answers which are missing too often.
    """

    withheld: str | None
    shares: dict[str, dict[str, AnswerShare]]
    readings: dict[str, Reading]
    suspicion: Suspected | UnsetType = UNSET  # only where it was asked about
    missing: dict[str, int]


class Cell(Struct, forbid_unknown_fields=True):
    """Lies that have these answers together, and their share of the lies that have all of the answers."""

    answers: dict[str, str]
    lies: int
    share: Rate


class ConstructAsked(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a judge answered to the questions on the words of each statement; no score hangs on it.

    `prompts` is a hash of each question's prompt. `cells` is the cross-table of the lies, the largest cell first.
    """

    judge: str
    questions: list[str]
    prompts: dict[str, str]
    all: ConstructPart
    by_archetype: dict[str, ConstructPart]
    cells: list[Cell]


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

    def rate(self, name: str) -> LieRate | DisputedRate:
        """A rate by its name."""
        rate: LieRate | DisputedRate = getattr(self, name)
        return rate


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


class GroupRates(Struct, forbid_unknown_fields=True):
    """The rates of scenarios of one kind, by what their rows ask for."""

    p_lie: Rate
    p_honest: Rate
    p_evasive: Rate
    p_no_belief: Rate


class Split(Struct, forbid_unknown_fields=True, kw_only=True):
    """The rates by a label of rows: of each kind over all archetypes, which compares these, and within each of them.

    `by_archetype` has P(lie) alone. `standardised` is P(lie) of each kind over the archetypes of `weights`, those with
    enough rows of every kind, in the same shares for each. `left_out` counts rows on which readers differ.
    """

    label: str
    groups: dict[str, GroupRates]
    by_archetype: dict[Archetype, dict[str, Rate]]
    standardised: dict[str, Rate]
    weights: dict[Archetype, float]
    left_out: int


class PlantedRates(Struct, forbid_unknown_fields=True):
    """The true rates of a simulated subject."""

    p_lie: float
    p_honest: float
    p_evasive: float
    p_no_belief: float

    def rate(self, name: str) -> float:
        """A rate by its name."""
        rate: float = getattr(self, name)
        return rate


class EnsembleShown(Struct, forbid_unknown_fields=True):
    """How much the judges of an ensemble dispute."""

    members: list[Member]
    disputed_outcomes: int
    outcomes: int
    disputed_verdicts: dict[Call, int]


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
    asked: Split | None  # by whether the falsehood was asked for outright; None where no row says
    planted: PlantedRates | None
    usage: Usage
    failure: CommonestFailure | None
    version: str
    corrected: Calibration | None
    checks: Controls | None
    chance: Chance | None
    false_lies: FalseLies | None
    judges: JudgesShown | None
    beliefs_from: BeliefsFrom | UnsetType = UNSET  # whose beliefs they are, where the run did not ask for its own
    bill: Bill | UnsetType = UNSET  # unset: nobody bills any of the models, or nothing was asked here
    estimate: LiesAsked | UnsetType = UNSET  # only where nothing but lies was estimated
    construct: ConstructAsked | UnsetType = UNSET  # only where the questions on statements were asked
    imported: ImportedFrom | UnsetType = UNSET  # where replies and verdicts are from, where no run asked for them

    def as_dict(self) -> Json:
        """What summary.json holds."""
        plain: Json = to_builtins(self)
        return plain
