"""Reports of a worker to the supervisor: signs of life, counts and alarms."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

import msgspec
from msgspec import Struct


class Alive(Struct, frozen=True, tag="alive"):
    """A sign of life.

    Attributes:
      state: starting, idle, working, waiting (for the database), stopping.
      envelope: the envelope that is processed.
      leads: duties that the worker leads.
    """

    state: str
    envelope: int | None = None
    leads: tuple[str, ...] = ()


class Count(Struct, frozen=True, tag="count"):
    """Something happened so often."""

    name: str
    labels: tuple[str, ...] = ()
    value: float = 1


class Timing(Struct, frozen=True, tag="timing"):
    """Something took so many seconds, or is so much (a gauge)."""

    name: str
    labels: tuple[str, ...] = ()
    value: float = 0


class Alarming(Struct, frozen=True, tag="alarming"):
    """Something that alarms is so, or is so no more.

    Attributes:
      code: one of `energycomm.daemon.alarms.ALARMS`.
      subject: what it is about: a channel, a database.
      on: whether it is so.
      detail: in words.
    """

    code: str
    subject: str
    on: bool
    detail: str = ""


Report = Alive | Count | Timing | Alarming

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Report] = msgspec.msgpack.Decoder(Report)


def decode(data: bytes) -> Report:
    """What was sent."""
    return _decoder.decode(data)


class Reporter:
    """The worker's end of the line; safe for threads.

    Args:
      connection: the line; None where nobody listens.
      orphaned: called when the supervisor is gone.
    """

    def __init__(self, connection: Connection | None, orphaned: Callable[[], object] = lambda: None) -> None:
        self._connection, self._orphaned = connection, orphaned
        self._lock = threading.Lock()
        self._on: dict[tuple[str, str], str | None] = {}

    def send(self, report: Report) -> None:
        """Tell the supervisor."""
        if self._connection is None:
            return
        try:
            with self._lock:
                self._connection.send_bytes(_encoder.encode(report))
        except (OSError, ValueError):
            self._orphaned()

    def count(self, name: str, *labels: str, value: float = 1) -> None:
        """Count something."""
        if value:
            self.send(Count(name, labels, value))

    def timing(self, name: str, *labels: str, value: float) -> None:
        """Tell a measured value."""
        self.send(Timing(name, labels, value))

    def alarm(self, code: str, subject: str, on: bool, detail: str = "") -> None:
        """Tell that something that alarms is so, or no more; said once at each change, of its words too."""
        told = detail if on else None
        with self._lock:
            if self._on.get((code, subject)) == told:
                return
            self._on[code, subject] = told
        self.send(Alarming(code, subject, on, detail))

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
