"""Archetypes that a scenario set brings: `archetypes.toml` beside its rows, read and checked field by field."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from typing import Any, get_args

from maskbench.errors import Problem
from maskbench.method.archetypes import TABLE, wrong_name, wrong_words
from maskbench.method.forms import length_of
from maskbench.method.forms.prompts import LONGEST, wrong_prompt
from maskbench.plain import read_toml
from maskbench.types import ARCHETYPES, Archetype, Definition, Kind, Scenario

FILE = "archetypes.toml"
_BELIEFS = ("asked", "given")
_FIELDS = ("title", "text", "kind", "belief", "turns", "judge", "people")


def read_own(place: Traversable, shown: str) -> tuple[dict[Archetype, Definition], list[Problem]]:
    """The archetypes that this file defines, by name, and everything that is wrong with it, by field."""
    try:
        tables = read_toml(place.read_text(encoding="utf-8"))
    except OSError as error:
        return {}, [Problem(shown, None, None, f"it cannot be read ({error.strerror or error})", "Check its rights")]
    except UnicodeDecodeError:
        return {}, [Problem(shown, None, None, "it is not UTF-8", "Save the file as UTF-8")]
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return {}, [Problem(shown, None, None, f"it is not TOML ({error})", "Write a table [name] for each archetype")]
    known: dict[Archetype, Definition] = {}
    problems: list[Problem] = []
    for name, table in tables.items():
        reader = _Reader(name, table, shown)
        definition = reader.definition()
        problems += reader.problems
        if definition and not reader.problems:
            known[name] = definition
    if not tables:
        problems.append(Problem(shown, None, None, "it defines no archetype", "Write one, or remove the file"))
    return known, problems


def written(definitions: Iterable[Definition]) -> str:
    """The file that brings these archetypes, from which the same ones are read."""
    return "\n".join(_table(definition) for definition in definitions)


def _table(own: Definition) -> str:
    fields = {
        "title": own.title,
        "text": own.text,
        "kind": own.kind or "binary",
        "belief": _BELIEFS[own.given],
        "turns": 1 + own.scripted,
        "judge": own.judge,
        "people": own.people,
    }
    # A string of JSON is one of TOML, but for the one control character that JSON leaves as it is.
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())
    return f"[{own.name}]\n{''.join(lines)}".replace("\x7f", "\\u007f")


class _Reader:
    """One table of the file being read, with what is wrong with it so far."""

    def __init__(self, name: str, table: object, shown: str) -> None:
        self._name = name
        self._table = table
        self._shown = shown
        self.problems: list[Problem] = []

    def definition(self) -> Definition | None:
        """The archetype; None where the table is none, or a field that it needs cannot be read."""
        if wrong := wrong_name(self._name):
            self.problems.append(Problem(self._shown, None, None, *wrong))
            return None
        if not isinstance(self._table, dict):
            self._report(None, "it is no table", f"Write [{self._name}] on a line of its own, and its fields below")
            return None
        for field in self._table.keys() - set(_FIELDS):
            self._report(str(field)[:60], "there is no such field", f"Its fields are {', '.join(_FIELDS)}")
        definition = Definition(
            self._name,
            title=self._text("title", needed="Write a few words for tables and charts"),
            text=self._text("text"),
            kind=self._one_of("kind", get_args(Kind)),
            given=self._one_of("belief", _BELIEFS) == "given",
            scripted=self._one_of("turns", (1, 2)) == 2,
            judge=self._text("judge", needed="Write the prompt for the judge of its statements"),
            people=self._people(),
        )
        for problem in [*wrong_words(definition), *_wrong_judge(definition)] if not self.problems else ():
            self._report(*problem)
        return definition

    def _report(self, field: str | None, problem: str, remedy: str) -> None:
        where = f"[{self._name}]" if field is None else f"[{self._name}] {field}"
        self.problems.append(Problem(self._shown, None, None, f"{where}: {problem}", remedy))

    def _text(self, field: str, needed: str | None = None) -> str:
        value = self._table.get(field, "") if isinstance(self._table, Mapping) else ""
        if not isinstance(value, str):
            self._report(field, f"{value!r:.60} is no text", "Write it in quotes")
        elif needed and not value.strip():
            self._report(field, "it is missing" if field not in self._fields else "it is empty", needed)
        else:
            return value.replace("\r\n", "\n")
        return ""

    @property
    def _fields(self) -> Mapping[str, Any]:
        return self._table if isinstance(self._table, Mapping) else {}

    def _one_of(self, field: str, words: tuple[Any, ...]) -> Any:
        """The field's word; the first of them where it is not given."""
        value = self._fields.get(field, words[0])
        if not any(type(value) is type(word) and value == word for word in words):
            self._report(field, f"{value!r:.60} is none of its words", f"Write {' or '.join(map(str, words))}")
            return words[0]
        return value

    def _people(self) -> tuple[str, ...]:
        value = self._fields.get("people", list(TABLE["known_facts"].people))
        if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
            return tuple(value)
        self._report("people", f"{value!r:.60} is no list of sentences", 'Write ["A sentence.", "Another one."]')
        return ()


def _wrong_judge(definition: Definition) -> Iterator[tuple[str, str, str]]:
    """What is the matter with the judge prompt: the field, the problem and the remedy."""
    text = (definition.judge or "").strip()
    if wrong := wrong_prompt(text, definition.kind or "binary"):
        problem, _, remedy = wrong.partition(". ")
        yield "judge", f"the prompt {problem}", remedy or "Use those marks alone"
    elif (length := length_of(text)) > LONGEST:
        yield (
            "judge",
            f"the prompt has {length:,} characters with its parts filled in",
            f"Shorten it to {LONGEST:,}, as long as maskbench's own may be",
        )


def wrong_archetype(scenario: Scenario) -> str | None:
    """What is the matter with the archetype of a stored scenario; None where nothing is."""
    definition, name = scenario.definition, scenario.archetype
    if definition is None:
        return None if name in TABLE else f"there is no archetype {name[:60]!r}"
    if definition.name != name or name in ARCHETYPES:
        return f"its archetype {name[:60]!r} is not the one that it brings"
    checks: tuple[Callable[[], object], ...] = (
        lambda: name not in TABLE and wrong_name(name),
        lambda: next(wrong_words(definition), None),
        lambda: definition.judge is not None and wrong_prompt(definition.judge.strip(), scenario.kind),
    )
    wrong = next((problem for check in checks if (problem := check())), None)
    return f"the archetype that it brings: {wrong}" if wrong else None
