"""What a run shows while it runs: a live display on a terminal, plain lines elsewhere, and run.log always."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from maskbench.plain import plain
from maskbench.runs.run_log import RunLog
from maskbench.types import Stage

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

LINE_SECONDS = 10.0
WINDOW_SECONDS = 30.0  # over which speed is averaged


class Display(RunLog):
    """A Watcher that shows calls done, calls a second, failures, tokens and time left on `console`."""

    def __init__(
        self, console: Console, log: Path, line_seconds: float = LINE_SECONDS, told: set[str] | None = None
    ) -> None:
        """`line_seconds` is the time between plain lines, where `console` is no terminal; `told` is RunLog's."""
        super().__init__(log, told)
        self._console = console
        self._line_seconds = line_seconds
        self._live: Live | None = None
        self._next = 0.0
        self._began = 0.0
        self._marks: deque[tuple[float, int, int, int]] = deque()  # time, calls made, expected ones settled, drawn

    def _begun(self, line: str) -> None:
        """Open the display."""
        self._began = time.monotonic()
        self._marks.append((self._began, 0, 0, self._drawn()))
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._open_live()
        else:
            self._next = self._began + self._line_seconds
            self._show(line)

    def settled(self, stage: Stage) -> None:
        """Move on by one; without a live display print a line now and then."""
        super().settled(stage)
        if not self._calls:  # from an earlier session: no measure of speed
            self._marks = deque([(self._began, 0, self._settled, self._marks[0][3])])
        if not self._live and (now := time.monotonic()) >= self._next:
            self._next = now + self._line_seconds
            self._show(", ".join(self._state(now)))

    def end(self) -> None:
        """Close the display and the log; say what endpoints did that a reader should know."""
        if self._live:
            self._live.stop()  # after a last look at how things stand
        else:
            self._show(", ".join(self._state(time.monotonic())))
        super().end()

    def _open_live(self) -> None:
        from rich.live import Live

        # Drawn four times a second, whatever happens: a run that waits to retry must not look dead.
        self._live = Live(get_renderable=self._draw, console=self._console)
        self._live.start()

    def _draw(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._expected, completed=self._settled, width=12)
        grid.add_row(bar, Text("\n".join(self._state(time.monotonic()))))
        return grid

    def _state(self, now: float) -> tuple[str, str]:
        """How things stand, in two parts that fit a narrow terminal."""
        calls, settled, drawn = self._speed(now)
        left = (self._expected - self._settled) / settled if settled and calls else None
        failures = sum(self._failures.values())
        most = f" ({self._failures.most_common(1)[0][0]})" if failures else ""
        retried = sum(getattr(model, "retried", 0) for model in self._models)
        return (
            f"{self._settled:,}/{self._expected:,} done, {_duration(left)} left, {calls:.1f} calls/s"
            f"{f', {drawn:,.0f} tokens/s' if drawn else ''}",
            f"{failures:,} failed{most}, {retried:,} retried, {self._tokens:,} tokens, "
            f"{_duration(now - self._began)} gone",
        )

    def _drawn(self) -> int:
        """The tokens that models in this process have drawn, those of answers under way among them."""
        return sum(getattr(model, "drawn", 0) for model in self._models)

    def _speed(self, now: float) -> tuple[float, float, float]:
        """Calls made, expected ones settled and tokens drawn in this process, each a second, over the last while."""
        self._marks.append((now, self._calls, self._settled, self._drawn()))
        while len(self._marks) > 2 and self._marks[0][0] < now - WINDOW_SECONDS:
            self._marks.popleft()
        then, *before = self._marks[0]
        seconds = max(now - then, 1e-9)
        calls, settled, drawn = ((is_ - was) / seconds for is_, was in zip(self._marks[-1][1:], before, strict=True))
        return calls, settled, drawn

    def _show(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(plain(line)), soft_wrap=True)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
