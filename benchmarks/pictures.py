"""The pictures of README and docs, made from runs that this command makes itself: docs/report.png and its like.

`python benchmarks/pictures.py` takes half a minute, a Chromium on PATH and playwright (both are there for the tests).
The first picture is of the real run in examples/, the second of pinocchio.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright

from maskbench.interop.importing import import_run
from maskbench.measurement import measure
from maskbench.presentation.page.page import render
from maskbench.settings import Settings

DOCS = Path(__file__).resolve().parents[1] / "docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MOST = 500_000  # bytes of a picture: a README is read on telephones, too


def settled(page: Page, condition: str) -> None:
    """Wait until a condition holds; playwright's own way to do so needs `eval`, which our pages forbid."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        with suppress(Error):  # the page is just being loaded anew
            if page.evaluate(condition):
                return
        page.wait_for_timeout(100)
    raise SystemExit(f"The page did not come so far in a minute: {condition}")


def shoot(browser: str, picture: Picture, address: str, place: Path) -> None:
    """Take a picture at an address, two pixels for one, in light mode."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(
            viewport={"width": picture.width, "height": 900}, color_scheme="light", device_scale_factor=2
        )
        take(page, picture, address, place)
        chromium.close()


def take(page: Page, picture: Picture, address: str, place: Path) -> None:
    """The picture itself, checked for its size."""
    page.goto(address)
    settled(page, picture.until)
    box = page.locator(picture.bottom).last.bounding_box()
    if box is None:
        raise SystemExit(f"{place.name}: there is no {picture.bottom} on the page.")
    height = box["y"] + box["height"] + 6
    page.screenshot(path=place, full_page=True, clip={"x": 0, "y": 0, "width": picture.width, "height": height})
    size = place.stat().st_size
    if size > MOST:
        raise SystemExit(f"{place} has {size:,} bytes; {MOST:,} is the most. Show less of the page.")
    print(f"{place}: {size:,} bytes")


@contextmanager
def report() -> Iterator[str]:
    """The address of the report on the real run of examples/opus-4.8, as its judge has it: without the readings."""
    page, table = Path("report.html"), Path("table")
    shutil.copytree(DOCS.parent / "examples" / "opus-4.8", table, ignore=shutil.ignore_patterns("readings.csv"))
    run = import_run(table, "opus-4.8", environ={}).path
    page.write_text(render([run]).html, encoding="utf-8")
    yield page.absolute().as_uri()


@contextmanager
def first_report() -> Iterator[str]:
    """The address of the report on a run of pinocchio."""
    judge, run, page = "rules/sandbox", Path("pinocchio"), Path("report.html")
    measure(Settings.of(subject="pinocchio", judge=judge, numeric_judge=judge, scenarios="sandbox"), run)
    page.write_text(render([run]).html, encoding="utf-8")
    yield page.absolute().as_uri()


@dataclass(frozen=True)
class Picture:
    """A page from its top to the bottom edge of the last of some elements, so many pixels wide."""

    opens: Callable[[], AbstractContextManager[str]]
    bottom: str
    width: int
    until: str = "true"  # holds in the page once it is all there


PICTURES = {
    "report": Picture(report, "#outcomes figure svg:visible", 800),
    "first_report": Picture(first_report, "#outcomes figure svg:visible", 800),
}


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=DOCS, help="folder for the pictures (default: docs/)")
    parser.add_argument("--only", choices=PICTURES, action="append", help="only this one")
    arguments = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"No browser: none of {', '.join(BROWSERS)} is on PATH. Install one, then try again.")
    out = arguments.out.absolute()
    for name in arguments.only or PICTURES:
        # In a folder of its own, since a page names the place of its runs; and runs are made before playwright starts,
        # which leaves a loop running in this thread.
        with tempfile.TemporaryDirectory() as work, chdir(work), PICTURES[name].opens() as address:
            shoot(browser, PICTURES[name], address, out / f"{name}.png")


if __name__ == "__main__":
    main()
