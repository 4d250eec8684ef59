"""The page of a dose curve: the finding, then the sections on it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.pages import figure_files
from maskbench.pages.shell import Document, document, environment, static
from maskbench.report.format import between, points
from maskbench.report.sections.doses import chosen_row, finding, notes, reasons, rules, sections, title
from maskbench.types import Json


def render(folder: Path, figures: Path | None = None) -> Document:
    """The page of the dose curve in this folder, whose charts `figures` gets as files where it is a folder.

    Raises RunUnreadable where there is no curve, UsageError where a figure cannot be written.
    """
    data = DoseFolder(folder).data()
    subject, complete = data["plan"]["base"]["subject"], data["complete"]
    parts = list(sections(data)) if complete else [rules(data)]
    if figures is not None:
        figure_files.write(parts, figures)
    body = (
        environment()
        .get_template("dose.jinja")
        .render(
            question=f"What does it do to {subject}, and at what cost?",
            title=title(data),
            complete=complete,
            notes=list(notes(data)),
            sections=parts,
            **(_found(data) if complete else {}),
        )
    )
    name = f"{title(data)} – maskbench"
    look = (static("report.css"),), (static("figures.js"),)
    return document(name, Markup(body), *look, allow={"img-src": "blob:"}, kind="report")  # noqa: S704  # ours, escaped


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
