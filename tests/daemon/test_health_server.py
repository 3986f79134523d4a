"""The daemon's health and metrics are answered beside connections that say nothing, and beside slow pages."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack

import pytest

from energycomm.daemon.health import CONNECTIONS, REQUESTS, Doorkeeper, HealthServer, word
from energycomm.errors import UserError


@pytest.fixture
def slow() -> threading.Event:
    """Lets the slow page be made."""
    return threading.Event()


@pytest.fixture
def server(slow: threading.Event) -> Iterator[HealthServer]:
    def metrics() -> tuple[int, str, bytes]:
        slow.wait(30)
        return 200, "text/plain", b"energycomm_ready 1\n"

    pages = {"/health/live": lambda: word(True, "live"), "/health/ready": lambda: word(False, "ready")}
    made = HealthServer("127.0.0.1", 0, pages, {"/metrics": metrics}, Doorkeeper())
    made.start()
    yield made
    slow.set()
    made.close()


def ask(server: HealthServer, path: str, method: str = "GET") -> tuple[int, bytes]:
    """Status and content of an answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def status(asked: Future[tuple[int, bytes]]) -> int | None:
    """What an answer was; None where the connection made room before its question was read: the machine is slow."""
    try:
        return asked.result()[0]
    except ConnectionError:
        return None


def test_pages_are_answered_and_nothing_else(server: HealthServer, slow: threading.Event) -> None:
    slow.set()
    assert ask(server, "/health/live?a=b") == (200, b"live\n")
    assert ask(server, "/health/ready") == (503, b"unavailable\n")
    assert ask(server, "/metrics") == (200, b"energycomm_ready 1\n")
    assert ask(server, "/other")[0] == 404
    assert ask(server, "/health/live", "POST")[0] == 405


def test_silent_connections_and_slow_pages_do_not_keep_health_waiting(
    server: HealthServer, slow: threading.Event
) -> None:
    many = REQUESTS + 10
    with ThreadPoolExecutor(many) as pool, ExitStack() as stack:
        asking = [pool.submit(ask, server, "/metrics") for _ in range(many)]
        wait(asking, timeout=20, return_when=FIRST_COMPLETED)  # the first that is told to wait
        for said in (b"", b"G"):
            for _ in range(2 * CONNECTIONS):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                one.sendall(said)
        began = time.monotonic()
        assert ask(server, "/health/live")[0] == 200
        assert time.monotonic() - began < 5
        slow.set()
        assert {200, 503} <= {status(one) for one in asking} <= {200, 503, None}


def test_an_address_that_is_taken_is_told(server: HealthServer) -> None:
    with pytest.raises(UserError, match="cannot be served"):
        HealthServer("127.0.0.1", server.port, {}, {}, Doorkeeper())
