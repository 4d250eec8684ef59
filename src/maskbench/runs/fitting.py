"""What was read from a file as the type that it has to be, or a sentence that says which part of it does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from maskbench.errors import RunUnreadable

T = TypeVar("T")
_SHOWN = 60  # characters of a wrong value in an error
_AT = re.compile(r" - at `(?:key in )?\$([^`]*)`")  # where msgspec says that something does not fit
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_ANY = "..."  # how msgspec names a key of a mapping
_LACKS = re.compile(r"Object missing required field `([^`]*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")


class Misfit(ValueError):
    """What does not fit, as in `scenarios.n is "x"`."""


class Unknown(Misfit):
    """A part that this version of maskbench does not know, by its name."""


def fitted(plain: Any, kind: type[T], where: str = "") -> T:
    """Plain JSON as this type; raises Misfit, whose text begins with the place, seen from `where`.

    A type that msgspec does not know reads itself by a class method `read`, which may raise ValueError.
    """
    try:
        return msgspec.convert(plain, kind, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), plain, kind, where) from None


def misfit(value: Any, kind: Any) -> str | None:
    """What does not fit in a value that may be an instance of the type already; None where all is well."""
    try:
        fitted(msgspec.to_builtins(value), kind)
    except Misfit as error:
        return str(error)
    except TypeError as error:  # no JSON at all
        return str(error)
    return None


def from_file(path: Path, plain: Any, kind: type[T], schema: int, what: str, otherwise: str) -> T:
    """The content of a JSON file of ours as this type.

    `what` it is and what to do `otherwise` stand in the sentence of the RunUnreadable that is raised for a file of
    another schema, for one with parts that only another version knows, and for one that does not fit.
    """
    check_schema(path, plain, schema, otherwise)
    try:
        return fitted(plain, kind)
    except Misfit as error:
        raise unreadable(path, plain, error, what, otherwise) from error


def check_schema(path: Path, plain: Any, schema: int, otherwise: str) -> None:
    """Raise RunUnreadable, with the version of maskbench that wrote it, for a file of another schema."""
    written = plain.get("schema") if isinstance(plain, Mapping) else None
    if written != schema:
        raise RunUnreadable(
            f"{path} has schema {written}; this version of maskbench reads schema {schema}. "
            f"Use {writer(plain)}, or {otherwise}."
        )


def unreadable(path: Path, plain: Any, misfit: Misfit, what: str, otherwise: str) -> RunUnreadable:
    """The error for a file that does not fit, with what its reader can do."""
    if isinstance(misfit, Unknown):
        return RunUnreadable(
            f"{path} has {misfit}, which maskbench {version('maskbench')} does not know. "
            f"Use {writer(plain)}, or {otherwise}."
        )
    written = written_by(plain)
    other = "" if written in (None, version("maskbench")) else f" use {writer(plain)},"
    return RunUnreadable(f"{path} is no record of {what}: {misfit}. Restore the file,{other} or {otherwise}.")


def written_by(plain: Any) -> str | None:
    """Which maskbench wrote a file last, as far as it says."""
    match plain:
        case {"sessions": [*_, {"versions": {"maskbench": str(written)}}]} | {"maskbench": str(written)}:
            return written[:_SHOWN]
    return None


def writer(plain: Any) -> str:
    """The maskbench that wrote a file, as it stands in `Use ..., or start anew`."""
    written = written_by(plain)
    return f"maskbench {written}, which wrote it" if written else "the version that wrote it"


def _read(kind: Any, value: Any) -> Any:
    return kind.read(value)


def _misfit(text: str, plain: Any, kind: Any, where: str) -> Misfit:
    """An error of msgspec in our words: it names places by the path, and keys of mappings not at all."""
    steps = [name or place for name, place in _STEP.findall("".join(reversed(_AT.findall(text))))]
    ways = list(_ways(plain, steps))
    names, value, _ = next((way for way in ways if len(ways) > 1 and _fails(way[2], kind)), ways[0])
    place = "".join([where, *(f"[{name}]" if name.isdigit() else f".{name}" for name in names)]).removeprefix(".")
    inside = f"{place}." if place else ""
    if lacks := _LACKS.match(text):
        return Misfit(f"there is no {inside}{lacks[1]}")
    if unknown := _UNKNOWN.match(text):
        return Unknown(f"{inside}{unknown[1]}")
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return Misfit(f"{place or 'it'} is {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}")


def _ways(plain: Any, steps: list[str]) -> Iterator[tuple[list[str], Any, Any]]:
    """Every way into a value along these steps: names, what stands at the end, and the value with no other way."""
    if not steps:
        yield [], plain, plain
        return
    for name in plain if steps[0] == _ANY else steps[:1]:
        for names, value, inside in _ways(plain[name] if isinstance(plain, Mapping) else plain[int(name)], steps[1:]):
            others = {} if steps[0] == _ANY else plain
            yield [name, *names], value, {**others, name: inside} if isinstance(others, Mapping) else plain


def _fails(plain: Any, kind: Any) -> bool:
    try:
        msgspec.convert(plain, kind, dec_hook=_read)
    except msgspec.ValidationError:
        return True
    return False
