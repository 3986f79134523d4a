"""Access points that we supply and whose measures stay away, by age: a supplier must bill them, or hold the bill."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from sqlalchemy import Engine

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.kernel.instants import instant, micros

DAY = 86_400_000_000
REMEMBERED = 4
"""Instants of its last measures from which the rhythm of a point is taken."""

_SQL = f"""
WITH measured AS (
  SELECT access_point_id AS p, at FROM reading
  UNION SELECT access_point_id, at FROM volume
  UNION SELECT access_point_id, coalesce(end_at, at) FROM series
), ranked AS (
  SELECT p, at, row_number() OVER (PARTITION BY p ORDER BY at DESC) AS n FROM measured
), known AS (
  SELECT p, max(at) AS latest, min(at) AS earliest, count(*) AS number FROM ranked WHERE n <= {REMEMBERED} GROUP BY p
)
SELECT a.market, a.identifier, s.at, known.latest, known.earliest, known.number
FROM supply_period s
JOIN access_point a ON a.id = s.access_point_id
LEFT JOIN known ON known.p = s.access_point_id
WHERE s.ended_at IS NULL AND s.at <= ?
"""  # noqa: S608 - a constant of ours


class OverduePoint(Struct, frozen=True, kw_only=True):
    """A supplied access point without the measures that its rhythm promises.

    Attributes:
      market, access_point: the point.
      supplied_since: when its supply began.
      measured_until: the latest instant that a reading, an energy or a series tells of; None where none ever came.
      every: days between its measures so far; None where fewer than two came.
      missing: days without measures: since the latest, or since supply began.
      late: days by which they are later than the rhythm promises.
    """

    market: str
    access_point: str
    supplied_since: datetime
    measured_until: datetime | None
    every: int | None
    missing: int
    late: int


def overdue_points(
    engine: Engine,
    now: datetime,
    *,
    market: str | None = None,
    usual: int = 35,
    grace: int = 7,
    limit: int = 50,
) -> list[OverduePoint]:
    """The points whose measures are overdue, those that are missed longest first.

    The rhythm of a point is the mean distance of its last measures: a day for daily ones, about 30 for monthly ones,
    a year for yearly ones.

    Args:
      engine: the store.
      now: the present, aware.
      market: only of this market.
      usual: days between measures of a point whose own rhythm is not known yet.
      grace: days that measures may be late.
      limit: how many at most.
    """
    present = micros(now)
    sql, values = _SQL, [present]
    if market is not None:
        sql += " AND a.market = ?"
        values.append(market)  # type: ignore[arg-type]
    found: list[OverduePoint] = []
    with reading(engine) as connection:
        for code, identifier, since, latest, earliest, number in driver_of(connection).rows(sql, tuple(values)):
            until = since if latest is None else max(latest, since)
            every = None if latest is None or number < 2 else max(round((latest - earliest) / (number - 1) / DAY), 1)
            missing = (present - until) // DAY
            late = missing - (usual if every is None else every)
            if late > grace:
                found.append(
                    OverduePoint(
                        market=code,
                        access_point=identifier,
                        supplied_since=instant(since),
                        measured_until=None if latest is None else instant(latest),
                        every=every,
                        missing=missing,
                        late=late,
                    )
                )
    found.sort(key=lambda one: (-one.missing, one.market, one.access_point))
    return found[:limit]
