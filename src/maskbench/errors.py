"""Everything that can stop maskbench, as one tree.

MaskbenchError
├── UsageError          an option or a combination of options that cannot be meant
│   └── UnknownVerdicts the run has no verdict set of that name
├── ModelError          a model that cannot be asked at all (a single failed call is a Failure, a value)
│   ├── AccessError     the key is missing or refused
│   ├── UnknownModel    the name means nothing to us or to the endpoint
│   └── Unreachable     nothing answers at the address
├── RunError            a run folder that cannot be used
│   ├── RunLocked       another process is writing to it
│   ├── RunMismatch     it holds another measurement
│   └── RunUnreadable   no run, or one of a schema this version does not know
├── Interrupted         stopped before the end; what was answered is kept
│   └── BudgetReached   stopped at a limit of money or tokens
└── ScenarioError       a scenario set that cannot be read; carries every problem found
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class MaskbenchError(Exception):
    """The root: its text is a sentence for the user, and names the remedy."""


class UsageError(MaskbenchError):
    """An option, or a combination of options, that cannot be meant."""


class UnknownVerdicts(UsageError):
    """The run has no verdict set of that name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario file: where, what, and what to do about it."""

    file: str
    row: int | None  # as an editor that reads the format counts: 1 is the first row of data
    column: str | None
    problem: str
    remedy: str

    def __str__(self) -> str:
        row = f", row {self.row}" if self.row is not None else ""
        column = f", column {self.column}" if self.column is not None else ""
        return f"{self.file}{row}{column}: {self.problem}. {self.remedy}."


class ScenarioError(MaskbenchError):
    """A scenario set that cannot be read; `problems` holds everything that was found."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        shown = [str(problem) for problem in self.problems[:10]]
        if len(self.problems) > len(shown):
            shown.append(f"... and {len(self.problems) - len(shown)} more.")
        super().__init__("\n  ".join([message, *shown]))


class ModelError(MaskbenchError):
    """A model that cannot be asked at all."""


class AccessError(ModelError):
    """The key is missing, or the endpoint refuses it."""


class UnknownModel(ModelError):
    """No such model, here or at the endpoint."""


class Unreachable(ModelError):
    """Nothing answers at the endpoint's address."""


class RunError(MaskbenchError):
    """A run folder that cannot be used as asked."""


class RunLocked(RunError):
    """Another process is writing to the run folder."""


class RunMismatch(RunError):
    """The run folder holds another measurement than the one asked for."""


class RunUnreadable(RunError):
    """The folder holds no run, or one whose schema this version does not know."""


class Interrupted(MaskbenchError):
    """The run was stopped before its end; everything that was answered is kept."""


class BudgetReached(Interrupted):
    """The run was stopped because a limit of money or tokens would be passed; `option` sets it, at `limit`."""

    def __init__(self, message: str, option: str, limit: float | None = None) -> None:
        super().__init__(message)
        self.option = option
        self.limit = limit
