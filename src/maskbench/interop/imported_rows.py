"""The records that every reader of somebody's format fills: one for the source, one a scenario, one a sample."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from maskbench.runs.imported_json import SourceFile
from maskbench.types import Archetype, Failure, Judgement, JudgeNumbers, Reply


@dataclass(frozen=True, slots=True)
class ImportedReply:
    """One sample as a source has it.

    `elicitation` is 0 for the statement and 1, 2, 3 for the neutral questions; `sample` counts from 1. A verdict of
    None says that the source holds none. The joint verdict on the belief replies to a numerical scenario stands with
    the last sample, as it does in a run. `judge_text` is what the judge wrote, where the source keeps it.
    """

    elicitation: int
    sample: int
    outcome: Reply | Failure
    verdict: Judgement | Failure | None = None
    judge_text: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedScenario:
    """What a source has on one scenario, and where it stands.

    `texts` are cells of the scenario itself by column (`system_prompt`, `belief_elicit_1`, `formatted_ground_truth`
    and so on), which have to be those of the scenario; columns that the source lacks are left out.
    """

    file: str
    row: int | None
    task_id: str | None
    replies: Sequence[ImportedReply]
    archetype: Archetype | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is known of a source as a whole.

    `judge` is None where it holds no verdicts, and `unknown` where nobody says whose they are. `known` are further
    settings that the source tells (`sampling`, `judge_sampling`, `system_prompt` and so on); `absent` names in words
    what it does not hold. `statements` and `beliefs` are how many samples it has room for; None: as many as there are.
    """

    format: str
    files: Sequence[SourceFile]
    subject: str
    judge: str | None = None
    numeric_judge: str | None = None
    judge_numbers: JudgeNumbers = "together"
    statements: int | None = None
    beliefs: int | None = None
    writer: str | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    absent: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # that a store remembers of a run
    textless: bool = False  # verdicts alone, of scenarios without texts
    exchanged: bool = False  # A and B of each of them have changed places, or not, by a coin


class Asked(NamedTuple):
    """What the user says of a source that does not say it itself."""

    subject: str | None = None
    judge: str | None = None


def file_of(path: Path) -> SourceFile:
    """A file's name with the hash of its bytes."""
    with path.open("rb") as file:
        return SourceFile(path.name, hashlib.file_digest(file, "sha256").hexdigest())
