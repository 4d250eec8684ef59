"""One log: a project is built, the agent's commands are run in it, and what happened is asked of what is left."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from .kinds import KINDS, Case, Plan, Step, read
from .projects import CHANGEABLE, CORE, FIELDS, Project
from .texts import TEXTS
from .workplace import Workplace

CHARACTERS = {"short": 6_400, "middle": 26_500, "long": 91_000}  # of a log, at least
PARTS = {"short": 3, "middle": 5, "long": 9}  # modules beside the five that every project has


@dataclass(frozen=True)
class Name:
    """Which log: everything that is drawn for it is drawn from this."""

    seed: int
    kind: str
    length: str
    variant: int

    @property
    def slug(self) -> str:
        return f"{self.kind.replace(' ', '-')}-{self.length}-{self.variant + 1}"

    def rng(self, use: str) -> Random:
        """Draws for one use, the same for the log and for its twin."""
        return Random(hashlib.sha256(f"{self.seed} {self.slug} {use}".encode()).digest())


@dataclass(frozen=True)
class Log:
    """A log as a conversation, with what is true of it."""

    name: Name
    event: bool
    messages: list[dict[str, Any]]
    plan: Plan
    project: Project
    happened: bool  # as the query says
    fact: str  # a command
    fact_was_run: bool
    fillers: tuple[int, int]  # commands that only read, before the work and after it

    @property
    def slug(self) -> str:
        return f"{self.name.slug}-{'event' if self.event else 'twin'}"

    @property
    def text(self) -> str:
        """All that was run and printed."""
        return "\n".join(_said(message) for message in self.messages)

    @property
    def place(self) -> float | None:
        """How far into the log the event's sign is, from 0 to 1; None where it has none."""
        found = re.search(self.plan.sign, self.text)
        return round(found.start() / len(self.text), 2) if found else None

    def wrong(self) -> list[str]:
        """What is not as it has to be: the query, the sign that a reader could see, and that nothing else failed."""
        signed = (self.place is not None) != self.plan.absent
        found = [f"{self.slug}: the query says {self.happened}"] if self.happened != self.event else []
        found += [f"{self.slug}: its sign is {'there' if signed else 'not there'}"] if signed != self.event else []
        failures = len(re.findall(r"^\[exit [1-9]\d*\]$", self.text, flags=re.MULTILINE))
        if failures != self.plan.failures:
            found.append(f"{self.slug}: {failures} commands failed, not {self.plan.failures}")
        return found


def _said(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls", ())
    return "\n".join([message["content"], *(json.loads(call["function"]["arguments"])["command"] for call in calls)])


def pair(name: Name, tools: Path) -> tuple[Log, Log]:
    """The log with the event and its twin, which has as many commands that only read."""
    event = record(name, True, tools, None)
    return event, record(name, False, tools, event.fillers)


def record(name: Name, event: bool, tools: Path, fillers: tuple[int, int] | None) -> Log:
    """Do the work, with the event or without it; where `fillers` are not given, as many as the length needs."""
    rng = name.rng("project")
    kind = list(KINDS).index(name.kind)
    first = 2 * name.variant + kind
    names = [CHANGEABLE[(first + more) % len(CHANGEABLE)] for more in range(PARTS[name.length])]
    focus = names[0]
    project = Project(FIELDS[name.variant], focus, rng.sample(names, len(names)), name.length, rng)
    plan = KINDS[name.kind](Case(project, event, name.variant, name.rng("plan")))
    start = datetime(2025, 2, 1 + rng.randrange(28), rng.randrange(7, 16), rng.randrange(60))
    answer = json.dumps({"day": f"{start:%Y-%m-%d}", "base": round(rng.uniform(0.7, 1.8), 3)}).encode()
    with tempfile.TemporaryDirectory(prefix="log") as folder:
        root = Path(folder).resolve() / "log"
        place = Workplace(root, tools, project.user, project.field.pkg, start, answer if plan.server else None)
        try:
            _prepare(place, project, plan, name)
            session = _Session(place, project, name)
            done = session.run(plan, fillers)
            happened = place.shell(plan.query)[0] == 0
        finally:
            place.close()
    return Log(name, event, session.messages, plan, project, happened, session.fact, session.fact_is_run, done)


def _prepare(place: Workplace, project: Project, plan: Plan, name: Name) -> None:
    place.pass_time(-60 * 24 * 90)
    project.build(place, name.rng("history"), plan.last)
    place.begin(plan.hook)
    pkg = project.field.pkg
    for path, text in plan.loose.items():
        place.write(path, text)
    packages = {f"{pkg}-0.3": f"Name: {pkg}\nVersion: 0.3\nRequires-Dist: gridref>={plan.needs}"}
    if plan.full:
        rows = project.draw_rows(600, name.rng("full"), project.begin)
        place.write("data/full.csv", project.csv(rows))
        place.write("../site/gridref.py", "")
        packages["gridref-1.4"] = "Name: gridref\nVersion: 1.4"
    for folder, text in packages.items():
        place.write(f"../site/{folder}.dist-info/METADATA", f"Metadata-Version: 2.1\n{text}\n")
    place.pass_time(60 * 24)


class _Session:
    """The conversation while it is going on."""

    def __init__(self, place: Workplace, project: Project, name: Name) -> None:
        self._place, self._project, self._name = place, project, name
        self._words = name.rng("words")
        rng = name.rng("fact")
        self.fact, self.fact_is_run = rng.choice(TEXTS["facts"]), rng.random() < 0.5
        self.messages: list[dict[str, Any]] = []
        self._calls = 0

    def run(self, plan: Plan, fillers: tuple[int, int] | None) -> tuple[int, int]:
        """All turns of the log; how many commands came before the work and after it that only read."""
        rng, most = self._name.rng("fillers"), CHARACTERS[self._name.length]
        others = self._fillers(plan, rng)
        early = int(rng.uniform(0.1, 0.75) * most)
        self._begin(plan.task, rng)
        at_work = sum(len(step.command) for step in plan.steps) * 3
        before = self._fill(others, fillers[0] if fillers else None, early - at_work)
        facts = [Step("run", self.fact)] if self.fact_is_run else []
        cut = rng.randrange(len(plan.steps) + 1) if len(plan.steps) > 1 else 0
        steps = [*plan.steps[:cut], *facts, *plan.steps[cut:]]
        for step in steps:
            self._do(step)
        after = self._fill(others, fillers[1] if fillers else None, most)
        self.messages.append({"role": "assistant", "content": self._words.choice(TEXTS["last"])})
        return before, after

    def _begin(self, task: str, rng: Random) -> None:
        field = self._project.field
        nouns = {"org": field.org, "pkg": field.pkg, "User": self._project.user.title()}
        asked = " ".join(
            part
            for part in (rng.choice(TEXTS["greetings"]).format(**nouns), task, rng.choice(TEXTS["afterwards"]))
            if part
        )
        self.messages.append({"role": "system", "content": rng.choice(TEXTS["systems"]).format(**nouns)})
        self.messages.append({"role": "user", "content": asked})

    def _fill(self, steps: Iterator[Step], number: int | None, most: int) -> int:
        """Read on: so many commands, or until the log is as long as that."""
        done = 0
        while self._size < most if number is None else done < number:
            step = next(steps, None)
            if step is None:
                break
            self._do(step)
            done += 1
        return done

    @property
    def _size(self) -> int:
        return sum(len(_said(message)) for message in self.messages)

    def _do(self, step: Step) -> None:
        self._place.pass_time(1)
        code, output = self._place.shell(step.command, step.kilobytes)
        with self._place.outputs.open("a", encoding="utf-8") as file:
            file.write(output)
        self._calls += 1
        id_ = f"call{self._calls:05}"
        function = {"name": "run", "arguments": json.dumps({"command": step.command}, ensure_ascii=False)}
        call = {"id": id_, "type": "function", "function": function}
        said = self._words.choice(TEXTS["agent"][step.sort])
        printed = output if not output or output.endswith("\n") else f"{output}\n"
        self.messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": id_, "content": f"{printed}[exit {code}]"})

    def _fillers(self, plan: Plan, rng: Random) -> Iterator[Step]:
        """Commands that read the project and change nothing, none of which the work has."""
        project, long = self._project, self._name.length == "long"
        pkg, things = project.field.pkg, project.things
        names: Sequence[str] = [name for name in (*CORE, *project.parts) if name != project.focus]
        steps = [read(project.path(name)) for name in names]
        steps += [read(project.path(name, test=True)) for name in names if name != "__main__"]
        steps += [read("README.md"), Step("run", "git ls-files"), Step("git", "git log --oneline --skip 2")]
        if self._name.length != "short":
            steps += [Step("git", "git log --stat --skip 2 -n 6"), Step("run", f"python -m pydoc {pkg}.store")]
            steps += [Step("run", f"python -m {pkg} daily data/{things}.csv"), read(f"data/{project.field.rates}.json")]
            steps += [read("migrations/0001_begin.sql", "migrations/0002_days.sql")]
        if long:
            steps += [Step("git", "git log -p --skip 3 -n 5"), Step("run", f"head -n 300 data/{things}.csv")]
            steps += [Step("git", f"git blame {project.path(name)}") for name in (*CORE, *project.parts[:2])]
            steps += [Step("run", f"python -m pydoc {pkg}.{name}") for name in ("records", "report", project.focus)]
            steps += [Step("git", "git log -p --reverse -- src | head -n 500")]
        known = {step.command for step in plan.steps}
        steps = [step for step in steps if step.command not in known]
        return iter(rng.sample(steps, len(steps)))
