"""Data of a file as the type that it has to be, or a sentence that says which part of it does not fit."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from maskbench.errors import RunUnreadable
from maskbench.types import Json

T = TypeVar("T")
MOVING = "its `export --format published` and `import` here, or "  # of a run that another version wrote
_SHOWN = 60  # characters of a wrong value in an error
_AT = re.compile(r" - at `(?:key in )?\$([^`]*)`")  # where msgspec says that something does not fit
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_ANY = "..."  # how msgspec names a key of a mapping
_LACKS = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")

_known: set[Any] = set()  # types that msgspec has seen
_one_by_one = threading.RLock()


class Misfit(ValueError):
    """A part that does not fit, as in `scenarios.n is "x"`."""


class Unknown(Misfit):
    """A part that is not known, by its name."""


def fitted(plain: Any, kind: type[T], where: str = "") -> T:
    """Plain JSON as this type; raises Misfit, whose text begins with the place, seen from `where`.

    A type that msgspec does not know reads itself by a class method `read`, which may raise ValueError.
    """
    try:
        return _converted(plain, kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), plain, kind, where) from None


def _converted(plain: Any, kind: type[T]) -> T:
    """Plain JSON as this type, which msgspec looks at in one thread alone.

    What it notes of a type on its first use is there for other threads before it is whole, and ends their process
    (msgspec 0.22, CPython 3.11).
    """
    if kind in _known:
        return msgspec.convert(plain, kind, dec_hook=_read)
    with _one_by_one:
        try:
            return msgspec.convert(plain, kind, dec_hook=_read)
        finally:
            _known.add(kind)


def misfit(value: Any, kind: Any) -> str | None:
    """The part that does not fit in a value, which may be an instance of the type already; None where all is well."""
    try:
        fitted(msgspec.to_builtins(value), kind)
    except Misfit as error:
        return str(error)
    except TypeError as error:  # no JSON at all
        return str(error)
    return None


def from_file(
    path: Path, plain: Any, schema: int, read: Callable[[Json], T], what: str, otherwise: str, moving: str = ""
) -> T:
    """The content of a JSON file of ours, as `read` makes it of plain JSON.

    Raises RunUnreadable, which says `what` it is no record of and what to do `otherwise`, for a file of another version
    (by its schema, or by a part that is not known) and where `read` raises Misfit; `moving` is a way over from another
    version, with the word after it.
    """
    written = plain.get("schema") if isinstance(plain, Mapping) else None
    if written != schema:
        raise other_version(path, written, schema, writer(plain), f"{moving}{otherwise}")
    try:
        return read(plain)
    except Unknown as unknown:
        raise RunUnreadable(
            f"{path} is no record of {what} by this version of maskbench: {unknown} is not known. "
            f"Use {writer(plain)}, or {moving}{otherwise}."
        ) from unknown
    except Misfit as misfit:
        raise RunUnreadable(f"{path} is no record of {what}: {misfit}. Restore the file, or {otherwise}.") from misfit


def other_version(path: Path, written: object, schema: int, by: str, otherwise: str) -> RunUnreadable:
    """What is raised for a file of another schema, `written` `by` another maskbench."""
    return RunUnreadable(
        f"{path} has schema {written}; this version of maskbench reads schema {schema}. Use {by}, or {otherwise}."
    )


def writer(plain: Any) -> str:
    """The maskbench that wrote a file last, as far as it says, as it stands in `Use ..., or start anew`."""
    match plain:
        case {"sessions": [*_, {"versions": {"maskbench": str(written)}}]} | {"maskbench": str(written)}:
            return f"maskbench {written[:_SHOWN]}, which wrote it"
    return "the version that wrote it"


def _read(kind: Any, value: Any) -> Any:
    return kind.read(value)


def _misfit(text: str, plain: Any, kind: Any, where: str) -> Misfit:
    """An error of msgspec in our words: it names places by the path, and keys of mappings not at all."""
    steps = [name or place for name, place in _STEP.findall("".join(reversed(_AT.findall(text))))]
    ways = list(_ways(plain, steps)) or [([], plain, plain)]  # no way: a name that a file has may look like a path
    names, value, _ = next((way for way in ways if len(ways) > 1 and _fails(way[2], kind)), ways[0])
    place = "".join([where, *(f"[{name}]" if name.isdigit() else f".{name}" for name in names)]).removeprefix(".")
    inside = f"{place}." if place else ""
    if lacks := _LACKS.match(text):
        return Misfit(f"there is no {inside}{lacks[1]}")
    if unknown := _UNKNOWN.match(text):
        return Unknown(f"{inside}{unknown[1][:_SHOWN]}")
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return Misfit(f"{place or 'it'} is {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}")


def _ways(plain: Any, steps: list[str]) -> Iterator[tuple[list[str], Any, Any]]:
    """Every way into a value along these steps: names, what stands at the end, and the value with no other way."""
    if not steps:
        yield [], plain, plain
        return
    step, *rest = steps
    if isinstance(plain, Mapping):
        others = {} if step == _ANY else plain
        for name in plain if step == _ANY else [step] if step in plain else []:
            for names, value, inside in _ways(plain[name], rest):
                yield [name, *names], value, {**others, name: inside}
    elif isinstance(plain, list | tuple) and step.isdigit() and int(step) < len(plain):
        for names, value, inside in _ways(plain[int(step)], rest):
            yield [step, *names], value, [*plain[: int(step)], inside, *plain[int(step) + 1 :]]


def _fails(plain: Any, kind: Any) -> bool:
    try:
        _converted(plain, kind)
    except msgspec.ValidationError:
        return True
    return False
