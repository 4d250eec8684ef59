"""The live board of a sweep: a row a run on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from maskbench.plain import plain, shortened
from maskbench.presentation.format import percent
from maskbench.runs.folder import RunFolder
from maskbench.runs.run_log import RunLog
from maskbench.sweeps.sweep_plan import Task
from maskbench.sweeps.sweeping import Swept
from maskbench.types import Stage

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

LINE_SECONDS = 10.0
_NAME, _WHY = 44, 60  # characters
_ORDER = {state: place for place, state in enumerate(("running", "failed", "held", "stopped", "waiting"))}


class RunShown(RunLog):
    """The log of one run, which the board reads from."""

    def __init__(self, board: SweepBoard, name: str, task: Task) -> None:
        super().__init__(RunFolder(task.folder).log, board.told)
        self._board, self._name = board, name

    def settled(self, stage: Stage) -> None:
        """Count one more, and let the board print a line now and then."""
        super().settled(stage)
        self._board.moved()

    def _show(self, line: str) -> None:
        self._board.tell(f"{self._name}: {line}")

    def done(self) -> tuple[int, int, int, str]:
        """Replies and verdicts that are settled, those that are expected, failures, and money."""
        money = self.meter.words if self.meter else ""
        return self._settled, self._expected, sum(self._failures.values()), money


class SweepBoard:
    """A `Board` that shows every run's state, progress, failures and money, and P(lie) once the run is done."""

    def __init__(self, console: Console, line_seconds: float = LINE_SECONDS) -> None:
        """`line_seconds` is the time between plain lines, where `console` is no terminal."""
        self.told: set[str] = set()
        self.swept: dict[str, Swept] = {}
        self._logs: dict[str, RunShown] = {}
        self._console = console
        self._line_seconds = line_seconds
        self._next = time.monotonic() + line_seconds
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> SweepBoard:
        """Open the display."""
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            from rich.live import Live

            self._live = Live(get_renderable=self._draw, console=self._console)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it after a last look."""
        if self._live:
            self._live.stop()

    def watcher(self, task: Task) -> RunShown:
        """The log of one run."""
        self._logs[task.name] = log = RunShown(self, task.name, task)
        return log

    def stands(self, swept: Swept) -> None:
        """A run has another state now; without a live display an end is a line."""
        before = self.swept.get(swept.task.name)
        self.swept[swept.task.name] = swept
        if self._live is None and swept.state not in ("waiting", "running") and (before is None or before != swept):
            self.tell(f"{swept.task.name}: {', '.join(part for part in self._row(swept)[1:] if part)}")

    def tell(self, line: str) -> None:
        """Print a line, above the board where there is one."""
        from rich.text import Text

        self._console.print(Text(plain(line)), soft_wrap=True)

    def moved(self) -> None:
        """Something was settled: without a live display print a line now and then."""
        if self._live or time.monotonic() < self._next:
            return
        with self._lock:
            if time.monotonic() >= self._next:
                self._next = time.monotonic() + self._line_seconds
                self.tell(self._in_all())

    def _in_all(self) -> str:
        states = [swept.state for swept in self.swept.values()]
        over = sum(state in ("done", "withheld") for state in states)
        counts = [log.done() for log in list(self._logs.values())]
        settled, expected = sum(count[0] for count in counts), sum(count[1] for count in counts)
        failed = sum(count[2] for count in counts)
        return (
            f"{over} of {len(states)} runs done, {states.count('running')} under way: {settled:,}/{expected:,} calls "
            f"of those begun, {failed:,} failed"
        )

    def _row(self, swept: Swept) -> tuple[str, ...]:
        """Name, state, progress, failures, money, and P(lie) or what went wrong."""
        log = self._logs.get(swept.task.name)
        settled, expected, failed, money = log.done() if log else (0, 0, 0, "")
        value = swept.summary.rates["p_lie"].value if swept.summary else None
        last = swept.why or (f"P(lie) {percent(value)}" if value is not None else "")
        return (
            shortened(plain(swept.task.name), _NAME),
            swept.state,
            f"{settled:,}/{expected:,}" if expected else "",
            f"{failed:,} failed" if failed else "",
            money,
            last if self._live is None else shortened(plain(last), _WHY),
        )

    def _draw(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = sorted(self.swept.values(), key=lambda swept: _ORDER.get(swept.state, len(_ORDER)))
        room = max(1, self._console.height - 3)
        table = Table.grid(padding=(0, 2))
        for swept in rows[:room]:
            table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in self._row(swept)))
        hidden = f"; {len(rows) - room} more rows" if len(rows) > room else ""
        return Group(table, Text(self._in_all() + hidden))
