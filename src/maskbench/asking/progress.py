"""What a run shows while it runs: a live display on a terminal, plain lines elsewhere, and run.log always."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from maskbench.asking.run_log import RunLog
from maskbench.method.asks import Calls
from maskbench.plain import plain, shortened
from maskbench.types import Failure, Model, Reply, Stage

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

LINE_SECONDS = 10.0
WINDOW_SECONDS = 30.0  # over which speed is averaged
_COLOUR = "#0072b2"  # as honesty has it in a terminal
_NAME = 36  # characters of what is being done and by whom


class Mark(NamedTuple):
    """How far a run was at a moment, or how fast it was: calls, settled ones, tokens of answers, tokens drawn here."""

    time: float
    calls: float = 0
    settled: float = 0
    written: float = 0
    drawn: float = 0


class Display(RunLog):
    """A Watcher that shows the model and phase, calls done, speed, failures, tokens and time left on `console`."""

    def __init__(
        self,
        console: Console | None,
        log: Path,
        line_seconds: float = LINE_SECONDS,
        told: set[str] | None = None,
    ) -> None:
        """Without a `console` it is stderr, or the cell of a notebook.

        `line_seconds` is the time between plain lines, where `console` is no terminal; `told` is RunLog's.
        """
        super().__init__(log, told)
        self._console = console or stderr()
        self._line_seconds = line_seconds
        self._live: Live | None = None
        self._next = self._began = 0.0
        self._replies = self._written = 0  # replies that are still missing, and tokens of answers
        self._marks: deque[Mark] = deque()

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        """Open the log and the display."""
        self._replies = expected.replies
        super().begin(expected, models)

    def _begun(self, line: str) -> None:
        self._began = time.monotonic()
        self._marks.append(Mark(self._began, drawn=self._drawn()))
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._open_live()
        else:
            self._next = self._began + self._line_seconds
            self._show(line)

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """Count a call, and the tokens that it brought."""
        super().called(stage, answer)
        self._written += (answer.usage.output or 0) if isinstance(answer, Reply) else 0

    def settled(self, stage: Stage) -> None:
        """Move on by one; without a live display print a line now and then."""
        super().settled(stage)
        self._replies -= stage == "subject"
        if not self._calls:  # from an earlier session: no measure of speed
            self._marks = deque([self._marks[0]._replace(settled=self._settled)])
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
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        done, rest = self._state(time.monotonic())
        first = Table.grid(padding=(0, 1), expand=True)
        first.add_column(no_wrap=True)
        first.add_column(ratio=1)
        first.add_column(no_wrap=True)
        bar = ProgressBar(self._expected, self._settled, complete_style=_COLOUR, finished_style=_COLOUR)
        first.add_row(Text(plain(shortened(self._phase(), _NAME))), bar, Text(done))
        return Group(first, Text(rest))

    def _phase(self) -> str:
        """Which model is waited for: the subject until its replies are there, then the judge."""
        names = [model.name for model in self._models]
        if self._replies > 0:
            return f"asking {names[0]}" if names else "asking"
        return f"judging by {names[-1]}" if names else "judging"

    def _state(self, now: float) -> tuple[str, str]:
        """How things stand, in two parts that fit a narrow terminal."""
        speed = self._speed(now)
        left = (self._expected - self._settled) / speed.settled if speed.settled and speed.calls else None
        failures = sum(self._failures.values())
        most = f" ({self._failures.most_common(1)[0][0]})" if failures else ""
        retried = sum(getattr(model, "retried", 0) for model in self._models)
        money = f"{self.meter.words}, " if self.meter and self.meter.words else ""
        return (
            f"{self._settled:,}/{self._expected:,} done, {_duration(left)} left",
            self.waiting
            or f"{speed.calls:.1f} calls/s, {speed.drawn or speed.written:,.0f} tokens/s, {failures:,} failed{most}, "
            f"{retried:,} retried, {self._tokens:,} tokens, {money}{_duration(now - self._began)} elapsed",
        )

    def _drawn(self) -> int:
        """The tokens that models in this process have drawn, those of answers under way among them."""
        return sum(getattr(model, "drawn", 0) for model in self._models)

    def _speed(self, now: float) -> Mark:
        """What was done in this process, each a second, over the last while."""
        self._marks.append(Mark(now, self._calls, self._settled, self._written, self._drawn()))
        while len(self._marks) > 2 and self._marks[0].time < now - WINDOW_SECONDS:
            self._marks.popleft()
        first, last = self._marks[0], self._marks[-1]
        seconds = max(now - first.time, 1e-9)
        return Mark(seconds, *((end - start) / seconds for start, end in zip(first[1:], last[1:], strict=True)))

    def _show(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(plain(line)), soft_wrap=True)


def stderr() -> Console:
    """Where everything but results goes: stderr, or the cell of a notebook."""
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
