"""In-memory channels for tests and simulations: nothing is written, and faults are injected."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from io import BytesIO

from energycomm.transport.channel import Arrival, Direction, Outcome, Outgoing, Sent, TechnicalError


class MemoryIn:
    """Incoming channel in memory.

    Attributes:
      settled: (name, outcome) of what was acknowledged, in order.
      faults: errors that the next polls end with, before anything is yielded.
      lose_acknowledgements: how many of the next acknowledgements are lost: the arrival comes again.
    """

    direction: Direction = "in"

    def __init__(self, name: str = "memory-in", market: str = "XX") -> None:
        self.name, self.market = name, market
        self.settled: list[tuple[str, Outcome]] = []
        self.faults: deque[TechnicalError] = deque()
        self.lose_acknowledgements = 0
        self._waiting: dict[int, tuple[str, bytes]] = {}
        self._held: set[int] = set()
        self._number = 0

    def put(self, name: str, content: bytes) -> None:
        """Let an envelope arrive."""
        self._number += 1
        self._waiting[self._number] = (name, content)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Names of what is not acknowledged."""
        return tuple(name for name, _ in self._waiting.values())

    def crash(self) -> None:
        """Forget the delivered items, as after a crash: all are delivered again."""
        self._held.clear()

    def check(self) -> str | TechnicalError:
        """How many wait, or the next fault."""
        return self.faults[0] if self.faults else f"{len(self._waiting)} envelopes wait"

    def close(self) -> None:
        """Give back what was neither acknowledged nor given back."""
        self._held.clear()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """What was put in, in that order."""
        if self.faults:
            yield self.faults.popleft()
            return
        for number, (name, content) in list(self._waiting.items()):
            if number in self._held or number not in self._waiting:
                continue
            self._held.add(number)
            yield self._arrival(number, name, content)

    def _arrival(self, number: int, name: str, content: bytes) -> Arrival:
        def settle(outcome: Outcome, _reason: str) -> TechnicalError | None:
            if self.lose_acknowledgements > 0:
                self.lose_acknowledgements -= 1
                self._held.discard(number)
                return TechnicalError(code="CHANNEL_BROKEN", channel=self.name, detail="lost as told", item=name)
            self._waiting.pop(number, None)
            self._held.discard(number)
            self.settled.append((name, outcome))
            return None

        return Arrival(
            self.name, name, len(content), lambda: BytesIO(content), settle, lambda: self._held.discard(number)
        )


class MemoryOut:
    """Outgoing channel in memory.

    Attributes:
      sent: what was sent, each reference once, in order.
      attempts: references of all attempts, those that failed too.
      faults: errors that the next attempts end with; where `maybe_sent` is set the message is taken all the same.
      answers: what the next attempts that succeed are answered with.
    """

    direction: Direction = "out"

    def __init__(self, name: str = "memory-out", market: str = "XX") -> None:
        self.name, self.market = name, market
        self.sent: dict[str, Outgoing] = {}
        self.attempts: list[str] = []
        self.faults: deque[TechnicalError] = deque()
        self.answers: deque[bytes] = deque()

    def check(self) -> str | TechnicalError:
        """How many were sent, or the next fault."""
        return self.faults[0] if self.faults else f"{len(self.sent)} messages were sent"

    def close(self) -> None:
        """Nothing is held open."""

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Keep a message; one whose reference is known is a duplicate where its bytes are equal, else a conflict."""
        self.attempts.append(message.reference)
        fault = self.faults.popleft() if self.faults else None
        before = self.sent.get(message.reference)
        if fault is None or fault.maybe_sent:
            self.sent.setdefault(message.reference, message)
        if fault is not None:
            return fault
        if before is not None and before.content != message.content:
            detail = "this reference was sent with other content"
            return TechnicalError(code="CHANNEL_CONFLICT", channel=self.name, detail=detail, item=message.reference)
        answer = self.answers.popleft() if self.answers else None
        return Sent(
            reference=message.reference,
            receipt=f"memory:{message.reference}",
            answer=answer,
            duplicate=before is not None,
        )
