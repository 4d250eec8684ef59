"""What a run shows while it runs, on a terminal and elsewhere, and what it logs."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flows import environ, serving, settings, until
from maskbench.asking.progress import Display
from maskbench.measurement import measure
from maskbench.method.asks import Calls, subject_asks
from maskbench.models.scripted import ScriptedModel
from maskbench.scenarios import load
from maskbench.settings import Settings
from maskbench.types import Failure, Reply, Usage
from patience import PATIENCE

ASK = subject_asks(load("starter")[0], settings())[0]
ANSWER = Reply("Yes", usage=Usage(input=1000, output=234))
HOSTILE = "\x1b[2J\u202e\rforged line\nnext"


class Endpoint(ScriptedModel):
    """A model that tells what a chat endpoint tells."""

    def __init__(self, retried: int = 0, warnings: Sequence[str] = ()) -> None:
        super().__init__({"": "Yes"}, "openai/gpt")
        self.retried = retried
        self.warnings = warnings


def console(**options: Any) -> Console:
    """A console that keeps what it is given."""
    return Console(file=io.StringIO(), width=80, **options)


def printed(where: Console) -> str:
    """What was printed."""
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


def a_run(display: Display, models: Sequence[Endpoint] = ()) -> None:
    """Eight calls, of which two fail."""
    display.begin(Calls(replies=5, requests=3, verdicts=3), models)
    for number in range(8):
        failed = Failure("judge", "timeout", f"{HOSTILE} {number}")
        display.called("judge", failed if number in (2, 5) else ANSWER)
        if number in (2, 5):
            display.failed(ASK, failed)
        display.settled("judge")
    display.end()


def test_a_run_that_goes_on_says_that_its_totals_are_totals(tmp_path: Path) -> None:
    """What an earlier session has is not to be had again."""
    a_run(Display(console(), tmp_path / "run.log"))
    where = console(force_terminal=False)
    a_run(Display(where, tmp_path / "run.log"))
    first = "5 replies and 3 verdicts to ask for in all; what was answered before is not asked again"
    assert printed(where).splitlines()[0] == first


def test_displays_may_share_what_they_have_told(tmp_path: Path) -> None:
    """Runs of one command warn of what they have in common once; every log has it."""
    where, told = console(force_terminal=False), set[str]()
    for name in ("one", "two"):
        display = Display(where, tmp_path / name, told=told)
        display.begin(Calls(), ())
        display.tell("Caution.")
        display.end()
        assert "Caution." in (tmp_path / name).read_text()
    assert printed(where).count("Caution.") == 1


def test_plain_lines(tmp_path: Path) -> None:
    """Without a terminal there is a first line, a line now and then, and one at the end, without any escape."""
    where = console(force_terminal=False)
    a_run(Display(where, tmp_path / "run.log", line_seconds=0))
    lines = printed(where).splitlines()
    assert lines[0] == "5 replies and 3 verdicts to ask for"
    assert len(lines) == 1 + 8 + 1
    assert re.fullmatch(
        r"8/8 done, 0:00:00 left, [\d.,]+ calls/s, [\d,]+ tokens/s, 2 failed \(timeout\), 0 retried, 7,404 tokens, "
        r"0:00:00 elapsed",
        lines[-1],
    )
    assert "\x1b" not in printed(where)


@pytest.mark.parametrize(
    ("expected", "announced"),
    [
        (Calls(replies=1, verdicts=2000), "1 replies and 2,000 verdicts to ask for"),
        (Calls(verdicts=7), "7 verdicts to ask for"),
        (Calls(replies=3), "3 replies to ask for"),
        (Calls(), "nothing to ask for"),
    ],
)
def test_only_what_is_done_is_announced(expected: Calls, announced: str, tmp_path: Path) -> None:
    """Where replies are judged once more there are verdicts to ask for, and no word on replies."""
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log")
    display.begin(expected, [])
    display.end()
    assert printed(where).splitlines()[0] == announced


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that pass where a test says so."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_tokens_a_second_of_a_model_in_this_process(tmp_path: Path, clock: list[float]) -> None:
    """Tokens of answers under way count, so that a long first answer does not look like a halt."""
    model = Endpoint()
    model.drawn = 5000  # type: ignore[attr-defined]  # of an earlier run
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log", line_seconds=0)
    display.begin(Calls(1, 1, 1), [model])
    model.drawn += 400  # type: ignore[attr-defined]
    clock[0] += 0.1
    display.end()
    speed = re.search(r"0/2 done, \? left, 0.0 calls/s, ([\d,]+) tokens/s", printed(where))
    assert speed
    assert speed[1] == "4,000"


def test_lines_come_now_and_then(tmp_path: Path) -> None:
    """Between them is some time, so that a log does not fill up."""
    where = console(force_terminal=False)
    a_run(Display(where, tmp_path / "run.log"))
    assert len(printed(where).splitlines()) == 2


def test_a_live_display(tmp_path: Path) -> None:
    """On a terminal a bar and the same figures are drawn over and over, each line within the width."""
    where = console(force_terminal=True, legacy_windows=False)
    display = Display(where, tmp_path / "run.log")
    display.begin(Calls(5000, 3000, 3000), [Endpoint(retried=12)])
    display.called("subject", ANSWER)
    display.settled("subject")
    until(lambda: printed(where).count("8,000 done") >= 3)  # four drawings a second
    display.end()
    text = printed(where)
    assert text.count("8,000 done") >= 3
    assert "1/8,000 done" in text
    assert "12 retried" in text
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)
    assert max(map(len, re.split(r"[\r\n]+", shown))) <= 80


@pytest.mark.parametrize("width", [60, 160])
def test_the_bar_fills_the_width_and_names_model_and_phase(tmp_path: Path, width: int) -> None:
    """First the subject is asked, then the judge's name is there; the bar takes what is left of the line."""
    where = Console(file=io.StringIO(), width=width, force_terminal=True, legacy_windows=False)
    judge = Endpoint()
    judge.name = f"sim-judge{HOSTILE}"
    display = Display(where, tmp_path / "run.log")
    display.begin(Calls(2, 2, 2), [Endpoint(), judge])
    display.settled("subject")
    where.print(display._draw())
    display.settled("subject")
    where.print(display._draw())
    display.end()
    lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", printed(where)).splitlines()
    asking = next(line for line in lines if line.startswith("asking openai/gpt ━"))
    judging = next(line for line in lines if line.startswith("judging by sim-judge"))
    assert len(asking.rstrip()) == len(judging.rstrip()) == width
    assert asking.count("━") > width - 50


def test_tokens_a_second_of_an_endpoint(tmp_path: Path, clock: list[float]) -> None:
    """Tokens of answers that came over the network are counted by the second, what was sent is not."""
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log", line_seconds=0)
    display.begin(Calls(2, 2, 0), [Endpoint()])
    clock[0] += 2
    display.called("subject", ANSWER)
    display.settled("subject")
    display.end()
    assert ", 117 tokens/s," in printed(where)


def test_a_dumb_terminal_gets_lines(tmp_path: Path) -> None:
    """A terminal that cannot move its cursor is none for this purpose."""
    where = console(force_terminal=True, _environ={"TERM": "dumb"})
    a_run(Display(where, tmp_path / "run.log"))
    assert len(printed(where).splitlines()) == 2


def test_the_log_has_every_failure(tmp_path: Path) -> None:
    """run.log holds begin, end and each failure in full, one line each, whatever its text holds."""
    log = tmp_path / "run.log"
    a_run(Display(console(force_terminal=False), log))
    lines = log.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line) for line in lines)
    assert lines[0].endswith("begin: 5 replies and 3 verdicts to ask for")
    failure = "failure: judge timeout: known_facts starter-kf-02, elicitation 1, run 3: [2Jforged line next 2"
    assert lines[1].endswith(failure)
    assert lines[-1].endswith("end: 8 of 8 settled, 8 calls")


def test_a_session_adds_to_the_log(tmp_path: Path) -> None:
    """A run that goes on keeps what was logged before."""
    for _ in range(2):
        a_run(Display(console(force_terminal=False), tmp_path / "run.log"))
    assert (tmp_path / "run.log").read_text(encoding="utf-8").count("begin") == 2


def test_warnings_are_told_once(tmp_path: Path) -> None:
    """What an endpoint did that a reader should know is shown at the end and logged, harmless, once."""
    where = console(force_terminal=False)
    model = Endpoint(warnings=["identical samples [red]", HOSTILE, "identical samples [red]"])
    a_run(Display(where, tmp_path / "run.log"), [model, model])
    text = printed(where)
    assert text.count("identical samples [red]\n") == 1
    assert "[2Jforged line next\n" in text
    assert "identical samples [red]" in (tmp_path / "run.log").read_text(encoding="utf-8")


def test_lines_above_the_display(tmp_path: Path) -> None:
    """A line told during the run is shown and logged."""
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log")
    display.begin(Calls(1, 1, 1), [])
    display.tell("Stopping; calls in flight have 10 s.")
    display.end()
    assert "Stopping; calls in flight have 10 s.\n" in printed(where)
    assert "Stopping" in (tmp_path / "run.log").read_text(encoding="utf-8")


def test_time_left(tmp_path: Path, clock: list[float]) -> None:
    """What is left is estimated from the speed so far, and unknown before anything is done."""
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log", line_seconds=0)
    display.begin(Calls(50, 50, 50), [])
    clock[0] += 0.2
    for _ in range(10):
        display.called("subject", ANSWER)
        display.settled("subject")
    display.end()
    assert re.search(r"10/100 done, 0:00:0[12] left, 50.0 calls/s", printed(where))


def test_what_an_earlier_session_answered_is_no_measure_of_speed(tmp_path: Path, clock: list[float]) -> None:
    """A run that goes on has most of it settled at once, and the rest takes as long as ever."""
    where = console(force_terminal=False)
    display = Display(where, tmp_path / "run.log", line_seconds=0)
    display.begin(Calls(50, 50, 50), [])
    for _ in range(90):
        display.settled("subject")
    clock[0] += 0.2
    display.called("subject", ANSWER)
    display.settled("subject")
    display.end()
    assert re.search(r"91/100 done, 0:00:0[12] left", printed(where))


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    """In a real run all that was expected is settled, and every answer is counted."""
    log, where = tmp_path / "run.log", console(force_terminal=False)
    with serving() as server:
        names = dict.fromkeys(("subject", "judge", "numeric_judge"), "openai-api/local/model")
        chosen = settings(**names, scenarios="starter", sample=6)
        summary = measure(chosen, tmp_path / "run", environ(server), Display(where, log))
    used = summary.usage
    last = printed(where).splitlines()[-1]
    done, expected = re.match(r"(\d+)/(\d+) done", last).groups()  # type: ignore[union-attr]
    assert done == expected
    tokens = sum(each.input_tokens + each.output_tokens for each in (used.subject, used.judge))
    assert f"{tokens:,} tokens" in last


@pytest.mark.parametrize("terminal", [True, False])
def test_as_a_process(tmp_path: Path, terminal: bool) -> None:
    """The display goes to stderr, live if that is a terminal; stdout holds the result and nothing else."""
    command = [sys.executable, "-m", "maskbench", "run", "sim", "--limit", "12", "--out", str(tmp_path / "run")]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs if terminal else subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "TERM": "xterm"},
    )
    out, err = process.communicate(timeout=PATIENCE)
    os.close(theirs)
    shown = err.decode() if err is not None else os.read(ours, 1_000_000).decode()
    os.close(ours)
    assert process.returncode == 0
    assert ("\x1b[" in shown) == terminal
    assert "done" in shown
    assert "The run is in" in shown
    assert out.decode().startswith("sim on starter")
    assert b"\x1b" not in out
    assert b"calls/s" not in out


def test_a_measurement_from_python_shows_how_it_goes_where_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`progress=True` prints on stderr what the command line prints; without it nothing is shown."""
    options = Settings.of("sim", "sim-judge", "starter", limit=2)
    measure(options, tmp_path / "quiet", {})
    assert capsys.readouterr().err == ""
    measure(options, tmp_path / "shown", {}, progress=True)
    assert "done, 0:00:00 left" in capsys.readouterr().err
