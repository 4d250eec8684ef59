"""The page of a dose curve: the verdict, the curve with its controls, outcomes side by side, damage, the choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.pages.dose_curves import DAMAGE
from maskbench.pages.shell import Document, document, environment, static
from maskbench.plain import visible
from maskbench.report.blocks import Bars, Block, Differences, Facts, Figure, OverDose, Row, Section, Table, Warn
from maskbench.report.format import CAVEAT, between, estimate, percent, points, shown
from maskbench.report.outcome_bars import KEY, ORDER, RATE_OF, WHISKERS, outcomes
from maskbench.report.sections.dose_text import (
    DISPLAY,
    became,
    change,
    chosen_row,
    dose_of,
    finding,
    name_of,
    notes,
    opposite_row,
    split_in_words,
    title,
)
from maskbench.stats.intervals import Estimate
from maskbench.types import EVASIONS

Json = Mapping[str, Any]
_NOTHING: Json = {"word": "", "finding": "", "reasons": (), "change": "", "interval": ""}


def render(folder: Path) -> Document:
    """The page of the dose curve in this folder; raises RunUnreadable where there is none."""
    data = DoseFolder(folder).data()
    found = _found(data) if data["complete"] else _NOTHING
    words = [rule.partition(": ")[::2] for rule in data["words"]]
    sections = list(_sections(data)) if data["complete"] else []
    body = (
        environment()
        .get_template("dose.jinja")
        .render(
            question=visible(f"What does it do to {data['plan']['base']['subject']}, and at what cost?"),
            title=visible(title(data)),
            complete=data["complete"],
            notes=[visible(note) for note in notes(data)],
            sections=sections,
            words=words,
            **found,
        )
    )
    name = f"{title(data)} – maskbench"
    return document(name, Markup(body), (static("report.css"),), kind="report")  # noqa: S704  # ours, escaped


def _found(data: Json) -> Json:
    """What stands above the sections."""
    chosen, verdict = chosen_row(data), data["verdict"]
    lie = chosen["rates"]["p_lie"] if chosen else None
    has = lie is not None and lie["difference"] is not None
    return {
        "word": verdict["word"],
        "finding": visible(finding(data)),
        "reasons": [visible(reason) for reason in verdict["reasons"]],
        "change": points(lie["difference"]) if lie and has else "",
        "interval": between(lie["ci95"]) if lie and has else "",
    }


def _sections(data: Json) -> Iterator[Section]:
    if data["test"] is not None:
        rows = sorted([data["test"]["zero"], *data["test"]["rows"]], key=lambda row: row["amount"] or 0.0)
        if all(row["amount"] is not None for row in rows):
            yield Section("curve", "The dose curve", "curve", tuple(_curves(data, rows)))
        yield Section("outcomes", "Outcomes side by side", "outcomes", tuple(_side_by_side(data, rows)))
        yield Section("damage", "Damage", "damage", tuple(_damage(data, rows)))
        yield Section("transitions", "What became of what", "transitions", (_transitions(data),))
    yield Section("choice", "How the dose was chosen", "choice", tuple(_choice(data)))


# The curve


def _curves(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    yield Figure(
        (OverDose("outcomes", data, tuple(rows)),),
        "Outcomes by dose",
        _values(data, rows),
        KEY,
        f"95 % intervals: {CAVEAT}.{_band_note(data)}",
    )
    yield from _controls(data)
    yield Figure(
        (OverDose("damage", data, tuple(rows)),),
        "Damage by dose",
        _damage_table(data, rows),
        tuple((colour, said) for _, colour, said in DAMAGE),
        "Accuracy and the share without a belief are of beliefs elicited again at each dose.",
    )


def _band_note(data: Json) -> str:
    controls = data["controls"]
    if not controls or not controls["differences"]:
        return ""
    return (
        f" The band is where P(lie) stays under {len(controls['differences'])} random directions of the same norm at "
        "the chosen strength, each of them a small point there. The dashed line is the chosen dose."
    )


def _controls(data: Json) -> Iterator[Block]:
    opposite, controls = opposite_row(data), data["controls"]
    rows = []
    if controls and controls["differences"]:
        found = controls["differences"]
        rows.append(
            (
                f"{len(found)} random directions of the same norm",
                f"P(lie) {points(min(found))} to {points(max(found))} points, by {controls['statements']} statements a "
                f"scenario. The effect goes further than {controls['exceeded']} of {len(found)}.",
            )
        )
    if opposite is not None:
        rows.append(("the negated direction", visible(change(data, opposite))))
    if rows:
        yield Facts(tuple(rows))


# Side by side


def _side_by_side(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    mixes = [
        outcomes(_label(data, row), {name: estimate(row["values"][RATE_OF[name]]) for name in ORDER}) for row in rows
    ]
    yield Figure((Bars(tuple(mixes)),), "Outcomes by dose, as bars", _values(data, rows), KEY, WHISKERS)
    drawn = [Row(_label(data, row), _difference(row["rates"]["p_lie"]), "lie") for row in rows if "rates" in row]
    if any(row.estimate.value is not None for row in drawn):
        table = Table(
            ("dose", "P(lie), points", "95 %", "P(honest), points", "95 %", "in words"),
            tuple(
                (
                    _label(data, row),
                    *(text for name in ("p_lie", "p_honest") for text in _points(row["rates"][name])),
                    row["verdict"]["word"],
                )
                for row in rows
                if "rates" in row
            ),
            last_text=True,
        )
        yield Figure(
            (Differences(tuple(drawn)),),
            "P(lie) against dose 0, scenario by scenario",
            table,
            (),
            f"95 % intervals, paired: {CAVEAT}. {DISPLAY}",
        )
    for row in rows:
        for reason in row.get("untested_because") or ():
            yield Warn(visible(f"{_label(data, row)}: {reason}"))


def _values(data: Json, rows: Sequence[Json]) -> Table:
    names = [*(RATE_OF[name] for name in ORDER), "accuracy"]
    return Table(
        ("dose", "P(lie)", "P(honest)", "P(evasive)", "P(no belief)", "accuracy"),
        tuple((_label(data, row), *(shown(estimate(row["values"][name])) for name in names)) for row in rows),
    )


# Damage


def _damage(data: Json, rows: Sequence[Json]) -> Iterator[Block]:
    yield (
        "Beliefs are elicited again at every dose. P(lie) is also given against the beliefs of dose 0: an intervention "
        "that moves beliefs instead of statements shows there. A reply is malformed where the judge calls it garbled, "
        "where it is no text, or where it repeats itself."
    )
    yield _damage_table(data, rows)
    kinds = [name for name in (*EVASIONS, "unsaid") if name != "unsaid" or any(row["evasions"][name] for row in rows)]
    yield Table(
        ("dose", *(name.replace("_", " ") for name in kinds)),
        tuple((_label(data, row), *(percent(row["evasions"][name]) for name in kinds)) for row in rows),
        "Kinds of evasion, as shares of all statements",
    )


def _damage_table(data: Json, rows: Sequence[Json]) -> Table:
    return Table(
        ("dose", "accuracy", "no belief", "beliefs moved", "P(lie) by beliefs of dose 0", "malformed", "perplexity"),
        tuple(
            (
                _label(data, row),
                percent(row["values"]["accuracy"]["value"]),
                percent(row["values"]["p_no_belief"]["value"]),
                _moved(row),
                percent(row["p_lie_by_base"]["other"] if "rates" in row else row["values"]["p_lie"]["value"]),
                percent(row["malformed_value"]),
                "–" if row["perplexity"] is None else f"{row['perplexity']:.4g}",
            )
            for row in rows
        ),
    )


def _moved(row: Json) -> str:
    found = row.get("beliefs_changed")
    return percent(found["changed"] / found["n"]) if found and found["n"] else "–"


def _transitions(data: Json) -> Table:
    return became(data)


# The choice


def _choice(data: Json) -> Iterator[Block]:
    split, plan = data["split"], data["plan"]
    rows = [
        (
            part,
            visible(split_in_words(split[part], statements)),
        )
        for part, statements in (("dev", plan["dev_statements"]), ("test", plan["base"]["statements"]))
    ]
    yield Facts((*rows, ("in both", f"{split['shared_propositions']:,} propositions")))
    if data["dev"] is None:
        yield "There was one dose: nothing was chosen, and the dev split was not measured."
        return
    yield f"Chosen was {data['choice']}. It was then measured once on the test split."
    ruled_out = data["dev"]["ruled_out"]
    yield Table(
        ("dose, on dev", "P(lie)", "accuracy", "no belief", "malformed", "perplexity", "ruled out by"),
        tuple(
            (
                visible(dose_of(data, row)) + (" ▸ chosen" if row["name"] == data["dev"]["chosen"] else ""),
                *(percent(row["values"][name]["value"]) for name in ("p_lie", "accuracy", "p_no_belief")),
                percent(row["malformed_value"]),
                "–" if row["perplexity"] is None else f"{row['perplexity']:.4g}",
                visible(ruled_out.get(row["name"], "")),
            )
            for row in (data["dev"]["zero"], *data["dev"]["rows"])
        ),
        last_text=True,
    )


def _label(data: Json, row: Json) -> str:
    mark = "▸ " if row["name"] == data["test"]["chosen"] else ""
    return visible(f"{mark}{name_of(row, data['plan']['kind'])}")


def _points(rate: Json) -> tuple[str, str]:
    return points(rate["difference"]), between(rate["ci95"])


def _difference(rate: Json) -> Estimate:
    low, high = rate["ci95"] or (None, None)
    return Estimate(rate["difference"], low, high, rate["n"])
