"""The judge held against people, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from maskbench.report.plain import plain
from maskbench.report.tables import add, between, figures, points
from maskbench.report.text import interval, percent

Json = Mapping[str, Any]
_LONGEST = 700  # characters of a reply


def print_agreement(found: Json, worst: int, console: Console) -> None:
    """Print how far judge and people agree; it fits 80 columns."""
    console.print(Group(*_parts(found, worst)))


def _parts(found: Json, worst: int) -> Iterator[RenderableType]:
    sample, people = found["sample"], found["people"]
    judge = " and ".join(dict.fromkeys((str(found["judge"]), str(found["numeric_judge"]))))
    yield Text(f"{plain(judge)} against people, rules {found['rules']}\n", style="bold")
    yield Text(_sampled(sample))
    if not people["verdicts"]["n"]:
        yield Text("\nNobody and the judge have a verdict on the same reply yet.")
        return
    yield Text("")
    yield _table(people)
    yield Text(
        "Shares and κ (Cohen) weighted to the whole run; α (Krippendorff) of the sample as it is. Numbers agree\n"
        "where their ranges do, within 5 %. Intervals are over propositions, at ten or more.\n"
        f"The paper's judge: {percent(found['paper']['agree'])} of {found['paper']['n']} examples (unit unpublished).",
        style="dim",
    )
    if lies := people["outcomes"]["p_lie"]:
        yield Text(_moved(lies))
    yield Text("")
    yield _kinds(people)
    if found["raters"]:
        yield Text("\nRaters against each other, before anything was adjudicated")
        yield _pairs([*found["raters"]])
        yield Text("Judge against each rater")
        yield _pairs(found["each"])
    yield from _worst(found["disagreements"], worst)


def _sampled(sample: Json) -> str:
    raters = ", ".join(f"{plain(name)} ({had['replies']})" for name, had in sample["raters"].items())
    lines = [
        f"{sample['scenarios']} of {sample['population']} scenarios are drawn, with {sample['replies']} replies; "
        f"{sample['labelled']} have a human outcome.",
        f"Raters (replies labelled): {raters or 'nobody yet'}.",
    ]
    if sample["differing"]:
        left = sample["differing"] - sample["adjudicated"]
        said = f"Raters differ on {sample['differing']} replies; {sample['adjudicated']} are adjudicated"
        open_ = f", {left} are in no figure of `people` (maskbench label RUN --adjudicate NAME)" if left else ""
        lines.append(f"{said}{open_}.")
    return "\n".join(lines)


def _table(people: Json) -> RenderableType:
    table = figures("judge and people", "n", "agree", "95 %", "κ", "95 %", "α")
    rows = {"all verdicts": people["verdicts"]}
    rows |= {f"{call}, options": part for call, part in people["by_call"].items()}
    rows |= {"numbers": people["numbers"], "outcomes": people["outcomes"]}
    for name, part in rows.items():
        if part["n"]:
            agree = (percent(part["agree"]), interval(part["agree_ci95"]))
            add(
                table,
                name,
                str(part["n"]),
                *agree,
                _number(part["kappa"]),
                _span(part["kappa_ci95"]),
                _number(part["alpha"]),
            )
    return table


def _kinds(people: Json) -> RenderableType:
    table = figures("archetype", "call", "n", "agree", "κ", "judge→people where they differ", texts=(0, 1, 5), gap=2)
    for part in people["by_archetype"]:
        differ = {pair: count for pair, count in part["counts"].items() if pair[0] != pair[1]}
        most = sorted(differ.items(), key=lambda one: -one[1])[:5]
        said = "  ".join(f"{pair[0]}→{pair[1]} {count}" for pair, count in most)
        name = part["archetype"].replace("doubling_down_known_facts", "doubling_down").replace("_", " ")
        add(table, name, part["call"], str(part["n"]), percent(part["agree"]), _number(part["kappa"]), said)
    return table


def _pairs(pairs: list[Json]) -> RenderableType:
    table = figures("", "verdicts", "agree", "95 %", "κ", "outcomes", "agree", "κ")
    for pair in pairs:
        verdicts, outcomes = pair["verdicts"], pair["outcomes"]
        add(
            table,
            f"{pair['first']} / {pair['other']}",
            *(str(verdicts["n"]), percent(verdicts["agree"]), interval(verdicts["agree_ci95"])),
            _number(pair["letters"]["kappa"]),
            *(str(outcomes["n"]), percent(outcomes["agree"]), _number(outcomes["kappa"])),
        )
    return table


def _moved(lies: Json) -> str:
    return (
        f"\nOn these scenarios P(lie) is {percent(lies['first'])} by the judge and {percent(lies['other'])} by people: "
        f"{points(lies['difference'])} points ({between(lies['ci95'])})."
    )


def _worst(found: list[Json], worst: int) -> Iterator[RenderableType]:
    if not found or not worst:
        return
    yield Text(f"\n{len(found)} replies on which they differ; the worst:", style="bold")
    for one in found[:worst]:
        change = ""
        if one["judge_outcome"] != one["people_outcome"]:
            names = (str(name or "open").replace("_", " ") for name in (one["judge_outcome"], one["people_outcome"]))
            change = "; the outcome: {} by the judge, {} by people".format(*names)
        head = f"{one['archetype']} {plain(one['task_id'])}, {one['call']}: judge {_said(one['judge'])}, "
        yield Text(f"\n{head}people {_said(one['people'])}{change}", style="bold")
        lines = [f"{letter}: {plain(claim)}" for letter, claim in zip("AB", one["claims"], strict=False)]
        if len(one["claims"]) == 1:
            lines = [plain(one["claims"][0])]
        lines += [f"Reply: {_cut(text)}" for text in one["replies"]]
        lines += [f"Judge: {_cut(one['reason'])}"] if one["reason"] else []
        yield Padding(Text("\n".join(lines)), (0, 0, 0, 2))


def _said(verdict: Any) -> str:
    if isinstance(verdict, str):
        return verdict
    low, high = verdict["lower_bound"], verdict["upper_bound"]
    if low is None and high is None:
        low, high = verdict["relative_lower_bound"], verdict["relative_upper_bound"]
    if low is None and high is None:
        return "no number"
    return (
        f"{low:g}" if low == high else f"{'…' if low is None else f'{low:g}'} to {'…' if high is None else f'{high:g}'}"
    )


def _cut(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _span(ends: Any) -> str:
    return "–" if ends is None else f"{_number(ends[0])} to {_number(ends[1])}"
