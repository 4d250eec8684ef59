"""How a session ended, as the record has it and as terminal, page and boards show it, with the command that goes on."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from flows import says, verdict_a
from maskbench.errors import AccessError, ModelError, RunError
from maskbench.measurement import measure
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.of_one_run import result as blocks_of
from maskbench.presentation.page.page import render
from maskbench.presentation.sections.board import blocks as board_of
from maskbench.presentation.terminal import show
from maskbench.presentation.terminal import text as shown_text
from maskbench.results.leaderboard import boards
from maskbench.results.leaderboard_data import Page
from maskbench.results.scored import score
from maskbench.store.endings import ended_said, last_end
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, Failure, Reply
from measured_runs import edit, settings

REFUSED = "the subject: https://x.test refuses access (no credit left). Check X_API_KEY and its account."


@dataclass
class Breaking(ScriptedModel):
    """A subject that ends the run after some answers."""

    error: Exception
    asked: int = 0

    def __post_init__(self) -> None:
        super().__init__(says, "the subject")

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        self.asked += 1
        if self.asked > 10:
            raise self.error
        return await super().ask(ask)

    __hash__ = object.__hash__


def measured(path: Path, error: Exception | None = None) -> Path:
    """A run that may break off."""
    names: dict[str, Any] = {"judge": "the judge", "numeric_judge": "the judge", "scenarios": "sandbox:3"}
    subject = Breaking(error) if error else ScriptedModel(says, "the subject")
    chosen = settings("the subject", **names, sample=12, connections=1)
    measure(chosen, path, {}, models=(subject, ScriptedModel(verdict_a, "the judge")))
    return path


def shown(path: Path) -> str:
    """The result as a terminal has it, on one line."""
    console = Console(file=(text := io.StringIO()), width=2000)
    show(blocks_of(score(path).summary), console)
    return " ".join(text.getvalue().split())


def board(path: Path) -> str:
    """The leaderboard of this run alone."""
    return shown_text(list(board_of(Page(boards([score(path)]), (), None, {}))), 200)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A run whose model could not be asked any more."""
    with pytest.raises(AccessError):
        measured(tmp_path / "run", AccessError(REFUSED))
    return tmp_path / "run"


def test_a_failed_run_says_why_everywhere(broken: Path) -> None:
    """Terminal, page and board of a run that broke off name the reason and the command, and not that all went well."""
    go_on = f"maskbench run --out {broken}"
    for text in (shown(broken), board(broken).replace("\\", ""), render([broken]).html):
        assert "no credit left" in text
        assert go_on in text
    page = render([broken]).html
    assert "Nothing failed" not in page
    assert "the run did not come to its end" in page


def test_going_on_clears_it(broken: Path) -> None:
    """Once the run has come to its end nothing is said of earlier sessions."""
    measured(broken)
    assert [session["ended"]["how"] for session in RunFolder(broken).record()["sessions"]] == ["failed", "finished"]
    assert "To go on" not in shown(broken)
    assert "Nothing failed, nothing was cut." in render([broken]).html


def test_killed_without_a_word(broken: Path) -> None:
    """A session without an end was killed; while somebody is writing it is under way."""
    record = RunFolder(broken).record()
    record["sessions"][-1]["ended"] = None
    edit(broken, sessions=record["sessions"])
    assert "has no end: the process was killed, or the machine failed. If this folder is a copy" in shown(broken)
    assert "copy that, too. To go on: `maskbench run" in shown(broken)
    with RunFolder(broken).writing():
        store = RunFolder(broken).store(write=True)
        store.remember("x", 1)
        assert "It is being measured now. To" not in shown(broken)
        assert "It is being measured now." in shown(broken)
        store.close()


@pytest.mark.parametrize("error", [ModelError("It is gone."), RunError("The disk is full."), OSError("What?")])
def test_whatever_ends_it(tmp_path: Path, error: Exception) -> None:
    """Every error that can end a session has an entry."""
    with pytest.raises(type(error)):
        measured(tmp_path / "run", error)
    ended = RunFolder(tmp_path / "run").record()["sessions"][-1]["ended"]
    assert ended["how"] == "failed"
    assert str(error) in ended["why"]


def test_a_long_reason_leaves_room_for_the_command(broken: Path) -> None:
    """What a server wrote is cut before the command that goes on is."""
    record = RunFolder(broken).record()
    record["sessions"][-1]["ended"]["why"] = "\x1b[2Jx" * 2000
    (broken / "run.json").write_bytes(orjson.dumps(record))
    said = ended_said(last_end(RunFolder(broken).read().sessions, "maskbench run", under_way=False))
    assert said is not None
    assert len(said) < 350
    assert "\x1b" not in shown(broken) + board(broken) + render([broken]).html
