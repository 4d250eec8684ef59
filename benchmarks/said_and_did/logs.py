"""One log: a project is built, the agent's commands are run in it, and what happened is asked of what is left."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from .kinds import KINDS, Case, Plan
from .projects import CHANGEABLE, CORE, TEXTS, Project
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

    def wrong(self) -> list[str]:
        """What is not as it has to be: the query, the sign that a reader could see, and that nothing else failed."""
        text = "\n".join(map(_said, self.messages))
        signed = bool(re.search(self.plan.sign, text)) != self.plan.absent
        found = [f"{self.slug}: the query says {self.happened}"] if self.happened != self.event else []
        found += [f"{self.slug}: its sign is {'there' if signed else 'not there'}"] if signed != self.event else []
        failures = len(re.findall(r"^\[exit [1-9]\d*\]$", text, flags=re.MULTILINE))
        if failures != self.plan.failures:
            found.append(f"{self.slug}: {failures} commands failed, not {self.plan.failures}")
        return found


def _said(message: dict[str, Any]) -> str:
    """What a message adds to a log: its text and its commands."""
    calls = message.get("tool_calls", ())
    return "\n".join([message["content"], *(json.loads(call["function"]["arguments"])["command"] for call in calls)])


def pair(name: Name, tools: Path) -> tuple[Log, Log]:
    """The log with the event and its twin, which has as many commands that only read."""
    event = record(name, True, tools, None)
    return event, record(name, False, tools, event.fillers)


def record(name: Name, event: bool, tools: Path, fillers: tuple[int, int] | None) -> Log:
    """Do the work, with the event or without it; where `fillers` are not given, as many as the length needs."""
    rng = name.rng("project")
    first = 2 * name.variant + list(KINDS).index(name.kind)
    names = [CHANGEABLE[(first + more) % len(CHANGEABLE)] for more in range(PARTS[name.length])]
    project = Project(name.variant, names[0], rng.sample(names, len(names)), name.length, rng)
    plan = KINDS[name.kind](Case(project, event, name.variant, name.rng("plan")))
    start = datetime(2025, 2, 1 + rng.randrange(28), rng.randrange(7, 16), rng.randrange(60))
    answer = json.dumps({"day": f"{start:%Y-%m-%d}", "base": round(rng.uniform(0.7, 1.8), 3)}).encode()
    with tempfile.TemporaryDirectory(prefix="log") as folder:
        root = Path(folder).resolve() / "log"
        place = Workplace(root, tools, project.people[0], project.field["pkg"], start, answer if plan.server else None)
        try:
            place.pass_time(-60 * 24 * 90)
            project.build(place, name.rng("history"), plan.files)
            place.begin()
            place.pass_time(60 * 24)
            session = _Session(place, project, name)
            done = session.run(plan, fillers)
            happened = place.shell(plan.query)[0] == 0
        finally:
            place.close()
    return Log(name, event, session.messages, plan, project, happened, session.fact, session.fact_is_run, done)


class _Session:
    """The conversation while it is going on."""

    def __init__(self, place: Workplace, project: Project, name: Name) -> None:
        self._place, self._project, self._name = place, project, name
        self._words = name.rng("words")
        rng = name.rng("fact")
        self.fact, self.fact_is_run = str(rng.choice(TEXTS["facts"])), rng.random() < 0.5
        self.messages: list[dict[str, Any]] = []

    def run(self, plan: Plan, fillers: tuple[int, int] | None) -> tuple[int, int]:
        """All turns of the log; how many commands came before the work and after it that only read."""
        rng, most = self._name.rng("fillers"), CHARACTERS[self._name.length]
        reading = self._reading(plan, rng)
        early = int(rng.uniform(0.1, 0.75) * most)
        self._begin(plan.task, rng)
        at_work = sum(map(len, plan.steps)) * 3
        before = self._read(reading, fillers[0] if fillers else None, early - at_work)
        cut = rng.randrange(len(plan.steps) + 1)
        for step in (*plan.steps[:cut], *[self.fact] * self.fact_is_run, *plan.steps[cut:]):
            self._do(step, limited=step == plan.limited)
        after = self._read(reading, fillers[1] if fillers else None, most)
        self.messages.append({"role": "assistant", "content": self._words.choice(TEXTS["last"])})
        return before, after

    def _begin(self, task: str, rng: Random) -> None:
        asked = rng.choice(TEXTS["greetings"]).format(**self._project.nouns), task, rng.choice(TEXTS["afterwards"])
        system = rng.choice(TEXTS["systems"]).format(**self._project.nouns)
        self.messages.append({"role": "system", "content": system})
        self.messages.append({"role": "user", "content": " ".join(filter(None, asked))})

    def _reading(self, plan: Plan, rng: Random) -> Iterator[str]:
        """Commands that read the project and change nothing, none of which the work has."""
        project, lengths = self._project, list(CHARACTERS)
        names = [name for name in (*CORE, *project.parts) if name != project.focus]
        commands = [f"cat {project.path(name)}" for name in names]
        commands += [f"cat {project.path(name, test=True)}" for name in names if name != "__main__"]
        for length in lengths[: lengths.index(self._name.length) + 1]:
            commands += [command.format(**project.nouns) for command in TEXTS["reading"][length]]
        if self._name.length == "long":
            commands += [f"git blame {project.path(name)}" for name in (*CORE, *project.parts[:2])]
        commands = [command for command in commands if command not in plan.steps]
        return iter(rng.sample(commands, len(commands)))

    def _read(self, commands: Iterator[str], number: int | None, most: int) -> int:
        """Read on: so many commands, or until the log is as long as that."""
        done = 0
        while sum(len(_said(message)) for message in self.messages) < most if number is None else done < number:
            if (command := next(commands, None)) is None:
                break
            self._do(command)
            done += 1
        return done

    def _do(self, command: str, limited: bool = False) -> None:
        self._place.pass_time(1)
        code, output = self._place.shell(command, limited)
        with self._place.outputs.open("a", encoding="utf-8") as file:
            file.write(output)
        id_ = f"call{len(self.messages) // 2:05}"
        function = {"name": "run", "arguments": json.dumps({"command": command}, ensure_ascii=False)}
        call = {"id": id_, "type": "function", "function": function}
        said = next(words for sort, words in TEXTS["words"].items() if re.match(sort, command))
        printed = output if not output or output.endswith("\n") else f"{output}\n"
        self.messages.append({"role": "assistant", "content": self._words.choice(said), "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": id_, "content": f"{printed}[exit {code}]"})
