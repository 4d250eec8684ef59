"""What the system knows of processes: when one began, who listens at a port, and how a group is told to end.

Linux has it in /proc; elsewhere `ps` and `lsof` say it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path


def began(process: int) -> str:
    """When a process began, as its system says it; nothing where it is gone."""
    if sys.platform == "linux":
        with suppress(OSError):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
        return ""
    return _printed("ps", "-o", "lstart=", "-p", str(process)).strip()


def owns(leader: int, port: int) -> bool:
    """Whether whatever listens at a port of this machine are processes of the leader's session, and nothing else."""
    if sys.platform != "linux":
        listening = [int(number) for number in _printed("lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-t").split()]
        return bool(listening) and all(_session(number) == leader for number in listening)
    rows = [line.split() for table in ("tcp", "tcp6") for line in _lines(Path("/proc/net", table))]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    held = {socket for number in numbers if _session(number) == leader for socket in _held(number)}
    return bool(sockets) and sockets <= held


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text().splitlines()[1:]
    except OSError:
        return []


def _session(process: int) -> int | None:
    try:
        return os.getsid(process)
    except OSError:
        return None


def _held(process: int) -> list[str]:
    """The files that a process of Linux holds open; none where it is gone, or another user's."""
    held = []
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                held.append(str(file.readlink()))
    return held


def _printed(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout  # noqa: S603  # words of ours
    except OSError:
        return ""


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to all processes of a group, if there are any."""
    with suppress(ProcessLookupError, PermissionError):  # macOS: PermissionError for a group of zombies
        os.killpg(group, number)
