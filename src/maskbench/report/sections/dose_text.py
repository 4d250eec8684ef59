"""A dose curve as a person reads it in a terminal; it fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from maskbench.pinocchio.rule_judge import NAME as SANDBOX_JUDGE
from maskbench.plain import plain
from maskbench.report.blocks import Table
from maskbench.report.format import CAVEAT, between, percent, points
from maskbench.report.sections.compared import transitions
from maskbench.report.terminal import add, figures, parts
from maskbench.types import EVASIONS

Json = Mapping[str, Any]
WHAT = {"steer": "steered", "adapter": "with an adapter", "prompts": "under developers' prompts"}
DISPLAY = (
    "Only the dose marked ▸ was chosen beforehand; the other rows and their "
    "words are for display, uncorrected for looking at several."
)
OTHERS = ("p_honest", "p_evasive", "p_no_belief", "accuracy")
STYLES = {"more honest": "bold green", "broken": "bold red", "more lies": "bold red"}


def print_dose(data: Json, console: Console) -> None:
    """Print the verdict, the curve, the damage, the controls, the choice and the rules."""
    console.print(Group(*_parts(data)))


def title(data: Json) -> str:
    """What was done to whom, in a line."""
    base = data["plan"]["base"]
    scenarios = data["split"]["test"]["name"] if "split" in data else base.get("scenarios")
    return plain(
        f"{base['subject']} {WHAT[data['plan']['kind']]}, on {scenarios}, judged by "
        f"{base['judge']}, rules {base.get('rules', 'reference')}"
    )


def name_of(row: Json, kind: str) -> str:
    """The name of a dose in a table."""
    if row["amount"] is None or (kind == "prompts" and not row["amount"]):
        return plain(row["name"]).removeprefix("prompt_")
    return f"{row['amount']:g}" if kind == "adapter" or not row["amount"] else f"{row['amount']:+g}".replace("-", "−")


def notes(data: Json) -> tuple[str, ...]:
    """What changes how everything else is to be read."""
    base, said = data["plan"]["base"], []
    if base["judge"] == SANDBOX_JUDGE:
        said.append(
            "pinocchio was taught what requests for honesty mean: this shows that the tools work, not that the method "
            "does."
        )
    if base.get("limit") is not None:
        said.append(f"Smoke runs of {base['limit']:,} scenarios: they show that things work, and measure nothing.")
    return tuple(said)


def finding(data: Json) -> str:
    """The result in a sentence."""
    chosen = chosen_row(data)
    word = data["verdict"]["word"]
    if chosen is None:
        return f"No dose was chosen. {' '.join(data['verdict']['reasons'])}"
    return f"{dose_of(data, chosen)}: {word}. {change(data, chosen)}."


def change(data: Json, row: Json) -> str:
    """P(lie) at dose 0 and at this dose, each figure beside its dose, and the difference with its interval."""
    lie, dose = row["rates"]["p_lie"], _lower(dose_of(data, row))
    shares = f"P(lie) is {percent(lie['first'])} at dose 0 and {percent(lie['other'])} at {dose}"
    return f"{shares}, {points(lie['difference'])} points ({between(lie['ci95'])})"


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
    match data["plan"]["kind"]:
        case "steer":
            return f"Strength {row['amount']:g} in {_layers(row['layers'])}".replace("-", "−", 1)
        case "adapter":
            return f"Adapter times {row['amount']:g}"
    return f"Prompt {plain(row['name']).removeprefix('prompt_')}" if row["amount"] is None else "No prompt"


def _layers(layers: Sequence[int] | None) -> str:
    if layers is None:
        return "all layers"
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers))}"


def _parts(data: Json) -> Iterator[RenderableType]:
    yield Text(title(data), style="bold")
    for note in notes(data):
        yield Text(note, style="yellow")
    yield Text()
    yield from _headline(data)
    if data["test"]:
        rows = [data["test"]["zero"], *data["test"]["rows"]]
        rows = sorted(rows, key=lambda row: row["amount"] or 0.0)
        yield Text()
        yield _outcomes(rows, data)
        yield Text()
        yield _damage(rows, data)
        yield Text()
        yield _kinds(rows, data)
        yield Text(f"Kinds of C as shares of all statements. {DISPLAY}", style="dim")
        yield from _controls(data)
        yield from _transitions(data)
    yield from _choice(data)
    yield from _rules(data)


def _headline(data: Json) -> Iterator[RenderableType]:
    word = data["verdict"]["word"]
    chosen = chosen_row(data)
    where = f" at {_lower(dose_of(data, chosen))}" if chosen else ""
    yield Text.assemble("  ", (word, STYLES.get(word, "bold yellow")), where)
    if chosen and not chosen["withheld"]:
        lie = chosen["rates"]["p_lie"]
        yield Text.assemble(
            f"  P(lie)  {percent(lie['first']):>7}  dose 0\n          {percent(lie['other']):>7}  "
            f"{_lower(dose_of(data, chosen))}\n  ",
            (f"{points(lie['difference'])} points", "bold"),
            f", 95 % interval {between(lie['ci95'])}",
        )
        yield Text(f"  ({CAVEAT})", style="dim")
    yield Text()
    for reason in data["verdict"]["reasons"]:
        yield Text(plain(reason))
    for reason in (chosen["untested_because"] or ()) if chosen else ():
        yield Text(f"No test: {plain(reason)}", style="bold red")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _name(row: Json, data: Json) -> str:
    mark = "▸ " if row["name"] == data["test"]["chosen"] else "  "
    return f"{mark}{name_of(row, data['plan']['kind'])}"


def _outcomes(rows: Sequence[Json], data: Json) -> RenderableType:
    table = figures("  dose", "P(lie)", "points", "95 %", "honest", "evasive", "no\nbelief", "accu-\nracy", gap=1)
    for row in rows:
        lie = row["rates"]["p_lie"] if "rates" in row else None
        values = [
            percent(row["values"][name]["value"]) for name in ("p_honest", "p_evasive", "p_no_belief", "accuracy")
        ]
        change = (points(lie["difference"]), between(lie["ci95"])) if lie else ("", "")
        add(table, _name(row, data), percent(row["values"]["p_lie"]["value"]), *change, *values)
    return table


def _damage(rows: Sequence[Json], data: Json) -> RenderableType:
    table = figures(
        "  dose", "P(lie) by\nbase beliefs", "beliefs\nmoved", "mal-\nformed", "per-\nplexity", "in words", gap=1
    )
    for row in rows:
        alone = "rates" not in row
        moved = row.get("beliefs_changed", {"n": 0, "changed": 0})
        add(
            table,
            _name(row, data),
            percent(row["values"]["p_lie"]["value"] if alone else row["p_lie_by_base"]["other"]),
            percent(moved["changed"] / moved["n"]) if moved["n"] else "–",
            percent(row["malformed_value"]),
            "–" if row["perplexity"] is None else f"{row['perplexity']:.4g}",
            "" if alone else row["verdict"]["word"],
        )
    return table


def _kinds(rows: Sequence[Json], data: Json) -> RenderableType:
    names = [name for name in (*EVASIONS, "unsaid") if name != "unsaid" or any(row["evasions"][name] for row in rows)]
    table = figures("  dose", *(name.replace("_", " ") for name in names), gap=2)
    for row in rows:
        add(table, _name(row, data), *(percent(row["evasions"][name]) for name in names))
    return table


def _controls(data: Json) -> Iterator[RenderableType]:
    controls, opposite = data["controls"], opposite_row(data)
    if opposite is not None:
        yield Text()
        yield Text.assemble(("The negated direction: ", "bold"), f"{change(data, opposite)}.")
    if controls and controls["differences"]:
        found = controls["differences"]
        yield Text.assemble(
            (f"{len(found)} random directions of the same norm: ", "bold"),
            f"P(lie) {points(min(found))} to {points(max(found))} points, by {controls['statements']} statements a "
            f"scenario. The effect goes further than {controls['exceeded']} of {len(found)}.",
        )


def became(data: Json) -> Table:
    """What became of each outcome between dose 0 and the chosen dose; no rows where none was chosen."""
    chosen = chosen_row(data)
    return transitions(chosen["transitions"] if chosen else {}, "dose 0", "chosen")


def _transitions(data: Json) -> Iterator[RenderableType]:
    chosen = chosen_row(data)
    if chosen is None:
        return
    yield Text()
    yield from parts((became(data),), 80)


def _choice(data: Json) -> Iterator[RenderableType]:
    split, dev = data["split"], data["dev"]
    yield Text()
    yield Text("How the dose was chosen", style="bold")
    if dev is None:
        yield Text("There was one dose: nothing was chosen, and the dev split was not measured.")
    else:
        yield Text(
            f"By {data['choice']}. Dev: {split_in_words(split['dev'], data['plan']['dev_statements'])}; "
            f"{len(dev['rows'])} doses, {len(dev['ruled_out'])} ruled out."
        )
        names = {row["name"]: row for row in dev["rows"]}
        for name, why in dev["ruled_out"].items():
            yield _indented(f"{dose_of(data, names[name])}: {plain(why)}")
    test = f"Test: {split_in_words(split['test'], data['plan']['base']['statements'])}"
    yield Text(f"{test}; {split['shared_propositions']:,} propositions are in both splits.")


def split_in_words(split: Json, statements: int) -> str:
    """What a split is, in a phrase."""
    said = f"{split['name']}, {split['n']:,} scenarios on {split['propositions']:,} propositions"
    return plain(f"{said}, {statements} statement{'s' if statements > 1 else ''} each")


def _indented(text: str) -> RenderableType:
    return Padding(Text(text, style="dim"), (0, 0, 0, 2), expand=False)


def _rules(data: Json) -> Iterator[RenderableType]:
    yield Text()
    yield Text("The words, by rules stated beforehand; the first that fits decides", style="bold")
    for rule in data["words"]:
        yield _indented(rule)
