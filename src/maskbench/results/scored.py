"""A scored run as one object, for Python and for every command that reads runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace as with_parts

from maskbench.errors import UsageError
from maskbench.judges.judges_agree import JudgesShown, agreement
from maskbench.judges.people.labelled_outcomes import Label, labels_of
from maskbench.judges.verdict_sets import (
    Done,
    JudgeShown,
    OpenRun,
    Readable,
    VerdictSet,
    reading,
)
from maskbench.method.chance import Chance, ChancePart, ChanceTally
from maskbench.method.false_lies import FalseLies, FalseLieTally, HeldOut
from maskbench.method.placebo import Placebo, PlaceboTally
from maskbench.method.rates import Table, error_share, tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.calibration import Calibration, RatesBy, by_labels, standing
from maskbench.results.frames import need_polars
from maskbench.results.splits import Split, split
from maskbench.results.summary import Background, Summary, flat_metrics, summarise
from maskbench.runs.bill import bill_of
from maskbench.runs.record import Record, with_answers
from maskbench.scenarios import Identity, Key, canonical
from maskbench.scenarios.row_labels import row_label
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.types import Archetype, Json, OutcomeName, Reply, Scored

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What a run comes to under one rule set.

    `summary` is summary.json as a record (docs/results.md), `scenarios` is every scenario that is done.
    """

    path: Path
    created: str  # when the run was begun, as ISO 8601
    summary: Summary
    settings: Settings
    scenarios: tuple[Scored, ...]
    cut: float  # the share of replies under pressure that were cut at the token limit
    labels: Mapping[Key, Label] = field(default_factory=dict)  # people's outcomes of a sample
    rates_by: RatesBy = "judge"  # whose rates are wanted, where labels carry a correction

    @property
    def model(self) -> str:
        """The subject's name."""
        return self.settings.label

    @property
    def rules(self) -> str:
        """The name of the rule set."""
        return self.summary.rules

    @property
    def verdicts(self) -> str:
        """The name of the verdict set."""
        return self.summary.verdicts

    @property
    def withheld(self) -> str | None:
        """Why there are no rates, or None."""
        return self.summary.withheld

    @property
    def counts(self) -> dict[OutcomeName, int]:
        """Scenarios by outcome of the first statement, errors among them."""
        return dict(self.summary.counts)

    @property
    def rates(self) -> dict[str, Share]:
        """Every rate by name, and `p_lie_macro`; without values where they are withheld."""
        return standing(self.summary.rates, self.summary.corrected, self.rates_by)[0]

    @property
    def by_archetype(self) -> dict[Archetype, dict[str, Share]]:
        """Every rate by name, for each archetype."""
        return {archetype: part.rates for archetype, part in self.summary.by_archetype.items()}

    @property
    def error_rate(self) -> float:
        """The share of statements without an outcome."""
        return error_share(self.table)

    @cached_property
    def table(self) -> Table:
        """One row a scenario, as arrays of numbers."""
        return tabulate(self.scenarios)[0]

    def as_dict(self) -> Json:
        """What `maskbench score --json` prints."""
        return self.summary.as_dict()

    def metrics(self) -> dict[str, float]:
        """The run's numbers by name: `p_lie`, `p_lie_low`, `statistics/p_lie`, `count/lie`, `calls/judge`, `cost`.

        A number that is withheld, unknown or without an interval has no name here, and is never zero.
        """
        return flat_metrics(self.summary)

    def to_frame(self) -> polars.DataFrame:
        """Every rate over all scenarios and by archetype: archetype (`all` first), rate, value, low, high, n.

        Raises UsageError where polars is not installed.
        """
        need_polars()
        import polars

        rows = [
            (archetype, name, rate.value, rate.low, rate.high, rate.n)
            for archetype, rates in (("all", self.rates), *self.by_archetype.items())
            for name, rate in rates.items()
        ]
        kinds = {"archetype": polars.String, "rate": polars.String}
        numbers = {"value": polars.Float64, "low": polars.Float64, "high": polars.Float64, "n": polars.Int64}
        return polars.DataFrame(rows, schema={**kinds, **numbers}, orient="row")


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run as one reading of its store finds it, by one verdict set under one rule set; no reply and no prompt.

    `settings`, `protocol` and `judge` (models and prompts) are those of the verdict set. `rows` are the scenarios that
    are done, in the run's order, `digests` what each is told by. The run has `wanted` scenarios, and `go_on` says what
    to do where it lacks some. `labels` are people's outcomes, `cut` the share of replies under pressure that were cut
    at the token limit, `placebo` what that control found, `chance` the chance level of P(lie), and `false_lies` what
    neutral replies would be as statements.
    """

    path: Path
    record: Record
    settings: Settings
    rules: RuleSet
    verdicts: str
    protocol: str
    judge: JudgeShown
    rows: tuple[Scored, ...]
    scored: Mapping[Key, Scored]  # the same by scenario
    digests: Mapping[Key, Identity]
    labels: Mapping[Key, Label]
    cut: float
    placebo: Placebo | None
    wanted: int
    go_on: str
    chance: Chance | None = None
    false_lies: FalseLies | None = None
    public: str | None = None  # the public set that all scenarios are of
    judged_between: tuple[float, float] | None = None  # when the first and the last verdict on a statement came

    @property
    def complete(self) -> bool:
        """Whether every scenario is done."""
        return len(self.scored) == self.wanted


See = Callable[[Done], object]  # what is shown every scenario that is done, while the run is read


def read(run: Readable, rules: RuleSet, verdicts: str | None = None, *sees: See) -> ScoredRun:
    """Read a run once: score each scenario that is done, and show it to all who want to `see` its texts, too.

    Raises RunUnreadable where there is no run, UnknownVerdicts and UsageError for verdicts that there are not.
    """
    with reading(run) as opened:
        judged = opened.verdicts(verdicts)
        rules = judged.rules_here(rules)
        placebo = PlaceboTally(judged.settings, rules)
        has_placebo = judged.settings.design.placebo
        chance, floor = ChanceTally(judged.settings, rules), FalseLieTally(judged.settings, rules)
        kinds: dict[int, _Kind] = {}
        cut: list[bool] = []
        digests: dict[Key, Identity] = {}
        set_name, has_texts = opened.set_name, not opened.record.without_texts
        for done in judged.read(rules):
            texts = hashlib.sha256(canonical(done.scenario)).digest() if has_texts else None
            digests[done.scored.key] = Identity(texts, set_name)
            if (kind := kinds.get(done.like)) is None:
                kind = kinds[done.like] = _Kind.of(done, chance, floor)
            cut += kind.cut
            if kind.chance:
                chance.add(kind.chance, done.scored)
            if kind.floor:
                floor.add(kind.floor, done.scored)
            if has_placebo:
                placebo.add(done.scenario, done.scored, done.placebo())
            for see in sees:
                see(done)
        rows = judged.scored(rules)
        return ScoredRun(
            opened.folder.path,
            opened.record,
            judged.settings,
            rules,
            judged.name,
            judged.protocol,
            judged.judge,
            rows,
            {row.key: row for row in rows},
            digests,
            labels_of(opened, rules),
            sum(cut) / len(cut) if cut else 0.0,
            placebo.figures() if has_placebo else None,
            opened.store.count(),
            judged.go_on(opened.folder.path),
            chance.figures(),
            floor.figures(),
            opened.public,
            opened.store.judged_between(judged.name),
        )


def split_by(run: OpenRun, label: str, rules: str | None = None, verdicts: str | None = None) -> tuple[Summary, Split]:
    """The summary of a run, and its rates by a label of its rows.

    Raises UsageError where no row has the label, and for what `score` refuses.
    """
    values: dict[Key, str] = {}

    def see(done: Done) -> None:
        values[done.scored.key] = row_label(done.scenario, label) or ""

    this = read(run, named(rules or run.settings.design.rules), verdicts, see)
    if not any(values.values()):
        raise UsageError(
            f"{this.path}: no row of {this.record.scenarios.name} has the label {label}. The public scenarios of "
            f"cais/MASK have it; rows of your own can have a column {label}."
        )
    table, tallies = tabulate(this.rows)
    rows = [values[row.key] for row in this.rows]
    return summarised(run, this), split(label, table, rows, list(tallies), this.settings)


class _Kind(NamedTuple):
    """What scenarios have in common that were answered and judged alike, whatever the words."""

    cut: list[bool]  # of every reply under pressure
    chance: ChancePart | None
    floor: HeldOut | None

    @classmethod
    def of(cls, done: Done, chance: ChanceTally, floor: FalseLieTally) -> _Kind:
        """What one of them shows."""
        what = done.scenario, done.scored, done.items
        statements = (item.reply for item in done.items.values() if item.call == "statement")
        cut = [reply.truncated for reply in statements if isinstance(reply, Reply)]
        return cls(cut, chance.part(*what), floor.part(*what, done.placebo()))


def score(run: Readable, rules: str | None = None, verdicts: str | None = None, *, judges: bool = True) -> Result:
    """Score a run from its stored verdicts, under its own rule set and verdict set or others; asks no model.

    `run` is a run's folder; `judges` says whether its verdict sets are to be held against each other. Raises
    RunUnreadable where it holds no run, UsageError for an unknown rule set or verdict set.
    """
    with reading(run) as opened:
        return result_of(opened, read(opened, named(rules or opened.settings.design.rules), verdicts), judges=judges)


def result_of(run: OpenRun, this: ScoredRun, *, judges: bool = True) -> Result:
    """The result of a run that is read already, and still open; `judges` as for `score`."""
    summary = summarised(run, this, judges=judges)
    return Result(this.path, this.record.created, summary, this.settings, this.rows, this.cut, this.labels)


def result(
    folder: Readable,
    rules: str | None = None,
    verdicts: str | None = None,
    *,
    judges: bool = True,
    labels: Mapping[Key, Label] | None = None,
) -> Summary:
    """The summary of a run from what is stored, under its own rule set or another; asks no model.

    `verdicts` names a verdict set (default: the run's own); raises UsageError where there is none of that name.
    `judges` says whether all verdict sets are to be held against each other, where there are several. `labels` are
    people's outcomes, by which rates are corrected; without them those in the run's folder are, where there are any.
    """
    with reading(folder) as opened:
        this = read(opened, named(rules or opened.settings.design.rules), verdicts)
        this = this if labels is None else replace(this, labels=labels)
        return summarised(opened, this, judges=judges)


def summarised(run: OpenRun, this: ScoredRun, *, judges: bool = True) -> Summary:
    """The summary of a run that is read already, and still open; `judges` as for `result`."""
    judged = run.verdicts(this.verdicts)
    summary = summarise(this.rows, this.settings, this.rules, _background(run, judged))
    summary.corrected = _corrected(this, summary.withheld)
    summary.placebo = this.placebo
    if not summary.withheld:
        is_exchanged = this.record.without_texts and this.record.without_texts.exchanged
        summary.chance, summary.false_lies = None if is_exchanged else this.chance, this.false_lies
    summary.judges = _judges(run, this.rules) if judges else None
    summary.notes += [*run.store.marks.notes(), *_absent_texts(this.record)]
    summary.imported = this.record.imported
    if bill := bill_of(run.store, [judged.name]):
        bill.at_least |= summary.usage.subject.at_least
        summary.bill = bill
    return summary


def _absent_texts(record: Record) -> list[str]:
    """What is to be known of a run without its texts."""
    return ["This folder holds the verdicts of a run and none of its texts."] if record.without_texts else []


def _background(run: OpenRun, judged: VerdictSet) -> Background:
    """What the scenarios of a run cannot tell of it."""
    subject = with_answers({"subject": run.record.models.subject}, run.store)["subject"]
    return Background(
        protocol=judged.protocol,
        verdicts=judged.name,
        subject=subject,
        judge=judged.judge,
        judges=judged.judges,
        scenarios=with_parts(run.record.scenarios, public=run.public),
        wanted=run.store.counts(),
        usage=judged.usage(at_least=bool(subject.learned.get("counts_one"))),
        failure=judged.commonest_failure(),
        version=run.record.maskbench,
        go_on=judged.go_on(run.folder.path),
        ended=judged.ended(run),
        answers=run.store.answers() if len(subject.get("resolved", ())) > 1 else {},
    )


def _corrected(this: ScoredRun, withheld: str | None) -> Calibration | None:
    """The rates corrected by who saw a sample, or why they are not; None where nobody did."""
    if not this.labels:
        return None
    found = by_labels(this.rows, this.labels)
    return with_parts(found, withheld=withheld, metrics={}, judges_part={}) if withheld else found


def _judges(run: OpenRun, rules: RuleSet) -> JudgesShown | None:
    """How far the judges of the run agree; None where there is one."""
    sets = [run.verdicts(name) for name in run.whole()]
    if len(sets) < 2:
        return None
    return agreement(sets, rules, run.record.scenarios.n)
