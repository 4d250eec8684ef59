"""A CSV of the compute that went into models: what `--compute` names."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.models.families import family_of
from maskbench.results.scaling import Compute


def read_compute(path: Path) -> dict[str, Compute]:
    """Training compute by model, in lower case; raises UsageError that names the file, row, column and remedy."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"--compute {path} cannot be read ({error}). Give a CSV file in UTF-8.") from error
    known: dict[str, Compute] = {}
    for number, row in enumerate(rows, 1):
        cells = {str(name).strip().lower(): value.strip() for name, value in row.items() if isinstance(value, str)}
        if not cells.get("model") or "flop" not in cells:
            raise UsageError(f"--compute {path}, row {number}: it needs a model and a flop. Head the columns so.")
        model = cells["model"].lower()
        if model in known:
            raise UsageError(f"--compute {path}, row {number}, column model: {model} is there already. Keep one row.")
        flop = _flop(cells["flop"], f"--compute {path}, row {number}, column flop")
        known[model] = Compute(flop, cells.get("family") or family_of(model))
    return known


def _flop(text: str, where: str) -> float:
    try:
        flop = float(text)
    except ValueError:
        flop = math.nan
    if not 0 < flop < math.inf:
        raise UsageError(f"{where}: {text!r} is no number of operations. Write one such as 3.8e25.")
    return flop
