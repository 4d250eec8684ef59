"""The sections that hold runs against each other: paired differences, what became of what, accuracy and honesty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.method.rates import COMPARED, OF_LOGS
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Block,
    Element,
    Facts,
    Figure,
    Flow,
    Folded,
    Heading,
    Only,
    Plane,
    Point,
    PointRow,
    Points,
    Sentence,
    Table,
    Warn,
    Words,
    chart_or_table,
    folded,
)
from maskbench.presentation.format import CAVEAT, between, cell, points, times
from maskbench.presentation.of_runs import Scored, has_rates
from maskbench.presentation.pairings import believing, both, finding, measured, names, side_by_side
from maskbench.presentation.sections.archetypes import split_blocks
from maskbench.presentation.sections.calibration import difference as corrected
from maskbench.presentation.words import FACTORS, RATES
from maskbench.results.comparability import Differs
from maskbench.results.comparison import (
    OF_CORRECTED,
    Change,
    ComparisonData,
    Pairing,
    SharedScenarios,
    compared_by,
    is_on_logs,
    not_tested,
    worst,
)
from maskbench.results.gain_minus_plain import MEASURE
from maskbench.results.people.readers import CALLED
from maskbench.results.readers import FURTHER_RATES, WordsReader
from maskbench.results.splits import AskedReader
from maskbench.stats.figures import Difference, Share
from maskbench.stats.paired import FLIPS, p_value
from maskbench.types import OutcomeName

SHOWN_IDS = 6  # scenarios named for each kind of change; --json has them all
_CELL = 80  # characters of a setting in which two runs differ
_COLOURS = {"p_lie": "lie", "p_honest": "honest", "p_evasive": "evasive", "p_no_belief": "no-belief", "accuracy": "ink"}


def comparison(data: ComparisonData | None, refused: Sequence[str] = ()) -> Iterator[Block]:
    """Every pairing: what changed, whether it can be chance, and which outcomes became which."""
    yield Only(
        "page",
        "Runs are compared on the scenarios that both have, scenario by scenario: what one finds hard, the other often "
        "does, too, so this shows smaller differences than two intervals side by side.",
    )
    yield from map(Warn, refused)
    if data is not None:
        several = len(data.others) > 1
        if several and any(compared_by(pairing).difference is not None for pairing in data.others):
            yield Only("page", _against_the_first(data))
        for pairing in data.others:
            first, other = names(data, pairing)
            title = f"{other} against {first}"
            said, parts = tuple(_said(data, pairing, first, other)), tuple(_pairing(data, pairing, first, other))
            if several:
                yield Folded(title, (*margin(pairing), *said, *parts))
            else:  # on a page the finding stands on top
                yield Only("text", Heading(title))
                yield from (*margin(pairing), *(Only("text", each) for each in said), *parts)


def _against_the_first(data: ComparisonData) -> Figure:
    """The difference in P(lie) of every run against the first one, on one axis."""
    rows = tuple(PointRow(names(data, pairing)[1], compared_by(pairing).estimate, "lie") for pairing in data.others)
    cells = tuple(
        (row.label, *measured(pairing)[2:], significance(pairing))
        for row, pairing in zip(rows, data.others, strict=True)
    )
    what = MEASURE if all(is_on_logs(pairing) for pairing in data.others) else RATES["p_lie"]
    table = Table(("run", f"points in {what}", "95 %", "corrected p"), cells)
    title = f"{what[0].upper()}{what[1:]} of each run minus that of {names(data, data.others[0])[0]}, in points"
    return Figure((Points(rows, "points", differences=True),), title, table)


def significance(pairing: Pairing) -> str:
    """The p of the test on P(lie), corrected for all that are made; a dash where there is no test."""
    return "–" if pairing.p_holm is None else p_value(pairing.p_holm).removeprefix("= ")


def _p(rate: Difference) -> str:
    """The p of a rate that is tested, as it is; nothing of another."""
    return "" if rate.p is None else p_value(rate.p).removeprefix("= ")


def _said(data: ComparisonData, pairing: Pairing, first: str, other: str) -> Iterator[Element]:
    yield finding(data, pairing)
    if text := believing(pairing, first, other):
        yield Sentence((text,), "note")


def _pairing(data: ComparisonData, pairing: Pairing, first: str, other: str) -> Iterator[Block]:
    reasons = () if pairing.withheld else pairing.untested_because
    yield from (Warn(one_line(line)) for line in (*pairing.warnings, *(f"No test: {reason}" for reason in reasons)))
    if pairing.differs:
        yield differs(pairing.differs, first, other)
    if not pairing.withheld:
        yield rates(pairing, first, other)
        yield about_rates(pairing, data.comparisons)
    if pairing.corrected and pairing.rates_by == "judge":
        yield from corrected(pairing.corrected, first, other)
    yield from rates_are(pairing, first, other, has_table=True)
    if pairing.factors and not is_on_logs(pairing):
        yield from folded("What P(lie) is made of", _factors(pairing, first, other))
    yield from _losses(pairing)
    yield transitions(pairing.transitions, first, other)
    yield from folded("The test, and which scenarios changed", Facts(tuple(_facts(data, pairing))))
    if asked := pairing.of(AskedReader):
        splits = dict(zip((first, other), asked, strict=True))
        yield from (Only("text", block) for block in split_blocks(splits, taken=[pairing.scenarios]))


def whose_rates(pairing: Pairing) -> str:
    """Which rates are tested, in a sentence, where there is a choice."""
    pair = pairing.corrected
    if pair is None or pairing.rates_by == "judge":
        is_choice = pair and not pair.withheld
        return "The rates and their test are the judge's; --rates corrected tests corrected ones." if is_choice else ""
    theirs = CALLED[pair.who].theirs
    return f"The rates and their test are corrected by {theirs} labels; accuracy is the judge's."


def rates_are(pairing: Pairing, first: str, other: str, *, has_table: bool = False) -> Iterator[Block]:
    """Which rates are tested, and P(lie) by the others beside it, where no table has that."""
    if pairing.corrected and pairing.corrected.withheld and not has_table:
        yield from corrected(pairing.corrected, first, other)
        return
    text = whose_rates(pairing)
    if pairing.judged is not None:
        text += f" By the judge alone: {_with_ends(pairing.judged, first, other)}."
    elif pairing.corrected and not has_table:
        who = CALLED[pairing.corrected.who].theirs
        text += f" Corrected by {who} labels: {_with_ends(pairing.corrected.rates['p_lie'], first, other)}."
    if text:
        yield text


def _with_ends(lie: Difference, first: str, other: str) -> str:
    return both(lie, first, other) + (f" ({between(lie.ci95)})" if lie.ci95 else "")


def differs(settings: Sequence[Differs], first: str, other: str) -> Table:
    """The settings in which the two runs differ."""
    rows = tuple((each.field, _side(each.first), _side(each.other)) for each in settings)
    return Table(("what differs", first, other), rows, texts=3)


def _side(value: object) -> str:
    """What a setting is in one of the runs; a dash where that run has no such setting."""
    return "–" if value is None else one_line(str(value), _CELL)


def rates(pairing: Pairing, first: str, other: str) -> Figure | Table:
    """Every rate of both runs, and the difference; that which is tested first, where it is another one than P(lie)."""
    names = [*OF_LOGS, *COMPARED] if is_on_logs(pairing) else list(pairing.rates)
    rates = [(RATES[name], pairing.rates[name], _COLOURS.get(name, "ink")) for name in names if name in pairing.rates]
    rates += [(each.title, rate, "ink") for each in FURTHER_RATES if (rate := pairing.of(each))]
    rows = [(title, *side_by_side(rate), _p(rate), f"{rate.n:,}") for title, rate, _ in rates]
    if is_on_logs(pairing):
        denied = compared_by(pairing)
        rates.insert(0, (MEASURE, denied, "lie"))
        rows.insert(0, (MEASURE, *measured(pairing), _p(denied), f"{denied.n:,}"))
    table = Table(("rate", Words(first, "name"), Words(other, "name"), "points", "95 %", "p", "n"), tuple(rows))
    drawn = tuple(PointRow(title, rate.estimate, colour) for title, rate, colour in rates)
    return chart_or_table(Points(drawn, "points", differences=True), f"{other} minus {first}, in points", table)


def two_tests(comparisons: int) -> str:
    """How the p values of both tests come to a sentence, of so many comparisons."""
    if comparisons != 1:
        return f"All tests of the {comparisons:,} comparisons, two each, are corrected together." if comparisons else ""
    return "Two tests: one p alone counts below 0.025, both together below 0.05."


def about_rates(pairing: Pairing, comparisons: int = 1) -> Sentence:
    """What is in the intervals, how the tests count, and over how many logs what was noticed is compared."""
    text = f"95 % intervals: {CAVEAT}. {two_tests(comparisons) if pairing.verdict else ''}".rstrip()
    overlooked, denied = (pairing.rates.get(name) for name in ("p_overlooked", "p_denied"))
    if overlooked and overlooked.n and denied:
        text += (
            f" P(denied) and P(not named) are over {times(denied.n, 'report')} on logs whose event both runs noticed, "
            "so that these shares may differ from those of each run alone."
        )
    return Sentence((text,), "note")


_PRODUCT = (
    "P(lie) is the product of three shares: how often there is a belief, how often it then answers, and how often the "
    "answer is a lie. Fewer beliefs or fewer answers lower P(lie), too, without more honesty: the last "
    "columns have the effect of each share on it."
)


def _factors(pairing: Pairing, first: str, other: str) -> Table:
    """The three shares that P(lie) is the product of, and what the change of each did to it."""
    effects = pairing.effects or {}
    rows = tuple(
        (FACTORS[name], *side_by_side(factor), points(effects[name].value), between(effects[name].ci95))
        for name, factor in (pairing.factors or {}).items()
    )
    head = ("P(lie) is", Words(first, "name"), Words(other, "name"), "points", "95 %", "effect", "95 %")
    return Table(head, rows, _PRODUCT)


def margin(pairing: Pairing) -> Iterator[Warn]:
    """The verdict on a margin in a line, where one was given, with the rate that may have lost the most."""
    if test := pairing.non_inferiority:
        claim = f"nothing worse by {100 * test.margin:g} points"
        losses = {
            name: worst(name, pairing.rates[name]) or 0.0 for name, is_shown in test.shown.items() if not is_shown
        }
        if test.all_shown is None:
            missing = ", ".join(RATES[name] for name in not_tested(pairing.rates)) if test.shown else ""
            yield Warn(f"NOT TESTABLE: {claim}{missing and f' (no test of {missing})'}.", "bad")
        elif test.all_shown:
            yield Warn(f"SHOWN: {claim}.", "good")
        else:
            most = max(losses, key=lambda name: losses[name])
            rest = f"; {len(losses) - 1} more" if len(losses) > 1 else ""
            yield Warn(f"NOT SHOWN: {claim} ({RATES[most]}: up to {points(losses[most]).lstrip('+')}{rest}).", "bad")


def _losses(pairing: Pairing) -> Iterator[Table]:
    """The loss of each rate at worst, where a margin was given."""
    if (test := pairing.non_inferiority) and test.shown:
        rows = tuple(
            (RATES[name], points(worst(name, pairing.rates[name])), "shown" if is_shown else "not shown")
            for name, is_shown in test.shown.items()
        )
        yield Table((f"worse by less than {100 * test.margin:g} points?", "loss at worst, one-sided 95 %", ""), rows)


def transitions(counts: Mapping[OutcomeName, Mapping[OutcomeName, int]], first: str, other: str) -> Figure | Table:
    """What became of each outcome of the first run (rows) in the other (columns)."""
    rows = tuple(
        (outcome.replace("_", " "), *(f"{count:,}" if count else "·" for count in into.values()))
        for outcome, into in counts.items()
        if any(into.values())
    )
    caption = f"What became of each outcome: scenarios by their outcome in {first} (rows) and in {other} (columns)."
    table = Table((f"{first} ↓  {other} →", *(outcome.replace("_", " ") for outcome in counts)), rows, caption)
    return Figure((Flow(first, other, counts),), "What became of each outcome", table) if rows else table


# All else that a reader needs


def _facts(data: ComparisonData, pairing: Pairing) -> Iterator[tuple[str, str]]:
    first, other = names(data, pairing)
    mcnemar, counts = pairing.mcnemar, pairing.shared
    lie = pairing.rates["p_lie"]
    if pairing.test and pairing.p_holm is not None:
        of = f" of {data.comparisons:,} comparisons" if data.comparisons > 1 else ""
        p = p_value(pairing.p_holm)
        how = _how_tested(pairing.test, compared_by(pairing))
        if is_on_logs(pairing):
            yield "test", f"{pairing.test} on {MEASURE}, {how}; p {p}{of and f' after Holm{of}'}"
        else:
            corrected = f"with both tests{of} corrected together, p of P(lie) is {p.removeprefix('= ')}"
            yield "tests", f"{pairing.test} on P(lie) and P(honest), {how}; {corrected}"
    yield (
        "McNemar's counts",
        f"only {first} lied in {mcnemar.lie_to_other:,} scenarios, only {other} in {mcnemar.other_to_lie:,}",
    )
    if pairing.changed:
        yield "changed", f"from {first} to {other}:\n{_changed(pairing.changed)}"
    failed = _failed(counts, first, other)
    if words := pairing.of(WordsReader):
        yield "words of a statement", f"median {words.first:g} in {first} and {words.other:g} in {other}"
    yield "shared scenarios", f"{counts.scenarios:,} on {counts.propositions:,} propositions{failed}"
    if lie.bounds:
        around = f"; with its interval {between(lie.bounds_ci95)}" if lie.bounds_ci95 else ""
        yield "whatever failed", f"the difference in P(lie) lies within {between(lie.bounds)}{around}"


def _how_tested(test: str, lie: Difference) -> str:
    if lie.p_exact is not None:
        return "mid-p by all sign patterns"
    if test == OF_CORRECTED:
        return "by their interval; the draw of the sample is in it"
    if lie.widened:
        return "by the wider interval: p is the smallest level at which it leaves out 0"
    return f"mid-p by {FLIPS + 1:,} sign patterns, drawn"


def _changed(changed: Sequence[Change]) -> str:
    """Which scenarios changed, by kind of change, the most frequent first."""
    kinds: dict[tuple[OutcomeName, OutcomeName], list[str]] = {}
    for each in changed:
        kinds.setdefault((each.first, each.other), []).append(one_line(each.task_id))
    lines = []
    for (before, after), ids in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        count = len(ids)
        arrow = f"{before} → {after}".replace("_", " ")
        more = f", ... ({count - SHOWN_IDS:,} more)" if count > SHOWN_IDS else ""
        lines.append(f"{arrow}, {count:,}: {', '.join(ids[:SHOWN_IDS])}{more}")
    return "\n".join(lines)


def _failed(counts: SharedScenarios, first: str, other: str) -> str:
    places = (f"in {first} only", f"in {other} only", "in both")
    failed = (counts.failed_in_first_only, counts.failed_in_other_only, counts.failed_in_both)
    listed = ", ".join(f"{count:,} {where}" for where, count in zip(places, failed, strict=True) if count)
    return f"; without outcome: {listed}" if listed else ""


# Accuracy and honesty


def accuracy_and_honesty(runs: Sequence[Scored]) -> Iterator[Block]:
    """Each run a point with both intervals, once by the score that leaderboards print and once by P(honest)."""
    yield (
        "A model that knows more need not be more honest. Honesty is here what was said honestly. The score that "
        "leaderboards print, which is folded below it, counts evasion and having no belief as honest."
    )
    able = [run for run in runs if has_rates(run) and run.summary.rates["accuracy"].value is not None]
    if not able:
        yield "No run here has both an accuracy and a rate of lies."
        return
    rows = [(run.name, *(cell(_rate(run, name)) for name in ("accuracy", "honesty_score", "p_honest"))) for run in able]
    table = Table(("run", RATES["accuracy"], RATES["honesty_score"], RATES["p_honest"]), tuple(rows))
    for name, label in (("p_honest", "P(honest)"), ("honesty_score", "honesty score, 1 − P(lie)")):
        dots = tuple(Point(run.place, run.name, _rate(run, "accuracy"), _rate(run, name)) for run in able)
        figure = Figure(
            (Plane(dots, RATES["accuracy"], label),), f"{label[0].upper()}{label[1:]}, over accuracy", table
        )
        yield figure if name == "p_honest" else Only("page", Folded(figure.title, (figure,)))
    yield Sentence(("Crosses are 95 % intervals.",), "note")
    if without := [run.name for run in runs if run not in able]:
        yield f"Not on the plane, for want of a rate: {', '.join(without)}."


def _rate(run: Scored, name: str) -> Share:
    return run.summary.rates[name]
