"""Data of an access point by subject: contracts, readings, charges; and its present state."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, structs
from sqlalchemy import BigInteger, ColumnElement, Table, literal, select, tuple_

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.message_parts import Effect
from energycomm.eis.messages import effect_of
from energycomm.eis.store import NEVER, Store
from energycomm.kernel.family import KINDS
from energycomm.kernel.history import with_stated
from energycomm.kernel.instants import EPOCH, instant, micros, moment
from energycomm.pipeline.state import AccessPointState, Period, load_state
from energycomm.webservice.pages import Page, page_of

_SHOWN = [cls.kept for cls in KINDS.values() if cls.kept is not None and cls.kept.subject is not None]

SUBJECTS: dict[str, Table] = {
    "supply-periods": tables.supply_period,
    **{str(kept.subject): tables.DOMAIN[kept.table] for kept in _SHOWN if not kept.searched},
}
"""Subject of the address of an access point -> its table."""

MARKET_SUBJECTS: dict[str, Table] = {str(kept.subject): tables.DOMAIN[kept.table] for kept in _SHOWN if kept.searched}
"""Subject of the address of a market -> its table: what belongs to no access point."""

if TYPE_CHECKING:
    Subject: TypeAlias = str
    MarketSubject: TypeAlias = str
else:
    Subject = Literal[tuple(SUBJECTS)]
    MarketSubject = Literal[tuple(MARKET_SUBJECTS)]


class SupplyPeriod(Struct, frozen=True, kw_only=True):
    """One period of our supply; `end` None while it goes on."""

    start: datetime
    end: datetime | None
    contract_reference: str | None
    supplier: str | None
    reason: str | None
    end_reason: str | None


class PendingRequest(Struct, frozen=True, kw_only=True):
    """The latest known milestone of a request that concerns the access point."""

    reference: str
    state: str
    at: datetime


class Standing(Struct, frozen=True, kw_only=True):
    """State of an access point after the last judged message: computed facts, and the values that its messages stated
    last, by name of the fact as rules read it.

    Attributes:
      id: its row.
      market, identifier: the access point.
      at: effective instant of that message; None before the first.
      known: whether any message about it was accepted.
      supplied: whether a period of our supply goes on.
      periods: periods of our supply, in order.
      last_reading: instant of the last reading.
      requests: requests that concern it.
    """

    id: int
    market: str
    identifier: str
    at: datetime | None
    known: bool
    supplied: bool
    periods: tuple[SupplyPeriod, ...]
    last_reading: datetime | None
    requests: tuple[PendingRequest, ...]


if TYPE_CHECKING:

    class AccessPointView(Standing, frozen=True):
        """The standing with the stated facts."""

        def __init__(self, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    AccessPointView = with_stated("AccessPointView", Standing, frozen=True)


def access_points(store: Store, identifier: str, market: str | None = None) -> list[AccessPointView]:
    """The access points with an identifier: one a market; none when it is known nowhere.

    Args:
      store: the EIS.
      identifier: the market's identifier.
      market: only of this market.
    """
    t = tables.access_point
    query = select(t.c.id, t.c.market, t.c.state, t.c.last_at).where(t.c.identifier == identifier).order_by(t.c.market)
    if market is not None:
        query = query.where(t.c.market == market)
    with reading(store.engine) as connection:
        rows = connection.execute(query).all()
    return [_view(row[0], row[1], identifier, load_state(row[2]), row[3]) for row in rows]


def _view(number: int, market: str, identifier: str, state: AccessPointState, last_at: int) -> AccessPointView:
    # What was read at the present instant is not yet the past of the fold.
    now_read = any(one.status == "current" and one.registers for one in state.readings)
    last_reading = state.at if now_read else state.last_reading
    return AccessPointView(
        id=number,
        market=market,
        identifier=identifier,
        at=None if last_at == NEVER else moment(last_at),
        known=state.known,
        supplied=any(period.end is None for period in state.periods),
        periods=tuple(_period(period) for period in state.periods),
        last_reading=None if last_reading is None else instant(last_reading),
        requests=tuple(
            PendingRequest(reference=name, state=one.state, at=instant(one.at)) for name, one in state.requests.items()
        ),
        **structs.asdict(state.stated),
    )


def _period(period: Period) -> SupplyPeriod:
    return SupplyPeriod(
        start=instant(period.start),
        end=None if period.end is None else instant(period.end),
        contract_reference=period.reference,
        supplier=period.supplier,
        reason=period.reason,
        end_reason=period.end_reason,
    )


def rows_of(
    store: Store,
    identifier: str,
    subject: str,
    *,
    market: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Effect] | None:
    """Rows of one subject of an access point, the latest instant first; None where the access point is not known.

    Args:
      store: the EIS.
      identifier: the market's identifier.
      subject: one of `SUBJECTS`.
      market: only of this market.
      since, until: only what takes effect at or after, and before.
      limit: how many at most.
      cursor: `next` of the page before.

    Raises:
      ValueError: the cursor is none of ours.
    """
    point, table = tables.access_point, SUBJECTS[subject]
    known = select(point.c.id).where(point.c.identifier == identifier)
    if market is not None:
        known = known.where(point.c.market == market)
    with reading(store.engine) as connection:
        ids = connection.execute(known).scalars().all()
    return _rows(store, table, table.c.access_point_id.in_(ids), since, until, limit, cursor) if ids else None


def rows_of_market(
    store: Store,
    market: str,
    subject: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Effect]:
    """Rows of one subject of a market, the latest instant first.

    Args:
      store: the EIS.
      market: its ISO code.
      subject: one of `MARKET_SUBJECTS`.
      since, until: only what takes effect at or after, and before.
      limit: how many at most.
      cursor: `next` of the page before.

    Raises:
      ValueError: the cursor is none of ours.
    """
    table = MARKET_SUBJECTS[subject]
    return _rows(store, table, table.c.market == market, since, until, limit, cursor)


def _rows(
    store: Store,
    table: Table,
    wanted: ColumnElement[bool],
    since: datetime | None,
    until: datetime | None,
    limit: int,
    cursor: str | None,
) -> Page[Effect]:
    at, number = table.c["at"], table.c.id
    query = select(table).where(wanted).order_by(at.desc(), number.desc()).limit(limit + 1)
    if since is not None:
        query = query.where(at >= micros(since))
    if until is not None:
        query = query.where(at < micros(until))
    if cursor is not None:
        last_at, _, last = cursor.rpartition("_")
        query = query.where(tuple_(at, number) < tuple_(literal(int(last_at), BigInteger), literal(int(last))))
    with reading(store.engine) as connection:
        rows = connection.execute(query).mappings().all()
    return page_of([effect_of(table, row) for row in rows], limit, lambda one: f"{micros(one.at or EPOCH)}_{one.id}")
