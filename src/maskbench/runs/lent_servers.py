"""The servers of a run: started before its first call, written into its record, ended after its last one.

Runs one after the other may keep a server (`kept`). Else a server lives as long as one run asks it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

from maskbench.errors import Interrupted
from maskbench.models.serve.own_server import OwnServer, Surroundings, left
from maskbench.models.serve.serve_command import ServeCommand, commands
from maskbench.runs.disk import create, make_folder
from maskbench.runs.loop import Stopper
from maskbench.runs.pool import signals
from maskbench.runs.record import ServedBy, Session
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings
from maskbench.types import Stage

LOGS: Mapping[Stage, str] = {"subject": "serve.log", "judge": "serve-judge.log"}


class _Shelf:
    """Servers that stay for the next run, one for each part; another command takes the place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.users = 0
        self._servers: dict[Stage, OwnServer] = {}

    def take(self, stage: Stage, start: Callable[[Path], OwnServer], command: ServeCommand) -> OwnServer:
        """The server of this command: the one that is there, or a new one in place of another's."""
        before = self._servers.get(stage)
        if before and before.command == command and before.is_up:
            return before
        if before:
            before.stop()
            del self._servers[stage]
        self._servers[stage] = start(self.folder)
        return self._servers[stage]

    def clear(self) -> None:
        """End all of them."""
        for server in self._servers.values():
            server.stop()


_SHELVES: list[_Shelf] = []  # of this process: at most one
_LOCK = threading.Lock()


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Keep servers from one run to the next for as long as this is open; their logs are in `folder`.

    It holds for all threads of this process, of which one at a time may use a server for one part.
    """
    with _LOCK:
        if not _SHELVES:
            _SHELVES.append(_Shelf(folder))
        shelf = _SHELVES[0]
        shelf.users += 1
    try:
        with signals(_stopped):
            yield
    finally:
        with _LOCK, signals(_heard):
            shelf.users -= 1
            if not shelf.users:
                _SHELVES.remove(shelf)
                shelf.clear()


@contextmanager
def served(
    settings: Settings,
    environ: Mapping[str, str],
    folder: Path,
    watcher: Watcher,
    stopper: Stopper,
    stages: Sequence[Stage] = ("subject", "judge"),
) -> Iterator[Mapping[str, str]]:
    """The environment of a run with the addresses of its servers, which answer; as it is where it has none.

    Raises ModelError where a server cannot be had, Interrupted where `stopper` stops it while it starts.
    """
    tell_left(folder, watcher)
    wanted = {stage: command for stage, command in commands(settings).items() if stage in stages}
    if not wanted:
        yield environ
        return
    with ExitStack() as opened:
        servers: dict[Stage, OwnServer] = {}
        for stage, command in wanted.items():
            start = partial(_started, stage, command, environ, watcher, stopper)
            if _SHELVES:
                servers[stage] = _SHELVES[0].take(stage, start, command)
            else:
                with signals(_stopped):
                    servers[stage] = start(folder)
                opened.callback(_end, servers[stage])
        with signals(_stopped):
            yield Surroundings(environ, servers)


def tell_left(folder: Path, watcher: Watcher) -> None:
    """Tell of each server that was left running when the maskbench that wrote into this folder was killed."""
    for log in LOGS.values():
        if words := left(folder / log):
            watcher.tell(words)


def _stopped(by: str) -> NoReturn:
    """What a signal does while servers are there, wherever their run is: it ends, and they with it."""
    raise Interrupted(f"Stopped by {by}.")


def _heard(by: str) -> None:
    """What a signal does while servers are being ended: nothing more."""


def _end(server: OwnServer) -> None:
    with signals(_heard):
        server.stop()


def _started(
    stage: Stage, command: ServeCommand, environ: Mapping[str, str], watcher: Watcher, stopper: Stopper, folder: Path
) -> OwnServer:
    make_folder(folder)
    if _SHELVES:
        tell_left(folder, watcher)
    create(log := folder / LOGS[stage])
    server = OwnServer(command, log, environ)
    watcher.tell(f"Starting the server of {command.option}; it writes to {log}.")
    server.start(watcher.tell, lambda: stopper.asked > 0)
    return server


def note_servers(sessions: Sequence[Session], environ: Mapping[str, str], watcher: Watcher) -> None:
    """Put the servers that the last session asks into it, and tell what they are, and where they were others before."""
    if not isinstance(environ, Surroundings):
        return
    *before, session = sessions
    session.servers = [_about(stage, server) for stage, server in environ.servers.items()]
    known = {about.stage: about for earlier in before for about in earlier.servers or ()}
    for about in session.servers:
        watcher.tell(f"Served by {_shown(about)}.")
        was = known.get(about.stage)
        if was and (was.command, was.version) != (about.command, about.version):
            watcher.tell(f"Beware: it was served by {_shown(was)} before. Is it the same model?")


def _about(stage: Stage, server: OwnServer) -> ServedBy:
    return ServedBy(
        stage=stage,
        command=server.command.text,
        engine=server.command.engine,
        version=server.version,
        seconds=round(server.seconds, 1),
    )


def _shown(about: ServedBy) -> str:
    engine = " ".join(filter(None, (about.engine, about.version)))
    return f"`{about.command}`{engine and f' ({engine})'}"
