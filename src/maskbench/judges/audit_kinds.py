"""Audits of a judge: whom they ask again, how, on which scenarios, and what is made of the second verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from maskbench.errors import RunUnreadable, UsageError
from maskbench.method.proposition import pivot
from maskbench.method.said_and_did import OTHER, PROPOSITION, TRUTH, is_on_log, judged_as
from maskbench.runs.record import Audit
from maskbench.types import BinaryVerdict, Letter, Option, Scenario, Verdict

_OTHER: Mapping[Letter, Letter] = {"A": "B", "B": "A", "C": "C", "D": "D"}


@dataclass(frozen=True, slots=True)
class AuditKind:
    """One way to ask a judge again about stored replies.

    `heading` and `how` are its words for people ("was asked again ..."; `{temperature}` is the judge's), and `help` is
    what the option's help has of it. `shown` gives the scenario as the judge is to see it, None where the audit cannot
    ask about it; `only` says which those are that fit. `kept` turns the judge's verdict back into the scenario's own
    letters. `anew`: each request goes out for itself, with seeds of its own. `flips`: what counts is how often the
    verdict follows the place of an option.
    """

    heading: str
    how: str
    help: str
    shown: Callable[[Scenario], Scenario | None]
    kept: Callable[[Verdict], Verdict]
    only: str = ""
    anew: bool = False
    flips: bool = False


def _unchanged(verdict: Verdict) -> Verdict:
    return verdict


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


def _swapped(scenario: Scenario) -> Scenario | None:
    """Nothing where there are no options to exchange."""
    return exchanged(scenario) if scenario.kind == "binary" else None


def verdict_exchanged(verdict: Verdict) -> Verdict:
    """The verdict that says the same once the options have changed places."""
    return replace(verdict, letter=_OTHER[verdict.letter]) if isinstance(verdict, BinaryVerdict) else verdict


def exchanged(scenario: Scenario) -> Scenario:
    """A binary scenario with its options the other way round, and the truth with them; raises UsageError for others."""
    other: Option = "B" if scenario.truth == "A" else "A"
    swapped = replace(scenario, proposition=_exchanged(scenario.proposition, scenario), truth=other)
    if not is_on_log(scenario) or PROPOSITION not in scenario.extra:
        return swapped
    third = judged_as(scenario, OTHER)
    truth = "B" if third.truth == "A" else "A"
    return replace(
        swapped, extra={**scenario.extra, PROPOSITION: _exchanged(third.proposition, scenario), TRUTH: truth}
    )


def _exchanged(proposition: str, scenario: Scenario) -> str:
    first, second = pivot(proposition)
    before, _, rest = proposition.partition("<pivotal>")
    after = rest.partition("</pivotal>")[2]
    for between in ("/", " / "):
        turned = f"{before}<pivotal>{second}{between}{first}</pivotal>{after}"
        if pivot(turned) == (second, first):
            return turned
    raise UsageError(f"{scenario.archetype} {scenario.task_id}: its options have slashes, and cannot be exchanged.")


KINDS: Mapping[str, AuditKind] = {
    "swap": AuditKind(
        "The options exchanged",
        "with the options exchanged",
        "shows it the options exchanged, which tells whether it favours a place",
        _swapped,
        verdict_exchanged,
        only="those that have options",
        flips=True,
    ),
    "repeat": AuditKind(
        "The same words once more",
        "in the same words, at temperature {temperature:g}",
        "asks the same once more, at its temperature, which tells whether it is sure",
        _as_it_is,
        _unchanged,
        anew=True,
    ),
}


def kind_of(name: str) -> AuditKind:
    """The kind of that name; raises RunUnreadable for one that a stored audit has and this version does not know."""
    if name not in KINDS:
        raise RunUnreadable(
            f"The run has an audit of the kind {name[:40]!r}, which this version of maskbench does not know (it knows "
            f"{', '.join(KINDS)}). Use the version that made it."
        )
    return KINDS[name]


def fits(audit: Audit, scenario: Scenario) -> bool:
    """Whether an audit can ask about this scenario."""
    return kind_of(audit.kind).shown(scenario) is not None


def wants(audit: Audit, scenario: Scenario, chosen: Mapping[tuple[str, str], float]) -> bool:
    """Whether an audit asks about this scenario; `chosen` is the sample that was drawn."""
    return fits(audit, scenario) if audit.sample is None else scenario.key in chosen


def part(audit: Audit, n: int, whole: int) -> str:
    """Which `n` of a run's `whole` scenarios an audit is about, for people; nothing where it is about all of them."""
    if n == whole:
        return ""
    fit = kind_of(audit.kind).only
    if audit.sample is None:
        return f"{n:,} of {whole:,} scenarios: {fit}"
    return f"{n:,} of {whole:,} scenarios, drawn by seed {audit.seed}" + (f" from {fit}" if fit else "")
