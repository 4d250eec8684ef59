"""How much memory and time the commands take on runs of 1,000 to 100,000 scenarios.

`python benchmarks/memory.py` prints the table of docs/project/performance.md, section "Memory of what reads a run": it
measures two simulated models on the same generated scenarios (benchmarks/scenarios.py), and then scores, compares,
reports and serves these runs. Each command is a process of its own, whose largest resident size the kernel counts. The
kernel begins to count at the size that this process has, so nothing large may be loaded or read here.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

SUBJECTS = ("sim/lie=0.4,evade=0.2,fail=0.001", "sim/lie=0.2,evade=0.2,fail=0.001")
SCENARIOS = Path(__file__).parent / "scenarios.py"
PATIENCE = 3_600  # seconds that the server has to make a page
CHUNK = 1_000_000  # bytes of a page that are read at a time: the whole would count as this process's


def ended(process: subprocess.Popen[bytes], began: float) -> str:
    """MB and seconds of a process, once it has come to its end; stops the benchmark where it failed."""
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{process.args!r} ended with {process.returncode}.")
    return f"{usage.ru_maxrss * (1 if sys.platform == 'darwin' else 1024) / 1e6:.0f} MB, {seconds:.0f} s"


def measured(*arguments: str | Path) -> str:
    """MB and seconds of one command."""
    began = time.monotonic()
    return ended(subprocess.Popen(command(arguments), stdout=subprocess.DEVNULL), began)


def command(arguments: Sequence[str | Path]) -> list[str]:
    """A command of maskbench as the shell is given it."""
    return [sys.executable, "-m", "maskbench", *map(str, arguments)]


def viewed(folder: Path, *options: str) -> str:
    """MB of the server once it has shown the board and the page of each run, and the seconds until it had."""
    began = time.monotonic()
    server = subprocess.Popen(command(("view", folder, "--no-open", *options)), stdout=subprocess.PIPE)
    assert server.stdout is not None
    link = next(match[0] for line in server.stdout if (match := re.search(rb"http://\S+", line)))
    address = urlsplit(link.decode())
    cookie, _ = asked(address.port, f"/?{address.query}", "")
    while 'data-unread="0"' not in (board := asked(address.port, "/", cookie)[1]):  # runs are scored one by one
        time.sleep(1)
    for run in sorted(set(re.findall(r"/run/\w+", board))):
        asked(address.port, run, cookie)
    server.send_signal(signal.SIGINT)
    return ended(server, began)


def asked(port: int | None, path: str, cookie: str) -> tuple[str, str]:
    """The cookie that an answer sets, and its beginning; the rest is read and let go."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", path, headers={"Cookie": cookie})
    response = connection.getresponse()
    if response.status not in (200, 303):
        sys.exit(f"{path} was answered with {response.status}.")
    beginning = response.read(CHUNK).decode(errors="replace")
    while response.read(CHUNK):
        pass
    connection.close()
    return (response.getheader("Set-Cookie") or "").partition(";")[0], beginning


def figures(place: Path, count: int) -> Iterator[tuple[str, str]]:
    """Each command on runs of so many scenarios, with what it took."""
    rows, page = place / "scenarios", place / "page.html"
    first, other = place / "runs" / "first", place / "runs" / "other"
    subprocess.run([sys.executable, SCENARIOS, rows, "--count", str(count)], check=True, stdout=subprocess.DEVNULL)
    took = [
        measured("run", subject, "--judge", "sim-judge", "--scenarios", rows, "--out", run, "--quiet")
        for subject, run in zip(SUBJECTS, (first, other), strict=True)
    ]
    yield "`run`", took[0]
    yield "`score`", measured("score", first)
    yield "`compare` of two runs", measured("compare", first, other)
    yield "`report`", measured("report", first, "--out", page)
    yield "`report --include-text`", measured("report", first, "--out", page, "--include-text")
    yield "`view`, the board and the pages of two runs", viewed(place / "runs")
    yield "`view --include-text`, the same", viewed(place / "runs", "--include-text")


def table(columns: dict[int, dict[str, str]]) -> Iterator[str]:
    """The lines of the table: a row a command, a column a number of scenarios."""
    counts = sorted(columns)
    yield f"| command | {' | '.join(f'{count:,}' for count in counts)} |"
    yield f"|---|{'---:|' * len(counts)}"
    for name in columns[counts[0]]:
        yield f"| {name} | {' | '.join(columns[count][name] for count in counts)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scenarios", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    counts = parser.parse_args().scenarios
    columns = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            columns[count] = dict(figures(Path(folder), count))
    print("\n".join(table(columns)))


if __name__ == "__main__":
    main()
