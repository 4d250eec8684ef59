"""A reader: one way to meet a run. It sees every scenario that is done, in one pass, and then gives its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType, NoneType
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

import numpy as np
from msgspec import NODEFAULT, Struct, defstruct, structs
from numpy.typing import NDArray

from maskbench.method.rates import Table
from maskbench.method.rules import RuleSet
from maskbench.settings import Settings
from maskbench.store.record import About
from maskbench.store.verdict_sets import Done, OpenRun, VerdictSet
from maskbench.types import Archetype, Scored

Found = TypeVar("Found")
Differs = TypeVar("Differs")
R = TypeVar("R")
Record = TypeVar("Record", bound=type[Struct])


@dataclass(frozen=True, slots=True)
class Whole:
    """All scenarios of a run that are done, once each of them was seen; `withheld` says why there are no rates."""

    rows: Sequence[Scored]
    table: Table
    archetypes: Sequence[Archetype]
    settings: Settings
    rules: RuleSet
    subject: About
    complete: bool
    withheld: str | None


@dataclass(frozen=True, slots=True)
class Shared:
    """The scenarios that two runs share, with what they weigh, and whether differences are withheld or untested."""

    first: Sequence[Scored]
    tables: tuple[Table, Table]
    weights: NDArray[np.float64]
    settings: tuple[Settings, Settings]
    withheld: bool
    untested: bool
    by_labels: bool  # whether the rates that are compared are those that labels correct


class Reader(Generic[Found, Differs]):
    """One way to meet a run and give figures: its two types are those of its figures of one run, and of two.

    In JSON these stand under its `name`, `before` another key or last; with `always` a summary has null where it finds
    nothing. One without a name has no place there, and is asked by whoever wants it.
    """

    name: ClassVar[str] = ""
    always: ClassVar[bool] = False
    before: ClassVar[str] = ""

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Make ready for this run, by this verdict set under these rules."""
        self._run, self._judged = run, judged

    def see(self, done: Done) -> None:
        """Take in one scenario, with its texts and its outcome."""

    def found(self, whole: Whole) -> Found | None:
        """Its figures of the run; None where there is nothing to say."""
        return None

    def against(self, other: Self, shared: Shared) -> Differs | None:
        """Its figures of two runs on the scenarios that they share; None where there is nothing to say."""
        return None


class OfKind(Generic[R]):
    """A function of a scenario, computed once for all that were answered and judged alike, whatever the words."""

    def __init__(self, make: Callable[[Done], R]) -> None:
        self._make = make
        self._known: dict[int, R] = {}

    def __call__(self, done: Done) -> R:
        """What is made of this one."""
        if done.like not in self._known:
            self._known[done.like] = self._make(done)
        return self._known[done.like]


class Readers(tuple[Reader[Any, Any], ...]):
    """The readers of a run, each once."""

    __slots__ = ()

    def of(self, kind: type[R]) -> R:
        """The reader of this kind."""
        return next(each for each in self if isinstance(each, kind))

    @property
    def sees(self) -> list[Callable[[Done], None]]:
        """The functions that each scenario is shown to."""
        return [each.see for each in self if type(each).see is not Reader.see]

    def found(self, whole: Whole) -> dict[str, Any]:
        """Their figures of a run, by their names."""
        return {each.name: each.found(whole) for each in self if each.name}

    def against(self, others: Readers, shared: Shared) -> dict[str, Any]:
        """Their figures of two runs, by their names."""
        pairs = ((mine, mine.against(other, shared)) for mine, other in zip(self, others, strict=True))
        return {mine.name: found for mine, found in pairs if found is not None}


def with_found(readers: Iterable[type[Reader[Any, Any]]], runs: Literal[1, 2]) -> Callable[[Record], Record]:
    """Give a record of one run or of two a field for what each reader finds, where JSON is to have it."""

    def extended(record: Record) -> Record:
        base: type[Struct] = record.__bases__[0]
        own = [each for each in structs.fields(record) if each.name not in base.__struct_fields__]
        fields = [(each.name, each.type, *_default(each.default)) for each in own]
        for reader in readers:
            bases = reader.__orig_bases__  # type: ignore[attr-defined]  # as every generic class
            kind = (*get_args(bases[0]), None, None)[runs - 1]
            if reader.name and kind not in (None, NoneType):
                names = [name for name, *_ in fields]
                place = names.index(reader.before) if reader.before in names else len(names)
                always = reader.always and runs == 1
                fields.insert(place, (reader.name, kind | None, *_default(NODEFAULT if always else None)))
        methods = {name: each for name, each in vars(record).items() if isinstance(each, FunctionType)}
        return defstruct(  # type: ignore[return-value]  # the same record, with more fields
            record.__name__,
            fields,
            bases=(base,),
            module=record.__module__,
            namespace={"__doc__": record.__doc__, **methods},
            kw_only=True,
            omit_defaults=True,
            forbid_unknown_fields=True,
        )

    return extended


def _default(value: object) -> tuple[object, ...]:
    return () if value is NODEFAULT else (value,)
