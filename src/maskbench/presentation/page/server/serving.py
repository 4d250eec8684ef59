"""A small server for the one who started it: on 127.0.0.1 only, behind a link with a random token.

Other programs and other web pages on the same machine can send requests to such a server, so it answers only those
that the browser of the link's holder sends from the server's own pages. The link sets a cookie and leads on to an
address without the token. Refused are: what comes without the cookie, other Hosts (DNS rebinding), other Origins,
requests that another site caused (Fetch Metadata), and methods that the pages do not use.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from maskbench.errors import UsageError

if TYPE_CHECKING:
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from maskbench.presentation.page.shell import Document

ADDRESS = "127.0.0.1"
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
LARGEST_BODY = 1_000_000  # bytes that a page may send at once
GRACE_SECONDS = 1  # for answers under way when the server is told to end
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

_T = TypeVar("_T")


class LocalServer:
    """These routes behind a token on a port of 127.0.0.1; listens from the beginning, answers while `run` runs."""

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        port: int = 0,
        *,
        writes: bool = False,
        failed: Callable[[Request, Exception], Response] | None = None,
    ) -> None:
        """`port` 0 takes a free one; `writes` lets the server's own pages POST; `failed` answers where a route raises.

        Raises UsageError where the port cannot be had.
        """
        from starlette.applications import Starlette
        from uvicorn import Config, Server

        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        app = Starlette(routes=routes, exception_handlers={Exception: failed} if failed else None)
        self._guard = Guard(app, self.port, ("GET", "HEAD", "POST") if writes else ("GET", "HEAD"))
        # No access log: it would hold the token. h11 is the parser that refuses two Host headers.
        config = Config(
            self._guard,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        self._server = Server(config)

    @property
    def link(self) -> str:
        """The address with its token: whoever has it may read everything that is served."""
        return f"http://{ADDRESS}:{self.port}/?token={self._guard.token}"

    @property
    def link_once(self) -> str:
        """An address that opens once, for a browser's command line, which other users of the machine can see."""
        return f"http://{ADDRESS}:{self.port}/?token={self._guard.token_once()}"

    def run(self) -> None:
        """Answer until Ctrl-C (which ends it like anything else that is done), or until `stop` is called."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass  # uvicorn has closed everything, then raises what it was told again
        finally:
            self._socket.close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True


def serve(server: LocalServer, announce: Callable[[str], None], *, opens: bool) -> None:
    """Say where the server is, show it in a browser where wanted, and answer until Ctrl-C."""
    announce(server.link)
    if opens:
        Thread(target=webbrowser.open, args=(server.link_once,), daemon=True).start()
    server.run()


def page(document: Document, status: int = 200) -> Response:
    """A page as a response, under its own content security policy."""
    from starlette.responses import HTMLResponse

    body = b"".join(part.encode() for part in document.parts)
    return HTMLResponse(body, status, {"Content-Security-Policy": document.policy})


async def aside(work: Callable[[], _T]) -> _T:
    """Do this in a thread of its own, so that others are answered meanwhile; Ctrl-C does not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(settle: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if done.done() else settle())

    def do() -> None:
        try:
            outcome = work()
        except Exception as error:
            raised = error
            tell(lambda: done.set_exception(raised))
        else:
            tell(lambda: done.set_result(outcome))

    Thread(target=do, daemon=True).start()
    return await done


class Guard:
    """ASGI: lets through what the link's holder asks for from the server's own pages, and hardens every answer."""

    def __init__(self, app: ASGIApp, port: int, methods: Sequence[str]) -> None:
        self.token = secrets.token_urlsafe(32)
        self._once: set[str] = set()
        self._app = app
        self._methods = methods
        self._cookie = f"maskbench-{port}"  # browsers keep cookies by host, whatever the port
        self._session = secrets.token_urlsafe(32)
        self._hosts = {f"{name}:{port}" for name in (ADDRESS, "localhost")}

    def token_once(self) -> str:
        """A further token, which is good for one request."""
        token = secrets.token_urlsafe(32)
        self._once.add(token)
        return token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        from starlette.datastructures import MutableHeaders
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                _harden(MutableHeaders(scope=message))
            await send(message)

        request = Request(scope)
        answer: ASGIApp = self._app
        if refused := self._refused(request):
            answer = PlainTextResponse(refused[1] + "\n", refused[0])
        elif request.url.path == "/" and "token" in request.query_params:
            answer = self._enter(request.query_params["token"])
        elif not self._known(request):
            answer = _closed()
        try:
            await answer(scope, receive, hardened)
        except asyncio.CancelledError:  # the server was told to end, and this took too long
            await PlainTextResponse("The server has ended.\n", 503)(scope, receive, hardened)

    def _refused(self, request: Request) -> tuple[int, str] | None:
        """Why this request is not looked at, whoever sends it."""
        headers = request.headers
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "Refused: this server answers to its own address only."
        if request.method not in self._methods:
            return 405, "Refused: these pages do not use that method."
        if any(origin != f"http://{hosts[0]}" for origin in headers.getlist("origin")):
            return 403, "Refused: the request comes from another site."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "Refused: another site led here. Paste the link into the address bar."
        if request.method == "POST":
            return _refused_body(headers)
        return None

    def _enter(self, token: str) -> Response:
        """Set the cookie and lead on to an address without the token, if it is the right one."""
        from starlette.responses import RedirectResponse

        right = [known for known in (self.token, *self._once) if _same(token, known)]
        if not right:
            return _closed()
        self._once.difference_update(right)
        response = RedirectResponse("/", 303)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return response

    def _known(self, request: Request) -> bool:
        return _same(request.cookies.get(self._cookie, ""), self._session)


def _refused_body(headers: Headers) -> tuple[int, str] | None:
    length = headers.get("content-length", "")
    if "origin" not in headers:
        return 403, "Refused: it is not said from where this is sent."
    if not length.isdecimal() or "transfer-encoding" in headers:
        return 411, "Refused: it is not said how much is sent."
    if int(length[:20]) > LARGEST_BODY:
        return 413, "Refused: too much is sent at once."
    return None


def _closed() -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("Closed. Open the link that maskbench printed: it holds the token to this page.\n", 403)


def _same(given: str, right: str) -> bool:
    return secrets.compare_digest(given.encode(), right.encode())


def _harden(headers: MutableHeaders) -> None:
    """Put our headers in; an answer without a content security policy may load nothing."""
    headers.update(HEADERS)
    headers.setdefault("Content-Security-Policy", NOTHING)


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((ADDRESS, port))
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be had ({error})"
        raise UsageError(f"--port {port} {why}. Give another, or leave it out for a free one.") from error
