"""One suite for every incoming and outgoing channel that needs no server; the others run it in their own files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from energycomm.transport.channel import TRANSIENT, Incoming, Sending, Sent, TechnicalError
from energycomm.transport.codes import CODES
from energycomm.transport.folders import FolderIn, FolderOut
from energycomm.transport.patience import ABOUT_ONE_ITEM, AT_ONCE, IGNORED
from tests.transport.arrivals import Message, content_of, drop, taken
from tests.transport.memory import MemoryIn, MemoryOut

Put = Callable[[str, bytes], object]


@pytest.fixture(params=["memory", "folder"])
def incoming(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Incoming, Put]:
    """A channel, and how an envelope is put into it."""
    if request.param == "memory":
        memory = MemoryIn()
        return memory, memory.put
    return FolderIn("in", "FR", tmp_path), lambda name, content: drop(tmp_path, name, content)


@pytest.fixture(params=["memory", "folder"])
def sending(request: pytest.FixtureRequest, tmp_path: Path) -> Sending:
    """A channel that sends."""
    return MemoryOut() if request.param == "memory" else FolderOut("out", "FR", tmp_path)


def test_an_incoming_channel_keeps_what_it_promises(incoming: tuple[Incoming, Put]) -> None:
    """Each once; the same content as often as it is opened; not twice; again when given back; never after done."""
    channel, put = incoming
    assert isinstance(channel, Incoming)
    assert isinstance(channel.check(), str)
    put("a.xml", b"<a/>")
    put("b.xml", b"<b/>")
    first, second = taken(channel)
    assert [first.name, second.name] == ["a.xml", "b.xml"]
    assert first.channel == channel.name
    assert (first.size, content_of(first), content_of(first)) == (4, b"<a/>", b"<a/>")
    assert taken(channel) == []
    assert first.acknowledge() is None
    second.give_back()
    (again,) = taken(channel)
    assert content_of(again) == b"<b/>"
    assert again.acknowledge("duplicate") is None
    assert taken(channel) == []


def test_what_is_open_at_the_end_comes_again(incoming: tuple[Incoming, Put]) -> None:
    """Closing gives back what was not acknowledged."""
    channel, put = incoming
    put("a.xml", b"<a/>")
    assert len(taken(channel)) == 1
    channel.close()
    assert len(taken(channel)) == 1


def test_a_sending_channel_keeps_what_it_promises(sending: Sending) -> None:
    """The same once more is a duplicate, other bytes under one reference are a conflict."""
    assert isinstance(sending, Sending)
    assert isinstance(sending.check(), str)
    first, second = sending.send(Message()), sending.send(Message())
    assert isinstance(first, Sent)
    assert isinstance(second, Sent)
    assert (first.duplicate, second.duplicate, first.receipt) == (False, True, second.receipt)
    conflict = sending.send(Message(content=b"<other/>"))
    assert isinstance(conflict, TechnicalError)
    assert conflict.code == "CHANNEL_CONFLICT"
    assert not conflict.transient


def test_the_twin_fails_as_it_is_told() -> None:
    """Faults, lost acknowledgements and messages that arrived although we were not told."""
    fault = TechnicalError(code="CHANNEL_TIMEOUT", channel="memory-out", detail="slow", maybe_sent=True)
    out = MemoryOut()
    out.faults.append(fault)
    assert out.send(Message()) == fault
    repeated = out.send(Message())
    assert isinstance(repeated, Sent)
    assert repeated.duplicate
    incoming = MemoryIn()
    incoming.put("a", b"1")
    incoming.lose_acknowledgements = 1
    (arrival,) = taken(incoming)
    assert arrival.acknowledge() is not None
    (arrival,) = taken(incoming)
    assert arrival.acknowledge() is None
    assert incoming.settled == [("a", "done")]


def test_every_code_of_a_channel_is_in_the_table_and_every_one_of_the_table_is_used(project_root: Path) -> None:
    """No operator meets a code that no page explains, and none is explained that never comes."""
    sources = [path for path in (project_root / "energycomm" / "transport").glob("*.py") if path.name != "codes.py"]
    written = {code for path in sources for code in re.findall(r'"(CHANNEL_[A-Z_]+)"', path.read_text("utf-8"))}
    assert written == {row.code for row in CODES if row.code.startswith("CHANNEL_")}
    assert written >= TRANSIENT | ABOUT_ONE_ITEM | AT_ONCE | IGNORED
    assert not TRANSIENT & AT_ONCE
