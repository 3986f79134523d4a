"""A polled message service against a real one on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from lxml import etree

from energycomm.transport.channel import Arrival, Sent, TechnicalError
from energycomm.transport.https import HttpsServer
from energycomm.transport.messagequeue import QueueIn, QueueNames, QueueOut, QueueService
from tests.servers.authority import Authority
from tests.servers.https import HttpsTestServer, Reply, https_server
from tests.servers.queueservice import QueueBehaviour
from tests.transport.arrivals import Message, content_of, taken

OTHER_NAMES = QueueNames(
    namespace="urn:licensed",
    action="urn:licensed/",
    send="Send",
    get="Get",
    count="Count",
    available="Ping",
    confirm="Remove",
    message="Payload",
    identifier="Id",
    payload="xml",
)


class Stage(NamedTuple):
    """The service, what it holds, and how to open channels to it."""

    server: HttpsTestServer
    holds: QueueBehaviour
    service: QueueService
    folder: Path

    def incoming(self) -> QueueIn:
        return QueueIn("atrias", "BE", self.service, self.folder, max_messages=10)


@pytest.fixture(params=["default names", "other names"])
def names(request: pytest.FixtureRequest) -> QueueNames:
    """Our own names with base64, and a licensee's with XML and an operation that confirms."""
    return QueueNames(namespace="urn:example:service") if request.param == "default names" else OTHER_NAMES


@pytest.fixture
def stage(names: QueueNames, tmp_path: Path) -> Iterator[Stage]:
    """A running service."""
    authority = Authority(tmp_path / "authority")
    holds = QueueBehaviour(names)
    with https_server(authority.issue("server"), authority.file, holds) as server:
        certificate, key = authority.issue("client")
        settings = HttpsServer(
            url=server.url,
            ca_file=authority.file,
            certificate_file=certificate,
            key_file=key,
            timeout=5.0,
            max_answer=1 << 20,
        )
        service = QueueService("atrias", settings, names, queue="METERING")
        yield Stage(server, holds, service, tmp_path / "spool")
        service.client.close()


def test_messages_come_in_order_and_once(stage: Stage) -> None:
    """As many as the service counts, whichever way it removes them."""
    stage.holds.waiting = [("id/1", b'<a xmlns=""/>'), ("id/2", b'<b xmlns=""/>')]
    channel = stage.incoming()
    assert channel.check() == "the service is available, 2 messages wait"
    contents = []
    for item in channel.poll():
        assert isinstance(item, Arrival)
        contents.append((item.reference, etree.fromstring(content_of(item)).tag))
        assert item.acknowledge() is None
    assert contents == [("id/1", "a"), ("id/2", "b")]
    assert stage.holds.waiting == []
    assert taken(channel) == []
    channel.close()
    assert [path.name for path in stage.folder.iterdir()] == [".lock"]


def test_a_message_that_was_got_survives_a_crash(stage: Stage) -> None:
    """It lies in the spool, whether the service still has it or not; and it is not there twice."""
    stage.holds.waiting = [("1", b'<a xmlns=""/>')]
    first = stage.incoming()
    assert len(taken(first)) == 1
    first.close()
    second = stage.incoming()
    (arrival,) = taken(second)
    assert etree.fromstring(content_of(arrival)).tag == "a"
    assert arrival.acknowledge() is None
    assert taken(second) == []
    second.close()


def test_what_is_not_acknowledged_is_not_confirmed(stage: Stage) -> None:
    """Where the service removes only what was confirmed, the queue does not advance before the store has the bytes."""
    stage.holds.waiting = [("1", b'<a xmlns=""/>'), ("2", b'<b xmlns=""/>')]
    channel = stage.incoming()
    found = taken(channel)
    if stage.service.names.confirm is None:
        assert [item.reference for item in found] == ["1", "2"]
        assert not channel.more
    else:
        assert [item.reference for item in found] == ["1"]
        assert len(stage.holds.waiting) == 2
        assert channel.more
        assert found[0].acknowledge() is None
        assert [item.reference for item in taken(channel)] == ["2"]
        assert not channel.more
    channel.close()


@pytest.mark.parametrize("names", [OTHER_NAMES], ids=["other names"])
def test_a_confirmation_that_is_lost_is_made_again(stage: Stage) -> None:
    """The message does not come twice."""
    stage.holds.waiting = [("1", b'<a xmlns=""/>')]
    channel = stage.incoming()
    (arrival,) = taken(channel)
    stage.server.replies.append(Reply(503))
    error = arrival.acknowledge()
    assert error is not None
    assert error.transient
    assert taken(channel) == []
    assert stage.holds.waiting == []
    channel.close()


def test_messages_are_sent_with_our_reference(stage: Stage) -> None:
    """The service's own identifier is the receipt; the payload arrives as it was built."""
    out = QueueOut("atrias", "BE", stage.service)
    assert out.check() == "the service is available"
    content = b'<?xml version="1.0"?><r xmlns="urn:x"  b="2"><c/></r>'
    assert out.send(Message(content=content)) == Sent(reference="r1", receipt="their-1")
    ((reference, kind, payload),) = stage.holds.sent
    assert (reference, kind) == ("r1", "C15")
    assert etree.fromstring(payload).get("b") == "2"
    if stage.service.names.payload == "xml":
        assert b'<r xmlns="urn:x"  b="2"><c/></r>' in stage.server.requests[-1].content
        refused = out.send(Message(content=b"UNB+UNOC:3"))
        assert isinstance(refused, TechnicalError)
        assert refused.code == "CHANNEL_REFUSED"
    else:
        assert payload == content


def test_a_service_that_is_not_available_says_so(stage: Stage) -> None:
    """A passing error, for both directions."""
    stage.holds.is_available = False
    for channel in (stage.incoming(), QueueOut("atrias", "BE", stage.service)):
        error = channel.check()
        assert isinstance(error, TechnicalError)
        assert (error.code, error.transient) == ("CHANNEL_SERVER", True)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<x/>", "CHANNEL_ANSWER"),
        (
            b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body/></s:Envelope>',
            "CHANNEL_ANSWER",
        ),
        (b"", "CHANNEL_ANSWER"),
    ],
)
def test_an_answer_that_is_none_ends_the_poll(stage: Stage, content: bytes, code: str) -> None:
    """No SOAP, no count: an error of the channel, in words."""
    stage.server.replies.append(Reply(content=content))
    channel = stage.incoming()
    (error,) = channel.poll()
    assert isinstance(error, TechnicalError)
    assert (error.code, error.item) == (code, None)
    channel.close()


def test_a_fault_with_reasons_on_sending_is_the_markets_answer(stage: Stage) -> None:
    """A negative technical acknowledgement is content."""
    detail = "<detail><Code>E10</Code></detail>"
    words = f"<s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring>{detail}</s:Fault>"
    space = "http://schemas.xmlsoap.org/soap/envelope/"
    content = f'<s:Envelope xmlns:s="{space}"><s:Body>{words}</s:Body></s:Envelope>'.encode()
    stage.server.replies.append(Reply(500, content))
    sent = QueueOut("atrias", "BE", stage.service).send(Message())
    assert sent == Sent(reference="r1", receipt="fault Client", answer=content)
