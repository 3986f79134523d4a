"""A process that reads a large member for the one that judges and stores: it opens, digests, checks and writes Kernel
XML, some batches ahead.

What it gives is what this process would have read by itself. Where it ends, or cannot be started, this process reads
on from there, so that nothing depends on it but time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct
from sqlalchemy import Engine

from energycomm.eis import archive
from energycomm.kernel.check import KernelChecker
from energycomm.kernel.codec import decode_several, encode_several
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import MemberHead, Transaction
from energycomm.market.installed import Markets
from energycomm.pipeline.batch import Prepared, prepare
from energycomm.pipeline.digesting import Batch, Wanted, batches, digested
from energycomm.processes import helpers
from energycomm.transport.envelopes import open_envelope
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Limits
from energycomm.transport.members import Member

log = Log()

AHEAD = 3
"""Batches that are read ahead: they are in memory."""


class Lost(Exception):
    """The process that reads has ended, or cannot be used: read on without it."""


class Order(Struct, frozen=True):
    """A member to be read.

    Attributes:
      id: of its envelope.
      envelope: SHA-256 of the bytes of its envelope, which are kept.
      name: of its envelope.
      number: of the member in its envelope, from 1; what is refused is counted too.
      sha256: of its bytes.
      market, label: what digests it.
      cut: why it is not whole.
      wanted: which of its CH messages are wanted.
    """

    id: int
    envelope: bytes
    name: str
    number: int
    sha256: bytes
    market: str
    label: str
    cut: Refusal | None
    wanted: Wanted


class Place(NamedTuple):
    """What reading takes: the store that keeps the bytes, the markets, the keys that open envelopes, their bounds."""

    engine: Engine
    markets: Markets
    keys: KeyRing
    limits: Limits


Opening: TypeAlias = Callable[[], AbstractContextManager[Place]]
"""Opens the place in the process that reads; it is pickled."""


class Reader:
    """Has large members read by another process, which lives from `start` to the end of a block.

        with reader:
            reader.start()
            for item in reader.read(order, 500): ...

    Args:
      opening: opens what that process needs.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Let the process begin, where it did not yet."""
        if self._pool is None:
            self._pool = helpers(1, _open, self._opening)
            try:
                self._pool.submit(_nothing)
            except Exception as error:  # the system has no room for another process
                log.warning("reader.not_started", why=str(error))

    def stop(self) -> None:
        """Let the process end."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def read(self, order: Order, size: int) -> Iterator[MemberHead | Batch | Refusal]:
        """What `energycomm.pipeline.digesting.batches` gives of a member.

        Args:
          order: the member.
          size: CH messages in one batch.

        Raises:
          Lost: what was not given yet is to be read without it.
        """
        self.start()
        assert self._pool is not None
        waiting: deque[Future[Any]] = deque()
        while True:
            try:
                if not waiting:
                    waiting.append(self._pool.submit(_begin, order, size))
                    waiting.extend(self._pool.submit(_next) for _ in range(AHEAD))
                    waiting.popleft().result()
                item = waiting.popleft().result()
                waiting.append(self._pool.submit(_next))
                read: MemberHead | Batch | Refusal = _unpacked(*item) if isinstance(item, tuple) else item
            except Exception as error:
                self.stop()
                raise Lost(f"{type(error).__name__}: {error}") from error
            yield read
            if isinstance(read, Refusal) or (isinstance(read, Batch) and read.last):
                return


Packed: TypeAlias = tuple[list[tuple[Any, ...]], bytes, list[list[str]], list[tuple[Refusal, ...]], int, bool]
"""A batch on its way: CH messages without their Kernel messages but with the number of them, the Kernel messages, and
what else a batch holds."""


def _packed(batch: Batch) -> Packed:
    """A batch for another process. Kernel messages of what is refused stay behind: nobody looks at them."""
    transactions, xmls, refusals = batch.prepared.transactions, batch.prepared.xmls, batch.prepared.refusals
    rows: list[tuple[Any, ...]] = []
    messages: list[KernelMessage] = []
    for one, refused in zip(transactions, refusals, strict=True):
        mine = () if refused else one.messages
        messages += mine
        rows.append((len(mine), *(getattr(one, name) for name in _OWN)))
    return rows, encode_several(messages), xmls, refusals, batch.position, batch.last


_OWN = tuple(name for name in Transaction.__struct_fields__ if name != "messages")


def _unpacked(
    rows: list[tuple[Any, ...]],
    content: bytes,
    xmls: list[list[str]],
    refusals: list[tuple[Refusal, ...]],
    position: int,
    last: bool,
) -> Batch:
    messages = iter(decode_several(content))
    transactions = [
        Transaction(messages=tuple(islice(messages, number)), **dict(zip(_OWN, values, strict=True)))
        for number, *values in rows
    ]
    return Batch(Prepared(transactions, xmls, refusals), position, last)


# --- in the process that reads ---


class _Reading:
    """What the process that reads has open."""

    place: Place
    checker: KernelChecker
    items: Iterator[MemberHead | Batch | Refusal]


_held = ExitStack()


def _open(opening: Opening) -> None:
    _Reading.checker = KernelChecker()
    _Reading.place = _held.enter_context(opening())


def _nothing() -> None:
    pass


def _begin(order: Order, size: int) -> None:
    _Reading.items = _read(_Reading.place, order, size)


def _next() -> MemberHead | Refusal | Packed | None:
    item = next(_Reading.items, None)  # what was asked for ahead may be behind the last
    return _packed(item) if isinstance(item, Batch) else item


def _read(place: Place, order: Order, size: int) -> Iterator[MemberHead | Batch | Refusal]:
    with (
        archive.open_raw(place.engine, order.envelope) as raw,
        open_envelope(raw, order.name, place.keys, place.limits) as opened,
    ):
        member = next(islice(opened, order.number - 1, None))
        assert isinstance(member, Member)
        member.sha256 = order.sha256  # computed before
        items = digested(order.id, member, place.markets[order.market], order.label, order.cut)
        yield from batches(items, order.wanted, size, partial(prepare, _Reading.checker))
