"""The page of a dose curve: the finding, then the sections on it."""

from __future__ import annotations

from pathlib import Path

from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import DoseCurve
from maskbench.pages import figure_files
from maskbench.pages.shell import Document, report
from maskbench.presentation.format import between, points
from maskbench.presentation.sections.doses import finding, notes, reasons, rules, sections, title


def render(folder: Path, figures: Path | None = None) -> Document:
    """The page of the dose curve in this folder, whose charts `figures` gets as files where it is a folder.

    Raises RunUnreadable where there is no curve, UsageError where a figure cannot be written.
    """
    data = DoseFolder(folder).data()
    curve = data if isinstance(data, DoseCurve) else None
    parts = list(sections(curve)) if curve else [rules(data)]
    if figures is not None:
        figure_files.write(parts, figures)
    values: dict[str, object] = {
        "question": f"What does it do to {data.plan.base.subject.name}, and at what cost?",
        "complete": curve is not None,
        "notes": list(notes(data)),
        "sections": parts,
        **(_above(curve) if curve else {}),
    }
    return report("dose.jinja", title(data), values)


def _above(data: DoseCurve) -> dict[str, str | tuple[str, ...]]:
    """What stands above the sections."""
    difference, ends = None, None
    if data.chosen is not None:
        difference, ends = data.chosen.rates["p_lie"].difference, data.chosen.rates["p_lie"].ci95
    return {
        "word": data.verdict.word,
        "finding": finding(data),
        "reasons": reasons(data),
        "change": "" if difference is None else points(difference),
        "interval": "" if difference is None else between(ends),
    }
