"""A portfolio file, or a list that a market sent, against what the store holds: points of one side alone, other terms.

Both sides are told by Kernel messages, so that one function reads the terms of both. Of the store those are the
accepted messages of the supply that runs on the day, whoever sent them; what was stated last holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from energycomm.eis.store import Store, StoreReader
from energycomm.kernel.codec import decode
from energycomm.kernel.instants import local_day, micros, midnight
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    CustomerData,
    EndOfSupply,
    KernelMessage,
    MeterData,
    MeterReading,
    RequestStatus,
    StartOfSupply,
)
from energycomm.kernel.opening import is_opening
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import WH_PER_UNIT, register_key
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Transaction
from energycomm.portfolio.columns import columns_of, value_of

What = Literal["only-there", "only-here", "differs", "unreadable"]

KINDS = (StartOfSupply, AccessPointData, ContractTerms, CustomerData, MeterData)
"""Kinds whose fields are compared. Indexes are compared with those of the same day, requests with their last state."""

_UNCOMPARED = frozenset(("contract.sequence", "contract.sequence_start", "point.connection_since"))
"""Counts and dates of changes, which a picture of the present need not know."""

TOGETHER = 500
"""Points that are looked up at once."""


class Line(Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
      access_point: the point; empty where a row has none that can be read.
      what: only-there: the file has the point, we do not supply it; only-here: the other way round; differs: a term;
        unreadable: the row cannot be read.
      column: the term, by its column in a portfolio; of an unreadable row the column, after the number of a row that
        names no point.
      there, here: its value in the file and in the store.
    """

    access_point: str
    what: What
    column: str = ""
    there: str | None = None
    here: str | None = None

    @property
    def cells(self) -> tuple[str | None, ...]:
        """The cells of a table below `HEAD`."""
        return (self.access_point, self.what, self.column, self.there, self.here)


HEAD = ("access point", "difference", "column", "there", "here")
"""Head of a table of differences."""


class Comparison(Struct, frozen=True, kw_only=True):
    """What a comparison found.

    Attributes:
      market: of the points.
      on: the instant at which supplies were compared.
      there, here: points of the file, and points that we supply.
      equal: points of both without any difference.
      only_there, only_here, differing, unreadable: points by what differs.
      lines: the differences, by access point, the first of them.
      left_out: how many more there are.
    """

    market: str
    on: datetime
    there: int
    here: int
    equal: int
    only_there: int
    only_here: int
    differing: int
    unreadable: int
    lines: tuple[Line, ...]
    left_out: int = 0


def terms_of(messages: Iterable[KernelMessage], zone: ZoneInfo) -> dict[str, Any]:
    """What messages say of a point, by column: what was stated last, of the supply that began last.

    Args:
      messages: in business order.
      zone: the legal time of the market.
    """
    terms: dict[str, Any] = {}
    for message in messages:
        if not isinstance(message, KINDS) or message.function == "cancel":
            continue
        kind = type(message)
        if isinstance(message, StartOfSupply):
            terms = {name: value for name, value in terms.items() if name.startswith(("supply.", "contract_ref"))}
            if message.contract_start is not None or not is_opening(message):  # else a picture, which knows no start
                terms["supply.start"] = local_day(zone, micros(message.effective))
        elif isinstance(message, MeterData) and message.action == "removed":
            continue
        if message.contract_reference is not None:
            terms["contract_reference"] = message.contract_reference
        if isinstance(message, CustomerData):  # another customer is another person as a whole
            terms = {name: value for name, value in terms.items() if not name.startswith("customer.")}
        elif isinstance(message, ContractTerms):
            if message.powers:
                terms = {name: value for name, value in terms.items() if not name.startswith("power.")}
            terms |= {f"power.{one.time_class}": one.value for one in message.powers if one.nature == "subscribed"}
        for name, field in _compared(kind):
            value = value_of(message, field)
            if value is not None:
                terms[name] = value
    return terms


@cache
def _compared(kind: type[KernelMessage]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The columns of a kind that are compared, each with the way to its value."""
    return tuple(
        (column.name, tuple(column.field.split(".")))
        for column in columns_of(kind)
        if column.field != "effective" and column.name not in _UNCOMPARED
    )


class _Ours(Struct):
    """A point of the store: its row and the start of the supply that runs."""

    id: int
    since: int


def compare_points(
    store: Store,
    market: str,
    zone: ZoneInfo,
    listed: Iterable[Transaction | Refusal],
    on: datetime,
    most: int,
) -> Comparison:
    """Compare.

    Args:
      store: the EIS.
      market: of the points.
      zone: its legal time.
      listed: the points of the file, as opening balances; refusals end the file.
      on: instant at which a supply must run to be ours.
      most: how many differences are told one by one.
    """
    with store.reading() as reader:
        comparing = _Comparing(reader, market, zone, on, most)
        for batch in _batches(listed):
            comparing.compare(batch)
        return comparing.whole()


class _Comparing:
    """A comparison while it is made."""

    def __init__(self, reader: StoreReader, market: str, zone: ZoneInfo, on: datetime, most: int) -> None:
        self.reader, self.market, self.zone, self.on, self.most = reader, market, zone, on, most
        self.at = micros(on)
        self.ours = _supplied(reader, market, self.at)
        self.seen: set[str] = set()
        self.there = self.equal = self.left_out = 0
        self.counts: Counter[What] = Counter()
        self.told: list[Line] = []

    def compare(self, batch: Sequence[Transaction]) -> None:
        """Compare some points of the file."""
        batch = [one for one in batch if not self._ended(one)]
        self.there += len(batch)
        ids = [self.ours[one.access_point].id for one in batch if one.access_point in self.ours]
        known = _messages(self.reader, ids, self.at)
        read, asked = _read(self.reader, ids, batch, self.zone), _asked(self.reader, ids, batch, self.at)
        for one in batch:
            point = one.access_point or ""
            own = self.ours.get(point)
            if own is not None:
                self.seen.add(point)
            if one.refusals:
                self._tell([_unreadable(one, refusal) for refusal in one.refusals])
            elif own is None:
                self._tell([Line(access_point=point, what="only-there")])
            else:
                held = [message for effective, message in known.get(own.id, ()) if effective >= own.since]
                lines = _differences(point, terms_of(one.messages, self.zone), terms_of(held, self.zone))
                lines += _indexes(point, one.messages, read.get(own.id, ()), self.zone)
                lines += _requests(point, one.messages, asked.get(own.id, {}))
                self._tell(lines)

    def _ended(self, listed: Transaction) -> bool:
        """Whether the file says that the supply of a point has ended: it is nobody's."""
        return any(isinstance(one, EndOfSupply) and one.effective <= self.on for one in listed.messages)

    def _tell(self, lines: Sequence[Line]) -> None:
        """Keep what differs of one point, as far as there is room."""
        if not lines:
            self.equal += 1
            return
        self.counts[lines[0].what] += 1
        room = max(0, self.most - len(self.told))
        self.told.extend(lines[:room])
        self.left_out += max(0, len(lines) - room)

    def whole(self) -> Comparison:
        """What was found, once every point of the file was compared."""
        for point in sorted(self.ours.keys() - self.seen):
            self._tell([Line(access_point=point, what="only-here")])
        return Comparison(
            market=self.market,
            on=self.on,
            there=self.there,
            here=len(self.ours),
            equal=self.equal,
            only_there=self.counts["only-there"],
            only_here=self.counts["only-here"],
            differing=self.counts["differs"],
            unreadable=self.counts["unreadable"],
            lines=tuple(sorted(self.told, key=lambda line: (line.access_point, line.what, line.column))),
            left_out=self.left_out,
        )


def _batches(listed: Iterable[Transaction | Refusal]) -> Iterator[list[Transaction]]:
    batch: list[Transaction] = []
    for item in listed:
        if isinstance(item, Refusal):
            refused = Transaction(
                position=0,
                type="",
                version=None,
                reference="",
                access_point=None,
                sender=None,
                identity=b"",
                refusals=(item,),
            )
            batch.append(refused)
        else:
            batch.append(item)
        if len(batch) >= TOGETHER:
            yield batch
            batch = []
    yield batch


def _unreadable(row: Transaction, refusal: Refusal) -> Line:
    """What is wrong with a row, by its number where it names no point."""
    return Line(
        access_point=row.access_point or "",
        what="unreadable",
        column=", ".join(
            filter(None, (f"row {row.position}" if row.position and not row.access_point else "", refusal.path))
        ),
        there=refusal.value,
        here=f"expected {refusal.expected}",
    )


def _differences(point: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> list[Line]:
    return [
        Line(access_point=point, what="differs", column=name, there=_shown(value), here=_shown(here.get(name)))
        for name, value in sorted(there.items())
        if value != here.get(name)
    ]


def _shown(value: Any) -> str | None:
    return None if value is None else ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _indexes(
    point: str, there: Iterable[KernelMessage], here: Sequence[MeterReading], zone: ZoneInfo
) -> Iterator[Line]:
    """The indexes that differ from each of the same register on the same day: several sources may tell one."""
    for message in there:
        if not isinstance(message, MeterReading):
            continue
        day = _day(message, zone)
        for register in message.registers:
            same = [
                held
                for other in here
                if _day(other, zone) == day
                for held in other.registers
                if register_key(held) == register_key(register)
            ]
            if same and all(_finest(held) != _finest(register) for held in same):
                name = ".".join(("index", register.grid, register.time_class))
                name += "" if register.direction == "consumption" else f".{register.direction}"
                shown = [f"{one.value} {one.unit}" for one in (register, same[-1])]
                yield Line(access_point=point, what="differs", column=name, there=shown[0], here=shown[1])


def _day(message: KernelMessage, zone: ZoneInfo) -> date:
    return local_day(zone, micros(message.effective))


def _finest(register: Register) -> int:
    return register.value * WH_PER_UNIT.get(register.unit, 1)


def _requests(point: str, there: Iterable[KernelMessage], here: Mapping[str, RequestStatus]) -> Iterator[Line]:
    """The requests that we do not know, or that have another state."""
    told = [one for one in there if isinstance(one, RequestStatus)]
    for number, one in enumerate(told, 1):
        group = "request" if number == 1 else f"request.{number}"
        held = here.get(one.request)
        if held is None:
            yield Line(access_point=point, what="differs", column=f"{group}.reference", there=one.request)
        elif held.state != one.state:
            yield Line(access_point=point, what="differs", column=f"{group}.state", there=one.state, here=held.state)


def _supplied(reader: StoreReader, market: str, at: int) -> dict[str, _Ours]:
    """The points that we supply at an instant, by identifier."""
    rows = reader.driver.rows(
        "SELECT p.identifier, p.id, max(s.at) FROM supply_period s JOIN access_point p ON p.id = s.access_point_id "
        "WHERE p.market = ? AND s.at <= ? AND (s.ended_at IS NULL OR s.ended_at > ?) GROUP BY p.identifier, p.id",
        (market, at, at),
    )
    return {identifier: _Ours(number, since) for identifier, number, since in rows}


def _messages(reader: StoreReader, point_ids: Sequence[int], at: int) -> dict[int, list[tuple[int, KernelMessage]]]:
    """The accepted messages of points up to an instant, in business order, with their instants."""
    found: dict[int, list[tuple[tuple[int, int, int], KernelMessage]]] = {}
    for point_id, effective, message in _accepted(reader, KINDS, point_ids, at):
        if isinstance(message, KINDS):
            key = (effective, KINDS.index(type(message)), micros(message.created))
            found.setdefault(point_id, []).append((key, message))
    for several in found.values():
        several.sort(key=lambda pair: pair[0])
    return {point: [(key[0], message) for key, message in several] for point, several in found.items()}


def _accepted(
    reader: StoreReader, kinds: Sequence[type[KernelMessage]], point_ids: Sequence[int], at: int
) -> Iterator[tuple[int, int, KernelMessage]]:
    """The accepted messages of some kinds and points up to an instant, with their point and instant.

    Points are few and states are many: the states are looked at here, lest the database reads all that is accepted.
    """
    names = ", ".join(f"'{kind.__name__}'" for kind in kinds)
    # Names of our own kinds, never values.
    sql = (
        "SELECT id, access_point_id, effective, state, xml FROM kernel_message "  # noqa: S608 - our own words
        f"WHERE kind IN ({names}) AND effective <= ?"
    )
    rows = reader.driver.matching(sql, point_ids, "access_point_id", "", (at,))
    rows = [row for row in rows if row[3] in ("accepted", "treated")]
    gone = reader.superseded([row[0] for row in rows])
    for number, point_id, effective, _, xml in rows:
        if number not in gone:
            message = decode(reader.driver.vault.text("kernel_message", number, xml))
            if isinstance(message, KernelMessage):
                yield point_id, effective, message


def _read(
    reader: StoreReader, point_ids: Sequence[int], listed: Sequence[Transaction], zone: ZoneInfo
) -> dict[int, list[MeterReading]]:
    """The current readings of points on the days of the readings of a list, the newest last."""
    days = [_day(one, zone) for row in listed for one in row.messages if isinstance(one, MeterReading)]
    if not days:
        return {}
    span = (micros(midnight(zone, min(days))), micros(midnight(zone, max(days) + timedelta(days=1))))
    rows = reader.driver.matching(
        "SELECT k.id, r.access_point_id, k.xml FROM reading r JOIN kernel_message k ON k.id = r.message_id "
        "WHERE r.status = 'current' AND r.at >= ? AND r.at < ?",
        point_ids,
        "r.access_point_id",
        "",
        span,
    )
    found: dict[int, list[MeterReading]] = {}
    for number, point_id, xml in rows:
        message = decode(reader.driver.vault.text("kernel_message", number, xml))
        if isinstance(message, MeterReading):
            found.setdefault(point_id, []).append(message)
    for several in found.values():
        several.sort(key=lambda one: (one.effective, one.created))
    return found


def _asked(
    reader: StoreReader, point_ids: Sequence[int], listed: Sequence[Transaction], at: int
) -> dict[int, dict[str, RequestStatus]]:
    """The last state of each request of points, where the list tells of requests."""
    if not any(isinstance(one, RequestStatus) for row in listed for one in row.messages):
        return {}
    told: dict[int, list[RequestStatus]] = {}
    for point_id, _, message in _accepted(reader, (RequestStatus,), point_ids, at):
        if isinstance(message, RequestStatus) and message.function != "cancel":
            told.setdefault(point_id, []).append(message)
    return {
        point: {one.request: one for one in sorted(several, key=lambda one: (one.effective, one.created))}
        for point, several in told.items()
    }
