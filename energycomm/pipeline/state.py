"""The state of one access point between messages, in a fold in business order.

The state is small and bounded, whatever the number of messages: rules never need more of the past than `History`
declares, and `History` is computed from here. It is stored with the access point, so that one query per batch brings
all that the rules of the batch may know.
"""

from __future__ import annotations

from itertools import islice
from threading import Lock

import msgspec
from msgspec import Struct, field

from energycomm.eis.packing import STATES, pack, unpack
from energycomm.kernel.history import Stated

MAX_REQUESTS = 16
MAX_CHARGES = 64
MAX_IDENTIFIERS = 16
MAX_AWAITED = 8


def identifier_key(kind: str, source: str, reference: str) -> str:
    """The market's identifier of a reading or volume among those of other kinds and sources."""
    return f"{kind[:7]}|{source}|{reference}"


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in the order of time; those that touch or overlap are one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


Spans = list[tuple[int, int]]
"""Spans in the order of time that do not overlap."""


def common(some: Spans, others: Spans) -> Spans:
    """What two lists of spans have in common."""
    found, place = [], 0
    for begin, end in some:
        while place < len(others) and others[place][1] <= begin:
            place += 1
        for low, high in islice(others, place, None):
            if low >= end:
                break
            found.append((max(begin, low), min(end, high)))
    return found


def without(spans: Spans, gone: Spans) -> Spans:
    """Spans without those parts that others cover."""
    if not spans:
        return spans
    bounds = [spans[0][0], *(bound for span in gone for bound in span), spans[-1][1]]
    return common(spans, [(low, high) for low, high in zip(bounds[::2], bounds[1::2], strict=True) if low < high])


class Period(Struct, array_like=True, gc=False):
    """One supply period of ours. Instants are microseconds since the epoch; `row`
    is its id in the EIS, 0 before it has one; `written` is the end that stands in that row. `opening`: only the opening
    balance told it so far; `adopted` is the contract reference that the other of market and opening named."""

    start: int
    message: int
    reference: str | None = None
    supplier: str | None = None
    reason: str | None = None
    end: int | None = None
    end_reason: str | None = None
    end_message: int | None = None
    row: int = 0
    written: int | None = None
    opening: bool = False
    adopted: str | None = None

    @property
    def known_reference(self) -> str | None:
        """The contract reference, whoever named it."""
        return self.reference or self.adopted


class RegisterState(Struct, array_like=True, gc=False):
    """The last accepted index of one register."""

    wh: int
    unit: int
    at: int
    digits: int | None
    estimated: bool
    meter: str | None
    generation: int
    opening: bool = False


class ReadingState(Struct, array_like=True, gc=False):
    """A reading or volume that was accepted at the current instant. `role` tells it from others that may stand beside
    it, `energies` are those of a volume by key, in the finest unit."""

    kind: str
    source: str
    reference: str | None
    own: str
    status: str
    message: int
    estimated: bool = False
    registers: dict[str, RegisterState] = field(default_factory=dict)
    role: str = ""
    energies: dict[str, str] = field(default_factory=dict)
    unnamed: bool = False
    """A correction that names no original replaced it: its cancellation is another message."""
    stream: str | None = None
    """Series of readings that several sources tell."""


class CurveDay(Struct, array_like=True, gc=False):
    """A civil day of a curve: its ordinal number, marks of the places that have a value and of the values, and its
    energy in Wh where the day is whole."""

    day: int
    slots: int
    values: int
    wh: int | None = None


class Told(Struct, array_like=True, gc=False):
    """A series of a stream of curves: the message, when it begins and ends, when it was written, and the spans of which
    its values are current. Instants are microseconds since the epoch."""

    stream: str
    message: int
    at: int
    end: int
    created: int
    spans: Spans


class RequestMemory(Struct, array_like=True, gc=False):
    """The latest milestone of one request."""

    state: str
    milestone: int | None
    at: int


MAX_METERS = 8
"""Meters of one access point that are remembered."""


class AccessPointState(Struct, array_like=True, gc=False):
    """All that the fold carries along for one access point.

    Attributes:
      at: instant of the latest message, microseconds since the epoch; -1 before the first.
      known: a message was accepted.
      periods: supply periods in order of their start.
      events: what was accepted at the instant `at`, to recognise an event that is told twice with other content.
      before: last index of each register strictly before the instant `at`, by register key.
      readings: readings and volumes accepted at the instant `at`.
      stated: what fields that declare it stated last, by name of the fact.
      identifiers: of the latest readings and volumes before the instant `at`, with their kind and source.
      curves: the latest days of each curve.
      series: messages with a series that begins at the instant `at`, and what kind of series it is.
      awaited: contract references that no start has named yet, with the instant of the first message that names each;
        an empty one for messages that name none, before the first supply.
      powers: subscribed power of each time class, where the contract has one for each.
      streams: stream of curves -> keys of the curves that told of it.
      told: series of streams that reach beyond the instant `at`.
      meters: serial numbers of the latest meters that were named and not removed since: a point may have several.
      metered: instant of the first message that named a meter since the latest supply began; -1 before.
      generation: counts the changes of the meter; `generation_at` is the instant of the latest, `removed_at` that at
        which the meter before it, `meter_before`, left.
      opening_at: instant whose state the opening balance told; None without one.
      opening_facts: names of the stated facts whose last value the opening balance gave.
    """

    at: int = -1
    known: bool = False
    periods: list[Period] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    before: dict[str, RegisterState] = field(default_factory=dict)
    readings: list[ReadingState] = field(default_factory=list)
    last_reading: int | None = None
    stated: Stated = field(default_factory=Stated)
    generation: int = 0
    generation_at: int = -1
    requests: dict[str, RequestMemory] = field(default_factory=dict)
    charges: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    curves: dict[str, list[CurveDay]] = field(default_factory=dict)
    series: list[tuple[int, str]] = field(default_factory=list)
    opening_at: int | None = None
    opening_facts: list[str] = field(default_factory=list)
    awaited: dict[str, int] = field(default_factory=dict)
    powers: dict[str, str] = field(default_factory=dict)
    streams: dict[str, list[str]] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    meters: list[str] = field(default_factory=list)
    metered: int = -1
    removed_at: int = -1
    meter_before: str | None = None

    def advance(self, at: int) -> None:
        """Advance to a later instant: messages accepted at the present one become the past."""
        if self.events:
            self.events = []
        if self.readings:
            for reading in self.readings:
                if reading.reference is not None:
                    self.identifiers.append(identifier_key(reading.kind, reading.source, reading.reference))
                    del self.identifiers[:-MAX_IDENTIFIERS]
                if reading.status == "current" and reading.registers:
                    self._remember(reading.registers)
                    self.last_reading = self.at
            self.readings = []
        if self.series:
            self.series = []
        if self.told:
            self.told = [one for one in self.told if one.end > at]
        self.at = at

    def reaches(self, at: int) -> int:
        """The instant `at`, or the beginning of the first series of a stream that reaches beyond it: what is told from
        there on may take values out of that series."""
        return min((one.at for one in self.told if one.end > at), default=at)

    def _remember(self, registers: dict[str, RegisterState]) -> None:
        """Make indexes the last ones of their registers: those of the new meter where both meters were read at one
        instant. A reading that does not say how many digits a register has leaves the number that was stated last, as
        long as the meter is the same."""
        before = self.before
        for key, register in registers.items():
            known = before.get(key)
            if known is not None:
                if known.at == register.at and known.generation > register.generation:
                    continue
                if register.digits is None and known.generation == register.generation:
                    register.digits = known.digits
            before[key] = register


_decoder = msgspec.msgpack.Decoder(AccessPointState)
_encoder = msgspec.msgpack.Encoder()


_PACKED = 0x80
"""First bytes below are those of a packed state; those of earlier versions begin with the head of an array."""


def load_state(data: bytes | memoryview | None) -> AccessPointState:
    """The state that was stored; a new one for an access point nothing is known of."""
    if not data:
        return AccessPointState()
    return _decoder.decode(unpack(bytes(data)) if data[0] < _PACKED else data)


def dump_state(state: AccessPointState) -> bytes:
    """The bytes of the state to store, compressed."""
    return pack(_encoder.encode(state), STATES)


class KnownStates:
    """States that this process stored, so that the next batch need not decode them.

    A state is known by the very bytes that the store holds of it: what another process stored meanwhile, or what was
    undone, has other bytes and is read. So nothing here can be out of date, and what is forgotten costs time only.

    Args:
      most: bytes, as they are stored, of the states that are kept; as objects they take about twenty times that.
    """

    def __init__(self, most: int = 500_000) -> None:
        self._most, self._held = most, 0
        self._known: dict[bytes, AccessPointState] = {}
        self._lock = Lock()

    def take(self, data: bytes | memoryview | None) -> AccessPointState:
        """The state of these bytes, for the taker to change: it is known no more."""
        if not data:
            return AccessPointState()
        stored = bytes(data)
        with self._lock:
            state = self._known.pop(stored, None)
            if state is not None:
                self._held -= len(stored)
        return load_state(stored) if state is None else state

    def look(self, data: bytes | memoryview) -> AccessPointState:
        """The state of these bytes, which stays known: it must not be changed."""
        state = self.take(data)
        self.keep(bytes(data), state)
        return state

    def keep(self, stored: bytes, state: AccessPointState) -> None:
        """Remember what a state is stored as; nobody changes it from now on but who takes it."""
        with self._lock:
            if stored not in self._known:
                self._held += len(stored)
            self._known[stored] = state
            while self._held > self._most:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._held -= len(oldest)
