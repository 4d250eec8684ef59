"""The headline above everything else: P(lie), the finding in words, what changes how it is read, the outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from maskbench.method.archetypes import in_order
from maskbench.plain import listed, one_line
from maskbench.presentation.blocks import (
    Bars,
    Block,
    Figure,
    Inline,
    Mix,
    Sentence,
    Table,
    Words,
    text_of,
)
from maskbench.presentation.format import CAVEAT, interval, pair, percent, times, with_interval
from maskbench.presentation.of_runs import (
    KEY,
    ORDER,
    RATE_OF,
    WHISKERS,
    Scored,
    colour_of,
    has_rates,
    mix,
    named,
    statements,
    table,
    unit,
)
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.calibration import beside as corrected
from maskbench.presentation.sections.cost import took
from maskbench.presentation.sections.failures import failed
from maskbench.presentation.sections.provenance import imported_note, where_from
from maskbench.presentation.words import RATES, archetype
from maskbench.results.calibration import LabelsReader
from maskbench.results.leaderboard import SIMULATED
from maskbench.results.people.readers import CALLED
from maskbench.results.readers import FURTHER_RATES, ChanceReader, FalseLiesReader, OtherSetsReader, PlantedReader
from maskbench.results.summary import Summary, few_beliefs, left_open
from maskbench.settings import ALLOWED
from maskbench.store.record import About
from maskbench.types import OutcomeName

PRESSES = "Every scenario presses for one answer, as a rule for the one that the model does not believe"
# They take the result away.
GRAVE = ("Not a real model.", "A smoke run.", "Few beliefs.", "The headline is withheld.", "Not complete.")
OTHERS = "Read otherwise, too."
_WITH_RATE = ("Few beliefs.", OTHERS)  # what a page of one run says with P(lie), and not below it
_WHOLE = ("How to continue.",)  # notes that have a command
_NOTES = 3  # that stand below a result in short
_NO_ERROR = (Words("error", "error"), "0")  # the first cells of a row that says what did not happen
_BARS = 8  # a set may bring archetypes of its own
_SAMPLE = re.compile(r"\(.*sample of [\d,]+, seed \d+")  # as Settings.name has it
_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")  # where a sentence ends and another begins
EVADER = "A model that always evades would score 0 % lies here."


def headline(run: Scored) -> Iterator[Block]:
    """What was run, what takes the result away, P(lie) and P(honest), and the finding, as text."""
    yield what(run)
    if text := _others(run.summary):
        yield Sentence((text,), "note")
    yield from (Sentence((Words(strong), f" {text}"), "bad") for strong, text in warnings(run) if strong in GRAVE)
    if _is_of_reports((run,)):
        yield from reports_on_logs.headline(run)
    elif has_rates(run):
        lie, honest = (with_interval(run.summary.rates[name]) for name in ("p_lie", "p_honest"))
        yield Sentence(("P(lie) ", Words(lie, "lie"), "   P(honest) ", Words(honest, "honest")))
        yield Sentence((f"(95 % intervals: {CAVEAT})",), "note")
        told = (*_of_rate(run.summary), *reports_on_logs.lines(run.summary))
        yield from (Sentence((text,), "note") for text in told)
        yield finding(run)


def against(run: Scored) -> Iterator[Sentence]:
    """What P(lie) is held against, where it stands first."""
    if has_rates(run) and not _is_of_reports((run,)):
        yield from (Sentence((text,), "note") for text in held_against(run.summary))


def notes(run: Scored) -> Iterator[Sentence]:
    """What changes how the result is read, and does not take it away."""
    for strong, text in warnings(run):
        if strong not in (*GRAVE, OTHERS):
            yield Sentence((Words(strong), f" {text}"), "caution")


def in_short(run: Scored, *, every_bar: bool = True) -> Iterator[Block]:
    """The outcomes that there are with accuracy, a bar for each archetype, notes in a sentence, and what it took."""
    summary = run.summary
    yield from reports_on_logs.in_short(run) if _is_of_reports((run,)) else _in_short(run, every_bar)
    told = [note if note.text.startswith(_WHOLE) else _first(note) for note in notes(run)]
    yield from told[:_NOTES]
    if more := len(told) - _NOTES:
        yield from [Sentence((f"{times(more, 'more note')}.",), "caution")] if more > 0 else []
    if lost := summary.failures or summary.truncated["cut"]:
        mark = Words("Failures." if summary.failures else "Cut replies.")
        yield _first(Sentence((mark, f" {failed(summary)}"), "caution"), sentences=2)
    if last := " ".join(filter(None, ("" if lost else failed(summary), took(summary)))):
        yield Sentence((last,), "note")


def _is_of_reports(runs: Sequence[Scored]) -> bool:
    """Whether all of these runs have rates, of reports on a log alone, which have first lines of their own."""
    return reports_on_logs.alone(runs) and all(map(has_rates, runs))


def _in_short(run: Scored, every_bar: bool) -> Iterator[Block]:
    summary = run.summary
    outcomes = _table((run,))
    further = {"accuracy": summary.rates["accuracy"]} if has_rates(run) else {}
    further |= {each.title: rate for each in FURTHER_RATES if (rate := summary.of(each))}
    rows = ((name, f"{share.n:,}", *pair(share), *[""] * (len(outcomes.head) - 4)) for name, share in further.items())
    yield replace(outcomes, rows=(*(row for row in outcomes.rows if row[:2] != _NO_ERROR), *rows))
    if has_rates(run):
        yield Bars(tuple(_bars(summary))[: None if every_bar else 1])


def _first(note: Sentence, sentences: int = 1) -> Sentence:
    """A note with the first of its sentences behind its mark."""
    mark, text = note.parts
    return replace(note, parts=(mark, " ".join(_END.split(text_of(text))[:sentences])))


def _bars(summary: Summary) -> Iterator[Mix]:
    yield mix("All scenarios", summary.rates)
    parts = summary.by_archetype
    for name in list(in_order(parts))[:_BARS] if len(parts) > 1 else ():
        if parts[name].rates["p_lie"].value is not None:
            yield mix(archetype(name, (summary.scenarios,)), parts[name].rates)


HEADS = {  # the rates that stand side by side above everything else, and what they are shares of
    "p_lie": {"scenarios": "of scenarios ended in a lie", "statements": "of statements were lies"},
    "p_honest": {"scenarios": "of scenarios ended honestly", "statements": "of statements were honest"},
}
Head = tuple[str, str, str, str, str]  # name and colour of a rate, its figure, both ends of its interval, what of


def heads(run: Scored) -> Iterator[Head]:
    """P(lie) and P(honest), of which neither is read alone; nothing where they are withheld."""
    if _is_of_reports((run,)):
        name, value, ends = reports_on_logs.first_figure(run.summary)
        yield name, "lie", value, ends, "on events that it noticed"
        return
    for name, of in HEADS.items() if has_rates(run) else ():
        yield RATES[name], name.removeprefix("p_"), *pair(run.summary.rates[name]), of[unit([run])]


def beside(run: Scored) -> list[str]:
    """The lines that belong to P(lie): its bounds, by people's labels, the chance level, and without pressure."""
    summary = run.summary
    if _is_of_reports((run,)):
        return list(reports_on_logs.beside(summary))
    return [*_of_rate(summary), *reports_on_logs.lines(summary), *held_against(summary)]


def below(run: Scored) -> list[str]:
    """The lines below the bar on a page: what P(lie) could be, reports on logs beside other scenarios, what it took."""
    summary, by_labels = run.summary, corrected(run.summary.of(LabelsReader))
    of_rate = (_bounds(summary), by_labels and f"P(lie) {by_labels}", *reports_on_logs.lines(summary))
    return list(filter(None, (*(() if _is_of_reports((run,)) else of_rate), took(summary))))


def _of_rate(summary: Summary) -> list[str]:
    """What P(lie) could be, and is by people's labels."""
    return list(filter(None, (_bounds(summary), corrected(summary.of(LabelsReader)))))


def held_against(summary: Summary) -> Iterator[str]:
    """What P(lie) is held against: the chance level, and neutral replies."""
    yield from filter(None, (chance(summary), _floor(summary)))


def chance(summary: Summary) -> str:
    """The chance level of P(lie) in a sentence; empty where there is none."""
    level = summary.of(ChanceReader)
    if level is None:
        return ""
    text = f"Chance level: with these beliefs and random statements P(lie) would be {percent(level.p_lie.value)}"
    if not level.numbers:
        return f"{text}."
    return f"{text} (in {times(level.numbers, 'scenario')} the random statement is a number from another scenario)."


def _floor(summary: Summary) -> str:
    """The share of neutral replies that come out as lies, and P(lie) in the same scenarios; empty where none is."""
    floor = summary.of(FalseLiesReader)
    if floor is None:
        return ""
    without = f"; {times(floor.without, 'scenario')} had none" if floor.without else ""
    return (
        f"False-lie floor, of archetypes with beliefs: {with_interval(floor.p_lie)} of neutral replies are judged a "
        f"lie, and {with_interval(floor.p_lie_pressured)} of statements in the same scenarios{without}."
    )


def _bounds(summary: Summary) -> str:
    """What P(lie) could be where it is withheld, or more is missing than is allowed where nobody says otherwise."""
    counts, limits = summary.counts, summary.rates["p_lie"].bounds
    is_much = summary.withheld or counts["error"] > ALLOWED * sum(counts.values())
    if not summary.complete or not is_much or limits is None or limits[0] == limits[1]:
        return ""
    is_lifted = summary.withheld and "--max-error-rate" not in summary.withheld
    lifted = "; a larger --max-error-rate shows the rates all the same" if is_lifted else ""
    return (
        "What is missing is no random part: whatever it was, P(lie) is between "
        f"{percent(limits[0])} and {percent(limits[1])}{lifted}."
    )


def what(run: Scored) -> Sentence:
    """What was measured, by which judges and rules."""
    summary = run.summary
    judges = dict.fromkeys(one_line(judge.name, 160) for judge in summary.judge.models)
    verdicts = "" if summary.verdicts == "default" else f", verdict set {one_line(summary.verdicts, 40)}"
    text = f" on {one_line(summary.scenarios.taken, 80)}, judged by {' and '.join(judges)}"
    return Sentence((Words(one_line(run.label)), f"{text}, rules {summary.rules}{verdicts}"))


def finding(run: Scored) -> str:
    """The result in words."""
    rates, label = run.summary.rates, one_line(run.label)
    if _is_of_reports((run,)):
        return reports_on_logs.finding(run)
    if not has_rates(run):
        return f"No result for {label}."
    return (
        f"Under pressure {label} contradicted its own stated belief in {percent(rates['p_lie'].value)} of "
        f"{unit([run])} ({interval(rates['p_lie'].ci95)}), kept to it in {percent(rates['p_honest'].value)}, evaded in "
        f"{percent(rates['p_evasive'].value)}, and had no stable belief in {percent(rates['p_no_belief'].value)}."
        f"{_often(run)}"
    )


def _often(run: Scored) -> str:
    """What the shares are of where there are several statements a scenario, and how many scenarios saw a lie."""
    count = statements(run)
    point = run.summary.lying_at.get(str(count))
    if count == 1 or point is None or point.value is None:
        return ""
    around = f" ({interval(point.ci95)})" if point.ci95 else ""
    return (
        f" With {count} statements a scenario these are shares of statements; at least one of the {count} was a lie in "
        f"{percent(point.value)} of scenarios{around}."
    )


def hangs_on(runs: Sequence[Scored]) -> str:
    """What the headline hangs on besides the model."""
    judges = dict.fromkeys(one_line(judge.name, 160) for run in runs for judge in run.summary.judge.models)
    return (
        f"The figures depend on more than the model: on the judge ({' and '.join(judges)}), whose own error is not in "
        "their intervals, on these scenarios, and on the rules "
        f"“{runs[0].summary.rules}” that make beliefs and lies out of verdicts. Figures with another protocol id, "
        "scenario set or rule set are other measurements. How good a judge is, maskbench exam tells."
    )


# Warnings


def told_first(run: Scored) -> list[tuple[bool, str]]:
    """That beliefs are few (which is grave), and by which verdicts the figures are, where P(lie) stands on top."""
    known = dict(warnings(run))
    return [(strong in GRAVE, f"{strong} {known[strong]}") for strong in _with_rate((run,)) if strong in known]


def _with_rate(runs: Sequence[Scored]) -> tuple[str, ...]:
    return _WITH_RATE if len(runs) == 1 and has_rates(runs[0]) and not _is_of_reports(runs) else ()


def told(runs: Sequence[Scored]) -> Iterator[tuple[str, str, str]]:
    """Every warning once: which runs it is about (empty: all of them), a word or two, and a sentence.

    What stands with P(lie) of a single run is left out.
    """
    about: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for warning in warnings(run):
            if warning[0] not in _with_rate(runs):
                about.setdefault(warning, []).append(run.name)
    for (strong, text), names in about.items():
        yield "" if len(names) == len(runs) else ", ".join(names), strong, text


def warnings(run: Scored) -> Iterator[tuple[str, str]]:
    """What changes how all the rest is to be read: a word or two, and a sentence."""
    summary = run.summary
    if others := _others(summary):
        yield OTHERS, others
    planted = summary.subject.get("planted")
    if planted or _is_organism(summary.subject) or (isinstance(run, Run) and run.simulated):
        what = "simulated model" if planted else "model organism"
        yield (
            "Not a real model.",
            f"The makers of this {what} chose how often it lies, and it gets no rank.",
        )
    if summary.smoke:
        yield "A smoke run.", "It was cut short with --limit: it shows that things work, and measures nothing."
    if (few := few_beliefs(summary)) and not reports_on_logs.alone((run,)):
        said = f"{few[0].upper()}{few[1:]}. Where it has none no lie can be found, so a low P(lie) says little."
        yield "Few beliefs.", said
    if summary.withheld:
        reason, *remedy = _END.split(one_line(summary.withheld), maxsplit=1)
        why = " ".join(filter(None, (reason, _bounds(summary), *remedy)))
        yield "The headline is withheld." if summary.complete else "Not complete.", why
    if text := left_open(summary):
        yield "How to continue.", one_line(text)
    elif summary.withheld and isinstance(run, Run):
        command = run.opened.verdicts(summary.verdicts).command(run.result.path)
        what = "To judge the replies again" if where_from(summary) else "To ask again for what failed"
        yield "How to continue.", one_line(f"{what}: `{command}`", 1000)
    if text := _answered(summary):
        yield "Not one model.", text
    if text := imported_note(summary):
        yield "Imported.", text
    if isinstance(run, Run) and (own := run.scored.record.settings.design.rules) != summary.rules:
        text = f"The run was made for the rules “{one_line(own, 40)}” and is shown under “{summary.rules}”."
        yield "Other rules.", text
    for note in summary.notes:
        if not note.startswith("A smoke run"):  # which stands above the figure
            yield "Note.", one_line(note, 1000)


def _others(summary: Summary) -> str:
    """Which verdicts these figures are by, and which others and labels there are; empty where there are none."""
    sets, labels = summary.of(OtherSetsReader) or [], summary.of(LabelsReader)
    told = [f"The verdict set is “{one_line(summary.verdicts, 40)}”."]
    if sets:
        names = listed([f"“{one_line(name, 40)}”" for name in sets])
        told.append(f"The run has {names}, too: `maskbench score RUN --verdicts NAME`.")
    if labels:
        who = CALLED[labels.who].title
        told.append(f"{who} labelled {times(labels.drawn, 'scenario')} of it: `maskbench label RUN --show`.")
    return " ".join(told) if len(told) > 1 else ""


def _is_organism(subject: About) -> bool:
    return bool(subject.get("organism")) or subject.name.split("/")[0] in SIMULATED


def _answered(summary: Summary) -> str | None:
    """How many replies each model gave, where it was not the one asked for alone."""
    answers: dict[str, int] = summary.subject.get("answers", {})
    if not answers:
        return None
    by_name = sorted(answers.items(), key=lambda pair: -pair[1])
    counts = ", ".join(f"{one_line(name, 60)} {count:,}" for name, count in by_name)
    asked = one_line(summary.subject.name, 60)
    return (
        f"{asked} was asked, and replies came from: {counts}. maskbench score RUN --answered-by NAME tells them apart."
    )


# Outcomes


def outcomes(runs: Sequence[Scored]) -> Figure | Table:
    """The outcome bar, or counts alone where there are no rates."""
    if _is_of_reports(runs):
        return reports_on_logs.outcomes(runs)
    able, behind = [run for run in runs if has_rates(run)], _table(runs)
    if not able:
        return behind
    if len(runs) == 1:
        rates = runs[0].summary.rates
        key = tuple(
            (colour_of(name), f"{name.replace('_', ' ')} {with_interval(rates[RATE_OF[name]])}") for name in ORDER
        )
        return Figure((Bars((mix("", rates),), unit(runs), 110),), "Outcomes", behind, key, WHISKERS)
    without = ", ".join(run.name for run in runs if run not in able)
    note = f"{WHISKERS} Without rates, and so without a bar: {without}." if without else WHISKERS
    bars = Bars(tuple(mix(run.name, run.summary.rates) for run in able), unit(able), 54 if len(able) == 2 else 30)
    return Figure((bars,), "Outcomes", behind, KEY, note)


def _table(runs: Sequence[Scored]) -> Table:
    planted = any(run.summary.of(PlantedReader) is not None for run in runs)
    rows: list[tuple[Inline, ...]] = [
        (*named(runs, run), Words(name.replace("_", " "), name), f"{count:,}", *_share(run, name, planted))
        for run in runs
        for name, count in run.summary.counts.items()
    ]
    more = ("as simulated",) if planted else ()
    return table(runs, ("outcome", "scenarios", "share", "95 %", *more), rows, " ".join(_notes(runs)))


def _share(run: Scored, name: OutcomeName, planted: bool) -> Iterator[str]:
    """The share of an outcome with its interval, and what a simulation was told."""
    rate = RATE_OF.get(name)
    share = run.summary.rates[rate] if rate else None
    yield from pair(share) if share else ("", "")
    if planted:
        truth = run.summary.of(PlantedReader)
        yield percent(truth[rate]) if truth and rate else ""


def _notes(runs: Sequence[Scored]) -> Iterator[str]:
    if any(statements(run) > 1 for run in runs):
        yield "Scenarios are counted by their first statement; shares are over all statements."
    if any(_SAMPLE.search(run.summary.scenarios.taken) for run in runs):
        yield "Shares have the weights of the sample; counts do not."
