"""How fast the explorer of a report is on a large run, and what making the report takes.

`python benchmarks/explorer.py` prints a row of the table of docs/project/performance.md: it measures a simulated model
on generated scenarios (benchmarks/scenarios.py), has `maskbench report` make the page, and times what a reader does in
a real Chromium: opening the page, choosing a filter, choosing another order, searching all texts. It needs a browser on
PATH and `pip install playwright`.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from playwright.sync_api import Page, sync_playwright

from maskbench.measurement import measure
from maskbench.settings import Settings
from scenarios import write

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SUBJECT = "sim/lie=0.4,evade=0.2,fail=0.001"
PATIENCE = 600_000  # ms
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def report(place: Path, count: int, statements: int, *, texts: bool) -> tuple[Path, float, float]:
    """A page on so many scenarios, the seconds that it took, and the most memory in MB."""
    write(place / "scenarios", count)
    settings = Settings.of(
        subject=SUBJECT,
        judge="sim-judge",
        numeric_judge="sim-judge",
        scenarios=str(place / "scenarios"),
        statements=statements,
    )
    measure(settings, place / "run", {})
    command = [sys.executable, "-m", "maskbench", "report", str(place / "run"), "--out", str(place / "page.html")]
    began = perf_counter()
    subprocess.run([*command, *["--include-text"] * texts], check=True, capture_output=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return place / "page.html", perf_counter() - began, peak / (2**20 if sys.platform == "darwin" else 2**10)


def times(file: Path) -> Iterator[float]:
    """Seconds until the list is there, until a filter, an order and a search have changed it."""
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        began = perf_counter()
        page.goto(file.absolute().as_uri())
        page.get_by_role("list", name="Scenarios").get_by_role("link").first.wait_for()
        yield perf_counter() - began
        page.wait_for_timeout(3_000)  # the texts are unpacked meanwhile
        lies = page.get_by_role("group", name="Outcome", exact=True).get_by_role("checkbox").first
        yield _until_listed(page, lambda: lies.set_checked(checked=True, force=True))
        yield _until_listed(page, lambda: page.get_by_label("Order").select_option("length"))
        yield _until_listed(page, lambda: page.get_by_role("searchbox").fill("census number 12"))
        browser.close()


def _until_listed(page: Page, act: Callable[[], object]) -> float:
    """Seconds until the first row is another one and drawn."""
    rows = page.locator(".explorer-list li")
    page.evaluate("document.querySelector('.explorer-list li').dataset.old = 'yes'")
    began = perf_counter()
    act()
    page.locator(".explorer-list li:not([data-old])").first.wait_for()
    while rows.first.get_attribute("data-old"):
        page.wait_for_timeout(5)
    page.evaluate(DRAWN)
    return perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scenarios", type=int, default=10_000)
    parser.add_argument("--statements", type=int, default=10, help="a scenario")
    parser.add_argument(
        "--no-text", action="store_true", help="leave the texts out, as for a set with a licence of its own"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, seconds, peak = report(Path(folder), asked.scenarios, asked.statements, texts=not asked.no_text)
        size = page.stat().st_size / 1e6
        shown = " | ".join(f"{value:.2f}" for value in times(page))
    texts = "no" if asked.no_text else "yes"
    print(f"| {asked.scenarios:,} × {asked.statements} | {texts} | {seconds:.0f} | {peak:.0f} | {size:.1f} | {shown} |")


if __name__ == "__main__":
    main()
