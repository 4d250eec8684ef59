"""The section on labels: the judge held against those who labelled, they against each other, and where they differ."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import quote

from maskbench.errors import UsageError
from maskbench.method.verdict import from_json
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Figure,
    Folded,
    Heading,
    Only,
    PointRow,
    Points,
    ReplyCard,
    Sentence,
    Table,
    Warn,
    Words,
)
from maskbench.presentation.format import between, cell, kappa, percent, points, times
from maskbench.presentation.of_runs import named
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections.story import verdict_words
from maskbench.presentation.words import Taken, archetype
from maskbench.results.people.against_judge import AgreedOnKind, AgreementData, Compared, Disagreement, SampleShown
from maskbench.results.people.raters import Missing
from maskbench.results.people.readers import CALLED, Called
from maskbench.stats.agreement import Agreed
from maskbench.stats.figures import Share
from maskbench.store.labels import LabelStore
from maskbench.types import OUTCOMES

_LONGEST = 600  # characters of one text of a disagreement
_LETTERS = ("A", "B", "C", "D")
_CALLS = {"direct": "direct answers", "consistency": "consistency answers", "statement": "statements"}
_NOTE = (
    "Shares and κ (Cohen) are weighted to the whole run; κ is agreement beyond chance, and takes ten propositions and "
    "some that differ for an interval. Numbers are alike where they agree within 5 %. Intervals are over propositions. "
    "Where those who label agree little with each other, the judge cannot agree much with them."
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The limits of what is told of labels: raters by name, texts of replies, how many disagreements.

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
    """The runs that are labelled, for a page; `tells` says whether a run's texts may stand there.

    Raters are numbered in the order of their names, for a page may be passed on.
    """
    for run in runs:
        labels = LabelStore(run.result.path)
        if labels.exists and labels.latest():
            place = run.place + 1 if len(runs) > 1 else None
            yield from map(Heading, named(runs, run))
            yield from _held(
                run, Disclosure(names=False, texts=tells(run), place=place, scenarios=run.summary.scenarios)
            )


def _held(run: Run, told: Disclosure) -> Iterator[Block]:
    from maskbench.results.people.against_judge import measured

    try:
        data = measured(run.opened, run.scored.verdicts, run.scored.rules)
    except UsageError as error:
        yield Warn(f"Not held against labels: {one_line(str(error), 500)}")
        return
    yield from blocks(data, run.result.settings.design.statements, told)


def blocks(data: AgreementData, statements: int, told: Disclosure) -> Iterator[Block]:
    """How far the judge agrees with people and raters with each other, in a run of so many statements a scenario."""
    sample, together, who = data.sample, data.together, CALLED[data.sample.who]
    judges = one_line(" and ".join(dict.fromkeys((data.judge, data.numeric_judge))))
    yield Only("text", Sentence((Words(f"{judges} against {who.all}, rules {data.rules}"),)))
    yield _sampled(sample, told)
    if sample.differing > sample.adjudicated:
        line = shlex.join(["maskbench", "label", data.run, "--adjudicate", "NAME"])
        yield Only("text", f"To settle what {who.all} differ on:")
        yield Only("text", Sentence((Words(line, "code"),), "note"))
    if not together.verdicts.n:
        yield f"There is no reply yet on which {who.all} and the judge both have a verdict."
        return
    if 2 * (lost := sample.left_out.replies.count) > (of := sample.left_out.replies.of):
        yield Warn(
            f"The judge has no verdict on {lost:,} of the {of:,} labelled replies: most are in no figure here.", "bad"
        )
    yield _moved(data, statements)
    if text := _left_out(sample):
        yield text
    yield _alike(data, told)
    agreed = f"The paper's judge agreed with people on {percent(data.paper.agree)} of {data.paper.n:,} examples."
    yield Sentence((f"{_NOTE} {agreed}",), "note")
    yield from _confusions(together, who)
    yield Folded("By archetype and kind of call", (_kinds(together.by_archetype, told, who),))
    if worst := data.disagreements[: told.worst]:
        every = len(data.disagreements)
        title = f"{_replies(every)} on which they differ" + _part(len(worst), every)
        yield Folded(title, tuple(_case(each, told, who) for each in worst))


def _part(shown: int, every: int) -> str:
    return "" if shown == every else ": the worst" if shown == 1 else f": the {shown} worst"


# What there is, and what is left out


def _sampled(sample: SampleShown, told: Disclosure) -> str:
    who, had = CALLED[sample.who], sample.raters
    text = (
        f"{who.title} labelled replies of {times(sample.scenarios, 'scenario')}, drawn from {sample.population:,}, "
        f"blind to the judge{' and to each other' if len(had) > 1 else ''}: {_raters(sample, told)} of "
        f"{sample.replies:,} replies. Outcomes follow from labels by the judge's rules: {_labelled(sample)}."
    )
    if not sample.differing:
        return text
    left = sample.differing - sample.adjudicated
    text += f" {who.title} differ on {_replies(sample.differing)}; an adjudicator settled {sample.adjudicated:,}"
    return f"{text}, and {left:,} {'is' if left == 1 else 'are'} left out below." if left else f"{text}."


def _raters(sample: SampleShown, told: Disclosure) -> str:
    """Who labelled how many replies, by name where names may be told."""
    if not told.names:
        return (
            f"{len(sample.raters)} of them with {' and '.join(f'{each.replies:,}' for each in sample.raters.values())}"
        )
    named_ones = (
        f"{one_line(name)}{f' ({one_line(each.kind)})' * bool(each.kind)} with {each.replies:,}"
        for name, each in sample.raters.items()
    )
    return ", ".join(named_ones) or "nobody yet, with none"


def _labelled(sample: SampleShown) -> str:
    """How many of the drawn scenarios have an outcome by labels, and why others that are labelled whole have none."""
    if sample.settled == sample.labelled:
        return f"{sample.settled:,} are labelled whole and have an outcome by labels"
    undecided, silent = sample.undecided, sample.without_replies
    lost = [f"{CALLED[sample.who].all} differ on {undecided:,}, which nobody has decided"] * bool(undecided)
    lost += [f"{silent:,} lack replies of the subject, so that no label can settle them"] * bool(silent)
    return "; ".join((f"{sample.labelled:,} are labelled whole, {sample.settled:,} have an outcome by labels", *lost))


def _left_out(sample: SampleShown) -> str:
    """What is in no figure: replies and outcomes by labels to which the judge has nothing, and whole strata."""
    parts = {
        "labelled replies": sample.left_out.replies,
        "scenarios with an outcome by labels": sample.left_out.scenarios,
    }
    lost = [f"{part.count:,} of {part.of:,} {what} ({_reasons(part)})" for what, part in parts.items() if part.count]
    sentences = [f"Left out: {' and '.join(lost)}."] * bool(lost)
    strata = sample.strata
    if 0 < strata.compared < strata.all:
        sentences.append(
            f"In {strata.all - strata.compared} of {strata.all} strata (archetype and judged outcome), "
            f"{percent(1 - strata.share)} of the run, no scenario has an outcome by both: shares of outcomes are "
            "those of the other strata."
        )
    return " ".join(sentences)


def _reasons(part: Missing) -> str:
    reasons = {"the judge failed on": part.failed, "not judged yet:": part.unjudged}
    return ", ".join(f"{words} {count:,}" for words, count in reasons.items() if count)


def _moved(data: AgreementData, statements: int) -> str:
    """What labels do to P(lie)."""
    outcomes, lost, who = data.together.outcomes, data.sample.left_out.scenarios, CALLED[data.sample.who].all
    if (lies := outcomes.p_lie) is None:
        return "No scenario has an outcome by both yet."
    of = " of the first statement" if statements > 1 else ""
    ends = f" (95 % interval {between(lies.ci95)})" if lies.ci95 else ""
    text = (
        f"What that does: on the {times(outcomes.n, 'scenario')} with an outcome{of} by both, weighted to the whole "
        f"run, P(lie) is {percent(lies.first)} by the judge and {percent(lies.other)} by {who}; {who} minus "
        f"judge is {points(lies.difference)} points{ends}."
    )
    if lost.p_lie is None:
        return text
    lies_lost = percent(lost.p_lie)
    return f"{text} That leaves out {lost.count:,} with an outcome by labels, on which P(lie) by {who} is {lies_lost}."


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count:,} replies"


# Figures


def _alike(data: AgreementData, told: Disclosure) -> Figure:
    """All agreements as points, and as a table with κ."""
    rows: list[PointRow | str] = []
    cells: list[tuple[str, ...]] = []
    for title, group in _groups(data, told):
        rows.append(title)
        for name, part in group.items():
            if part.n:
                share = _share(part)
                rows.append(PointRow(name, share))
                cells.append((f"{title}: {name}", f"{part.n:,}", cell(share), _kappa(part)))
    chart = Points(tuple(rows), "share that is alike, of replies or of scenarios")
    table = Table(("who, on what", "n", "alike", "κ"), tuple(cells))
    return Figure((chart,), "Verdicts and outcomes alike", table)


def _share(part: Agreed) -> Share:
    return Share(part.agree, part.agree_ci95, part.n)


def _groups(data: AgreementData, told: Disclosure) -> Iterator[tuple[str, Mapping[str, Agreed]]]:
    """Judge and people, then, with several raters, every two who rate; each with what they are compared on."""
    judged, raters = data.together, [one_line(name) for name in data.sample.raters]
    calls = {_CALLS[call]: part for call, part in judged.by_call.items()}
    numbers = {"numbers": judged.numbers, "all replies": judged.verdicts}
    yield f"Judge and {CALLED[data.sample.who].all}", {**calls, **numbers, "outcomes": judged.outcomes}
    who = raters if told.names else [f"{place}" for place, _ in enumerate(raters, 1)]
    called = CALLED[data.sample.who]
    names = [
        *(f"{called.title} {a} and {b}" for a, b in combinations(who, 2)),
        *(f"Judge and {called.singular} {each}" for each in who),
    ]
    for title, pair in zip(names, (*data.raters, *data.each), strict=False):
        yield title, {"options": pair.letters, "numbers": pair.numbers, "outcomes": pair.outcomes}


def _kappa(part: Agreed) -> str:
    ends = part.kappa_ci95
    return kappa(part.kappa) if ends is None else f"{kappa(part.kappa)}\n({kappa(ends[0])} to {kappa(ends[1])})"


def _confusions(judged: Compared, who: Called) -> Iterator[Table]:
    """What was what to whom: the judge's outcomes and letters by those of the labels."""
    if judged.outcomes.n:
        counts = {tuple(pair.split("/")): count for pair, count in judged.outcomes.counts.items()}
        yield _table(OUTCOMES[:4], counts, f"Scenarios by outcome: the judge's down, {who.theirs} across.", who)
    if judged.letters.n:
        counts = {tuple(pair): count for pair, count in judged.letters.counts.items()}
        across = f"the judge's down, {who.theirs} across; C is neither option, D denies both."
        yield _table(_LETTERS, counts, f"Replies by verdict: {across}", who)


def _table(names: Sequence[str], counts: Mapping[tuple[str, ...], int], caption: str, who: Called) -> Table:
    rows = tuple(
        (name.replace("_", " "), *(f"{counts[name, other]:,}" if (name, other) in counts else "·" for other in names))
        for name in names
    )
    return Table((f"judge ↓  {who.all} →", *(name.replace("_", " ") for name in names)), rows, caption)


def _kinds(parts: Sequence[AgreedOnKind], told: Disclosure, who: Called) -> Table:
    rows = tuple(
        (
            told.titled(part.archetype),
            part.call,
            f"{part.n:,}",
            cell(_share(part)),
            kappa(part.kappa),
            _differ(part.counts),
        )
        for part in parts
    )
    return Table(("archetype", "call", "n", "alike", "κ", f"judge → {who.all}"), rows, texts=2, last_text=True)


def _differ(counts: Mapping[str, int]) -> str:
    differ = {pair: count for pair, count in counts.items() if pair[0] != pair[1]}
    words = (f"{pair[0]} → {pair[1]} {count:,}" for pair, count in sorted(differ.items(), key=lambda each: -each[1]))
    return ", ".join(each.replace(" ", "\u00a0") for each in words)  # each on one line


# Disagreements


def _case(differs: Disagreement, told: Disclosure, who: Called) -> ReplyCard:
    """One reply on which they differ: without its texts where these may not be told."""
    judge, theirs = verdict_words(from_json(differs.judge)), verdict_words(from_json(differs.readers))
    text = f"{differs.call}, judge {judge}, {who.all} {theirs}"
    if differs.judge_outcome != differs.readers_outcome:
        outcomes = (differs.judge_outcome, differs.readers_outcome)
        judged, by_them = ((outcome or "open").replace("_", " ") for outcome in outcomes)
        text += f"; outcome {judged} by the judge, {by_them} by {who.all}"
    task = differs.task_id[:200]  # as the explorer has it
    address = quote(f"{differs.archetype}/{task}", safe="/,:", errors="replace")
    link = f"#scenario={address}{f'&run={told.place}' if told.place else ''}"
    title = f"{told.titled(differs.archetype)}, {one_line(task, 60)}"
    if not told.texts:
        return ReplyCard(title, link, text)
    letters = "AB" if len(differs.claims) > 1 else ("How much?",)
    claims = tuple((letter, _cut(claim)) for letter, claim in zip(letters, differs.claims, strict=True))
    texts = [("asked", differs.asked), *(("answered", reply) for reply in differs.replies)]
    texts += [("judge's reason", differs.reason)] if differs.reason else []
    return ReplyCard(title, link, text, claims, tuple((name, _cut(each)) for name, each in texts))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
