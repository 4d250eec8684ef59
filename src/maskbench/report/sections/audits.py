"""The section on audits: what the judge said when it was asked again, and what that does to P(lie)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from maskbench.judges.audit_figures import figures
from maskbench.judges.audit_kinds import kind_of
from maskbench.judges.audit_plan import Audit
from maskbench.judges.auditing import audits as of_run
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Figure, Heading, Only, Points, Row, Sentence, Table, Warn, Words
from maskbench.report.format import between, estimate, interval, kappa, pair, percent, points, shown, times
from maskbench.report.of_runs import named
from maskbench.report.runs_shown import Run
from maskbench.report.words import archetype
from maskbench.runs.folder import RunFolder
from maskbench.types import Json

_LEANING = (
    "First and second count the flips that went with the place: the option that stood first, or second, both times. "
    "True options lean opposite ways by archetype, so that a judge who favours one place errs in opposite directions "
    "there. Scenarios with numbers have no options to exchange."
)
_ALIKE = "κ is Cohen's, agreement beyond chance, of letters. What differs here cannot be what the subject did."


def audits(runs: Sequence[Run]) -> Iterator[Block]:
    """Every audit of these runs; nothing where none was made."""
    for run in runs:
        for audit in sorted(of_run(run.opened.folder), key=lambda each: each.kind, reverse=True):
            found = figures(run.opened, audit, run.summary.rules)
            yield from blocks(found, run.opened.folder.path, *named(runs, run))


def blocks(found: Json, path: Path, *name: str) -> Iterator[Block]:
    """One audit of the run at `path`, which has a name where there are several."""
    yield Heading(": ".join((*name, kind_of(found["kind"]).heading)))
    yield from _audited(found, path)


def _audited(found: Json, path: Path) -> Iterator[Block]:
    kind, judges = kind_of(found["kind"]), (found["judge"], found["numeric_judge"])
    swap = kind.flips
    judge = " and ".join(dict.fromkeys(one_line(str(name), 60) for name in judges))
    drawn = f", on {times(found['sample'], 'scenario')} drawn by seed {found['seed']}" if found["sample"] else ""
    how = kind.how.format(temperature=found["temperature"])
    of = f"(verdict set {one_line(str(found['of']), 30)}, rules {found['rules']})"
    if not found["by"]:
        yield Warn(f"{judge} is being asked again {how} {of}; no reply has both verdicts yet.", "bad")
        return
    if not found["complete"]:
        yield Warn(_incomplete(found), "bad")
        line = shlex.join(Audit(found["kind"], found["of"], found["sample"], found["seed"]).command(path))
        yield Only("text", "To go on:")
        yield Only("text", Sentence((Words(line, "code"),), "note"))
    what = (_flips if swap else _repeats)(found["by"]["all"])
    yield Sentence((Words(judge), f" was asked again {how}{drawn} {of}. {what}"))
    yield _figure(found, swap, path)
    yield Sentence((_LEANING if swap else _ALIKE,), "note")
    if effect := " ".join(_effect(found)):
        yield effect


def _incomplete(found: Json) -> str:
    done = found["replies"] - found["left"]
    return (
        f"Not complete: {done:,} of {found['replies']:,} replies are judged again so far, and they are no sample, for "
        "what stands first in the set is done first. So nothing has an interval, and there is no P(lie) yet."
    )


def _flips(group: Json) -> str:
    return (
        f"Of {group['asserted']:,} replies that it found to assert an option both times, "
        f"{group['flipped']['count']:,} flipped from one to the other, {shown(estimate(group['flipped']))}."
    )


def _repeats(group: Json) -> str:
    alike = shown(estimate(_complement(group["changed"])))
    return (
        f"It said the same of {alike} of {group['n']:,} replies (κ {kappa(group['kappa'])}); "
        f"{group['flipped']['count']:,} flipped from one option to the other."
    )


def _complement(share: Json) -> Json:
    ends = share["ci95"] and [1 - end for end in reversed(share["ci95"])]
    return {"value": None if share["value"] is None else 1 - share["value"], "ci95": ends, "n": share["n"]}


def _figure(found: Json, swap: bool, path: Path) -> Figure | Table:
    rows, cells = [], []
    kept = [RunFolder(path).read().scenarios]
    for name, group in found["by"].items():
        label = "all replies" if name == "all" else archetype(name, kept)
        share = estimate(group["flipped"] if swap else _complement(group["changed"]))
        rows.append(Row(label, share))
        counts = (group["flipped"]["count"], *((group["first_both"], group["second_both"]) if swap else ()))
        beside = () if swap else (kappa(group["kappa"]),)
        asked = group["asserted"] if swap else group["n"]
        cells.append((label, f"{asked:,}", *pair(share), *beside, *(f"{count:,}" for count in counts)))
    last = ("flips", "first", "second") if swap else ("κ", "flips")
    table = Table(("verdicts that flip" if swap else "verdicts alike", "of", "share", "95 %", *last), tuple(cells))
    heading = "Verdicts that flip with the order of the options" if swap else "Verdicts alike when asked again"
    axis = "share of replies that assert an option both times" if swap else "share of replies"
    able = any(row.estimate.value is not None for row in rows)
    return Figure((Points(tuple(rows), axis),), heading, table) if able else table


def _effect(found: Json) -> Iterator[str]:
    """What asking again does to P(lie) and to outcomes, and what is in no figure."""
    lie, outcomes = found["p_lie"], found["outcomes"]
    if lie is not None:
        yield (
            f"On the {times(lie['n'], 'scenario')} with an outcome both times P(lie) is {percent(lie['first'])} as "
            f"judged and {percent(lie['other'])} in the audit: {points(lie['difference'])} points "
            f"({between(lie['ci95'])}). Of the outcomes {percent(outcomes['agree'])} are alike "
            f"({interval(outcomes['ci95'])})."
        )
    elif found["complete"]:
        yield "No scenario has an outcome both times yet."
    if found["missing"]:
        yield f"{found['missing']:,} replies lack one of the two verdicts and count nowhere here."
