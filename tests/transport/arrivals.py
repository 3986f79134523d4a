"""A message to send, files that arrive, and what is in an arrival: what the tests of channels share."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import Struct

from energycomm.transport.channel import Arrival, Incoming


class Message(Struct, frozen=True, kw_only=True):
    """A message to send."""

    type: str = "C15"
    content: bytes = b"<a/>"
    reference: str = "r1"
    content_type: str = "application/xml"


def drop(folder: Path, name: str, content: bytes = b"x", age: float = 60) -> Path:
    """Leave a file that has not changed for `age` seconds."""
    path = folder / name
    path.write_bytes(content)
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def content_of(arrival: Arrival) -> bytes:
    """All of an arrival."""
    with arrival.open() as file:
        return file.read()


def taken(channel: Incoming) -> list[Arrival]:
    """What a poll gives, where nothing goes wrong."""
    found = []
    for item in channel.poll():
        assert isinstance(item, Arrival), item
        found.append(item)
    return found
