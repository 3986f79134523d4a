"""Access points that we supply and whose measures stay away, by age: a supplier must bill them, or hold the bill."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Engine

from energycomm.eis.bulk import Row, driver_of
from energycomm.eis.database import reading
from energycomm.kernel.instants import instant, micros

DAY = 86_400_000_000
MONTH = 30.44
"""Days of a mean month."""
REMEMBERED = 4
"""Instants of its last measures from which the rhythm of a point is taken."""

_SQL = f"""
WITH service AS (
  SELECT r.access_point_id AS p, max(CASE WHEN r.state = 'done' AND r.at <= ? THEN r.at END) AS stopped
  FROM request r JOIN kernel_message k ON k.id = r.message_id
  WHERE {{notices}} GROUP BY r.access_point_id, r.reference
), ended AS (
  SELECT v.p, max(CASE WHEN v.stopped >= s.at THEN v.stopped END) AS stopped, count(*) - count(v.stopped) AS running
  FROM service v JOIN supply_period s ON s.access_point_id = v.p AND s.ended_at IS NULL GROUP BY v.p
), measured AS (
  SELECT access_point_id AS p, at FROM reading
  UNION SELECT access_point_id, at FROM volume
  UNION SELECT access_point_id, coalesce(end_at, at) FROM series
), ranked AS (
  SELECT m.p, m.at, CASE WHEN e.stopped IS NULL OR m.at > e.stopped THEN m.at END AS since_stop,
    row_number() OVER (PARTITION BY m.p ORDER BY m.at DESC) AS n
  FROM measured m LEFT JOIN ended e ON e.p = m.p
), known AS (
  SELECT p, max(at) AS latest, min(since_stop) AS earliest, count(since_stop) AS number, min(at) AS first,
    count(*) AS all_of_them FROM ranked WHERE n <= {REMEMBERED} GROUP BY p
)
SELECT a.market, a.identifier, s.at, known.latest, known.earliest, known.number, ended.stopped, ended.running,
  (SELECT d.reading_period FROM point_data d WHERE d.access_point_id = a.id AND d.reading_period > 0 AND d.at <= ?
   ORDER BY d.at DESC, d.id DESC LIMIT 1), known.first, known.all_of_them
FROM supply_period s
JOIN access_point a ON a.id = s.access_point_id
LEFT JOIN known ON known.p = s.access_point_id
LEFT JOIN ended ON ended.p = s.access_point_id
WHERE s.ended_at IS NULL AND s.at <= ?
"""  # noqa: S608 - a constant of ours


class OverduePoint(Struct, frozen=True, kw_only=True):
    """A supplied access point without the measures that its rhythm promises.

    Attributes:
      market, access_point: the point.
      supplied_since: when its supply began.
      measured_until: the latest instant that a reading, an energy or a series tells of; None where none ever came.
      every: days between its measures: by the last of them, or as the market says of the point; None where neither
        tells.
      missing: days without measures: since the latest, or since supply began; until now, or until the service stopped.
      late: days by which they are later than the rhythm promises.
    """

    market: str
    access_point: str
    supplied_since: datetime
    measured_until: datetime | None
    every: int | None
    missing: int
    late: int


HEAD = ("market", "access point", "supplied since", "measured until", "every", "days missing", "days late")
"""Columns of a point."""


def cells(one: OverduePoint, day: Callable[[datetime | None, str], str]) -> tuple[object, ...]:
    """A point as the cells of `HEAD`; `day` writes an instant as a day of a market."""
    since, until = day(one.supplied_since, one.market), day(one.measured_until, one.market) or "never"
    return (one.market, one.access_point, since, until, one.every or "", one.missing, one.late)


def overdue_points(
    engine: Engine,
    now: datetime,
    *,
    notices: Mapping[str, Collection[str]] | None = None,
    market: str | None = None,
    usual: int = 35,
    grace: int = 7,
    limit: int = 50,
) -> list[OverduePoint]:
    """The points whose measures are overdue, those that are missed longest first.

    The rhythm of a point is the mean distance of its last measures: a day for daily ones, about 30 for monthly ones,
    a year for yearly ones. While fewer than four came, it is that of its periodic readings, where the market tells it
    (half a year, a year): a reading at the beginning of supply and one of another meter make no rhythm. Where the
    market told that a service of the point stopped, only measures after it make the rhythm; and where no other service
    runs and none came since, nothing is missed from the stop on, and what was missed before it still is.

    Args:
      engine: the store.
      now: the present, aware.
      notices: market -> types of messages that tell which services run and stopped
        (`energycomm.market.contract.Noticing`).
      market: only of this market.
      usual: days between measures of a point whose own rhythm is not known yet.
      grace: days that measures may be late.
      limit: how many at most.
    """
    present = micros(now)
    pairs = [(code, kind) for code, kinds in (notices or {}).items() for kind in sorted(kinds)]
    sql = _SQL.format(notices=" OR ".join(["(k.market = ? AND k.market_type = ?)"] * len(pairs)) or "1 = 0")
    values: list[object] = [present, *(value for pair in pairs for value in pair), present, present]
    if market is not None:
        sql += " AND a.market = ?"
        values.append(market)
    with reading(engine) as connection:
        points = [_point(row, present, usual) for row in driver_of(connection).rows(sql, tuple(values))]
    found = [one for one in points if one.late > grace]
    found.sort(key=lambda one: (-one.missing, one.market, one.access_point))
    return found[:limit]


def _point(row: Row, present: int, usual: int) -> OverduePoint:
    """A supplied point with what it misses, however little that is."""
    code, identifier, since, latest, earliest, number, stopped, running, months, *before = row
    upto, until = present, max(since, latest or since, stopped or since)
    if stopped is not None and not running and not number:
        upto, until = stopped, max(since, latest or since)
        earliest, number = before
    every = None if months is None else round(months * MONTH)
    if latest is not None and number >= (2 if every is None else REMEMBERED):
        every = max(round((latest - earliest) / (number - 1) / DAY), 1)
    missing = (upto - until) // DAY
    return OverduePoint(
        market=code,
        access_point=identifier,
        supplied_since=instant(since),
        measured_until=None if latest is None else instant(latest),
        every=every,
        missing=missing,
        late=missing - (usual if every is None else every),
    )
