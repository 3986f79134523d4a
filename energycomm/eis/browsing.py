"""The messages of a list: queries whose time depends on the page, not on the size of the store.

Lists go from the newest arrival back. Without a filter they walk the index of arrivals. By market, type, kind or
state they walk one index for each combination that there is (the tallies know them: some dozens) and take the newest
of all walks. By code or particular they walk the messages that it is found in; together with other filters they look
further and further, through so many of them (`WINDOW`), and then give what they found with a cursor to go on from.

Sorted by market, type, kind or state they walk the combinations of one value after the other, each from the newest
arrival back. Other columns have no index that orders all messages; by them the messages of an access point or an
envelope are sorted, which are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, CompoundSelect, Connection, Select, and_, exists, or_, select, tuple_, union_all

from energycomm.eis import tables
from energycomm.eis.particulars import messages_query, ways
from energycomm.eis.tallies import Combination, combinations
from energycomm.errors import UserError
from energycomm.kernel.instants import micros

WINDOW = 1_000
"""Messages with a code or particular that one page looks through when there are other filters too."""

MOST_WALKS = 400
"""Combinations that are walked apart; SQLite allows 500 parts of a compound query."""

LATEST = (1 << 62, 1 << 62)
EARLIEST = (-(1 << 62), -1)

ARRIVAL = "received"
GROUPED = ("market", "type", "kind", "state")
"""Columns of the combinations: lists of any length are sorted by them."""

MESSAGE_ORDERS = (ARRIVAL, *GROUPED, "effective")
"""What messages are sorted by; with - before it from the end. By default `-received`, the newest first."""


class MessageFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which Kernel messages to list; None does not restrict.

    Attributes:
      access_point: identifier of the access point, of any market.
      codes: error codes; a finding of the verdict that holds now has one of them.
      state: accepted, rejected, quarantined, ...
      kind: kind of the Kernel message.
      type: the market's message type, C15.
      market: FR, ...
      envelope: id of the envelope the message came with.
      particular: name and value of one of its particulars.
      since: received at or after this instant.
      until: received before this instant.
      sort: one of `MESSAGE_ORDERS`, from the end with - before it.

    Equal ones follow each other from the newest arrival back.
    """

    access_point: str | None = None
    codes: tuple[str, ...] = ()
    state: str | None = None
    kind: str | None = None
    type: str | None = None
    market: str | None = None
    envelope: int | None = None
    particular: tuple[str, str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    sort: str | None = None

    @property
    def order(self) -> str:
        """The column that is sorted by."""
        return (self.sort or f"-{ARRIVAL}").removeprefix("-")

    @property
    def falling(self) -> bool:
        """Whether it is sorted from the end."""
        return self.sort is None or self.sort.startswith("-")


def orders_of(wanted: MessageFilter) -> tuple[str, ...]:
    """The columns that a list can be sorted by with these filters."""
    if wanted.access_point is not None or wanted.envelope is not None:
        return MESSAGE_ORDERS
    return (ARRIVAL,) if wanted.codes or wanted.particular else (ARRIVAL, *GROUPED)


class Place(NamedTuple):
    """A message's place in a list: when it arrived (microseconds) and its id."""

    received_at: int
    id: int


class Found(NamedTuple):
    """One page: the ids of its messages, the newest first, and the cursor of the page after it (None on the last)."""

    ids: tuple[int, ...]
    next: str | None


def find(connection: Connection, wanted: MessageFilter, limit: int, cursor: str | None = None) -> Found:
    """The messages of one page.

    Args:
      connection: to the store.
      wanted: which messages.
      limit: how many at most.
      cursor: `next` of the page before.

    Raises:
      ValueError: the cursor is none of ours.
      UserError: so many messages cannot be sorted by this column.
    """
    if wanted.order not in (possible := orders_of(wanted)):
        raise UserError(
            f"A list with these filters cannot be sorted by {wanted.order}.",
            f"Sort by {', '.join(possible)}, or look at one access point or one envelope.",
        )
    few = wanted.access_point is not None or wanted.envelope is not None
    if wanted.order != ARRIVAL:
        return _sorted_few(connection, wanted, limit, cursor) if few else _grouped(connection, wanted, limit, cursor)
    start = Place(*LATEST if wanted.falling else EARLIEST) if cursor is None else read_cursor(cursor)
    if (wanted.codes or wanted.particular) and not few:
        return _by_mark(connection, wanted, limit, None if cursor is None else start.id)
    there = combinations(connection) if _combined(wanted) else ()
    rows = connection.execute(page_query(wanted, limit, start, there, merged=_merges(connection))).all()
    more = len(rows) > limit
    shown = [Place(*row) for row in rows[:limit]]
    return Found(tuple(place.id for place in shown), cursor_of(shown[-1]) if more else None)


def _grouped(connection: Connection, wanted: MessageFilter, limit: int, cursor: str | None) -> Found:
    """A page sorted by market, type, kind or state: the messages of one value after the other."""
    there = combinations(connection)
    values = sorted({getattr(one, wanted.order) for one in there if _fits(one, wanted)}, reverse=wanted.falling)
    reached, start = _reached(cursor)
    found: list[tuple[Place, str]] = []
    for value in values:
        if cursor is not None and (value > reached if wanted.falling else value < reached):
            continue
        begin = start if cursor is not None and value == reached else Place(*LATEST)
        part = replace(wanted, **{wanted.order: value, "sort": None})
        rows = connection.execute(page_query(part, limit - len(found), begin, there, merged=_merges(connection)))
        found += [(Place(*row), value) for row in rows]
        if len(found) > limit:
            break
    shown = found[:limit]
    return Found(
        tuple(place.id for place, _ in shown),
        f"{cursor_of(shown[-1][0])}.{shown[-1][1]}" if len(found) > limit else None,
    )


def _sorted_few(connection: Connection, wanted: MessageFilter, limit: int, cursor: str | None) -> Found:
    """A page of the messages of an access point or envelope, sorted by any column."""
    k = tables.kernel_message.c
    names = {"type": "market_type"}
    key = k[names.get(wanted.order, wanted.order)]
    query = _restricted(select(k.received_at, k.id, key).where(*_within(wanted, Place(*LATEST))), wanted)
    if cursor is not None:
        text, place = _reached(cursor)
        reached = int(text) if wanted.order == "effective" else text
        newer = and_(key == reached, tuple_(k.received_at, k.id) < tuple_(*place))
        query = query.where(or_(key < reached if wanted.falling else key > reached, newer))
    first = key.desc() if wanted.falling else key.asc()
    rows = connection.execute(query.order_by(first, k.received_at.desc(), k.id.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    last = f"{cursor_of(Place(*shown[-1][:2]))}.{shown[-1][2]}" if len(rows) > limit else None
    return Found(tuple(row[1] for row in shown), last)


def _reached(cursor: str | None) -> tuple[str, Place]:
    """What a cursor of a sorted list says: the value of the last message, and its place."""
    if cursor is None:
        return "", Place(*LATEST)
    place, dot, value = cursor.partition(".")
    if not dot:
        raise ValueError(f"{cursor!r} is no cursor of a sorted page")
    return value, read_cursor(place)


def number_of(connection: Connection, wanted: MessageFilter) -> int | None:
    """The number of messages that a filter finds, if the tallies have it; else None."""
    if any((wanted.access_point, wanted.codes, wanted.envelope, wanted.particular, wanted.since, wanted.until)):
        return None
    return sum(one.messages for one in combinations(connection) if _fits(one, wanted))


def page_query(
    wanted: MessageFilter, limit: int, before: Place, there: Sequence[Combination] = (), *, merged: bool = False
) -> Select[Any] | CompoundSelect[Any]:
    """The query of one page (received_at, id), with one additional row that shows whether another page follows.

    Args:
      wanted: which messages; `codes` only together with an access point or an envelope.
      limit: how many at most.
      before: the place in the list that the page begins after.
      there: the combinations of market, type, kind and state that there are; needed when one of these is wanted.
      merged: the database merges walks of an index that are ordered alike, and reads of each what is shown. SQLite
        does; PostgreSQL would read them whole, and is told how much of each is enough.
    """
    k = tables.kernel_message.c
    if not _combined(wanted):
        query = _restricted(select(k.received_at, k.id).where(*_within(wanted, before)), wanted)
        return query.order_by(*_by_arrival(wanted, k)).limit(limit + 1)
    walks = [_walk(one, wanted, before) for one in there if _fits(one, wanted)][:MOST_WALKS]
    if not walks:
        return select(k.received_at, k.id).where(k.id < 0)
    if len(walks) == 1:
        return walks[0].order_by(*_by_arrival(wanted, k)).limit(limit + 1)
    if merged:
        together = union_all(*walks)
        return together.order_by(*_by_arrival(wanted, together.selected_columns)).limit(limit + 1)
    pages = [walk.order_by(*_by_arrival(wanted, k)).limit(limit + 1).subquery() for walk in walks]
    newest = union_all(*(select(page.c.received_at, page.c.id) for page in pages)).subquery().c
    merged_pages: Select[Any] = select(newest.received_at, newest.id)
    return merged_pages.order_by(*_by_arrival(wanted, newest)).limit(limit + 1)


def _merges(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _by_arrival(wanted: MessageFilter, columns: Any) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    if wanted.falling:
        return columns.received_at.desc(), columns.id.desc()
    return columns.received_at.asc(), columns.id.asc()


def code_query(codes: Sequence[str], before: int | None, window: int, *, falling: bool = True) -> Select[Any]:
    """Messages that one of some codes holds for, each once, by their ids from the newest back, or from the first."""
    f = tables.finding.c
    query = select(f.message_id).distinct().where(f.error_code.in_(codes), f.current)
    if before is not None:
        query = query.where(f.message_id < before if falling else f.message_id > before)
    return query.order_by(f.message_id.desc() if falling else f.message_id).limit(window)


def _mark_query(wanted: MessageFilter, before: int | None, window: int) -> Select[Any]:
    """The newest messages with one of the codes, or else the particular, that is wanted; or the first ones."""
    if wanted.codes:
        return code_query(wanted.codes, before, window, falling=wanted.falling)
    assert wanted.particular is not None
    return messages_query(wanted.particular, before, window, falling=wanted.falling)


def cursor_of(place: Place) -> str:
    """The cursor of a page's `next`."""
    return f"{place.received_at}-{place.id}"


def read_cursor(cursor: str) -> Place:
    """The place that a cursor names.

    Raises:
      ValueError: it is none of ours.
    """
    received_at, _, last = cursor.rpartition("-")
    try:
        return Place(int(received_at), int(last))
    except ValueError:
        raise ValueError(f"{cursor!r} is no cursor of a page") from None


def _combined(wanted: MessageFilter) -> bool:
    """Whether a list walks combinations; an access point and an envelope hold so little that they are sorted."""
    if wanted.access_point is not None or wanted.envelope is not None:
        return False
    return any((wanted.market, wanted.type, wanted.kind, wanted.state))


def _fits(one: Combination, wanted: MessageFilter) -> bool:
    asked = ((wanted.market, one.market), (wanted.type, one.type), (wanted.kind, one.kind), (wanted.state, one.state))
    return all(value in (None, has) for value, has in asked)


def _within(wanted: MessageFilter, before: Place) -> list[ColumnElement[bool]]:
    k = tables.kernel_message.c
    found: list[ColumnElement[bool]] = []
    if before not in (LATEST, EARLIEST):
        here = tuple_(k.received_at, k.id)
        found.append(here < tuple_(*before) if wanted.falling else here > tuple_(*before))
    if wanted.since is not None:
        found.append(k.received_at >= micros(wanted.since))
    if wanted.until is not None:
        found.append(k.received_at < micros(wanted.until))
    return found


def _walk(one: Combination, wanted: MessageFilter, before: Place) -> Select[Any]:
    k = tables.kernel_message.c
    same = (k.market == one.market, k.market_type == one.type, k.kind == one.kind, k.state == one.state)
    return select(k.received_at, k.id).where(*same, *_within(wanted, before))


def _restricted(query: Select[Any], wanted: MessageFilter) -> Select[Any]:
    k, point, ch, f = tables.kernel_message.c, tables.access_point.c, tables.ch_message.c, tables.finding.c
    if wanted.access_point is not None:
        query = query.where(k.access_point_id.in_(select(point.id).where(point.identifier == wanted.access_point)))
    if wanted.envelope is not None:
        query = query.where(k.ch_message_id.in_(select(ch.id).where(ch.envelope_id == wanted.envelope)))
    if wanted.codes:
        query = query.where(k.id.in_(select(f.message_id).where(f.error_code.in_(wanted.codes), f.current)))
    if wanted.particular is not None:
        query = query.where(_carries(wanted.particular))
    for column, value in _columns(wanted):
        query = query.where(column == value)
    return query


def _carries(particular: tuple[str, str]) -> ColumnElement[bool]:
    """Whether a message carries a particular: its own few are looked at."""
    k, p = tables.kernel_message.c, tables.particular.c
    name, value = particular
    return exists().where(p.message_id == k.id, p.name == name, p.value.in_(ways(value)))


def _columns(wanted: MessageFilter) -> list[tuple[ColumnElement[Any], str]]:
    k = tables.kernel_message.c
    asked = ((k.market, wanted.market), (k.market_type, wanted.type), (k.kind, wanted.kind), (k.state, wanted.state))
    return [(column, value) for column, value in asked if value is not None]


def _by_mark(connection: Connection, wanted: MessageFilter, limit: int, before: int | None) -> Found:
    """A list by code or particular goes by the messages' numbers, the order in which they were stored."""
    both = bool(wanted.codes) and wanted.particular is not None
    alone = not both and not _columns(wanted) and wanted.since is None and wanted.until is None
    found: list[int] = []
    looked_at, window = 0, limit + 1
    while True:
        walk = _mark_query(wanted, before, window)
        looked = connection.execute(walk).scalars().all()
        found += looked if alone else _matching(connection, wanted, walk, limit + 1 - len(found), both=both)
        if len(found) > limit:
            return Found(tuple(found[:limit]), cursor_of(Place(0, found[limit - 1])))
        looked_at += len(looked)
        if len(looked) < window:
            return Found(tuple(found), None)
        if looked_at >= WINDOW:
            return Found(tuple(found), cursor_of(Place(0, looked[-1])))
        # Most pages are full after the first few: the next look is as far again, up to the bound.
        before, window = looked[-1], min(window * 3, WINDOW - looked_at)


def _matching(
    connection: Connection, wanted: MessageFilter, walk: Select[Any], limit: int, *, both: bool
) -> Sequence[int]:
    """Those messages of a walk that the other filters take too."""
    k = tables.kernel_message.c
    # The same query once more, inside: cheaper than to send a thousand numbers back to the server.
    here = walk.subquery()
    query = select(k.id).where(k.id.in_(select(here.c.message_id)), *_within(wanted, Place(*LATEST)))
    if both and wanted.particular is not None:
        query = query.where(_carries(wanted.particular))
    for column, value in _columns(wanted):
        query = query.where(column == value)
    return connection.execute(query.order_by(k.id.desc() if wanted.falling else k.id).limit(limit)).scalars().all()
