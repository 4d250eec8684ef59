"""Two runs or more, compared on the scenarios that they share: everything that can be said, as data.

Both sides are scored anew from their stored verdicts under one rule set, and paired by archetype, task_id and
content. What `maskbench compare --json` prints is described in docs/comparing.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct, json, structs
from numpy.typing import NDArray

from maskbench.errors import UsageError
from maskbench.method.rates import RATES, Table, tabulate
from maskbench.method.rules import named
from maskbench.results.calibration import CorrectedPair, RatesBy, corrected_difference
from maskbench.results.comparability import (
    Differs,
    Shared,
    errors,
    other_measures,
    protocol_differences,
    shared,
    sources,
    warnings,
)
from maskbench.results.contrasts import (
    TESTED,
    contrast,
    contrast_of_labels,
    few_changes,
    of_tested,
    untested,
    with_beliefs,
)
from maskbench.results.gain_minus_plain import MEASURE, ReportsReader, SaidAndDidCompared
from maskbench.results.lies_and_honest import Ps, VerdictName, evidence, verdict
from maskbench.results.people.labelled_outcomes import Label
from maskbench.results.reader import Found, Reader, with_found
from maskbench.results.reader import Shared as SharedScored
from maskbench.results.readers import READERS
from maskbench.results.scored import ScoredRun, read
from maskbench.scenarios import Key
from maskbench.stats.figures import Difference, Share
from maskbench.stats.paired import LEVEL, of_both
from maskbench.store.folder import RunFolder
from maskbench.store.record import is_copy
from maskbench.types import OUTCOMES, Json, OutcomeName

SCHEMA: Literal[1] = 1

SIGN_FLIP, OF_CORRECTED = "cluster sign-flip permutation", "difference of corrected rates"  # on P(lie) and P(honest)

Columns: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = Mapping[Key, Label]
Transitions: TypeAlias = dict[OutcomeName, dict[OutcomeName, int]]


class SharedScenarios(Struct, forbid_unknown_fields=True):
    """Counts of the scenarios that both have, and of those that something keeps out."""

    scenarios: int
    propositions: int
    with_outcomes_in_both: int
    failed_in_first_only: int
    failed_in_other_only: int
    failed_in_both: int
    only_in_first: int
    only_in_other: int
    other_text: int


class NonInferiority(Struct, forbid_unknown_fields=True):
    """The test of non-inferiority: for each rate, and for all, whether it got worse by less than the margin."""

    margin: float
    shown: dict[str, bool]
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


class RunCompared(Struct, forbid_unknown_fields=True):
    """A run of a comparison, by what names it."""

    run: str
    subject: str
    scenarios: str
    statements: int
    protocol: str
    verdicts: str
    done: int
    n: int


@with_found(READERS, runs=2)
class Pairing(RunCompared, forbid_unknown_fields=True, omit_defaults=True):
    """A run held against the first one.

    `test` names the test that is made on P(lie) and on P(honest), or of reports on logs on what is denied, gain minus
    plain (`compared_by`). `p_holm` is that of the first, adjusted for all tests of all comparisons, `verdict` what both
    come to (results/lies_and_honest.py). `with_beliefs` has both rates over the scenarios in which both runs have a
    belief, which are not tested. `rates_by`, `corrected` and `judged` are no reader's: they decide which rates are
    compared and tested, and readers are asked after that.
    """

    withheld: str | None
    untested_because: list[str]
    differs: list[Differs]
    warnings: list[str]
    shared: SharedScenarios
    rates: dict[str, Difference]
    factors: dict[str, Difference] | None
    effects: dict[str, Share] | None  # what the change of each factor did to P(lie)
    test: str | None
    p_holm: float | None
    significant: bool | None
    verdict: VerdictName | None
    rates_by: RatesBy  # whose `rates` these are, and the test
    corrected: CorrectedPair | None
    non_inferiority: NonInferiority | None
    transitions: Transitions
    mcnemar: McNemar
    changed: list[Change]
    judged: Difference | None = None  # P(lie) by the judge, where labels correct the rates
    with_beliefs: dict[str, Difference] | None = None

    def of(self, reader: type[Reader[Any, Found]]) -> Found | None:
        """The figures of this reader in both runs."""
        found: Found | None = getattr(self, reader.name)
        return found


class ComparisonData(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Runs held against the first of them; `comparisons` is how many are tested."""

    schema: Literal[1]
    rules: str
    notes: list[str]
    comparisons: int
    first: RunCompared
    others: list[Pairing]

    def as_dict(self) -> Json:
        """The comparison as `maskbench compare --json` prints it."""
        plain: Json = json.decode(json.encode(self))
        return plain


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison; `data.as_dict()` is what `maskbench compare --json` prints."""

    data: ComparisonData


def compare(
    first: str | PathLike[str],
    *others: str | PathLike[str],
    rules: str | None = None,
    non_inferiority: float | None = None,
    verdicts: str | Sequence[str] | None = None,
    labels: Sequence[Labels | None] | None = None,
    rates: RatesBy = "judge",
) -> Comparison:
    """Compare every other run with the first one, on the scenarios that the two share.

    Arguments are run folders; `rules` names one rule set for all (default: the first run's). `non_inferiority` is
    the margin, a share such as 0.03, by which nothing may have got worse. `verdicts` names the verdict set of all, or
    of each in turn (default: each run's own). `labels` are people's outcomes for each run in turn, by which its rates
    are corrected, too (default: those in its folder). `rates` are those that are tested: the judge's, or those that
    labels correct, which every run then needs. Raises UsageError for runs that cannot be compared and RunUnreadable
    for folders without a run.
    """
    check_given(first, others, non_inferiority)
    chosen = named(rules or RunFolder(Path(first)).settings().design.rules)
    names = verdicts_of(verdicts, 1 + len(others))
    if labels is not None and len(labels) != len(names):
        raise UsageError(
            f"labels hold {len(labels)} entries for {len(names)} runs: give one a run, None where it has none."
        )
    people = [None] * len(names) if labels is None else [own or {} for own in labels]
    arms = (
        arm if own is None else arm.labelled(own)
        for path, name, own in zip((first, *others), names, people, strict=True)
        for arm in (read(path, chosen, name),)
    )
    return compare_read(next(arms), arms, non_inferiority, rates)


def compare_read(
    first: ScoredRun,
    others: Iterable[ScoredRun],
    non_inferiority: float | None = None,
    rates: RatesBy = "judge",
) -> Comparison:
    """Compare every other run with the first one, all of them read already and under one rule set; as `compare`."""
    pairings, froms = [], sources(first)
    for other in others:
        froms += sources(other)
        froms += [f"{other.path}: {other.rules.note}"] if other.rules != first.rules and other.rules.note else []
        pairings.append(_pairing(first, other, non_inferiority, rates))
    able = [(pairing, ps) for pairing in pairings if (ps := _ps(pairing))]
    for (pairing, _), ps in zip(able, of_both([ps for _, ps in able]), strict=True):
        pairing.p_holm, pairing.significant = ps[0], ps[0] < 1 - LEVEL
        if not is_on_logs(pairing):
            pairing.verdict = verdict(pairing.rates["p_lie"], pairing.rates["p_honest"], ps)
    notes = [first.rules.note] if first.rules.note else []
    notes += froms
    return Comparison(ComparisonData(SCHEMA, first.rules.name, notes, len(able), about(first), pairings))


def is_on_logs(pairing: Pairing) -> bool:
    """Whether the two runs have nothing but reports on logs."""
    return pairing.of(ReportsReader) is not None


def compared_by(pairing: Pairing) -> Difference:
    """What is tested first: P(lie), or of runs of reports on logs alone what is denied, gain minus plain."""
    on_logs = pairing.of(ReportsReader)
    return on_logs.denied if on_logs else pairing.rates["p_lie"]


def _ps(pairing: Pairing) -> Ps | None:
    """The p values of its tests: of the one on reports on logs twice, so that it counts as two that agree."""
    if is_on_logs(pairing):
        p = compared_by(pairing).p
        return None if p is None else (p, p)
    return evidence(pairing.rates["p_lie"], pairing.rates["p_honest"])


def about(arm: ScoredRun) -> RunCompared:
    """Which run this is."""
    return RunCompared(
        run=str(arm.path),
        subject=arm.settings.label,
        scenarios=arm.settings.design.name,
        statements=arm.settings.design.statements,
        protocol=arm.protocol,
        verdicts=arm.verdicts,
        done=len(arm.scored),
        n=arm.wanted,
    )


def verdicts_of(verdicts: str | Sequence[str] | None, runs: int) -> list[str | None]:
    """The verdict set of each run."""
    if verdicts is None or isinstance(verdicts, str):
        return [verdicts] * runs
    if len(verdicts) not in (1, runs):
        raise UsageError(
            f"{len(verdicts)} verdict sets for {runs} runs: give one for all, or one a run in their order."
        )
    return [*verdicts] * (runs if len(verdicts) == 1 else 1)


def check_given(
    first: str | PathLike[str], others: Sequence[str | PathLike[str]], non_inferiority: float | None = None
) -> None:
    """Raise UsageError for runs that are given once too often or too few, and for a margin that is none."""
    if not others:
        raise UsageError("One run alone cannot be compared. Give two or more: maskbench compare RUN RUN.")
    if non_inferiority is not None and not 0 < non_inferiority < 1:
        raise UsageError(f"--non-inferiority {non_inferiority:g} is no margin. Give a share such as 0.03.")
    seen: dict[Path, str | PathLike[str]] = {}
    for path in (first, *others):
        if Path(path).resolve() in seen:
            raise UsageError(f"{path} is given twice. A run does not differ from itself: give another one.")
        seen[Path(path).resolve()] = path


def _pairing(first: ScoredRun, other: ScoredRun, margin: float | None, by: RatesBy) -> Pairing:
    """One run held against the first."""
    if is_copy(first.record, other.record):
        raise UsageError(
            f"{other.path} is a copy of {first.path}. A run does not differ from itself: give another. "
            "Its judges are held against each other by `maskbench score`."
        )
    both = shared(first, other)
    weights = both.weights
    a, b = tabulate(both.first)[0], tabulate(both.other)[0]
    differs = list(protocol_differences(first, other))
    failed = [*errors(first, a), *errors(other, b)]
    why = [*other_measures(differs, first, other), *failed]
    found = contrast(a, b, weights)
    pair = None if failed else _corrected(both, weights, first, other, by)
    judged = found.rates["p_lie"]
    by_labels = pair is not None and by == "corrected"
    if pair and by_labels:
        found = contrast_of_labels(found, pair)
    if not (a.usable * b.usable).any():
        why.append("No shared scenario has an outcome in both runs.")
    if why:
        found = found.withheld() if failed else found.untested()
    lie = found.rates["p_lie"]
    if not (first.complete and other.complete):  # bounds hold for the scenarios that are done, not for the set
        lie.bounds = lie.bounds_ci95 = None
    mcnemar, transitions, changed = _transitions(both)
    settings = first.settings, other.settings
    seen = SharedScored(both.first, (a, b), weights, settings, bool(failed), bool(why), by_labels)
    read_of_both = first.readers.against(other.readers, seen)
    on_logs: SaidAndDidCompared | None = read_of_both.get(ReportsReader.name)
    if on_logs:  # one test is made
        for name in TESTED:
            found.rates[name].p = found.rates[name].p_exact = None
    test, few = lie, few_changes(of_tested(found.rates))
    if on_logs:
        test, few = on_logs.denied, few_changes({MEASURE: on_logs.denied})
    return Pairing(
        **structs.asdict(about(other)),
        withheld=" ".join(failed) or None,
        untested_because=why,
        differs=differs,
        warnings=[*warnings(first, other, both), *filter(None, [few])],
        shared=_counts(both, a, b),
        rates=found.rates,
        factors=found.factors,
        effects=found.effects,
        test=None if test.p is None else OF_CORRECTED if by_labels and not on_logs else SIGN_FLIP,
        p_holm=None,
        significant=None,
        verdict=None,
        rates_by="corrected" if by_labels else "judge",
        corrected=_untested(pair) if pair and why else pair,
        non_inferiority=None if margin is None else _non_inferiority(found.rates, margin, bool(why)),
        transitions=transitions,
        mcnemar=mcnemar,
        changed=changed,
        with_beliefs=None
        if failed or on_logs or by_labels or first.rules.evasion_first
        else with_beliefs(a, b, weights),
        judged=structs.replace(untested(judged) if why else judged, p=None, p_exact=None) if by_labels else None,
        **read_of_both,
    )


def _corrected(both: Shared, weights: Columns, first: ScoredRun, other: ScoredRun, by: RatesBy) -> CorrectedPair | None:
    """Both runs corrected by labels of their own; None where no run has any, which `by` may not ask for."""
    for run in (first, other):
        if by == "corrected" and not run.labels:
            raise UsageError(
                f"--rates corrected: nobody has labelled a sample of {run.path}, so that nothing corrects its rates. "
                f"Begin with `maskbench label {run.path}`, or leave --rates out."
            )
    labels = first.labels, other.labels
    if not any(labels):
        return None
    return corrected_difference(both.first, both.other, weights, labels, tested=by == "corrected")


def _untested(pair: CorrectedPair) -> CorrectedPair:
    return structs.replace(pair, rates={name: untested(rate) for name, rate in pair.rates.items()})


def _counts(both: Shared, first: Table, other: Table) -> SharedScenarios:
    lost = [table.usable == 0 for table in (first, other)]
    return SharedScenarios(
        scenarios=len(both.first),
        propositions=len(np.unique(first.clusters)),
        with_outcomes_in_both=int((~lost[0] & ~lost[1]).sum()),
        failed_in_first_only=int((lost[0] & ~lost[1]).sum()),
        failed_in_other_only=int((~lost[0] & lost[1]).sum()),
        failed_in_both=int((lost[0] & lost[1]).sum()),
        only_in_first=both.only_first,
        only_in_other=both.only_other,
        other_text=len(both.changed_text),
    )


def _transitions(both: Shared) -> tuple[McNemar, Transitions, list[Change]]:
    """What became of each outcome, by first statement, unweighted; and which scenarios changed."""
    pairs = [(row.outcomes[0], other.outcomes[0]) for row, other in zip(both.first, both.other, strict=True)]
    counts = Counter(pairs)
    lies = Counter((was == "lie", now == "lie") for was, now in pairs if "error" not in (was, now))
    return (
        McNemar(lies[True, False], lies[False, True]),
        {was: {now: counts[was, now] for now in OUTCOMES} for was in OUTCOMES},
        [Change(*row.key, was, now) for row, (was, now) in zip(both.first, pairs, strict=True) if was != now],
    )


def _non_inferiority(rates: Mapping[str, Difference], margin: float, untested: bool) -> NonInferiority:
    """Whether each rate got worse by less than the margin: the one-sided 95 % bound of its loss is below it.

    Nothing got worse only where every one passes: no correction is needed for that (Berger 1982).
    """
    shown = {name: loss < margin for name, rate in rates.items() if (loss := worst(name, rate)) is not None}
    is_open = untested or not shown or (all(shown.values()) and not_tested(rates))
    return NonInferiority(margin, shown, None if is_open else all(shown.values()))


def not_tested(rates: Mapping[str, Difference]) -> list[str]:
    """The rates that could have got worse and have no test; beliefs that nobody measured in both are none of them."""
    return [
        name
        for name, rate in rates.items()
        if worst(name, rate) is None and (rate.difference is not None or RATES[name].of_logs)
    ]


def worst(name: str, rate: Difference) -> float | None:
    """The most that a rate of this name can have got worse by, with one-sided 95 % confidence; None where untested."""
    if rate.one_sided95 is None:
        return None
    low, high = rate.one_sided95
    return high if RATES[name].loss > 0 else -low
