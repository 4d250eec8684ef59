"""Labelling in a real browser: two raters at once and a killed server, keys alone, phone, dark, hostile texts."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page

import maskbench
from browser import DESK, PHONE, Chromium, Tab, in_browser
from flows import kill
from flows import maskbench as process
from maskbench.labels.store import LabelStore, standing
from maskbench.types import BinaryVerdict
from measured_runs import change, run

pytest_plugins = ["browser"]
HERE = {"PYTHONPATH": str(Path(maskbench.__file__).parents[1])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run to label."""
    return run(tmp_path / "run", "sim/lie=0.4,evade=0.2", judge="sim-judge/accuracy=0.86")


@contextmanager
def labelling(folder: Path, *options: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`maskbench label` as its user starts it, and the link that it prints."""
    with process("label", folder, "--no-open", "--sample", 12, *options, env=HERE) as started:
        assert started.stdout is not None
        yield started, started.stdout.readline().strip()


def wait(page: Page, condition: str, seconds: float = 20) -> None:
    """Wait until a condition in the page holds."""
    ends = time.monotonic() + seconds
    while True:
        with contextlib.suppress(Error):
            if page.evaluate(condition):
                return
        assert time.monotonic() < ends, condition
        page.wait_for_timeout(20)


def enter(page: Page, name: str) -> None:
    """Type a name and begin."""
    page.get_by_label("Your name").fill(name)
    page.keyboard.press("Enter")
    page.locator("[data-work]").wait_for()


def ready(page: Page) -> int:
    """How many replies the page says are labelled."""
    return int(page.locator("[data-count]").inner_text().split("·")[-1].split()[0])


def say(page: Page, key: str) -> None:
    """Label the reply on the screen by keys, a number by itself; wait for the next."""
    before = ready(page)
    press(page, key)
    wait(page, f"document.title.startsWith('{before + 1} of') || document.title.startsWith('Done')")


def press(page: Page, key: str) -> None:
    """Press the keys of a label."""
    if page.locator("[data-numerical]").is_visible():
        page.keyboard.type("12")
        page.keyboard.press("=")
        page.keyboard.press("Enter")
    else:
        page.keyboard.press(key)


def on_disk(folder: Path) -> dict[str, int]:
    """How many labels stand, by rater."""
    return {name: len(standing(had)) for name, had in LabelStore(folder).latest().items()}


@in_browser
def test_two_raters_and_a_killed_server(chromium: Chromium, folder: Path) -> None:
    """Two windows label at once; the server is killed and started anew; what was pressed meanwhile is kept, too."""
    with ExitStack() as stack:
        server, link = stack.enter_context(labelling(folder))
        port = link.split(":")[2].split("/")[0]
        one = stack.enter_context(chromium.tab(link, quiet=False))
        two = stack.enter_context(chromium.tab(link, quiet=False))
        enter(one.page, "Anna")
        enter(two.page, "Ben")
        for turn in range(6):
            say(one.page, "AB"[turn % 2])
            say(two.page, "CD"[turn % 2])
        assert on_disk(folder) == {"Anna": 6, "Ben": 6}
        press(one.page, "A")  # under way while the server dies
        kill(server)
        for tab in (one, two):
            if tab is two:
                press(tab.page, "D")
            wait(tab.page, "!document.querySelector('[data-unsaved]').hidden || document.title.startsWith('7')")
        assert "Not saved yet" in two.page.locator("[data-unsaved]").inner_text()
        assert ready(two.page) == 6
        _, again = stack.enter_context(labelling(folder))
        assert again.split(":")[2].split("/")[0] == port
        for tab in (one, two):
            other = tab.page.context.new_page()
            other.goto(again)  # the new link, in the same browser: the old page finds its server again
            other.close()
            wait(tab.page, "document.title.startsWith('7 of')")
            assert tab.page.locator("[data-unsaved]").is_hidden()
            say(tab.page, "B")
        assert on_disk(folder) == {"Anna": 8, "Ben": 8}


@in_browser
def test_everything_by_keys(chromium: Chromium, folder: Path) -> None:
    """From the name to the end without a mouse: letters, kinds, numbers, undo, back; reloading goes on."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        tab.page.keyboard.type("Anna")
        tab.page.keyboard.press("Enter")
        tab.page.locator("[data-work]").wait_for()
        whole = int(tab.page.locator("progress").get_attribute("max") or 0)
        for _ in range(3):
            say(tab.page, "2")
        tab.page.keyboard.press("u")
        wait(tab.page, "document.title.startsWith('2 of')")
        tab.page.reload()
        wait(tab.page, "document.title.startsWith('2 of')")
        while not tab.page.locator("[data-done]").is_visible():
            say(tab.page, "A")
        assert f"{whole} of {whole} replies are labelled" in tab.page.locator("[data-done]").inner_text()
        assert on_disk(folder) == {"Anna": whole}
        tab.page.keyboard.press("ArrowLeft")
        assert tab.page.locator("[data-work]").is_visible()
        assert tab.said == []
        assert any(
            had.verdict == BinaryVerdict("C", "hedge") for had in LabelStore(folder).latest("Anna")["Anna"].values()
        )


@in_browser
def test_a_second_window_of_one_rater(chromium: Chromium, folder: Path) -> None:
    """What one window has labelled the other cannot overwrite without having been told."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as one, chromium.tab(link, quiet=False) as two:
        for tab in (one, two):
            enter(tab.page, "Anna")
        press(one.page, "A")
        wait(one.page, "document.title.startsWith('1 of')")
        press(two.page, "B")
        wait(two.page, "!document.querySelector('[data-unsaved]').hidden")
        assert "in another window" in two.page.locator("[data-unsaved]").inner_text()
        assert on_disk(folder) == {"Anna": 1}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
@in_browser
def test_everybody_can_use_it(chromium: Chromium, folder: Path, dark: bool, phone: bool) -> None:
    """No serious fault by axe-core on the first page, on letters, numbers and the end; a phone is not too narrow."""
    options: dict[str, Any] = {"dark": dark, "size": PHONE if phone else DESK}
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False, **options) as tab:
        assert tab.faults() == []
        enter(tab.page, "Anna")
        seen = set()
        while not tab.page.locator("[data-done]").is_visible():
            numbers = tab.page.locator("[data-numerical]").is_visible()
            if numbers not in seen:
                seen.add(numbers)
                check(tab, phone)
            say(tab.page, "A")
        assert seen == {True, False}
        check(tab, phone)
        assert tab.said == []


def check(tab: Tab, phone: bool) -> None:
    """No serious fault, and nothing scrolls sideways."""
    assert tab.faults() == []
    assert not phone or tab.width() <= PHONE[0]


@in_browser
def test_hostile_replies(chromium: Chromium, folder: Path) -> None:
    """A reply is text, whatever is in it."""
    change(
        folder, "UPDATE replies SET text = '<img src=x onerror=alert(1)></p><script>alert(2)</script>' || char(8238)"
    )
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        enter(tab.page, "Anna")
        assert (
            "<img src=x onerror=alert(1)></p><script>alert(2)</script>⟨U+202E⟩"
            in tab.page.locator("[data-reply]").inner_text()
        )
        assert tab.page.locator("main img, main script").count() == 0
        assert tab.said == []
