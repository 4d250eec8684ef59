"""A server of chat completions that this process has started: waited for, known by its port, ended with its group.

What the system knows of processes Linux has in /proc; elsewhere `ps` and `lsof` say it.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from maskbench.errors import Interrupted, ModelError, ServerDied
from maskbench.models.chat.masking import mask_of
from maskbench.models.chat.services import base_variable
from maskbench.models.serve.serve_command import HOST, ServeCommand, commands
from maskbench.plain import plain
from maskbench.settings import Settings
from maskbench.types import Stage

PATIENCE = 3600.0  # seconds: a large model is read from a slow disk
GRACE = 4.0  # seconds from SIGTERM to SIGKILL
_LOOK = 0.2  # seconds between two looks whether it answers
_REPORT = (10.0, 30.0)  # seconds after which it is told what is waited for, then every minute
_TAIL = 12  # last lines of a server that died
_NOWHERE = f"http://{HOST}:9/v1"  # the address of a server that is not started yet
_KEPT = frozenset(("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"))
_SECRET_ENDS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_PASS", "_PAT", "_CREDENTIALS", "_ACCESS_KEY_ID")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on this machine
_VERSIONS = {"/version": "version", "/props": "build_info", "/server_info": "version", "/get_server_info": "version"}

Tell = Callable[[str], object]


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


class OwnServer:
    """One command that serves at one port until `stop`; `log` gets what it prints, without keys."""

    def __init__(self, command: ServeCommand, log: Path, environ: Mapping[str, str]) -> None:
        self.command, self.log = command, log
        self.port = _free_port()
        self.address = f"http://{HOST}:{self.port}/v1"
        self.version: str | None = None
        self.seconds = 0.0  # until it answered
        self._environ = {**os.environ, **environ}
        self._masked = mask_of(self._environ)
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._keep_words, name="maskbench server's log", daemon=True)

    def start(self, tell: Tell, stopped: Callable[[], bool] = lambda: False) -> None:
        """Start it and wait until it answers.

        Raises ModelError with its last lines where it ends or never answers, or another process has its port, and
        Interrupted where `stopped` says so.
        """
        started = time.monotonic()
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the command that the user gave
                self.command.at(self.port),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._for_it(),
                start_new_session=True,  # Ctrl-C of the terminal is for us alone
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            why = f"{self.command.words[0]} cannot be started ({error.strerror})."
            raise ModelError(f"{self.command.option}: {why}") from None
        about = {"pid": self._process.pid, "began": began(self._process.pid), "command": self.command.text}
        try:
            _note(self.log).write_text(json.dumps(about), encoding="utf-8")
            self._reader.start()
            self._await(tell, stopped)
        except BaseException:
            self.stop()
            raise
        self.seconds = time.monotonic() - started
        self.version = self._masked(self._version() or "") or None

    def stop(self) -> None:
        """End it with its group of processes: SIGTERM, then SIGKILL; returns once it is gone."""
        if (process := self._process) is None:
            return
        signal_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        signal_group(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # under sudo it belongs to another user
            process.wait(GRACE)
            _note(self.log).unlink(missing_ok=True)
        if self._reader.ident:
            self._reader.join(GRACE)

    @property
    def is_up(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise ServerDied, with its last lines, where its process is gone."""
        if not self.is_up:
            self._reader.join(GRACE)  # its last words may be on their way
            raise ServerDied(f"The server of {self.command.option} died.{self.last_lines()}")

    def _for_it(self) -> dict[str, str]:
        """What the server gets of the environment: no key of a service, but what the weights may need."""
        kept = {
            name: value
            for name, value in self._environ.items()
            if name.upper() in _KEPT or not name.upper().endswith(_SECRET_ENDS)
        }
        return kept | {name: value.replace("{port}", str(self.port)) for name, value in self.command.variables.items()}

    def _keep_words(self) -> None:
        """Write down what the server prints, line by line, until it has closed its output."""
        if self._process is None or self._process.stdout is None:
            return
        with self._process.stdout, self.log.open("a", encoding="utf-8") as log:
            for line in self._process.stdout:
                with suppress(OSError):  # a full disk is no reason to hold a server up
                    log.write(self._masked(line))
                    log.flush()

    def _await(self, tell: Tell, stopped: Callable[[], bool]) -> None:
        started, reports = time.monotonic(), list(_REPORT)
        while not self._answers():
            waited = time.monotonic() - started
            if stopped():
                raise Interrupted("Stopped while the server was starting.")
            if not self.is_up:
                self._reader.join(GRACE)
                raise ModelError(f"The server of {self.command.option} ended before it answered.{self.last_lines()}")
            if waited > PATIENCE:
                raise ModelError(
                    f"The server of {self.command.option} does not answer after {waited:.0f} s.{self.last_lines()}"
                )
            if waited >= reports[0]:
                tell(f"Waiting for the server, {waited:.0f} s so far.{self.last_lines(1)}")
                reports = reports[1:] or [waited + 60.0]
            time.sleep(_LOOK)
        if self._process is not None and not owns(self._process.pid, self.port):
            raise ModelError(
                f"The server of {self.command.option} does not listen at port {self.port}: another process answers "
                "there. Start again, for another port; a server that runs in a container or for another user has to be "
                "started by yourself."
            )

    def _answers(self) -> bool:
        """Whether it says that it is well; where it has no such page, whether it lists its models."""
        status, _ = self._get("/health")
        return status == 200 or (status in (404, 405, 501) and self._get("/v1/models")[0] == 200)

    def _get(self, path: str) -> tuple[int | None, bytes]:
        try:
            with _OPENER.open(f"http://{HOST}:{self.port}{path}", timeout=5) as response:
                return response.status, response.read(1_000_000)
        except urllib.error.HTTPError as error:
            return error.code, b""
        except (OSError, ValueError):
            return None, b""

    def _version(self) -> str | None:
        """The version as the engine's own page has it, or as its program says."""
        for path, name in _VERSIONS.items():
            with suppress(ValueError, TypeError, AttributeError):
                if version := json.loads(self._get(path)[1]).get(name):
                    return plain(str(version))[:200]
        return self._program_version() if self.command.engine else None

    def _program_version(self) -> str | None:
        program, asked = self.command.words[0], "version" if self.command.engine == "transformers" else "--version"
        if Path(program).name.startswith("python"):
            return None
        try:
            ran = subprocess.run(  # noqa: S603  # the program that the user gave
                [program, asked], env=self._for_it(), capture_output=True, stdin=subprocess.DEVNULL, timeout=60
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        lines = (ran.stdout + ran.stderr).decode(errors="replace").strip().splitlines() if ran.returncode == 0 else []
        return plain(lines[-1])[:200] if lines else None

    def last_lines(self, most: int = _TAIL) -> str:
        """The last lines of its log, harmless, as the end of a sentence; nothing where there are none."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 20_000))
                text = file.read().decode(errors="replace")
        except OSError:
            return ""
        lines = [plain(line)[:300] for line in text.splitlines() if line.strip()][-most:]
        if not lines:
            return ""
        if most == 1:
            return f" It says last: {lines[0][:160]}"
        return f" Its last lines (all in {self.log}):\n" + "\n".join(f"  {line}" for line in lines) + "\n"


class Surroundings(dict[str, str]):
    """Variables as an environment has them, with the addresses of servers, and the servers by whom they serve."""

    def __init__(self, environ: Mapping[str, str], servers: Mapping[Stage, OwnServer]) -> None:
        super().__init__(
            {**environ, **{base_variable(each.command.service): each.address for each in servers.values()}}
        )
        self.servers = servers

    def check_at(self, address: str) -> Callable[[], None] | None:
        """What raises ServerDied once the server at this address is gone; None where that is another's server."""
        return next((server.check for server in self.servers.values() if server.address == address), None)


def addressed(environ: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """The environment with an address for servers that a run is still to start, so that names can be checked."""
    nowhere = {base_variable(command.service): _NOWHERE for command in commands(settings).values()}
    return {**environ, **nowhere} if nowhere else environ


def left(log: Path) -> str | None:
    """What is said of a server that wrote this log and was left when its maskbench was killed; None where none was."""
    try:
        about = json.loads(_note(log).read_text(encoding="utf-8"))
        group, since, command = int(about["pid"]), str(about["began"]), str(about["command"])
        os.killpg(group, 0)
    except (OSError, OverflowError, ValueError, TypeError, KeyError):
        return None
    if group <= 1 or began(group) not in ("", since):  # the number is another process's now
        return None
    return (
        f"A maskbench that was killed left its server running: process {group} (`{plain(command)[:300]}`). To end it: "
        f"{shlex.join(['kill', '--', f'-{group}'])}"
    )


def _note(log: Path) -> Path:
    """The file that says which process the server is, for as long as it is there."""
    return log.with_suffix(".pid")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        port: int = free.getsockname()[1]
        return port
