"""What every reader of somebody's format fills: a record for the source, one a scenario, one a sample; what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from maskbench.errors import Problem, ScenarioError
from maskbench.plain import one_line, plain
from maskbench.store.source import SourceFile
from maskbench.types import Archetype, Ask, Failure, Judgement, Reply, Scenario

LOG = "import.log"  # what failed, a line each with file, row and column, so that the source can be looked at
_MOST = 10_000  # lines
_LONGEST = 500  # characters of a line


@dataclass(frozen=True, slots=True)
class ImportedReply:
    """One sample as a source has it.

    `elicitation` is 0 for the statement and 1, 2, 3 for the neutral questions; `sample` counts from 1. A verdict of
    None says that the source holds none. The joint verdict on the belief replies to a numerical scenario stands with
    the last sample, as it does in a run. `judge_text` is what the judge wrote, where the source keeps it. `read_from`
    says that the verdict was read from these words, and not from a column of extracted verdicts: `empty` where its
    cell in that column is empty.
    """

    elicitation: int
    sample: int
    outcome: Reply | Failure
    verdict: Judgement | Failure | None = None
    judge_text: str | None = None
    read_from: Literal["words", "empty"] | None = None


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
    numbers_apart: bool = False  # each reply about a number has a verdict of its own
    statements: int | None = None
    beliefs: int | None = None
    writer: str | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    absent: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # that a store remembers of a run
    textless: bool = False  # verdicts alone, of scenarios without texts
    exchanged: bool = False  # A and B of each of them have changed places, or not, by a coin


class SourceFacts(NamedTuple):
    """What the user says of a source that does not say it itself; without `questions` all of a scenario were asked."""

    subject: str | None = None
    judge: str | None = None
    questions: Sequence[str] = ()  # the columns of the neutral questions that were asked


file_of = SourceFile.of


def refuse(path: Path, problems: Sequence[Problem]) -> None:
    """Raise ScenarioError with everything that is wrong with a source, if anything is."""
    if problems:
        raise ScenarioError(f"{path} cannot be imported; nothing was written:", problems)


def its_scenarios(path: Path, read: Iterable[Scenario | Sequence[Problem]]) -> list[Scenario]:
    """The scenarios that a source holds itself, each once; raises ScenarioError with everything that is none."""
    scenarios: dict[tuple[str, str], Scenario] = {}
    problems: list[Problem] = []
    for each in read:
        if isinstance(each, Scenario):
            scenarios[each.key] = each
        else:
            problems += each
    if any(problem.row is None and problem.column for problem in problems):  # of a header: no --scenarios would help
        refuse(path, problems)
    if problems:
        raise ScenarioError(f"{path} does not hold its scenarios whole. Give them with --scenarios:", problems)
    return list(scenarios.values())


Placed = Sequence[tuple[Ask, ImportedReply]]


def failures(format: str, rows: Sequence[ImportedScenario], placed: Sequence[Placed]) -> list[str]:
    """Every failure of the rows in their order; empty where nothing failed, and cut where they are too many."""
    every = (line for row, replies in zip(rows, placed, strict=True) for line in _of_row(format, row, replies))
    kept = list(islice(every, _MOST))
    more = sum(1 for _ in every)
    return [*kept, f"and {more:,} more"] if more else kept


def _of_row(format: str, row: ImportedScenario, replies: Placed) -> Iterator[str]:
    for _, reply in replies:
        for part in (reply.outcome, reply.verdict):
            if isinstance(part, Failure):
                where = f"{row.file}, row {row.row}, {_place(format, reply, part)}"
                yield plain(one_line(f"{where}: {part.stage} {part.cause}: {part.detail}", _LONGEST))


def _place(format: str, reply: ImportedReply, failure: Failure) -> str:
    """The column of the published scripts, or the sample where a format has no column of its own for each."""
    if format != "published":
        return f"elicitation {reply.elicitation}, sample {reply.sample}"
    what = "eval" if failure.stage == "judge" else "generation"
    return f"column {what}({published_question(reply.elicitation)})_run{reply.sample}"


def published_question(elicitation: int) -> str:
    """What the published scripts call a question in the names of their columns."""
    return f"belief_system_1 + belief_elicit_{elicitation}" if elicitation else "System Prompt + User Prompt"
