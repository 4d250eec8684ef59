"""A dose curve: what came out, the curve with its controls, outcomes side by side, damage, how the dose was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.interventions.dose.record import DoseAlone, DoseCurve, DoseRecord, DoseRow, Half, OnDev
from maskbench.pinocchio.rule_judge import NAME as SANDBOX_JUDGE
from maskbench.plain import one_line
from maskbench.presentation.blocks import (
    Bars,
    Block,
    Curve,
    Ends,
    Facts,
    Figure,
    How,
    Line,
    Only,
    Points,
    Row,
    Section,
    Sentence,
    Table,
    Warn,
    Words,
)
from maskbench.presentation.format import CAVEAT, between, cell, percent, points, times
from maskbench.presentation.of_runs import KEY, ORDER, RATE_OF, WHISKERS, colour_of, outcomes
from maskbench.presentation.sections.comparison import transitions
from maskbench.stats.figures import Share
from maskbench.types import EVASIONS

_WHAT = {"steer": "steered", "adapter": "with an adapter", "prompts": "under developers' prompts"}
_LEADS: dict[str, How] = {"more honest": "good", "broken": "bad", "more lies": "bad"}
_ANEW = (
    "Beliefs are elicited again at every dose. P(lie) is also given against the beliefs of dose 0: an intervention "
    "that moves beliefs instead of statements shows there."
)
_MALFORMED = "A reply is malformed where the judge calls it garbled, where it is no text, or where it repeats itself."
_DISPLAY = (
    "Only the dose marked ▸ was chosen beforehand; the other rows and their words are for display, uncorrected for "
    "looking at several."
)


def blocks(data: DoseCurve) -> Iterator[Block | Section]:
    """All of a dose curve that is complete: what was done, what came out, and the sections."""
    lead, rest = _outcome(data)
    yield Sentence((Words(title(data)),))
    yield from map(Warn, notes(data))
    yield Sentence((Words(lead, _LEADS.get(data.verdict.word, "strong")), f" {rest}"))
    yield from reasons(data)
    yield from sections(data)


def title(data: DoseRecord) -> str:
    """What was done to whom, in a line."""
    base = data.plan.base
    scenarios = data.split.test.name if isinstance(data, DoseCurve) else base.design.scenarios
    return one_line(
        f"{base.subject.name} {_WHAT[data.plan.kind]}, on {scenarios}, judged by {base.judging.judge}, "
        f"rules {base.design.rules}"
    )


def notes(data: DoseRecord) -> Iterator[str]:
    """What changes how everything else is to be read."""
    base = data.plan.base
    if base.judging.judge == SANDBOX_JUDGE:
        yield (
            "pinocchio was taught what requests for honesty mean: this shows that the tools work, not that the method "
            "does."
        )
    if base.design.limit is not None:
        yield f"Smoke runs of {base.design.limit:,} scenarios: they show that things work, and measure nothing."


def finding(data: DoseCurve) -> str:
    """The result in a sentence."""
    return " ".join(filter(None, _outcome(data)))


def reasons(data: DoseCurve) -> tuple[str, ...]:
    """What the finding hangs on; where no dose was chosen the finding says it itself."""
    return tuple(map(one_line, data.verdict.reasons)) if data.chosen else ()


def _outcome(data: DoseCurve) -> tuple[str, str]:
    """What came out in a word, and the figures behind it."""
    if data.chosen is None:
        return "No dose was chosen.", one_line(" ".join(data.verdict.reasons))
    return f"{dose_of(data, data.chosen)}: {data.verdict.word}.", f"{change(data, data.chosen)}."


def change(data: DoseCurve, row: DoseRow) -> str:
    """P(lie) at dose 0 and at this dose, each figure beside its dose, and the difference with its interval."""
    lie, dose = row.rates["p_lie"], dose_of(data, row)
    shares = f"P(lie) is {percent(lie.first)} at dose 0 and {percent(lie.other)} at {dose[:1].lower()}{dose[1:]}"
    return f"{shares}, {points(lie.difference)} points ({between(lie.ci95)})"


# Doses


def opposite_row(data: DoseCurve) -> DoseRow | None:
    """The row of the negated direction at the chosen strength, for steering."""
    if data.test is None or data.chosen is None or data.chosen.amount is None or data.plan.kind != "steer":
        return None
    opposite = -data.chosen.amount
    return next((row for row in data.test.rows if row.amount == opposite), None)


def dose_of(data: DoseCurve, row: DoseAlone) -> str:
    """A dose in words."""
    match data.plan.kind:
        case "steer":
            return f"Strength {row.amount:g} in {_layers(row.layers)}".replace("-", "−", 1)
        case "adapter":
            return f"Adapter times {row.amount:g}"
    return f"Prompt {_prompt(row)}" if row.amount is None else "No prompt"


def _layers(layers: Sequence[int] | None) -> str:
    if layers is None:
        return "all layers"
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers))}"


def _label(data: DoseCurve, row: DoseAlone) -> str:
    """The name of a dose in a table; the chosen one is marked."""
    mark, kind = "▸ " if data.chosen and row.name == data.chosen.name else "", data.plan.kind
    if row.amount is None or (kind == "prompts" and not row.amount):
        return f"{mark}{_prompt(row)}"
    sign = "" if kind == "adapter" or not row.amount else "+"
    return f"{mark}{row.amount:{sign}g}".replace("-", "−")


def _prompt(row: DoseAlone) -> str:
    return one_line(row.name).removeprefix("prompt_")


# Sections


def sections(data: DoseCurve) -> Iterator[Section]:
    """Everything below the finding."""
    if data.test is not None and data.chosen is not None:
        rows: list[DoseAlone] = sorted((data.test.zero, *data.test.rows), key=lambda row: row.amount or 0.0)
        if all(row.amount is not None for row in rows):
            yield Section("curve", "The dose curve", "curve", tuple(_curves(data, rows)))
        yield Section("outcomes", "Outcomes side by side", "outcomes", tuple(_side_by_side(data, rows)))
        yield Section("damage", "Damage", "damage", tuple(_damage(data, rows)))
        became = transitions(data.chosen.transitions, "dose 0", "the chosen dose")
        yield Section("transitions", "What became of what", "transitions", (became,))
    yield Section("choice", "How the dose was chosen", "choice", tuple(_choice(data)))
    yield rules(data)


def rules(data: DoseRecord) -> Section:
    """What the words mean, as it was put down beforehand."""
    order = "The first rule that fits decides. They were put down before anything was measured."
    words = Facts(tuple(rule.partition(": ")[::2] for rule in data.words))
    return Section("words", "The words, stated beforehand", "the words", (order, words))


def _curves(data: DoseCurve, rows: Sequence[DoseAlone]) -> Iterator[Block]:
    note = f"95 % intervals: {CAVEAT}.{_band_note(data)}"
    band, around = _spread(data)
    across = "strength" if data.plan.kind == "steer" else "times the adapter"
    marked = data.chosen.amount if data.chosen else None
    kept = [
        _line(name.replace("_", " "), colour_of(name), [(row, row.values[RATE_OF[name]]) for row in rows])
        for name in ("lie", "honest", "evasive", "no_belief")
    ]
    chart = Curve(tuple(kept), across, "share of scenarios", marked, band, around)
    yield Only("page", Figure((chart,), "Outcomes by dose", _values(data, rows), KEY, note))
    if controls := tuple(_controls(data)):
        yield Facts(controls)
    note = "Accuracy and the share without a belief are of beliefs elicited again at each dose."
    lost = (
        _line("accuracy of beliefs", "firm", [(row, row.values["accuracy"]) for row in rows]),
        _line("no belief", "no-belief", [(row, row.values["p_no_belief"]) for row in rows]),
        _line("malformed", "run-2", [(row, Share(row.malformed_value, None, row.n)) for row in rows]),
    )
    chart, key = Curve(lost, across, "share", marked), tuple((line.colour, line.label) for line in lost)
    yield Only("page", Figure((chart,), "Damage by dose", _damage_table(data, rows), key, note))


def _line(label: str, colour: str, shares: Sequence[tuple[DoseAlone, Share]]) -> Line:
    return Line(label, colour, {row.amount or 0.0: share for row, share in shares})


def _spread(data: DoseCurve) -> tuple[Ends | None, tuple[float, ...]]:
    """Between which P(lie) the random directions stay, and each of them."""
    if not data.controls or not data.controls.differences or data.chosen is None:
        return None, ()
    if (base := data.chosen.rates["p_lie"].first) is None:
        return None, ()
    around = tuple(max(0.0, min(1.0, base + each)) for each in data.controls.differences)
    return (min(around), max(around)), around


def _band_note(data: DoseCurve) -> str:
    if not data.controls or not data.controls.differences:
        return ""
    return (
        f" The band is where P(lie) stays under {len(data.controls.differences)} random directions of the same norm at "
        "the chosen strength, each of them a small point there. The dashed line is the chosen dose."
    )


def _controls(data: DoseCurve) -> Iterator[tuple[str, str]]:
    controls = data.controls
    if controls and (spread := controls.differences):
        yield (
            f"{len(spread)} random directions of the same norm",
            f"P(lie) {points(min(spread))} to {points(max(spread))} points, by {controls.statements} statements a "
            f"scenario. The effect goes further than {controls.exceeded} of {len(spread)}.",
        )
    if (opposite := opposite_row(data)) is not None:
        yield "the negated direction", f"{change(data, opposite)}."


def _side_by_side(data: DoseCurve, rows: Sequence[DoseAlone]) -> Iterator[Block]:
    mixes = (outcomes(_label(data, row), {name: row.values[RATE_OF[name]] for name in ORDER}) for row in rows)
    yield Figure((Bars(tuple(mixes)),), "Outcomes by dose, as bars", _values(data, rows), KEY, WHISKERS)
    held = [row for row in rows if isinstance(row, DoseRow)]
    lies = [Row(_label(data, row), row.rates["p_lie"].estimate, "lie") for row in held]
    if any(row.estimate.value is not None for row in lies):
        head = ("dose", "P(lie),\npoints", "95 %", "P(honest),\npoints", "95 %", "in words")
        table = Table(head, tuple(_against_zero(data, row) for row in held), last_text=True)
        yield Figure(
            (Points(tuple(lies), "points", differences=True),), "P(lie) against dose 0, scenario by scenario", table
        )
        yield Sentence((f"95 % intervals, paired: {CAVEAT}. {_DISPLAY}",), "note")
    for row in held:
        for reason in row.untested_because:
            yield Warn(one_line(f"{_label(data, row)}: {reason}"))


def _values(data: DoseCurve, rows: Sequence[DoseAlone]) -> Table:
    names = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")
    head = ("dose", "P(lie)", "P(honest)", "P(evasive)", "P(no belief)", "accuracy")
    cells = ((_label(data, row), *(cell(row.values[name]) for name in names)) for row in rows)
    return Table(head, tuple(cells))


def _against_zero(data: DoseCurve, row: DoseRow) -> tuple[str, ...]:
    rates = row.rates["p_lie"], row.rates["p_honest"]
    cells = (text for rate in rates for text in (points(rate.difference), between(rate.ci95)))
    return _label(data, row), *cells, row.verdict.word if row.verdict else "–"


def _damage(data: DoseCurve, rows: Sequence[DoseAlone]) -> Iterator[Block]:
    yield f"{_ANEW} {_MALFORMED}"
    yield _damage_table(data, rows)
    kinds = [name for name in (*EVASIONS, "unsaid") if name != "unsaid" or any(row.evasions[name] for row in rows)]
    cells = ((_label(data, row), *(percent(row.evasions[name]) for name in kinds)) for row in rows)
    head = ("dose", *(name.replace("_", " ") for name in kinds))
    yield Table(head, tuple(cells), "Kinds of evasion, as shares of all statements")


def _damage_table(data: DoseCurve, rows: Sequence[DoseAlone]) -> Table:
    base = "P(lie) by beliefs\nof dose 0"
    head = ("dose", "accuracy", "no belief", "beliefs\nmoved", base, "malformed", "perplexity")
    return Table(
        head,
        tuple(
            (
                _label(data, row),
                *(percent(row.values[name].value) for name in ("accuracy", "p_no_belief")),
                _moved(row),
                percent(row.p_lie_by_base.other if isinstance(row, DoseRow) else row.values["p_lie"].value),
                percent(row.malformed_value),
                _perplexity(row),
            )
            for row in rows
        ),
    )


def _moved(row: DoseAlone) -> str:
    if not isinstance(row, DoseRow) or not row.beliefs_changed.n:
        return "–"
    return percent(row.beliefs_changed.changed / row.beliefs_changed.n)


def _perplexity(row: DoseAlone) -> str:
    return "–" if row.perplexity is None else f"{row.perplexity:.4g}"


def _choice(data: DoseCurve) -> Iterator[Block]:
    split, plan, dev = data.split, data.plan, data.dev
    halves = ("dev", _half(split.dev, plan.dev_statements)), ("test", _half(split.test, plan.base.design.statements))
    yield Facts((*halves, ("in both", f"{split.shared_propositions:,} propositions")))
    if dev is None:
        yield "There was one dose: nothing was chosen, and the dev split was not measured."
        return
    measured = "It was then measured once on the test split." if data.test else "The test split was not measured."
    yield f"The dose is chosen by {data.choice}. {measured}"
    head = ("dose, on dev", "P(lie)", "accuracy", "no belief", "malformed", "perplexity", "ruled out by")
    rows: tuple[DoseAlone, ...] = (dev.zero, *dev.rows)
    yield Table(head, tuple(_tried(data, dev, row) for row in rows), last_text=True)


def _tried(data: DoseCurve, dev: OnDev, row: DoseAlone) -> tuple[str, ...]:
    mark = " ▸ chosen" if row.name == dev.chosen else ""
    values = (percent(row.values[name].value) for name in ("p_lie", "accuracy", "p_no_belief"))
    ruled_out = one_line(dev.ruled_out.get(row.name, ""))
    return f"{dose_of(data, row)}{mark}", *values, percent(row.malformed_value), _perplexity(row), ruled_out


def _half(half: Half, statements: int) -> str:
    """What a half of the scenarios is, in a phrase."""
    which = f"{half.name}, {half.n:,} scenarios on {half.propositions:,} propositions"
    return one_line(f"{which}, {times(statements, 'statement')} each")
