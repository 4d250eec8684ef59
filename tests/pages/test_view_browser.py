"""The served pages in a real browser: sorting, ticking, comparing, reports, runs under way, keyboard, dark, phone."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error

from browser import DESK, PHONE, Chromium, Tab, in_browser
from chat_server import fail, sometimes
from flows import MODELS, end, environ, in_file, maskbench, reply_to, serving, until
from maskbench.pages.server.serving import LocalServer
from maskbench.pages.server.shelf import Shelf, find
from maskbench.pages.server.view import View, failed
from measured_runs import change, edit, real, run
from patience import PATIENCE

pytest_plugins = ["browser"]
HOSTILE = (
    "evil/<script>alert(1)</script>",
    'evil/"><img src=x onerror=alert(1)>',
    "evil/' onmouseover=alert(1) x='",
    "evil/\u202egnp.exe\u200b{{7*7}}</textarea></template>",
)


@contextmanager
def viewed(folder: Path) -> Iterator[LocalServer]:
    """A folder that is served while the block lasts."""
    server = LocalServer(View(Shelf(folder)).routes, failed=failed)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A folder with models to rank, hostile ones among them, and runs that are shown apart."""
    folder = tmp_path_factory.mktemp("view") / "runs"
    lies = {"lab/low": 0.1, "lab/high": 0.9, "lab/middle": 0.5, **dict.fromkeys(HOSTILE, 0.3)}
    for at, (name, lie) in enumerate(lies.items()):
        real(folder / f"run{at}", name, f"sim/lie={lie},evade=0.1")
    run(folder / "sim")
    real(folder / "failing", "lab/failing", "sim/fail=0.3")
    change(real(folder / "part", "lab/part", "sim"), "DELETE FROM replies WHERE archetype = 'known_facts'")
    shutil.copytree(folder / "run0", folder / "<script>alert(2)<")
    edit(folder / "<script>alert(2)<", subject="lab/odd")
    edit(real(folder / "old", "lab/old", "sim"), schema=99)
    with viewed(folder) as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one run in it."""
    real(tmp_path / "runs" / "one", "lab/one", "sim")
    return tmp_path / "runs"


def another(folder: Path, name: str) -> None:
    """A further run of another model, which comes into the folder whole."""
    place = shutil.copytree(folder / "one", folder.parent / name)
    edit(place, subject=f"lab/{name}").rename(folder / name)


@contextmanager
def opened(chromium: Chromium, server: LocalServer, path: str = "", **options: Any) -> Iterator[Tab]:
    """A tab on a page; in the end nothing was said and nothing asked for but this server."""
    with chromium.tab(server.link, quiet=False, **options) as tab:
        settle(tab)
        if path:
            tab.page.goto(f"http://127.0.0.1:{server.port}{path}")
        yield tab
        assert not tab.messages
        assert all(asked.startswith(f"http://127.0.0.1:{server.port}/") for asked in tab.requests)


def settle(tab: Tab) -> None:
    """Wait until everything is read and ranked; the page loads itself anew."""
    wait(
        tab, "document.querySelector('main').dataset.unread === '0' && !document.body.innerText.includes('worked out')"
    )


def wait(tab: Tab, condition: str, seconds: float = PATIENCE) -> None:
    """Wait until a condition in the page holds; playwright's own way to do so needs `eval`, which the page forbids."""
    ends = time.monotonic() + seconds
    while True:
        with contextlib.suppress(Error):  # the page is just being loaded anew
            if tab.page.evaluate(condition):
                return
        assert time.monotonic() < ends, condition
        tab.page.wait_for_timeout(50)


def names(tab: Tab, body: int = 0) -> list[str]:
    """The models of a table's group, in order."""
    group = tab.page.locator(".view-table").first.locator("tbody").nth(body)
    return [name.strip() for name in group.locator(".view-name a").all_text_contents()]


def head(tab: Tab, name: str) -> Any:
    """The head of a column of the first table."""
    return tab.page.locator(".view-table").first.locator("thead th", has_text=re.compile(f"^{re.escape(name)}$"))


@in_browser
def test_sorting(chromium: Chromium, server: LocalServer) -> None:
    """A click on a head sorts up, another down; each group is sorted by itself, and what has no figure comes last."""
    with opened(chromium, server) as tab:
        before, apart = names(tab), names(tab, 1)
        assert before[0] in ("lab/low", "lab/odd")
        assert before[-1] == "lab/high"
        head(tab, "P(lie)").get_by_role("button").click()
        assert head(tab, "P(lie)").get_attribute("aria-sort") == "ascending"
        assert names(tab)[-1] == "lab/high"
        head(tab, "P(lie)").get_by_role("button").click()
        assert head(tab, "P(lie)").get_attribute("aria-sort") == "descending"
        assert names(tab)[0] == "lab/high"
        assert names(tab, 1)[0] == "sim"
        assert sorted(names(tab, 1)) == sorted(apart)
        head(tab, "model").get_by_role("button").click()
        labs = [name for name in names(tab) if name.startswith("lab/")]
        assert labs == ["lab/high", "lab/low", "lab/middle", "lab/odd"]
        assert head(tab, "P(lie)").get_attribute("aria-sort") is None


@in_browser
def test_keyboard_alone(chromium: Chromium, server: LocalServer) -> None:
    """Sorting, ticking, comparing, choosing the reference and going back take no mouse."""
    with opened(chromium, server) as tab:
        tab.page.keyboard.press("Tab")
        assert tab.focused() == "To the tables"
        head(tab, "P(honest)").get_by_role("button").focus()
        tab.page.keyboard.press("Enter")
        assert head(tab, "P(honest)").get_attribute("aria-sort") == "ascending"
        for name in ("lab/middle", "lab/low"):
            tab.page.get_by_label(f"Compare {name}").focus()
            tab.page.keyboard.press("Space")
        assert "2 runs, against lab/middle" in tab.page.locator(".view-compare").inner_text()
        while tab.focused() != "Compare the ticked runs":
            tab.page.keyboard.press("Tab")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/compare?**")
        tab.page.get_by_role("link", name="run0").focus()
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**reference=*")
        assert tab.page.locator("nav b").inner_text() == "run0"
        tab.page.get_by_role("link", name="← All runs").focus()
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/?run=*")
        assert tab.page.locator("input[name=run]:checked").count() == 2


@in_browser
def test_focus_is_seen(chromium: Chromium, server: LocalServer) -> None:
    """Whatever has the focus is outlined."""
    with opened(chromium, server) as tab:
        for _ in range(25):
            tab.page.keyboard.press("Tab")
            outline = tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", tab.focused()


@in_browser
def test_ticking(chromium: Chromium, server: LocalServer) -> None:
    """The bar says what is missing, which is the reference, and takes back what is unticked."""
    with opened(chromium, server) as tab:
        bar = tab.page.locator(".view-compare")
        assert not bar.is_visible()
        tab.page.get_by_label("Compare lab/high").check()
        assert "lab/high is the reference. Tick another run." in bar.inner_text()
        assert bar.get_by_role("button").is_disabled()
        tab.page.get_by_label("Compare lab/low").check()
        tab.page.get_by_label("Compare lab/high").uncheck()
        tab.page.get_by_label("Compare lab/high").check()
        assert "2 runs, against lab/low" in bar.inner_text()
        bar.get_by_role("button").click()
        tab.page.wait_for_url("**/compare?**")
        assert "lab/high lies more than" in tab.page.locator("body").inner_text()


@in_browser
def test_search(chromium: Chromium, server: LocalServer) -> None:
    """Runs can be searched by name and folder; what is ticked stays ticked."""
    with opened(chromium, server) as tab:
        field = tab.page.get_by_label("Show only runs")
        field.fill("LAB/")
        shown = tab.page.locator(".view-table tr[data-row]:visible")
        assert shown.count() == 6
        field.fill("run1")
        assert shown.locator(".view-name a").all_inner_texts() == ["lab/high"]
        field.fill("")
        assert shown.count() == 11


@in_browser
def test_columns_can_be_left_out(chromium: Chromium, server: LocalServer) -> None:
    """A column that is not ticked is gone from head and rows, also after the page was loaded anew."""
    with opened(chromium, server) as tab:
        tab.page.get_by_text("Columns", exact=True).click()
        tab.page.get_by_role("group", name="Show these columns").get_by_label("accuracy of beliefs").uncheck()
        assert not head(tab, "accuracy of beliefs").is_visible()
        row = tab.page.locator(".view-table").first.locator("tr[data-row]").first
        assert row.locator("td:visible").count() == row.locator("td").count() - 1
        tab.page.reload()
        settle(tab)
        assert not head(tab, "accuracy of beliefs").is_visible()
        assert head(tab, "P(honest)").is_visible()


@in_browser
def test_heads_stay_in_view(chromium: Chromium, server: LocalServer) -> None:
    """However far a long table is scrolled, its heads stand on top."""
    with opened(chromium, server, size=(1280, 420)) as tab:
        frame = tab.page.locator(".scroll:has(> .view-table)").first
        tops = (
            "(frame) => frame.querySelector('thead th').getBoundingClientRect().top - frame.getBoundingClientRect().top"
        )
        assert abs(frame.evaluate(tops)) < 2
        frame.evaluate("(frame) => frame.scrollTop = 300")
        assert frame.evaluate("(frame) => frame.scrollTop") > 50
        assert abs(frame.evaluate(tops)) < 2


@in_browser
def test_a_rank_says_why_it_jumps(chromium: Chromium, server: LocalServer) -> None:
    """Beside a rank stand the models that lie significantly less; one that has moved says from where, and by whom."""
    with opened(chromium, server) as tab:
        row = tab.page.locator(".view-table tr[data-row]", has=tab.page.get_by_role("link", name="lab/high")).first
        beaten = row.locator(".view-beaten")
        many = beaten.locator("li").count()
        assert beaten.locator("summary").inner_text() == (
            f"Rank {many + 1}: {many} models lie significantly less often"
        )
        assert row.locator(".view-rank").inner_text() == str(many + 1)
        tab.page.evaluate(
            """() => {
                const ranks = JSON.parse(sessionStorage.getItem('maskbench-ranks'));
                for (const kept of Object.values(ranks)) {
                    Object.assign(kept, { rank: kept.rank > 1 ? 1 : 9, beaten: [] });
                }
                sessionStorage.setItem('maskbench-ranks', JSON.stringify(ranks));
            }"""
        )
        tab.page.reload()
        settle(tab)
        assert row.locator(".view-moved").inner_text().startswith("Rank 1 before. Now ")
        assert "lab/low" in row.locator(".view-moved").inner_text()


@in_browser
def test_report(chromium: Chromium, server: LocalServer) -> None:
    """A run opens as its report, and there is a way back."""
    with opened(chromium, server) as tab:
        tab.page.locator(".view-table").first.get_by_role("link", name="lab/high").click()
        tab.page.wait_for_url("**/run/*")
        assert "Does lab/high say what it believes?" in tab.page.locator("h1").inner_text()
        tab.page.get_by_role("link", name="← All runs").click()
        assert tab.page.locator("h1").inner_text() == "Does it say what it believes?"


@in_browser
def test_without_script(chromium: Chromium, server: LocalServer) -> None:
    """Without script the tables stand in their order, and the ticked runs are compared."""
    with opened(chromium, server):
        pass
    with chromium.tab(server.link, quiet=False, java_script_enabled=False) as tab:
        assert names(tab)[-1] == "lab/high"
        assert tab.page.locator("thead button").count() == 0
        for name in ("lab/low", "lab/high"):
            tab.page.get_by_label(f"Compare {name}").check()
        tab.page.get_by_role("button", name="Compare the ticked runs").click()
        tab.page.wait_for_url("**/compare?**")
        assert "lies more than" in tab.page.content()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
@in_browser
def test_everybody_can_read_it(chromium: Chromium, server: LocalServer, dark: bool, phone: bool) -> None:
    """No serious fault by axe-core, light and dark, on a desk and on a phone, where nothing scrolls sideways."""
    with opened(chromium, server, dark=dark, size=PHONE if phone else DESK) as tab:
        paper = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == dark
        for box in tab.page.locator("input[name=run]").all()[:2]:
            box.check()
        tab.page.locator("details").first.locator("summary").click()
        assert tab.faults() == []
        assert not phone or tab.width() <= PHONE[0]
        for path in ("/none", run_path(tab, "lab/part")):
            with chromium_page(tab, server, path):
                assert tab.faults() == []
                assert not phone or tab.width() <= PHONE[0]
        tab.messages = [line for line in tab.messages if "404 (Not Found)" not in line]  # /none


def run_path(tab: Tab, name: str) -> str:
    """Where a run's page is."""
    return str(tab.page.locator(".view-table").first.get_by_role("link", name=name).get_attribute("href"))


@contextmanager
def chromium_page(tab: Tab, server: LocalServer, path: str) -> Iterator[None]:
    """Another page in the same tab, and back."""
    tab.page.goto(f"http://127.0.0.1:{server.port}{path}")
    yield
    tab.page.go_back()


@in_browser
def test_hostile_names(chromium: Chromium, server: LocalServer) -> None:
    """Names of models and folders are text, wherever they stand: nothing runs, and nothing is turned around."""
    with opened(chromium, server) as tab:
        text = tab.page.locator("body").inner_text()
        for name in HOSTILE[:3]:
            assert name in text
        assert "evil/⟨U+202E⟩gnp.exe⟨U+200B⟩{{7*7}}</textarea></template>" in text
        assert tab.page.locator("img, main script").count() == 0
        for box in tab.page.get_by_role("checkbox", name="evil/").all():
            box.check()
        tab.page.locator(".view-table tr", has_text="onmouseover").first.hover()
        tab.page.get_by_role("button", name="Compare the ticked runs").click()
        tab.page.wait_for_url("**/compare?**")
        assert tab.page.locator("img").count() == 0


@in_browser
def test_a_run_under_way(chromium: Chromium, folder: Path) -> None:
    """A real run is seen moving, on its page and among all runs, and becomes its report without a hand."""
    path = folder / "<b>live"
    options = ("--scenarios", "starter", "--limit", 48, "--out", path, "--connections", 6, "--retries", 0)
    rules = [sometimes(0.03, fail(500))]
    with (
        serving(reply=reply_to, latency=lambda: 0.1, rules=rules) as chat,
        viewed(folder) as server,
        maskbench(*in_file(folder.parent, "run", *MODELS, *options), env=environ(chat)) as process,
    ):
        until(lambda: any(run.under_way for run in find(folder)))
        with opened(chromium, server) as tab:
            line = tab.page.locator("[data-run]")
            assert "openai-api/local/subject" in line.inner_text()
            assert tab.faults() == []
            before = int(line.locator("progress").evaluate("bar => bar.value"))
            wait(tab, f"document.querySelector('[data-run] progress').value > {before}")
            line.get_by_role("link").click()
            share = tab.page.locator("[data-live=share]")
            assert tab.page.locator("h1").inner_text() == "openai-api/local/subject"
            first = share.inner_text()
            tab.page.evaluate("window.same = true")
            wait(tab, f"document.querySelector('[data-live=share]').textContent !== '{first}'")
            wait(tab, "document.querySelector('[data-live=speed]').textContent.includes('a second')")
            wait(tab, "document.querySelectorAll('[data-failures] td').length > 0", 30)
            assert tab.page.evaluate("window.same")
            assert tab.faults() == []
            wait(tab, "!document.querySelector('[data-progress]')", 60)
            assert "Does openai-api/local/subject say what it believes?" in tab.page.locator("h1").inner_text()
            end(process)
            tab.page.get_by_role("link", name="← All runs").click()
            settle(tab)
            assert tab.page.locator("[data-run]").count() == 0
            assert "a smoke run" in tab.page.locator("body").inner_text()


@in_browser
def test_all_runs_follow(chromium: Chromium, folder: Path) -> None:
    """The page of all runs shows a new run by itself, unless its reader has begun to use it: then it says so."""
    with viewed(folder) as server, opened(chromium, server) as tab:
        another(folder, "two")
        wait(tab, "document.body.textContent.includes('lab/two')", 20)
        settle(tab)
        tab.page.get_by_label("Compare lab/one").check()
        another(folder, "three")
        tab.page.get_by_text("Runs or ranks have changed.").wait_for()
        assert tab.page.get_by_label("Compare lab/one").is_checked()
        tab.page.get_by_role("link", name="Show them").click()
        assert "lab/three" in tab.page.locator("#tables").inner_text()


@in_browser
def test_the_server_ends(chromium: Chromium, folder: Path) -> None:
    """A page whose server has ended says so."""
    with contextlib.ExitStack() as stack:
        with viewed(folder) as server:
            tab = stack.enter_context(chromium.tab(server.link, quiet=False))
            settle(tab)
        tab.page.get_by_text("The server does not answer any more.").wait_for()
