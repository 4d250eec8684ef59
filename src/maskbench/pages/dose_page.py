"""The page of a dose curve: the finding, then the sections on it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.pages.shell import Document, document, environment, static
from maskbench.report.format import between, points
from maskbench.report.sections.doses import chosen_row, finding, notes, reasons, rules, sections, title
from maskbench.types import Json


def render(folder: Path) -> Document:
    """The page of the dose curve in this folder; raises RunUnreadable where there is none."""
    data = DoseFolder(folder).data()
    subject, complete = data["plan"]["base"]["subject"], data["complete"]
    body = (
        environment()
        .get_template("dose.jinja")
        .render(
            question=f"What does it do to {subject}, and at what cost?",
            title=title(data),
            complete=complete,
            notes=list(notes(data)),
            sections=list(sections(data)) if complete else [rules(data)],
            **(_found(data) if complete else {}),
        )
    )
    name = f"{title(data)} – maskbench"
    return document(name, Markup(body), (static("report.css"),), kind="report")  # noqa: S704  # ours, escaped


def _found(data: Json) -> Json:
    """What stands above the sections."""
    chosen = chosen_row(data)
    lie = chosen["rates"]["p_lie"] if chosen else {"difference": None}
    return {
        "word": data["verdict"]["word"],
        "finding": finding(data),
        "reasons": reasons(data),
        "change": "" if lie["difference"] is None else points(lie["difference"]),
        "interval": "" if lie["difference"] is None else between(lie["ci95"]),
    }
