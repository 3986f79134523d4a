"""Hostile and heavy callers against a real process: health answers, what is beyond the bounds is refused at once."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from energycomm.eis.database import opened
from energycomm.eis.store import Store
from energycomm.webservice import tokens
from energycomm.webservice.bodies import LIST_BYTES, SMALL_BYTES
from energycomm.webservice.roles import Role, Scope
from tests.servers.gateway import gateway_server
from tests.webservice.conftest import copied, told

WITHIN = 1.0
"""Seconds in which health answers."""
NINE_MEGABYTES = b"{" + b",".join(b'"unknown%07d":"%s"' % (n, b"x" * 80) for n in range(90_000)) + b"}"


HALF_FORM = (
    b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 60000\r\n\r\ntoken=x"
)


class House(NamedTuple):
    """A running gateway."""

    port: int
    token: str

    def call(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Status and content of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"} | headers
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def open(self, first: bytes = b"") -> socket.socket:
        """A connection that has said this much."""
        one = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        one.sendall(first)
        return one


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway with a short story, in a process of its own, and a consultant's token."""
    place: Path = tmp_path_factory.mktemp("house")
    url = copied(told, place)
    with opened(url) as engine:
        roles = frozenset((Role.CONSULTANT, Role.BACK_OFFICE))
        made = tokens.create(Store(engine), "anna", roles, scopes=frozenset(Scope), days=1, label="load", by="test")
    (place / "energycomm.toml").write_text(f'database = "{url}"\n[web]\nrequests_per_minute = 100000\n')
    with gateway_server(place) as (address, _):
        house = House(int(address.rpartition(":")[2]), made[1])
        assert house.call("POST", "/api/v1/injections", b"[]")[0] == 422, "the rules are read"
        yield house


class Pulse:
    """How long health took to answer, each time, while something went on."""

    def __init__(self) -> None:
        self.live: list[float] = []
        self.ready: list[float] = []

    def __str__(self) -> str:
        return f"{len(self.live)} looks, longest {max(self.live):.3f} s live, {max(self.ready):.3f} s ready"


@contextmanager
def watched(house: House, what: str) -> Iterator[Pulse]:
    """Ask for health again and again, each time on a connection of its own; at least once within the block."""
    pulse, stop = Pulse(), threading.Event()

    def watch() -> None:
        while True:
            for path, times in (("/health/live", pulse.live), ("/health", pulse.ready)):
                began = time.monotonic()
                status, _ = house.call("GET", path)
                assert status == 200
                times.append(time.monotonic() - began)
            if stop.wait(0.02):
                return

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            yield pulse
        finally:
            stop.set()
        watching.result(60)
    print(f"{what}: {pulse}")
    assert max(pulse.live + pulse.ready) < WITHIN


def test_205_and_500_half_open_connections_and_a_body_of_9_megabytes_do_not_keep_health_waiting(house: House) -> None:
    with ExitStack() as stack:
        for number in (205, 500):
            for _ in range(number):
                stack.enter_context(house.open(b"GET / HTTP/1.1\r\nHost: a\r\n"))
            with watched(house, f"{number} half-open connections and 9 MB"):
                began = time.monotonic()
                status, content = house.call("PATCH", "/api/v1/corrections/tickets/1", NINE_MEGABYTES)
                took = time.monotonic() - began
                time.sleep(0.2)
            print(f"refused with {status} after {took:.3f} s, {len(content)} bytes")
            assert (status, json.loads(content)["code"]) == (413, "API_TOO_LARGE")
            assert json.loads(content)["detail"] == f"More than {SMALL_BYTES} bytes."


def test_a_body_that_is_too_large_is_refused_before_it_comes(house: House) -> None:
    """By its declared length, and where none is declared by what has come; nothing of it is parsed."""
    head = f"PATCH /api/v1/corrections/tickets/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {house.token}\r\n"
    with house.open(f"{head}Content-Type: application/json\r\nContent-Length: 9000000\r\n\r\n".encode()) as one:
        assert one.recv(100).startswith(b"HTTP/1.1 413 ")
    with house.open(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()) as one:
        one.sendall(b"10001\r\n" + b"[" * 0x10001 + b"\r\n")
        assert one.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("half", [b"", b"G", HALF_FORM])
def test_connections_that_say_nothing_little_or_half_a_body_do_not_keep_health_waiting(
    house: House, half: bytes
) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(house.open(half))
        with watched(house, f"300 connections that said {half[:4]!r}"):
            assert house.call("GET", "/api/v1/me")[0] == 200


def test_answers_that_nobody_reads_do_not_keep_health_waiting(house: House) -> None:
    ask = f"GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {house.token}\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(house.open(ask * 8))
        with watched(house, "640 answers that nobody reads"):
            assert house.call("GET", "/api/v1/me")[0] == 200


def deep(levels: int) -> bytes:
    return b'{"messages": ' + b"[" * levels + b"]" * levels + b', "why": "x"}'


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/v1/corrections/replays", b'{"why": "x", ' + NINE_MEGABYTES[1:], 413),
        ("/api/v1/corrections/replays", b"{" + b",".join(b'"k%d":1' % n for n in range(20_000)) + b"}", 400),
        ("/api/v1/corrections/replays", b'{"why":"x","messages":[' + b'"x",' * 11_000 + b'"x"]}', 422),
        ("/api/v1/corrections/replays", b'{"why":"x","messages":[' + b"1," * 100_000 + b"1]}", 400),
        ("/api/v1/corrections/replays", deep(17), 400),
        ("/api/v1/corrections/replays", deep(100_000), 400),
        ("/api/v1/corrections/edits/1", b'{"xml": "' + b"A" * 1_000_001 + b'", "why": "x"}', 422),
        ("/api/v1/corrections/edits/1", b"[" * 2_000_000, 400),
        ("/api/v1/corrections/edits/1", b"[" + b"[]," * 600_000 + b"1]", 400),
        ("/api/v1/injections", b"[" * 9_000_000, 400),
        ("/api/v1/injections", b"[" + b"{}," * 3_000_000 + b"{}]", 400),
        ("/api/v1/injections", b"[" + b"{}," * 100_000 + b"{}]", 422),
        ("/api/v1/injections", b"[" + b'{"kind":"MeterReading","x":"y"},' * 999 + b"{}]", 422),
        ("/api/v1/injections", b"<a>" * 3_000_000, 400),
    ],
)
def test_heavy_bodies_are_refused_in_few_words_and_nobody_else_waits(
    house: House, path: str, body: bytes, status: int
) -> None:
    with watched(house, f"{len(body)} bytes {body[:12]!r} to {path}"):
        began = time.monotonic()
        found, content = house.call("POST", path, body)
    print(f"{found} after {time.monotonic() - began:.3f} s, {len(content)} bytes")
    assert found == status, content[:300]
    assert len(content) < 64_000
    problem: dict[str, Any] = json.loads(content)
    assert problem["code"].startswith("API_")
    assert problem["detail"]


def test_every_mistake_is_shown_shortly(house: House) -> None:
    body = {f"{n}" * 60: "long " * 200 for n in range(190)}
    status, content = house.call("PATCH", "/api/v1/corrections/tickets/1", json.dumps(body).encode()[:SMALL_BYTES])
    assert status == 400, "it is cut"
    body = {f"{n}" * 40: "\u0001" * 30 for n in range(190)}
    status, content = house.call("PATCH", "/api/v1/corrections/tickets/1", json.dumps(body).encode())
    problem = json.loads(content)
    assert (status, problem["code"], problem["detail"]) == (422, "API_INVALID", "190 mistakes.")
    assert len(content) < 64_000
    assert 50 < len(problem["errors"]) <= 190


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "gzip, identity"])
def test_a_packed_body_is_not_read(house: House, encoding: str) -> None:
    headers = {"Content-Encoding": encoding}
    status, content = house.call("PATCH", "/api/v1/corrections/tickets/1", b"\x1f\x8b" + b"0" * 100, **headers)
    problem = json.loads(content)
    assert (status, problem["code"], problem["value"]) == (415, "API_ENCODED", encoding)


def test_a_list_of_ten_thousand_messages_has_its_place(house: House) -> None:
    body = json.dumps({"messages": list(range(1, 10_001)), "why": "x"}).encode()
    assert len(body) < LIST_BYTES
    assert house.call("POST", "/api/v1/corrections/replays", body)[0] == 404, "read, and the messages are not there"
