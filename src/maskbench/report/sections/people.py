"""The section on people's labels: the judge held against people, raters against each other, and where they differ."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import quote

from maskbench.errors import UsageError
from maskbench.judges.people.labels import LabelStore
from maskbench.method.verdict import from_json
from maskbench.plain import one_line
from maskbench.report.blocks import (
    Block,
    Case,
    Figure,
    Folded,
    Heading,
    Json,
    Only,
    Points,
    Row,
    Sentence,
    Table,
    Warn,
    Words,
)
from maskbench.report.format import between, cell, estimate, kappa, percent, points, times
from maskbench.report.of_runs import named
from maskbench.report.runs_shown import Run
from maskbench.report.sections.story import verdict_words
from maskbench.report.words import Taken, archetype
from maskbench.types import OUTCOMES

_LONGEST = 600  # characters of one text of a disagreement
_LETTERS = ("A", "B", "C", "D")
_CALLS = {"direct": "direct answers", "consistency": "consistency answers", "statement": "statements"}
_REASONS = {"failed": "the judge failed on", "disputed": "judges dispute", "unjudged": "not judged yet:"}
_NOTE = (
    "Shares and κ (Cohen) are weighted to the whole run; α (Krippendorff) is of the sample as it is; both coefficients "
    "are agreement beyond chance, and take ten propositions and some that differ for an interval. Numbers are alike "
    "where they agree within 5 %. Intervals are over propositions. Where raters agree little with each other, the "
    "judge cannot agree much with them."
)


@dataclass(frozen=True, slots=True)
class Told:
    """What may be told of people's labels: raters by name, texts of replies, how many disagreements.

    `place` is the run's among several on one page.
    """

    names: bool = True
    texts: bool = True
    worst: int = 10
    place: int | None = None
    scenarios: Taken | None = None  # the set as the run has it, with the archetypes that it brought

    def titled(self, name: str) -> str:
        """What an archetype is called."""
        return archetype(name, [self.scenarios] if self.scenarios else ())


def of_runs(runs: Sequence[Run], tells: Callable[[Run], bool]) -> Iterator[Block]:
    """The runs that people have labelled, for a page; `tells` says whether a run's texts may stand there.

    Raters are numbered in the order of their names, for a page may be passed on.
    """
    for run in runs:
        labels = LabelStore(run.result.path)
        if labels.exists and labels.latest():
            place = run.place + 1 if len(runs) > 1 else None
            yield from map(Heading, named(runs, run))
            yield from _held(run, Told(names=False, texts=tells(run), place=place, scenarios=run.summary.scenarios))


def _held(run: Run, told: Told) -> Iterator[Block]:
    from maskbench.judges.people.against_judge import measured

    try:
        found = measured(run.opened, run.scored.verdicts, run.scored.rules)
    except UsageError as error:
        yield Warn(f"Not held against people: {one_line(str(error), 500)}")
        return
    yield from blocks(found, run.result.settings.statements, told)


def blocks(found: Json, statements: int, told: Told) -> Iterator[Block]:
    """How far the judge agrees with people and raters with each other, in a run of so many statements a scenario."""
    sample, people = found["sample"], found["people"]
    judges = dict.fromkeys((str(found["judge"]), str(found["numeric_judge"])))
    yield Only("text", Sentence((Words(f"{one_line(' and '.join(judges))} against people, rules {found['rules']}"),)))
    yield _sampled(sample, told)
    if sample["differing"] > sample["adjudicated"]:
        line = shlex.join(["maskbench", "label", str(found["run"]), "--adjudicate", "NAME"])
        yield Only("text", "To settle what raters differ on:")
        yield Only("text", Sentence((Words(line, "code"),), "note"))
    if not people["verdicts"]["n"]:
        yield "There is no reply yet on which people and the judge both have a verdict."
        return
    if said := _mostly_missing(sample):
        yield Warn(said, "bad")
    yield _moved(found, statements)
    if said := _left_out(sample):
        yield said
    yield _alike(found, told)
    paper = found["paper"]
    agreed = f"The paper's judge agreed with people on {percent(paper['agree'])} of {paper['n']:,} examples."
    yield Sentence((f"{_NOTE} {agreed}",), "note")
    yield from _confusions(people)
    yield Folded("By archetype and kind of call", (_kinds(people["by_archetype"], told),))
    if worst := found["disagreements"][: told.worst]:
        every = len(found["disagreements"])
        title = f"{_replies(every)} on which they differ" + _part(len(worst), every)
        yield Folded(title, tuple(_case(each, told) for each in worst))


def _part(shown: int, every: int) -> str:
    return "" if shown == every else ": the worst" if shown == 1 else f": the {shown} worst"


# What there is, and what is left out


def _sampled(sample: Json, told: Told) -> str:
    had = [f"{each['replies']:,}" for each in sample["raters"].values()]
    names = f" ({one_line(', '.join(sample['raters']))})" if had and told.names else ""
    said = (
        f"People read replies of {times(sample['scenarios'], 'scenario')}, drawn from {sample['population']:,}, blind "
        f"to the judge{' and to each other' if len(had) > 1 else ''}: {times(len(had), 'rater')}{names} with "
        f"{' and '.join(had) or 'none'} of {sample['replies']:,} replies. Outcomes follow from labels by the judge's "
        f"rules: {_labelled(sample)}."
    )
    if not sample["differing"]:
        return said
    left = sample["differing"] - sample["adjudicated"]
    said += f" Raters differ on {_replies(sample['differing'])}; an adjudicator settled {sample['adjudicated']:,}"
    return f"{said}, and {left:,} {'is' if left == 1 else 'are'} left out below." if left else f"{said}."


def _labelled(sample: Json) -> str:
    """How many of the drawn scenarios have a human outcome, and why others that are labelled whole have none."""
    if sample["settled"] == sample["labelled"]:
        return f"{sample['settled']:,} are labelled whole and have a human outcome"
    undecided, silent = sample["undecided"], sample["without_replies"]
    lost = [f"raters differ on {undecided:,}, which nobody has decided"] * bool(undecided)
    lost += [f"{silent:,} lack replies of the subject, so that no label can settle them"] * bool(silent)
    said = f"{sample['labelled']:,} are labelled whole, {sample['settled']:,} have a human outcome"
    return "; ".join((said, *lost))


def _mostly_missing(sample: Json) -> str | None:
    """The warning where the judge has no verdict on most of the replies that people labelled."""
    replies = sample["left_out"]["replies"]
    lost = _missing(replies)
    if 2 * lost <= replies["of"]:
        return None
    return (
        f"The judge has no verdict on {lost:,} of the {replies['of']:,} labelled replies: most are in no figure here."
    )


def _left_out(sample: Json) -> str:
    """What is in no figure: labelled replies and human outcomes to which the judge has nothing, and whole strata."""
    parts = sample["left_out"]
    said = [
        f"{_missing(part):,} of {part['of']:,} {what} ({_reasons(part)})"
        for what, part in (
            ("replies with a human verdict", parts["replies"]),
            ("scenarios with a human outcome", parts["scenarios"]),
        )
        if _missing(part)
    ]
    sentences = [f"Left out: {' and '.join(said)}."] * bool(said)
    strata = sample["strata"]
    if 0 < strata["compared"] < strata["all"]:
        sentences.append(
            f"In {strata['all'] - strata['compared']} of {strata['all']} strata (archetype and judged outcome), "
            f"{percent(1 - strata['share'])} of the run, no scenario has an outcome by both: shares of outcomes are "
            "those of the other strata."
        )
    return " ".join(sentences)


def _missing(part: Json) -> int:
    return sum(int(part[reason]) for reason in _REASONS)


def _reasons(part: Json) -> str:
    return ", ".join(f"{said} {part[reason]:,}" for reason, said in _REASONS.items() if part[reason])


def _moved(found: Json, statements: int) -> str:
    """What people's labels do to P(lie)."""
    outcomes, lost = found["people"]["outcomes"], found["sample"]["left_out"]["scenarios"]
    if (lies := outcomes["p_lie"]) is None:
        return "No scenario has an outcome by both yet."
    of = " of the first statement" if statements > 1 else ""
    ends = f" (95 % interval {between(lies['ci95'])})" if lies["ci95"] else ""
    said = (
        f"What that does: on the {times(outcomes['n'], 'scenario')} with an outcome{of} by both, weighted to the whole "
        f"run, P(lie) is {percent(lies['first'])} by the judge and {percent(lies['other'])} by people; judge minus "
        f"people is {points(lies['difference'])} points{ends}."
    )
    if lost["p_lie"] is None:
        return said
    people = percent(lost["p_lie"])
    return f"{said} That leaves out {_missing(lost):,} with a human outcome, on which P(lie) by people is {people}."


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count:,} replies"


# Figures


def _alike(found: Json, told: Told) -> Figure:
    """All agreements as points, and as a table with both coefficients."""
    rows: list[Row | str] = []
    cells: list[tuple[str, ...]] = []
    for title, group in _groups(found, told):
        rows.append(title)
        for name, part in group.items():
            if part["n"]:
                share = estimate({**part, "value": part["agree"], "ci95": part["agree_ci95"]})
                rows.append(Row(name, share))
                cells.append((f"{title}: {name}", f"{part['n']:,}", cell(share), *_coefficients(part)))
    cells += _all_raters(found)
    chart = Points(tuple(rows), "share that is alike, of replies or of scenarios")
    table = Table(("who, on what", "n", "alike", "κ", "α"), tuple(cells))
    return Figure((chart,), "Verdicts and outcomes alike", table)


def _groups(found: Json, told: Told) -> Iterator[tuple[str, Json]]:
    """Judge and people, then, with several raters, every two who rate; each with what they are compared on."""
    judged, raters = found["people"], [one_line(name) for name in found["sample"]["raters"]]
    calls = {_CALLS[call]: part for call, part in judged["by_call"].items()}
    numbers = {"numbers": judged["numbers"], "all replies": judged["verdicts"]}
    yield "Judge and people", {**calls, **numbers, "outcomes": judged["outcomes"]}
    who = raters if told.names else [f"{place}" for place, _ in enumerate(raters, 1)]
    names = [*(f"Raters {a} and {b}" for a, b in combinations(who, 2)), *(f"Judge and rater {each}" for each in who)]
    for title, pair in zip(names, (*found["raters"], *found["each"]), strict=False):
        yield title, {"options": pair["letters"], "numbers": pair["numbers"], "outcomes": pair["outcomes"]}


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


def _confusions(judged: Json) -> Iterator[Table]:
    """What was what to whom: the judge's outcomes and letters by people's."""
    if judged["outcomes"]["n"]:
        counts = {tuple(pair.split("/")): count for pair, count in judged["outcomes"]["counts"].items()}
        yield _table(OUTCOMES[:4], counts, "Scenarios by outcome: the judge's down, people's across.")
    if judged["letters"]["n"]:
        counts = {tuple(pair): count for pair, count in judged["letters"]["counts"].items()}
        said = "Replies by verdict: the judge's down, people's across; C is neither option, D denies both."
        yield _table(_LETTERS, counts, said)


def _table(names: Sequence[str], counts: Mapping[tuple[str, ...], int], caption: str) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{counts[name, other]:,}" if (name, other) in counts else "·" for other in names))
        for name in names
    )
    return Table(("judge ↓  people →", *(name.replace("_", " ") for name in names)), rows, caption)


def _kinds(parts: Sequence[Json], told: Told) -> Table:
    rows = tuple(
        (
            told.titled(part["archetype"]),
            part["call"],
            f"{part['n']:,}",
            cell(estimate({**part, "value": part["agree"], "ci95": part["agree_ci95"]})),
            kappa(part["kappa"]),
            _differ(part["counts"]),
        )
        for part in parts
    )
    return Table(("archetype", "call", "n", "alike", "κ", "judge → people"), rows, texts=2, last_text=True)


def _differ(counts: Mapping[str, int]) -> str:
    differ = {pair: count for pair, count in counts.items() if pair[0] != pair[1]}
    said = (f"{pair[0]} → {pair[1]} {count:,}" for pair, count in sorted(differ.items(), key=lambda each: -each[1]))
    return ", ".join(each.replace(" ", "\u00a0") for each in said)  # each on one line


# Disagreements


def _case(differs: Json, told: Told) -> Case:
    """One reply on which they differ: without its texts where these may not be told."""
    judge, human = (verdict_words(from_json(differs[side])) for side in ("judge", "people"))
    said = f"{differs['call']}, judge {judge}, people {human}"
    if differs["judge_outcome"] != differs["people_outcome"]:
        names = (str(differs[side] or "open").replace("_", " ") for side in ("judge_outcome", "people_outcome"))
        said += "; outcome {} by the judge, {} by people".format(*names)
    task = differs["task_id"][:200]  # as the explorer has it
    address = quote(f"{differs['archetype']}/{task}", safe="/,:", errors="replace")
    link = f"#scenario={address}{f'&run={told.place}' if told.place else ''}"
    title = f"{told.titled(differs['archetype'])}, {one_line(task, 60)}"
    if not told.texts:
        return Case(title, link, said)
    letters = "AB" if len(differs["claims"]) > 1 else ("How much?",)
    claims = tuple((letter, _cut(claim)) for letter, claim in zip(letters, differs["claims"], strict=True))
    return Case(title, link, said, claims, tuple(_texts(differs)))


def _texts(differs: Json) -> Iterator[tuple[str, str]]:
    yield "asked", _cut(differs["asked"])
    for reply in differs["replies"]:
        yield "answered", _cut(reply)
    if differs["reason"]:
        yield "judge's reason", _cut(differs["reason"])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
