"""Models that other distributions bring: `hf/NAME` is one, and anybody's own.

An entry point of the group `maskbench.models` has the word before the slash of a name as its own name, and names a
function `(name, options) -> Model`. The type of its second parameter, a class derived from `Options`, declares what
such a model takes for itself (`-M NAME=VALUE`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

import msgspec

from maskbench.errors import RunMismatch, UsageError
from maskbench.install import install
from maskbench.settings import KEPT_NAMES, Mark, Settings
from maskbench.types import Model, Sampling, Stage

GROUP = "maskbench.models"
WHITE_BOX = "hf"  # the word of the distribution that lies beside this one
PLACE = "git+https://github.com/maskbench/maskbench#subdirectory=whitebox"
NONE = "none"  # what is typed to leave an option out
_SHOWN = 60  # characters of a wrong value


def content(path: Path) -> str:
    """16 hexadecimal digits that stand for the content of a file; raises UsageError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}). Give a file that can.") from None


def unheard(_line: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class Takes:
    """The notes of a model on an option of its own, beside its type: a line for people, and what follows from it.

    An option that `shapes` answers is part of what the run is; one that does not may change when it goes on. The value
    of one that is `kept` counts where a folder has it, which may come from somebody else; any other is typed again. Of
    a file `content` says what stands for it.
    """

    words: str
    shapes: bool = True
    kept: bool = False
    content: Callable[[Path], str] = content


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that a model is opened with: the run's settings, the environment's keys, its part in the run.

    A class derived from it adds what its models take for themselves: fields with defaults, each
    `Annotated[TYPE, Takes(WORDS)]`. `loaded` is what models that were opened before in this process left for those
    that come after them, and `tell` shows a line to whoever measures.
    """

    settings: Settings
    environ: Mapping[str, str]
    stage: Stage = "subject"
    loaded: dict[Any, Any] = field(default_factory=dict)
    tell: Callable[[str], object] = unheard

    stages: ClassVar[tuple[Stage, ...]] = ("subject", "judge")  # the parts that such a model can take

    @property
    def sampling(self) -> Sampling:
        """The sampling of the model in its part."""
        return (self.settings.subject if self.stage == "subject" else self.settings.judging).sampling

    @classmethod
    def check_name(cls, name: str) -> None:
        """Raise UnknownModel for a name that can be no such model's."""

    def check(self, name: str) -> None:
        """Raise what opening the model would, as far as that is quickly known."""

    def occupies(self) -> str | None:
        """The device that such a model has to itself, for which another in a sweep waits; None: nothing."""
        return None

    def marks(self, known: Mapping[str, Mark]) -> dict[str, Mark]:
        """The marks of its options on the model; of files that are gone those `known` from when the run was begun.

        Raises RunMismatch for a file that is no longer what it was, and UsageError where there is nothing to read.
        """
        made = {}
        for name, option in _declared(type(self)).items():
            value = getattr(self, name)
            if not option.takes.shapes or value == option.default:
                continue
            if isinstance(value, Path):
                before = known[name].value if name in known else None
                made[name] = Mark(content_of(value, before, option.takes.content), value.name)
            else:
                made[name] = Mark(msgspec.to_builtins(value), name if value is True else f"{name}={value}")
        return made

    @classmethod
    def read(cls, model: str, typed: Mapping[str, Any]) -> dict[str, Any]:
        """Options as they are typed or stand in a file, as run.json keeps them; raises UsageError for what is none."""
        read = {}
        for name, value in typed.items():
            if name not in _declared(cls):
                cls._unknown(model, name)
            if value != NONE and value is not None:
                made = _value(model, name, value, _declared(cls)[name].kind)
                read[name] = msgspec.to_builtins(made, enc_hook=str)
        return read

    @classmethod
    def typed_again(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that a folder holds which count only where they are typed again."""
        declared = _declared(cls)
        return {name: value for name, value in stored.items() if name not in declared or not declared[name].takes.kept}

    @classmethod
    def made(cls, model: str, typed: Mapping[str, Any], **opened: Any) -> Options:
        """The options of a model that is opened with these; raises UsageError for what cannot be meant."""
        declared = _declared(cls)
        own = {name: _value(model, name, value, declared[name].kind) for name, value in cls.read(model, typed).items()}
        return cls(**opened, **own)

    @classmethod
    def _unknown(cls, model: str, name: str) -> NoReturn:
        declared = _declared(cls)
        if not declared:
            raise UsageError(f"-M {name}: {model} takes no options of its own. Leave it out.")
        close = get_close_matches(name, declared, 1)
        words = [f"{each} ({declared[each].takes.words})" for each in close or declared]
        meant = f"Did you mean {words[0]}?" if close else f"There are {'; '.join(words)}."
        raise UsageError(f"-M {name}: {model} has no such option. {meant}")


class _Declared(NamedTuple):
    """An option of a model's own."""

    kind: Any
    takes: Takes
    default: Any


def _declared(kind: type[Options]) -> dict[str, _Declared]:
    """What models of this kind take for themselves, by name."""
    hints, common = get_type_hints(kind, include_extras=True), {each.name for each in fields(Options)}
    own = {each.name: _option(each, hints[each.name]) for each in fields(kind) if each.name not in common}
    if taken := KEPT_NAMES & own.keys():
        raise TypeError(f"{kind.__name__}: an option of a model cannot be called {min(taken)}.")
    return own


def _option(own: Field[Any], hint: Any) -> _Declared:
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    takes = next((note for note in notes if isinstance(note, Takes)), None)
    if takes is None or own.default is MISSING:
        raise TypeError(f"{own.name}: an option of a model is Annotated[TYPE, Takes(WORDS)] and has a default.")
    for limit in (note for note in notes if note is not takes):  # as msgspec.Meta has it
        kind = Annotated[kind, limit]
    return _Declared(kind, takes, own.default)


def _value(model: str, name: str, value: Any, kind: Any) -> Any:
    """A value as its option has it; text is read as what the option takes."""
    try:
        return msgspec.convert(value, kind, strict=False, dec_hook=lambda wanted, given: wanted(given))
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        words = str(error).partition(" - at")[0]
        raise UsageError(f"-M {name}={str(value)[:_SHOWN]}: {model} cannot take it ({words}).") from None


def content_of(path: Path, known: Any, read: Callable[[Path], str] = content) -> Any:
    """The hash of a file's content: the one that is `known` where it is gone, as a finished run needs it no more.

    Raises RunMismatch where it has changed.
    """
    if known is not None and not path.exists():
        return known
    now = read(path)
    if known is not None and now != known:
        raise RunMismatch(
            f"{path} has changed since the run was begun (hash {known}, now {now}). Restore it, or begin another run."
        )
    return now


class Brought(NamedTuple):
    """The entry point of a kind of model: the function, and the class of its options."""

    open: Callable[[str, Any], Model]
    options: type[Options]


@cache
def brought(word: str) -> Brought | None:
    """The entry point for names that begin with this word; None where no distribution that is installed has it."""
    from importlib.metadata import entry_points  # loading it takes long, and a run that is read names no such model

    for found in entry_points(group=GROUP, name=word):
        opens = found.load()
        _, second = signature(opens).parameters.values()
        written = SimpleNamespace(__annotations__={"options": second.annotation})  # that of its result may not load
        return Brought(opens, get_type_hints(written, opens.__globals__)["options"])
    return None


def lacking(name: str) -> str:
    """The sentence that the white box is not installed, and the line that installs it."""
    return f"{name} is a model in this process, which another package opens. Type: {install(PLACE)}"
