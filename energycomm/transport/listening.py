"""How we listen for HTTP: uvicorn, with bounds of time and number on every connection before a request is worked on.

uvicorn has no time limit for the head of a request, nor for its body, nor for an answer that nobody reads. Here a
connection is in one of three phases: it *waits* for a whole head, *receives* a body, or is *worked* on. Whoever waits
or receives has a deadline and makes room for newcomers, the oldest first; work is bounded by its number. So connections
that say nothing cannot keep out one that asks, and health is answered even when all other places are taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import ssl
from collections import Counter
from collections.abc import Callable, Collection
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final, Literal

import h11
import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from energycomm.transport.heads import BoundedReader
from energycomm.transport.settings import ListenSettings

Phase = Literal["waiting", "receiving", "working"]
IDLE_PHASES: Final[tuple[Phase, ...]] = ("waiting", "receiving")

RESERVE: Final = 32
"""Connections beyond the limit for when all others are worked on: only health is answered there."""
BODY_GRACE: Final = 10.0
BODY_RATE: Final = 16_384
"""A body may take `BODY_GRACE` seconds, and one more for so many bytes that arrived."""
DRAIN_SECONDS: Final = 10.0
"""Time for the rest of a body that was answered before it was read."""
HANDSHAKE_SECONDS: Final = 5.0
LINGER_SECONDS: Final = 5.0
"""Time for the last bytes of an answer whose connection is closed."""
IDLE_SECONDS: Final = 30.0
"""Time between two requests of a connection."""
ANSWER_SECONDS: Final = 30.0
"""Time without any progress of a client that reads its answer."""
HEALTH: Final = frozenset(("/health", "/health/live", "/health/ready"))
OPEN_FILES: Final = 256
"""Files that a process opens besides its connections."""


class Bounds(Struct, frozen=True, kw_only=True):
    """Limits of concurrent connections.

    Attributes:
      connections: open connections.
      per_address: connections of one address that ask nothing yet, and requests of it that are worked on.
      requests: requests that are worked on.
      header_seconds: time for the head of a request.
      trusted: addresses or networks of proxies, or ``*``: many clients come from one of them, so `per_address` is not
        for them.
      body_bytes: largest body, for an application that does not bound it by itself.
    """

    connections: int = 512
    per_address: int = 100
    requests: int = 200
    header_seconds: float = 10.0
    trusted: tuple[str, ...] = ()
    body_bytes: int | None = None

    @classmethod
    def of(cls, settings: ListenSettings, trusted: Collection[str] = (), *, per_address: bool = True) -> Bounds:
        """The bounds that the configuration sets.

        Args:
          settings: [web] or [push].
          trusted: addresses of proxies in front of us.
          per_address: whether there is a bound for one address at all.
        """
        return cls(
            connections=settings.connections,
            per_address=settings.connections_per_address if per_address else settings.connections,
            requests=max(1, settings.connections * 2 // 5),
            header_seconds=settings.header_seconds,
            trusted=tuple(trusted),
        )


class Room:
    """The connections of a server by phase, the oldest of each first; used by the event loop's thread only."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._phases: dict[Phase, dict[Listener, None]] = {"waiting": {}, "receiving": {}, "working": {}}
        self._proxies = [ip_network(one, strict=False) for one in bounds.trusted if _is_network(one)]
        self._of: Counter[str] = Counter()
        self._working_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(len(phase) for phase in self._phases.values())

    def enter(self, new: Listener) -> bool:
        """Give a new connection a place; the oldest that asked nothing yet loses its own for it.

        Returns:
          False where there is none: everybody is worked on.
        """
        bounds = self.bounds
        oldest = None
        if self._of[new.address] >= bounds.per_address and not self._trusts(new.peer):
            oldest = self._oldest(new.address)
        if oldest is None and len(self) >= bounds.connections:
            oldest = self._oldest()
        if oldest is not None:
            self.leave(oldest)
            oldest.drop()
        elif len(self) >= bounds.connections + RESERVE:
            return False
        new.phase, new.since = "waiting", new.loop.time()
        self._phases["waiting"][new] = None
        self._of[new.address] += 1
        return True

    def move(self, one: Listener, phase: Phase) -> None:
        """A connection comes to another phase."""
        if one not in self._phases[one.phase]:
            return
        self._forget(one)
        one.phase, one.since = phase, one.loop.time()
        self._phases[phase][one] = None
        self._working_of[one.address] += phase == "working"

    def leave(self, one: Listener) -> None:
        """A connection is over; once or more often."""
        if one in self._phases[one.phase]:
            self._forget(one)
            self._of[one.address] -= 1
            if not self._of[one.address]:
                del self._of[one.address], self._working_of[one.address]

    def crowded(self, one: Listener) -> bool:
        """Whether more is worked on than may be, the request of this connection counted."""
        if len(self._phases["working"]) > self.bounds.requests:
            return True
        return self._working_of[one.address] > self.bounds.per_address and not self._trusts(one.peer)

    def _trusts(self, peer: str) -> bool:
        if "*" in self.bounds.trusted or peer in self.bounds.trusted:
            return True
        return _is_network(peer) and any(ip_address(peer) in network for network in self._proxies)

    def _oldest(self, address: str | None = None) -> Listener | None:
        oldest = [
            next((one for one in self._phases[phase] if address in (None, one.address)), None) for phase in IDLE_PHASES
        ]
        return min((one for one in oldest if one is not None), key=lambda one: one.since, default=None)

    def _forget(self, one: Listener) -> None:
        del self._phases[one.phase][one]
        self._working_of[one.address] -= one.phase == "working"


class Listener(H11Protocol):
    """One connection. Subclasses made by `http_server` have a room and the certificate."""

    room: Room
    context: ssl.SSLContext | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = self._reader = BoundedReader(h11.SERVER, self.room.bounds.body_bytes)
        self._application, self.app = self.app, self._admit
        self.phase: Phase = "waiting"
        self.since = 0.0
        self.peer = self.address = ""
        self._due: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._heading, self._draining, self._received = True, False, 0
        self._securing: asyncio.Task[None] | None = None
        self._begun, self._early = False, b""

    # What asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, secure the connection where there is a certificate, and wait for a request."""
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.peer = str(peer[0]) if isinstance(peer, tuple) and peer else ""
        self.address = _counted(self.peer)
        if not self.room.enter(self):
            transport.abort()
        elif self.context is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._securing = self.loop.create_task(self._secure(transport, self.context))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if not self._begun:  # it came with the last bytes of the handshake
            self._early += data
            return
        self._received += len(data)
        super().data_received(data)
        if self.phase == "waiting" and not self._heading:
            self._heading = True
            self._wait(self.room.bounds.header_seconds)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self.room.leave(self)
        for timer in (self._due, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read as fast as we write: give it some time."""
        super().pause_writing()
        self._stalled = self.loop.call_later(ANSWER_SECONDS, self.drop)

    def resume_writing(self) -> None:
        """It read on."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    # What uvicorn calls

    def on_response_complete(self) -> None:
        """Wait for the next request, or see the connection closed."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._hang_up()
        else:
            self._look()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request with the fitting status, and close the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.drop()  # the answer has begun
            return
        status, words = self._reader.refused or (400, "The request is not HTTP, or breaks off.")
        content = f'{{"type":"about:blank","title":"{words}","status":{status}}}'.encode()
        headers = {"content-type": "application/problem+json", "connection": "close"}
        sized = [*headers.items(), ("content-length", str(len(content)))]
        for event in (h11.Response(status_code=status, headers=sized), h11.Data(data=content), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._hang_up()

    # Our own

    def drop(self) -> None:
        """Close the connection now, without sending the rest."""
        if self._securing is not None:
            self._securing.cancel()
        self.transport.abort()

    def _begin(self, transport: asyncio.Transport) -> None:
        self._begun = True
        super().connection_made(transport)
        self._wait(self.room.bounds.header_seconds)
        if self._early:
            self.data_received(self._early)

    async def _secure(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        """The handshake, with a deadline, after which the connection begins."""
        try:
            secured = await self.loop.start_tls(
                transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=HANDSHAKE_SECONDS,
            )
        except (OSError, asyncio.CancelledError):  # TLS errors are OSErrors
            self.room.leave(self)
            transport.abort()
            return
        finally:
            self._securing = None
        if secured is None or secured.is_closing():
            self.room.leave(self)
            return
        self._begin(secured)

    async def _admit(self, scope: Any, receive: Any, send: Any) -> None:
        if self.room.crowded(self) and scope["path"] not in HEALTH:
            await _busy(send)
        else:
            await self._application(scope, receive, send)

    def _look(self) -> None:
        """Which phase the connection is in now."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        answered = cycle is None or cycle.response_complete
        drains = cycle is not None and answered and self.conn.their_state is h11.SEND_BODY
        if drains:
            if not self._draining:
                self.room.move(self, "receiving")
                self._draining = True
                self._wait(DRAIN_SECONDS)
        elif answered:
            self._to("waiting", IDLE_SECONDS)
        elif cycle.more_body:
            self._to("receiving", BODY_GRACE)
        else:
            self._to("working", None)

    def _to(self, phase: Phase, seconds: float | None) -> None:
        if phase != self.phase:
            self.room.move(self, phase)
            self._heading, self._draining, self._received = False, False, 0
            self._wait(seconds)

    def _wait(self, seconds: float | None, then: Callable[[], None] | None = None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if seconds is None else self.loop.call_later(seconds, then or self._late)

    def _late(self) -> None:
        """The deadline of the phase is over: a body that came fast enough, or waits for us, has another one."""
        if self.phase == "receiving" and not self._draining:
            earned, self._received = self._received / BODY_RATE, 0
            if self.flow.read_paused or earned >= 1.0:
                self._wait(BODY_GRACE if self.flow.read_paused else earned)
                return
        self._hang_up()

    def _hang_up(self) -> None:
        """Close, and do not wait for ever until the last bytes are taken."""
        self.transport.close()
        self._wait(LINGER_SECONDS, self.transport.abort)


def http_server(app: Any, bounds: Bounds, context: ssl.SSLContext | None = None, **options: Any) -> uvicorn.Server:
    """A server of an application within bounds.

    Args:
      app: an ASGI application.
      bounds: what is taken at once.
      context: the certificate; without it plain HTTP is spoken. It may change its certificate later.
      options: further settings of `uvicorn.Config`.
    """
    listener = type("BoundListener", (Listener,), {"room": Room(bounds), "context": context})
    _open_files(bounds.connections + RESERVE + OPEN_FILES)
    settings = uvicorn.Config(
        app,
        interface="asgi3",
        http=listener,
        loop="asyncio",
        ws="none",
        log_config=None,
        # Ours says who asked for what (the audit); theirs would write personal data of addresses into the log.
        access_log=False,
        server_header=False,
        **options,
    )
    return uvicorn.Server(settings)


async def _busy(send: Any) -> None:
    content = b'{"type":"about:blank","title":"Too many requests are worked on; try again.","status":503}'
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(content)).encode()),
        (b"retry-after", b"1"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _counted(peer: str) -> str:
    """What an address counts as; of IPv6 its network, since whoever has one address there has all of the network."""
    with contextlib.suppress(ValueError):
        address = ip_address(peer.partition("%")[0])
        if isinstance(address, IPv6Address):
            return str(address.ipv4_mapped or address.exploded[:19])
    return peer


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _open_files(wanted: int) -> None:
    """Let the process open that many files, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
