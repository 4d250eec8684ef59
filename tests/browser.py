"""A real headless Chromium for tests of pages, as the fixture `chromium`.

    @in_browser
    def test_something(chromium: Chromium, page: Path) -> None:
        with chromium.tab(page, dark=True) as tab:
            tab.page.get_by_role("button").click()

The browser and every test that uses it run in a thread of their own, for playwright leaves an event loop running in
its thread, which `asyncio.run` in other tests would trip over. A tab fails its test where the page said anything to
the console, raised an error, broke its content security policy, or asked for anything but itself.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from patience import PATIENCE

if TYPE_CHECKING:  # without these packages the tests that need no browser run all the same
    from playwright.sync_api import Browser, Dialog, Page, Playwright, Request

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PHONE = (390, 844)
DESK = (1280, 900)

T = TypeVar("T")


@dataclass
class Tab:
    """One open page, and all that it said and asked for."""

    page: Page
    messages: list[str] = field(default_factory=list)  # console messages, errors, violations of the policy
    requests: list[str] = field(default_factory=list)  # every address, its own first

    def faults(self, within: str = "html") -> list[str]:
        """What axe-core finds in a part of the page that is serious or critical, with the elements it is about."""
        from axe_playwright_python.sync_playwright import Axe

        place, options = {"include": [[within]]}, {"resultTypes": ["violations"]}
        violations = Axe().run(self.page, context=place, options=options).response["violations"]
        return [
            f"{fault['id']}: {fault['help']}: {[node['html'][:200] for node in fault['nodes'][:4]]}"
            for fault in violations
            if fault["impact"] in ("serious", "critical")
        ]

    def width(self) -> int:
        """How wide the page is, in CSS pixels: wider than its window, it scrolls sideways."""
        return int(self.page.evaluate("document.scrollingElement.scrollWidth"))


class Chromium:
    """The one browser of a session, in its thread."""

    def __init__(self, executable: str) -> None:
        self._thread = ThreadPoolExecutor(1, "browser")
        self._playwright, self._browser = self.do(lambda: _launch(executable))
        self._kept: list[Tab] = []

    def do(self, work: Callable[[], T]) -> T:
        """Do something in the browser's thread."""
        return self._thread.submit(work).result()

    def close(self) -> None:
        """Close the browser and its thread."""
        self.do(self._browser.close)
        self.do(self._playwright.stop)
        self._thread.shutdown()

    @contextmanager
    def tab(
        self,
        page: Path | str,
        *,
        size: tuple[int, int] = DESK,
        dark: bool = False,
        address: str = "",
        quiet: bool = True,
        **options: Any,
    ) -> Iterator[Tab]:
        """A page (a file, or an address) in a profile of its own, `address` being its `#...` part.

        In the end it must have been silent and alone, unless `quiet` is false; `options` are those of playwright's
        new_context. Without any the profile is an emptied one: a new one takes longer to start than most tests to run.
        """
        place = page.absolute().as_uri() if isinstance(page, Path) else page
        with self._fresh(**options) if options else self._emptied() as tab:
            tab.page.set_viewport_size({"width": size[0], "height": size[1]})
            tab.page.emulate_media(media="null", color_scheme="dark" if dark else "light")
            tab.page.goto(place + address)
            yield tab
            if quiet:
                assert not tab.messages, "the page said something"
                assert [asked.partition("#")[0] for asked in tab.requests] == [place], "the page asked for something"

    @contextmanager
    def _fresh(self, **options: Any) -> Iterator[Tab]:
        with self._browser.new_context(**options) as context:
            yield _listened(context.new_page())

    @contextmanager
    def _emptied(self) -> Iterator[Tab]:
        tab = self._kept.pop() if self._kept else _listened(self._browser.new_context().new_page())
        yield tab  # where the test fails, nobody has this tab after it
        tab.page.goto("about:blank")
        tab.page.context.clear_cookies()
        tab.messages.clear()
        tab.requests.clear()
        self._kept.append(tab)


def _launch(executable: str) -> tuple[Playwright, Browser]:
    from playwright.sync_api import sync_playwright

    playwright = sync_playwright().start()
    return playwright, playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])


def _listened(page: Page) -> Tab:
    tab = Tab(page)
    page.set_default_timeout(PATIENCE * 1000)

    def dismiss(dialog: Dialog) -> None:
        tab.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def asked(request: Request) -> None:
        if not request.url.startswith("blob:"):  # what the page has made itself
            tab.requests.append(request.url)

    tab.page.on("console", lambda message: tab.messages.append(f"{message.type}: {message.text}"))
    tab.page.on("pageerror", lambda error: tab.messages.append(f"error: {error}"))
    tab.page.on("dialog", dismiss)
    tab.page.on("request", asked)
    tab.page.on("popup", lambda popup: tab.messages.append(f"window: {popup.url}"))
    return tab


def in_browser(test: Callable[..., None]) -> Callable[..., None]:
    """A test whose body runs in the browser's thread; its fixtures, `chromium` among them, do not."""

    @functools.wraps(test)
    def in_thread(**fixtures: Any) -> None:
        fixtures["chromium"].do(lambda: test(**fixtures))

    return in_thread


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser; without one on PATH the test is skipped, and says so."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on PATH")
    browser = Chromium(executable)
    yield browser
    browser.close()
