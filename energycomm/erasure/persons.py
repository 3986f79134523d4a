"""Customers of access points: when each of them was there, and which messages are theirs.

A customer is one at an access point for a time. The time begins with the first message that names the customer, and
ends where another one is named. Requests are the customer's whom they name, whatever their day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct, structs

from energycomm.eis.erasures import FOREVER
from energycomm.eis.store import MessageRow, StoreReader
from energycomm.erasure.traces import Traces
from energycomm.errors import UserError
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import AccessPointData, CustomerData, EndOfSupply, KernelMessage
from energycomm.kernel.parts import Address
from energycomm.kernel.personal import ERASED, PersonalValue, names_of, personal_kinds, personal_values
from energycomm.kernel.requests import OUTGOING
from energycomm.market.contract import Personal
from energycomm.market.installed import Markets


class Stay(Struct, frozen=True, kw_only=True):
    """The time of one customer at an access point.

    Attributes:
      market, access_point: the access point.
      point_id: its row.
      since, until: microseconds since the epoch; 0 and `FOREVER` where there is no bound.
      names: what the customer is called, as the messages write it; empty of one that was erased, or never named.
      supplied: the supply goes on.
      ended_at: when the last supply of that time ended; None where there was none, or it goes on.
    """

    market: str
    access_point: str
    point_id: int
    since: int
    until: int
    names: tuple[str, ...]
    supplied: bool = False
    ended_at: int | None = None


class Said(Struct, frozen=True):
    """A stored message and what it says."""

    row: MessageRow
    message: KernelMessage


class Person(Struct, dict=True):
    """A customer with all that the store's messages tell.

    Attributes:
      stay: the time and the access point.
      said: the customer's messages, those of measures too.
      beside: messages of no access point that tell of the customer: answers to searches.
      own: elements of the market whose content is a customer's.
      kept: texts of the installation, which stay with the access point.
      companies: register number of an establishment -> that of its company.
    """

    stay: Stay
    said: list[Said]
    beside: list[Said]
    own: frozenset[str]
    kept: frozenset[str]
    companies: dict[str, str] = {}

    @cached_property
    def values(self) -> list[PersonalValue]:
        """What the messages tell of the customer."""
        point = self.stay.access_point
        found: list[PersonalValue] = []
        for one in self.said:
            found += personal_values(one.message, self.own)
        for one in self.beside:
            found += [value for value in _beside(one.message, point) if value.value != ERASED]
        return [one for one in found if one.value != ERASED]

    @cached_property
    def traces(self) -> Traces:
        """The customer's words."""
        further = [PersonalValue("company_id", "contact", number) for number in self.companies.values()]
        return Traces([*self.values, *further], self.kept)


def stays(reader: StoreReader, market: str, access_point: str) -> list[Stay]:
    """The customers of an access point, the first first; one without a name where no message names any.

    Raises:
      UserError: there is no such access point.
    """
    point_id = _point(reader, market, access_point)
    said = _said(reader.messages_of([point_id]).get(point_id, []))
    return _stays(reader, market, access_point, point_id, said)


def last_word(reader: StoreReader, stay: Stay) -> int:
    """The instant by which all that is known of a customer was said: what comes later is of the next one.

    Args:
      reader: the store.
      stay: the last one of its access point.
    """
    said = _said(reader.messages_of([stay.point_id]).get(stay.point_id, []))
    personal = [one.row.effective + 1 for one in said if one.row.effective >= stay.since and names_of(one.message)]
    return max([stay.since + 1, stay.ended_at or 0, *personal])


def person_at(reader: StoreReader, markets: Markets, market: str, access_point: str, since: int, until: int) -> Person:
    """The customer of an access point in a time, with all messages.

    Args:
      reader: the store.
      markets: the installed markets.
      market, access_point: the access point.
      since, until: the time, microseconds since the epoch.

    Raises:
      UserError: there is no such access point.
    """
    point_id = _point(reader, market, access_point)
    said = _said(reader.messages_of([point_id]).get(point_id, []))
    among = _stays(reader, market, access_point, point_id, said)
    same = [one for one in among if since <= one.since < until]
    stay = Stay(
        market=market,
        access_point=access_point,
        point_id=point_id,
        since=since,
        until=until,
        names=tuple(dict.fromkeys(name for one in same for name in one.names)),
        supplied=any(one.supplied for one in same),
        ended_at=max((one.ended_at for one in same if one.ended_at is not None), default=None),
    )
    others = [_plain(one.names) for one in among if one not in same and one.names]
    mine = [one for one in said if _is_of(one, stay, others)]
    person = Person(stay, mine, [], elements_of(markets, market), _installation(said))
    found = {str(one.value): markets.company_of(market, str(one.value)) for one in person.values}
    person = structs.replace(person, companies={number: of for number, of in found.items() if of is not None})
    beside = list(_answers(reader, market, access_point, person.traces))
    return structs.replace(person, beside=beside)


def _point(reader: StoreReader, market: str, access_point: str) -> int:
    rows = reader.driver.rows(_POINT, (market, access_point))
    if not rows:
        raise UserError(
            f"There is no access point {access_point} of {market}.", "`energycomm customer find` shows customers."
        )
    return int(rows[0][0])


_POINT = "SELECT id FROM access_point WHERE market = ? AND identifier = ?"
_BOUNDS = "SELECT since, until FROM erasure WHERE market = ? AND access_point = ?"


def elements_of(markets: Markets, market: str) -> frozenset[str]:
    """The elements of a market's documents whose content is a customer's."""
    adapter = markets.get(market)
    return adapter.personal if isinstance(adapter, Personal) else frozenset()


def _said(rows: Iterable[MessageRow]) -> list[Said]:
    found = []
    for row in sorted(rows, key=lambda row: (row.effective, row.id)):
        message = decode(row.xml)
        if isinstance(message, KernelMessage):
            found.append(Said(row, message))
    return found


def _stays(reader: StoreReader, market: str, access_point: str, point_id: int, said: Sequence[Said]) -> list[Stay]:
    """A time begins where another customer is named, and where that of one who was erased begins or ended."""
    bounds = {at for row in reader.driver.rows(_BOUNDS, (market, access_point)) for at in row if 0 < at < FOREVER}
    begins: dict[int, dict[str, str]] = {at: {} for at in (0, *bounds)}
    supplies = reader.driver.rows('SELECT "at", ended_at FROM supply_period WHERE access_point_id = ?', (point_id,))
    current = named = 0
    for one in said:
        current = max(at for at in begins if at <= max(one.row.effective, 0))
        if not isinstance(one.message, CustomerData) or one.row.state not in ("accepted", "treated"):
            continue
        names = _names(one.message)
        if not names:
            continue
        if begins[current] and not _same(begins[current], names):
            # The next customer's time begins with the supply, though the name may be told some days later.
            current = max((at for at, _ in supplies if named < at <= one.row.effective), default=one.row.effective)
            begins.setdefault(current, {})
        begins[current] |= names
        named = one.row.effective
    found, starts = [], sorted(begins)
    for since, until in zip(starts, [*starts[1:], FOREVER], strict=True):
        ends = [end for at, end in supplies if at < until and (end is None or end > since)]
        known = [end for end in ends if end is not None]
        found.append(
            Stay(
                market=market,
                access_point=access_point,
                point_id=point_id,
                since=since,
                until=until,
                names=tuple(name for name in begins[since].values() if name != ERASED),
                supplied=until == FOREVER and None in ends,
                ended_at=max(known) if known and None not in ends else None,
            )
        )
    return found


def _names(message: KernelMessage) -> dict[str, str]:
    """Name in small letters -> as it is written; that of somebody who was erased too."""
    written = [str(one.value) for one in personal_values(message) if one.personal == "name"]
    return {" ".join(name.casefold().split()): name for name in written}


def _plain(names: Iterable[str]) -> set[str]:
    return {" ".join(name.casefold().split()) for name in names}


def _same(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether two ways to name somebody are of one person: one says no more than the other."""
    one, other = set(some), set(others)
    return one <= other or other <= one


def _is_of(one: Said, stay: Stay, others: Sequence[set[str]]) -> bool:
    """Whether a message is of the customer of a time, or of one of the others of its access point."""
    said, names = set(names_of(one.message)) - {ERASED}, _plain(stay.names)
    of_another = bool(said) and not (names and _same(said, names)) and any(_same(said, other) for other in others)
    if isinstance(one.message, EndOfSupply) and 0 < one.row.effective in (stay.since, stay.until):
        return one.row.effective == stay.until  # the end is of who leaves, at the instant at which the next one comes
    if stay.since <= one.row.effective < stay.until:
        return not of_another  # the next one may be named ahead of moving in
    asked = type(one.message) in OUTGOING and bool(said) and bool(names) and _same(said, names)
    return asked and not any(_same(said, other) for other in others)


def _installation(said: Iterable[Said]) -> frozenset[str]:
    """How the messages write the address of the installation."""
    found: set[str] = set()
    for one in said:
        if isinstance(one.message, AccessPointData) and isinstance(one.message.address, Address):
            address = one.message.address
            found |= {text for text in (address.street, address.addition) if text}
            if address.street and address.number:
                found |= {f"{address.number} {address.street}", f"{address.street} {address.number}"}
    return frozenset(found)


def _answers(reader: StoreReader, market: str, access_point: str, traces: Traces) -> Iterator[Said]:
    """Messages of no access point that tell of the customer."""
    kinds = ", ".join(repr(kind) for kind in sorted(personal_kinds()))
    sql = f"SELECT id FROM kernel_message WHERE access_point_id IS NULL AND market = ? AND kind IN ({kinds})"  # noqa: S608 - our own words
    ids = [row[0] for row in reader.driver.rows(sql, (market,))]
    for one in _said(reader.messages(ids)):
        values = list(personal_values(one.message))
        named = traces and any(traces.told_by(str(value.value)) for value in values if value.personal != "trait")
        if named or any(True for _ in _beside(one.message, access_point)):
            yield one


def _beside(message: KernelMessage, access_point: str) -> Iterator[PersonalValue]:
    """What an answer tells of the customer of one of the access points that it lists."""
    for part in getattr(message, "points", ()) or getattr(message, "found", ()):
        if getattr(part, "access_point", None) == access_point:
            yield from personal_values(part)
