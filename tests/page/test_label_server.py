"""The server of the labelling page: what it takes, what it refuses, and what it never says."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import maskbench
from flows import command, end
from flows import maskbench as process
from maskbench.presentation.page.server.label_page import Labelling, failed
from maskbench.presentation.page.server.serving import LocalServer
from maskbench.results.people.labelled_outcomes import drawn, prepare
from maskbench.store.labels import LabelStore, New, Role, current
from maskbench.store.verdict_sets import reading
from maskbench.types import BinaryVerdict, NumericalVerdict
from measured_runs import change, run
from patience import PATIENCE

Json = dict[str, Any]
HERE = {"PYTHONPATH": str(Path(maskbench.__file__).parents[1])}


@pytest.fixture
def labels(tmp_path: Path) -> LabelStore:
    """The labels of a run with a sample of 20 scenarios."""
    path = run(tmp_path / "run", "sim/lie=0.4,evade=0.2", judge="sim-judge/accuracy=0.86")
    with opened(path) as store:
        return store[0]


@contextmanager
def opened(path: Path) -> Iterator[tuple[LabelStore, list[Any]]]:
    """A run's labels and its drawn scenarios."""
    with reading(path) as run_:
        labels_ = prepare(run_, 20)
        yield labels_, drawn(run_, labels_.design())


class Client:
    """One who has the link: posts JSON as the page does."""

    def __init__(self, server: LocalServer) -> None:
        self.port = server.port
        self._cookie = ""
        _, _, cookie = self._ask("GET", server.link.partition(str(server.port))[2], None)
        self._cookie = cookie.partition(";")[0]

    def post(self, path: str, body: object) -> tuple[int, Json]:
        """The status and what was answered."""
        status, text, _ = self._ask("POST", path, json.dumps(body).encode())
        return status, json.loads(text)

    def page(self) -> str:
        """The page itself."""
        return self._ask("GET", "/", None)[1]

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = {"Cookie": self._cookie, "Origin": f"http://127.0.0.1:{self.port}"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode(), response.getheader("Set-Cookie", "")
        finally:
            connection.close()


@contextmanager
def served(labels: LabelStore, role: Role = "rater") -> Iterator[Client]:
    """The pages of a run's labels while the block lasts."""
    with opened(labels.path.parent) as (_, scenarios):
        server = LocalServer(Labelling(labels, scenarios, None, role).routes, writes=True, failed=failed)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Client(server)
    finally:
        server.stop()
        thread.join()


def parts(work: Json, kind: str = "binary") -> list[Json]:
    """All replies of one kind in a rater's work."""
    return [part for scenario in work["scenarios"] for part in scenario if part["kind"] == kind]


def label(part: Json, verdict: object, **more: object) -> Json:
    """A label as the page sends it."""
    body = {"rater": "Anna", "reply": part["id"], "verdict": verdict, "evasion": None, "was": 0, "ticket": part["id"]}
    return {**body, **more}


def test_a_label_is_on_disk_when_it_is_answered(labels: LabelStore) -> None:
    """Letters and numbers come back, and stand in the database; the next work holds them."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        letter, number = parts(work)[0], parts(work, "numerical")[0]
        bounds = {"lower_bound": 1.5, "upper_bound": None, "relative_lower_bound": None, "relative_upper_bound": None}
        status, answer = client.post("/label", label(letter, "C", evasion="hedge"))
        assert (status, answer["verdict"], answer["evasion"]) == (200, "C", "hedge")
        none = dict.fromkeys(bounds)
        status, answer = client.post("/label", label(number, none, evasion="disagree"))
        assert (status, answer["verdict"], answer["evasion"]) == (200, none, "disagree")
        assert client.post("/label", label(number, bounds, was=answer["number"], ticket="next"))[0] == 200
        had = current(LabelStore(labels.path.parent).latest()["Anna"])
        assert had == {letter["id"]: BinaryVerdict("C", "hedge"), number["id"]: NumericalVerdict(1.5)}
        _, again = client.post("/work", {"rater": "anna"})
        assert again["labels"].keys() == had.keys()


def test_another_window_is_not_overwritten(labels: LabelStore) -> None:
    """A label that has not seen the one that stands is refused and told of it; a repeated one is answered as before."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        part = parts(work)[0]
        first = client.post("/label", label(part, "A"))
        assert client.post("/label", label(part, "A")) == first
        status, answer = client.post("/label", label(part, "B", ticket="other"))
        assert (status, answer["now"]["verdict"]) == (409, "A")
        status, _ = client.post("/label", label(part, "B", ticket="other", was=answer["now"]["number"]))
        assert status == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"reply": "none"},
        {"verdict": "E"},
        {"verdict": 3},
        {"verdict": {"lower_bound": 1}},
        {"evasion": "hedge"},
        {"evasion": "nonsense", "verdict": "C"},
        {"evasion": "disagree", "verdict": "C"},
        {"rater": "Nobody"},
        {"rater": ""},
        {"was": "0"},
        {"was": True},
        {"ticket": ""},
        {"ticket": "x" * 65},
    ],
)
def test_what_is_no_label_is_refused(labels: LabelStore, changed: Json) -> None:
    """Everything that is sent is checked, and refused in a sentence; nothing is written."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        status, answer = client.post("/label", {**label(parts(work)[0], "A"), **changed})
        assert status == 400
        assert answer["error"].endswith(".")
        assert labels.latest() == {}


@pytest.mark.parametrize("body", [[], "x", {"rater": 3}, {"rater": "<script>"}, {}])
def test_no_name_no_work(labels: LabelStore, body: object) -> None:
    """Work is for a name."""
    with served(labels) as client:
        assert client.post("/work", body)[0] == 400


def test_raters_are_blind(labels: LabelStore) -> None:
    """Nothing of a judge, an outcome or another rater is in what a rater gets, and orders differ."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        client.post("/label", label(parts(work)[0], "D"))
        _, other = client.post("/work", {"rater": "Ben"})
        assert other["labels"] == {}
        assert [part["id"] for part in parts(other)] != [part["id"] for part in parts(work)]
        fields = {field for part in parts(other) for field in part}
        assert fields == {"id", "kind", "call", "claims", "conversation", "replies", "rules"}
        text = json.dumps(other) + client.page().partition("<main")[2].partition("</main")[0]
        for word in ("sim-judge", "As simulated", "outcome", "ground_truth", "starter-", 'honest"', "probability"):
            assert word not in text


def test_adjudication(labels: LabelStore) -> None:
    """Only what raters differ on is shown, with what they said and not who; it is kept under the third name."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        client.post("/work", {"rater": "Ben"})
        first, other = parts(work)[:2]
        for name, verdict in (("Anna", "A"), ("Ben", "B")):
            client.post("/label", label(first, verdict, rater=name, ticket=name))
            client.post("/label", label(other, "A", rater=name, ticket=f"{name} 2"))
    with served(labels, "adjudicator") as client:
        assert client.post("/work", {"rater": "Anna"})[0] == 400
        _, work = client.post("/work", {"rater": "Cleo"})
        (part,) = parts(work)
        assert (part["id"], part["raters"]) == (first["id"], ["A", "B"])
        assert "Anna" not in json.dumps(work)
        assert client.post("/label", label(part, "B", rater="Cleo", ticket="c"))[0] == 200
        assert client.post("/label", label(part, "B", ticket="d"))[0] == 400  # Anna does not adjudicate
        assert parts(client.post("/work", {"rater": "Cleo"})[1]) == [part]
        assert parts(client.post("/work", {"rater": "Dora"})[1]) == []


def test_how_the_command_ends(labels: LabelStore) -> None:
    """Ctrl-C is answered with who has labelled how much, what is left, and what to type next."""
    path = labels.path.parent
    with opened(path) as (_, scenarios):
        replies = {part.id for scenario in scenarios for part in scenario.parts}
    for name, verdict in (("Anna", BinaryVerdict("A")), ("Ben", BinaryVerdict("D"))):
        labels.enter(name, "rater")
        labels.put(name, New(next(iter(replies)), verdict, 0, name))
    with process("label", path, "--no-open", env=HERE) as started:
        assert started.stdout is not None
        connection = http.client.HTTPConnection(urlsplit(started.stdout.readline()).netloc, timeout=PATIENCE)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403  # it answers
        connection.close()
        started.send_signal(signal.SIGINT)
        printed = end(started)
    assert printed.code == 0
    assert f"Anna has labelled 1 of {len(replies)} replies; {len(replies) - 1} to go." in printed.err
    assert f"Readers differ on 1. To settle that:\n  maskbench label {path} --adjudicate NAME" in printed.err
    assert f"maskbench label {path} --show" in printed.err


def test_an_export_overwrites_nothing(labels: LabelStore, tmp_path: Path) -> None:
    """A file that somebody may have filled in stays as it is, unless it was just taken in."""
    file = tmp_path / "labels.csv"
    options: list[object] = ["label", labels.path.parent, "--out", file]
    for more, code in (([], 0), ([], 2), (["--import", file], 0)):
        assert (ended := command(*options, *more, env=HERE)).code == code
    assert "0 labels are in" in ended.err


def test_a_full_disk_is_said(labels: LabelStore) -> None:
    """Where the label cannot be written the answer says so, and it is no success."""
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        whole = labels.path.read_bytes()
        labels.path.write_bytes(b"not a database at all, but a text of some length" * 100)
        status, answer = client.post("/label", label(parts(work)[0], "A"))
        assert status == 503
        assert "labels.sqlite cannot be used" in answer["error"]
        labels.path.write_bytes(whole)
        assert client.post("/label", label(parts(work)[0], "A"))[0] == 200


def test_hidden_characters_are_shown(labels: LabelStore) -> None:
    """What would turn a line around on the page is in its data as text."""
    change(labels.path.parent, "UPDATE replies SET text = '<img src=x>' || char(8238) || text WHERE text IS NOT NULL")
    with served(labels) as client:
        _, work = client.post("/work", {"rater": "Anna"})
        assert all(text.startswith("<img src=x>⟨U+202E⟩") for part in parts(work) for text in part["replies"])
