"""A queue over HTTP against a real server on loopback: nothing is lost and nothing comes twice, whatever breaks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from energycomm.transport.channel import Arrival, Sent, TechnicalError
from energycomm.transport.credentials import Secret
from energycomm.transport.httpqueue import HttpQueueNames, HttpQueueOut, HttpQueueService
from energycomm.transport.https import HttpsServer
from energycomm.transport.messagequeue import QueueIn
from energycomm.transport.tokens import ClientCredentials
from tests.servers.authority import Authority
from tests.servers.httpqueue import TOKEN_PATH, HttpQueueBehaviour
from tests.servers.https import HttpsTestServer, Reply, https_server
from tests.transport.arrivals import Message, content_of, taken


class Stage(NamedTuple):
    """The service, what it holds, and how to open channels to it."""

    server: HttpsTestServer
    holds: HttpQueueBehaviour
    settings: HttpsServer
    folder: Path

    def service(self, secret: str = "hunter2") -> HttpQueueService:
        there = HttpsServer(url=self.settings.url.replace("/service/", TOKEN_PATH), ca_file=self.settings.ca_file)
        file = self.folder.with_name("secret")
        file.write_text(secret)
        credentials = ClientCredentials("hub", there, "us", Secret("client secret", file))
        names = HttpQueueNames(known="00101")
        return HttpQueueService("hub", self.settings, names, ("measures", "sums"), "json", credentials)

    def incoming(self) -> QueueIn:
        return QueueIn("hub", "DK", self.service(), self.folder, max_messages=10)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A running service, with a document in each of two queues, and a second one in the first."""
    authority = Authority(tmp_path / "authority")
    holds = HttpQueueBehaviour()
    holds.waiting = {"measures": [("m/1", b'{"a": 1}'), ("m/2", b'{"a": 2}')], "sums": [("s-1", b"<s/>")]}
    with https_server(authority.issue("server"), None, holds) as server:
        settings = HttpsServer(url=f"{server.url}/", ca_file=authority.file, timeout=5.0, max_answer=1 << 20)
        yield Stage(server, holds, settings, tmp_path / "spool")


def _store(channel: QueueIn) -> list[tuple[str | None, bytes]]:
    """Take what waits, one after the other, as the gateway does: the bytes first, then the acknowledgement."""
    found = []
    for item in channel.poll():
        assert isinstance(item, Arrival), item
        found.append((item.reference, content_of(item)))
        assert item.acknowledge() is None
    return found


def test_queues_are_emptied_one_after_the_other(stage: Stage) -> None:
    channel = stage.incoming()
    assert channel.check() == "the service answers, a document waits"
    assert _store(channel) == [("m/1", b'{"a": 1}'), ("m/2", b'{"a": 2}'), ("s-1", b"<s/>")]
    assert stage.holds.removed == ["m/1", "m/2", "s-1"]
    assert stage.holds.given == 1
    assert {request.headers.get("Accept") for request in stage.server.requests if request.method == "GET"} == {
        "application/json"
    }
    assert _store(channel) == []
    assert channel.check() == "the service answers, nothing waits"
    channel.close()
    assert [path.name for path in stage.folder.iterdir()] == [".lock"]


def test_nothing_is_removed_before_its_bytes_are_in_the_store(stage: Stage) -> None:
    """Until then each queue shows its first document, and it is given once."""
    channel = stage.incoming()
    arrivals = taken(channel)
    assert [item.reference for item in arrivals] == ["m/1", "s-1"]
    assert channel.more
    assert stage.holds.removed == []
    assert taken(channel) == []
    assert arrivals[0].acknowledge() is None
    assert [item.reference for item in taken(channel)] == ["m/2"]
    channel.close()


def test_a_process_that_dies_between_store_and_removal_is_given_the_same_bytes(stage: Stage) -> None:
    """On the same host out of the spool, on a new one by the queue: the store knows the bytes."""
    first = stage.incoming()
    before = [(item.reference, content_of(item)) for item in taken(first)]
    first.close()
    again = stage.incoming()
    assert [(item.reference, content_of(item)) for item in taken(again)] == before
    again.close()
    shutil.rmtree(stage.folder)
    elsewhere = stage.incoming()
    assert _store(elsewhere) == [*before[:1], ("m/2", b'{"a": 2}'), *before[1:]]
    assert stage.holds.removed == ["m/1", "m/2", "s-1"]
    elsewhere.close()


def test_a_removal_whose_answer_is_lost_is_repeated_and_not_an_error(stage: Stage) -> None:
    channel = stage.incoming()
    first = next(iter(taken(channel)))
    stage.holds.remove("m/1")  # the service does it
    stage.server.replies.append(Reply(hang_up=True))
    lost = first.acknowledge()
    assert lost is not None
    assert lost.transient
    assert [item.reference for item in taken(channel)] == ["m/2"]
    assert stage.holds.removed == ["m/1"]
    channel.close()


def test_a_removal_that_is_refused_is_an_error_while_the_document_waits(stage: Stage) -> None:
    channel = stage.incoming()
    first = next(iter(taken(channel)))
    stage.server.replies.append(Reply(400))
    refused = first.acknowledge()
    assert refused is not None
    assert (refused.code, refused.item) == ("CHANNEL_REFUSED", "m/1")
    taken(channel)
    assert stage.holds.removed == ["m/1"]
    channel.close()


def test_a_token_that_is_refused_is_replaced_once(stage: Stage) -> None:
    channel = stage.incoming()
    assert isinstance(channel.check(), str)
    stage.holds.token = "token-2"
    assert [reference for reference, _ in _store(channel)] == ["m/1", "m/2", "s-1"]
    assert stage.holds.given == 2
    stage.server.replies.extend([Reply(401), Reply(content=b'{"access_token": "t", "expires_in": 60}'), Reply(401)])
    error = channel.check()
    assert isinstance(error, TechnicalError)
    assert error.code == "CHANNEL_LOGIN"
    channel.close()


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([Reply(500)], "CHANNEL_SERVER"),
        ([Reply(503, headers={"Retry-After": "7"})], "CHANNEL_SERVER"),
        ([Reply(429)], "CHANNEL_LIMITED"),
        ([Reply(403)], "CHANNEL_DENIED"),
        ([Reply(404)], "CHANNEL_REFUSED"),
        ([Reply(hang_up=True)], "CHANNEL_BROKEN"),
        ([Reply(content=b"<html>a proxy</html>")], "CHANNEL_ANSWER"),
        ([Reply(headers={"MessageId": "m/1"})], "CHANNEL_ANSWER"),
        ([Reply(content=b"x", headers={"MessageId": "m\t1"})], "CHANNEL_ANSWER"),
        ([Reply(content=b"x", headers={"MessageId": "m" * 201})], "CHANNEL_ANSWER"),
        ([Reply(content=b"x" * (1 << 20) + b"x", headers={"MessageId": "m"})], "CHANNEL_TOO_LARGE"),
    ],
)
def test_an_answer_that_is_no_document_ends_the_poll_and_removes_nothing(
    stage: Stage, replies: list[Reply], code: str
) -> None:
    channel = stage.incoming()
    assert isinstance(channel.check(), str)  # it has its token
    stage.server.replies.extend(replies)
    (error,) = channel.poll()
    assert isinstance(error, TechnicalError)
    assert error.code == code
    assert stage.holds.removed == []
    assert len(_store(channel)) == 3
    channel.close()


def test_a_body_that_is_no_message_is_kept_and_removed(stage: Stage) -> None:
    """Its bytes are the market's: digestion refuses them, and the queue goes on."""
    stage.holds.waiting = {"measures": [("m-1", b"\x00\xffbroken"), ("m-2", b"<m/>")]}
    channel = stage.incoming()
    assert _store(channel) == [("m-1", b"\x00\xffbroken"), ("m-2", b"<m/>")]
    channel.close()


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(400, b'{"error": "invalid_client"}'), "CHANNEL_LOGIN"),
        (Reply(401), "CHANNEL_LOGIN"),
        (Reply(500), "CHANNEL_SERVER"),
        (Reply(content=b"<html/>"), "CHANNEL_ANSWER"),
        (Reply(content=b'{"access_token": ""}'), "CHANNEL_ANSWER"),
        (Reply(content=b'{"access_token": "a\\r\\nX: 1"}'), "CHANNEL_ANSWER"),
    ],
)
def test_without_a_token_nothing_is_asked_for(stage: Stage, reply: Reply, code: str) -> None:
    channel = stage.incoming()
    stage.server.replies.append(reply)
    (error,) = channel.poll()
    assert isinstance(error, TechnicalError)
    assert error.code == code
    assert "hunter2" not in str(error)
    assert [request.path for request in stage.server.requests] == [TOKEN_PATH]
    channel.close()


def test_a_message_is_posted_to_the_path_of_its_type(stage: Stage) -> None:
    """What the service says of a refusal is told; what it has already is sent."""
    out = HttpQueueOut("hub", "DK", stage.service())
    message = Message(content=b"<r/>")
    assert out.send(message) == Sent(reference="r1", receipt="HTTP 202")
    assert stage.holds.taken == [("C15", message.content_type, b"<r/>")]
    again = out.send(message)
    assert isinstance(again, Sent)
    assert again.duplicate
    stage.server.replies.append(Reply(400, b"<Error><Code>B2B-005</Code><Message>no &lt;schema&gt;</Message></Error>"))
    refused = out.send(Message(content=b"<q/>"))
    assert isinstance(refused, TechnicalError)
    assert (refused.code, refused.item) == ("CHANNEL_REFUSED", "r1")
    assert "B2B-005" in refused.detail
    out.close()


def test_a_message_whose_answer_was_lost_is_sent_again_and_not_twice(stage: Stage) -> None:
    out = HttpQueueOut("hub", "DK", stage.service())
    assert isinstance(out.check(), str)
    message = Message(content=b"<r/>")
    stage.holds.taken.append(("C15", "", b"<r/>"))  # it arrived
    stage.server.replies.append(Reply(hang_up=True))
    lost = out.send(message)
    assert isinstance(lost, TechnicalError)
    assert lost.maybe_sent
    again = out.send(message)
    assert isinstance(again, Sent)
    assert again.duplicate
    assert len(stage.holds.taken) == 1
    out.close()
