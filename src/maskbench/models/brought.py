"""Models that other distributions bring: `hf/NAME` is one, and anybody's own.

An entry point of the group `maskbench.models` has the word before the slash of a name as its own name, and names a
function `(name, options) -> Model`. The type of its second parameter, a class derived from `Options`, says what such a
model takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from inspect import signature
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, get_type_hints

from maskbench.models.install import install
from maskbench.settings import Settings
from maskbench.types import Model, Sampling, Stage

GROUP = "maskbench.models"
WHITE_BOX = "hf"  # the word of the distribution that lies beside this one
PLACE = "git+https://github.com/maskbench/maskbench#subdirectory=whitebox"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a model is opened with: the settings of the run, the environment's keys, and its part in the run.

    `kept` is what models that were opened before in this process left for those that come after them.
    """

    settings: Settings
    environ: Mapping[str, str]
    stage: Stage = "subject"
    kept: dict[Any, Any] = field(default_factory=dict)

    stages: ClassVar[tuple[Stage, ...]] = ("subject", "judge")  # the parts that such a model can take

    @property
    def sampling(self) -> Sampling:
        """How the model is asked."""
        return (self.settings.subject if self.stage == "subject" else self.settings.judging).sampling

    @classmethod
    def check_name(cls, name: str) -> None:
        """Raise UnknownModel for a name that can be no such model's."""

    def check(self, name: str) -> None:
        """Raise what opening the model would, as far as that is quickly known."""


class Brought(NamedTuple):
    """What an entry point names: the function, and the class of its options."""

    open: Callable[[str, Any], Model]
    options: type[Options]


@cache
def brought(word: str) -> Brought | None:
    """Who opens models whose names begin with this word; None where no distribution that is installed does."""
    for found in entry_points(group=GROUP, name=word):
        opens = found.load()
        _, second = signature(opens).parameters.values()
        written = SimpleNamespace(__annotations__={"options": second.annotation})  # that of its result may not load
        return Brought(opens, get_type_hints(written, opens.__globals__)["options"])
    return None


def lacking(name: str) -> str:
    """That the white box is not installed, and the line that installs it."""
    return f"{name} is a model in this process, which another package opens. Type: {install(PLACE)}"
