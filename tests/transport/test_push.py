"""The endpoint that markets push to, served over TLS."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from energycomm.transport.channel import TechnicalError
from energycomm.transport.credentials import Secret
from energycomm.transport.push import PushEndpoint, PushIn, create_app
from tests.servers.authority import Authority
from tests.servers.web import web_server
from tests.transport.arrivals import content_of, taken

TOKENS = {"T": "first-token\nsecond-token\n"}
GOOD = {"Authorization": "Bearer first-token"}


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[PushIn]:
    """A channel that takes at most 100 000 bytes and 5 messages."""
    token = Secret("token", variable="T", environ=TOKENS)
    made = PushIn("grdf", "FR", tmp_path / "spool", token, max_bytes=100_000, max_waiting=5)
    yield made
    made.close()


@pytest.fixture
def client(channel: PushIn, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of the running endpoint."""
    authority = Authority(tmp_path / "authority")
    slow = PushEndpoint(channel="slow", token=channel.endpoint.token, receive=channel.receive, timeout=0.2)
    with web_server(create_app([channel.endpoint, slow]), authority.issue("server")) as url:
        context = ssl.create_default_context(cafile=str(authority.file))
        with httpx.Client(base_url=url, verify=context, trust_env=False, timeout=10) as made:
            yield made


def push(client: httpx.Client, content: Any = b"<a/>", key: str | None = "k1", **settings: Any) -> httpx.Response:
    headers = {**GOOD, **({"Idempotency-Key": key} if key else {}), **settings.pop("headers", {})}
    return client.post("/channels/grdf/messages", content=content, headers=headers, **settings)


def test_what_is_pushed_is_polled(client: httpx.Client, channel: PushIn) -> None:
    """202 says that the bytes are safe; they come under their name and key."""
    answer = push(client, params={"name": "a.xml"})
    assert (answer.status_code, answer.json()["duplicate"]) == (202, False)
    (arrival,) = taken(channel)
    assert (arrival.name, arrival.reference, content_of(arrival)) == ("a.xml", "k1", b"<a/>")
    assert arrival.acknowledge() is None
    assert taken(channel) == []


def test_the_same_key_with_the_same_content_is_taken_once(client: httpx.Client, channel: PushIn) -> None:
    """Whoever got no answer sends again; other content under the key is refused."""
    first, second = push(client), push(client)
    assert (second.status_code, second.json()) == (202, {**first.json(), "duplicate": True})
    assert push(client, b"<b/>").status_code == 422
    (arrival,) = taken(channel)
    arrival.acknowledge()
    assert push(client).json()["duplicate"] is True
    assert taken(channel) == []


def test_the_spool_knows_keys_that_a_restarted_process_does_not(channel: PushIn, tmp_path: Path) -> None:
    """What lies in the spool is a duplicate, or a conflict, also for another process."""
    authority = Authority(tmp_path / "authority")
    certificate = authority.issue("server")
    for content, status in ((b"<a/>", 202), (b"<a/>", 202), (b"<b/>", 422)):
        with web_server(create_app([channel.endpoint]), certificate) as url:
            context = ssl.create_default_context(cafile=str(authority.file))
            with httpx.Client(base_url=url, verify=context, trust_env=False) as client:
                assert push(client, content).status_code == status
    assert len(taken(channel)) == 1


def test_without_a_key_the_content_is_its_own(client: httpx.Client, channel: PushIn) -> None:
    """Equal bytes are one message."""
    assert [push(client, key=None).json()["duplicate"] for _ in range(2)] == [False, True]
    assert len(taken(channel)) == 1


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic first-token", "Bearer first-token second"])
def test_nobody_pushes_without_a_token(client: httpx.Client, channel: PushIn, header: str) -> None:
    """401, and no word about which channels there are."""
    assert push(client, headers={"Authorization": header}).status_code == 401
    unknown = client.post("/channels/none/messages", headers=GOOD, content=b"x")
    assert unknown.status_code == 401
    assert taken(channel) == []


@pytest.mark.thorough
def test_guesses_of_tokens_are_limited_and_valid_pushes_of_the_same_address_go_on(
    client: httpx.Client, channel: PushIn
) -> None:
    """Thirty a minute; a channel that is not there counts like one that is."""
    statuses = []
    for number in range(120):
        place = "grdf" if number % 2 else "none"
        answer = client.post(
            f"/channels/{place}/messages", headers={"Authorization": f"Bearer guess-{number}"}, content=b"x"
        )
        statuses.append(answer.status_code)
    assert statuses[:30] == [401] * 30
    # Some more where the machine is so slow that the allowance fills meanwhile.
    assert statuses.count(429) > 50
    assert set(statuses) == {401, 429}
    assert answer.status_code == 401 or 1 <= int(answer.headers["retry-after"]) <= 61
    assert push(client).status_code == 202
    assert len(taken(channel)) == 1


def test_two_tokens_hold_while_one_replaces_the_other(client: httpx.Client) -> None:
    """One a line."""
    assert push(client, headers={"Authorization": "Bearer second-token"}).status_code == 202


def test_a_token_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    """And the check says so."""
    channel = PushIn("x", "FR", tmp_path, Secret("token", file=tmp_path / "none"))
    error = channel.check()
    assert isinstance(error, TechnicalError)
    assert error.code == "CHANNEL_CONFIG"


def test_a_message_that_is_too_large_is_refused_whether_it_says_so_or_not(
    client: httpx.Client, channel: PushIn
) -> None:
    """By its announced size at once, else as soon as it is seen."""

    def drops() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * 1000

    assert push(client, b"x" * 100_001).status_code == 413
    assert push(client, drops()).status_code == 413
    assert push(client, b"x" * 100_000).status_code == 202
    assert len(taken(channel)) == 1


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (b"", {}),
        (b"x", {"headers": {"Idempotency-Key": "a b"}}),
        (b"x", {"headers": {"Idempotency-Key": "k" * 129}}),
        (b"x", {"params": {"name": "../../etc/passwd"}}),
        (b"x", {"params": {"name": ""}}),
    ],
)
def test_a_wrong_request_is_refused_in_words(client: httpx.Client, content: bytes, settings: dict[str, Any]) -> None:
    """400 and what is wrong."""
    answer = push(client, content, **settings)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["..", ".", "..xml", ".hidden", "a.xml.", "a.xml ", " a.xml", "-rf", "a/b", "a\\b", "a\0b", "x" * 201]
)
def test_a_name_that_is_none_is_refused_with_the_name_and_what_is_wanted(
    client: httpx.Client, channel: PushIn, name: str
) -> None:
    answer = push(client, params={"name": name})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"name: found {name[:80]!r}, expected 1 to 200 letters")
    assert taken(channel) == []


@pytest.mark.parametrize("name", ["a", "_a", "a.xml", "R151 1.2+3-4.zip", "\u00e9t\u00e9.xml", "x" * 200])
def test_an_ordinary_name_is_kept_as_it_is(client: httpx.Client, channel: PushIn, name: str) -> None:
    assert push(client, params={"name": name}).status_code == 202
    assert [arrival.name for arrival in taken(channel)] == [name]


@pytest.mark.thorough
def test_a_slow_sender_is_given_up(client: httpx.Client) -> None:
    """Nobody holds a connection open for ever."""

    def drops() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x"
            time.sleep(0.1)

    try:
        status = client.post("/channels/slow/messages", headers=GOOD, content=drops()).status_code
    except httpx.TransportError:  # the endpoint closed the connection while we were still sending
        return
    assert status == 408


def test_a_sender_that_hangs_up_leaves_nothing_behind(client: httpx.Client, channel: PushIn) -> None:
    """Half a message is none."""
    host, port = client.base_url.host, client.base_url.port
    context = ssl._create_unverified_context()
    with socket.create_connection((host, port or 0)) as plain, context.wrap_socket(plain) as secured:
        head = "POST /channels/grdf/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer first-token\r\n"
        secured.sendall(f"{head}Content-Length: 1000\r\n\r\nhalf".encode())
    assert push(client, key="whole").status_code == 202
    assert [arrival.reference for arrival in taken(channel)] == ["whole"]


def test_a_full_spool_asks_to_come_again(client: httpx.Client, channel: PushIn) -> None:
    """503 with Retry-After until the daemon has taken some."""
    statuses = [push(client, key=str(number)).status_code for number in range(6)]
    assert statuses == [202] * 5 + [503]
    for arrival in taken(channel):
        arrival.acknowledge()
    assert push(client, key="5").status_code == 202


def test_many_at_once_are_each_taken_once(client: httpx.Client, channel: PushIn) -> None:
    """Two messages, each pushed four times by eight threads: each lies in the spool once, whole."""
    contents = {str(number): os.urandom(50_000) for number in range(2)}
    threads = [
        threading.Thread(target=lambda key=key: push(client, contents[key], key=key))
        for key in contents
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = taken(channel)
    assert {item.reference: content_of(item) for item in found} == contents
    assert len(found) == 2


def test_of_two_contents_under_one_key_at_once_one_is_taken(client: httpx.Client, channel: PushIn) -> None:
    """Whoever is told 202 is in the spool; all others are told 422."""
    statuses: dict[bytes, int] = {}

    def send(content: bytes) -> None:
        statuses[content] = push(client, content).status_code

    threads = [threading.Thread(target=send, args=(bytes([65 + number]) * 1000,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (arrival,) = taken(channel)
    assert sorted(statuses.values()) == [202, 422, 422, 422, 422]
    assert statuses[content_of(arrival)] == 202
