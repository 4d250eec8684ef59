"""A small chat server as a program, for runs that start their own: it answers, and breaks in the ways that it is told.

`python own_chat_server.py --port N [--models A,B] [--says TEXT] [--loading S] [--die-at N] [--once FILE]
[--child FILE]`. It answers for any model, or for those of `--models` alone. It is not there for the first S seconds; at
its N-th answer it ends, once where the FILE of `--once` is missing, which it then writes. `--child` starts a process of
its own, and writes its own number and the child's into the file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main() -> None:
    """Serve until somebody ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host")
    parser.add_argument("--models", default="")
    parser.add_argument("--says", default="I am {}.")
    parser.add_argument("--loading", type=float, default=0.0)
    parser.add_argument("--die-at", type=int, default=0)
    parser.add_argument("--once", type=Path)
    parser.add_argument("--child", type=Path)
    given = parser.parse_args()
    print("starting", os.environ.get("SERVED_BY", ""), *(os.environ.get(name, "-") for name in ("A_KEY", "HF_TOKEN")))
    print("\x1b[31mred\x1b[0m", flush=True)
    if given.child:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        given.child.write_text(f"{os.getpid()} {child.pid}")
    time.sleep(given.loading)
    Server(given).serve_forever()


class Server(ThreadingHTTPServer):
    """The server with what it was told."""

    daemon_threads = True

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.answered = 0
        self.lock = threading.Lock()
        self.names = [*filter(None, given.models.split(","))]
        super().__init__(("127.0.0.1", given.port), Handler)

    def breaks(self, at: int) -> bool:
        """Whether this is the answer at which it breaks."""
        if not at or self.answered != at or (self.given.once and self.given.once.exists()):
            return False
        if self.given.once:
            self.given.once.write_text("")
        return True


class Handler(BaseHTTPRequestHandler):
    """What it answers."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Say that it is well, its version, or its models."""
        pages = {
            "/health": {},
            "/version": {"version": os.environ.get(os.environ.get("VERSION_OF", ""), "1.2.3")},
            "/v1/models": {"data": [{"id": name} for name in self.server.names]},
        }
        self._send(200 if self.path in pages else 404, pages.get(self.path, {}))

    def do_POST(self) -> None:
        """Answer with the model's name, or break."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.names and body["model"] not in self.server.names:
            return self._send(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        with self.server.lock:
            self.server.answered += 1
            if self.server.breaks(self.server.given.die_at):
                print("out of memory", flush=True)
                os._exit(3)
        codes = re.findall(r"(?:Verdict|Bounds) ([0-9a-f]{16})", json.dumps(body["messages"]))
        says = self.server.given.says.replace("{{code}}", codes[-1] if codes else "").replace("{}", body["model"])
        message = {"role": "assistant", "content": says}
        choices = [{"index": n, "message": message, "finish_reason": "stop"} for n in range(body.get("n", 1))]
        usage = {"prompt_tokens": 7, "completion_tokens": 5}
        return self._send(200, {"model": body["model"], "choices": choices, "usage": usage})

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""

    def _send(self, status: int, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    main()
