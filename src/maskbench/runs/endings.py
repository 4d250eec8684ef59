"""How the last session of a measurement ended, from its record, in words that a reader can act on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from maskbench.runs.run_json import Ended, Session
from maskbench.types import Json

_SHOWN = 250  # characters of a reason: the command that goes on stands after it


def last_end(sessions: Sequence[Session], go_on: str, *, under_way: bool) -> Json | None:
    """How the last session ended: when, how, why, and the command that goes on; None where nobody can know.

    `how` is finished, stopped, failed, killed (no end was recorded), or under way.
    """
    if not sessions or sessions[-1].ended is UNSET:  # of a version that did not record it
        return None
    match sessions[-1].ended:
        case Ended(at, how, why):
            return {"started": sessions[-1].started, "at": at, "how": how, "why": why, "go_on": go_on}
    how = "under way" if under_way else "killed"
    return {"started": sessions[-1].started, "at": None, "how": how, "why": None, "go_on": go_on}


def ended_said(ended: Json | None) -> str | None:
    """How a session ended, as a sentence; None for a session that came to its end, or of which nothing is known."""
    match ended:
        case None | {"how": "finished"}:
            return None
        case {"how": "under way"}:
            return "It is being measured now."
        case {"how": "killed", "started": started}:
            return f"Its last session, begun {started}, has no end: the process was killed, or the machine failed."
        case {"at": at, "why": why}:
            return f"Its last session ended {at}: {why if len(why) <= _SHOWN else why[:_SHOWN] + '…'}"
    raise ValueError(f"No session ends like this: {ended!r}.")
