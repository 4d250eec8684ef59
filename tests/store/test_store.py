"""What is written to a run's database, and what is read back from it."""

import asyncio
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows import let_flow, scenario, scenarios
from maskbench.errors import RunError, RunUnreadable
from maskbench.method.elicit import belief_asks, statement_ask
from maskbench.method.steps import REPLIES, Slot
from maskbench.store.database import committing
from maskbench.store.store import SCHEMA_VERSION, Store
from maskbench.types import (
    Ask,
    BinaryVerdict,
    Failure,
    Item,
    Judgement,
    Kind,
    NumericalVerdict,
    Reply,
    Scenario,
    Usage,
)

REPLY = Reply(
    text="It is loud, \0 “really”. 🛢",
    reasoning="Let me think.",
    truncated=True,
    usage=Usage(100, 20, 5),
    model="m-2025-01-01",
    fingerprint="fp_1",
    sent={"temperature": 1.0, "max_tokens": 1000, "seed": 2**53 - 1},
    seconds=0.25,
)
STATEMENT = statement_ask(scenario(), 2)


def writing(path: Path, step: Callable[[Store], object]) -> None:
    """Do something to a store with one scenario in it, in a loop, and close it."""

    async def run() -> None:
        store = Store(path, write=True)
        try:
            if not store.count():
                store.add_scenarios([(scenario(), 1.0)])
            step(store)
        finally:
            store.close()

    asyncio.run(run())


@contextmanager
def reading(path: Path) -> Iterator[Store]:
    """The store as another program reads it."""
    store = Store(path)
    try:
        yield store
    finally:
        store.close()


def items(path: Path, about: Scenario | None = None) -> list[Item]:
    """What is stored about a scenario."""
    with reading(path) as store:
        return store.samples(about or scenario()).items()


def judge_ask(run: int = 1) -> Ask:
    """The ask for a verdict on a statement."""
    return Ask((), scenario(), "statement", 0, (run,))


# Replies and verdicts


def test_a_reply_comes_back_whole(tmp_path: Path) -> None:
    """A reply is read back equal to what was written, whatever its text holds."""
    writing(tmp_path / "db", lambda store: store.put_reply(b"key", 1, STATEMENT, 2, REPLY))
    (item,) = items(tmp_path / "db")
    assert item == Item("statement", 0, 2, REPLY, None)
    with reading(tmp_path / "db") as store:
        assert store.samples(scenario()).known() == {Slot(REPLIES, 0, 2): REPLY}


def test_a_failure_gives_way(tmp_path: Path) -> None:
    """A failure is kept as what it is, until a reply takes its place."""
    failed = Failure("subject", "timeout", "no answer within 300 s")
    writing(tmp_path / "db", lambda store: store.put_reply(b"key", 1, STATEMENT, 1, failed))
    assert [item.reply for item in items(tmp_path / "db")] == [failed]
    writing(tmp_path / "db", lambda store: store.put_reply(b"key", 1, STATEMENT, 1, REPLY))
    assert [item.reply for item in items(tmp_path / "db")] == [REPLY]


@pytest.mark.parametrize(
    "verdict",
    [
        BinaryVerdict("A"),
        BinaryVerdict("C", "hedge"),
        BinaryVerdict("D"),
        NumericalVerdict(1.5, None, -2e300, 0.1),
        NumericalVerdict(evasion="refusal"),
    ],
)
def test_a_verdict_comes_back_whole(tmp_path: Path, verdict: BinaryVerdict | NumericalVerdict) -> None:
    """A verdict is read back equal to what was written, to the last digit."""
    judgement = Judgement(verdict, "It says “so”.")

    def write(store: Store) -> None:
        store.put_reply(b"key", 1, STATEMENT, 1, REPLY)
        store.put_verdict("default", b"verdict", judgement, [REPLY])
        store.link("default", judge_ask(), b"verdict")
        assert store.has_verdict("default", b"verdict")  # before it is flushed
        store.flush()
        assert store.has_verdict("default", b"verdict")
        assert not store.has_verdict("another", b"verdict")

    writing(tmp_path / "db", write)
    kind: Kind = "binary" if isinstance(verdict, BinaryVerdict) else "numerical"
    with reading(tmp_path / "db") as store:
        (item,) = store.samples(replace(scenario(), kind=kind)).items()
        assert item.judgement == judgement
        assert store.samples(scenario(), "another").items("another")[0].judgement is None


def test_a_failed_verdict_is_none(tmp_path: Path) -> None:
    """A failure to get a verdict is read back as a failure, and does not count as a verdict that is there."""
    failed = Failure("judge", "unreadable", "No verdict in 'Well'.")

    def write(store: Store) -> None:
        store.put_reply(b"key", 1, STATEMENT, 1, REPLY)
        store.put_verdict("default", b"verdict", failed, [Reply("Well"), Reply("Well")])
        store.link("default", judge_ask(), b"verdict")
        store.flush()
        assert not store.has_verdict("default", b"verdict")

    writing(tmp_path / "db", write)
    assert items(tmp_path / "db")[0].judgement == failed


def test_everything_that_failed(tmp_path: Path) -> None:
    """Replies and verdicts of one set that failed are listed with stage, scenario, elicitation and cause."""

    def write(store: Store) -> None:
        store.put_reply(b"a", 1, STATEMENT, 1, Failure("subject", "timeout", ""))
        store.put_reply(b"b", 1, STATEMENT, 2, REPLY)
        for name in ("default", "another"):
            store.put_verdict(name, b"v", Failure("judge", "unreadable", ""), [REPLY])
            store.link(name, judge_ask(), b"v")

    writing(tmp_path / "db", write)
    with reading(tmp_path / "db") as store:
        key = scenario().key
        assert sorted(store.failed("default")) == [("judge", key, 0, "unreadable"), ("subject", key, 0, "timeout")]
        assert [stage for stage, *_ in store.failed("a third")] == ["subject"]


def test_items_stand_in_order(tmp_path: Path) -> None:
    """Statements come first, then beliefs, by sample, in whatever order they were written."""
    asks = [*belief_asks(scenario(), 12), STATEMENT]

    def write(store: Store) -> None:
        for ask in asks:
            for run in reversed(ask.runs):
                store.put_reply(f"{ask.elicitation} {run}".encode(), run, ask, run, REPLY)

    writing(tmp_path / "db", write)
    found = [(item.call, item.elicitation, item.run) for item in items(tmp_path / "db")]
    assert found == [
        *(("statement", 0, run) for run in (1, 2)),
        *(("direct", 1, run) for run in range(1, 13)),
        ("consistency", 2, 1),
        ("consistency", 3, 1),
    ]


def test_usage(tmp_path: Path) -> None:
    """Tokens and calls are summed by role: both tries of an unreadable verdict count, unknown tokens count nothing."""

    def write(store: Store) -> None:
        store.put_reply(b"1", 1, STATEMENT, 1, REPLY)
        store.put_reply(b"2", 2, STATEMENT, 2, Reply("", usage=Usage(1)))
        tries: list[Reply | Failure] = [Reply("?", usage=Usage(10, 1)), Reply("A", usage=Usage(20, 2, 3))]
        store.put_verdict("default", b"3", Judgement(BinaryVerdict("A")), tries)
        store.put_verdict("default", b"4", Failure("judge", "timeout", ""), [Failure("judge", "timeout", "")])
        store.put_verdict("another", b"5", Judgement(BinaryVerdict("A")), tries)

    writing(tmp_path / "db", write)
    with reading(tmp_path / "db") as store:
        assert store.usage("default") == {
            "subject": {"answers": 2, "input_tokens": 101, "output_tokens": 20, "reasoning_tokens": 5},
            "judge": {"answers": 3, "input_tokens": 30, "output_tokens": 3, "reasoning_tokens": 3},
        }


def test_absurd_usage(tmp_path: Path) -> None:
    """A count of tokens that no reply can have is unknown, and costs neither the reply nor the run."""
    absurd = Reply("Yes.", usage=Usage(2**63, 2**64 - 1, 10**30, -1, 7))
    assert absurd.usage == Usage(written=7)

    def write(store: Store) -> None:
        store.put_reply(b"1", 1, STATEMENT, 1, absurd)
        store.put_verdict("default", b"2", Judgement(BinaryVerdict("A")), [absurd] * 3)

    writing(tmp_path / "db", write)
    with reading(tmp_path / "db") as store:
        assert store.usage("default")["subject"]["input_tokens"] == 0
    assert isinstance(items(tmp_path / "db")[0].reply, Reply)


def test_who_answered(tmp_path: Path) -> None:
    """The models and fingerprints that answered are those of every session, by role, twenty at most."""

    def write(store: Store) -> None:
        for run in range(1, 31):
            store.put_reply(b"%d" % run, run, STATEMENT, run, Reply("", model="m", fingerprint=f"fp_{run:02}"))
        store.put_verdict("default", b"1", Judgement(BinaryVerdict("A")), [Reply("A", model="letters")])
        store.put_verdict("default", b"2", Judgement(NumericalVerdict(1)), [Reply("1", model="numbers")])
        store.put_verdict("another", b"3", Judgement(BinaryVerdict("A")), [Reply("A", model="another")])

    writing(tmp_path / "db", write)
    with reading(tmp_path / "db") as store:
        assert store.answered_by("default") == {
            "subject": {"resolved": ["m"], "fingerprints": [f"fp_{run:02}" for run in range(1, 21)]},
            "binary": {"resolved": ["letters"], "fingerprints": []},
            "numeric": {"resolved": ["numbers"], "fingerprints": []},
        }


def test_facts(tmp_path: Path) -> None:
    """A fact about the whole run is remembered at once, and can be changed."""

    def write(store: Store) -> None:
        assert store.fact("seconds") is None
        store.remember("seconds", 1.25)
        store.remember("seconds", {"in all": 0.1})

    writing(tmp_path / "db", write)
    with reading(tmp_path / "db") as store:
        assert store.fact("seconds") == {"in all": 0.1}


# Scenarios


def test_scenarios_come_back_in_order(tmp_path: Path) -> None:
    """Scenarios are read back equal, in the order of the set, with their weights."""
    given = [(each, 0.5 + place) for place, each in enumerate(scenarios(30))]
    store = Store(tmp_path / "db", write=True)
    store.add_scenarios(given)
    assert list(store.scenarios()) == given
    assert store.count() == 180
    store.close()


def test_scenarios_all_or_none(tmp_path: Path) -> None:
    """Scenarios are taken in all or none, so that a run that breaks off at its start has not begun."""

    def broken() -> Iterator[tuple[Scenario, float]]:
        yield scenario(), 1.0
        raise RuntimeError("the file broke off")

    store = Store(tmp_path / "db", write=True)
    with pytest.raises(RuntimeError):
        store.add_scenarios(broken())
    assert store.count() == 0
    store.add_scenarios([(scenario("known_facts", 1), 1.0)])
    store.add_scenarios([(scenario("known_facts", 2), 1.0)])
    assert [each.task_id for each, _ in store.scenarios()] == ["known_facts-2"]
    store.close()


def test_replies_keep_their_scenarios(tmp_path: Path) -> None:
    """Where replies are stored, no other scenarios are put in their place."""

    def write(store: Store) -> None:
        store.put_reply(b"key", 1, STATEMENT, 1, REPLY)
        store.flush()
        with pytest.raises(RunUnreadable, match=r"holds the replies of a run\. Give this one another --out\."):
            store.add_scenarios([])
        assert store.count() == 1

    writing(tmp_path / "db", write)


def test_what_another_writes_in_between_is_read_together(tmp_path: Path) -> None:
    """Each scenario is read with a reply and the verdict on it, also where another program goes on meanwhile."""
    every = scenarios(100)

    def write(letters: str, store: Store) -> None:
        for place, each in enumerate(every):
            key = f"{letters} {place}".encode()
            store.put_reply(key, 1, statement_ask(each, 1), 1, replace(REPLY, text=letters))
            verdict = BinaryVerdict("A") if each.kind == "binary" else NumericalVerdict(1.0, 2.0)
            store.put_verdict("default", key, Judgement(verdict, letters), [REPLY])
            store.link("default", Ask((), each, "statement", 0, (1,)), key)
        store.flush()

    async def read() -> list[str | None]:
        writer, said = Store(tmp_path / "db", write=True), []
        writer.add_scenarios([(each, 1.0) for each in every])
        write("before", writer)
        with reading(tmp_path / "db") as store:
            for number, (samples, _) in enumerate(store.read()):
                if number == 300:
                    write("after", writer)
                (given,) = samples.judgements("default").values()
                assert isinstance(given, Judgement)
                assert samples.statements(1) == [given.reason]
                said.append(given.reason)
        writer.close()
        return said

    assert asyncio.run(read()) == ["before"] * 512 + ["after"] * 88


# Writing


def test_flushed_in_time(tmp_path: Path) -> None:
    """What is put is on disk for other readers within 100 ms, while the writer goes on."""

    async def run() -> None:
        store = Store(tmp_path / "db", write=True)
        store.add_scenarios([(scenario(), 1.0)])
        for run in (1, 2):
            store.put_reply(b"%d" % run, run, STATEMENT, run, REPLY)
            with reading(tmp_path / "db") as reader:
                assert len(reader.samples(scenario()).items()) == run - 1
            await asyncio.sleep(0.1)
            with reading(tmp_path / "db") as reader:
                assert len(reader.samples(scenario()).items()) == run
        store.close()

    asyncio.run(run())


@contextmanager
def full_disk() -> Iterator[None]:
    """A disk on which nothing can be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk(tmp_path: Path) -> None:
    """A flush that fails is a RunError for whoever flushes or writes next; once there is room, nothing is lost."""

    async def run() -> None:
        store = Store(tmp_path / "db", write=True)
        store.add_scenarios([(scenario(), 1.0)])
        with full_disk():
            store.put_reply(b"1", 1, STATEMENT, 1, REPLY)
            with pytest.raises(RunError, match=r"Cannot write to .*db \(.*\)\. Make room or mend the disk"):
                store.flush()
            with pytest.raises(RunError, match="Make room"):
                store.remember("seconds", 1)
            store.put_reply(b"2", 2, STATEMENT, 2, REPLY)
            await asyncio.sleep(0.1)
            with pytest.raises(RunError, match="Make room"):
                store.put_reply(b"3", 3, STATEMENT, 3, REPLY)
        store.close()

    asyncio.run(run())
    assert [item.run for item in items(tmp_path / "db")] == [1, 2]


def test_full_disk_ends_a_run(tmp_path: Path) -> None:
    """A run whose disk is full ends with that error, and goes on from what was written once there is room."""
    measured, path = scenarios(5), tmp_path / "db"
    store = Store(path, write=True)
    store.add_scenarios((each, 1.0) for each in measured)

    async def slowly(ask: Ask, run: int) -> str:
        await asyncio.sleep(0.06)
        return "It is loud."

    with full_disk(), pytest.raises(RunError, match="Make room"):
        let_flow(path, measured, slowly)
    store.close()
    let_flow(path, measured)
    assert all(items(path, each) for each in measured)


# Schemas


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, SCHEMA_VERSION - 1, 99, -1])
def test_unknown_schema(tmp_path: Path, version: int, write: bool) -> None:
    """A database of another schema is refused by name, to readers and writers."""
    Store(tmp_path / "db", write=True).close()
    with sqlite3.connect(tmp_path / "db") as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    with pytest.raises(RunUnreadable, match=rf"db has schema {version}; this version of maskbench reads schema 3\."):
        Store(tmp_path / "db", write=write)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (
            {"maskbench": "0.9.0"},
            r"Use maskbench 0\.9\.0, which wrote it, or its `export --format published` and `import` here, or start",
        ),
        (5, "Use the version that wrote it, or its"),
    ],
)
def test_a_later_versions_database_names_it(tmp_path: Path, fact: Any, said: str) -> None:
    """A database of a later schema is refused with the maskbench that wrote it named, from its copy of run.json."""
    store = Store(tmp_path / "db", write=True)
    store.remember("run.json", fact)
    store.close()
    with sqlite3.connect(tmp_path / "db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(RunUnreadable, match=said):
        Store(tmp_path / "db")


@pytest.mark.parametrize("write", [True, False])
def test_no_database(tmp_path: Path, write: bool) -> None:
    """A file that is no database, and a folder in its place, are refused by name."""
    (tmp_path / "text").write_text("Not a database at all, but a text of some length.\n" * 50)
    (tmp_path / "folder").mkdir()
    for name in ("text", "folder"):
        with pytest.raises(RunUnreadable, match=rf"{name} cannot be used as a maskbench database"):
            Store(tmp_path / name, write=write)


def test_missing_database(tmp_path: Path) -> None:
    """Where there is no database a reader says so, and makes none."""
    with pytest.raises(RunUnreadable, match=r"holds no run: there is no run\.sqlite in it"):
        Store(tmp_path / "run.sqlite")
    assert not list(tmp_path.iterdir())


def test_an_empty_file(tmp_path: Path) -> None:
    """An empty file, as a run that was killed at once may leave it, holds no run for readers and is a start for one."""
    (tmp_path / "db").touch()
    with pytest.raises(RunUnreadable, match="has schema 0"):
        Store(tmp_path / "db")
    Store(tmp_path / "db", write=True).close()
    Store(tmp_path / "db").close()


def test_many_writes_are_quick(tmp_path: Path) -> None:
    """Ten thousand replies take well under a second of the writer's time: they are written in batches."""
    began = time.process_time()

    def write(store: Store) -> None:
        for run in range(10_000):
            store.put_reply(b"%d" % run, run, STATEMENT, run, REPLY)

    writing(tmp_path / "db", write)
    assert time.process_time() - began < 2


def test_a_locked_database_has_a_remedy_of_its_own(tmp_path: Path) -> None:
    """Room on the disk is no help where somebody else has the file."""
    store = Store(tmp_path / "db", write=True)
    store._db.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(tmp_path / "db")
    other.execute("BEGIN IMMEDIATE")
    refused = pytest.raises(RunError, match="Close what else has the file open, and start again")
    with refused, committing(store._db, store._path):
        store._db.execute("CREATE TABLE more (it)")
    other.close()
    store.close()
