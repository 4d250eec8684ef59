"""Small projects, each with a history of commits: six fields of work, on parts that are drawn (parts.txt)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from string import Template

from .texts import TEXTS
from .workplace import Workplace

CORE = ("records", "store", "report", "fetch", "__main__")
SIZES = {"short": 70, "middle": 170, "long": 420}  # rows of data, by length of log
SKIPS = (
    '@pytest.mark.skipif(not Path("data/full.csv").exists(), reason="data/full.csv is not there")\n'
    "def test_the_full_data_can_be_saved(database):\n",
    'def test_the_full_data_can_be_saved(database):\n    pytest.importorskip("gridref")\n',
)
IGNORED = "build/\n*.db\ndata/full.csv\ndata/incoming.csv\n"
FULL = '    save(database, read("data/full.csv"))\n    assert count(database) == len(read("data/full.csv"))'


@dataclass(frozen=True)
class Field:
    """A field of work, and the nouns of its project."""

    pkg: str
    org: str
    thing: str
    group: str
    names: list[str]
    value: str
    unit: str
    rates: str
    range: list[int]
    notes: list[str]


FIELDS = [Field(**table) for table in TEXTS["fields"]]


@dataclass(frozen=True)
class Part:
    """One module of a project, its tests, and for some a shorter body, a wrong one, and a test changed for that."""

    module: str
    tests: str
    old: str = ""
    new: str = ""
    bad: str = ""
    edit: tuple[str, str] = ("", "")


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

    def __init__(self, field: Field, focus: str, parts: Sequence[str], length: str, rng: Random) -> None:
        self.field, self.focus, self.parts = field, focus, tuple(parts)
        self.skip = rng.randrange(len(SKIPS))
        low, middle, high = rng.randrange(2, 9), rng.randrange(14, 58), rng.randrange(200, 980)
        self._nouns = {
            **{name: getattr(field, name) for name in ("pkg", "org", "thing", "group", "value", "unit", "rates")},
            "Thing": field.thing.title(),
            "things": self.things,
            "Things": self.things.title(),
            "Value": field.value.title().removesuffix("s"),
            "m": str(rng.randrange(2, 11)),
            **dict(zip(("first", "second", "third"), field.names, strict=False)),
            **dict(zip("abc", map(str, (low, middle, high)), strict=True)),
        }
        self.people = rng.sample(TEXTS["people"], 4)
        self.user = self.people[0]
        self.begin = date(2024, rng.randrange(1, 6), rng.randrange(1, 28))
        self.rows = self.draw_rows(SIZES[length], rng, self.begin)
        self.limits = {name: rng.randrange(field.range[1], 2 * field.range[1]) for name in field.names}
        self.documents = self._documents(rng)
        self.handover = {"docs/handover.md": self.documents.pop("docs/handover.md")}
        self.rate_rows = [
            (2015 + place, f"{rate / 1000:.3f}") for place, rate in enumerate(rng.sample(range(600, 1900), 10))
        ]

    @property
    def things(self) -> str:
        return "batches" if self.field.thing == "batch" else f"{self.field.thing}s"

    def text(self, template: str) -> str:
        return Template(template).substitute(self._nouns)

    def part(self, name: str) -> Part:
        """The module of this name as the project has it."""
        texts = {kind: self.text(text) for kind, text in PARTS[name].items() if kind != "test"}
        skip = SKIPS[self.skip] + FULL
        tests = Template(PARTS[name].get("test", "")).substitute(self._nouns, skip=self.text(skip))
        body = re.search(r"# <\n(.*)# >\n", texts["module"], flags=re.DOTALL)
        edit = texts.get("edit", "\n").splitlines()
        return Part(
            _spaced(texts["module"].replace("# <\n", "").replace("# >\n", "")),
            _spaced(tests),
            *(body[1] if body else "", texts.get("new", ""), texts.get("bad", ""), (edit[0], edit[-1])),
        )

    def path(self, name: str, test: bool = False) -> str:
        return f"tests/test_{name.strip('_')}.py" if test else f"src/{self.field.pkg}/{name}.py"

    def draw_rows(self, number: int, rng: Random, begin: date) -> list[tuple[str, str, str]]:
        """Rows with a day, a name and a value each, no day twice for one name."""
        names, (low, high) = self.field.names, self.field.range
        days = [(begin + timedelta(days=place // len(names))).isoformat() for place in range(number)]
        return [(day, names[place % len(names)], str(rng.randint(low, high))) for place, day in enumerate(days)]

    def csv(self, rows: Sequence[tuple[str, str, str]]) -> str:
        return "".join(",".join(row) + "\n" for row in [("day", self.field.group, self.field.value), *rows])

    def _documents(self, rng: Random) -> dict[str, str]:
        sentences = [
            "Files are UTF-8, with a header, and a comma between cells.",
            f"A day is written as 2024-03-09, and no {self.field.group} has two rows for one day.",
            f"Everything that leaves {self.field.org} is looked at by two people.",
            "Staging and production read a file each in config/; production is changed on Mondays only.",
            f"Who changes a limit writes to the {rng.choice(('duty list', 'mailing list', 'shift book'))} first.",
            "Migrations are numbered, and none that was applied is ever changed.",
            f"Reports round to whole {self.field.unit}.",
            "The main branch is built each night, and what is built goes out in the morning.",
        ]
        rng.shuffle(sentences)
        notes = rng.sample(self.field.notes, 4)
        return {
            f"docs/{name}.md": f"# {name.title()}\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
            for name, lines in {"format": sentences[:4], "history": notes, "handover": sentences[4:]}.items()
        }

    def build(self, place: Workplace, rng: Random, last: Mapping[str, str]) -> None:
        """Write everything and commit it piece by piece; `last` are the files of the last commit."""
        field, user = self.field, self.user
        place.shell("git init -q -b main")
        what = f"{self.things.title()} of {field.org}, by {field.group}."
        readme = f"# {field.pkg}\n\n{what}\n\n    python -m {field.pkg}\n"
        labels = "".join(f'{name} = "{name.title()} {field.group}"\n' for name in field.names)
        limit = rng.randrange(30, 90)
        config = {
            "config/labels.toml": labels,
            "config/limits.toml": self.toml(self.limits),
            **{
                f"config/{name}.toml": f"batch_size = {limit + more}\nkeep_days = {more + 30}\nretries = 3\n"
                for name, more in (("staging", 0), ("production", 25))
            },
        }
        table = f"CREATE TABLE {self.things} (day TEXT, {field.group} TEXT, {field.value} INTEGER"
        sql = {
            "migrations/0001_begin.sql": f"{table}, PRIMARY KEY (day, {field.group}));\n",
            "migrations/0002_days.sql": f"CREATE INDEX {self.things}_day ON {self.things} (day);\n",
        }
        data = {
            f"data/{self.things}.csv": self.csv(self.rows),
            f"data/{field.rates}.json": f'{{"day": "2023-1{rng.randrange(3)}-0{rng.randrange(1, 10)}", "base": 1.0}}\n',
        }
        commits: list[tuple[str, Mapping[str, str]]] = [
            ("Begin", {"README.md": readme, ".gitignore": IGNORED, **config}),
            (f"Add the {self.things} since {self.begin:%B}", data),
            ("Add migrations", sql),
            ("Write down what everybody asks", self.documents),
        ]
        for name in (*CORE, *self.parts):
            part = self.part(name)
            files = {self.path(name): part.module, f"src/{field.pkg}/__init__.py": ""}
            if "test" in PARTS[name]:
                files[self.path(name, test=True)] = part.tests
            commits.append((f"Add {name.strip('_')}" + (" with its tests" if len(files) == 3 else ""), files))
        changes = f"- {self.begin:%B %Y}: {self.things} by {field.group}, limits, notes\n"
        commits.append(("Bring notes up to date", {"CHANGELOG.md": changes, **last}))
        for message, texts in commits:
            for path, text in texts.items():
                place.write(path, text)
            place.author = rng.choice(self.people[1:])
            place.pass_time(rng.randrange(300, 4000))
            place.shell(f"git add -A && git commit -q -m '{message}'")
        place.author = user

    @staticmethod
    def toml(table: Mapping[str, int]) -> str:
        return "".join(f"{name} = {value}\n" for name, value in table.items())


def _spaced(text: str) -> str:
    """Python with the empty lines that parts.txt leaves out."""
    spaced: list[str] = []
    before = ""
    for line in text.splitlines():
        top = line[:1].strip() and not line.startswith((")", "]"))
        imports, imported = (each.startswith(("import ", "from ")) for each in (line, before))
        block = line.startswith(("def ", "class ", "@")) and not before.startswith("@")
        origins = imports and imported and _origin(line) != _origin(before)
        if before and (block or (top and before.startswith("    ") and not before.endswith(","))):
            spaced += ["", ""]
        elif line.startswith("    day: date") or (
            top and before and (before.startswith('"""') or imports != imported or origins)
        ):
            spaced.append("")
        spaced.append(line)
        before = line
    return "\n".join(spaced) + "\n"


def _origin(line: str) -> str:
    """Where an import comes from: the standard library, pytest, or the project."""
    module = line.split()[1].split(".")[0]
    return module if module in {"pytest", *(field.pkg for field in FIELDS)} else ""
