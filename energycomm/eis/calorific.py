"""Calorific values of gas, per receiving station and month, and the conversion of volumes into energy."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

from msgspec import Struct
from sqlalchemy import Engine, func, select

from energycomm.eis.database import reading
from energycomm.eis.tables import calorific_value, kernel_message
from energycomm.kernel.instants import instant

WHOLE_WATT_HOURS = Decimal("0.001")
"""Energies are told in kWh to the Wh."""


class Published(Struct, frozen=True, kw_only=True):
    """A calorific value that holds.

    Attributes:
      market: ISO code of the market.
      station: EAN-GSRN of the receiving station.
      name: its name, where the file told one.
      month: YYYY-MM.
      value: gross calorific value in kWh/m3(n); 0 for a station out of use.
      message_id: the message that brought it.
      received_at: when that came.
    """

    market: str
    station: str
    name: str | None
    month: str
    value: Decimal
    message_id: int
    received_at: datetime


def published(engine: Engine, month: str | None = None, station: str | None = None) -> list[Published]:
    """The values that hold, by month and station: of several publications of one month the one received last.

    Args:
      engine: the EIS.
      month: only this month, YYYY-MM.
      station: only this station.
    """
    value, message = calorific_value.c, kernel_message.c
    order = (message.received_at.desc(), value.id.desc())
    rank = func.row_number().over(partition_by=(value.market, value.station, value.month), order_by=order)
    ranked = select(
        value.market, value.station, value.name, value.month, value.value, value.message_id, message.received_at,
        rank.label("rank"),
    ).join(kernel_message, message.id == value.message_id)  # fmt: skip
    if month is not None:
        ranked = ranked.where(value.month == month)
    if station is not None:
        ranked = ranked.where(value.station == station)
    last = ranked.subquery()
    query = select(last).where(last.c.rank == 1).order_by(last.c.market, last.c.month, last.c.station)
    with reading(engine) as connection:
        return [
            Published(
                market=row.market,
                station=row.station,
                name=row.name,
                month=row.month,
                value=Decimal(row.value),
                message_id=row.message_id,
                received_at=instant(row.received_at),
            )
            for row in connection.execute(query)
        ]


def energy(volume: Decimal, value: Decimal) -> Decimal:
    """The energy of a volume of gas in kWh, to the Wh.

    Args:
      volume: in m3 under normal conditions.
      value: gross calorific value in kWh/m3(n).
    """
    return (volume * value).quantize(WHOLE_WATT_HOURS, ROUND_HALF_UP)
