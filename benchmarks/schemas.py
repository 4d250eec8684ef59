"""The JSON schemas of every file and output of maskbench, from the types that read and describe them.

python benchmarks/schemas.py            write them into build/schemas/
python benchmarks/schemas.py FOLDER     write them into a folder, as the build of the wheel does
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import orjson

from maskbench.interop.exam_card import ExamCard
from maskbench.interop.imported import ImportData
from maskbench.interop.transcripts import Transcript
from maskbench.presentation.sections.exam import ExamData
from maskbench.results.comparison import ComparisonData
from maskbench.results.conventions import ConventionFigures
from maskbench.results.formula_steps import FormulaSteps
from maskbench.results.gate import CheckData
from maskbench.results.leaderboard_data import BoardData
from maskbench.results.outcome_rows import OutcomeRow
from maskbench.results.people.against_judge import AgreementData
from maskbench.results.published import FiguresData
from maskbench.results.summary import Summary
from maskbench.store.record import About, Known, Record
from maskbench.sweeps.record import SweepRecord

FOLDER = Path(__file__).parents[1] / "build" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES: dict[str, type] = {
    "run": Record,
    "summary": Summary,
    "row": OutcomeRow,
    "transcript": Transcript,
    "import": ImportData,
    "comparison": ComparisonData,
    "convention": ConventionFigures,
    "formula-steps": FormulaSteps,
    "leaderboard": BoardData,
    "check": CheckData,
    "published": FiguresData,
    "exam-result": ExamData,
    "exam-card": ExamCard,
    "agreement": AgreementData,
    "sweep": SweepRecord,
}


def schema(kind: type) -> bytes:
    """The schema of one type as it lies in the wheel."""
    made = msgspec.json.schema(kind, schema_hook=_own)
    return orjson.dumps({"$schema": DIALECT, **_in_lines(made)}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _own(kind: type) -> dict[str, Any]:
    """A model's description of itself: what is read of it, and whatever else it says."""
    if kind is not About:
        raise NotImplementedError
    known = msgspec.json.schema(Known)["$defs"]["Known"]
    return {**known, "title": "About", "description": About.__doc__}


def _in_lines(value: Any) -> Any:
    """The schema with its descriptions as running text, without the line ends and margins of the source."""
    if isinstance(value, dict):
        return {name: _text(each) if name == "description" else _in_lines(each) for name, each in value.items()}
    return [_in_lines(each) for each in value] if isinstance(value, list | tuple) else value


def _text(description: Any) -> Any:
    return " ".join(description.split()) if isinstance(description, str) else _in_lines(description)


def write(folder: Path) -> None:
    """Write every schema into a folder, and nothing else is there."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.schema.json"):
        path.unlink()
    for name, kind in TYPES.items():
        (folder / f"{name}.schema.json").write_bytes(schema(kind))


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
