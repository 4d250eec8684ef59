"""A comparison as `maskbench compare` prints it: in 30 lines or less, verdicts first, or in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from maskbench.method.asks import VERDICTS
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, Inline, Sentence, Table, Warn, Words
from maskbench.presentation.format import CAVEAT, between, percent, times, unshared
from maskbench.presentation.pairings import believing, every_name, finding, in_a_word, measured, names, side_by_side
from maskbench.presentation.sections.comparison import (
    about_rates,
    comparison,
    differs,
    margin,
    rates,
    rates_are,
    significance,
    transitions,
    two_tests,
    whose_rates,
)
from maskbench.results.comparison import ComparisonData, Pairing, is_on_logs
from maskbench.results.gain_minus_plain import MEASURE
from maskbench.store.system_prompts import LIBRARY

JOINT = " + "  # between a subject and what was done to it


def in_brief(data: ComparisonData) -> Iterator[Block]:
    """The verdicts, the rates and what became of each outcome; of several runs a line each."""
    data, subject = shortly(data)
    yield from _one(data, data.others[0], subject) if len(data.others) == 1 else _several(data, subject)
    if data.notes:
        yield Sentence((" ".join(map(one_line, data.notes)),), "note")


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
    """The comparison with each run named by what differs, and the subject where all have one; else no name."""
    known = every_name(data)
    shared, rests = unshared(known)
    prompts = all(
        name == f"{shared}{JOINT}{rest}" and _is_prompt(rest) for name, rest in zip(known, rests, strict=True) if rest
    )
    before, without = ("prompt ", "no prompt") if prompts else ("", "the model as it is")
    is_subject = shared and not any(name.startswith(f"{shared}/") for name in known)
    return _named(data, [f"{before}{rest}" if rest else without for rest in rests]), shared if is_subject else ""


def _is_prompt(name: str) -> bool:
    return name in LIBRARY or name.endswith((".md", ".txt"))


def _named(data: ComparisonData, labels: Sequence[str]) -> ComparisonData:
    runs = (data.first, *data.others)
    first, *others = (structs.replace(run, subject=label) for run, label in zip(runs, labels, strict=True))
    return structs.replace(data, first=first, others=others)


def _one(data: ComparisonData, pairing: Pairing, subject: str) -> Iterator[Block]:
    first, other = names(data, pairing)
    yield Heading(f"{f'{one_line(subject)}: ' if subject else ''}{other} against {first}")
    yield from margin(pairing)
    yield finding(data, pairing)
    if text := believing(pairing, first, other):
        yield Sentence((text,), "note")
    reasons = () if pairing.withheld else pairing.untested_because
    yield from (Warn(one_line(line)) for line in (*pairing.warnings, *reasons))
    if pairing.differs:
        yield differs(pairing.differs, first, other)
    if not pairing.withheld:
        table = rates(pairing, first, other)
        yield table if isinstance(table, Table) else table.table
        yield about_rates(pairing, data.comparisons)
    yield from rates_are(pairing, first, other)
    if not is_on_logs(pairing):
        figure = transitions(pairing.transitions, first, other)
        yield structs.replace(figure if isinstance(figure, Table) else figure.table, caption="")
    yield " ".join(_counts(data, pairing))


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
    on_logs = all(map(is_on_logs, data.others))
    for pairing in data.others:
        _, other = names(data, pairing)
        lines += [Warn(f"{other}: {line.text}", line.tone) for line in margin(pairing)]
        reasons: Sequence[str] = [pairing.withheld] if pairing.withheld else pairing.untested_because
        lines += [Warn(f"{other}: {one_line(line)}") for line in (*pairing.warnings, *reasons)]
        cells = (*measured(pairing), significance(pairing)) if on_logs else _of_both(pairing)
        rows.append((other, *cells, in_a_word(pairing)))
    yield from lines
    head: tuple[Inline, ...] = (Words(first, "name"), MEASURE, "points", "95 %", "p")
    if not on_logs:
        head = ("P(lie)", "points", "95 %", "P(honest)", "points", "95 %")
        rows[:0] = _own(data, first)
    yield Table(("run", *head, "in words"), tuple(rows), last_text=True)
    tests = "" if on_logs else f" {two_tests(data.comparisons)}"
    yield Sentence((f"Points are the run minus {first}. 95 % intervals: {CAVEAT}.{tests}",), "note")
    yield from dict.fromkeys(text for pairing in data.others if (text := whose_rates(pairing)))


def _of_both(pairing: Pairing) -> tuple[str, ...]:
    """P(lie) and P(honest) of a run, and by how many points each differs from the first run's."""
    rates = (pairing.rates["p_lie"], pairing.rates["p_honest"])
    return tuple(cell for rate in rates for cell in side_by_side(rate)[1:])


def _own(data: ComparisonData, first: str) -> Iterator[tuple[str, ...]]:
    """The first run's rates, where they are the same beside every other run."""
    shares = {tuple(percent(each.rates[name].first) for name in ("p_lie", "p_honest")) for each in data.others}
    yield from ((first, lie, "", "", honest, "", "", "") for lie, honest in shares if len(shares) == 1)
