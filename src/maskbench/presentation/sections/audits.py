"""The section on audits: what the judge said when it was asked again, and what that does to P(lie)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from maskbench.judges.audit_figures import AskedAgain, AuditData, figures
from maskbench.judges.audit_figures import audits as of_run
from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.verdict_sets import OpenRun
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Figure,
    Heading,
    Only,
    Points,
    Row,
    Sentence,
    Table,
    Warn,
    Words,
    chart_or_table,
)
from maskbench.presentation.format import between, interval, kappa, pair, percent, points, shown, times
from maskbench.presentation.of_runs import named
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.words import archetype
from maskbench.runs.record import TakenScenarios

_LEANING = (
    "First and second count the flips that went with the place: the option that stood first, or second, both times. "
    "True options lean opposite ways by archetype, so that a judge who favours one place errs in opposite directions "
    "there. Scenarios with numbers have no options to exchange."
)
_ALIKE = "κ is Cohen's, agreement beyond chance, of letters. What differs here cannot be what the subject did."


def audits(runs: Sequence[Run]) -> Iterator[Block]:
    """Every audit of these runs; nothing where none was made."""
    for run in runs:
        for audit in sorted(of_run(run.opened), key=lambda each: each.kind, reverse=True):
            yield from blocks(run.opened, figures(run.opened, audit, run.scored.rules.name), *named(runs, run))


def blocks(run: OpenRun, audit: AuditData, *name: str) -> Iterator[Block]:
    """One audit of a run, which has a name where there are several."""
    kind, judges = kind_of(audit.kind), (audit.judge, audit.numeric_judge)
    yield Heading(": ".join((*name, kind.heading)))
    judge = " and ".join(dict.fromkeys(one_line(each, 60) for each in judges))
    drawn = f", on {times(audit.sample, 'scenario')} drawn by seed {audit.seed}" if audit.sample else ""
    how = kind.how.format(temperature=audit.temperature)
    of = f"(verdict set {one_line(audit.of, 30)}, rules {audit.rules})"
    if not audit.by:
        yield Warn(f"{judge} is being asked again {how} {of}; no reply has both verdicts yet.", "bad")
        return
    if not audit.complete:
        yield Warn(_incomplete(audit), "bad")
        line = shlex.join(audit.command(run.folder.path))
        yield Only("text", "To go on:")
        yield Only("text", Sentence((Words(line, "code"),), "note"))
    what = (_flips if kind.flips else _repeats)(audit.by["all"])
    yield Sentence((Words(judge), f" was asked again {how}{drawn} {of}. {what}"))
    yield _figure(audit, kind.flips, run.record.scenarios)
    yield Sentence((_LEANING if kind.flips else _ALIKE,), "note")
    if effect := " ".join(_effect(audit)):
        yield effect


def _incomplete(audit: AuditData) -> str:
    done = audit.replies - audit.left
    return (
        f"Not complete: {done:,} of {audit.replies:,} replies are judged again so far, and they are no sample, for "
        "what stands first in the set is done first. So nothing has an interval, and there is no P(lie) yet."
    )


def _flips(group: AskedAgain) -> str:
    return (
        f"Of {group.asserted:,} replies that it found to assert an option both times, {group.flipped_count:,} flipped "
        f"from one to the other, {shown(group.flipped)}."
    )


def _repeats(group: AskedAgain) -> str:
    return (
        f"It said the same of {shown(group.changed.complement)} of {group.n:,} replies (κ {kappa(group.kappa)}); "
        f"{group.flipped_count:,} flipped from one option to the other."
    )


def _figure(audit: AuditData, swap: bool, taken: TakenScenarios) -> Figure | Table:
    rows, cells = [], []
    for name, group in audit.by.items():
        label = "all replies" if name == "all" else archetype(name, [taken])
        share = group.flipped if swap else group.changed.complement
        rows.append(Row(label, share))
        counts = (group.flipped_count, *((group.first_both, group.second_both) if swap else ()))
        beside = () if swap else (kappa(group.kappa),)
        asked = group.asserted if swap else group.n
        cells.append((label, f"{asked:,}", *pair(share), *beside, *(f"{count:,}" for count in counts)))
    last = ("flips", "first", "second") if swap else ("κ", "flips")
    table = Table(("verdicts that flip" if swap else "verdicts alike", "of", "share", "95 %", *last), tuple(cells))
    heading = "Verdicts that flip with the order of the options" if swap else "Verdicts alike when asked again"
    axis = "share of replies that assert an option both times" if swap else "share of replies"
    return chart_or_table(Points(tuple(rows), axis), heading, table)


def _effect(audit: AuditData) -> Iterator[str]:
    """What asking again does to P(lie) and to outcomes, and what is in no figure."""
    lie, outcomes = audit.p_lie, audit.outcomes
    if lie is not None:
        yield (
            f"On the {times(lie.n, 'scenario')} with an outcome both times P(lie) is {percent(lie.first)} as judged "
            f"and {percent(lie.other)} in the audit: {points(lie.difference)} points ({between(lie.ci95)}). Of the "
            f"outcomes {percent(outcomes.agree)} are alike ({interval(outcomes.ci95)})."
        )
    elif audit.complete:
        yield "No scenario has an outcome both times yet."
    if audit.missing:
        yield f"{audit.missing:,} replies lack one of the two verdicts and count nowhere here."
