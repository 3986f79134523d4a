"""The CH messages of a member, digested and prepared in batches: what needs nothing of the store but the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from energycomm.eis import tables
from energycomm.eis.database import is_lost
from energycomm.eis.fitting import all_fit, expected, fits, storable
from energycomm.kernel.verdicts import Refusal
from energycomm.logs import Log
from energycomm.market.contract import MemberHead, Transaction
from energycomm.pipeline.batch import Prepared
from energycomm.pipeline.fold import fault_words
from energycomm.portfolio.reading import Digesting
from energycomm.transport.codes import refuse
from energycomm.transport.members import BrokenMember, Member

log = Log()


class Wanted(Struct, frozen=True):
    """Which CH messages of a member are wanted, by their positions: those behind the stored ones, and those that were
    put aside; of these, none that was read before.

    Attributes:
      committed: position of the last one that is stored.
      again: positions of those that were put aside and are to be tried again.
      read: position up to which all were read before.
    """

    committed: int = 0
    again: frozenset[int] = frozenset()
    read: int = 0

    def __contains__(self, position: int) -> bool:
        return position > self.read and (position > self.committed or position in self.again)


TOGETHER = 500
"""CH messages that are read before their Kernel XML is written, at most: what was read of them is held until then."""


class Batch(Struct, frozen=True):
    """The next CH messages of a member.

    Attributes:
      prepared: those that are wanted, with their Kernel XML; maybe none.
      position: number of the last one that was read, wanted or not; 0 where the member has none.
      last: there are no more.
    """

    prepared: Prepared
    position: int
    last: bool


def digested(
    envelope: int, member: Member, adapter: Digesting, label: str, cut: Refusal | None
) -> Iterator[MemberHead | Transaction | Refusal]:
    """What the adapter reads in a member; a refusal is the last of it, and of a member that was cut always comes.

    Args:
      envelope: the number of its envelope, for the log.
      member: the member.
      adapter: of its market.
      label: of its type.
      cut: why it is not whole.

    Raises:
      UserError: the database was lost while the member was read.
    """
    try:
        with member.open() as content:
            for item in adapter.digest(label, content, member.name):
                if isinstance(item, MemberHead):
                    item = _unfit(item, member.path) or item
                if isinstance(item, Refusal):
                    yield cut or item
                    return
                yield item
        if cut is not None:
            yield cut
    except BrokenMember as broken:
        yield broken.refusal
    except Exception as error:
        if is_lost(error):
            raise  # while the member was read: nothing is wrong with it
        log.error("adapter.fault", envelope=envelope, member=member.path, exc_info=error)
        yield _adapter_fault(member.path, error)


def batches(
    items: Iterable[MemberHead | Transaction | Refusal],
    wanted: Wanted,
    size: int,
    prepare: Callable[[Sequence[Transaction]], Prepared],
) -> Iterator[MemberHead | Batch | Refusal]:
    """The CH messages that are wanted, prepared in batches; heads and refusals as they come.

    Args:
      items: what `digested` gives.
      wanted: holds the positions that are wanted.
      size: CH messages in one batch.
      prepare: writes their Kernel XML.

    Yields:
      The head; batches, the last of which says so; a refusal instead of that where the member cannot be read.
    """
    waiting: list[Transaction] = []
    position = 0
    for item in items:
        if isinstance(item, MemberHead):
            yield item
        elif isinstance(item, Refusal):
            if waiting:
                yield Batch(prepare(waiting), position, last=False)
            yield item
            return
        else:
            position = item.position
            if position in wanted:
                waiting.append(item)
                if len(waiting) >= size:
                    yield Batch(prepare(waiting), position, last=False)
                    waiting = []
    yield Batch(prepare(waiting), position, last=True)


_OF_HEAD = ("type", "declared_version", "version", "sender", "receiver")
"""What the store keeps of a header."""
_head_fits = all_fit(tables.member, _OF_HEAD)


def _unfit(head: MemberHead, path: str) -> Refusal | None:
    """Why a header cannot be kept, or None."""
    if _head_fits(head.type, head.declared_version, head.version, head.sender, head.receiver):
        return None
    for name in _OF_HEAD:
        column, value = tables.member.c[name], getattr(head, name)
        if value is not None and not fits(column, value):
            return refuse("HEAD_VALUE", f"{path}: {name}", storable(value, 120), expected(column))
    return None


def _adapter_fault(path: str, error: Exception) -> Refusal:
    """What is recorded when a digester breaks on a member: a fault of the program, not of the market."""
    return Refusal(
        code="ADAPTER_FAULT",
        path=path,
        value=fault_words(error),
        expected="a digester that finishes",
        advice="report it with the envelope; it is kept, and `energycomm envelope retry` processes it again",
    )
