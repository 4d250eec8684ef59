"""The section on audits: what the judge said when it was asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.judges.audit_figures import figures
from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.auditing import audits as of_run
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Figure, Heading, Json, Points, Row, Table, Warn
from maskbench.report.format import between, estimate, kappa, pair, percent, points, shown, times
from maskbench.report.of_runs import named
from maskbench.report.runs_shown import Run
from maskbench.report.words import archetype
from maskbench.runs.folder import RunFolder


def audits(runs: Sequence[Run]) -> Iterator[Block]:
    """What the judge said when it was asked again; nothing where no audit was made."""
    for run in runs:
        folder = RunFolder(run.result.path)
        for planned in sorted(of_run(folder), key=lambda each: each.kind, reverse=True):
            yield Heading(": ".join((*named(runs, run), kind_of(planned.kind).heading)))
            yield from _audited(figures(folder, planned, run.summary["rules"]), run.summary)


def _audited(audit: Json, summary: Json) -> Iterator[Block]:
    kind, judges = kind_of(audit["kind"]), (audit["judge"], audit["numeric_judge"])
    swap = kind.flips
    judge = " and ".join(dict.fromkeys(one_line(str(name), 60) for name in judges))
    drawn = "" if audit["sample"] is None else f", on {times(audit['sample'], 'scenario')} drawn at random"
    of = "" if audit["of"] == "default" else f" (verdict set {one_line(str(audit['of']), 30)})"
    how = kind.how.format(temperature=audit["temperature"])
    if not audit["by"]:
        yield Warn(f"{judge}{of} is being asked again {how}; no reply has both verdicts yet.")
        return
    group = audit["by"]["all"]
    yield f"{judge}{of} was asked again {how}{drawn}. {(_flips if swap else _repeats)(group)}"
    yield _audit_figure(audit, swap, summary)
    yield _effect(audit)


def _flips(group: Json) -> str:
    flipped = group["flipped"]
    leans = f": {group['first_both']:,} were whatever stood first, {group['second_both']:,} whatever stood second"
    return (
        f"Of {group['asserted']:,} replies that it found to assert an option both times, {flipped['count']:,} flipped "
        f"from one to the other, {shown(estimate(flipped))}{leans if flipped['count'] else ''}."
    )


def _repeats(group: Json) -> str:
    alike = shown(estimate(_complement(group["changed"])))
    return (
        f"It said the same of {alike} of {group['n']:,} replies (κ {kappa(group['kappa'])}); "
        f"{group['flipped']['count']:,} flipped from one option to the other. What differs here cannot be what the "
        "subject did."
    )


def _complement(share: Json) -> Json:
    ends = share["ci95"] and [1 - end for end in reversed(share["ci95"])]
    return {"value": None if share["value"] is None else 1 - share["value"], "ci95": ends, "n": share["n"]}


def _audit_figure(audit: Json, swap: bool, summary: Json) -> Figure | Table:
    rows, cells = [], []
    for name, group in audit["by"].items():
        label = "all replies" if name == "all" else archetype(name, [summary])
        share = estimate(group["flipped"] if swap else _complement(group["changed"]))
        rows.append(Row(label, share))
        counts = (group["flipped"]["count"], *((group["first_both"], group["second_both"]) if swap else ()))
        beside = () if swap else (kappa(group["kappa"]),)
        asked = group["asserted"] if swap else group["n"]
        cells.append((label, f"{asked:,}", *pair(share), *beside, *(f"{count:,}" for count in counts)))
    head = ("flips", "of", "share", "95 %", "flips", "first", "second") if swap else _REPEATED
    table = Table(head, tuple(cells))
    title = "Verdicts that flip with the order of the options" if swap else "Verdicts alike when asked again"
    axis = "share of replies that assert an option both times" if swap else "share of replies"
    able = any(row.estimate.value is not None for row in rows)
    chart = Points(tuple(rows), axis)
    return Figure((chart,), title, table, note=_LEANING if swap else "") if able else table


_REPEATED = ("verdicts alike", "of", "share", "95 %", "κ", "flips")
_LEANING = (
    "True options lean opposite ways by archetype, so that a judge who favours one place errs in opposite directions "
    "there. Scenarios with numbers have no options to exchange."
)


def _effect(audit: Json) -> str:
    """What asking again does to P(lie)."""
    lie, outcomes = audit["p_lie"], audit["outcomes"]
    lost = f" {audit['missing']:,} replies lack one of the two verdicts." if audit["missing"] else ""
    if not audit["complete"]:
        done = audit["replies"] - audit["left"]
        return (
            f"Not complete: {done:,} of {audit['replies']:,} replies are judged again so far, and they are no sample, "
            f"so that nothing has an interval and there is no P(lie).{lost}"
        )
    if lie is None:
        return f"No scenario has an outcome both times yet.{lost}"
    return (
        f"On the {times(lie['n'], 'scenario')} with an outcome both times P(lie) is {percent(lie['first'])} as judged "
        f"and {percent(lie['other'])} in the audit: {points(lie['difference'])} points ({between(lie['ci95'])}). "
        f"Of the outcomes {percent(outcomes['agree'])} are alike.{lost}"
    )
