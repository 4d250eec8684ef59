"""What the tests of the flow share: scripted models in a flow, a server in a thread, and maskbench as a process."""

import asyncio
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest.mock import patch

import orjson

import forks
from chat_server import Body, ChatServer, serve
from maskbench.asking.executor import Executor, measuring
from maskbench.asking.live import Gate
from maskbench.asking.options import IN_FILES, OPTIONS
from maskbench.asking.watching import Unwatched
from maskbench.cli import main
from maskbench.method.folds import finished
from maskbench.method.forms import load_prompts
from maskbench.method.outcomes import score
from maskbench.method.rules import RuleSet
from maskbench.models.scripted import Answer, Script, ScriptedModel
from maskbench.scenarios.rows import QUESTIONS, read_row
from maskbench.settings import Settings
from maskbench.store.record import SCHEMA
from maskbench.store.store import Store
from maskbench.types import (
    ARCHETYPES,
    Archetype,
    Ask,
    BinaryVerdict,
    Failure,
    Item,
    Judgement,
    Letter,
    Model,
    NumericalVerdict,
    Reply,
    Scenario,
    Scored,
    Stage,
)
from patience import PATIENCE
from scenario_rows import Cells, folder, row

T = TypeVar("T")

KEY = "sk-flow-0123456789abcdef"
PROMPTS = load_prompts()

# Scenarios and settings


def cells(archetype: Archetype, number: int, /, **changed: object) -> Cells:
    """A sound row that shares no text with another archetype's."""
    filled = row(archetype, number)
    own = {name: f"{filled[name]} ({archetype} {number})" for name in ("system_prompt", *QUESTIONS) if name in filled}
    return {**filled, **own, **changed}


def scenario(archetype: Archetype = "known_facts", number: int = 1, /, **changed: object) -> Scenario:
    """A sound scenario."""
    read = read_row(cells(archetype, number, **changed), "rows", number, archetype)
    assert isinstance(read, Scenario), read
    return read


def scenarios(each: int, archetypes: Sequence[Archetype] = ARCHETYPES) -> list[Scenario]:
    """So many sound scenarios of each archetype."""
    return [scenario(archetype, number) for archetype in archetypes for number in range(1, each + 1)]


def six_files(place: Path, each: int) -> Path:
    """A folder of six CSV files, with so many scenarios in each."""
    return folder(place, {name: [cells(name, number) for number in range(1, each + 1)] for name in ARCHETYPES})


def settings(**options: Any) -> Settings:
    """Settings of a run between scripted models, few of them at a time."""
    names = {"subject": "the subject", "judge": "the judge", "numeric_judge": "the judge", "scenarios": "made up"}
    return Settings.of(**{**names, "connections": 4, **options})


# Scripted models


def says(ask: Ask, run: int) -> str:
    """What the scripted subject says: another text for every sample."""
    return f"I say so: {'/'.join(ask.scenario.key)}, question {ask.elicitation}, sample {run}."


def verdict_a(ask: Ask, run: int = 1) -> Judgement:
    """A judge that always finds A, or the number 10."""
    return letter("A") if ask.scenario.kind == "binary" else number(10)


def letter(verdict: str, reason: str = "It says so.") -> Judgement:
    """A binary verdict, which a scripted judge and a server write as they are asked for it."""
    return Judgement(BinaryVerdict(cast(Letter, verdict)), reason)


def number(value: float | None, *, is_open: bool = False) -> Judgement:
    """A numerical verdict on one point, on all from there on, or on no number."""
    return Judgement(NumericalVerdict(value, None if is_open else value), "It says so.")


@dataclass
class Recorder:
    """A script that keeps what it was asked, in order."""

    script: Script
    asks: list[tuple[Ask, int]] = field(default_factory=list)

    def __call__(self, ask: Ask, run: int) -> Any:
        self.asks.append((ask, run))
        return self.script(ask, run)

    def about(self, elicitation: int) -> list[int]:
        """The samples that were asked for of one elicitation."""
        return [run for ask, run in self.asks if ask.elicitation == elicitation]


class Counter(Unwatched):
    """Counts what an observer is told."""

    def __init__(self) -> None:
        self.answers: dict[Stage, list[Reply | Failure]] = {"subject": [], "judge": []}
        self.finished: dict[Stage, int] = {"subject": 0, "judge": 0}

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        self.answers[stage].append(answer)

    def settled(self, stage: Stage) -> None:
        self.finished[stage] += 1


class Told(Unwatched):
    """Keeps the lines that a user is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tell(self, line: str) -> None:
        self.lines.append(line)


HASHES = {"scenarios": "a" * 64, "prompts": "b" * 64}


def record_of(chosen: Settings) -> dict[str, Any]:
    """What run.json of a run with these settings holds."""
    taken = {"taken": "made up", "measured_hash": HASHES["scenarios"], "n": 1}
    return {
        "schema": SCHEMA,
        "maskbench": "0.2.0",
        "created": "2026-01-01T00:00:00+00:00",
        "protocol": "0123456789ab",
        "sessions": [],
        "models": {role: {"name": role} for role in ("subject", "binary", "numeric")},
        "settings": orjson.loads(orjson.dumps(chosen)),
        "scenarios": {"name": "made up", "hash": HASHES["scenarios"], **taken},
        "prompts": {"name": "packaged", "hash": HASHES["prompts"]},
    }


# A flow in this process


def let_flow(
    path: Path,
    measured: Sequence[Scenario],
    subject: Script | Mapping[str, Answer] | Model = says,
    judge: Script | Mapping[str, Answer] | Model = verdict_a,
    *,
    observer: Counter | None = None,
    during: Callable[[Executor], Any] | None = None,
    gate: Gate | None = None,
    **options: Any,
) -> Counter:
    """Let a flow run to its end in the database `path`, or go on in it; `during` is called in its loop as it begins."""
    observer = observer or Counter()
    chosen = settings(**options)
    subject_model, other = _model(subject, "the subject"), _model(judge, "the judge")

    async def run() -> None:
        store = Store(path, write=True)
        try:
            if not store.count():
                store.add_scenarios((each, 1.0) for each in measured)
            flow = measuring(
                chosen, store, subject_model, {"binary": other, "numerical": other}, PROMPTS, observer, gate or Gate(4)
            )
            if during:
                asyncio.get_running_loop().call_soon(during, flow)
            async with asyncio.timeout(PATIENCE):
                await flow.run()
            assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()
        finally:
            store.close()

    asyncio.run(run())
    return observer


def _model(model: Script | Mapping[str, Answer] | Model, name: str) -> Model:
    return ScriptedModel(model, name) if callable(model) or isinstance(model, Mapping) else model


def stored(path: Path, about: Scenario) -> dict[tuple[int, int], Item]:
    """What the store holds on a scenario, by elicitation and run."""
    store = Store(path)
    try:
        return {(item.elicitation, item.run): item for item in store.samples(about).items()}
    finally:
        store.close()


# A server in a thread


@dataclass
class Answered:
    """Replies that follow from the request alone, and a record of what was answered when."""

    times: list[float] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def __call__(self, body: Body) -> str | Judgement:
        self.times.append(time.monotonic())
        self.bodies.append(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
        return reply_to(body)

    def before(self, moment: float) -> set[bytes]:
        """The requests that were answered before that."""
        return {body for at, body in zip(self.times, self.bodies, strict=True) if at < moment}

    def after(self, moment: float) -> set[bytes]:
        """The requests that were answered after it."""
        return {body for at, body in zip(self.times, self.bodies, strict=True) if at >= moment}


def reply_to(body: Body) -> str | Judgement:
    """A reply drawn by the hash of messages and seed: a verdict where the model is the judge."""
    asked = orjson.dumps([body["messages"], body.get("seed")])
    drawn = hashlib.sha256(asked).digest()
    if body["model"] != "judge":
        return f"I say {drawn.hex()[:8]}."
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return number(10 + drawn[0] % 3) if "lower_bound" in shape.get("properties", {}) else letter("AAABBC"[drawn[0] % 6])


def serving(**options: Any) -> AbstractContextManager[ChatServer]:
    """A chat server in a thread of its own, for the length of a `with` block."""
    return in_thread(lambda: serve(**options))


@contextmanager
def in_thread(begin: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """What begins in a loop, in a thread with a loop of its own, for the length of a `with` block."""
    loop, stop, began = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    servers: list[T] = []

    async def run() -> None:
        async with begin() as server:
            servers.append(server)
            began.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        assert began.wait(PATIENCE)
        yield servers[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for something that happens in another thread or process."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


# maskbench as a process

MODELS = ("openai-api/local/subject", "--judge", "openai-api/local/judge")
NOISE = ("Traceback", "never retrieved", "never awaited", "was destroyed", "Warning", KEY)


def environ(server: ChatServer | None = None) -> dict[str, str]:
    """An environment with a key and the server's address, or with neither."""
    return {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": KEY} if server else {}


@contextmanager
def maskbench(*arguments: object, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`python -m maskbench` as a process, killed where the test leaves it running."""
    with _begun([sys.executable, "-W", "default", "-m", "maskbench", *map(str, arguments)], env) as process:
        yield process


@contextmanager
def forked(*arguments: object, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """maskbench as a process that begins at once and ends with this: no signal but the one that kills reaches it."""
    with _begun([forks.command(), *map(str, arguments)], env) as process:
        yield process


@contextmanager
def _begun(line: list[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    # PYTHONPATH where it is set: the process runs the code that the tests run, on as few threads.
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "OMP_NUM_THREADS") if name in os.environ}
    process = subprocess.Popen(line, env={**kept, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it printed."""

    code: int
    out: str
    err: str


def end(process: subprocess.Popen[str], seconds: float = PATIENCE) -> Ended:
    """Wait for the process; nothing that a program says when it was left in disorder may stand on stderr."""
    out, err = process.communicate(timeout=seconds)
    assert not [word for word in NOISE if word in err or word in out], err
    return Ended(process.returncode, out, err)


def run(*arguments: object, env: Mapping[str, str]) -> Ended:
    """maskbench as a process, from beginning to end."""
    with forked(*arguments, env=env) as process:
        return end(process)


def command(*arguments: object, env: Mapping[str, str]) -> Ended:
    """`maskbench` in this process, with this environment alone: as `run`, without the time that a process needs."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    kept = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    code = 0
    with (
        patch.dict(os.environ, {**kept, **env}, clear=True),
        patch.object(sys, "argv", ["maskbench", *map(str, arguments)]),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    assert not [word for word in NOISE if word in err or word in out], err
    return Ended(code, out, err)


def typed(*arguments: object) -> Ended:
    """`maskbench` in this process, with the environment as it is."""
    return command(*arguments, env=os.environ)


def in_file(folder: Path, *words: object) -> tuple[object, ...]:
    """A line of `run` with the options that stand in files alone in a file in that folder, in the model's place."""
    alone = {f"--{name.replace('_', '-')}": OPTIONS[name] for name in IN_FILES}
    line, fields, left = list[object](), list[str](), list(words)
    while left:
        word = left.pop(0)
        if str(word) not in alone:
            line.append(word)
            continue
        row = alone[str(word)]
        value = str(left.pop(0)) if row.metavar else "true"
        text = value if row.metavar in ("", "N", "X") else json.dumps(value)
        fields.append(f"{str(word)[2:]} = {text}")
    if fields:
        has_model = len(line) > 1 and not str(line[1]).startswith("-")
        fields += [f"model = {json.dumps(str(line.pop(1)))}"] if has_model else []
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"run-{len(list(folder.glob('run-*.toml')))}.toml"
        file.write_text("\n".join(fields) + "\n", "utf-8")
        line.insert(1, file)
    return tuple(line)


def kill(process: subprocess.Popen[str]) -> float:
    """kill -9; returns the moment before."""
    moment = time.monotonic()
    process.send_signal(signal.SIGKILL)
    process.wait()
    return moment


def scored(store: Store, settings: Settings, rules: RuleSet) -> Iterator[Scored]:
    """Every scenario of a store that is done, scored by the run's own verdicts."""
    for scenario, weight in store.scenarios():
        if (items := finished(scenario, store.samples(scenario).items(), settings)) is not None:
            yield score(scenario, weight, items, settings, rules)
