"""The sections on the judge: other judges, a second look, audits."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from maskbench.judges.audit_figures import figures
from maskbench.judges.auditing import audits as of_run
from maskbench.pages.charts import Figure, Row, Table, cell, points, shown
from maskbench.pages.parts import Content, Facts, Heading, Json, Typed, Warn, estimate, kappa, named, pair, unit
from maskbench.pages.words import archetype, times
from maskbench.plain import shortened
from maskbench.report.format import interval, percent
from maskbench.report.runs_shown import Run
from maskbench.report.sections.comparison_text import between
from maskbench.report.sections.comparison_text import points as difference
from maskbench.report.sections.judges_text import remarks
from maskbench.runs.folder import RunFolder
from maskbench.stats.intervals import Estimate
from maskbench.types import OUTCOMES

_KINDS = ("direct", "consistency", "statement", "numerical")

# Other judges


def judges(runs: Sequence[Run]) -> Iterator[Content]:
    """Every verdict set of a run, their majority, and how far they agree; how a second look was done."""
    for run in runs:
        held, second, others = run.summary.get("judges"), run.summary.get("second"), tuple(_others(run))
        if held or second or others:
            yield from map(Heading, named(runs, run))
        if second:
            yield from _second(second, run.result.rates["p_lie"], f"share of {unit([run])}")
        if held:
            yield from _several(held, f"share of {unit([run])}")
        yield from others


def _others(run: Run) -> Iterator[Typed]:
    """What the run has that this page is not about, with the command that shows it."""
    here, sets = str(run.summary["verdicts"]), run.record.get("verdict_sets", {})
    if run.summary.get("judges"):
        yield Typed(f"This page is by the verdict set {shortened(here, 80)}. By another one:", _command(run, "NAME"))
    for name in sorted(name for name, about in sets.items() if "second" in about and name != here):
        judge = shortened(str(sets[name]["settings"]["judge"]), 60)
        said = f"{judge} had a second look at some of the scenarios, which is not in the figures here. To see it:"
        yield Typed(said, _command(run, name))


def _command(run: Run, verdicts: str) -> str:
    return shortened(shlex.join(["maskbench", "report", str(run.result.path), "--verdicts", verdicts]), 1000)


def _several(held: Json, title: str) -> Iterator[Content]:
    yield (
        "The very same replies were read by several judges. How far apart their figures are shows how much hangs on "
        "the judge; that judges agree does not show that they are right."
    )
    ensemble = held["ensemble"]
    every = [*held["sets"], *([ensemble] if ensemble else [])]
    rows = [Row(_name(one), estimate(one["p_lie"]), "lie", reach=_reach(one)) for one in every]
    lies = Table(
        ("verdict set", "judge", "P(lie)", "95 %", "n"),
        tuple((_name(one), _judge(one, held), *_lie(one)) for one in every),
        texts=2,
    )
    if any(row.estimate.value is not None for row in rows):
        key = (("unknown", "whatever the disputed outcomes are"),) if any(row.reach for row in rows) else ()
        together = "both together" if ensemble and len(ensemble["members"]) == 2 else "their majority"
        yield Figure(points(rows, title=title), f"P(lie) by each verdict set, and by {together}", lies, key)
    else:
        yield lies
    if said := " ".join(shortened(each, 300) for each in remarks(held)):
        yield Warn(said)
    yield _counts(every)
    if ensemble and not ensemble["withheld"]:
        yield _majority(ensemble)
    yield from _pairs(held["pairs"])


def _name(one: Json) -> str:
    return shortened(str(one["name"]), 30)


def _judge(one: Json, held: Json) -> str:
    if one is held["ensemble"]:
        *names, last = (shortened(name, 30) for name in one["members"])
        return f"both {names[0]} and {last}" if len(names) == 1 else f"the majority of {', '.join(names)} and {last}"
    return " and ".join(dict.fromkeys(shortened(str(one[kind]), 40) for kind in ("judge", "numeric_judge")))


def _lie(one: Json) -> tuple[str, str, str]:
    return *pair(estimate(one["p_lie"])), f"{one['n']:,}"


def _reach(one: Json) -> tuple[float, float] | None:
    ends = one["p_lie"].get("disputed_bounds")
    return (ends[0], ends[1]) if ends else None


def _counts(every: Sequence[Json]) -> Table:
    names = [name for name in (*OUTCOMES, "disputed") if any(name in one["counts"] for one in every)]
    rows = tuple((_name(one), *(f"{one['counts'].get(name, 0):,}" for name in names)) for one in every)
    caption = "Scenarios by outcome, of the first statement."
    return Table(("verdict set", *(name.replace("_", " ") for name in names)), rows, caption)


def _majority(ensemble: Json) -> str:
    lie, count = shown(estimate(ensemble["p_lie"])), len(ensemble["members"])
    who = "both judges" if count == 2 else f"the majority of {count:,}"
    said = f"By {who}, verdict by verdict, P(lie) is {lie}."
    disputed = ensemble["counts"].get("disputed", 0)
    if not disputed:
        return f"{said} No outcome is disputed."
    are = "outcome is" if disputed == 1 else "outcomes are"
    said += f" {disputed:,} {are} disputed, and counted in each share by the part of the judges that find it"
    ends = _reach(ensemble)
    return f"{said}; whoever is right, P(lie) lies in {interval(ends)} %." if ends else f"{said}."


def _pairs(pairs: Sequence[Json]) -> Iterator[Table]:
    """How far every two judges agree on outcomes and on verdicts, and what that does to P(lie)."""
    moved, alike = [], []
    for one in pairs:
        first, other = (shortened(str(one[side]), 30) for side in ("first", "other"))
        lie, outcomes = one["p_lie"] or {}, one["outcomes"]
        change = difference(lie.get("difference")), between(lie.get("ci95"))
        outcome = _outcomes(outcomes), kappa(outcomes["kappa"]), f"{outcomes['n']:,}"
        moved.append((f"{other} − {first}", *change, *outcome))
        alike.append((f"{other} and {first}", *(_alike(one["verdicts"][kind]) for kind in _KINDS)))
    caption = "What the choice of judge does to P(lie), in points and paired, and how many outcomes are alike."
    yield Table(("verdict sets", "P(lie), points", "95 %", "outcomes alike", "κ", "n"), tuple(moved), caption)
    caption = (
        "Verdicts alike by kind, with Cohen's κ, the agreement beyond chance. Numbers are alike where they agree "
        "within 5 %."
    )
    yield Table(("verdict sets", "direct", "consistency", "statement", "numbers"), tuple(alike), caption)


def _outcomes(part: Json) -> str:
    return cell(estimate({"value": part["agree"], "ci95": part["ci95"], "n": part["n"]}))


def _alike(part: Json) -> str:
    beyond = "" if part["kappa"] is None else f"κ {kappa(part['kappa'])}, "
    return f"{percent(part['agree'])}\n({beyond}n {part['n']:,})"


def _second(look: Json, lie: Estimate, title: str) -> Iterator[Content]:
    """How a second judge looked at a part, what it changed, and P(lie) without it."""
    yield (
        "A second judge looked at every scenario that the first was unsure of, and at a random share of the others. "
        "The rates on this page weigh what it changed by how scenarios were chosen."
    )
    rows = (Row("first judge alone", estimate(look["p_lie_first"]), "lie"), Row("with the second look", lie, "lie"))
    table = Table(
        ("P(lie)", "value", "95 %", "n"),
        tuple((row.label, *pair(row.estimate), f"{row.estimate.n:,}") for row in rows),
    )
    able = any(row.estimate.value is not None for row in rows)
    yield Figure(points(rows, title=title), "P(lie) with and without the second look", table) if able else table
    drawn = f"{look['drawn']:,} of the other {look['sure']:,}"
    yield Facts(
        (
            ("first judge", f"verdict set {shortened(str(look['first']), 30)}"),
            ("unsure", f"all {times(look['unsure'], 'scenario')}: {look['changed_unsure']:,} changed"),
            ("drawn", f"{drawn}, each standing for {look['stands_for']:.3g}: {look['changed_drawn']:,} changed"),
        )
    )


# Audits


def audits(runs: Sequence[Run]) -> Iterator[Content]:
    """What the judge said when it was asked again; nothing where no audit was made."""
    for run in runs:
        folder = RunFolder(run.result.path)
        for one in sorted(of_run(folder), key=lambda each: each.kind, reverse=True):
            what = "The options exchanged" if one.kind == "swap" else "The same words once more"
            yield Heading(": ".join((*named(runs, run), what)))
            yield from _audited(figures(folder, one, run.summary["rules"]), run)


def _audited(found: Json, run: Run) -> Iterator[Content]:
    swap, judges = found["kind"] == "swap", (found["judge"], found["numeric_judge"])
    judge = " and ".join(dict.fromkeys(shortened(str(name), 60) for name in judges))
    drawn = "" if found["sample"] is None else f", on {times(found['sample'], 'scenario')} drawn at random"
    of = "" if found["of"] == "default" else f" (verdict set {shortened(str(found['of']), 30)})"
    how = "with the options exchanged" if swap else f"in the same words, at temperature {found['temperature']:g}"
    if not found["by"]:
        yield Warn(f"{judge}{of} is being asked again {how}; no reply has both verdicts yet.")
        return
    group = found["by"]["all"]
    yield f"{judge}{of} was asked again {how}{drawn}. {(_flips if swap else _repeats)(group)}"
    yield _audit_figure(found, swap, run)
    yield _effect(found)


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


def _audit_figure(found: Json, swap: bool, run: Run) -> Figure | Table:
    rows, cells = [], []
    for name, group in found["by"].items():
        label = "all replies" if name == "all" else archetype(name, [run.summary])[0]
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
    return Figure(points(rows, title=axis), title, table, note=_LEANING if swap else "") if able else table


_REPEATED = ("verdicts alike", "of", "share", "95 %", "κ", "flips")
_LEANING = (
    "True options lean opposite ways by archetype, so that a judge who favours one place errs in opposite directions "
    "there. Scenarios with numbers have no options to exchange."
)


def _effect(found: Json) -> str:
    """What asking again does to P(lie)."""
    lie, outcomes = found["p_lie"], found["outcomes"]
    lost = f" {found['missing']:,} replies lack one of the two verdicts." if found["missing"] else ""
    if not found["complete"]:
        done = found["replies"] - found["left"]
        return (
            f"Not complete: {done:,} of {found['replies']:,} replies are judged again so far, and they are no sample, "
            f"so that nothing has an interval and there is no P(lie).{lost}"
        )
    if lie is None:
        return f"No scenario has an outcome both times yet.{lost}"
    return (
        f"On the {times(lie['n'], 'scenario')} with an outcome both times P(lie) is {percent(lie['first'])} as judged "
        f"and {percent(lie['other'])} in the audit: {difference(lie['difference'])} points ({between(lie['ci95'])}). "
        f"Of the outcomes {percent(outcomes['agree'])} are alike.{lost}"
    )
