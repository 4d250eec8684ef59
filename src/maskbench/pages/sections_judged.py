"""The sections on the judge: other judges, a second look, people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.pages.charts import Figure, Row, Table, cell, points, shown
from maskbench.pages.parts import Content, Facts, Heading, Json, Warn, estimate, kappa, named, pair, unit
from maskbench.pages.shell import shortened
from maskbench.pages.shown import Run
from maskbench.pages.words import times
from maskbench.report.comparison import between
from maskbench.report.comparison import points as difference
from maskbench.report.corrected import COVERS
from maskbench.report.text import interval, percent
from maskbench.stats import Estimate
from maskbench.types import OUTCOMES

_KINDS = ("direct", "consistency", "statement", "numerical")

# Other judges


def judges(runs: Sequence[Run]) -> Iterator[Content]:
    """Every verdict set of a run, their majority, and how far they agree; how a second look was done."""
    for run in runs:
        held, second = run.summary.get("judges"), run.summary.get("second")
        if held or second:
            yield from map(Heading, named(runs, run))
        if second:
            yield from _second(second, run.result.rates["p_lie"], f"share of {unit([run])}")
        if held:
            yield from _several(held, f"share of {unit([run])}")


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
        yield Figure(points(rows, title=title), "P(lie) by each verdict set, and by their majority", lies, key)
    else:
        yield lies
    yield _counts(every)
    if ensemble:
        yield _majority(ensemble, len(held["sets"]))
    yield from _pairs(held["pairs"])


def _name(one: Json) -> str:
    return shortened(str(one["name"]), 30)


def _judge(one: Json, held: Json) -> str:
    if one is held["ensemble"]:
        return f"the majority of these {len(held['sets'])}"
    return " and ".join(dict.fromkeys(shortened(str(one[kind]), 40) for kind in ("judge", "numeric_judge")))


def _lie(one: Json) -> tuple[str, str, str]:
    lie = estimate(one["p_lie"])
    return *pair(lie), f"{lie.n:,}"


def _reach(one: Json) -> tuple[float, float] | None:
    ends = one["p_lie"].get("disputed_bounds")
    return (ends[0], ends[1]) if ends else None


def _counts(every: Sequence[Json]) -> Table:
    names = [name for name in (*OUTCOMES, "disputed") if any(name in one["counts"] for one in every)]
    rows = tuple((_name(one), *(f"{one['counts'].get(name, 0):,}" for name in names)) for one in every)
    caption = "Scenarios by outcome, of the first statement."
    return Table(("verdict set", *(name.replace("_", " ") for name in names)), rows, caption)


def _majority(ensemble: Json, sets: int) -> str:
    said = f"By the majority of these {sets}, verdict by verdict, P(lie) is {shown(estimate(ensemble['p_lie']))}."
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
        moved.append((f"{other} − {first}", *change, _outcomes(outcomes), kappa(outcomes["kappa"])))
        alike.append((f"{other} and {first}", *(_alike(one["verdicts"][kind]) for kind in _KINDS)))
    caption = "What the choice of judge does to P(lie), in points and paired, and how many outcomes are alike."
    yield Table(("verdict sets", "P(lie), points", "95 %", "outcomes alike", "κ"), tuple(moved), caption)
    caption = (
        "Verdicts alike by kind, with Cohen's κ, the agreement beyond chance. Numbers are alike where they agree "
        "within 5 %."
    )
    yield Table(("verdict sets", "direct", "consistency", "statement", "numbers"), tuple(alike), caption)


def _outcomes(part: Json) -> str:
    return cell(estimate({"value": part["agree"], "ci95": part["ci95"], "n": part["n"]}))


def _alike(part: Json) -> str:
    return percent(part["agree"]) if part["kappa"] is None else f"{percent(part['agree'])}\n(κ {kappa(part['kappa'])})"


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


# People's labels

_CORRECTED = (
    ("p_lie", "P(lie)", "lie"),
    ("p_honest", "P(honest)", "honest"),
    ("p_evasive", "P(evasive)", "evasive"),
    ("p_no_belief", "P(no belief)", "no-belief"),
    ("honesty_score_normalized", "honesty score, normalised", "ink"),
    ("conditional_lie_rate", "conditional lie rate", "lie"),
)


def corrected(runs: Sequence[Run]) -> Iterator[Content]:
    """Rates corrected by people's labels, or why there are none."""
    for run in runs:
        if found := run.summary.get("corrected"):
            yield from map(Heading, named(runs, run))
            if found["withheld"]:
                yield Warn(f"Not corrected for the judge's error: {shortened(str(found['withheld']), 500)}")
            else:
                yield "People read some of the replies, too. Where they and the judge differ, these rates follow them."
                rows = [Row(label, estimate(found["metrics"][name]), colour) for name, label, colour in _CORRECTED]
                title = "Rates corrected for the judge's error"
                drawn = points(rows, title="share (of what, “All the rates” says)")
                yield Figure(drawn, title, _corrections(run, found), note=f"95 % intervals: {COVERS}.")
                yield _rests_on(found)


def _corrections(run: Run, found: Json) -> Table:
    rows = []
    for name, label, _ in _CORRECTED:
        rate = found["metrics"][name]
        share = rate["from_calibration"]
        part = "–" if share is None else f"{share:.0%}".replace("%", " %")
        judged = percent(run.result.rates[name].value)
        rows.append((label, judged, *pair(estimate(rate)), difference(rate["added"]), part))
    head = ("rate", "by the judge", "corrected", "95 %", "points", "share of the variance that is the judge's")
    return Table(head, tuple(rows))


def _rests_on(found: Json) -> str:
    said = (
        f"People labelled {found['labelled']:,} of {times(found['scenarios'], 'scenario')}, and differ from the judge "
        f"on {found['disagreements']:,}."
    )
    lost = [f"{found['unsettled']:,} that they could not settle"] * bool(found["unsettled"])
    lost += [f"{found['without_judged_outcome']:,} without a judged outcome"] * bool(found["without_judged_outcome"])
    return f"{said} Left out: {' and '.join(lost)}." if lost else said
