"""Which folders lie on a network file system, by a table of mounts as the kernel keeps it, and how runs go there."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from flows import scenarios
from maskbench.store.disk import network_kind
from maskbench.store.store import Store
from maskbench.types import Ask, Reply, Scenario


def table(place: Path, kind: str) -> str:
    """A table in which this folder is a mount of that kind below a disk."""
    escaped = str(place).replace(" ", "\\040")
    return (
        f"/dev/sda1 / ext4 rw,relatime 0 0\nserver:/export {escaped} {kind} rw,vers=4.2 0 0\nproc /proc proc rw 0 0\n"
    )


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "lustre", "gpfs", "cifs", "beegfs", "fuse.sshfs", "fuse.something-new", "fuse"]
)
def test_a_folder_below_a_mount_of_the_network_is_on_it(tmp_path: Path, kind: str) -> None:
    """Whatever lies below such a mount is named by its kind, whether or not it is there yet."""
    assert network_kind(tmp_path / "runs" / "not-there", table(tmp_path, kind)) == kind


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay", "btrfs", "fuse.bindfs"])
def test_a_disk_of_this_machine_is_none(tmp_path: Path, kind: str) -> None:
    """What only this machine writes is on no network."""
    assert network_kind(tmp_path / "runs", table(tmp_path, kind)) is None


def test_the_innermost_and_the_latest_mount_count(tmp_path: Path) -> None:
    """A disk below a network's folder is a disk, and of two mounts at one place the later one hides the other."""
    inner = tmp_path / "a folder"
    inner.mkdir()
    mounts = table(tmp_path, "nfs4") + table(inner, "ext4")
    assert network_kind(inner / "x", mounts) is None
    assert network_kind(tmp_path / "x", mounts) == "nfs4"
    assert network_kind(inner, mounts + table(inner, "lustre")) == "lustre"


def test_a_link_is_followed(tmp_path: Path) -> None:
    """A link on a disk that leads to a network's folder is on the network."""
    (tmp_path / "home").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "home")
    assert network_kind(tmp_path / "runs" / "a", table(tmp_path / "home", "nfs4")) == "nfs4"


@pytest.mark.parametrize("mounts", ["", "nonsense\n\n \n", "a b\n"])
def test_a_table_that_says_nothing_makes_no_network(tmp_path: Path, mounts: str) -> None:
    """Where no table can be read, as on macOS, every folder counts as this machine's."""
    assert network_kind(tmp_path, mounts) is None


def journal_of(database: Path) -> bytes:
    """The two bytes of a database's header that say how it was written."""
    return database.read_bytes()[18:20]


def put(store: Store, about: Scenario, run: int) -> None:
    """One reply into a store."""
    store.put_reply(bytes([run]) * 32, run, Ask((), about, "statement", 0, (run,)), run, Reply("It is so."))


def test_over_a_network_there_is_no_write_ahead_log(tmp_path: Path) -> None:
    """There a database is written without one, from its first byte or from the next session on; elsewhere with one."""
    (about,) = scenarios(1, ("known_facts",))

    def beside(name: str) -> set[str]:
        return {path.name for path in tmp_path.iterdir() if path.name.startswith(f"{name}-")}

    async def written(name: str, *, network: bool) -> set[str]:
        with closing(Store(tmp_path / name, write=True, network=network)) as store:
            if not store.count():
                store.add_scenarios([(about, 1.0)])
            put(store, about, 1)
            store.flush()
            return beside(name)

    assert asyncio.run(written("new", network=True)) <= {"new-journal"}
    assert journal_of(tmp_path / "new") == b"\x01\x01"
    assert "old-wal" in asyncio.run(written("old", network=False))
    assert asyncio.run(written("old", network=True)) <= {"old-journal"}
    assert journal_of(tmp_path / "old") == b"\x01\x01"


def test_over_a_network_a_reader_makes_no_files(tmp_path: Path) -> None:
    """A run that was made on a disk and then moved is read there without the index that SQLite would make."""
    with closing(Store(tmp_path / "run.sqlite", write=True)) as store:
        store.add_scenarios((each, 1.0) for each in scenarios(1))
    with closing(Store(tmp_path / "run.sqlite", network=True)) as store:
        assert store.count() == 6
        assert [path.name for path in tmp_path.iterdir()] == ["run.sqlite"]


def test_commits_over_a_network_take_a_tenth_of_the_time(tmp_path: Path) -> None:
    """The slower a commit was, the longer the next one is waited for, so that the flow is not held up."""
    (about,) = scenarios(1, ("known_facts",))

    async def commits(delay: float) -> int:
        count = 0

        def slow() -> int:
            nonlocal count
            count += 1
            time.sleep(delay)
            return count

        with closing(Store(tmp_path / f"{delay}.sqlite", write=True, network=True)) as store:
            store.add_scenarios([(about, 1.0)])
            store.keeps("slow", slow)
            for run in range(1, 41):
                put(store, about, run)
                await asyncio.sleep(0.01)
            return count

    assert asyncio.run(commits(0.1)) < asyncio.run(commits(0.0))


def test_a_slow_commit_over_a_network_has_no_answers_wait_for_minutes(tmp_path: Path) -> None:
    """However long a commit took, the next one comes within the seconds that a power cut may cost."""
    (about,) = scenarios(1, ("known_facts",))

    async def written(store: Store) -> int:
        store.keeps("slow", lambda: time.sleep(0.1))
        put(store, about, 1)
        await asyncio.sleep(0.2)  # the first commit took a tenth of a second: nine times as long would be 0.9
        put(store, about, 2)
        await asyncio.sleep(0.4)
        with closing(sqlite3.connect(tmp_path / "run.sqlite")) as db:
            count: int = db.execute("SELECT count(*) FROM replies").fetchone()[0]
        return count

    with closing(Store(tmp_path / "run.sqlite", write=True, network=True, checkpoint=0.2)) as store:
        store.add_scenarios([(about, 1.0)])
        assert asyncio.run(written(store)) == 2
