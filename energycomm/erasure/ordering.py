"""Which customer is meant: the order to erase one, from what an officer typed."""

from __future__ import annotations

from datetime import date, datetime, time

from energycomm.eis.database import reading
from energycomm.eis.erasures import FOREVER, Order, Reason, erasures
from energycomm.eis.store import Store
from energycomm.erasure.persons import last_word, stays
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, micros
from energycomm.market.installed import Markets


class NobodyKnown(UserError):
    """No such access point, or no customer of it is known."""


def order_of(
    store: Store,
    markets: Markets,
    market: str,
    access_point: str,
    at: int | None,
    *,
    now: int,
    by: str,
    reference: str = "",
    reason: Reason | None = None,
) -> Order:
    """The order to erase a customer.

    Args:
      store: the EIS.
      markets: the installed markets.
      market, access_point: where the customer was.
      at: an instant at which it was this one; None where the access point had one customer.
      now: when it is ordered, microseconds since the epoch.
      by: who orders it.
      reference: number of the case in the officer's register.
      reason: why.

    Raises:
      UserError: there is no such access point, or it is not clear which customer.
    """
    with store.reading() as reader:
        everybody = stays(reader, market, access_point)
        # Who is named by a message alone that was refused, or waits, is nobody in the store: one of nobody else's.
        among = [one for one in everybody if one.names or at is not None or len(everybody) == 1]
        if at is not None:
            among = [one for one in among if one.since <= at < one.until]
        if not among:
            raise NobodyKnown(
                f"No customer of {access_point} is known by name.", "Somebody who was erased is known no more."
            )
        if len(among) > 1:
            zone = markets.zone(market)
            days = ", ".join(instant(one.since).astimezone(zone).date().isoformat() for one in among[1:])
            raise UserError(
                f"{access_point} had {len(among)} customers; another one began on {days}.",
                "Say with --at (of the API: at) on which day it was the customer's.",
            )
        (stay,) = among
        until = stay.until if stay.until < FOREVER else last_word(reader, stay)
    return Order(
        market=market,
        access_point=access_point,
        since=stay.since,
        until=until,
        ordered_at=now,
        by=by[:120],
        reference=reference[:120],
        reason=reason,
    )


def market_of(store: Store, access_point: str, wanted: str | None) -> str:
    """The market of an access point.

    Raises:
      UserError: none knows it, or several do.
    """
    with store.reading() as reader:
        known = [row[0] for row in reader.driver.rows(_MARKETS, (access_point,))]
    if not known or (wanted is not None and wanted not in known):
        where = f" of {wanted}" if wanted else ""
        raise NobodyKnown(
            f"There is no access point {access_point}{where}.", "`energycomm customer find` shows whose there are."
        )
    if wanted is None and len(known) > 1:
        raise UserError(f"{access_point} is known in {' and '.join(known)}.", "Say which with --market.")
    return wanted or str(known[0])


def unfinished(store: Store, market: str, access_point: str) -> Order | None:
    """The order for an access point that was interrupted, or waits for something; None where there is none."""
    with reading(store.engine) as connection:
        for one in erasures(connection):
            same = (one.order.market, one.order.access_point) == (market, access_point)
            if same and one.done_at is None and not one.kept:
                return one.order
    return None


def noon_of(day: date, markets: Markets, market: str) -> int:
    """Noon of a day in the legal time of a market, microseconds since the epoch: who was there on the day."""
    return micros(datetime.combine(day, time(12), markets.zone(market)))


_MARKETS = "SELECT market FROM access_point WHERE identifier = ? ORDER BY market"
