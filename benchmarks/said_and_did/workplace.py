"""A temporary folder in which commands are really run, and what they print, made alike from run to run."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path

DISTRIBUTIONS = ("iniconfig", "packaging", "pip", "pluggy", "Pygments", "pytest")
LONGEST = 3_600  # seconds of a command
PORT = "8080"  # that a log shows in the place of the server's
ENVIRONMENT = """
LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 PAGER=cat NO_COLOR=1 PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_CONFIG_FILE=/dev/null
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_PAGER=cat GIT_AUTHOR_DATE={time} GIT_COMMITTER_DATE={time}
GIT_AUTHOR_NAME={who} GIT_COMMITTER_NAME={who} GIT_AUTHOR_EMAIL={email} GIT_COMMITTER_EMAIL={email}
PATH={tools}/bin:/usr/local/bin:/usr/bin:/bin PYTHONPATH=src:{home}/site PYTEST_ADDOPTS=-pno:cacheprovider
USER={user} HOME={home} TMPDIR={root}/tmp OUTPUTS={outputs} RATES_URL={url} ASKED={asked}
"""
START = "refs/start"  # the commit with which the agent begins


@cache
def versions() -> str:
    """The tools on whose versions the bytes of a log depend."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    tools = {"python": platform.python_version(), "git": git, "sqlite": sqlite3.sqlite_version}
    tools |= {name.lower(): distribution(name).version for name in DISTRIBUTIONS}
    return ", ".join(f"{name} {version}" for name, version in tools.items())


def make_tools(folder: Path) -> Path:
    """A virtual environment with pip and pytest, whose files are those of the one that runs this."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for name in DISTRIBUTIONS:
        found = distribution(name)
        for top in {Path(file).parts[0] for file in found.files or () if not str(file).startswith("..")}:
            if top != "__pycache__":
                (site / top).symlink_to(str(found.locate_file(top)))
    script = folder / "bin" / "pip"
    script.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m pip "$@"\n')
    script.chmod(0o755)
    return folder


class Workplace:
    """A home folder with one project in it, in which a person's commands are run at given times."""

    def __init__(self, root: Path, tools: Path, user: str, project: str, start: datetime, server: bytes | None) -> None:
        self.root, self._tools, self._user, self._time = root, tools, user, start
        self.home = root / "home" / user
        self.folder = self.home / project
        self._remote = root / "srv" / "git" / f"{project}.git"
        self.outputs = root / "outputs"  # what was printed, for queries
        self._drawings = 0
        for folder in (self.folder, self._remote, root / "tmp", self.home / "site"):
            folder.mkdir(parents=True)
        self._server = _Server(server)
        self.author = user

    def close(self) -> None:
        self._server.close()
        shutil.rmtree(self.root)

    def write(self, path: str, text: str) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def begin(self) -> None:
        """The remote, which runs the script `hook` before it takes a push, and the name of the agent's first commit."""
        self.shell(f"git init -q --bare -b main {self._remote} && git remote add origin file://{self._remote}")
        self.shell(f"git push -q -u origin main && git update-ref {START} HEAD")
        place = self._remote / "hooks" / "pre-receive"
        place.write_text('#!/bin/sh\n. "$HOME/hook"\n')
        place.chmod(0o755)

    def pass_time(self, minutes: int) -> None:
        self._time += timedelta(minutes=minutes)

    def shell(self, command: str, limited: bool = False) -> tuple[int, str]:
        """A command's exit code, and all that it prints; `limited`: it can write no file above a kilobyte."""
        done = subprocess.run(
            ["bash", "-c", f"ulimit -f 1\n{command}" if limited else command],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LONGEST,
            check=False,
        )
        return done.returncode, self._alike(done.stdout.decode("utf-8", "replace"))

    @property
    def _environment(self) -> dict[str, str]:
        people = {"who": self.author.title(), "email": f"{self.author}@example.org", "user": self._user}
        places = {"tools": self._tools, "home": self.home, "root": self.root, "outputs": self.outputs}
        server = {"url": self._server.url, "asked": self._server.asked, "time": f"{self._time:%Y-%m-%dT%H:%M:%S}+00:00"}
        return dict(pair.split("=") for pair in ENVIRONMENT.format(**people, **places, **server).split())

    @cached_property
    def _places(self) -> list[tuple[str, str]]:
        named = {str(self._tools): f"/home/{self._user}/.venv", str(self.root): ""}
        return [*named.items(), (sys.base_prefix, "/usr"), (f":{self._server.server_port}/", f":{PORT}/")]

    def _alike(self, text: str) -> str:
        """The text with the paths, port and times of another machine, drawn from the time of the log."""
        for here, there in self._places:
            text = text.replace(here, there)
        text = re.sub(r"\b0x[0-9a-f]{9,}", "0x7f3a5c1e8d90", text)
        return re.sub(r"(?<=\bin )\d+\.\d\ds", lambda _: f"0.{self._drawn(30) + 11}s", text)

    def _drawn(self, below: int) -> int:
        self._drawings += 1
        return (
            int(hashlib.sha256(f"{self._time:%Y-%m-%dT%H:%M:%S}+00:00 {self._drawings}".encode()).hexdigest(), 16)
            % below
        )


class _Answer(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.answer or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


class _Server(ThreadingHTTPServer):
    """A server on 127.0.0.1 that gives one answer to everything; without one its port is taken, and refuses."""

    def __init__(self, answer: bytes | None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer, bind_and_activate=False)
        self.answer, self.asked = answer, 0
        self.server_bind()
        self.url = f"http://127.0.0.1:{self.server_port}/rates"
        if answer is not None:
            self.server_activate()
            threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        if self.answer is not None:
            self.shutdown()
        self.server_close()
