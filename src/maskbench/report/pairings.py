"""What people read of two runs held against each other: each figure beside the name of its run, for every medium.

The terminal and the page draw their tables and their lists from here, so that neither leaves out what the other has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maskbench.plain import plain
from maskbench.report.format import between, percent, points
from maskbench.stats.paired import p_value

SHOWN_IDS = 6  # scenarios named for each kind of change; --json has them all
HEAD = 10  # characters of a line of a run's name above a column of figures
NAMES = {
    "p_lie": "P(lie)",
    "p_honest": "P(honest)",
    "p_evasive": "P(evasive)",
    "p_no_belief": "P(no belief)",
    "accuracy": "accuracy of beliefs",
    "belief_share": "beliefs",
    "answered_share": "× answers",
    "conditional_lie_rate": "× lies",
}

Json = Mapping[str, Any]
Cells = tuple[str, ...]
Grid = tuple[Cells, tuple[Cells, ...]]  # the heads of the columns, and the rows


def names(data: Json, pairing: Json) -> tuple[str, str]:
    """What to call the two: their subjects, or their folders where the subject is the same or appears twice."""
    runs = [data["first"], *data["others"]]
    subjects = [plain(run["subject"]) for run in runs]
    labels = subjects if len(set(subjects)) == len(subjects) else [plain(run["run"]) for run in runs]
    return labels[0], labels[1 + data["others"].index(pairing)]


def stacked(name: str, width: int = HEAD) -> str:
    """The name over lines of so many characters, broken where names have joints, as after `/`, `-` or a comma."""
    lines = [""]
    for part in re.findall(r"[^-/_:, ]*[-/_:, ]?", name):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return "\n".join(line.strip() for line in lines if line.strip())


def both(rate: Json, first: str, other: str) -> str:
    """P(lie) of both runs, each figure beside its run, and the difference."""
    shares = f"{percent(rate['other'])} for {other} and {percent(rate['first'])} for {first}"
    return f"P(lie) is {shares}, {points(rate['difference'])} points"


def finding(data: Json, pairing: Json) -> str:
    """One pairing in a sentence or two."""
    lie, test = pairing["rates"]["p_lie"], pairing["test"]
    first, other = names(data, pairing)
    if pairing["withheld"]:
        return f"The difference between {other} and {first} is withheld: {plain(pairing['withheld'])}"
    if lie["difference"] is None:
        return f"{other} cannot be held against {first}: no shared scenario has an outcome in both."
    change = both(lie, first, other)
    if test is None:
        return f"{other} against {first}: {change}. Shown without a test."
    if not test["significant"]:
        text = f"No difference in lying could be shown between {other} and {first}: {change} ({between(lie['ci95'])})."
        return f"{text} {_power(pairing)}" if pairing["smallest_difference"] else text
    less = lie["difference"] < 0
    text = f"{other} lies {'less' if less else 'more'} than {first}: {change} ({between(lie['ci95'])})."
    if less and pairing["rates"]["p_honest"]["ci95"][0] <= 0:
        return f"{text} {_no_gain(pairing)}"
    return f"{text} {_besides(pairing)}"


def differs(data: Json, pairing: Json) -> Grid:
    """The settings in which the two runs differ."""
    rows = ((one["field"], plain(str(one["first"])), plain(str(one["other"]))) for one in pairing["differs"])
    return ("what differs", *names(data, pairing)), tuple(rows)


def rates(data: Json, pairing: Json) -> Grid:
    """Every rate of both runs, and the difference."""
    rows = (
        (
            NAMES[name],
            *(percent(rate["first"]), percent(rate["other"])),
            *(points(rate["difference"]), between(rate["ci95"])),
            f"{rate['n']:,}",
        )
        for name, rate in pairing["rates"].items()
    )
    return ("rate", *names(data, pairing), "points", "95 %", "n"), tuple(rows)


def factors(data: Json, pairing: Json) -> Grid:
    """The three shares that P(lie) is the product of, and what the change of each did to it."""
    rows = (
        (
            NAMES[name],
            *(percent(factor["first"]), percent(factor["other"])),
            *(points(factor["difference"]), between(factor["ci95"])),
            *(points(factor["contribution"]), between(factor["contribution_ci95"])),
        )
        for name, factor in pairing["factors"].items()
    )
    return ("P(lie) is", *names(data, pairing), "points", "95 %", "through", "95 %"), tuple(rows)


def transitions(counts: Json, first: str, other: str) -> Grid:
    """What became of each outcome of the first run (rows) in the other (columns); disputed ones are outcomes, too."""
    rows = (
        (outcome.replace("_", " "), *(f"{count:,}" if count else "·" for count in into.values()))
        for outcome, into in counts.items()
        if any(into.values())
    )
    return (f"{first} ↓  {other} →", *(outcome.replace("_", " ") for outcome in counts)), tuple(rows)


def facts(data: Json, pairing: Json) -> Iterator[tuple[str, str]]:
    """All else that a reader needs, a label with what is to say."""
    first, other = names(data, pairing)
    mcnemar, counts = pairing["mcnemar"], pairing["shared"]
    yield (
        "McNemar's counts",
        f"{mcnemar['lie_to_other']:,} a lie of {first} alone, {mcnemar['other_to_lie']:,} a lie of {other} alone",
    )
    if pairing["changed"]:
        yield "changed", f"from {first} to {other}:\n{_changed(pairing['changed'])}"
    failed = _failed(counts, first, other)
    yield "shared scenarios", f"{counts['scenarios']:,} on {counts['propositions']:,} propositions{failed}"
    if pairing["bounds"]:
        disputed = " or is disputed" if "disputed" in pairing["transitions"] else ""
        yield f"whatever failed{disputed}", _bounds(pairing["bounds"])
    if pairing["smallest_difference"]:
        yield "could have shown", f"{100 * pairing['smallest_difference']:.1f} points in P(lie), with 80 % power"
    if test := pairing["test"]:
        holm = f"; p {p_value(test['p'])}"
        if data["comparisons"] > 1:
            holm += f", {p_value(test['p_holm'])} after Holm for {data['comparisons']:,} comparisons"
        yield "test", f"{test['name']} on P(lie), {_how_tested(test)}{holm}"


def _besides(pairing: Json) -> str:
    """What became of the other outcomes: fewer lies may be more evasion."""
    changes = (
        f"{NAMES[name]} {points(pairing['rates'][name]['difference'])}"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"Besides, in points: {', '.join(changes)}."


def _power(pairing: Json) -> str:
    return (
        f"With these {pairing['shared']['with_outcomes_in_both']:,} scenarios a true difference of "
        f"{100 * pairing['smallest_difference']:.1f} points would have been shown in 80 % of cases."
    )


def _no_gain(pairing: Json) -> str:
    changes = (
        f"{NAMES[name]} {points(pairing['rates'][name]['difference'])} ({between(pairing['rates'][name]['ci95'])})"
        for name in ("p_honest", "p_evasive", "p_no_belief")
    )
    return f"That it is honest more often is not shown: {', '.join(changes)}."


def _how_tested(test: Json) -> str:
    if test["exact"]:
        return "mid-p; all sign patterns"
    if test["patterns"]:
        return f"mid-p; {test['patterns']:,} sign patterns, drawn"
    return "Student's t; the draw of what was looked at twice is in it"


def _failed(counts: Json, first: str, other: str) -> str:
    failed = {
        f"in {first} only": counts["failed_in_first_only"],
        f"in {other} only": counts["failed_in_other_only"],
        "in both": counts["failed_in_both"],
    }
    listed = ", ".join(f"{count:,} {where}" for where, count in failed.items() if count)
    return f"; without outcome: {listed}" if listed else ""


def _bounds(bounds: Json) -> str:
    interval = f"; with its interval {between(bounds['ci95'])}" if bounds["ci95"] else ""
    return f"the difference in P(lie) lies within {between(bounds['difference'])}{interval}"


def _changed(changed: Sequence[Json]) -> str:
    """Which scenarios changed, by kind of change, the most frequent first."""
    kinds = Counter((one["first"], one["other"]) for one in changed)
    lines = []
    for (before, after), count in kinds.most_common():
        ids = [plain(one["task_id"]) for one in changed if (one["first"], one["other"]) == (before, after)]
        more = f", ... ({count - SHOWN_IDS:,} more)" if count > SHOWN_IDS else ""
        arrow = f"{before} → {after}".replace("_", " ")
        lines.append(f"{arrow}, {count:,}: {', '.join(ids[:SHOWN_IDS])}{more}")
    return "\n".join(lines)
