"""Which arrival of a repeated CH message is kept: the one that the market wrote first.

Equal content of equal reference and sender is one CH message, whatever header it came with: snapshots repeat what was
said before, and an answer comes twice where a request was repeated. What its Kernel messages take from the header (when
it was written, to whom, by which version) must not depend on the file that happened to come first. So the arrivals have
an order of their own: by `created`, then by the text of the Kernel XML. One that comes later and goes before the kept
one takes its place: its XML and its origin are kept, the other becomes the duplicate, and what built on it is judged
again. What was noticed of any of them is kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from energycomm.eis import tables
from energycomm.eis.bulk import NewRow, PostgresDriver
from energycomm.eis.particulars import replace_particulars
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.codec import decode
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import Transaction

Rank = tuple[int, Sequence[str], str]


class Arrival(NamedTuple):
    """A CH message as it came in one member.

    Attributes:
      envelope_id, member_id: where it came.
      transaction: what its adapter made of it; digested.
      xmls: its Kernel messages as XML.
    """

    envelope_id: int
    member_id: int
    transaction: Transaction
    xmls: Sequence[str]

    @property
    def rank(self) -> Rank:
        """Place among the arrivals of one CH message: the least is kept."""
        return rank(self.transaction, self.xmls)


class Moved(NamedTuple):
    """A stored Kernel message whose XML was taken from another arrival.

    Attributes:
      message_id: the message.
      message: what it says now.
      since: the earlier one of its effective instants before and now, microseconds since the epoch.
    """

    message_id: int
    message: KernelMessage
    since: int


class _Kept(NamedTuple):
    """A CH message as it is stored."""

    place: tuple[int, int, int]
    version: str | None
    messages: list[tuple[int, int, str, str]]
    """(id, effective, kind, XML) of each."""
    erased: bool
    """A customer was taken out of one of them: no other arrival brings the customer back."""


def rank(transaction: Transaction, xmls: Sequence[str]) -> Rank:
    """Place of an arrival among those of one CH message."""
    messages = transaction.messages
    return (micros(messages[0].created) if messages else 0, tuple(xmls), transaction.version or "")


class Repeats:
    """The repeated CH messages of a batch whose first arrival is stored already.

    Args:
      tx: the transaction of the batch.
    """

    def __init__(self, tx: StoreTransaction) -> None:
        self.tx = tx
        self.best: dict[int, Arrival] = {}
        self._moves: list[tuple[int, Arrival, _Kept]] = []

    def add(self, first: int, arrival: Arrival) -> None:
        """Another arrival of a stored CH message that was digested.

        Args:
          first: the CH message.
          arrival: its new arrival.
        """
        other = self.best.get(first)
        if other is None or arrival.rank < other.rank:
            self.best[first] = arrival

    def points(self) -> set[str]:
        """Access points of what may have to be replaced; what need not is forgotten."""
        if not self.best:
            return set()
        kept = self._kept()
        self.best = {first: arrival for first, arrival in self.best.items() if _goes_before(arrival, kept.get(first))}
        messages = (message for arrival in self.best.values() for message in arrival.transaction.messages)
        return {message.access_point for message in messages if message.access_point is not None}

    def replace(self) -> list[Moved]:
        """Keep the arrivals that go before the stored ones. The access points of `points` are locked by now.

        Returns:
          The Kernel messages that must be judged again.
        """
        moved: list[Moved] = []
        # What another worker kept meanwhile counts: it is read again, and nobody changes it from now on.
        self._lock()
        kept = self._kept()
        for first, arrival in sorted(self.best.items()):
            stored = kept.get(first)
            if stored is None or not _goes_before(arrival, stored):
                continue
            self._moves.append((first, arrival, stored))
            rows = zip(stored.messages, arrival.transaction.messages, arrival.xmls, strict=True)
            for (number, effective, _, _), message, xml in rows:
                at = micros(message.effective)
                self.tx.driver.update(tables.kernel_message, ("effective", "xml"), [(number, at, xml)])
                moved.append(Moved(number, message, min(at, effective)))
        replace_particulars(self.tx, [(one.message_id, one.message) for one in moved])
        return moved

    def settle(self) -> None:
        """The new arrival is where the CH message came from, and the one before it the duplicate; the duplicates of the
        batch are stored by now."""
        for first, arrival, stored in self._moves:
            transaction, place = arrival.transaction, ("envelope_id", "member_id", "position")
            now_at = (arrival.envelope_id, arrival.member_id, transaction.position)
            self.tx.driver.update(tables.ch_message, (*place, "version"), [(first, *now_at, transaction.version)])
            sql = (
                "UPDATE ch_duplicate SET envelope_id = ?, member_id = ?, position = ? "
                "WHERE first_id = ? AND member_id = ? AND position = ?"
            )
            self.tx.driver.run(sql, (*stored.place, first, *now_at[1:]))

    def _lock(self) -> None:
        """Let no other worker replace the same CH messages; those that refer to them may still be stored."""
        if isinstance(self.tx.driver, PostgresDriver):
            sql = "SELECT id FROM ch_message WHERE true"
            self.tx.driver.matching(sql, sorted(self.best), "id", "ORDER BY id FOR NO KEY UPDATE")

    def _kept(self) -> dict[int, _Kept]:
        driver = self.tx.driver
        rows = [
            (*row[:8], driver.vault.text("kernel_message", row[5], row[8]), row[9])
            for row in driver.matching(_KEPT, sorted(self.best), "c.id", "ORDER BY c.id, k.position")
        ]
        return {
            first: _Kept(
                group[0][1:4], group[0][4], [row[5:9] for row in group], any(row[9] is not None for row in group)
            )
            for first, group in ((first, list(found)) for first, found in groupby(rows, key=lambda row: row[0]))
        }


_KEPT = (
    "SELECT c.id, c.envelope_id, c.member_id, c.position, c.version, k.id, k.effective, k.kind, k.xml, k.erased_at "
    "FROM ch_message c JOIN kernel_message k ON k.ch_message_id = c.id WHERE k.version = 1"
)


def _goes_before(arrival: Arrival, stored: _Kept | None) -> bool:
    """Whether an arrival takes the place of the stored one."""
    if stored is None or stored.erased:
        return False
    xmls = tuple(row[3] for row in stored.messages)
    if xmls == tuple(arrival.xmls) and stored.version == arrival.transaction.version:
        return False
    if [row[2] for row in stored.messages] != [type(one).__name__ for one in arrival.transaction.messages]:
        return False  # a digester of another day: what it makes is no other arrival of the same messages
    first = decode(xmls[0])
    if not isinstance(first, KernelMessage):
        return False
    return arrival.rank < (micros(first.created), xmls, stored.version or "")


def chosen(arrivals: Iterable[tuple[bytes, tuple[int, int], Transaction, Sequence[str]]]) -> dict[bytes, Any]:
    """Which arrival of each CH message of one batch is kept, where it arrives in it more than once.

    Args:
      arrivals: (identity, place, transaction, XML of its Kernel messages) of each.

    Returns:
      Identity -> place.
    """
    found: dict[bytes, list[tuple[tuple[int, int], Transaction, Sequence[str]]]] = {}
    for identity, *arrival in arrivals:
        found.setdefault(identity, []).append(tuple(arrival))  # type: ignore[arg-type]
    return {
        identity: min(several, key=lambda one: (rank(one[1], one[2]), one[0]))[0]
        for identity, several in found.items()
        if len(several) > 1
    }


def insert_notes(tx: StoreTransaction, notes: Sequence[NewRow]) -> None:
    """Store new notes about repeated CH messages.

    Args:
      tx: the transaction; notes of the batch itself are stored by now.
      notes: rows of `incident` without their ids.
    """
    names = ("ch_message_id", "code", "path", "value", "expected")
    sql = f"SELECT {', '.join(names)} FROM incident WHERE severity = 'note'"  # noqa: S608 - our own names
    first = sorted({note["ch_message_id"] for note in notes})
    known = set(tx.driver.matching(sql, first, "ch_message_id")) if notes else set()
    fresh = []
    for note in notes:
        told = tuple(note[name] for name in names)
        if told not in known:
            known.add(told)
            fresh.append(note)
    tx.insert(tables.incident, fresh)
