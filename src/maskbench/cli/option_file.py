"""The files that hold options of `maskbench run`: a single run's, and what a sweep's tables have in common with it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NoReturn, get_origin

import msgspec

from maskbench.asking.options import OPTIONS
from maskbench.cli.gone import GONE
from maskbench.cli.options import Like
from maskbench.errors import UsageError
from maskbench.plain import read_toml

_OWN: Mapping[str, Any] = {"model": str, "like": Like}  # fields that set no single setting
FIELDS = (*_OWN, *(name.replace("_", "-") for name in OPTIONS if name != "model_options"))  # as in `maskbench run`
MODEL = "model."  # a field of the table [model] begins so here, but for its name
_NONE = "none"
_OUT = "out"  # of a run's file alone


def run_file(path: Path) -> tuple[str | None, Path | None, dict[str, Any]]:
    """The model that the file of a single run asks for, its folder, and its options by their names.

    Raises UsageError with file, field and remedy.
    """
    file = OptionFile(path, "a run")
    table = {key: value for key, value in file.plain.items() if key != _OUT}
    options = file.options("", table, more=(_OUT,))
    given = as_typed(options)
    out = file.typed("", _OUT, file.plain[_OUT], str) if _OUT in file.plain else None
    return given.pop("model", None), Path(out) if out else None, given


def as_typed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file by the names that they have as settings, without those that it says there are none of."""
    there = {key: value for key, value in options.items() if value is not None}
    own = {key.removeprefix(MODEL): value for key, value in there.items() if key.startswith(MODEL)}
    given = {key.replace("-", "_"): value for key, value in there.items() if not key.startswith(MODEL)}
    return {**given, **({"model_options": own} if own else {})}


def with_model(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table whose own table [model], if it has one, is spread out into fields that begin with it."""
    inner = table.get("model")
    if not isinstance(inner, dict):
        return dict(table)
    spread = {"model" if key == "name" else f"{MODEL}{key}": value for key, value in inner.items()}
    return {key: value for key, value in table.items() if key != "model"} | spread


class OptionFile:
    """A TOML file whose tables hold options of `maskbench run`; `plain` is what it holds."""

    def __init__(self, path: Path, what: str) -> None:
        """Read the file; `what` it is of is said where it cannot be. Raises UsageError."""
        self.path = path
        try:
            self.plain: Mapping[str, Any] = read_toml(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{path} cannot be read ({error.strerror}). Give the TOML file of {what}.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path} is no TOML: {error}. Mend that line.") from None

    def options(
        self, where: str, table: Mapping[str, Any], known: Sequence[str] = FIELDS, more: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The options in a table by their names there; `more` is what may stand beside them, for the error.

        A table [model] has the model's name, and what it takes for itself.
        """
        table = with_model(table)
        for key in table:
            if key not in known and not key.startswith(MODEL):
                self.unknown(where, key, (*known, *more))
        return {key: self.value(where, key, value) for key, value in table.items()}

    def value(self, where: str, key: str, value: Any) -> Any:
        """An option's value as `maskbench run` reads it; None where it says that there is none."""
        if (value == _NONE and key != "judge") or key.startswith(MODEL):
            return None if value == _NONE else value
        if key in _OWN:
            return self.typed(where, key, value, _OWN[key])
        row = OPTIONS[key.replace("-", "_")]
        kind: Any = Literal[row.choices] if row.choices else row.kind
        if key in ("template-args", "extra-body") and isinstance(value, dict):
            return json.dumps(value)
        if get_origin(kind) is list and not isinstance(value, list):
            value = [value]
        read = self.typed(where, key, value, str if kind is Path else kind)
        least, most = row.limits
        for limit, wrong in ((least, least is not None and read < least), (most, most is not None and read > most)):
            if wrong:
                words = "more" if limit == least else "less"
                self.wrong(where, key, f"{read} is outside of its limits", f"Give {limit:,} or {words}.")
        return None if read is False else read

    def typed(self, where: str, key: str, value: Any, kind: Any) -> Any:
        """A value of this type; raises UsageError with what is meant."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            if instead := _expected_instead(key, value, kind):
                self.wrong(where, key, *instead)
            words = str(error).partition(" - at")[0]
            self.wrong(where, key, f"{value!r} cannot be meant ({words})", "See `maskbench run --help-all`.")

    def wrong(self, where: str, key: str, problem: str, remedy: str) -> NoReturn:
        """Raise UsageError for a value, with file, table, key and remedy."""
        place = f", {where}" if where else ""
        raise UsageError(f"{self.path}{place}, {key}: {problem}. {remedy}".replace(f"{key}: is", f"{key} is"))

    def unknown(self, where: str, name: str, known: Any, more: str = "", key: str | None = None) -> NoReturn:
        """Raise UsageError for a name that is none of the known, with the nearest of them."""
        close = get_close_matches(name, list(known), 1)
        gone = GONE.get(("run", f"--{name}")) or GONE.get(("sweep", f"--{name}"))
        meant = gone or (f"Did you mean {close[0]}?" if close else f"There are {', '.join(known)}.")
        place = f", {where}" if where else ""
        raise UsageError(f"{self.path}{place}{f', {key}' if key else ''}: nothing is called {name}. {meant}{more}")


def _expected_instead(key: str, value: Any, kind: Any) -> tuple[str, str] | None:
    """What kind of value a key takes and what it was given, and the remedy; None where words of a choice are taken."""
    kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if kind not in kinds:
        return None
    match value:
        case str():
            is_ = f"{json.dumps(value, ensure_ascii=False)} in quotes is text"
        case bool():
            is_ = f"{json.dumps(value)} is yes or no"
        case int() | float():
            is_ = f"{value} is {'a number with a fraction' if kind is int else 'a number'}"
        case list():
            is_ = "this is a list"
        case _:
            is_ = "this is a table or a date"
    examples = {int: "20", float: "0.5", bool: "true", str: '"text"'}
    return f"{kinds[kind]} is expected, and {is_}", f"Write it as in {key} = {_meant(value, kind) or examples[kind]}."


def _meant(value: Any, kind: Any) -> str | None:
    """What was meant by a text that holds a value of another kind, and by a value that lacks its quotes."""
    if kind is str:
        return f'"{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else None
    try:
        inside = tomllib.loads(f"x = {value}")["x"] if isinstance(value, str) else None
        return None if inside is None else str(value) if msgspec.convert(inside, kind) is not None else None
    except (tomllib.TOMLDecodeError, KeyError, msgspec.ValidationError):
        return None
