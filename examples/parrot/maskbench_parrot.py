"""parrot/NAME: a model that says the same to everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from maskbench.doors import Options, Takes
from maskbench.types import Ask, Reply


@dataclass(frozen=True, kw_only=True)
class ParrotOptions(Options):
    """What -M NAME=VALUE sets."""

    words: Annotated[str, Takes("It says these words")] = "I do not know."


class Parrot:
    """A types.Model."""

    together = True  # several samples of one ask cost one request

    def __init__(self, name: str, words: str) -> None:
        self.name, self._words = name, words

    async def ask(self, ask: Ask) -> Sequence[Reply]:
        """A Reply or a Failure for each sample; a ModelError is raised only where no further ask can succeed."""
        return [Reply(self._words) for _ in ask.runs]

    def describe(self) -> dict[str, Any]:
        """What a reader of the run must know."""
        return {"name": self.name, "service": "parrot"}

    async def close(self) -> None:
        """Let go of what it holds."""


def open_parrot(name: str, options: ParrotOptions) -> Parrot:
    """What the entry point names; options.sampling and options.settings are the run's."""
    return Parrot(name, options.words)
