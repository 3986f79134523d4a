"""The message service: what the gateway's channel writes is understood, and it understands what is answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from adapters.be_atrias import adapter
from adapters.be_atrias.mapping import read_table, table
from adapters.common.table import Table
from energycomm.kernel.verdicts import Refusal
from energycomm.transport.messagequeue import QueueNames, QueueService
from energycomm.transport.soap import read_body, wrapped
from tests.adapters.belgian import REFERENCE, content, request
from tests.adapters.test_be_mapping import changed
from tests.servers import messageservice as service


def channel_of(mapping: Table) -> QueueService:
    """The gateway's side of the service, which is not called."""
    found = QueueService.__new__(QueueService)
    found.names, found.queue, found.version = QueueNames(**mapping.raw["service"]), "SUPPLIER", "1.1"
    return found


@pytest.fixture(params=["base64", "xml"])
def mapping(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """The table with either form of payload."""
    return read_table(changed(tmp_path, ("payload: base64", f"payload: {request.param}")))


def test_the_names_of_the_table_are_those_of_the_channel() -> None:
    assert dict(adapter.service) == table().raw["service"]
    assert QueueNames(**table().raw["service"]) == QueueNames(namespace="urn:be:atrias:b2b:messageservice:1")


def test_a_message_that_the_channel_sends_arrives(mapping: Table) -> None:
    built = adapter.build(request("MoveInRequest"), REFERENCE)
    assert not isinstance(built, Refusal)
    sent = channel_of(mapping).sending(built)
    call = service.read_call(mapping, sent)
    assert isinstance(call, service.Call)
    assert (call.operation, call.queue, call.identifier, call.kind) == ("send", "SUPPLIER", REFERENCE, built.type)
    assert etree.tostring(etree.fromstring(call.payload), method="c14n", exclusive=True) == etree.tostring(
        etree.fromstring(built.content), method="c14n", exclusive=True
    )


def test_a_message_that_the_service_gives_arrives(mapping: Table) -> None:
    channel = channel_of(mapping)
    body = read_body(service.answer_get(mapping, "M-1", content("responses.xml")))
    assert body is not None
    assert channel.text(body, channel.names.identifier) == "M-1"
    holder = channel._find(body, channel.names.message)
    assert holder is not None
    payload = channel._payload(holder)
    assert isinstance(payload, bytes)
    assert etree.tostring(etree.fromstring(payload), method="c14n", exclusive=True) == etree.tostring(
        etree.fromstring(content("responses.xml")), method="c14n", exclusive=True
    )


def test_an_empty_queue_a_count_and_a_state_are_understood() -> None:
    channel = channel_of(table())
    bodies = [
        read_body(text)
        for text in (
            service.answer_empty(table()),
            service.answer_count(table(), 7),
            service.answer_available(table(), available=False),
            service.answer_send(table(), "M-2"),
        )
    ]
    empty, count, state, sent = (body for body in bodies if body is not None)
    assert channel._find(empty, channel.names.message) is None
    assert channel.text(count, channel.names.total) == "7"
    assert channel.text(state, channel.names.state) == "false"
    assert channel.text(sent, channel.names.identifier) == "M-2"


@pytest.mark.parametrize("operation", ["get", "count", "available"])
def test_the_other_calls_are_understood(operation: str) -> None:
    names = table().raw["service"]
    call = f'<m:{names[operation]} xmlns:m="{names["namespace"]}"><m:QueueName>Q</m:QueueName></m:{names[operation]}>'
    assert service.read_call(table(), wrapped(call.encode(), "1.2")) == service.Call(operation, "Q")  # type: ignore[arg-type]


def test_what_is_no_call_is_refused() -> None:
    names = table().raw["service"]
    bad = f'<SendMessageRequest xmlns="{names["namespace"]}"><Message>%%%</Message></SendMessageRequest>'
    cases = {
        b"no xml": "XML_SYNTAX",
        b"<a/>": "TYPE_UNKNOWN",
        wrapped(b"<a/>", "1.1"): "TYPE_UNKNOWN",
        wrapped(bad.encode(), "1.1"): "SYN_VALUE",
    }
    for text, code in cases.items():
        refused = service.read_call(table(), text)
        assert isinstance(refused, Refusal)
        assert refused.code == code
