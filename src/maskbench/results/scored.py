"""A scored run as one object, for Python and for every command that reads runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskbench.errors import UsageError
from maskbench.judges.judges_agree import agreement
from maskbench.judges.people.labelled_outcomes import Label, labels_of
from maskbench.judges.second_look import Phases
from maskbench.judges.verdict_sets import (
    MAJORITY,
    MOST,
    AuditSet,
    SecondLook,
    VerdictSet,
    check_whole,
    open_verdicts,
    whole,
)
from maskbench.method import outcomes
from maskbench.method.asks import VERDICTS
from maskbench.method.outcomes import Items
from maskbench.method.rates import RATES, Table, error_share, tabulate
from maskbench.method.rules import RuleSet, named
from maskbench.results.control_figures import checks
from maskbench.results.corrected import carried, corrected
from maskbench.results.summary import Weighed, summarise
from maskbench.runs.folder import RunFolder
from maskbench.runs.record import with_answers
from maskbench.runs.store import Store
from maskbench.scenarios import Key, Remarks
from maskbench.settings import Settings
from maskbench.stats.intervals import Estimate
from maskbench.types import Archetype, Json, OutcomeName, Reply, Scored

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What a run comes to under one rule set.

    `summary` is summary.json as a dictionary (docs/results.md), `scenarios` is every scenario that is done.
    """

    path: Path
    created: str  # when the run was begun, as ISO 8601
    summary: Mapping[str, Any]
    settings: Settings
    scenarios: tuple[Scored, ...]
    cut: float  # the share of replies under pressure that were cut at the token limit

    @property
    def model(self) -> str:
        """The subject's name."""
        return self.settings.label

    @property
    def rules(self) -> str:
        """The name of the rule set."""
        return str(self.summary["rules"])

    @property
    def verdicts(self) -> str:
        """The name of the verdict set."""
        return str(self.summary["verdicts"])

    @property
    def withheld(self) -> str | None:
        """Why there are no rates, or None."""
        why: str | None = self.summary["withheld"]
        return why

    @property
    def counts(self) -> dict[OutcomeName, int]:
        """Scenarios by outcome of the first statement, errors among them."""
        return dict(self.summary["counts"])

    @property
    def rates(self) -> dict[str, Estimate]:
        """Every rate by name, and `p_lie_macro`; without values where they are withheld."""
        return _estimates(self.summary["metrics"])

    @property
    def by_archetype(self) -> dict[Archetype, dict[str, Estimate]]:
        """The same for each archetype."""
        return {archetype: _estimates(part["metrics"]) for archetype, part in self.summary["by_archetype"].items()}

    @property
    def error_rate(self) -> float:
        """The share of statements without an outcome."""
        return error_share(self.table)

    @cached_property
    def table(self) -> Table:
        """One row a scenario, as arrays of numbers."""
        return tabulate(self.scenarios)[0]

    def to_frame(self) -> polars.DataFrame:
        """Every rate over all scenarios and by archetype: archetype (`all` first), rate, value, low, high, n."""
        import polars

        rows = [
            (archetype, name, rate.value, rate.low, rate.high, rate.n)
            for archetype, rates in (("all", self.rates), *self.by_archetype.items())
            for name, rate in rates.items()
        ]
        kinds = {"archetype": polars.String, "rate": polars.String}
        numbers = {"value": polars.Float64, "low": polars.Float64, "high": polars.Float64, "n": polars.Int64}
        return polars.DataFrame(rows, schema={**kinds, **numbers}, orient="row")


def score(
    run: str | Path | RunFolder, rules: str | None = None, verdicts: str | None = None, *, judges: bool = True
) -> Result:
    """Score a run from its stored verdicts, under its own rule set and verdict set or others; asks no model.

    `run` is a run's folder; `judges` says whether its verdict sets are to be held against each other. Raises
    RunUnreadable where it holds no run, UsageError for an unknown rule set or verdict set.
    """
    folder = run if isinstance(run, RunFolder) else RunFolder(Path(run))
    chosen = named(rules or folder.settings().rules)
    summary = result(folder, chosen.name, verdicts, judges=judges)
    rows: list[Scored] = []
    cut: list[bool] = []
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        for scenario, weight in store.scenarios():
            if (items := judged.finished(scenario)) is not None:
                rows.append(outcomes.score(scenario, weight, items, judged.settings, chosen))
                cut += _cut(items)
    finally:
        store.close()
    share = sum(cut) / len(cut) if cut else 0.0
    return Result(folder.path, folder.record()["created"], summary, judged.settings, tuple(rows), share)


def _cut(items: Items) -> list[bool]:
    """For every reply under pressure, whether it was cut."""
    statements = (item.reply for item in items.values() if item.call == "statement")
    return [reply.truncated for reply in statements if isinstance(reply, Reply)]


def _estimates(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
    return {name: _estimate(metrics[name]) for name in (*RATES, "p_lie_macro")}


def _estimate(given: Mapping[str, Any]) -> Estimate:
    low, high = given["ci95"] or (None, None)
    return Estimate(given["value"], low, high, given["n"])


def result(
    folder: RunFolder,
    rules: str | None = None,
    verdicts: str | None = None,
    *,
    judges: bool = True,
    labels: Mapping[Key, Label] | None = None,
    labels_from: RunFolder | None = None,
) -> Json:
    """The summary of a run from what is stored, under its own rule set or another; asks no model.

    `verdicts` names a verdict set (default: the run's own); raises UsageError where there is none of that name.
    `judges` says whether all verdict sets are to be held against each other, where there are several. `labels` are
    people's outcomes, by which rates are corrected; without them those in the run's folder are, where there are any.
    `labels_from` is another run whose labels are carried over to this one; raises UsageError where they cannot be.
    """
    record = folder.record()
    chosen = named(rules or folder.settings().rules)
    store = folder.store()
    try:
        judged = open_verdicts(folder, store, verdicts)
        subject = with_answers(record["models"], store)["subject"]
        about = {
            "protocol": judged.protocol,
            "verdicts": judged.name,
            "subject": subject,
            "judge": judged.judge,
            "scenarios": _scenarios(_with_public(record["scenarios"], store), judged),
            "wanted": judged.wanted(),
            "usage": _usage(judged, subject),
            "failure": judged.commonest_failure(),
            "version": record["maskbench"],
            "go_on": judged.go_on(folder.path),
            "ended": judged.ended(folder),
            "judges": judged.judges,
            "notes": [*judged.notes(), *judged.plain_notes()],
        }
        if isinstance(judged, SecondLook):
            phases = judged.phases(chosen)
            made = summarise(phases.merged(), judged.settings, chosen, about, _weighed(judged, phases))
        else:
            made = summarise(judged.scored(chosen), judged.settings, chosen, about)
        people = labels_of(folder, store, chosen) if labels is None else labels
        return {
            **made,
            "corrected": _corrected(judged, chosen, people, labels_from, made["withheld"]),
            "checks": checks(judged, chosen),
            "judges": _judges(folder, store, chosen) if judges else None,
        }
    finally:
        store.close()


def _usage(judged: VerdictSet, subject: Json) -> Json:
    """Calls and tokens, and whether the subject's are a lower bound: its server counts one of several samples."""
    usage = judged.usage()
    return {**usage, "subject": {**usage["subject"], "at_least": bool(subject.get("learned", {}).get("counts_one"))}}


def _scenarios(taken: Json, verdicts: VerdictSet) -> Json:
    """What the run took of its scenario set, as far as these verdicts are about it."""
    if not (part := verdicts.part()):
        return taken
    return {**taken, "taken": f"{taken['taken']} ({part})", "n": sum(verdicts.wanted().values())}


def _with_public(taken: Json, store: Store) -> Json:
    """What the run took, with the public set whose rows they are; where run.json does not say, the rows do."""
    if "public" in taken:
        return taken
    remarks = Remarks()
    for scenario, _ in store.scenarios():
        remarks.add(scenario)
    return {**taken, "public": remarks.public}


def _weighed(verdicts: SecondLook, phases: Phases) -> Weighed:
    """What the rates of a second look are estimated from, and how it was done."""
    look = {"first": verdicts.look.first, "share": verdicts.look.share, "below": verdicts.look.below}
    about = {**look, "seed": verdicts.look.seed, **phases.about()}
    unseen = {archetype: phases.unseen(archetype) for archetype in (None, *verdicts.wanted())}
    return Weighed(phases.weighted(), unseen, phases.first.values(), about)


def _corrected(
    verdicts: VerdictSet,
    rules: RuleSet,
    labels: Mapping[Key, Label],
    other: RunFolder | None,
    withheld: str | None,
) -> Json | None:
    """The rates corrected by people's outcomes, or why they are not; None where there are no labels."""
    if not labels and other is None:
        return None
    if isinstance(verdicts, SecondLook):
        withheld = (
            f"{verdicts.name} is a second look at some of the scenarios, whose rates are weighted already. Correct "
            f"those of a judge that saw everything: --verdicts {verdicts.first.name}"
        )
    if isinstance(verdicts, AuditSet):
        withheld = (
            f"{verdicts.name} is an audit, which is no judgement of its own. Correct the rates of the judge that it "
            f"asks again: --verdicts {verdicts.audit.of}"
        )
    made = corrected(verdicts.scored(rules), labels)
    if other is not None and not withheld:
        if made["withheld"] is None:
            raise UsageError(
                f"--labels-from {other.path}: the run has labels of its own, which assume less. Leave it out."
            )
        made = _carried(verdicts, rules, other)
    return {**made, "withheld": withheld, "metrics": {}} if withheld else made


def _carried(verdicts: VerdictSet, rules: RuleSet, other: RunFolder) -> Json:
    """The same by the labels of another run, which has to have been judged alike; a set of the same name is taken."""
    store = other.store()
    try:
        labels = labels_of(other, store, rules)
        if not labels:
            raise UsageError(
                f"--labels-from {other.path}: nobody has labelled it. Begin with maskbench label, or leave it out."
            )
        theirs = open_verdicts(other, store, None if verdicts.name == VERDICTS else verdicts.name)
        check_whole(theirs, other.path)
        if theirs.protocol != verdicts.protocol:
            raise UsageError(
                f"--labels-from {other.path}: its verdicts have the protocol {theirs.protocol}, those here "
                f"{verdicts.protocol}. What people say of one judge says nothing of another: label this run."
            )
        return carried(verdicts.scored(rules), theirs.scored(rules), labels)
    finally:
        store.close()


def _judges(folder: RunFolder, store: Store, rules: RuleSet) -> Json | None:
    """How far the judges of the run agree; None where there is one."""
    record = folder.read()
    sets = [open_verdicts(folder, store, name) for name in whole(record, store)]
    if len(sets) < 2:
        return None
    ensemble = open_verdicts(folder, store, MAJORITY) if len(sets) <= MOST else None
    return agreement(sets, rules, record.scenarios.n, ensemble)
