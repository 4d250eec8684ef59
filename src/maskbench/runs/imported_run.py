"""What may not be done with an imported run: nobody asks its subject, who answered elsewhere."""

from __future__ import annotations

from msgspec import UnsetType

from maskbench.errors import RunMismatch
from maskbench.runs.folder import RunFolder
from maskbench.runs.imported_json import ImportedFrom, judge_line
from maskbench.runs.run_json import Record


def source_of_import(record: Record) -> ImportedFrom | None:
    """Where a run is imported from; None for one that was measured."""
    return None if isinstance(record.imported, UnsetType) else record.imported


def check_not_imported(folder: RunFolder) -> None:
    """Raise RunMismatch where a run that was imported would be asked further."""
    if folder.exists:
        folder.check_texts("nobody can be asked here")
    if folder.exists and (source := source_of_import(folder.read())):
        raise RunMismatch(
            f"{folder.path} is {source.words}: its subject answered elsewhere, and is not asked here. To have the "
            f"replies judged, `{judge_line(folder.path)}`. To measure a model, give another --out."
        )
