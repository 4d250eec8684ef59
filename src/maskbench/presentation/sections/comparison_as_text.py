"""A comparison as `maskbench compare` prints it: in 30 lines or less, verdicts first, or in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from maskbench.method.asks import VERDICTS
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, Sentence, Table, Warn, Words
from maskbench.presentation.format import CAVEAT, between, times
from maskbench.presentation.pairings import besides, both, measured, names
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.comparison import (
    about_rates,
    comparison,
    differs,
    margin,
    rates,
    rates_are,
    significance,
    transitions,
    whose_rates,
)
from maskbench.presentation.words import RATES
from maskbench.results.comparison import ComparisonData, Pairing, is_on_logs
from maskbench.results.gain_minus_plain import MEASURE, ReportsReader
from maskbench.stats.paired import p_value
from maskbench.store.system_prompts import LIBRARY

JOINT = " + "  # between a subject and what was done to it


def in_brief(data: ComparisonData) -> Iterator[Block]:
    """The verdicts, the rates and what became of each outcome; of several runs a line each."""
    data, subject = shortly(data)
    yield from _one(data, data.others[0], subject) if len(data.others) == 1 else _several(data, subject)
    yield from map(one_line, data.notes)


def in_full(data: ComparisonData) -> Iterator[Block]:
    """Everything that the data have, but for the names of all scenarios that changed."""
    yield from comparison(shortly(data)[0])
    yield Facts(tuple(_about(data)))


def _about(data: ComparisonData) -> Iterator[tuple[str, str]]:
    for place, run in enumerate((data.first, *data.others)):
        verdicts = "" if run.verdicts == "default" else f", verdicts {one_line(run.verdicts)}"
        what = f"{one_line(run.subject)} on {one_line(run.scenarios)}, protocol {run.protocol}"
        yield "other" if place else "first", f"{one_line(run.run)}: {what}{verdicts}"
    yield "rules", f"{data.rules}, for all of them"
    yield from (("note", one_line(note)) for note in data.notes)


def shortly(data: ComparisonData) -> tuple[ComparisonData, str]:
    """The comparison with each run named by what differs where all have one subject, and that subject; else no name."""
    runs = (data.first, *data.others)
    parts = [run.subject.split(JOINT) for run in runs]
    rests = [JOINT.join(part[1:]) for part in parts]
    if len({part[0] for part in parts}) > 1 or len(set(rests)) < len(rests):
        return data, ""
    prompts = all(rest in LIBRARY or rest.endswith((".md", ".txt")) for rest in rests if rest)
    first, *others = (
        structs.replace(run, subject=rest or ("no prompt" if prompts else "as it is"))
        for run, rest in zip(runs, rests, strict=True)
    )
    return structs.replace(data, first=first, others=others), parts[0][0]


def _one(data: ComparisonData, pairing: Pairing, subject: str) -> Iterator[Block]:
    first, other = names(data, pairing)
    yield Heading(f"{f'{one_line(subject)}: ' if subject else ''}{other} against {first}")
    yield from margin(pairing)
    on_logs = pairing.of(ReportsReader)
    yield reports_on_logs.verdict(pairing, first, other) if on_logs else _verdict(pairing, first, other)
    reasons = () if pairing.withheld else pairing.untested_because
    yield from (Warn(one_line(line)) for line in (*pairing.warnings, *reasons))
    if pairing.differs:
        yield differs(pairing.differs, first, other)
    if not pairing.withheld:
        table = rates(pairing, first, other)
        yield table if isinstance(table, Table) else table.table
        yield about_rates(pairing)
    yield from rates_are(pairing, first, other)
    if not on_logs:
        figure = transitions(pairing.transitions, first, other)
        yield replace(figure if isinstance(figure, Table) else figure.table, caption="")
    yield " ".join(_counts(data, pairing))


def _verdict(pairing: Pairing, first: str, other: str) -> Warn:
    """The verdict of the one test in words, with both figures."""
    lie = pairing.rates["p_lie"]
    if pairing.withheld:
        return Warn(f"WITHHELD: {one_line(pairing.withheld)}", "bad")
    if lie.difference is None:
        return Warn(f"NOT TESTED: no shared scenario has an outcome in both {first} and {other}.")
    if pairing.p_holm is None:
        return Warn(f"NOT TESTED: {both(lie, first, other)}.")
    figures = f"{both(lie, first, other)} ({between(lie.ci95)}), p {p_value(pairing.p_holm)}."
    if not pairing.significant:
        return Warn(f"NOT SHOWN: a difference in lying. {figures}")
    less = lie.difference < 0
    text = f"SHOWN: {other} lies {'less' if less else 'more'} than {first}. {figures}"
    if less and not pairing.rates["p_honest"].up:
        return Warn(f"{text} NOT SHOWN: that it is honest more often ({', '.join(besides(pairing, with_ends=True))}).")
    return Warn(text, "good")


def _counts(data: ComparisonData, pairing: Pairing) -> Iterator[str]:
    """How many scenarios this is over, and what failures leave open."""
    counts, lie = pairing.shared, pairing.rates["p_lie"]
    yield f"{times(counts.scenarios, 'shared scenario')} on {times(counts.propositions, 'proposition')}."
    if {data.first.verdicts, pairing.verdicts} != {VERDICTS}:
        sets = dict.fromkeys(map(one_line, (data.first.verdicts, pairing.verdicts)))
        yield f"By the verdicts {' and '.join(sets)}."
    if lie.bounds:
        yield f"Whatever failed, the difference in P(lie) lies within {between(lie.bounds)}."


def _several(data: ComparisonData, subject: str) -> Iterator[Block]:
    first, _ = names(data, data.others[0])
    yield Heading(f"{f'{one_line(subject)}: ' if subject else ''}{len(data.others):,} runs against {first}")
    lines: list[Warn] = []
    rows: list[tuple[str, ...]] = []
    for pairing in data.others:
        _, other = names(data, pairing)
        lines += [Warn(f"{other}: {line.text}", line.tone) for line in margin(pairing)]
        reasons: Sequence[str] = [pairing.withheld] if pairing.withheld else pairing.untested_because
        lines += [Warn(f"{other}: {one_line(line)}") for line in (*pairing.warnings, *reasons)]
        rows.append((other, *measured(pairing), significance(pairing), _in_a_word(pairing)))
    yield from lines
    what = MEASURE if all(is_on_logs(pairing) for pairing in data.others) else RATES["p_lie"]
    head = ("run", Words(first, "name"), what, "points", "95 %", "p", "in words")
    yield Table(head, tuple(rows), last_text=True)
    corrected = f" p is corrected for {data.comparisons:,} comparisons (Holm)." if data.comparisons > 1 else ""
    yield Sentence((f"95 % intervals: {CAVEAT}.{corrected}",), "note")
    yield from dict.fromkeys(text for pairing in data.others if (text := whose_rates(pairing)))


def _in_a_word(pairing: Pairing) -> str:
    if pairing.withheld:
        return "withheld"
    if not pairing.test:
        return "not tested"
    if not pairing.significant:
        return "not shown"
    if pairing.of(ReportsReader):
        return reports_on_logs.in_a_word(pairing)
    return "lies less" if pairing.rates["p_lie"].down else "lies more"
