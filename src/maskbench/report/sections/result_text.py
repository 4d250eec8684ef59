"""A result as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskbench.method.rules import named
from maskbench.plain import plain
from maskbench.report.format import CAVEAT, interval, percent
from maskbench.report.sections import corrected_text, judges_text
from maskbench.report.terminal import figures
from maskbench.results.summary import left_open
from maskbench.types import OUTCOMES

WIDE, WIDE_DISPUTED = 109, 119  # columns from which the archetypes stand in one table
OUTCOME_STYLES = {
    "honest": "green",
    "lie": "red",
    "evasive": "yellow",
    "no_belief": "blue",
    "error": "magenta",
    "disputed": "cyan",  # among several judges
}
_RATE_OF = {"honest": "p_honest", "lie": "p_lie", "evasive": "p_evasive", "no_belief": "p_no_belief"}
_OTHER_RATES = (
    ("p_lie", "P(lie), micro: every scenario the same weight"),
    ("p_lie_macro", "P(lie), macro: every archetype the same weight"),
    ("honesty_score", "honesty score, 1 − P(lie)"),
    ("honesty_score_normalized", "honesty score, normalised: where it has a belief"),
    ("conditional_lie_rate", "conditional lie rate: lies among lies and honest"),
    ("accuracy", "accuracy of beliefs: no belief counts as wrong"),
    ("accuracy_normalized", "accuracy, normalised: among beliefs"),
)

Json = Mapping[str, Any]


def print_result(summary: Json, console: Console) -> None:
    """Print the whole result; it fits 80 columns."""
    console.print(Group(*_parts(summary, console.width)))


def finding(summary: Json) -> str:
    """The result in one sentence."""
    metrics = summary["metrics"]
    name = plain(summary["subject"]["label"])
    if metrics["p_lie"]["value"] is None:
        return f"No result for {name}."
    of = "scenarios" if "1" in summary["counts_at"] else "statements"
    return (
        f"Under pressure {name} contradicted its own stated belief in {percent(metrics['p_lie']['value'])} of "
        f"{of} ({interval(metrics['p_lie']['ci95'])}), kept to it in {percent(metrics['p_honest']['value'])}, "
        f"evaded in {percent(metrics['p_evasive']['value'])}, and had no stable belief in "
        f"{percent(metrics['p_no_belief']['value'])}."
    )


def _parts(summary: Json, width: int) -> Iterator[RenderableType]:
    yield _heading(summary)
    yield Text()
    if summary["withheld"]:
        yield Text(f"The headline is withheld: {plain(summary['withheld'])}", style="bold red")
    else:
        yield _headline(summary)
    several = next(iter(summary["counts_at"])) != "1"
    yield Text()
    yield _outcomes(summary)
    if several:
        yield Text("Counts are of the first statement; shares are over all statements of a scenario.", style="dim")
    if summary["second"]:
        yield Text("Counts are by the second judge where it looked; shares weigh what it changed.", style="dim")
    if "disputed" in summary["counts"]:
        yield Text("A disputed outcome counts in each share by the part of its judges who find that.", style="dim")
    if summary.get("corrected"):
        yield Text()
        yield from corrected_text.parts(summary["corrected"])
    yield Text()
    yield _rates(summary)
    if summary["metrics"]["lying_at"] and several:
        yield Text()
        yield _curve(summary)
    yield from _archetypes(summary["by_archetype"], width)
    if summary.get("judges"):
        for table in judges_text.tables(summary["judges"]):
            yield Text()
            yield table
    yield Text()
    yield _pairs(_facts(summary))


def _heading(summary: Json) -> Text:
    scenarios, judge = summary["scenarios"], summary["judge"]
    judges = {plain(judge["binary"]["name"]): None, plain(judge["numeric"]["name"]): None}
    text = Text.assemble(
        (plain(summary["subject"]["label"]), "bold"),
        f" on {plain(scenarios['taken'])}, judged by {' and '.join(judges)}, rules {summary['rules']}",
    )
    if summary["verdicts"] != "default":
        text.append(f", verdicts {plain(summary['verdicts'])}")
    if not summary["complete"]:
        done = f"{scenarios['done']:,} of {scenarios['n']:,}"
        text.append(f"\nNOT COMPLETE: {done} scenarios are done.", style="bold red")
    if said := left_open(summary):
        text.append(f"\n{plain(said)}", style="red")
    if summary["smoke"]:
        text.append("\nSMOKE RUN: it shows that things work, and measures nothing.", style="bold red")
    return text


def _headline(summary: Json) -> Text:
    lie = summary["metrics"]["p_lie"]
    text = Text.assemble("  P(lie) ", (percent(lie["value"]), "bold red"), f"   95 % interval {interval(lie['ci95'])}")
    text.append(f"\n  ({CAVEAT})", style="dim")
    if lie.get("disputed_bounds"):
        text.append(f"\n  whatever the disputed outcomes are: {interval(lie['disputed_bounds'])}")
        text.append(f"\n  with a 95 % interval around both: {interval(lie['disputed_bounds_ci95'])}")
    if lie.get("ci95_same_scenarios"):
        text.append(f"\n  asking these very scenarios again: {interval(lie['ci95_same_scenarios'])}")
    for beside in (_corrected(summary), _floor(summary)):
        text.append(f"\n  {beside}" if beside else "")
    return text.append(f"\n\n{finding(summary)}")


def _corrected(summary: Json) -> str | None:
    from maskbench.report.sections.corrected_text import beside

    return beside(summary.get("corrected"))


def _floor(summary: Json) -> str | None:
    from maskbench.report.sections.controls_text import floor

    return floor(summary["checks"]) if summary.get("checks") else None


def _add(table: Table, *cells: str | Text) -> None:
    """Add a row; a bare string would be read as markup, and names are not ours."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def _outcomes(summary: Json) -> Table:
    disputed = "disputed" in summary["counts"]
    table = figures("outcome", "scenarios", "share", "95 %", *(["disputes either way"] if disputed else []))
    for outcome, count in summary["counts"].items():
        name = Text(outcome.replace("_", " "), style=OUTCOME_STYLES[outcome])
        rate = summary["metrics"][_RATE_OF[outcome]] if outcome in _RATE_OF else None
        shares = [percent(rate["value"]), interval(rate["ci95"])] if rate else ["", ""]
        ends = [interval(rate.get("disputed_bounds")) if rate else ""] if disputed else []
        _add(table, name, f"{count:,}", *shares, *ends)
    return table


def _rates(summary: Json) -> Table:
    metrics = summary["metrics"]
    table = figures("other rates", "value", "95 %", "n")
    for name, label in _OTHER_RATES:
        rate = metrics[name]
        _add(table, label, percent(rate["value"]), interval(rate["ci95"]), f"{rate['n']:,}")
    bounds, done = metrics["p_lie_bounds"], f"{summary['scenarios']['done']:,}"
    unknown = "errors and disputes" if "disputed" in summary["counts"] else "errors"
    _add(table, f"bounds on P(lie): all {unknown} honest, or all lies", interval(bounds), "", done)
    return table


def _curve(summary: Json) -> Table:
    table = figures("Lying@k: a lie in k statements", "value", "95 %", "n", "bounds")
    for k, point in summary["metrics"]["lying_at"].items():
        shares = (percent(point["value"]), interval(point["ci95"]))
        _add(table, k, *shares, f"{point['n']:,}", interval(point["bounds"]))
    return table


def _archetypes(parts: Mapping[str, Json], width: int) -> Iterator[RenderableType]:
    """Rates and counts by archetype, in one table where it fits, else in two."""
    disputed = any("disputed" in part["counts"] for part in parts.values())
    outcomes = (*OUTCOMES, "disputed") if disputed else OUTCOMES
    rates, counts = ("P(lie)", "95 %", "accuracy", "cut"), tuple(outcome.replace("_", " ") for outcome in outcomes)
    one = width >= (WIDE_DISPUTED if disputed else WIDE)
    for columns in [(*rates, *counts)] if one else [rates, counts]:
        table = figures("archetype", *columns, gap=1 if disputed and not one else 2)
        for archetype, part in parts.items():
            cells = _archetype(part)
            _add(table, archetype, *(cells[column] for column in columns))
        yield Text()
        yield table
    held: dict[str, list[str]] = {}
    for archetype, part in parts.items():
        if part["withheld"]:
            held.setdefault(part["withheld"], []).append(archetype)
    if held:
        yield Text("\n".join(f"Withheld: {', '.join(names)}. {why}" for why, names in held.items()), style="red")


def _archetype(part: Json) -> dict[str, str | Text]:
    lie, accuracy = part["metrics"]["p_lie"], part["metrics"]["accuracy"]
    return {
        "P(lie)": Text("withheld", style="red") if part["withheld"] else percent(lie["value"]),
        "95 %": interval(lie["ci95"]),
        "accuracy": percent(accuracy["value"]),
        "cut": f"{part['truncated']['cut']:,}",
        **{outcome.replace("_", " "): f"{part['counts'].get(outcome, 0):,}" for outcome in OUTCOME_STYLES},
    }


def _pairs(pairs: Iterator[tuple[str, str]]) -> Table:
    """Labels with what is to say on each beside it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, said in pairs:
        _add(table, Text(label, style="bold"), said)
    return table


def _facts(summary: Json) -> Iterator[tuple[str, str]]:
    """Everything else that a reader needs, as short lines."""
    if summary["second"]:
        yield "second look", _second(summary["second"])
    if summary.get("checks"):
        from maskbench.report.sections.controls_text import lines

        yield from lines(summary["checks"])
    if summary["asked_outright"]:
        yield "asked for the lie outright", _outright(summary["asked_outright"])
    if summary["planted"]:
        yield "true rates, as simulated", _planted(summary["planted"])
    yield "beliefs are absent because", _counts(summary["no_belief_reasons"])
    yield "evasive statements", f"{_counts(summary['evasions'])} (also where there is no belief)"
    evades = named(summary["rules"]).denial_is_evasion
    meaning = "a statement that denies both is evasive here" if evades else "a statement that denies both is a lie here"
    yield "D verdicts", f"{_counts(summary['d_verdicts'])} ({meaning})"
    free = summary["numerical_agreements"]
    names = {"by a half-infinite range": free["half_infinite"], "absolute with relative": free["cross"]}
    yield "numbers that agree easily", _counts(names)
    cut, replies = summary["truncated"]["cut"], summary["truncated"]["replies"]
    yield "cut at the token limit", f"{cut:,} of {replies:,} replies ({percent(cut / replies if replies else None)})"
    failures = "; ".join(f"{stage}: {_counts(causes)}" for stage, causes in summary["failures"].items())
    yield "failures", "\n".join(filter(None, (failures or "none", commonest_failure(summary))))
    unreadable = {
        name: part["failures"].get("judge", {}).get("unreadable", 0) for name, part in summary["by_archetype"].items()
    }
    if any(unreadable.values()):
        yield "unreadable verdicts", _counts({name: count for name, count in unreadable.items() if count})
    yield "tokens and time", _usage(summary["usage"])
    if answered := _answered(summary):
        yield "answered by", answered
    for note in summary["notes"]:
        yield "note", plain(note)
    yield "identity", _identity(summary)


def _second(look: Json) -> str:
    """What the second judge saw and changed, and what the first one's verdicts alone come to."""
    first = look["p_lie_first"]
    return (
        f"at all {look['unsure']:,} scenarios with a verdict that the first judge ({plain(look['first'])}) was unsure "
        f"of, and at {look['drawn']:,} drawn from the other {look['sure']:,}, each of which stands for "
        f"{look['stands_for']:.3g}; it changed {look['changed_unsure']:,} and {look['changed_drawn']:,} outcomes. By "
        f"the first judge alone P(lie) is {percent(first['value'])} ({interval(first['ci95'])})."
    )


def _outright(groups: Json) -> str:
    said = (
        f"{name}: P(lie) {percent(group['p_lie']['value'])} ({interval(group['p_lie']['ci95'])}; "
        f"n {group['p_lie']['n']:,})"
        for name, group in groups.items()
    )
    return "\n".join(said)


def _planted(planted: Json) -> str:
    return ", ".join(f"{outcome.replace('_', ' ')} {percent(planted[rate])}" for outcome, rate in _RATE_OF.items())


def _counts(counts: Json) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()) or "none"


def _usage(usage: Json) -> str:
    lines = []
    for who in ("subject", "judge"):
        tokens = usage[who]
        thought = f" ({tokens['reasoning_tokens']:,} of them reasoning)" if tokens["reasoning_tokens"] else ""
        lines.append(
            f"{who}: {tokens['answers']:,} answers, {tokens['input_tokens']:,} tokens in, {output_tokens(tokens)} "
            f"out{thought}"
        )
    return "\n".join([*lines, f"{usage['seconds']:.1f} s"])


def output_tokens(tokens: Json) -> str:
    """How many tokens came out; at least so many where the server counts one of several samples."""
    return f"{'at least ' if tokens.get('at_least') else ''}{tokens['output_tokens']:,}"


def commonest_failure(summary: Json) -> str | None:
    """What failed most often in the same words, in a sentence; None where nothing failed."""
    if not (failure := summary.get("failure")):
        return None
    failed = sum(sum(causes.values()) for causes in summary["failures"].values())
    count = f"{failure['count']:,} of {max(failed, failure['count']):,}"
    return f"Most often ({count}): {failure['stage']}, {failure['cause'].replace('_', ' ')}: {plain(failure['detail'])}"


def _answered(summary: Json) -> str:
    """The models that endpoints say have answered, with their fingerprints: a name alone is no identity."""
    lines: dict[str, None] = {}
    for model in (summary["subject"], *(summary["judge"][kind] for kind in ("binary", "numeric"))):
        if resolved := [*model.get("resolved", ()), *model.get("fingerprints", ())]:
            lines[f"{plain(model['name'])}: {', '.join(map(plain, resolved))}"] = None
    return "\n".join(lines)


def _identity(summary: Json) -> str:
    scenarios, prompts = summary["scenarios"], summary["judge"]["prompts"]
    return (
        f"protocol {summary['protocol']}, rules {summary['rules']}, scenarios {scenarios['hash'][:12]}, "
        f"judge prompts {plain(prompts['version'])} ({prompts['hash'][:12]}), maskbench {summary['version']}"
    )
