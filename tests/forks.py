"""maskbench as processes that are forked from one which has loaded its modules: each begins in a hundredth of a second.

    ended = subprocess.run([forks.command(), "score", path], env=environ, ...)

`command()` is a program that behaves as `maskbench` on the path does: arguments, folder, environment, streams and exit
code are those of a process of its own. What a test does with the process itself (signals, kill -9, the time that
starting takes) it does with `python -m maskbench`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

# Not loaded before anything is forked: what begins threads or takes seconds, and what looks for the user's folders.
LEFT_OUT = re.compile(r"inspect|cluster|\.hub|__main__")
LIBRARIES = ("aiohttp", "jinja2", "rich.progress", "rich.table", "scipy.optimize", "scipy.stats", "uvloop")
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)]).encode()
    socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(asked)
    code = server.recv(1)
sys.exit(code[0] if code else 255)
"""


@cache
def command() -> str:
    """The path of the program; what it forks from goes on until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="forks"))
    program = folder / "bin" / "maskbench"
    program.parent.mkdir()
    program.write_text(CLIENT.format(python=sys.executable, address=str(folder / "socket")))
    program.chmod(0o755)
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads do not outlive a fork
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder / "socket")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ
    )
    atexit.register(process.communicate)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return str(program)


def path() -> str:
    """A PATH on which `maskbench` is that program, and whatever else there is as ever."""
    return os.pathsep.join((str(Path(command()).parent), str(Path(sys.executable).parent), os.environ["PATH"]))


def serve(address: str) -> None:
    """Fork for everyone who asks, until stdin ends."""
    import maskbench.cli
    from maskbench.cli import app
    from maskbench.cli.commands import call

    modules = (name for _, name, _ in pkgutil.walk_packages(maskbench.__path__, "maskbench.", onerror=print))
    for name in (*LIBRARIES, *(name for name in modules if not LEFT_OUT.search(name))):
        importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        call(app(), ["score", "--help"])
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(8)
        print("ready", flush=True)
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            asking, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                if _is_asked(asking):
                    break
                os._exit(0)
            asking.close()
            while _reaped():
                pass
        else:
            shutil.rmtree(Path(address).parent)
            return
    _ended(maskbench.cli.main)


def _ended(main: Callable[[], NoReturn]) -> NoReturn:
    """End as Python does after this, but for taking all that was loaded apart, which takes as long as loading it."""
    code = 1
    try:
        main()
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    except BaseException:
        traceback.print_exc()
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _reaped() -> bool:
    """Whether there was a child that had ended, which is remembered no more."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def _end_with(asking: socket.socket, pid: int) -> None:
    """Kill a process as soon as whoever asked for it is gone."""
    with contextlib.suppress(OSError):
        if not asking.recv(1):
            os.kill(pid, signal.SIGKILL)


def _is_asked(asking: socket.socket) -> bool:
    """In the child that is to be maskbench, true; in its parent false, when that child's exit code has been told."""
    size, streams, _, _ = socket.recv_fds(asking, 4, 3)
    text = b""
    while len(text) < int.from_bytes(size, "big"):
        text += asking.recv(1 << 16)
    if pid := os.fork():
        threading.Thread(target=_end_with, args=(asking, pid), daemon=True).start()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        asking.sendall(bytes([code % 256]))
        return False
    asking.close()
    folder, words, environ = json.loads(text)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["maskbench", *words]
    encoding = environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin, sys.stdout, sys.stderr = (
        open(place, mode, encoding=encoding, closefd=False)  # noqa: SIM115
        for place, mode in enumerate(("r", "w", "w"))
    )
    warnings.simplefilter("default")
    return True


if __name__ == "__main__":
    serve(sys.argv[1])
