"""Whether a value that was read from a file is of the type that it has to be, and where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_SHOWN = 60  # characters of a wrong value in an error


def misfit(value: Any, kind: Any, where: str = "") -> str | None:
    """What does not fit, as in `scenarios.n is "x"`; None where the value is of that type.

    `kind` is a type as annotations have it: plain ones, Literal, unions, sequences, mappings with text as keys,
    TypedDicts (further keys are passed over), and dataclasses, of which `value` has to be an instance.
    """
    return next(_misfits(value, kind, where), None)


def _misfits(value: Any, kind: Any, where: str) -> Iterator[str]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, UnionType):
        if all(misfit(value, each) for each in inner):
            yield _wrong(value, where)
    elif is_typeddict(kind):
        yield from _misfits_of_fields(value, kind, where)
    elif is_dataclass(kind):
        yield from _misfits_of_attributes(value, kind, where)
    elif origin is Literal:
        if value not in inner or type(value) not in map(type, inner):
            yield _wrong(value, where)
    elif origin in (list, tuple, Sequence):
        yield from _misfits_of_entries(value, origin, inner, where)
    elif origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            yield _wrong(value, where)
        else:
            for name, each in value.items():
                yield from _misfits(each, inner[1], _inside(where, str(name)))
    elif not _is(value, kind):
        yield _wrong(value, where)


def _misfits_of_attributes(value: Any, kind: Any, where: str) -> Iterator[str]:
    hints = _hints(kind)
    for each in fields(kind):
        yield from _misfits(getattr(value, each.name, _NOTHING), hints[each.name], _inside(where, each.name))


def _misfits_of_fields(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield _wrong(value, where)
        return
    for name, each in _hints(kind).items():
        is_optional = get_origin(each) is NotRequired
        if name in value:
            yield from _misfits(value[name], get_args(each)[0] if is_optional else each, _inside(where, name))
        elif kind.__total__ and not is_optional:
            yield f"there is no {_inside(where, name)}"


def _misfits_of_entries(value: Any, origin: Any, inner: tuple[Any, ...], where: str) -> Iterator[str]:
    if not isinstance(value, list | tuple) or (origin is tuple and not isinstance(value, tuple)):
        yield _wrong(value, where)
        return
    several = origin is not tuple or inner[-1] is ...
    if not several and len(value) != len(inner):
        yield _wrong(value, where)
        return
    for place, each in enumerate(value):
        yield from _misfits(each, inner[0] if several else inner[place], f"{where}[{place}]")


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


class _Nothing:
    def __repr__(self) -> str:
        return "missing"


_NOTHING = _Nothing()


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(value: Any, where: str) -> str:
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return f"{where or 'it'} is {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '…'}"
