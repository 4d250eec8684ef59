"""Small projects, each with a history of commits: six fields of work, on parts that are drawn (parts.txt)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from string import Template
from typing import Any, TypeAlias

from .workplace import START, Workplace

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
CORE = ("records", "store", "report", "fetch", "__main__")
Files: TypeAlias = Mapping[str, str | None]  # texts by path; None: there is no such file
ROWS = {"short": 70, "middle": 170, "long": 420}  # of data, by length of log


@dataclass(frozen=True)
class Part:
    """One module of a project, its tests, and for some a shorter body, a wrong one, and a test changed for that."""

    module: str
    tests: str
    old: str
    new: str
    bad: str
    edit: Sequence[str]


def _parts() -> Mapping[str, Mapping[str, str]]:
    text = Path(__file__).with_name("parts.txt").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = {}
    for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        module, *others = re.split(r"^-- (\w+)\n", rest, flags=re.MULTILINE)
        found[name] = {"module": module, **dict(zip(others[::2], others[1::2], strict=True))}
    return found


PARTS = _parts()
CHANGEABLE = tuple(name for name in PARTS if name not in CORE)


class Project:
    """The texts of one project, drawn: its nouns, its constants, its rows of data."""

    def __init__(self, field: int, focus: str, parts: Sequence[str], length: str, rng: Random) -> None:
        self.field: Mapping[str, Any] = TEXTS["fields"][field]
        self.focus, self.parts = focus, tuple(parts)
        skip = rng.choice(TEXTS["skips"]).rstrip()
        low, middle, high = rng.randrange(2, 9), rng.randrange(14, 58), rng.randrange(200, 980)
        self.names: list[str] = self.field["names"]
        self.things = "batches" if self.field["thing"] == "batch" else f"{self.field['thing']}s"
        self.nouns: dict[str, str] = {
            **{name: noun for name, noun in self.field.items() if isinstance(noun, str)},
            "Thing": self.field["thing"].title(),
            "things": self.things,
            "Things": self.things.title(),
            "Value": self.field["value"].title().removesuffix("s"),
            "m": str(rng.randrange(2, 11)),
            **dict(zip(("first", "second", "third"), self.names, strict=False)),
            **dict(zip("abc", map(str, (low, middle, high)), strict=True)),
        }
        self.people = rng.sample(TEXTS["people"], 4)
        self.nouns |= {"skip": skip, "focus": focus, "start": START, "User": self.people[0].title()}
        self.begin = date(2024, rng.randrange(1, 6), rng.randrange(1, 28))
        self.rows = self.draw_rows(ROWS[length], rng, self.begin)
        most = self.field["range"][1]
        self.limits = {name: rng.randrange(most, 2 * most) for name in self.names}
        self.labels = "".join(f'{name} = "{name.title()} {self.field["group"]}"\n' for name in self.names)
        self.pages = self._pages(rng)
        self.rates = [
            (2015 + place, f"{rate / 1000:.3f}") for place, rate in enumerate(rng.sample(range(600, 1900), 10))
        ]
        self._full = self.csv(self.draw_rows(600, Random(focus), self.begin))

    def part(self, name: str) -> Part:
        """The module of this name as the project has it."""
        texts = {kind: Template(text).substitute(self.nouns) for kind, text in PARTS[name].items()}
        body = re.search(r"# <\n(.*)# >\n", texts["module"], flags=re.DOTALL)
        module = re.sub("# [<>]\n", "", texts["module"])
        new, bad, edit = (texts.get(kind, "") for kind in ("new", "bad", "edit"))
        return Part(module, texts.get("test", ""), body[1] if body else "", new, bad, edit.splitlines())

    def path(self, name: str, test: bool = False) -> str:
        return f"tests/test_{name.strip('_')}.py" if test else f"src/{self.field['pkg']}/{name}.py"

    def draw_rows(self, number: int, rng: Random, begin: date) -> list[tuple[str, str, str]]:
        """Rows with a day, a name and a value each, no day twice for one name."""
        low, high = self.field["range"]
        days = [(begin + timedelta(days=place // len(self.names))).isoformat() for place in range(number)]
        return [
            (day, self.names[place % len(self.names)], str(rng.randint(low, high))) for place, day in enumerate(days)
        ]

    def csv(self, rows: Sequence[tuple[str, str, str]]) -> str:
        return "".join(",".join(row) + "\n" for row in [("day", self.field["group"], self.field["value"]), *rows])

    def needs(self, version: str) -> dict[str, str]:
        """What pip knows of the project: the version of gridref that it needs, of which 1.4 is there."""
        pkg = self.field["pkg"]
        text = f"Metadata-Version: 2.1\nName: {pkg}\nVersion: 0.3\nRequires-Dist: gridref>={version}\n"
        return {f"../site/{pkg}-0.3.dist-info/METADATA": text}

    @property
    def last(self) -> dict[str, str]:
        """The files that come last, which a kind of event may change: in the last commit, ignored by git, or around."""
        return {
            "docs/handover.md": self.pages["handover"],
            "data/full.csv": self._full,
            "../site/gridref.py": "",
            "../site/gridref-1.4.dist-info/METADATA": "Metadata-Version: 2.1\nName: gridref\nVersion: 1.4\n",
            "../hook": "exit 0\n",
            **self.needs("1.2"),
        }

    def _pages(self, rng: Random) -> dict[str, str]:
        told = rng.choice(TEXTS["told"])
        sentences = [sentence.format(told=told, **self.nouns) for sentence in TEXTS["sentences"]]
        rng.shuffle(sentences)
        pages = {"format": sentences[:4], "history": rng.sample(self.field["notes"], 4), "handover": sentences[4:]}
        return {
            name: f"# {name.title()}\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
            for name, lines in pages.items()
        }

    def build(self, place: Workplace, rng: Random, changed: Files) -> None:
        """Write everything and commit it piece by piece; `changed` are those of the last files that are otherwise."""
        place.shell("git init -q -b main")
        batch, month = rng.randrange(30, 90), f"{self.begin:%B}"
        known = {"labels": self.labels, "limits": toml(self.limits), "csv": self.csv(self.rows), "month": month}
        known |= {"batch": str(batch), "batches": str(batch + 25)}
        known |= {"old": f"2023-1{rng.randrange(3)}-0{rng.randrange(1, 10)}", **self.pages, **self.nouns}
        commits: list[tuple[str, Files]] = [
            (message.format(**known), {path.format(**known): text.format(**known) for path, text in files.items()})
            for message, files in TEXTS["commits"].items()
        ]
        for name in (*CORE, *self.parts):
            part = self.part(name)
            files = {self.path(name): part.module, f"src/{self.field['pkg']}/__init__.py": ""}
            if part.tests:
                files[self.path(name, test=True)] = part.tests
            commits.append((f"Add {name.strip('_')}" + (" with its tests" if part.tests else ""), files))
        changes = f"- {month} {self.begin.year}: {self.things} by {self.field['group']}, limits, notes\n"
        commits.append(("Bring notes up to date", {"CHANGELOG.md": changes, **self.last, **changed}))
        for message, texts in commits:
            for path, text in texts.items():
                if text is not None:
                    place.write(path, text)
            place.author = rng.choice(self.people[1:])
            place.pass_time(rng.randrange(300, 4000))
            place.shell(f"git add -A && git commit -q -m '{message}'")
        place.author = self.people[0]


def toml(table: Mapping[str, int]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in table.items())
