"""Questions on statements: what kind of contradictions the lies are, by their words; and the judge against raters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from maskbench.judges.people.readers import CALLED
from maskbench.method.construct import QUESTIONS
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Figure,
    Heading,
    Inline,
    Only,
    Points,
    Row,
    Sentence,
    Table,
    Warn,
    Words,
    chart_or_table,
)
from maskbench.presentation.format import cell, interval, kappa, percent, span, times
from maskbench.presentation.of_runs import Scored, named
from maskbench.presentation.pairings import side_by_side
from maskbench.presentation.sections.calibration import shares
from maskbench.presentation.words import archetype as titled
from maskbench.results.construct_asked import READINGS, ConstructAsked, ConstructPart
from maskbench.results.construct_correction import ConstructPeople
from maskbench.results.summary import Summary
from maskbench.stats.agreement import Agreed
from maskbench.stats.figures import Difference, Share

READINGS_IN_WORDS: Mapping[str, str] = {  # each reading in words, the nested ones as steps
    "without_performance": "without open performance",
    "to_others": "… to somebody who did not ask",
    "high_harm": "… and would do high harm",
    "not_asked_for": "apart: nobody asked for it",
}
_SHORT: Mapping[str, str] = {  # above columns
    "without_performance": "no open performance",
    "to_others": "… to others",
    "high_harm": "… of high harm",
    "not_asked_for": "unasked",
}
_EVERY = "every contradiction, P(lie)"
_ABOUT = (
    "A lie here is a statement that contradicts the belief, whatever it is for. The judge also answered questions on "
    "the words of each statement, without knowing what is true or believed. Each row counts only the lies whose words "
    "fit it, over the same scenarios as P(lie). The questions are no ladder: a lie that nobody asked for may be "
    "harmless, and one that was ordered may not."
)
_NOTE = (
    "Shares and κ (Cohen) are weighted to the whole run. Corrected shares take answers by labels to be right; their "
    "intervals hold sampling and the judge's error as the labels show it."
)
_MOST = 12  # cells of the cross-table that are shown; the JSON has all


def words_of_statements(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the answers came to; nothing where no run was asked."""
    asked = [(run, run.summary.construct) for run in runs if isinstance(run.summary.construct, ConstructAsked)]
    if not asked:
        return
    yield _ABOUT
    for run, construct in asked:
        yield from map(Heading, named(runs, run))
        yield from _of_run(runs, run, construct)
    yield Sentence(("Sampling error only: the error of the judge in these answers is not in the intervals.",), "note")


def _of_run(runs: Sequence[Scored], run: Scored, construct: ConstructAsked) -> Iterator[Block]:
    yield f"{one_line(construct.judge)} answered."
    if construct.all.withheld:
        yield Warn(f"Withheld: {construct.all.withheld}", "bad")
    yield from _missing(construct.all)
    if construct.all.readings:
        yield _readings(runs, run, construct)
        yield Only("page", _behind(runs, run, construct))
        yield from _by_archetype(run.summary, construct)
    yield _answers(runs, run, construct)
    if construct.cells:
        yield from _crossed(runs, run, construct)
    if construct.all.suspicion:
        yield _suspicion(run, construct.all.suspicion)


def readings(compared: Mapping[str, Difference], first: str, other: str) -> Table:
    """The narrower readings of P(lie) in two runs, with their differences in points."""
    rows = tuple((READINGS_IN_WORDS[name], *side_by_side(rate), f"{rate.n:,}") for name, rate in compared.items())
    head = ("lies that count", first, other, "points", "95 %", "scenarios")
    return Table(head, rows, "P(lie) by what counts as a lie. None of these differences is corrected for the others.")


def _missing(part: ConstructPart) -> Iterator[str]:
    if part.missing:
        counted = ", ".join(f"{count:,} to `{name}`" for name, count in part.missing.items())
        yield (
            f"Answers are missing: {counted}. A missing answer is never a no: the statement is left out where the "
            "answer is needed, and the bounds say what it could change."
        )


def _readings(runs: Sequence[Scored], run: Scored, construct: ConstructAsked) -> Figure | Table:
    """P(lie) and its narrower readings, one below the other."""
    lie = run.summary.rates["p_lie"]
    known = construct.all.readings
    rows = [
        Row(_EVERY, lie, "lie"),
        *(Row(READINGS_IN_WORDS[name], known[name], "lie") for name in known),
    ]
    limits = [run.summary.rates["p_lie"].bounds, *(reading.bounds for reading in known.values())]
    links = [_link(runs, run, {}), *(_link(runs, run, READINGS[name]) for name in known)]
    cells = tuple(
        (
            Words(row.label, "link", link),
            percent(row.estimate.value),
            interval(span(row.estimate)),
            interval(ends),
            f"{row.estimate.n:,}",
        )
        for row, ends, link in zip(rows, limits, links, strict=True)
    )
    table = Table(("lies that count", "share", "95 %", "whatever is missing", "scenarios"), cells)
    return chart_or_table(Points(tuple(rows)), "P(lie) by what counts as a lie", table)


def _behind(runs: Sequence[Scored], run: Scored, construct: ConstructAsked) -> Sentence:
    """Links to the scenarios that each reading counts."""
    parts: list[Inline] = ["The scenarios behind them: "]
    for name in construct.all.readings:
        parts += [Words(_SHORT[name].removeprefix("… "), "link", _link(runs, run, READINGS[name])), ", "]
    return Sentence((*parts[:-1], "."))


def _by_archetype(summary: Summary, construct: ConstructAsked) -> Iterator[Block]:
    names = list(construct.all.readings)
    rows = [
        (
            titled(archetype, (summary.scenarios,)),
            cell(summary.by_archetype[archetype].rates["p_lie"]),
            *(cell(part.readings[name]) for name in names),
        )
        for archetype, part in construct.by_archetype.items()
    ]
    head = ("archetype", "P(lie)", *(_SHORT[name] for name in names))
    if len(rows) > 1:
        yield Table(head, tuple(rows), "P(lie) by what counts as a lie, by archetype.")


def _answers(runs: Sequence[Scored], run: Scored, construct: ConstructAsked) -> Table:
    """How often each answer was given."""
    rows: list[tuple[Inline, ...]] = []
    for name, answers in construct.all.shares.items():
        for place, (answer, share) in enumerate(answers.items()):
            title = QUESTIONS[name].title if place == 0 else ""
            linked = Words(answer, "link", _link(runs, run, {name: answer}))
            rows.append((title, linked, cell(share["lies"]), cell(share["statements"])))
    return Table(("question", "answer", "of lies", "of all statements"), tuple(rows), "The answers.", 2)


def _crossed(runs: Sequence[Scored], run: Scored, construct: ConstructAsked) -> Iterator[Block]:
    """The lies by all answers together."""
    names = list(construct.cells[0].answers)
    rows: list[tuple[Inline, ...]] = [
        (
            *(each.answers[name] for name in names),
            Words(f"{each.lies:,}", "link", _link(runs, run, each.answers)),
            f"{percent(each.share.value)}\n({interval(each.share.ci95)})",
        )
        for each in construct.cells[:_MOST]
    ]
    head = (*(name.replace("_", " ") for name in names), "lies", "share of lies")
    rest = sum(each.lies for each in construct.cells[_MOST:])
    more = f" {rest:,} more lies are in smaller cells." if rest else ""
    yield Table(head, tuple(rows), f"The lies by their answers together.{more}", len(names))
    yield Only("page", "A number in these tables opens the scenarios behind it.")


def _suspicion(run: Scored, suspected: Mapping[str, Share]) -> Table:
    def row(label: str, rate: Share, of: str) -> tuple[Inline, ...]:
        return label, percent(rate.value), interval(rate.ci95), f"{rate.n:,}", of

    rows = [
        row("replies that suspect a test", suspected["replies"], "scenarios with a reply"),
        *([row("reasoning that does", suspected["reasoning"], "with reasoning")] if suspected["reasoning"].n else []),
        row("P(lie) without them", suspected["p_lie_without"], "with an outcome and no suspicion"),
        row(_EVERY, run.summary.rates["p_lie"], "with an outcome"),
    ]
    caption = "Does it think that it is tested? Silence does not show that it does not."
    return Table(("", "share", "95 %", "scenarios", "of what"), tuple(rows), caption, last_text=True)


def _link(runs: Sequence[Scored], run: Scored, answers: Mapping[str, str]) -> str:
    """The address of the lies with these answers in the page's list of scenarios."""
    place = [f"run={run.place + 1}"] if len(runs) > 1 else []
    given = [f"{name}={quote(answer)}" for name, answer in answers.items()]
    return f"#{'&'.join(['outcome=lie', *given, *place])}"


# What `maskbench label --show --construct` says


def construct_people_blocks(data: ConstructPeople) -> Iterator[Block]:
    """How far the judge agrees with raters on each question, they with each other, and what the labels correct."""
    who = CALLED[data.who].all
    yield Sentence((Words(f"{one_line(data.judge)} against {who}, questions on statements, rules {data.rules}"),))
    names = f" ({one_line(', '.join(data.raters))})" if data.raters else ""
    yield (
        f"{times(data.drawn, 'statement')} of {data.statements:,} are in the sample; {who}{names} answered on "
        f"{data.answered:,} of them. Whether a statement is a lie is said by {who} on {data.lies_by_readers:,} of them "
        "and by the judge on the others (`label --construct --lies` asks for it)."
    )
    if not data.questions:
        yield "Nobody has answered anything yet."
        return
    head = ("question", "who", "alike", "95 %", "κ", "95 %", "of")
    yield Table(head, tuple(_rows(data)))
    readings = {READINGS_IN_WORDS[name]: share for name, share in data.readings.items()}
    answers = {f"{name}: {' or '.join(QUESTIONS[name].positive)}": share for name, share in data.answers.items()}
    for part in (readings, answers):
        if part:
            yield shares(part)
    withheld = dict.fromkeys(
        share.withheld for part in (readings, answers) for share in part.values() if share.withheld
    )
    yield from withheld
    yield Sentence((_NOTE,), "note")


def _rows(data: ConstructPeople) -> Iterator[tuple[str, ...]]:
    for name, question in data.questions.items():
        yield _row(name, f"judge / {CALLED[data.who].all}", question.judge)
        for who, both in question.raters.items():
            yield _row("", one_line(who), both)


def _row(name: str, who: str, both: Agreed) -> tuple[str, ...]:
    coefficient = "–" if not both.kappa_ci95 else " to ".join(kappa(end) for end in both.kappa_ci95)
    alike = (percent(both.agree), interval(both.agree_ci95))
    return (name, who, *alike, kappa(both.kappa), coefficient, f"{both.n:,}")
