"""A scored run as one object, for Python and for every command that reads runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as with_parts

from maskbench.errors import UsageError
from maskbench.method.rates import Table, error_share, tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.calibration import LabelsReader, RatesBy, wanted_rates
from maskbench.results.frames import need_polars
from maskbench.results.people.labelled_outcomes import Label
from maskbench.results.reader import Reader, Readers
from maskbench.results.readers import CutReader, JudgesReader, readers_of
from maskbench.results.splits import LabelledRows, Split
from maskbench.results.summary import Background, Summary, flat_metrics, summarise
from maskbench.scenarios import Key, digest
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.store.record import About, Record
from maskbench.store.verdict_sets import JudgeShown, OpenRun, Readable, VerdictSet, reading
from maskbench.types import Archetype, Json, OutcomeName, Scored

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A run scored under one rule set.

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
        return wanted_rates(self.summary.rates, self.summary.of(LabelsReader), self.rates_by)[0]

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
        """The summary as `maskbench score --json` prints it."""
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
    are done, in the run's order, `digests` what each is told by, and `set_name` what all are told by where there are no
    texts; a run that was read to stand alone has no digests either. The run has `wanted` scenarios, and `go_on` says
    what to do where it lacks some. The `readers` have seen every scenario.
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
    digests: Mapping[Key, bytes]
    set_name: str
    wanted: int
    go_on: str
    readers: Readers
    public: str | None = None  # the public set that all scenarios are of
    judged_between: tuple[float, float] | None = None  # when the first and the last verdict on a statement came

    @property
    def complete(self) -> bool:
        """Whether every scenario is done."""
        return len(self.scored) == self.wanted

    def shares(self, key: Key, other: ScoredRun) -> bool:
        """Whether the scenario of this key, which both have, is the same in both."""
        ours, theirs = self.digests.get(key), other.digests.get(key)
        return self.set_name == other.set_name if ours is None or theirs is None else ours == theirs

    @property
    def labels(self) -> Mapping[Key, Label]:
        """People's outcomes of a sample."""
        return self.readers.of(LabelsReader).labels

    def labelled(self, labels: Mapping[Key, Label]) -> ScoredRun:
        """The same run with these outcomes by people."""
        others = (each.by(labels) if isinstance(each, LabelsReader) else each for each in self.readers)
        return replace(self, readers=Readers(others))


def read(
    run: Readable, rules: RuleSet, verdicts: str | None = None, *more: Reader[Any, Any], alone: bool = False
) -> ScoredRun:
    """Read a run once: score each scenario that is done, and show it to all readers, to these after the usual ones.

    A run that is read to stand `alone` is held against no other, and nothing is made to tell its scenarios by. Raises
    RunUnreadable where there is no run, UnknownVerdicts and UsageError for verdicts that there are not.
    """
    with reading(run) as opened:
        judged = opened.verdicts(verdicts)
        rules = judged.rules_here(rules)
        readers = Readers((*readers_of(opened, judged, rules), *more))
        sees, digests, scored = readers.sees, dict[Key, bytes](), dict[Key, Scored]()
        told_apart = not (alone or opened.record.without_texts)
        for done in judged.read(rules):
            scored[done.key] = done.scored
            if told_apart:
                digests[done.key] = digest(done.scenario)
            for see in sees:
                see(done)
        return ScoredRun(
            opened.folder.path,
            opened.record,
            judged.settings,
            rules,
            judged.name,
            judged.protocol,
            judged.judge,
            judged.scored(rules),
            scored,
            digests,
            opened.set_name,
            opened.store.count(),
            judged.go_on(opened.folder.path),
            readers,
            opened.public,
            opened.store.judged_between(judged.name),
        )


def split_by(run: OpenRun, label: str, rules: str | None = None, verdicts: str | None = None) -> tuple[Summary, Split]:
    """The summary of a run, and its rates by a label of its rows.

    Raises UsageError where no row has the label, and for what `score` refuses.
    """
    rows = LabelledRows(label)
    this = read(run, named(rules or run.settings.design.rules), verdicts, rows, alone=True)
    if not any(rows.values.values()):
        raise UsageError(
            f"{this.path}: no row of {this.record.scenarios.name} has the label {label}. The public scenarios of "
            f"cais/MASK have it; rows of your own can have a column {label}."
        )
    return summarised(run, this), rows.split(this.rows, this.settings)


def score(run: Readable, rules: str | None = None, verdicts: str | None = None, *, judges: bool = True) -> Result:
    """Score a run from its stored verdicts, under its own rule set and verdict set or others; asks no model.

    `run` is a run's folder; `judges` says whether its verdict sets are to be held against each other. Raises
    RunUnreadable where it holds no run, UsageError for an unknown rule set or verdict set.
    """
    with reading(run) as opened:
        this = read(opened, named(rules or opened.settings.design.rules), verdicts, alone=True)
        return result_of(opened, this, judges=judges)


def result_of(run: OpenRun, this: ScoredRun, *, judges: bool = True) -> Result:
    """The result of a run that is read already, and still open; `judges` as for `score`."""
    summary = summarised(run, this, judges=judges)
    cut = this.readers.of(CutReader).share
    return Result(this.path, this.record.created, summary, this.settings, this.rows, cut, this.labels)


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
        this = read(opened, named(rules or opened.settings.design.rules), verdicts, alone=True)
        this = this if labels is None else this.labelled(labels)
        return summarised(opened, this, judges=judges)


def summarised(run: OpenRun, this: ScoredRun, *, judges: bool = True) -> Summary:
    """The summary of a run that is read already, and still open; `judges` as for `result`."""
    judged = run.verdicts(this.verdicts)
    readers = Readers(each for each in this.readers if judges or not isinstance(each, JudgesReader))
    summary = summarise(this.rows, this.settings, this.rules, _background(run, judged), readers)
    summary.notes += [*run.store.marks.notes(), *_absent_texts(this.record)]
    return summary


def _absent_texts(record: Record) -> list[str]:
    """What is to be known of a run without its texts."""
    is_told = record.imported is not None and "texts" in record.imported.absent
    if is_told or not record.without_texts:
        return []
    return ["This folder holds the verdicts of a run and none of its texts."]


def _background(run: OpenRun, judged: VerdictSet) -> Background:
    """What the scenarios of a run cannot tell of it."""
    subject = About(run.record.models.subject | run.store.answered_by(judged.name, ["subject"])["subject"])
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
