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
from flows import forked as forked_process
from flows import kill
from flows import maskbench as process
from maskbench.store.labels import LabelStore, current
from maskbench.types import BinaryVerdict, NumericalVerdict
from measured_runs import change, run
from patience import PATIENCE

pytestmark = pytest.mark.slow

pytest_plugins = ["browser"]
# A key sooner than 200 ms counts as pressed twice: the page's clock stands still, and moves on where a test says so.
LATER = "() => { const now = performance.now() + 210; performance.now = () => now; }"
HERE = {"PYTHONPATH": str(Path(maskbench.__file__).parents[1])}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run to label."""
    return run(tmp_path / "run", "sim/lie=0.4,evade=0.2", judge="sim-judge/accuracy=0.86")


@contextmanager
def labelling(folder: Path, *options: object, forked: bool = True) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`maskbench label` as its user starts it, and the link that it prints; the process itself, where not `forked`."""
    with (forked_process if forked else process)(
        "label", folder, "--no-open", "--sample", 8, *options, env=HERE
    ) as started:
        assert started.stdout is not None
        yield started, started.stdout.readline().strip()


def wait(page: Page, condition: str, seconds: float = PATIENCE) -> None:
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


def press(page: Page, key: str, number: str = "12") -> None:
    """Press the keys of a label."""
    if page.locator("[data-numerical]").is_visible():
        page.locator("[name=lower_bound]").fill("")
        page.keyboard.type(number)
        page.keyboard.press("=")
        page.keyboard.press("Enter")
    else:
        page.evaluate(LATER)
        page.keyboard.press(key)


def on_disk(folder: Path) -> dict[str, int]:
    """How many labels stand, by rater."""
    return {name: len(current(had)) for name, had in LabelStore(folder).latest().items()}


@in_browser
def test_two_raters_and_a_killed_server(chromium: Chromium, folder: Path) -> None:
    """Two windows label at once; the server is killed and started anew; what was pressed meanwhile is kept, too."""
    with ExitStack() as stack:
        server, link = stack.enter_context(labelling(folder, forked=False))
        port = link.split(":")[2].split("/")[0]
        anna = stack.enter_context(chromium.tab(link, quiet=False))
        two = stack.enter_context(chromium.tab(link, quiet=False))
        enter(anna.page, "Anna")
        enter(two.page, "Ben")
        for turn in range(6):
            say(anna.page, "AB"[turn % 2])
            say(two.page, "CD"[turn % 2])
        assert on_disk(folder) == {"Anna": 6, "Ben": 6}
        press(anna.page, "A")  # under way while the server dies
        kill(server)
        for tab in (anna, two):
            if tab is two:
                press(tab.page, "D")
            wait(tab.page, "!document.querySelector('[data-unsaved]').hidden || document.title.startsWith('7')")
        assert "Not saved yet" in two.page.locator("[data-unsaved]").inner_text()
        assert ready(two.page) == 6
        _, again = stack.enter_context(labelling(folder))
        assert again.split(":")[2].split("/")[0] == port
        for tab in (anna, two):
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
        assert f"All {whole} replies are labelled" in tab.page.locator("[data-done]").inner_text()
        assert on_disk(folder) == {"Anna": whole}
        tab.page.keyboard.press("ArrowLeft")
        assert tab.page.locator("[data-work]").is_visible()
        assert tab.messages == []
        assert any(
            had.verdict == BinaryVerdict("C", "hedge") for had in LabelStore(folder).latest("Anna")["Anna"].values()
        )


@in_browser
def test_taking_back(chromium: Chromium, folder: Path) -> None:
    """Undo takes back label by label, after a reload and at the end too; of a changed label the former stands again."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        enter(tab.page, "Anna")
        for _ in range(3):
            say(tab.page, "B")
        tab.page.reload()
        wait(tab.page, "document.title.startsWith('3 of')")
        for left in (2, 1):
            tab.page.keyboard.press("u")
            wait(tab.page, f"document.title.startsWith('{left} of')")
        tab.page.keyboard.press("ArrowLeft")
        (before,) = current(LabelStore(folder).latest("Anna")["Anna"]).values()
        press(tab.page, "2", "7")
        wait(tab.page, "document.querySelector('[data-live]').textContent.includes('Saved')")
        assert list(current(LabelStore(folder).latest("Anna")["Anna"]).values()) != [before]
        tab.page.keyboard.press("u")
        wait(tab.page, "document.querySelector('[data-live]').textContent.includes('stands again')")
        assert list(current(LabelStore(folder).latest("Anna")["Anna"]).values()) == [before]


@in_browser
def test_looking_around(chromium: Chromium, folder: Path) -> None:
    """Arrows pass numbers, too; past the last it is said what is left; the list shows every label and leads to it."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        enter(tab.page, "Anna")
        say(tab.page, "B")
        whole = int(tab.page.locator("progress").get_attribute("max") or 0)
        for _ in range(whole):
            tab.page.keyboard.press("ArrowRight")
        assert f"Left to label: {whole - 1} of {whole}" in tab.page.locator("[data-done]").inner_text()
        tab.page.keyboard.press("l")
        assert tab.page.locator("[data-rows] button").count() == whole
        assert tab.page.locator("[data-rows] button[data-open]").count() == whole - 1
        assert tab.faults() == []
        tab.page.locator("[data-rows] button:not([data-open])").click()
        assert tab.page.locator("[data-work]").is_visible()
        assert tab.page.locator("[data-count]").inner_text().endswith(f"1 of {whole} labelled")
        assert tab.messages == []


@in_browser
def test_a_key_pressed_twice(chromium: Chromium, folder: Path) -> None:
    """The second stroke of a key is no label of a reply that nobody has read."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        enter(tab.page, "Anna")
        while tab.page.locator("[data-numerical]").is_visible():
            tab.page.keyboard.press("ArrowRight")
        press(tab.page, "a")
        wait(tab.page, "document.title.startsWith('1 of')")
        assert tab.page.locator("[data-binary]").is_visible()
        tab.page.keyboard.press("a")
        press(tab.page, "b")
        wait(tab.page, "document.title.startsWith('2 of')")
        had = LabelStore(folder).latest("Anna")["Anna"].values()
        assert sorted(str(label.verdict) for label in had) == [str(BinaryVerdict("A")), str(BinaryVerdict("B"))]


@in_browser
def test_numbers_as_people_type_them(chromium: Chromium, folder: Path) -> None:
    """1,500 is a number and 1,5 is none; a figure is never a kind; a value to be found is shown as a gap."""
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False) as tab:
        enter(tab.page, "Anna")
        while not tab.page.locator("[data-numerical]").is_visible():
            tab.page.keyboard.press("ArrowRight")
        assert "___" in tab.page.locator("form [data-claim]").inner_text()
        tab.page.locator("[data-reply]").focus()
        tab.page.keyboard.type("1,5")
        assert "no number" in tab.page.locator("[data-reading]").inner_text()
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.type("00=")
        assert tab.page.locator("[data-reading]").inner_text() == "Reads: 1500"
        tab.page.keyboard.press("Enter")
        wait(tab.page, "document.title.startsWith('1 of')")
        (had,) = current(LabelStore(folder).latest("Anna")["Anna"]).values()
        assert had == NumericalVerdict(1500, 1500)


@in_browser
def test_long_replies_and_a_large_zoom(chromium: Chromium, folder: Path) -> None:
    """The reply has the focus and scrolls by keys, is read out, and shows beside the options at 200 %."""
    change(folder, "UPDATE replies SET text = text || replace(hex(zeroblob(3000)), '00', ' word') WHERE text != ''")
    with labelling(folder) as (_, link), chromium.tab(link, quiet=False, size=(640, 400)) as tab:
        enter(tab.page, "Anna")
        while tab.page.locator("[data-numerical]").is_visible():
            tab.page.keyboard.press("ArrowRight")
        assert tab.page.evaluate("document.activeElement === document.querySelector('[data-reply]')")
        assert tab.page.evaluate(
            "document.querySelector('[data-reply] p').getBoundingClientRect().top + 20"
            " < document.querySelector('[data-binary]').getBoundingClientRect().top"
        )
        reply = tab.page.locator("[data-reply] p").inner_text()
        assert reply[:200] in tab.page.locator("[data-live]").inner_text()
        tab.page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
        tab.page.keyboard.press("PageDown")
        wait(tab.page, "document.querySelector('[data-reply]').scrollTop > 100")


@in_browser
def test_a_second_window_of_one_rater(chromium: Chromium, folder: Path) -> None:
    """What one window has labelled the other cannot overwrite without having been told."""
    with (
        labelling(folder) as (_, link),
        chromium.tab(link, quiet=False) as first,
        chromium.tab(link, quiet=False) as two,
    ):
        for tab in (first, two):
            enter(tab.page, "Anna")
        press(first.page, "A")
        wait(first.page, "document.title.startsWith('1 of')")
        press(two.page, "B", "13")
        wait(two.page, "!document.querySelector('[data-unsaved]').hidden")
        assert "in another window" in two.page.locator("[data-unsaved]").inner_text()
        assert on_disk(folder) == {"Anna": 1}
        say(first.page, "A")
        two.page.keyboard.press("ArrowRight")
        press(two.page, "A")  # the same as in the other window
        wait(two.page, "document.title.startsWith('2 of')")
        assert on_disk(folder) == {"Anna": 2}


@pytest.mark.parametrize(("phone", "dark"), [(False, True), (True, False)])
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
        assert tab.messages == []


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
        assert tab.messages == []
