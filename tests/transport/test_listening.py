"""Connections that say nothing, too much, or nothing that is HTTP; the server is real, its times are short."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from energycomm.transport import heads, listening
from energycomm.transport.listening import Bounds, http_server
from tests.servers.authority import Authority

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
UNREAD = b"POST /unread HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
LARGE = 8 << 20


class App:
    """Answers with the length of the body; `/wait` when it is let go, `/large` much, `/unread` without reading."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.under_way = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size, more = 0, scope["path"] != "/unread"
        self.under_way += 1
        try:
            while more:
                message = await receive()
                size, more = size + len(message.get("body", b"")), message.get("more_body", False)
            while scope["path"] == "/wait" and not self.go.is_set():
                await asyncio.sleep(0.01)
            content = b"x" * LARGE if scope["path"] == "/large" else str(size).encode()
            headers = [(b"content-length", str(len(content)).encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            if scope["path"] == "/large":
                for start in range(0, LARGE, 1 << 16):
                    piece = content[start : start + 65536]
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body"})
            else:
                await send({"type": "http.response.body", "body": content})
        finally:
            self.under_way -= 1


class Served:
    """A running server."""

    def __init__(self, port: int, app: App, room: listening.Room) -> None:
        self.port, self.app, self.room = port, app, room

    def open(self, first: bytes = b"") -> socket.socket:
        one = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        one.sendall(first)
        return one

    def ask(self, request: bytes = GET) -> bytes:
        """Everything that is answered until the server or the answer ends."""
        with self.open(request) as one:
            return answered(one)

    def get(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status


def answered(one: socket.socket) -> bytes:
    """One answer whole, or what came of it when the other end closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(65536):
            found += part
            start, _, content = found.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", start.lower())
            if length is not None and len(content) >= int(length[1]):
                break
    return found


def closed(one: socket.socket) -> float:
    """Seconds until the other end closes the connection."""
    began = time.monotonic()
    with contextlib.suppress(ConnectionResetError):
        while one.recv(65536):
            pass
    return time.monotonic() - began


def until(good: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not good():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def served(bounds: Bounds | None = None, context: ssl.SSLContext | None = None) -> Iterator[Served]:
    listener = socket.create_server(("127.0.0.1", 0))
    app = App()
    server = http_server(app, bounds or Bounds(), context, lifespan="off", timeout_graceful_shutdown=1)
    bound: Any = server.config.http
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: server.started)
        yield Served(listener.getsockname()[1], app, bound.room)
    finally:
        app.go.set()
        server.should_exit = True
        thread.join(10)
        listener.close()
    assert not thread.is_alive()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """All times are a tenth of a second or so."""
    for name in ("BODY_GRACE", "DRAIN_SECONDS", "HANDSHAKE_SECONDS", "LINGER_SECONDS", "ANSWER_SECONDS"):
        monkeypatch.setattr(listening, name, 0.3)


def test_an_ordinary_request_and_several_on_one_connection_are_answered() -> None:
    with served() as server, server.open(GET + GET) as one:
        both = b""
        while both.count(b"200 OK") < 2:
            both += one.recv(65536)
        one.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        assert answered(one).endswith(b"\r\n\r\n3")


@pytest.mark.parametrize("drops", [[b""], [b"GET / HT"], [b"GET / HTTP/1.1\r\n"], [GET[:1]]])
def test_a_head_that_does_not_come_is_not_waited_for(hasty: None, drops: list[bytes]) -> None:
    with served(Bounds(header_seconds=0.3)) as server, server.open(drops[0]) as one:
        assert closed(one) < 5
        until(lambda: len(server.room) == 0)


def test_a_head_that_comes_byte_by_byte_has_no_more_time_than_another(hasty: None) -> None:
    with served(Bounds(header_seconds=0.5)) as server, server.open() as one:
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 10:
                one.sendall(b"X-A: b\r\n" if time.monotonic() - began > 0.1 else b"G")
                time.sleep(0.05)
        assert time.monotonic() - began < 8


def test_the_second_head_of_a_connection_has_its_time_too(hasty: None) -> None:
    with served(Bounds(header_seconds=0.3)) as server, server.open(GET) as one:
        assert b"200 OK" in answered(one)
        one.sendall(b"GET")
        assert closed(one) < 5


@pytest.mark.thorough
def test_a_body_that_does_not_come_is_not_waited_for_but_one_that_comes_is(hasty: None) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"
    with served() as server:
        with server.open(head + b"abc") as one:
            assert closed(one) < 5
        with server.open(head) as one:
            for _ in range(10):
                one.sendall(b"x" * 20_000)
                time.sleep(0.1)  # three times as long as the grace, and faster than the least rate
            assert answered(one).endswith(b"200000")
        until(lambda: server.app.under_way == 0)


def test_a_body_that_was_answered_unread_has_an_end(hasty: None) -> None:
    with (
        served() as server,
        server.open(UNREAD) as one,
    ):
        assert b"200 OK" in answered(one)
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 10:
                one.sendall(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
                time.sleep(0.01)
        assert time.monotonic() - began < 8


def test_an_answer_that_nobody_reads_is_dropped(hasty: None) -> None:
    with served() as server, server.open(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"):
        until(lambda: len(server.room) == 1)
        until(lambda: len(server.room) == 0)
        until(lambda: server.app.under_way == 0)


def test_the_oldest_that_asks_nothing_makes_room_and_whoever_is_worked_on_stays() -> None:
    with ExitStack() as stack, served(Bounds(connections=10, per_address=8)) as server:
        working = stack.enter_context(server.open(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"))
        until(lambda: server.app.under_way == 1)
        first = stack.enter_context(server.open(b"G"))
        until(lambda: len(server.room) == 2)
        for _ in range(30):
            stack.enter_context(server.open(b"G"))
        assert closed(first) < 5
        assert server.get("/") == 200
        assert len(server.room) <= 10
        server.app.go.set()
        assert b"200 OK" in answered(working)


def test_bodies_that_come_slowly_make_room_too() -> None:
    with ExitStack() as stack, served(Bounds(connections=10, per_address=8)) as server:
        for _ in range(30):
            stack.enter_context(server.open(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na"))
        assert server.get("/") == 200


def test_when_too_much_is_worked_on_health_is_answered_and_everybody_else_told_to_wait() -> None:
    with ExitStack() as stack, served(Bounds(connections=10, per_address=10, requests=4)) as server:
        for number in range(4):
            stack.enter_context(server.open(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"))
            until(lambda number=number: server.app.under_way == number + 1)  # type: ignore[misc]
        refused = server.ask()
        assert b"503" in refused
        assert b"retry-after: 1" in refused.lower()
        assert [server.get(path) for path in sorted(listening.HEALTH)] == [200, 200, 200]
        server.app.go.set()
        until(lambda: server.app.under_way == 0)
        assert server.get("/") == 200


def test_a_proxy_is_not_counted_as_one_client_and_an_ipv6_network_is() -> None:
    with ExitStack() as stack, served(Bounds(connections=30, per_address=2, trusted=("127.0.0.0/8",))) as server:
        for _ in range(20):
            stack.enter_context(server.open(b"G"))
        until(lambda: len(server.room) == 20)
    assert listening._counted("2001:db8:1:2:3::4") == listening._counted("2001:db8:1:2:ffff::1")
    assert listening._counted("2001:db8:1:2::1") != listening._counted("2001:db8:1:3::1")
    assert listening._counted("::ffff:10.0.0.1") == "10.0.0.1"


def head(*lines: str) -> bytes:
    return "\r\n".join(("GET / HTTP/1.1", "Host: a", *lines, "", "")).encode()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (head(*(f"X-{n}: 1" for n in range(100))), 431),
        (head(*(f"X-{n}: {'a' * 4000}" for n in range(5))), 431),
        (head("X: " + "a" * 300_000), 431),
        (b"GET /" + b"a" * 300_000, 431),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (head("Content-Length: 3", "Content-Length: 4"), 400),
        (head("Content-Length: 3", "Transfer-Encoding: chunked"), 400),
        (head("Transfer-Encoding: gzip, chunked"), 400),
        (head("Content-Length: -1"), 400),
        (head("Host: b"), 400),
        (head("X : 1"), 400),
        (head("X: a\r\n b"), 200),
        (head("Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), 200),
        (head("Range: bytes=" + ",".join("0-" for _ in range(2000))), 200),
    ],
)
def test_a_head_beyond_the_bounds_or_that_is_no_http_is_refused(request_: bytes, status: int) -> None:
    with served() as server:
        answer = server.ask(request_)
        assert answer.split(b" ")[1] == str(status).encode(), answer[:200]
        assert server.get("/") == 200


def test_a_body_in_very_many_small_pieces_is_refused() -> None:
    pieces = b"1\r\nx\r\n" * (heads.SMALL_PIECES + 5)
    with served() as server:
        post = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert b"400" in server.ask(post + pieces)[:20]
        with server.open(post + b"1\r\nx\r\n" * 500 + b"0\r\n\r\n") as one:
            assert answered(one).endswith(b"500")


def test_a_body_has_a_largest_size_where_the_application_has_none() -> None:
    post = b"POST / HTTP/1.1\r\nHost: a\r\n"
    with served(Bounds(body_bytes=10)) as server:
        assert b" 413 " in server.ask(post + b"Content-Length: 11\r\n\r\n")
        assert b" 413 " in server.ask(post + b"Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n")
        assert b" 200 " in server.ask(post + b"Content-Length: 10\r\n\r\nhelloworld")


def test_nonsense_after_an_answer_began_ends_the_connection_and_nothing_else() -> None:
    with served() as server:
        with server.open(UNREAD) as one:
            assert b"200 OK" in answered(one)
            one.sendall(b"nonsense\r\n")
            assert closed(one) < 5
        assert server.get("/") == 200


@pytest.fixture
def certified(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's side of TLS."""
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("server"))
    return context, ssl.create_default_context(cafile=authority.file)


def test_handshakes_that_are_not_made_keep_nobody_out(
    hasty: None, certified: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    context, client = certified
    with ExitStack() as stack, served(Bounds(connections=20, per_address=20), context) as server:
        silent = [stack.enter_context(server.open(said)) for said in (b"", b"\x16\x03\x01", GET) for _ in range(20)]
        for _ in range(3):
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            with client.wrap_socket(plain, server_hostname="127.0.0.1") as one:
                one.sendall(GET)
                assert b"200 OK" in answered(one)
        assert max(closed(one) for one in silent) < 5
        until(lambda: len(server.room) == 0)


@pytest.mark.thorough
def test_a_request_that_comes_with_the_handshake_is_answered(
    certified: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    context, client = certified
    with served(None, context) as server:
        for _ in range(20):
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            with client.wrap_socket(plain, server_hostname="127.0.0.1") as one:
                one.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000)
                assert answered(one).endswith(b"70000")
