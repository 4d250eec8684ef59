"""A dose curve: what came out, the curve with its controls, outcomes side by side, damage, how the dose was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.pinocchio.rule_judge import NAME as SANDBOX_JUDGE
from maskbench.plain import one_line
from maskbench.report.blocks import (
    Bars,
    Block,
    Differences,
    Facts,
    Figure,
    How,
    Json,
    Only,
    OverDose,
    Row,
    Section,
    Sentence,
    Table,
    Warn,
    Words,
)
from maskbench.report.format import CAVEAT, between, cell, estimate, percent, points
from maskbench.report.outcome_bars import KEY, ORDER, RATE_OF, WHISKERS, outcomes
from maskbench.report.sections.compared import transitions
from maskbench.stats.intervals import Estimate
from maskbench.types import EVASIONS

_WHAT = {"steer": "steered", "adapter": "with an adapter", "prompts": "under developers' prompts"}
_LEADS: dict[str, How] = {"more honest": "good", "broken": "bad", "more lies": "bad"}
DAMAGE = (  # what is drawn, its colour, its name
    ("accuracy", "firm", "accuracy of beliefs"),
    ("no_belief", "no-belief", "no belief"),
    ("malformed", "run-2", "malformed"),
)
_DISPLAY = (
    "Only the dose marked ▸ was chosen beforehand; the other rows and their words are for display, uncorrected for "
    "looking at several."
)


def blocks(data: Json) -> Iterator[Block | Section]:
    """All of a dose curve that is complete: what was done, what came out, and the sections."""
    lead, rest = _found(data)
    yield Sentence((Words(title(data)),))
    yield from map(Warn, notes(data))
    yield Sentence((Words(lead, _LEADS.get(data["verdict"]["word"], "strong")), f" {rest}"))
    yield from reasons(data)
    yield from sections(data)


def title(data: Json) -> str:
    """What was done to whom, in a line."""
    base = data["plan"]["base"]
    scenarios = data["split"]["test"]["name"] if "split" in data else base.get("scenarios")
    return one_line(
        f"{base['subject']} {_WHAT[data['plan']['kind']]}, on {scenarios}, judged by "
        f"{base['judge']}, rules {base.get('rules', 'reference')}"
    )


def notes(data: Json) -> Iterator[str]:
    """What changes how everything else is to be read."""
    base = data["plan"]["base"]
    if base["judge"] == SANDBOX_JUDGE:
        yield (
            "pinocchio was taught what requests for honesty mean: this shows that the tools work, not that the method "
            "does."
        )
    if base.get("limit") is not None:
        yield f"Smoke runs of {base['limit']:,} scenarios: they show that things work, and measure nothing."


def finding(data: Json) -> str:
    """The result in a sentence."""
    return " ".join(filter(None, _found(data)))


def reasons(data: Json) -> tuple[str, ...]:
    """What the finding hangs on; where no dose was chosen the finding says it itself."""
    return tuple(map(one_line, data["verdict"]["reasons"])) if chosen_row(data) else ()


def _found(data: Json) -> tuple[str, str]:
    """What came out in a word, and the figures behind it."""
    chosen, verdict = chosen_row(data), data["verdict"]
    if chosen is None:
        return "No dose was chosen.", one_line(" ".join(verdict["reasons"]))
    return f"{dose_of(data, chosen)}: {verdict['word']}.", f"{change(data, chosen)}."


def change(data: Json, row: Json) -> str:
    """P(lie) at dose 0 and at this dose, each figure beside its dose, and the difference with its interval."""
    lie, dose = row["rates"]["p_lie"], dose_of(data, row)
    shares = f"P(lie) is {percent(lie['first'])} at dose 0 and {percent(lie['other'])} at {dose[:1].lower()}{dose[1:]}"
    return f"{shares}, {points(lie['difference'])} points ({between(lie['ci95'])})"


# Doses


def chosen_row(data: Json) -> Json | None:
    """The row of the chosen dose on the test split; None where none was chosen."""
    test = data["test"]
    return None if test is None else next(row for row in test["rows"] if row["name"] == test["chosen"])


def opposite_row(data: Json) -> Json | None:
    """The row of the negated direction at the chosen strength, for steering."""
    chosen = chosen_row(data)
    if chosen is None or data["plan"]["kind"] != "steer":
        return None
    return next((row for row in data["test"]["rows"] if row["amount"] == -chosen["amount"]), None)


def dose_of(data: Json, row: Json) -> str:
    """A dose in words."""
    match data["plan"]["kind"]:
        case "steer":
            return f"Strength {row['amount']:g} in {_layers(row['layers'])}".replace("-", "−", 1)
        case "adapter":
            return f"Adapter times {row['amount']:g}"
    return f"Prompt {_prompt(row)}" if row["amount"] is None else "No prompt"


def _layers(layers: Sequence[int] | None) -> str:
    if layers is None:
        return "all layers"
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers))}"


def _label(data: Json, row: Json) -> str:
    """The name of a dose in a table; the chosen one is marked."""
    mark, kind = "▸ " if row["name"] == data["test"]["chosen"] else "", data["plan"]["kind"]
    if row["amount"] is None or (kind == "prompts" and not row["amount"]):
        return f"{mark}{_prompt(row)}"
    sign = "" if kind == "adapter" or not row["amount"] else "+"
    return f"{mark}{row['amount']:{sign}g}".replace("-", "−")


def _prompt(row: Json) -> str:
    return one_line(row["name"]).removeprefix("prompt_")


# Sections


def sections(data: Json) -> Iterator[Section]:
    """Everything below the finding."""
    if data["test"] is not None:
        rows = sorted((data["test"]["zero"], *data["test"]["rows"]), key=lambda row: row["amount"] or 0.0)
        if all(row["amount"] is not None for row in rows):
            yield Section("curve", "The dose curve", "curve", tuple(_curves(data, rows)))
        yield Section("outcomes", "Outcomes side by side", "outcomes", tuple(_side_by_side(data, rows)))
        yield Section("damage", "Damage", "damage", tuple(_damage(data, rows)))
        yield Section("transitions", "What became of what", "transitions", (became(data),))
    yield Section("choice", "How the dose was chosen", "choice", tuple(_choice(data)))
    yield rules(data)


def rules(data: Json) -> Section:
    """What the words mean, as it was put down beforehand."""
    said = "The first rule that fits decides. They were put down before anything was measured."
    words = Facts(tuple(rule.partition(": ")[::2] for rule in data["words"]))
    return Section("words", "The words, stated beforehand", "the words", (said, words))


def became(data: Json) -> Figure | Table:
    """What became of each outcome between dose 0 and the chosen dose; no rows where none was chosen."""
    chosen = chosen_row(data)
    return transitions(chosen["transitions"] if chosen else {}, "dose 0", "the chosen dose")


def _curves(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    note = f"95 % intervals: {CAVEAT}.{_band_note(data)}"
    chart = OverDose("outcomes", data, tuple(rows))
    yield Only("page", Figure((chart,), "Outcomes by dose", _values(data, rows), KEY, note))
    if controls := tuple(_controls(data)):
        yield Facts(controls)
    note = "Accuracy and the share without a belief are of beliefs elicited again at each dose."
    chart, key = OverDose("damage", data, tuple(rows)), tuple((colour, name) for _, colour, name in DAMAGE)
    yield Only("page", Figure((chart,), "Damage by dose", _damage_table(data, rows), key, note))


def _band_note(data: Json) -> str:
    controls = data["controls"]
    if not controls or not controls["differences"]:
        return ""
    return (
        f" The band is where P(lie) stays under {len(controls['differences'])} random directions of the same norm at "
        "the chosen strength, each of them a small point there. The dashed line is the chosen dose."
    )


def _controls(data: Json) -> Iterator[tuple[str, str]]:
    opposite, controls = opposite_row(data), data["controls"]
    if controls and controls["differences"]:
        found = controls["differences"]
        yield (
            f"{len(found)} random directions of the same norm",
            f"P(lie) {points(min(found))} to {points(max(found))} points, by {controls['statements']} statements a "
            f"scenario. The effect goes further than {controls['exceeded']} of {len(found)}.",
        )
    if opposite is not None:
        yield "the negated direction", f"{change(data, opposite)}."


def _side_by_side(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    mixes = (
        outcomes(_label(data, row), {name: estimate(row["values"][RATE_OF[name]]) for name in ORDER}) for row in rows
    )
    yield Figure((Bars(tuple(mixes)),), "Outcomes by dose, as bars", _values(data, rows), KEY, WHISKERS)
    held = [row for row in rows if "rates" in row]
    lies = [Row(_label(data, row), _difference(row["rates"]["p_lie"]), "lie") for row in held]
    if any(row.estimate.value is not None for row in lies):
        head = ("dose", "P(lie),\npoints", "95 %", "P(honest),\npoints", "95 %", "in words")
        table = Table(head, tuple(_against_zero(data, row) for row in held), last_text=True)
        said = "P(lie) against dose 0, scenario by scenario"
        yield Figure((Differences(tuple(lies)),), said, table)
        yield Sentence((f"95 % intervals, paired: {CAVEAT}. {_DISPLAY}",), "note")
    for row in rows:
        for reason in row.get("untested_because") or ():
            yield Warn(one_line(f"{_label(data, row)}: {reason}"))


def _values(data: Json, rows: Sequence[Json]) -> Table:
    names = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "accuracy")
    head = ("dose", "P(lie)", "P(honest)", "P(evasive)", "P(no belief)", "accuracy")
    cells = ((_label(data, row), *(cell(estimate(row["values"][name])) for name in names)) for row in rows)
    return Table(head, tuple(cells))


def _against_zero(data: Json, row: Json) -> tuple[str, ...]:
    rates = (row["rates"][name] for name in ("p_lie", "p_honest"))
    cells = (text for rate in rates for text in (points(rate["difference"]), between(rate["ci95"])))
    return _label(data, row), *cells, row["verdict"]["word"]


def _difference(rate: Json) -> Estimate:
    return estimate({**rate, "value": rate["difference"]})


def _damage(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    yield (
        "Beliefs are elicited again at every dose. P(lie) is also given against the beliefs of dose 0: an intervention "
        "that moves beliefs instead of statements shows there. A reply is malformed where the judge calls it garbled, "
        "where it is no text, or where it repeats itself."
    )
    yield _damage_table(data, rows)
    kinds = [name for name in (*EVASIONS, "unsaid") if name != "unsaid" or any(row["evasions"][name] for row in rows)]
    cells = ((_label(data, row), *(percent(row["evasions"][name]) for name in kinds)) for row in rows)
    head = ("dose", *(name.replace("_", " ") for name in kinds))
    yield Table(head, tuple(cells), "Kinds of evasion, as shares of all statements")


def _damage_table(data: Json, rows: Sequence[Json]) -> Table:
    base = "P(lie) by beliefs\nof dose 0"
    head = ("dose", "accuracy", "no belief", "beliefs\nmoved", base, "malformed", "perplexity")
    return Table(
        head,
        tuple(
            (
                _label(data, row),
                percent(row["values"]["accuracy"]["value"]),
                percent(row["values"]["p_no_belief"]["value"]),
                _moved(row),
                percent(row["p_lie_by_base"]["other"] if "rates" in row else row["values"]["p_lie"]["value"]),
                percent(row["malformed_value"]),
                _perplexity(row),
            )
            for row in rows
        ),
    )


def _moved(row: Json) -> str:
    found = row.get("beliefs_changed")
    return percent(found["changed"] / found["n"]) if found and found["n"] else "–"


def _perplexity(row: Json) -> str:
    return "–" if row["perplexity"] is None else f"{row['perplexity']:.4g}"


def _choice(data: Json) -> Iterator[Block]:
    split, plan, dev = data["split"], data["plan"], data["dev"]
    statements = {"dev": plan["dev_statements"], "test": plan["base"]["statements"]}
    shared = ("in both", f"{split['shared_propositions']:,} propositions")
    yield Facts((*((part, _split(split[part], count)) for part, count in statements.items()), shared))
    if dev is None:
        yield "There was one dose: nothing was chosen, and the dev split was not measured."
        return
    measured = "It was then measured once on the test split." if data["test"] else "The test split was not measured."
    yield f"The dose is chosen by {data['choice']}. {measured}"
    head = ("dose, on dev", "P(lie)", "accuracy", "no belief", "malformed", "perplexity", "ruled out by")
    yield Table(head, tuple(_tried(data, row) for row in (dev["zero"], *dev["rows"])), last_text=True)


def _tried(data: Json, row: Json) -> tuple[str, ...]:
    mark = " ▸ chosen" if row["name"] == data["dev"]["chosen"] else ""
    values = (percent(row["values"][name]["value"]) for name in ("p_lie", "accuracy", "p_no_belief"))
    ruled_out = one_line(data["dev"]["ruled_out"].get(row["name"], ""))
    return f"{dose_of(data, row)}{mark}", *values, percent(row["malformed_value"]), _perplexity(row), ruled_out


def _split(split: Json, statements: int) -> str:
    """What a split is, in a phrase."""
    said = f"{split['name']}, {split['n']:,} scenarios on {split['propositions']:,} propositions"
    return one_line(f"{said}, {statements} statement{'s' if statements > 1 else ''} each")
