"""cais/MASK from a hub on this machine that behaves like the real one, with rows made up here."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from maskbench.errors import ScenarioError
from maskbench.scenarios import SetHash, open_set
from maskbench.scenarios.hub import PAGE, REVISION
from scenario_rows import in_one, six, write_jsonl, write_parquet

GOOD, NOT_ACCEPTED = "hf_accepted", "hf_not_accepted"


class Hub(ThreadingHTTPServer):
    """What the hub's servers answer for one gated data set, and everything that they were asked."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes], status: int = 200) -> None:
        self.files = files
        self.status = status  # other than 200: what every request gets
        self.requests: list[tuple[str, str | None]] = []
        super().__init__(("127.0.0.1", 0), Answer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """The list of files is open to all, as on the hub; the files only to a token whose owner has accepted."""

    server: Hub

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.server.requests.append((self.path, token))
        path = self.path.partition("?")[0]
        api = "/api/datasets/cais/MASK"
        start = f"/datasets/cais/MASK/resolve/{REVISION}/"
        if self.server.status != 200:
            self.reply(self.server.status, b"", body)
        elif path == f"{api}/revision/{REVISION}":
            siblings = [{"rfilename": name} for name in self.server.files]
            info = {"id": "cais/MASK", "sha": REVISION, "gated": "auto", "siblings": siblings}
            self.reply(200, json.dumps(info).encode(), body)
        elif path == f"{api}/tree/{REVISION}":
            self.reply(200, json.dumps([listed(*file) for file in self.server.files.items()]).encode(), body)
        elif not path.startswith(start) or path.removeprefix(start) not in self.server.files:
            self.reply(404, b"", body, {"X-Error-Code": "EntryNotFound"})
        elif token == GOOD:
            content = self.server.files[path.removeprefix(start)]
            self.reply(200, content, body, {"ETag": f'"{digest(content)}"'})
        elif token == NOT_ACCEPTED:
            self.reply(403, b"", body, {"X-Error-Code": "GatedRepo"})
        else:
            self.reply(401, b"", body, {"X-Error-Code": "GatedRepo"} if token is None else {})

    def reply(self, status: int, content: bytes, body: bool, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"X-Repo-Commit": REVISION, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def listed(path: str, content: bytes) -> dict[str, object]:
    return {"type": "file", "path": path, "size": len(content), "oid": digest(content)}


def digest(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    thread = Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """The files of the data set: a card, and Parquet in a folder for each archetype, one of them in two parts."""
    files = {"README.md": b"# card", ".gitattributes": b"*.parquet filter=lfs"}
    for archetype, rows in six(3).items():
        parts = [rows[:2], rows[2:]] if archetype == "statistics" else [rows]
        for number, part in enumerate(parts):
            name = f"test-{number:05}-of-{len(parts):05}.parquet"
            files[f"{archetype}/{name}"] = write_parquet(tmp_path / name, part).read_bytes()
    return files


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with serving(Hub(files)) as hub:
        yield hub


def environ(hub: Hub, tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), **more}


def hash_of(source: str, environ: dict[str, str]) -> str:
    total = SetHash()
    for scenario in open_set(source, environ):
        total.add(scenario)
    return total.hexdigest()


@pytest.mark.parametrize("variable", ["HF_TOKEN", "HUGGINGFACE_TOKEN"])
def test_reads_the_data_set_at_the_pinned_revision(variable: str, hub: Hub, tmp_path: Path) -> None:
    """Every configuration's Parquet is read, all its parts, and it is the same set as its rows in one file."""
    mask = open_set("cais/mask", environ(hub, tmp_path, **{variable: GOOD}))
    assert [scenario.task_id for scenario in mask if scenario.archetype == "statistics"] == [
        "statistics-1",
        "statistics-2",
        "statistics-3",
    ]
    assert len(list(mask)) == 18
    same = write_jsonl(tmp_path / "rows.jsonl", in_one(six(3)))
    assert hash_of("cais/MASK", environ(hub, tmp_path, **{variable: GOOD})) == hash_of(str(same), {})
    assert all(REVISION in path for path, _ in hub.requests)
    assert not any("README" in path for path, _ in hub.requests)
    assert {token for _, token in hub.requests} == {GOOD}


def test_is_read_from_the_cache_where_the_hub_is_not_there(hub: Hub, tmp_path: Path) -> None:
    """What was downloaded once needs neither network nor token again."""
    first = hash_of("cais/MASK", environ(hub, tmp_path, HF_TOKEN=GOOD))
    asked = len(hub.requests)
    assert hash_of("cais/MASK", environ(hub, tmp_path)) == first
    assert hash_of("cais/MASK", environ(hub, tmp_path, HF_HUB_OFFLINE="1")) == first
    assert len(hub.requests) == asked


def test_a_cache_that_lacks_a_part_is_completed(hub: Hub, tmp_path: Path) -> None:
    """A download that broke off does not pass for the whole set."""
    settings = environ(hub, tmp_path, HF_TOKEN=GOOD)
    first = hash_of("cais/MASK", settings)
    (lost,) = (tmp_path / "home").rglob("snapshots/*/statistics/test-00001-of-00002.parquet")
    lost.unlink()
    with pytest.raises(ScenarioError, match=r"not in the cache\. Unset HF_HUB_OFFLINE"):
        open_set("cais/MASK", settings | {"HF_HUB_OFFLINE": "1"})
    assert hash_of("cais/MASK", settings) == first


def test_without_a_token_it_says_what_to_accept_and_what_to_set(hub: Hub, tmp_path: Path) -> None:
    """The page with the agreement and both variables are named."""
    with pytest.raises(ScenarioError, match=rf"Log in at {PAGE} and accept .* set HF_TOKEN \(or HUGGINGFACE_TOKEN\)"):
        open_set("cais/MASK", environ(hub, tmp_path))


@pytest.mark.parametrize("token", [NOT_ACCEPTED, "hf_unknown"])
def test_a_refused_token_is_named_by_its_variable_alone(token: str, hub: Hub, tmp_path: Path) -> None:
    """An account that has not accepted (403) and a wrong token (401) show the variable, the remedy, not the token."""
    with pytest.raises(ScenarioError, match="does not open cais/MASK to the token in HUGGINGFACE_TOKEN") as caught:
        open_set("cais/MASK", environ(hub, tmp_path, HF_TOKEN=" ", HUGGINGFACE_TOKEN=token))
    assert PAGE in str(caught.value)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "remedy"), [(404, "Check HF_ENDPOINT"), (503, r"\(status 503\). Check the network")]
)
def test_a_hub_that_does_not_serve_is_named(status: int, remedy: str, files: dict[str, bytes], tmp_path: Path) -> None:
    """404 can only come from a mirror, so the variable that chose it is named; the rest is worth another try."""
    with serving(Hub(files, status=status)) as hub, pytest.raises(ScenarioError, match=remedy):
        open_set("cais/MASK", environ(hub, tmp_path, HF_TOKEN=GOOD))


def test_a_hub_that_lacks_an_archetype_is_no_source(files: dict[str, bytes], tmp_path: Path) -> None:
    """A mirror with a part of the set does not pass for the set."""
    del files["statistics/test-00000-of-00002.parquet"]
    with serving(Hub(files)) as hub, pytest.raises(ScenarioError, match="has only a part of cais/MASK"):
        open_set("cais/MASK", environ(hub, tmp_path, HF_TOKEN=GOOD))


def test_a_hub_out_of_reach_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    """Nothing listens there: the error names the host and offers a folder instead."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = {"HF_ENDPOINT": f"http://127.0.0.1:{closed.getsockname()[1]}", "HF_HUB_CACHE": str(tmp_path)}
    with pytest.raises(ScenarioError, match=r"cannot be fetched from 127\.0\.0\.1 .* path of a folder"):
        open_set("cais/MASK", nowhere)
