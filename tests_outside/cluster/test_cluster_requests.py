"""Requests that leave from the machines of a cluster: one gate, pace and budget for all, and no key on a disk."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from chat_server import ChatServer
from flows import KEY, environ, serving, six_files
from local_cluster import exported
from maskbench.errors import BudgetReached
from maskbench.measurement import measure
from maskbench.models.names import Opening
from maskbench.runs.cluster import joined
from maskbench.runs.cluster_models import ClusterChat
from maskbench.runs.folder import RunFolder
from maskbench.runs.live import Gate
from maskbench.settings import Budget, Settings
from maskbench.types import Stage

SUBJECT, JUDGE = "openai-api/local/subject", "openai-api/local/judge"


def measured(cluster: Any, run: Path, server: ChatServer, asked: Settings) -> None:
    """Measure by requests that the cluster sends, though the server is on this machine."""
    gate = Gate(asked.pace.connections)
    with joined(cluster.address):
        stages: tuple[tuple[str, Stage], ...] = ((SUBJECT, "subject"), (JUDGE, "judge"))
        openings = [Opening(name, stage, asked, environ(server), gate) for name, stage in stages]
        subject, judge = map(ClusterChat.opened, openings)
        for client in (subject, judge):
            client.join(10)
        try:
            measure(asked, run, environ(server), models=(subject, judge))
        finally:
            subject.release()
            judge.release()


def asking(place: Path, **options: Any) -> Settings:
    """A small run of a server, which judges, too."""
    rows = place / "rows"
    return Settings.of(SUBJECT, JUDGE, str(rows if rows.exists() else six_files(rows, 1)), **options)


def test_one_gate_holds_for_all_machines(cluster: Any, tmp_path: Path) -> None:
    """No more requests are in flight than --connections, though several machines send, and the rows are the same."""
    asked = asking(tmp_path, connections=3)
    with serving(latency=0.05) as server:
        measure(asked, tmp_path / "alone", environ(server))
        before = server.requests
        measured(cluster, tmp_path / "run", server, asked)
        assert server.requests == 2 * before
        assert server.most_in_flight <= 3
    assert exported(tmp_path / "run") == exported(tmp_path / "alone")
    models = RunFolder(tmp_path / "run").record()["models"]
    assert len(models["subject"]["cluster"]) > 1
    did = [row["replies"] for role in ("subject", "binary") for row in models[role]["cluster"].values()]
    assert sum(did) == before


def test_one_pace_holds_for_all_machines(cluster: Any, tmp_path: Path) -> None:
    """--rpm is of all machines together: at 1200 a minute a request goes out every 0.05 seconds."""
    with serving() as server:
        started = time.monotonic()
        measured(cluster, tmp_path / "run", server, asking(tmp_path, budget=Budget(rpm=1200)))
        assert time.monotonic() - started > 0.05 * (server.requests - 1)


def test_one_budget_holds_for_all_machines(cluster: Any, tmp_path: Path) -> None:
    """The run stops at --max-tokens-total, whichever machine used the tokens up."""
    with serving() as server, pytest.raises(BudgetReached, match="--max-tokens-total 200 tokens is reached"):
        measured(
            cluster, tmp_path / "run", server, asking(tmp_path, connections=1, budget=Budget(max_tokens_total=200))
        )


def test_no_key_is_on_a_disk_of_the_cluster(cluster: Any, tmp_path: Path) -> None:
    """The key reaches the server, and is in no file that Ray writes, logs and all."""
    with serving() as server:
        measured(cluster, tmp_path / "run", server, asking(tmp_path))
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
    session = Path(cluster.head_node.get_session_dir_path())
    files = [path for path in session.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_server_on_this_machine_is_asked_from_here(cluster: Any, tmp_path: Path) -> None:
    """Another machine would not find it; the log says so."""
    with serving() as server:
        asked = asking(tmp_path).having(cluster=cluster.address)
        measure(asked, tmp_path / "run", environ(server))
        assert server.requests > 0
    log = (tmp_path / "run" / "run.log").read_text()
    assert f"{SUBJECT} is a server on this machine, so that its requests go out from here." in log


def test_a_server_that_is_gone_is_heard_of(cluster: Any, tmp_path: Path) -> None:
    """A server that is not there is a failure of connection here as there, and not a lost worker."""
    with serving() as server:
        client_of = environ(server)
    asked = asking(tmp_path, retries=0)
    with joined(cluster.address):
        client = ClusterChat.opened(Opening(SUBJECT, "subject", asked, client_of, Gate(1)))
        client.join(10)
        with pytest.raises(aiohttp.ClientConnectionError, match="ClientConnectorError"):
            asyncio.run(client.send(b"{}"))
        client.release()


def test_a_sender_that_is_gone_for_good_is_asked_no_more(cluster: Any, tmp_path: Path) -> None:
    """One request fails in passing with it; the others go out from the other machines, and at last from this one."""
    import ray

    asked = asking(tmp_path, retries=0)
    with serving() as server, joined(cluster.address):
        client = ClusterChat.opened(Opening(SUBJECT, "subject", asked, environ(server), Gate(1)))
        client.join(10)
        first, *others = client._places

        async def send() -> list[int | str]:
            try:
                results = [await outcome() for _ in range(4)]
                for place in others:
                    ray.kill(place.actor)
                return [*results, *[await outcome() for _ in range(len(others) + 1)]]
            finally:
                await client.close()

        async def outcome() -> int | str:
            try:
                return (await client.send(b"{}"))[0]
            except aiohttp.ClientConnectionError as error:
                return str(error)

        ray.kill(first.actor)
        results = asyncio.run(send())
    lost = [each for each in results if isinstance(each, str)]
    assert len(lost) == 1 + len(others)
    assert all("sender was lost" in each for each in lost)
    assert isinstance(results[-1], int)
    assert sum("is gone" in line for line in client.warnings) == len(lost)
