"""The end of a measurement's last session, from its record, in words that a reader can act on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from maskbench.settings import Budget
from maskbench.store.record import Ended, Record, Session
from maskbench.store.source import judge_line

_SHOWN = 250  # characters of a reason: the command that goes on stands after it


class LastEnd(Struct, forbid_unknown_fields=True):
    """The end of the last session, and the command that goes on."""

    started: str
    at: str | None
    how: str
    why: str | None
    go_on: str


def limit_of(budget: Budget, option: str) -> float | None:
    """The amount that a budget allows of what this option limits."""
    return budget.max_cost if option == "--max-cost" else budget.max_tokens_total


def with_more(line: str, option: str, limit: float | None) -> str:
    """A command with twice the limit that stopped it, in the place of that limit where it has it."""
    words: list[str] = []
    for word in shlex.split(line):
        if words[-1:] == [option]:
            words.pop()  # its value stood behind it
        elif not word.startswith(f"{option}="):
            words.append(word)
    return shlex.join([*words, option, "MORE" if limit is None else f"{2 * limit:.12g}"])


def resuming(path: Path, record: Record) -> str:
    """The command that goes on with a run; with a larger limit where the run's own one stopped it last."""
    if record.settings.design.imported:
        return judge_line(path)
    line = shlex.join(["maskbench", "run", "--out", str(path)])
    ended = record.sessions[-1].ended if record.sessions else None
    why = ended.why or "" if isinstance(ended, Ended) else ""
    for option in ("--max-cost", "--max-tokens-total"):
        limit = limit_of(record.settings.budget, option)
        if limit is not None and why.startswith(f"{option} ") and "is reached" in why:
            return with_more(line, option, limit)
    return line


LEFT_BEHIND = "If this folder is a copy, its last answers were left behind in run.sqlite-wal: copy that, too."


def last_end(sessions: Sequence[Session], go_on: str, *, under_way: bool, lacked_log: bool = False) -> LastEnd | None:
    """The end of the last session: when, how, why, and the command that goes on; None where nobody can know.

    `how` is finished, stopped, failed, killed (no end was recorded), or under way. `lacked_log` says that the
    database's write-ahead log was not there when it was opened: what a killed process left there is read, or lost.
    """
    if not sessions:
        return None
    match sessions[-1].ended:
        case Ended(at, how, why):
            return LastEnd(sessions[-1].started, at, how, why, go_on)
    how, why = ("under way", None) if under_way else ("killed", LEFT_BEHIND if lacked_log else None)
    return LastEnd(sessions[-1].started, None, how, why, go_on)


def ended_said(ended: LastEnd | None) -> str | None:
    """The end of a session, as a sentence; None for a session that came to its end, or of which nothing is known."""
    match ended:
        case None | LastEnd(how="finished"):
            return None
        case LastEnd(how="under way"):
            return "It is being measured now."
        case LastEnd(how="killed", started=started, why=why):
            told = f"Its last session, begun {started}, has no end: the process was killed, or the machine failed."
            return f"{told} {why}" if why else told
        case LastEnd(at=at, why=str(why)):
            return f"Its last session ended {at}: {why if len(why) <= _SHOWN else why[:_SHOWN] + '…'}"
    raise ValueError(f"No session ends like this: {ended!r}.")
