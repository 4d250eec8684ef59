"""The file of a sweep: what holds for all of it, what every run has, the product of lists, and single runs."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from maskbench.asking.options import check
from maskbench.cli.asked import judged_like, new
from maskbench.cli.option_file import FIELDS, MODEL, OptionFile, as_typed, with_model
from maskbench.errors import MaskbenchError, UsageError
from maskbench.settings import Budget, Settings
from maskbench.sweeps.sweep_plan import check_names

_OF_ALL = ("connections", "rpm", "tpm", "max-cost", "max-tokens-total")  # of the sweep, in the words of `run`
_TOP: Mapping[str, str] = {
    "out": "a path",
    "max-cost": "dollars",
    "max-tokens-total": "a number of tokens",
    "connections": "a number",
    "rpm": "a number",
    "tpm": "a number",
    "at-once": "a number of runs",
    "checkpoints": "the name of a list in [product], or a list of names of runs",
    "every": "a table",
    "product": "a table",
    "run": "tables [[run]]",
}
_OPTIONS = tuple(name for name in FIELDS if name not in _OF_ALL)
_MOST = 1000  # runs


class _Value(NamedTuple):
    """One value on a list of the product: what it is called in the names of runs, and the options that it sets."""

    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SweepFile:
    """A sweep as its file has it; `series` are the names of runs that are checkpoints of one training, in order."""

    runs: Mapping[str, Settings]
    out: Path
    budget: Budget
    at_once: int | None
    series: tuple[tuple[str, ...], ...]


def read_file(path: Path) -> SweepFile:
    """What a sweep's file asks for; raises UsageError with file, table, key and remedy."""
    return _Reader(path, "a sweep").read()


class _Reader(OptionFile):
    def read(self) -> SweepFile:
        """The sweep in the file."""
        for key in self.plain:
            if key not in _TOP:
                self.unknown("", key, _TOP)
        budget = {name.replace("-", "_"): self._top(name) for name in _OF_ALL if name != "connections"}
        every = self._of_run("[every]", self._table("every"))
        axes = {name: self._axis(name, values) for name, values in with_model(self._table("product")).items()}
        runs, places = self._products(every, axes)
        self._add_single(runs, every)
        self._check(runs)
        at_once = self._top("at-once", int)
        if at_once is not None and at_once < 1:
            self.wrong("", "at-once", "is too small", "Give 1 or more.")
        return SweepFile(
            runs=runs,
            out=Path(self._top("out", str) or Path("sweeps") / self.path.stem),
            budget=Budget(**budget),
            at_once=at_once,
            series=self._series(runs, axes, places),
        )

    # Runs

    def _products(
        self, every: Mapping[str, Any], axes: Mapping[str, Sequence[_Value]]
    ) -> tuple[dict[str, Settings], dict[str, tuple[str, ...]]]:
        """Every combination of the lists by name, and where each of them stands on the lists."""
        runs: dict[str, Settings] = {}
        places: dict[str, tuple[str, ...]] = {}
        for values in product(*axes.values()) if axes else ():
            options = dict(every)
            for name, value in zip(axes, values, strict=True):
                if twice := next((key for key in value.options if key in options and key not in every), None):
                    self.wrong("[product]", name, f"sets {twice}, which another list sets, too", "Leave one out.")
                options |= value.options
            name = "_".join(value.name for value in values)
            self._add(runs, name, options, "[product]")
            places[name] = tuple(value.name for value in values)
            if len(runs) > _MOST:
                self.wrong("", "product", f"makes more than {_MOST:,} runs", "Shorten its lists.")
        return runs, places

    def _add_single(self, runs: dict[str, Settings], every: Mapping[str, Any]) -> None:
        """The runs of [[run]] tables, by their name, their label, or what they set."""
        tables = self.plain.get("run", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self.wrong("", "run", "is no list of tables", "Write each run below [[run]].")
        for number, table in enumerate(tables, start=1):
            where = f"[[run]] {number}"
            name, options = self._named(where, table)
            words = [_value_name(key, value) for key, value in options.items()]
            self._add(runs, name or "_".join(words) or "run", {**every, **options}, where)
        if not runs:
            self.wrong("", "product", "is missing", 'Write lists below it, such as model = ["sim"], or [[run]] tables.')

    def _add(self, runs: dict[str, Settings], name: str, options: Mapping[str, Any], where: str) -> None:
        """One run more; options that are none leave what stands in [every] out."""
        if name in runs:
            self.wrong(where, "name", f"{name} is the name of another run, too", "Give this one a name of its own.")
        if len(name) > 80:
            self.wrong(where, "name", f"{name} is too long", "Give its values names: { name = ..., model = ... }.")
        given = as_typed(options)
        if (model := given.pop("model", None)) is None:
            self.wrong(where, "model", "is missing", 'Add model = "pinocchio", or any other, here or in [every].')
        given |= {"connections": self._top("connections", int)} if "connections" in self.plain else {}
        try:
            runs[name] = new(model, judged_like(given))
            check(runs[name])
        except MaskbenchError as error:
            raise UsageError(f"{self.path}, {where}, run {name}: {error}") from None

    def _check(self, runs: Mapping[str, Settings]) -> None:
        try:
            check_names(runs)
        except UsageError as error:
            raise UsageError(f"{self.path}: {error}") from None

    # Lists of the product

    def _axis(self, name: str, values: Any) -> Sequence[_Value]:
        """The values of one list, each with the options that it sets."""
        values = values if isinstance(values, list) else [values]
        if not values:
            self.wrong("[product]", name, "is empty", "Give it values, or leave it out.")
        is_free = all(isinstance(value, dict) for value in values) and name not in ("template-args", "extra-body")
        if not is_free and name not in _OPTIONS and not name.startswith(MODEL):
            self.unknown("[product]", name, _OPTIONS, f" A list of your own has tables: [[product.{name}]].")
        axis = [each for value in values for each in self._values(name, value, is_free=is_free)]
        names = [each.name for each in axis]
        if twice := next((each for each in names if names.count(each) > 1), None):
            self.wrong("[product]", name, f"has {twice} twice", "Leave one out, or give each table a name.")
        return axis

    def _values(self, name: str, value: Any, *, is_free: bool) -> Iterator[_Value]:
        if is_free:
            given, options = self._named(f"[[product.{name}]]", value)
            if given is None:
                self.wrong(f"[[product.{name}]]", "name", "is missing", 'Name what the table is: name = "plain".')
            yield _Value(given, options)
        elif name.startswith(MODEL) and isinstance(value, str) and "*" in value:
            try:
                paths = paths_of(value)
            except UsageError as error:
                raise UsageError(f"{self.path}, [product], {name}: {error}") from None
            for each, path in paths.items():
                yield _Value(_plain(each), {name: str(path)})
        else:
            read = self.value("[product]", name, value)
            yield _Value(_value_name(name, read), {name: read})

    def _named(self, where: str, table: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """What a table is called, by its name or its label, and its options."""
        options = self._of_run(where, {key: value for key, value in table.items() if key != "name"}, ("name",))
        name = table.get("name", options.get("label"))
        if name is not None and not isinstance(name, str):
            self.wrong(where, "name", "is no text", 'Write it as name = "plain".')
        return None if name is None else _plain(name), options

    def _of_run(self, where: str, table: Mapping[str, Any], more: Sequence[str] = ()) -> dict[str, Any]:
        """The options of a table, none of which is of all runs together."""
        for key in table:
            if key in _OF_ALL:
                self.wrong(where, key, "is of all runs together", "Put it above the first table.")
        return self.options(where, table, _OPTIONS, more)

    # What holds for all

    def _top(self, key: str, kind: Any = None) -> Any:
        """A value above the first table; None where it is not there."""
        if key not in self.plain:
            return None
        if kind is not None:
            return self.typed("", key, self.plain[key], kind)
        return self.value("", key, self.plain[key])

    def _table(self, key: str) -> Mapping[str, Any]:
        table = self.plain.get(key, {})
        if not isinstance(table, dict):
            self.wrong("", key, "is no table", f"Write its keys below [{key}].")
        return table

    def _series(
        self,
        runs: Mapping[str, Settings],
        axes: Mapping[str, Sequence[_Value]],
        places: Mapping[str, tuple[str, ...]],
    ) -> tuple[tuple[str, ...], ...]:
        """The runs of each series of checkpoints: those that differ on that list alone, or those that are named."""
        wanted = self.plain.get("checkpoints")
        if wanted is None:
            return ()
        if isinstance(wanted, list):
            if unknown := next((name for name in wanted if name not in runs), None):
                self.unknown("", str(unknown), tuple(runs), key="checkpoints")
            return (tuple(wanted),)
        if wanted not in axes:
            self.unknown("", str(wanted), tuple(axes), key="checkpoints")
        at, series = list(axes).index(wanted), dict[tuple[str, ...], list[str]]()
        for name, place in places.items():
            series.setdefault(place[:at] + place[at + 1 :], []).append(name)
        return tuple(map(tuple, series.values()))


def _value_name(key: str, value: Any) -> str:
    """What a value is called in the name of a run."""
    key = key.removeprefix(MODEL)
    match key, value:
        case "system-prompt", None:
            return "plain"
        case _, None:
            return f"no-{key}"
        case (("model" | "system-prompt" | "scenarios" | "label"), _):
            return _plain(str(value))
        case "judge", _:
            return f"by-{_plain(str(value))}"
        case _, True:
            return key
        case _, list():
            return _plain("-".join(map(str, value)))
    return _plain(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}")


def _plain(text: str) -> str:
    """A text as a folder and a verdict set may be called."""
    return re.sub(r"[^A-Za-z0-9._=]+", "-", text).strip("-._=") or "x"


def with_limits(sweep: SweepFile, max_cost: float | None, max_tokens_total: int | None) -> SweepFile:
    """The sweep with the limits that were typed in place of the file's."""
    given = {"max_cost": max_cost, "max_tokens_total": max_tokens_total}
    typed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(sweep, budget=replace(sweep.budget, **typed))


def paths_of(pattern: str) -> dict[str, Path]:
    """What a pattern such as DIR/step_* finds, by name, step_2 before step_10.

    The name is the file's or folder's; where several are called the same, their parent's goes before it. Raises
    UsageError where nothing is found, or names are the same all the same.
    """
    paths = sorted(map(Path, glob.glob(pattern)), key=lambda path: _natural(str(path)))  # noqa: PTH207  # takes absolute patterns
    if not paths:
        raise UsageError(f"nothing matches the pattern {pattern}.")
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [f"{path.absolute().parent.name}-{path.name}" for path in paths]
    same = [name for name, count in Counter(names).items() if count > 1]
    if same:
        raise UsageError(f"the pattern {pattern} finds several that are called {same[0]}. Name them one by one.")
    return dict(zip(names, paths, strict=True))


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts numbers in a text by what they are worth."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", text)]
