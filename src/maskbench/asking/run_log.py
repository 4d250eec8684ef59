"""run.log: what happened in a run, a line each with its time, whoever else watches."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from maskbench.asking.meter import Meter
from maskbench.errors import RunError
from maskbench.method.asks import Calls
from maskbench.plain import plain
from maskbench.store.disk import check_file, create
from maskbench.types import Ask, Failure, Model, Reply, Stage


class RunLog:
    """A Watcher that writes run.log and counts; what people see of it is left to `_show`, which shows nothing."""

    def __init__(self, log: Path, told: set[str] | None = None) -> None:
        """Logs that share `told` show a line once, whichever of them is told it; every log has it."""
        self._told = set() if told is None else told
        self._log_path = log
        self._log: logging.FileHandler | None = None
        self.meter: Meter | None = None  # of what the calls cost; a run that has one gives it
        self.waiting = ""  # how batches stand, while there are any
        self._models: list[Model] = []
        self._expected = self._settled = self._calls = self._tokens = 0
        self._failures: Counter[str] = Counter()

    @property
    def counts(self) -> tuple[int, int, int]:
        """Replies and verdicts that are settled, those that are expected, and failures."""
        return self._settled, self._expected, sum(self._failures.values())

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        """Open the log, and say what is asked for."""
        again = self._log_path.exists() and expected.replies > 0
        self._check_log()
        self._log = logging.FileHandler(self._log_path, encoding="utf-8")
        self._log.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self._models = list({id(model): model for model in models}.values())
        self._expected = expected.replies + expected.verdicts
        begin = _wanted(expected) + (" in all; what was answered before is not asked again" if again else "")
        self._note(f"begin: {begin}")
        self._begun(begin)

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """Count a call, and its tokens."""
        self._calls += 1
        if isinstance(answer, Reply):
            self._tokens += (answer.usage.input or 0) + (answer.usage.output or 0)

    def failed(self, ask: Ask, failure: Failure) -> None:
        """Count a failure, and write it to the log in full."""
        self._failures[failure.cause] += 1
        scenario = ask.scenario
        about = f"{scenario.archetype} {scenario.task_id}, elicitation {ask.elicitation}, run {ask.runs[-1]}"
        self._note(f"failure: {failure.stage} {failure.cause}: {about}: {failure.detail}")

    def settled(self, stage: Stage) -> None:
        """Count one more of the expected replies and verdicts."""
        self._settled += 1

    def tell(self, line: str) -> None:
        """Log a line, and show it once."""
        self._note(line)
        if line not in self._told:
            self._told.add(line)
            self._show(line)

    def end(self) -> None:
        """Say what endpoints did that a reader should know, and close the log."""
        for model in self._models:
            for warning in dict.fromkeys(getattr(model, "warnings", ())):
                self.tell(warning)
        money = self.meter.words if self.meter else ""
        self._note(f"end: {self._settled} of {self._expected} settled, {self._calls} calls{money and f', {money}'}")
        if self._log:
            self._log.close()

    def _begun(self, line: str) -> None:
        """What else is done at the beginning; `line` says what is asked for."""

    def _show(self, line: str) -> None:
        """Show people a line."""

    def _check_log(self) -> None:
        """The log's file, made where it is missing; raises RunError for what is none, or cannot be written."""
        try:
            create(self._log_path)
            check_file(self._log_path, follow=False)  # whoever hands a folder over could have a link in it
        except OSError as error:
            raise RunError(f"{self._log_path} cannot be written ({error.strerror}). Move it away.") from error

    def _note(self, line: str) -> None:
        if self._log:
            self._log.emit(logging.LogRecord("maskbench", logging.INFO, "", 0, plain(line), None, None))


def _wanted(expected: Calls) -> str:
    """What is asked for: replies and verdicts, or only what there is of them."""
    counts = {"replies": expected.replies, "verdicts": expected.verdicts}
    return f"{' and '.join(f'{count:,} {what}' for what, count in counts.items() if count) or 'nothing'} to ask for"
