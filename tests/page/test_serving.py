"""The local server: who gets in, who does not, and what every answer carries."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from maskbench.presentation.page.server.serving import ADDRESS, HEADERS, NOTHING, LocalServer, aside, page, serve
from maskbench.presentation.page.shell import document
from patience import PATIENCE


async def hello(request: Request) -> Response:
    """A page that says hello."""
    return PlainTextResponse("hello")


async def said(request: Request) -> Response:
    """What was sent, sent back."""
    return Response(await request.body())


GO_ON = threading.Event()  # what the slow page waits for


async def slow(request: Request) -> Response:
    """A page that takes its time, aside."""
    await aside(lambda: GO_ON.wait(PATIENCE))
    return PlainTextResponse("slow")


async def broken(request: Request) -> Response:
    """A page that cannot be made."""
    return await aside(lambda: PlainTextResponse(str(1 / 0)))


async def framed(request: Request) -> Response:
    """A page with a policy of its own."""
    return page(document("Title", Markup("<p>body</p>")))


ROUTES = [
    Route("/", hello),
    Route("/said", said, methods=["POST"]),
    Route("/slow", slow),
    Route("/broken", broken),
    Route("/framed", framed),
]


@contextmanager
def running(**options: bool) -> Iterator[LocalServer]:
    """A server that answers while the block lasts."""

    def failed(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"failed: {type(error).__name__}", 500)

    server = LocalServer(ROUTES, failed=failed, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


@pytest.fixture
def server() -> Iterator[LocalServer]:
    """A server that only shows."""
    with running() as started:
        yield started


def ask(
    server: LocalServer,
    path: str = "/",
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: bytes = b"",
) -> tuple[http.client.HTTPResponse, str]:
    """One request, with these headers; Host is right unless they say otherwise."""
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body or None, dict(headers or {}))
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def path_of(link: str) -> str:
    """The path and query of a link."""
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def cookie(server: LocalServer, link: str | None = None) -> dict[str, str]:
    """The header that the link leads to."""
    response, _ = ask(server, path_of(link or server.link))
    return {"Cookie": str(response.getheader("Set-Cookie")).partition(";")[0]}


def test_the_link_lets_in(server: LocalServer) -> None:
    """The link sets a cookie for this host alone, leads to an address without the token, and that one answers."""
    response, _ = ask(server, path_of(server.link))
    assert (response.status, response.getheader("Location")) == (303, "/")
    set_cookie = str(response.getheader("Set-Cookie"))
    assert set_cookie.startswith(f"maskbench-{server.port}=")
    assert {part.strip().lower() for part in set_cookie.split(";")[1:]} == {"httponly", "samesite=strict", "path=/"}
    assert server.link.partition("token=")[2] not in set_cookie
    response, text = ask(server, "/", cookie(server))
    assert (response.status, text) == (200, "hello")


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=wrong", "/?token=%F0%9F%98%80", "/said", "/none", "/broken"]
)
def test_without_the_token(server: LocalServer, path: str) -> None:
    """Nothing is served without cookie or token, and nothing is said of what there is."""
    response, text = ask(server, path)
    assert response.status == 403
    assert text == "Closed. Open the link that maskbench printed: it holds the token to this page.\n"
    assert response.getheader("Set-Cookie") is None


def test_a_token_is_good_on_the_link_alone(server: LocalServer) -> None:
    """No other address takes a token, so none ever stands in the address of a page."""
    token = path_of(server.link)
    assert ask(server, f"/framed{token[1:]}")[0].status == 403
    assert ask(server, "/", {"Cookie": f"maskbench-{server.port}={token[8:]}"})[0].status == 403


def test_a_link_for_once(server: LocalServer) -> None:
    """The link for a browser's command line opens once; the printed one stays good."""
    once = server.link_once
    assert ask(server, "/", cookie(server, once))[0].status == 200
    assert ask(server, path_of(once))[0].status == 403
    assert ask(server, "/", cookie(server))[0].status == 200


def test_cookies_of_others(server: LocalServer) -> None:
    """A cookie of another server opens nothing, and those of other programs on this host do no harm."""
    with running() as other:
        (value,) = cookie(other).values()
    assert ask(server, "/", {"Cookie": value})[0].status == 403
    renamed = f"maskbench-{server.port}={value.partition('=')[2]}"
    assert ask(server, "/", {"Cookie": renamed})[0].status == 403
    (own,) = cookie(server).values()
    assert ask(server, "/", {"Cookie": f'odd; _xsrf="2|{{}}"; {own}; =;'})[0].status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.:{port}", ""]
)
def test_another_host(server: LocalServer, host: str) -> None:
    """A name that was made to point here (DNS rebinding) is refused, whatever else is right."""
    for path, headers in (("/", cookie(server)), (path_of(server.link), {})):
        response, text = ask(server, path, {**headers, "Host": host.format(port=server.port)})
        assert response.status == 403
        assert "its own address" in text


def test_two_hosts(server: LocalServer) -> None:
    """A request with two Hosts is refused before anything reads one of them."""
    (value,) = cookie(server).values()
    with socket.create_connection((ADDRESS, server.port)) as connection:
        host = f"Host: {ADDRESS}:{server.port}\r\n"
        connection.sendall(f"GET / HTTP/1.1\r\n{host}Host: evil.example\r\nCookie: {value}\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 4")


def test_localhost(server: LocalServer) -> None:
    """The name localhost is this address, too, as it is behind a forwarded port."""
    own = {**cookie(server), "Host": f"localhost:{server.port}"}
    assert ask(server, "/", own)[0].status == 200
    assert ask(server, "/", {**own, "Origin": f"http://localhost:{server.port}"})[0].status == 200
    assert ask(server, "/", {**own, "Origin": f"http://127.0.0.1:{server.port}"})[0].status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", ""])
def test_another_origin(server: LocalServer, origin: str) -> None:
    """What another site's script sends is refused, even with the cookie."""
    response, _ = ask(server, "/", {**cookie(server), "Origin": origin.format(port=server.port)})
    assert response.status == 403
    assert response.getheader("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_fetch_metadata(server: LocalServer, site: str, status: int) -> None:
    """Another site, or another port of this host, cannot make the browser fetch a page, nor follow the link."""
    assert ask(server, "/", {**cookie(server), "Sec-Fetch-Site": site})[0].status == status
    if status == 403:
        assert ask(server, path_of(server.link), {"Sec-Fetch-Site": site})[0].status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_methods(server: LocalServer, method: str) -> None:
    """A server that only shows refuses every method but GET and HEAD."""
    assert ask(server, "/", cookie(server), method)[0].status == 405


def test_head(server: LocalServer) -> None:
    """HEAD answers as GET does, without the text."""
    response, text = ask(server, "/", cookie(server), "HEAD")
    assert (response.status, text) == (200, "")


def test_writes() -> None:
    """A server that takes something takes it from its own pages, with its size said, and not too much of it."""
    with running(writes=True) as server:
        own = {**cookie(server), "Origin": f"http://{ADDRESS}:{server.port}"}
        response, text = ask(server, "/said", own, "POST", b"a label")
        assert (response.status, text) == (200, "a label")
        assert ask(server, "/said", cookie(server), "POST", b"a label")[0].status == 403
        assert ask(server, "/said", {"Origin": own["Origin"]}, "POST", b"a label")[0].status == 403
        assert ask(server, "/said", {**own, "Origin": "null"}, "POST", b"a label")[0].status == 403
        assert ask(server, "/said", {**own, "Transfer-Encoding": "chunked"}, "POST")[0].status == 411
        assert ask(server, "/said", {**own, "Content-Length": "1000001"}, "POST")[0].status == 413
        assert ask(server, "/said", {**own, "Content-Length": "1" * 5000}, "POST")[0].status >= 400


@pytest.mark.parametrize("path", ["/", "/framed", "/none", "/broken", "/?token=wrong", "LINK"])
def test_headers(server: LocalServer, path: str) -> None:
    """Every answer, refusals and failures too, forbids framing, sniffing, caching, referrers and other origins."""
    response, _ = ask(server, path_of(server.link) if path == "LINK" else path, cookie(server))
    for name, value in HEADERS.items():
        assert response.headers.get_all(name) == [value]
    (policy,) = response.headers.get_all("Content-Security-Policy") or []
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert ("sha256-" in policy) == (path == "/framed")
    assert path == "/framed" or policy == NOTHING
    assert response.getheader("Server") is None


def test_this_machine_alone(server: LocalServer) -> None:
    """The server listens on 127.0.0.1 and no other address of this machine."""
    host = socket.gethostbyname(socket.gethostname())
    others = {"127.0.0.2", *([] if host == ADDRESS else [host])}
    for address in others:
        with pytest.raises(OSError), socket.create_connection((address, server.port), timeout=2):
            pass


def test_others_are_answered_meanwhile(server: LocalServer) -> None:
    """Work that is done aside keeps nobody waiting, and what goes wrong there is said."""
    own = cookie(server)
    waiting = threading.Thread(target=ask, args=(server, "/slow", own))
    waiting.start()
    assert ask(server, "/", own)[1] == "hello"
    assert waiting.is_alive()
    GO_ON.set()
    waiting.join()
    response, text = ask(server, "/broken", own)
    assert (response.status, text) == (500, "failed: ZeroDivisionError")


def test_serve_announces() -> None:
    """`serve` says where it is, once, and answers from then on."""
    server = LocalServer(ROUTES)
    announced: list[str] = []
    thread = threading.Thread(target=serve, args=(server, announced.append), kwargs={"opens": False})
    thread.start()
    try:
        assert ask(server, "/", cookie(server))[1] == "hello"
        assert announced == [server.link]
    finally:
        server.stop()
        thread.join()
