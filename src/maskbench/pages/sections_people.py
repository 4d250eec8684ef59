"""The sections on people's labels: the judge held against people, and the rates corrected by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from urllib.parse import quote

from maskbench.errors import UsageError
from maskbench.judges.people.against_judge import measured
from maskbench.judges.people.labels import LabelStore
from maskbench.method.verdict import from_json
from maskbench.pages.charts import Figure, Row, Table, cell, points
from maskbench.pages.explorer import embeddable
from maskbench.pages.parts import Case, Content, Folded, Heading, Json, Warn, estimate, kappa, named, pair
from maskbench.pages.story import verdict_words
from maskbench.pages.words import ARCHETYPES, times
from maskbench.plain import shortened, visible
from maskbench.report.format import percent
from maskbench.report.runs_shown import Run
from maskbench.report.sections.comparison_text import between
from maskbench.report.sections.comparison_text import points as difference
from maskbench.report.sections.corrected_text import COVERS, without
from maskbench.report.sections.people_text import labelled, left_out, left_out_lies, mostly_missing
from maskbench.stats.intervals import Estimate
from maskbench.types import OUTCOMES

_WORST = 10  # disagreements on the page
_LONGEST = 600  # characters of one text of them
_LETTERS = ("A", "B", "C", "D")
_CALLS = {"direct": "direct answers", "consistency": "consistency answers", "statement": "statements"}

# Judge against people


def people(runs: Sequence[Run], *, include_text: bool = False) -> Iterator[Content]:
    """How far the judge agrees with people and raters with each other; nothing where nobody has labelled.

    Raters are numbered in the order of their names, for a page may be passed on.
    """
    for run in runs:
        labels = LabelStore(run.result.path)
        if labels.exists and labels.latest():
            yield from map(Heading, named(runs, run))
            yield from _held(run, include_text or embeddable(run.result.settings), several=len(runs) > 1)


def _held(run: Run, embeds: bool, several: bool) -> Iterator[Content]:
    try:
        found = measured(run.opened, run.scored.verdicts, run.scored.rules)
    except UsageError as error:
        yield Warn(f"Not held against people: {shortened(str(error), 500)}")
        return
    yield _sampled(found["sample"])
    if not found["people"]["verdicts"]["n"]:
        yield "There is no reply yet on which people and the judge both have a verdict."
        return
    if said := mostly_missing(found["sample"]):
        yield Warn(said)
    if lies := found["people"]["outcomes"]["p_lie"]:
        yield _moved(lies, found, run.result.settings.statements)
    if said := left_out(found["sample"]):
        yield said
    yield _alike(found)
    yield from _confusions(found["people"])
    yield Folded("By archetype and kind of call", (_kinds(found["people"]["by_archetype"]),))
    if worst := found["disagreements"][:_WORST]:
        every = len(found["disagreements"])
        title = f"{_replies(every)} on which they differ" + (f": the {len(worst)} worst" if every > len(worst) else "")
        place = run.place + 1 if several else None
        yield Folded(title, tuple(_case(one, place, embeds) for one in worst))


def _sampled(sample: Json) -> str:
    had = [f"{each['replies']:,}" for each in sample["raters"].values()]
    said = (
        f"People read replies of {times(sample['scenarios'], 'scenario')}, drawn from {sample['population']:,}, blind "
        f"to the judge{' and to each other' if len(had) > 1 else ''}: {times(len(had), 'rater')} with "
        f"{' and '.join(had)} of {sample['replies']:,} replies. Outcomes follow from labels by the judge's rules: "
        f"{labelled(sample)}."
    )
    if not sample["differing"]:
        return said
    left = sample["differing"] - sample["adjudicated"]
    said += f" Raters differ on {_replies(sample['differing'])}; an adjudicator settled {sample['adjudicated']:,}"
    return f"{said}, and {left:,} {'is' if left == 1 else 'are'} left out below." if left else f"{said}."


def _moved(lies: Json, found: Json, statements: int) -> str:
    of = " of the first statement" if statements > 1 else ""
    ends = f" (95 % interval {between(lies['ci95'])})" if lies["ci95"] else ""
    lost = left_out_lies(found["sample"])
    return (
        f"What that does: on the {times(found['people']['outcomes']['n'], 'scenario')} with an outcome{of} by both, "
        f"weighted to the whole run, P(lie) is {percent(lies['first'])} by the judge and {percent(lies['other'])} by "
        f"people; judge minus people is {difference(lies['difference'])} points{ends}.{f' {lost}' if lost else ''}"
    )


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count:,} replies"


_NOTE = (
    "Shares and κ (Cohen) are weighted to the whole run; α (Krippendorff) is of the sample as it is; both coefficients "
    "are agreement beyond chance. Numbers are alike where they agree within 5 %. Intervals are over propositions. "
    "Where raters agree little with each other, the judge cannot agree much with them."
)


def _alike(found: Json) -> Figure:
    """All agreements as points, and as a table with both coefficients."""
    rows: list[Row | str] = []
    cells: list[tuple[str, ...]] = []
    for title, group in _groups(found):
        rows.append(title)
        for name, part in group.items():
            if part["n"]:
                share = _share(part)
                rows.append(Row(name, share))
                cells.append((f"{title}: {name}", f"{part['n']:,}", cell(share), *_coefficients(part)))
    cells += _all_raters(found)
    head = ("who, on what", "n", "alike", "κ", "α")
    drawn = points(rows, title="share that is alike, of replies or of scenarios")
    return Figure(drawn, "Verdicts and outcomes alike", Table(head, tuple(cells)), note=_note(found))


def _groups(found: Json) -> Iterator[tuple[str, Json]]:
    """Judge and people, then, with several raters, every two who rate; each with what they are compared on."""
    judged, many = found["people"], range(1, len(found["sample"]["raters"]) + 1)
    calls = {_CALLS[call]: part for call, part in judged["by_call"].items()}
    numbers = {"numbers": judged["numbers"], "all replies": judged["verdicts"]}
    yield "Judge and people", {**calls, **numbers, "outcomes": judged["outcomes"]}
    pairs = [(f"Judge and rater {place}", one) for place, one in zip(many, found["each"], strict=False)]
    both = zip(combinations(many, 2), found["raters"], strict=True)
    for title, one in (*((f"Raters {a} and {b}", one) for (a, b), one in both), *pairs):
        yield title, {"options": one["letters"], "numbers": one["numbers"], "outcomes": one["outcomes"]}


def _share(part: Json) -> Estimate:
    return estimate({"value": part["agree"], "ci95": part["agree_ci95"], "n": part["n"]})


def _coefficients(part: Json) -> tuple[str, str]:
    return _coefficient(part, "kappa"), _coefficient(part, "alpha")


def _coefficient(part: Json, name: str) -> str:
    ends = part[f"{name}_ci95"]
    return kappa(part[name]) if ends is None else f"{kappa(part[name])}\n({kappa(ends[0])} to {kappa(ends[1])})"


def _all_raters(found: Json) -> Iterator[tuple[str, ...]]:
    """Alpha of all raters at once, where they are more than two."""
    if (count := len(found["sample"]["raters"])) > 2:
        for name, part in (("options", "letters"), ("outcomes", "outcomes")):
            every = found["all_raters"][part]
            yield f"All {count} raters: {name}", f"{every['n']:,}", "", "", _coefficient(every, "alpha")


def _note(found: Json) -> str:
    paper = found["paper"]
    return f"{_NOTE} The paper's judge agreed with people on {percent(paper['agree'])} of {paper['n']:,} examples."


def _confusions(judged: Json) -> Iterator[Table]:
    """What was what to whom: the judge's outcomes and letters by people's."""
    outcomes = OUTCOMES[:4]
    if judged["outcomes"]["n"]:
        counts = {tuple(pair.split("/")): count for pair, count in judged["outcomes"]["counts"].items()}
        yield _table([*outcomes], counts, "Scenarios by outcome: the judge's down, people's across.")
    if judged["letters"]["n"]:
        counts = {tuple(pair): count for pair, count in judged["letters"]["counts"].items()}
        said = "Replies by verdict: the judge's down, people's across; C is neither option, D denies both."
        yield _table([*_LETTERS], counts, said)


def _table(names: Sequence[str], counts: dict[tuple[str, ...], int], caption: str) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{counts[name, other]:,}" if (name, other) in counts else "·" for other in names))
        for name in names
    )
    return Table(("judge ↓  people →", *(name.replace("_", " ") for name in names)), rows, caption)


def _kinds(parts: Sequence[Json]) -> Table:
    rows = tuple(
        (
            ARCHETYPES[part["archetype"]][0],
            part["call"],
            f"{part['n']:,}",
            cell(_share(part)),
            kappa(part["kappa"]),
            _differ(part["counts"]),
        )
        for part in parts
    )
    return Table(("archetype", "call", "n", "alike", "κ", "judge → people"), rows, texts=2, last_text=True)


def _differ(counts: Json) -> str:
    differ = {pair: count for pair, count in counts.items() if pair[0] != pair[1]}
    said = [f"{pair[0]} → {pair[1]} {count:,}" for pair, count in sorted(differ.items(), key=lambda one: -one[1])]
    said = [each.replace(" ", "\u00a0") for each in said]  # on one line each
    return ", ".join(said)


def _case(one: Json, place: int | None, embeds: bool) -> Case:
    """One reply on which they differ: without its texts where these may not stand on the page."""
    judge, human = (verdict_words(from_json(one[side])) for side in ("judge", "people"))
    said = f"{one['call']}, judge {judge}, people {human}"
    if one["judge_outcome"] != one["people_outcome"]:
        names = (str(one[side] or "open").replace("_", " ") for side in ("judge_outcome", "people_outcome"))
        said += "; outcome {} by the judge, {} by people".format(*names)
    task = one["task_id"][:200]  # as the explorer has it
    address = quote(f"{one['archetype']}/{task}", safe="/,:", errors="replace")
    link = f"#scenario={address}{f'&run={place}' if place else ''}"
    title = f"{ARCHETYPES[one['archetype']][0]}, {shortened(task, 60)}"
    if not embeds:
        return Case(title, link, said)
    letters = "AB" if len(one["claims"]) > 1 else ("How much?",)
    claims = tuple((letter, _cut(claim)) for letter, claim in zip(letters, one["claims"], strict=True))
    return Case(title, link, said, claims, tuple(_texts(one)))


def _texts(one: Json) -> Iterator[tuple[str, str]]:
    yield "asked", _cut(one["asked"])
    for reply in one["replies"]:
        yield "answered", _cut(reply)
    if one["reason"]:
        yield "judge's reason", _cut(one["reason"])


def _cut(text: str) -> str:
    return visible(text, lines=True) if len(text) <= _LONGEST else shortened(text, _LONGEST)


# Corrected rates

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
            if found.get("assumption"):
                yield Warn(shortened(str(found["assumption"]), 500))
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
    head = ("rate", "by the judge", "corrected", "95 %", "points", "judge's part")
    return Table(head, tuple(rows), "The judge's part is the share of the variance that comes from the judge's error.")


def _rests_on(found: Json) -> str:
    whose = "scenarios of another run" if found.get("assumption") else f"of {times(found['scenarios'], 'scenario')}"
    said = f"{found['settled']:,} {whose} have a human outcome"
    differ = f"people differ from the judge on {found['disagreements']:,}"
    return f"{'; '.join((said, differ, *without(found)))}."
