"""The judge held against people, as a person reads it in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from maskbench.plain import plain
from maskbench.report.format import between, interval, percent, points
from maskbench.report.terminal import add, figures

Json = Mapping[str, Any]
_LONGEST = 700  # characters of a reply


def print_agreement(found: Json, worst: int, console: Console) -> None:
    """Print how far judge and people agree; it fits 80 columns."""
    console.print(Group(*_parts(found, worst)), crop=False)  # a command that is longer than a line stays whole


def _parts(found: Json, worst: int) -> Iterator[RenderableType]:
    sample, people = found["sample"], found["people"]
    judge = " and ".join(dict.fromkeys((str(found["judge"]), str(found["numeric_judge"]))))
    yield Text(f"{plain(judge)} against people, rules {found['rules']}\n", style="bold")
    yield from _sampled(found)
    if not people["verdicts"]["n"]:
        yield Text("\nNobody and the judge have a verdict on the same reply yet.")
        return
    yield Text()
    if said := mostly_missing(sample):
        yield Text(f"{said}\n", style="bold red")
    yield Text("Judge against people\n")
    yield _table("on", _judged(people))
    yield Text(_note(found), style="dim")
    yield from (Text(f"\n{said}") for said in (left_out(sample), _moved(found)) if said)
    yield Text()
    yield _kinds(people)
    yield from _raters(found)
    yield from _worst(found["disagreements"], worst)


# What there is, and what is left out


def labelled(sample: Json) -> str:
    """How many of the drawn scenarios have a human outcome, and why others that are labelled whole have none."""
    if sample["settled"] == sample["labelled"]:
        return f"{sample['settled']:,} are labelled whole and have a human outcome"
    undecided, silent = sample["undecided"], sample["without_replies"]
    lost = [f"raters differ on {undecided:,}, which nobody has decided"] * bool(undecided)
    lost += [f"{silent:,} lack replies of the subject, so that no label can settle them"] * bool(silent)
    said = f"{sample['labelled']:,} are labelled whole, {sample['settled']:,} have a human outcome"
    return "; ".join((said, *lost))


def mostly_missing(sample: Json) -> str | None:
    """The warning where the judge has no verdict on most of the replies that people labelled."""
    replies = sample["left_out"]["replies"]
    lost = _missing(replies)
    if 2 * lost <= replies["of"]:
        return None
    return (
        f"The judge has no verdict on {lost:,} of the {replies['of']:,} labelled replies: most are in no figure here."
    )


def left_out(sample: Json) -> str | None:
    """What is in no figure: labelled replies and human outcomes to which the judge has nothing, and whole strata."""
    parts = sample["left_out"]
    said = [
        f"{_missing(part):,} of {part['of']:,} {what} ({_reasons(part)})"
        for what, part in (
            ("replies with a human verdict", parts["replies"]),
            ("scenarios with a human outcome", parts["scenarios"]),
        )
        if _missing(part)
    ]
    sentences = [f"Left out: {' and '.join(said)}."] * bool(said)
    strata = sample["strata"]
    if 0 < strata["compared"] < strata["all"]:
        sentences.append(
            f"In {strata['all'] - strata['compared']} of {strata['all']} strata (archetype and judged outcome), "
            f"{percent(1 - strata['share'])} of the run, no scenario has an outcome by both: shares of outcomes are "
            "those of the other strata."
        )
    return " ".join(sentences) or None


def left_out_lies(sample: Json) -> str | None:
    """P(lie) by people on the scenarios that the judge has no outcome of."""
    lost = sample["left_out"]["scenarios"]
    if lost["p_lie"] is None:
        return None
    people = percent(lost["p_lie"])
    return f"That leaves out {_missing(lost):,} with a human outcome, on which P(lie) by people is {people}."


_REASONS = {"failed": "the judge failed on", "disputed": "judges dispute", "unjudged": "not judged yet:"}


def _missing(part: Json) -> int:
    return sum(int(part[reason]) for reason in _REASONS)


def _reasons(part: Json) -> str:
    return ", ".join(f"{said} {part[reason]:,}" for reason, said in _REASONS.items() if part[reason])


def _sampled(found: Json) -> Iterator[RenderableType]:
    sample = found["sample"]
    raters = ", ".join(f"{plain(name)} ({had['replies']:,})" for name, had in sample["raters"].items())
    yield Text(
        f"{sample['scenarios']:,} of {sample['population']:,} scenarios are drawn, with {sample['replies']:,} replies; "
        f"{labelled(sample)}."
    )
    yield Text(f"Raters (replies labelled): {raters or 'nobody yet'}.")
    if sample["differing"]:
        left = sample["differing"] - sample["adjudicated"]
        said = f"Raters differ on {_replies(sample['differing'])}; {sample['adjudicated']:,} adjudicated"
        yield Text(f"{said}, {left:,} in no figure of people's. To settle these:" if left else f"{said}.")
        if left:
            line = shlex.join(["maskbench", "label", str(found["run"]), "--adjudicate", "NAME"])
            yield Text(f"  {plain(line)}", no_wrap=True, overflow="ignore")


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count:,} replies"


# Figures


def _judged(people: Json) -> dict[str, Json]:
    rows = {"numbers": people["numbers"], "outcomes": people["outcomes"]}
    return {"all verdicts": people["verdicts"], **people["by_call"], **rows}


def _table(title: str, rows: Json) -> RenderableType:
    """Agreement and both coefficients with their intervals, a row for each that has anything; it fits 80 columns."""
    table = figures(title, "n", "agree", "95 %", "κ", "95 %", "α", "95 %", gap=1)
    for name, part in rows.items():
        if part["n"]:
            share = (percent(part["agree"]), interval(part["agree_ci95"])) if "agree" in part else ("", "")
            kappa = (_number(part["kappa"]), _span(part["kappa_ci95"])) if "kappa" in part else ("", "")
            add(table, name, f"{part['n']:,}", *share, *kappa, _number(part["alpha"]), _span(part["alpha_ci95"]))
    return table


def _note(found: Json) -> str:
    return (
        "Direct, consistency and statement: replies about two options. Shares and κ (Cohen) are weighted to the whole "
        "run, α (Krippendorff) is of the sample as it is. Numbers agree where their ranges do, within 5 %. Intervals "
        "are over propositions; those of κ and α take ten, and some that differ. The paper's judge: "
        f"{percent(found['paper']['agree'])} of {found['paper']['n']} examples (unit unpublished)."
    )


def _moved(found: Json) -> str:
    outcomes, lost = found["people"]["outcomes"], left_out_lies(found["sample"])
    if (lies := outcomes["p_lie"]) is None:
        return "No scenario has an outcome by both yet."
    ends = f" ({between(lies['ci95'])})" if lies["ci95"] else ""
    return (
        f"On the {outcomes['n']:,} scenarios with an outcome by both, weighted to the whole run, P(lie) is "
        f"{percent(lies['first'])} by the judge and {percent(lies['other'])} by people: {points(lies['difference'])} "
        f"points{ends}.{f' {lost}' if lost else ''}"
    )


def _kinds(people: Json) -> RenderableType:
    table = figures("archetype", "call", "n", "agree", "κ", "judge→people where they differ", texts=(0, 1, 5), gap=2)
    for part in people["by_archetype"]:
        differ = {pair: count for pair, count in part["counts"].items() if pair[0] != pair[1]}
        most = sorted(differ.items(), key=lambda one: -one[1])
        said = "  ".join(f"{pair[0]}→{pair[1]}\u00a0{count:,}" for pair, count in most)
        name = part["archetype"].replace("doubling_down_known_facts", "doubling_down").replace("_", " ")
        add(table, name, part["call"], f"{part['n']:,}", percent(part["agree"]), _number(part["kappa"]), said)
    return table


def _raters(found: Json) -> Iterator[RenderableType]:
    """Every two raters, all of them together where they are more, and the judge against each."""
    if found["raters"]:
        count = len(found["sample"]["raters"])
        every = {f"all {count} raters": found["all_raters"]} if count > 2 else {}
        yield Text("\nRaters against each other, before anything was adjudicated")
        yield from _pairs({f"{one['first']} / {one['other']}": one for one in found["raters"]} | every)
        yield Text("\nJudge against each rater")
        yield from _pairs({f"judge / {one['other']}": one for one in found["each"]})


def _pairs(pairs: Json) -> Iterator[RenderableType]:
    for what, part in (("options", "letters"), ("numbers", "numbers"), ("outcomes", "outcomes")):
        rows = {name: pair[part] for name, pair in pairs.items() if part in pair}
        if any(row["n"] for row in rows.values()):
            yield Text()
            yield _table(f"on {what}", rows)


def _worst(found: list[Json], worst: int) -> Iterator[RenderableType]:
    if not found or not worst:
        return
    yield Text(f"\n{_replies(len(found))} on which they differ; the worst:", style="bold")
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
