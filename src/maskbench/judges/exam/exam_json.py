"""exam.json as a type: which judge sits which paper, how it is asked, and in which sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from maskbench.runs.fitting import fitted
from maskbench.runs.run_json import About, JudgeSettings, PromptsUsed, Session, settings_as_written
from maskbench.settings import Precision, Quantisation

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class ExamSettings(JudgeSettings):
    """How the judge is asked; of one in this process, how it is held (older exams do not say)."""

    dtype: Precision = "auto"
    quantize: Quantisation | None = None
    trust_remote_code: bool = False


class PaperSat(Struct, forbid_unknown_fields=True):
    """The paper: its name, how many questions it has, and a hash of them."""

    name: str
    questions: int
    hash: str


class ExamRecord(Struct, forbid_unknown_fields=True, kw_only=True):
    """exam.json: everything that is to be known of how a judge was examined."""

    schema: int = SCHEMA
    maskbench: str
    created: str
    judge: str
    protocol: str
    settings: ExamSettings
    prompts: PromptsUsed
    paper: PaperSat
    model: About
    sessions: list[Session]
    plain_line: bool | UnsetType = UNSET  # whether it writes its line without the code of the request


def exam_from(plain: Mapping[str, Any]) -> ExamRecord:
    """The record that exam.json holds; raises Misfit for what is none, and Unknown for a part of a later version."""
    record = fitted(plain, ExamRecord)
    record.settings = settings_as_written(plain["settings"], ExamSettings)
    return record
