"""The port of channels: envelopes come in and messages go out through it.

An incoming channel is polled. What it yields stays with the channel until it is acknowledged, and it is acknowledged
only after its bytes are committed in the store: a process that dies in between is given the same arrival again, which
the store knows by its bytes. An outgoing channel sends bytes that were built once. What goes wrong on the way is a
value, `TechnicalError`; what a market answers is never one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Final, Literal, Protocol, runtime_checkable

from msgspec import Struct

from energycomm.transport.codes import ADVICE

Direction = Literal["in", "out"]
Outcome = Literal["done", "duplicate", "failed"]
"""What became of an arrival: taken in, known before, or kept for a person to look at."""

TRANSIENT: Final = frozenset(
    {
        "CHANNEL_ANSWER",
        "CHANNEL_BROKEN",
        "CHANNEL_BUSY",
        "CHANNEL_LIMITED",
        "CHANNEL_LOCAL",
        "CHANNEL_OPEN",
        "CHANNEL_SERVER",
        "CHANNEL_TIMEOUT",
        "CHANNEL_UNREACHABLE",
    }
)
"""Codes of errors that may pass by themselves. The others need a person first; trying at once again does not help."""


class TechnicalError(Struct, frozen=True, kw_only=True):
    """A technical error between the market and us; it says nothing about the content.

    Attributes:
      code: one of the codes ``CHANNEL_...`` of `energycomm.transport.codes`.
      channel: name of the channel.
      detail: what happened, in words; never a secret.
      item: the file or message it is about, None where it is about the channel.
      retry_after: seconds that the other side asks us to wait, None where it does not say.
      maybe_sent: whether the other side may have what was sent all the same. The same bytes must then be sent again,
        never new ones.
      cause: of a channel that is left alone: the error for which it is.
    """

    code: str
    channel: str
    detail: str
    item: str | None = None
    retry_after: float | None = None
    maybe_sent: bool = False
    cause: TechnicalError | None = None

    @property
    def transient(self) -> bool:
        """Whether it may pass by itself."""
        return self.code in TRANSIENT

    def __str__(self) -> str:
        if self.cause is not None:
            return str(self.cause)  # it names what to do; that it is left alone meanwhile is no error of its own
        about = f" ({self.item})" if self.item else ""
        return f"{self.code} on channel {self.channel}{about}: {self.detail} ({ADVICE[self.code]})"


class Sent(Struct, frozen=True, kw_only=True):
    """The other side has the message.

    Attributes:
      reference: the reference that was given.
      receipt: where it is now, or the identifier that the other side gave it.
      answer: what the other side answered at once (the answer of a SOAP request, a fault with its reasons too), to be
        taken in like an arrival; None where it answers later or elsewhere.
      duplicate: the other side had it already.
    """

    reference: str
    receipt: str
    answer: bytes | None = None
    duplicate: bool = False


class Outgoing(Protocol):
    """What is sent; `energycomm.market.contract.OutgoingMessage` is one.

    Attributes:
      type: the market's name of the message type; channels choose the address or action by it.
      content: the market's own bytes, the same at every attempt.
      reference: our reference, which the market repeats; safe as part of a file name or not, channels see to it.
      content_type: media type of the content.
    """

    @property
    def type(self) -> str: ...  # noqa: D102
    @property
    def content(self) -> bytes: ...  # noqa: D102
    @property
    def reference(self) -> str: ...  # noqa: D102
    @property
    def content_type(self) -> str: ...  # noqa: D102


Settle = Callable[[Outcome, str], TechnicalError | None]


class Arrival:
    """One envelope that came in. Open it, commit its bytes, then acknowledge it; or give it back.

    Attributes:
      channel: name of the channel it came through.
      name: its file name, without folders; or the message identifier where it has no name.
      size: size in bytes.
      reference: the identifier that the other side gave it, None where there is none.
    """

    __slots__ = ("_give_back", "_open", "_settle", "channel", "name", "reference", "size")

    def __init__(
        self,
        channel: str,
        name: str,
        size: int,
        opener: Callable[[], IO[bytes]],
        settle: Settle,
        give_back: Callable[[], None],
        reference: str | None = None,
    ) -> None:
        self.channel, self.name, self.size, self.reference = channel, name, size, reference
        self._open, self._settle, self._give_back = opener, settle, give_back

    def __repr__(self) -> str:
        return f"Arrival({self.channel!r}, {self.name!r}, {self.size} bytes)"

    def open(self) -> IO[bytes]:
        """The content as a seekable binary file; may be opened again until it is acknowledged.

        Raises:
          OSError: it cannot be read from the local disk (any more).
        """
        return self._open()

    def acknowledge(self, outcome: Outcome = "done", reason: str = "") -> TechnicalError | None:
        """Tell the channel that the bytes are committed; it does not yield them again.

        Args:
          outcome: what became of it.
          reason: for ``failed``, why, in words; kept beside the file where the channel keeps files.

        Returns:
          An error where the other side could not be told. The arrival may then come once more, as a duplicate.
        """
        return self._settle(outcome, reason)

    def give_back(self) -> None:
        """Leave it with the channel, which yields it again at the next poll: a stop, a full queue, a lost database."""
        self._give_back()


@runtime_checkable
class Channel(Protocol):
    """A channel of either direction.

    Attributes:
      name: its name in the configuration; envelopes and log lines carry it.
      market: ISO code of the market it belongs to.
      direction: in or out, seen from us.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def market(self) -> str: ...  # noqa: D102
    @property
    def direction(self) -> Direction: ...  # noqa: D102

    def check(self) -> str | TechnicalError:
        """Test the channel, without receiving or sending anything: a sentence with the result, or the error."""
        ...

    def close(self) -> None:
        """Release connections and locks. The channel may be used again; it opens anew what it needs."""
        ...


@runtime_checkable
class Incoming(Channel, Protocol):
    """A channel that is polled. One process at a time polls it."""

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """What has arrived, each once, in the other side's order.

        An error with an `item` is about that item, and others follow; one without ends the poll. The iteration may be
        left at any point. Arrivals that were yielded and are neither acknowledged nor given back are not yielded again
        by this object; by another one, after a crash, they are.
        """
        ...


@runtime_checkable
class Sending(Channel, Protocol):
    """A channel that sends."""

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Send one message, in one attempt.

        Sending the same reference with the same bytes again is safe wherever the other side lets us tell.
        """
        ...


class Seen(Protocol):
    """Remembers which files of a server we have; `energycomm.eis.seen_files.SeenFiles` does."""

    def seen(self, channel: str, key: str) -> bool:
        """Whether the channel's file was marked."""
        ...

    def mark(self, channel: str, key: str) -> None:
        """Remember the channel's file, for good."""
        ...


class Unseen:
    """For a channel that is only tried: no file is known, and none can be marked."""

    def seen(self, channel: str, key: str) -> bool:
        """Never."""
        return False

    def mark(self, channel: str, key: str) -> None:
        """Nothing may be marked.

        Raises:
          RuntimeError: always: whoever takes files in needs the store's memory.
        """
        raise RuntimeError(f"a file of {channel} was taken in without the store's memory")
