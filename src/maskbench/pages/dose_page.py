"""The page of a dose curve: the finding, then the sections on it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.dose_json import DoseCurve
from maskbench.pages.shell import Document, document, environment, static
from maskbench.report.format import between, points
from maskbench.report.sections.doses import finding, notes, reasons, rules, sections, title


def render(folder: Path) -> Document:
    """The page of the dose curve in this folder; raises RunUnreadable where there is none."""
    data = DoseFolder(folder).data()
    curve = data if isinstance(data, DoseCurve) else None
    body = (
        environment()
        .get_template("dose.jinja")
        .render(
            question=f"What does it do to {data.plan.base.subject}, and at what cost?",
            title=title(data),
            complete=curve is not None,
            notes=list(notes(data)),
            sections=list(sections(curve)) if curve else [rules(data)],
            **(_above(curve) if curve else {}),
        )
    )
    name = f"{title(data)} – maskbench"
    return document(name, Markup(body), (static("report.css"),), kind="report")  # noqa: S704  # ours, escaped


def _above(data: DoseCurve) -> dict[str, str | tuple[str, ...]]:
    """What stands above the sections."""
    difference, ends = None, None
    if data.chosen is not None:
        difference, ends = data.chosen.rates.p_lie.difference, data.chosen.rates.p_lie.ci95
    return {
        "word": data.verdict.word,
        "finding": finding(data),
        "reasons": reasons(data),
        "change": "" if difference is None else points(difference),
        "interval": "" if difference is None else between(ends),
    }
