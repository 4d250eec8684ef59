"""The served folder of runs: what each page holds, what is refused, what is kept, and runs under way."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from chat_server import fail, sometimes
from flows import MODELS, end, environ, in_file, maskbench, reply_to, serving, until
from maskbench.errors import UsageError
from maskbench.interventions.dose.arms import measure_doses
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import DoseRecord, Plan
from maskbench.method.asks import Calls
from maskbench.pages.server.live import Pace, Progress, described, duration, plan, progress
from maskbench.pages.server.serving import ADDRESS, LocalServer
from maskbench.pages.server.shelf import Shelf, find, find_curves
from maskbench.pages.server.view import MOST_COMPARED, Kept, View, failed
from maskbench.pages.shell import Document
from maskbench.presentation.format import interval, percent
from maskbench.presentation.sections.doses import finding
from maskbench.results.leaderboard import boards
from maskbench.results.scored import score
from maskbench.runs.folder import RunFolder, under_way
from maskbench.runs.watching import Unwatched
from measured_runs import EVERYDAY, change, edit, real, run, settings
from patience import PATIENCE

HOSTILE = "evil/<script>alert(1)</script>\"'>\u202e\u200b{{ 7*7 }}"


class Site:
    """A served folder, looked at by who holds its link."""

    def __init__(self, link: str) -> None:
        self.port = int(urlsplit(link).port or 0)
        self.cookie = ""
        response, _ = self.ask(link.partition(str(self.port))[2])
        self.cookie = str(response.getheader("Set-Cookie")).partition(";")[0]

    def ask(self, path: str, method: str = "GET") -> tuple[http.client.HTTPResponse, str]:
        """One request."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers={"Cookie": self.cookie})
            response = connection.getresponse()
            return response, response.read().decode()
        finally:
            connection.close()

    def page(self, path: str = "/", status: int = 200) -> str:
        """A page that has this status."""
        response, text = self.ask(path)
        assert response.status == status, text[-600:]
        return text

    def settled(self) -> str:
        """The page of all runs once everything is read and ranked."""
        until(lambda: not re.search(r'data-unread="[1-9]|being worked out', self.page()))
        return self.page()


@contextmanager
def viewed(folder: Path, **options: Any) -> Iterator[Site]:
    """A folder that is served while the block lasts."""
    pages = View(Shelf(folder, **options))
    server = LocalServer(pages.routes, failed=failed)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Site(server.link)
    finally:
        server.stop()
        thread.join()


def id_of(folder: Path, path: Path) -> str:
    """The id of a run in a folder."""
    return next(run.id for run in find(folder) if run.path == path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of many kinds."""
    folder = tmp_path_factory.mktemp("view") / "runs"
    for at, (name, lie) in enumerate({"lab/low": 0.1, "lab/high": 0.8, HOSTILE: 0.4}.items()):
        edit(real(folder / f"run{at}", name, f"sim/lie={lie},evade=0.1"), scenarios="starter")
    run(folder / "deep" / "sim")
    real(folder / "failing", "lab/failing", "sim/fail=0.3")
    change(real(folder / "part", "lab/part", "sim"), "DELETE FROM replies WHERE archetype = 'known_facts'")
    edit(real(folder / "private", "lab/low", "sim", archetypes=("known_facts",)), scenarios="held_out.csv")
    shutil.copytree(folder / "run0", folder / "<img src=x onerror=alert(1)>")
    edit(folder / "<img src=x onerror=alert(1)>", subject="lab/odd")
    edit(real(folder / "old", "lab/old", "sim"), schema=99)
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("<script>alert(2)</script>")
    return folder


@pytest.fixture(scope="module")
def site(runs: Path) -> Iterator[Site]:
    """That folder, served."""
    with viewed(runs) as server:
        yield server


def rows_of(text: str) -> list[str]:
    """The rows of the leaderboards, without those of all rates."""
    return re.findall(r"<tr data-row=\"[0-9a-f]+\">\s*<td class=\"view-rank\".*?</tr>", text, re.DOTALL)


def test_board(runs: Path, site: Site) -> None:
    """The page has every rank and rate as the leaderboard has them, in its order."""
    rows = rows_of(site.settled())
    results = [score(run.path) for run in find(runs) if run.name not in ("broken", "old")]
    tables = [board for board in boards(results) if board.ranked]
    others = iter(rows)
    for board in tables:
        for row, other in zip(board.rows, others, strict=False):
            rates = row.result.rates
            assert f'href="/run/{id_of(runs, row.result.path)}"' in other
            assert f"<strong>{percent(rates['p_lie'].value)}</strong>" in other
            for name in ("p_honest", "p_evasive", "p_no_belief", "accuracy"):
                if rates[name].value is not None:
                    ends = rates[name].low, rates[name].high
                    assert f"{percent(rates[name].value)}<" in other
                    assert interval([end for end in ends if end is not None]) in other
            assert f'data-value="{row.result.error_rate}"' in other
        ranks = re.findall(r'view-rank" data-value="(\d*)">', "".join(rows[: len(board.ranked)]))
        assert board is not tables[0] or ranks == [str(row.rank) for row in board.ranked]
    assert len(rows) == len(results)


def test_apart(site: Site) -> None:
    """Simulated, incomplete and withheld runs stand apart with the reason; what cannot be read with the error."""
    text = site.settled()
    apart = text.partition("Shown apart, never ranked")[2]
    for name, why in {
        "sim": "simulated; that shows how maskbench works",
        "lab/part": "not complete: 80 of 96 scenarios are done",
        "lab/failing": "withheld: ",
    }.items():
        assert f"<bdi>{name}</bdi>" in apart
        assert why in apart
    unread = text.partition("Not read")[2]
    assert "has schema 99; this version of maskbench reads schema 2" in unread
    assert "run.json cannot be read" in unread


def test_gap(site: Site) -> None:
    """A model on a public and a private set has its gap, as the leaderboard has it."""
    text = site.settled().partition("Public and private scenarios")[2]
    assert '<th scope="row">lab/low</th><td class="text">held_out.csv</td>' in text
    assert "two independent samples (Newcombe&#39;s interval)" in text


def test_one_rule_set(runs: Path) -> None:
    """Board and report are under the one rule set that was asked for."""
    with viewed(runs, rules="strict") as site:
        assert "rules strict" in site.settled()
        assert "strict" in site.page(f"/run/{id_of(runs, runs / 'run0')}")


def test_public(runs: Path) -> None:
    """A set that the user calls public is public."""
    with viewed(runs, public=["held_out.csv"]) as site:
        assert "held_out.csv: 16 public scenarios" in site.settled()


def test_hostile_names(runs: Path, site: Site) -> None:
    """Names of models and folders, and what a broken file says, are text on every page."""
    odd = runs / "<img src=x onerror=alert(1)>"
    addresses = ["/", f"/run/{id_of(runs, odd)}", f"/run/{id_of(runs, runs / 'run2')}", "/state"]
    addresses += [f"/run/{id_of(runs, runs / 'broken')}", f"/run/{id_of(runs, odd)}/progress"]
    addresses += [f"/compare?run={id_of(runs, odd)}&run={id_of(runs, runs / 'run2')}"]
    for address in addresses:
        response, text = site.ask(address)
        if response.getheader("Content-Type") == "application/json":
            continue
        for harm in ("<script>alert", "<img", "\u202e", "\u200b", "onerror=alert(1)>&", ">49<"):
            assert harm not in text.replace("&lt;img src=x onerror=alert(1)&gt;", ""), (address, harm)
    board = site.settled()
    assert "evil/&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&gt;⟨U+202E⟩⟨U+200B⟩{{ 7*7 }}" in board
    assert "&lt;img src=x onerror=alert(1)&gt;" in board


def test_report(runs: Path, site: Site) -> None:
    """A run that is done opens as its report, with a way back, under a policy that allows no network."""
    response, text = site.ask(f"/run/{id_of(runs, runs / 'run0')}")
    assert response.status == 200
    assert '<a href="/">← All runs</a>' in text
    assert percent(score(runs / "run0").rates["p_lie"].value) in text
    policy = str(response.getheader("Content-Security-Policy"))
    assert policy.startswith("default-src 'none'")
    assert policy.count("frame-ancestors 'none'") == 1
    assert "connect-src" not in policy


def test_report_is_kept(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is made once for as long as the run stays as it is."""
    make, times = View._made, itertools.count()
    monkeypatch.setattr(View, "_made", lambda view, asked: (next(times), make(view, asked))[1])
    folder = tmp_path / "runs"
    shutil.copytree(runs / "run0", folder / "run")
    with viewed(folder) as site:
        address = f"/run/{id_of(folder, folder / 'run')}"
        first = site.page(address)
        assert site.page(address) == first
        assert next(times) == 1
        edit(folder / "run", subject="lab/renamed")
        until(lambda: "lab/renamed" in site.page(address))


def test_kept_once() -> None:
    """What many ask for at once is made once; what cannot be made is tried again; the oldest goes first."""
    reports: list[str] = []

    def make(name: str) -> Document:
        reports.append(name)
        time.sleep(0.05)
        if name == "wrong":
            raise ValueError(name)
        return Document((name,), "")

    async def ask() -> None:
        kept = Kept(2)
        pages = await asyncio.gather(*(kept.get("a", lambda: make("a")) for _ in range(5)))
        assert {page.html for page in pages} == {"a"}
        for _ in range(2):
            with pytest.raises(ValueError, match="wrong"):
                await kept.get("wrong", lambda: make("wrong"))
        for name in "bca":
            await kept.get(name, lambda name=name: make(name))  # type: ignore[misc]

    asyncio.run(ask())
    assert reports == ["a", "wrong", "wrong", "b", "c", "a"]


def test_large_reports_make_room_for_each_other() -> None:
    """The oldest report goes where all have too many letters together; one alone stays, however large it is."""
    reports: list[str] = []

    def make(name: str) -> Document:
        reports.append(name)
        return Document((name * 3, name * 3), "")

    async def ask() -> None:
        kept = Kept(16, largest=12)
        for name in "ababcba":
            await kept.get(name, lambda name=name: make(name))  # type: ignore[misc]
        huge = Kept(16, largest=5)
        for _ in range(2):
            await huge.get("d", lambda: make("d"))

    asyncio.run(ask())
    assert reports == [*"abca", "d"]


def test_compare(runs: Path, site: Site) -> None:
    """The ticked runs are compared with the reference, the first or the one that is named."""
    first, other = (id_of(runs, runs / name) for name in ("run0", "run1"))
    text = site.page(f"/compare?run={first}&run={other}")
    assert "<b><bdi>run0</bdi></b>" in text
    assert f'href="/compare?run={first}&amp;run={other}&amp;reference={other}"' in text
    assert "<b><bdi>run1</bdi></b>" in site.page(f"/compare?run={first}&run={other}&reference={other}")
    assert f'value="{first}" form="compare" aria-label="Compare lab/low" checked' in site.page(f"/?run={first}")


def test_compare_what_cannot_be(runs: Path, site: Site) -> None:
    """Too few, too many and unknown runs are told apart, and each page says what to do."""
    first = id_of(runs, runs / "run0")
    assert "Tick two runs or more" in site.page("/compare", 400)
    response, _ = site.ask(f"/compare?run={first}&run={first}")
    assert (response.status, response.getheader("Location")) == (303, f"/run/{first}")
    assert "No such run" in site.page(f"/compare?run={first}&run=0123456789abcdef", 404)
    many = "&".join(f"run={run.id}" for run in find(runs))
    assert len(many.split("&")) < MOST_COMPARED
    assert "cannot be read" in site.page(f"/compare?{many}", 400)


def test_too_many_to_compare(runs: Path, tmp_path: Path) -> None:
    """More runs than a page can hold are refused with the number that it can."""
    for at in range(MOST_COMPARED + 1):
        shutil.copytree(runs / "broken", tmp_path / "runs" / str(at))
    with viewed(tmp_path / "runs") as site:
        many = "&".join(f"run={run.id}" for run in find(tmp_path / "runs"))
        assert f"Tick {MOST_COMPARED} or fewer" in site.page(f"/compare?{many}", 400)


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../outside",
        "..%2foutside",
        "%2e%2e%2foutside",
        "....//outside",
        "run0",
        "/etc/passwd",
        "%00",
        "%ff",
        "a" * 9000,
    ],
)
def test_no_way_out(runs: Path, site: Site, name: str) -> None:
    """No address leads to a file or to a folder outside, nor to a run by its path."""
    for address in (f"/run/{name}", f"/run/{name}/report", f"/run/{name}/progress"):
        response, text = site.ask(address)
        assert response.status == 404
        assert str(runs) not in text
        assert "root:" not in text
    assert site.ask(f"/compare?run={name}&run={id_of(runs, runs / 'run0')}")[0].status == 404


def test_only_what_is_below(runs: Path, tmp_path: Path) -> None:
    """Runs beside the folder, and those that links lead to, are not served."""
    shutil.copytree(runs / "run0", tmp_path / "beside")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "beside")
    assert list(find(tmp_path / "runs")) == []
    with viewed(tmp_path / "runs") as site:
        assert "No runs yet" in site.page()
        for known in find(tmp_path):
            site.page(f"/run/{known.id}", 404)


def test_a_run_itself(runs: Path) -> None:
    """A folder that is a run is shown as one."""
    with viewed(runs / "run0") as site:
        assert "<bdi>lab/low</bdi>" in site.settled()


def test_gone_and_broken(runs: Path, tmp_path: Path) -> None:
    """A run that vanishes or breaks while it is looked at gives a page that says so."""
    folder = tmp_path / "runs"
    for name in ("gone", "torn", "empty", "odd"):
        shutil.copytree(runs / "run0", folder / name)
    ids = {known.name: known.id for known in find(folder)}
    with viewed(folder) as site:
        assert "lab/low" in site.settled()
        shutil.rmtree(folder / "gone")
        whole = (folder / "torn" / "run.sqlite").read_bytes()
        (folder / "torn" / "run.sqlite").write_bytes(whole[: len(whole) // 2] + b"\0" * 5000)
        (folder / "empty" / "run.sqlite").unlink()
        edit(folder / "odd", settings={"subject": ["a list"]})
        until(lambda: "No such run" in site.ask(f"/run/{ids['gone']}")[1])
        for name in ("torn", "empty", "odd"):
            assert "cannot be shown" in site.page(f"/run/{ids[name]}", 404)
            assert "cannot be shown" in site.page(f"/run/{ids[name]}/report", 404)
            assert site.ask(f"/run/{ids[name]}/progress")[0].status == 404
        text = site.settled()
        assert text.partition("Not read")[2].count("<li>") == 3
        assert rows_of(text) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"created": 5},
        {"protocol": None},
        {"scenarios": {"name": "starter", "taken": [], "measured_hash": {}, "n": "x", "hash": 1}},
        {"models": "none"},
        {"sessions": None},
    ],
)
def test_one_odd_run(runs: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    """Whatever stands in one run.json, the other runs are shown."""
    folder = tmp_path / "runs"
    for name in ("good", "odd"):
        shutil.copytree(runs / "run0", folder / name)
    record = RunFolder(folder / "odd").record()
    (folder / "odd" / "run.json").write_bytes(orjson.dumps(record | changes))
    with viewed(folder) as site:
        text = site.settled()
        assert f'href="/run/{id_of(folder, folder / "good")}"' in text
        assert site.ask(f"/run/{id_of(folder, folder / 'odd')}")[0].status in (200, 404)


def test_state(runs: Path, tmp_path: Path) -> None:
    """What pages ask again and again says by its version whether there is anything new."""
    folder = tmp_path / "runs"
    shutil.copytree(runs / "run0", folder / "run0")
    with viewed(folder) as site:
        site.settled()
        states = [orjson.loads(site.page("/state")) for _ in range(2)]
        assert states[0] == states[1]
        assert states[0]["active"] == []
        assert f'data-version="{states[0]["version"]}"' in site.page()
        shutil.copytree(runs / "run1", folder / "run1")
        until(lambda: orjson.loads(site.page("/state"))["version"] != states[0]["version"])
        assert "lab/high" in site.settled()


def test_many_runs(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list comes at first without what is still to be read, and then with all."""
    folder, shelf, go_on = tmp_path / "runs", sys.modules[Shelf.__module__], threading.Event()
    read = shelf._read
    monkeypatch.setattr(shelf, "_read", lambda *run: go_on.wait(PATIENCE) and read(*run))
    for at in range(50):
        shutil.copytree(runs / f"run{at % 2}", folder / f"run{at:03}")
    with viewed(folder) as site:
        assert "Reading runs" in site.page()
        go_on.set()
        until(lambda: 'data-unread="0"' in site.page())
        site.settled()
        assert len(rows_of(site.page())) == 50


def test_dose_curves(tmp_path: Path) -> None:
    """A dose curve stands in the list with its finding and has its page; one that cannot be read says so."""
    folder = tmp_path / "runs"
    wanted = Plan(kind="prompts", base=settings("sim", limit=12, statements=1), doses=("honest",), dev_statements=1)
    measured = measure_doses(wanted, folder / "curve", {}, lambda *_: Unwatched())
    shutil.copytree(folder / "curve", folder / "broken")
    (folder / "broken" / "dose.json").write_text('{"schema": 1, "complete": "<script>"}')
    shutil.copytree(folder / "curve", folder / "begun")
    begun = DoseFolder(folder / "begun")
    stated = {name: getattr(measured, name) for name in ("plan", "maskbench", "choice", "words")}
    begun.write(DoseRecord(complete=False, **stated))
    curves = {curve.name: curve for curve in find_curves(folder, list(find(folder)))}
    assert sorted(curves) == ["begun", "broken", "curve"]
    with viewed(folder) as site:
        page = site.settled()
        assert finding(measured) in page
        assert "This dose curve cannot be read." in page
        assert "Not complete." in page
        for name, curve in curves.items():
            assert f'href="/dose/{curve.id}"' in page
            text = site.page(f"/dose/{curve.id}", 404 if name == "broken" else 200)
            assert "← All runs" in text
            assert ("The words, stated beforehand" in text) == (name != "broken")
        before = orjson.loads(site.page("/state"))["version"]
        begun.write(measured)
        until(lambda: orjson.loads(site.page("/state"))["version"] != before)
        site.page(f"/dose/{'0' * 16}", 404)
    with viewed(folder / "curve" / "test") as site:
        assert "Dose curves" not in site.settled()


def test_methods(site: Site) -> None:
    """Nothing here can be written to."""
    for method in ("POST", "PUT", "DELETE"):
        assert site.ask("/", method)[0].status == 405
    assert site.ask("/none")[0].status == 404


# Runs under way


def test_under_way(tmp_path: Path) -> None:
    """A run is under way while a process holds its lock, and neither before nor after; looking disturbs nobody."""
    path = run(tmp_path / "run")
    folder = RunFolder(path)
    assert not under_way(path)
    for _ in range(50):
        with folder.writing():
            store = folder.store(write=True)
            store.count()
            assert under_way(path)
            store.close()
        assert not under_way(path)
    (path / "run.sqlite-wal").write_bytes(b"")  # as a killed process leaves it
    assert not under_way(path)


def test_looking_disturbs_no_beginning(tmp_path: Path) -> None:
    """A run that is begun or taken up while it is looked at all the time never finds its lock taken."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            list(find(tmp_path))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        path = run(tmp_path / "run")
        for _ in range(200):
            with RunFolder(path).writing():
                pass
    finally:
        stop.set()
        watching.join()


@pytest.mark.parametrize("subject", ["sim", "sim/fail=0.3"])
def test_counts_of_a_run_that_is_done(tmp_path: Path, subject: str) -> None:
    """At the end all is settled, whatever failed, and failures are those of the summary, by stage and cause."""
    path = run(tmp_path / "run", subject, statements=2)
    planned = plan(path)
    counted = progress(path, planned)
    assert counted.settled == counted.total == planned.expected.replies + planned.expected.verdicts
    failures = score(path).summary.failures
    summed = {
        (stage, cause): count
        for stage, causes in failures.items()
        for cause, count in causes.items()
        if cause != "too_few_replies"  # found by scoring; there was nothing to call for
    }
    assert dict(counted.failures) == summed


def test_pace() -> None:
    """Speed is that of the last while, unknown at first, and starts anew where failures are asked again."""
    pace = Pace()
    assert pace.mark(0.0, 10) is None
    assert pace.mark(2.0, 30) == 10
    for second in range(3, 100):
        speed = pace.mark(float(second), 30 + second)
    assert speed == pytest.approx(1.0)
    assert pace.mark(101.0, 5) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (90.2, "1 min 30 s"),
        (3000, "50 min"),
        (11_100, "3 h 5 min"),
        (100_000, "1 day 3 h"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    """Times are said as people say them."""
    assert duration(seconds) == words


def test_described() -> None:
    """Progress in words: never 100 % before the end, a time left only where there is a speed."""
    counted = Progress(100, 98, Calls(100, 100, 100), 199, {("judge", "rate_limit"): 1, ("subject", "<b>\u202e"): 3})
    look = described("lab/x", counted, 2.0, active=True)
    assert (look["state"], look["share"], look["left"]) == ("under way", "99 %", "1 s")
    assert look["failures"] == [("subject", "<b>⟨U+202E⟩", "3"), ("judge", "rate limit", "1")]
    assert described("lab/x", counted, 0.0, active=True)["remaining"] == "time left not known yet"
    assert described("lab/x", counted, None, active=False)["state"] == "stopped"


def test_a_run_from_beginning_to_end(tmp_path: Path) -> None:
    """A real run is under way, stops, says how to go on, goes on, ends, and then there is its report."""
    folder, path = tmp_path / "runs", tmp_path / "runs" / "it's"
    folder.mkdir()
    options = ("--scenarios", EVERYDAY, "--out", path, "--connections", 8, "--retries", 0)
    with (
        serving(reply=reply_to, latency=lambda: 0.06, rules=[sometimes(0.1, fail(500))]) as server,
        viewed(folder) as site,
    ):
        with maskbench(*in_file(folder, "run", *MODELS, *options), env=environ(server)) as process:
            until(lambda: (path / "run.json").exists() and any(known.under_way for known in find(folder)))
            name = id_of(folder, path)
            until(lambda: site.ask(f"/run/{name}/progress")[0].status == 200)  # the folder is looked at now and then
            until(lambda: state(site, name)["settled"] > 20)
            assert "Under way" in site.page()
            text = site.page(f"/run/{name}")
            assert 'data-state="under way"' in text
            assert "No rate is shown before the end" in text
            looks = [state(site, name) for _ in range(5)]
            until(lambda: bool(state(site, name)["failures"]))
            assert [look["settled"] for look in looks] == sorted(look["settled"] for look in looks)
            assert {failure[1] for failure in state(site, name)["failures"]} == {"server error"}
            until(lambda: state(site, name)["speed"] != "–")
            process.send_signal(signal.SIGKILL)
            process.wait()
        until(lambda: state(site, name)["state"] == "stopped")
        text = site.page(f"/run/{name}")
        assert "It was stopped before its end" in text
        assert f"maskbench run --out &#39;{folder}/it&#39;&#34;&#39;&#34;&#39;s&#39;" in text
        assert "Not complete" in site.page(f"/run/{name}/report")
        assert "not complete: " in site.settled()
    with serving(reply=reply_to) as server, viewed(folder) as site:
        with maskbench("run", "--out", path, env=environ(server)) as process:
            assert end(process).code == 0
        until(lambda: "data-progress" not in site.page(f"/run/{name}"))
        assert "← All runs" in site.page(f"/run/{name}")


def state(site: Site, name: str) -> dict[str, Any]:
    """How a run stands."""
    shown: dict[str, Any] = orjson.loads(site.page(f"/run/{name}/progress"))
    return shown


# The command


def test_the_command(runs: Path) -> None:
    """`maskbench view` prints its link, keeps the token out of every page and log, and ends with 0 on Ctrl-C."""
    with maskbench("view", runs, "--no-open", env={}) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", link)
        token = link.partition("token=")[2]
        site = Site(link)
        addresses = ["/", "/state", "/none", "/compare", f"/run/{id_of(runs, runs / 'run0')}", f"/none?token={token}"]
        for address in addresses:
            response, text = site.ask(address)
            assert token not in text
            assert token not in str(response.headers)
            assert site.cookie.partition("=")[2] not in text
        process.send_signal(signal.SIGINT)
        ended = end(process)
    assert ended.code == 0
    assert ended.out == ""
    assert token not in ended.err
    assert ended.err.endswith("Stopped.\n")


def test_the_browser(runs: Path, tmp_path: Path) -> None:
    """The browser is opened with another token than the printed one, which is good once."""
    script, told = tmp_path / "browser", tmp_path / "told"
    script.write_text(f'#!/bin/sh\necho "$1" > {told}.new && mv {told}.new {told}\n')
    script.chmod(0o755)
    with maskbench("view", runs, "--open", env={"BROWSER": str(script)}) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        until(told.exists)
        once = told.read_text().strip()
        assert once.partition("token=")[0] == link.partition("token=")[0]
        assert once != link
        assert "lab/low" in Site(once).settled()
        assert Site(once).ask("/")[0].status == 403
        assert Site(link).ask("/")[0].status == 200
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


ENDLESS = f"""
import pathlib, runpy, sys, time
from {View.__module__} import View
View._made = lambda view, runs: pathlib.Path(sys.argv[2], "begun").touch() or time.sleep(100_000)
runpy.run_module("maskbench", run_name="__main__")
"""


def test_ctrl_c_does_not_wait(runs: Path, tmp_path: Path) -> None:
    """Ctrl-C ends the server, also while a report is being made that would take for ever."""
    folder = shutil.copytree(runs, tmp_path / "runs")
    command = [sys.executable, "-c", ENDLESS, "view", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        site = Site(process.stdout.readline().strip())
        first, other = (id_of(folder, folder / name) for name in ("run0", "run1"))
        threading.Thread(target=quietly, args=(site, f"/compare?run={first}&run={other}"), daemon=True).start()
        until((folder / "begun").exists)
        process.send_signal(signal.SIGINT)
        assert end(process).code == 0


def quietly(site: Site, address: str) -> None:
    """Ask for a page that may never come."""
    try:
        site.ask(address)
    except (OSError, http.client.HTTPException):
        return


def test_wrong_usage(tmp_path: Path) -> None:
    """A folder that is none, and a port that is taken, are errors that say what to type."""
    from maskbench.cli.reports import view

    with pytest.raises(UsageError, match="Give one with runs in it: maskbench view runs/"):
        view(tmp_path / "missing")
    with socket.create_server((ADDRESS, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"--port {port} is taken"):
            view(tmp_path, port=port, opens=False)
