"""Access points that we supply and whose measures stay away, by age: a supplier must bill them, or hold the bill.

The rhythm of each supplied point is kept in a table, so that the list is read by an index whatever the store holds.
Whoever judges a point notes that its rhythm is to be worked out anew (`stale`); that is done when somebody asks, and by
the daemon, many points at once (`refresh`). A rhythm also says between which instants it holds: what is told of a later
day, the end of a service or the beginning of a supply, changes it then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.bulk import Driver, PostgresDriver, Row, driver_of
from energycomm.eis.database import is_sqlite, reading, writing, writing_now
from energycomm.errors import UserError
from energycomm.kernel.instants import instant, micros

DAY = 86_400_000_000
MONTH = 30.44
"""Days of a mean month."""
REMEMBERED = 4
"""Instants of its last measures from which the rhythm of a point is taken."""
PIECE = 500
"""Points whose rhythm is worked out in one transaction."""
RUNNING, STOPPED, NOT_YET = 1, 0, 2
"""Of a rhythm: measures are to come; none are any more; none are yet."""
ALWAYS = 1 << 62
"""Later than any instant, and with a minus earlier."""

_SQL = f"""
WITH service AS (
  SELECT r.access_point_id AS p, max(CASE WHEN r.state = 'done' AND r.at <= ? THEN r.at END) AS stopped
  FROM request r JOIN kernel_message k ON k.id = r.message_id
  WHERE r.access_point_id IN ({{points}}) AND ({{notices}}) GROUP BY r.access_point_id, r.reference
), ended AS (
  SELECT v.p, max(CASE WHEN v.stopped >= s.at THEN v.stopped END) AS stopped, count(*) - count(v.stopped) AS running
  FROM service v JOIN supply_period s ON s.access_point_id = v.p AND s.ended_at IS NULL GROUP BY v.p
), measured AS (
  SELECT access_point_id AS p, at FROM reading WHERE access_point_id IN ({{points}})
  UNION SELECT access_point_id, at FROM volume WHERE access_point_id IN ({{points}})
  UNION SELECT access_point_id, coalesce(end_at, at) FROM series WHERE access_point_id IN ({{points}})
), ranked AS (
  SELECT m.p, m.at, CASE WHEN e.stopped IS NULL OR m.at > e.stopped THEN m.at END AS since_stop,
    row_number() OVER (PARTITION BY m.p ORDER BY m.at DESC) AS n
  FROM measured m LEFT JOIN ended e ON e.p = m.p
), known AS (
  SELECT p, max(at) AS latest, min(since_stop) AS earliest, count(since_stop) AS number, min(at) AS first,
    count(*) AS all_of_them FROM ranked WHERE n <= {REMEMBERED} GROUP BY p
)
SELECT a.id, a.market, s.at, known.latest, known.earliest, known.number, ended.stopped, ended.running,
  (SELECT d.reading_period FROM point_data d WHERE d.access_point_id = a.id AND d.reading_period > 0 AND d.at <= ?
   ORDER BY d.at DESC, d.id DESC LIMIT 1), known.first, known.all_of_them
FROM supply_period s
JOIN access_point a ON a.id = s.access_point_id
LEFT JOIN known ON known.p = s.access_point_id
LEFT JOIN ended ON ended.p = s.access_point_id
WHERE s.ended_at IS NULL AND s.access_point_id IN ({{points}}) ORDER BY s.id
"""  # noqa: S608 - a constant of ours

_CHANGES = """
SELECT p, max(CASE WHEN at <= ? THEN at END), min(CASE WHEN at > ? THEN at END) FROM (
  SELECT access_point_id AS p, at FROM supply_period WHERE access_point_id IN ({points}) AND ended_at IS NULL
  UNION ALL SELECT access_point_id, at FROM point_data WHERE access_point_id IN ({points}) AND reading_period > 0
  UNION ALL SELECT r.access_point_id, r.at FROM request r JOIN kernel_message k ON k.id = r.message_id
  WHERE r.access_point_id IN ({points}) AND r.state = 'done' AND ({notices})
) AS told GROUP BY p
"""
"""The instants between which a rhythm holds: the last before the present at which something was told, and the next."""


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


class Place(NamedTuple):
    """Where a page of overdue points ended.

    Attributes:
      present: microseconds since the epoch, as of which the pages are told.
      since: from when the last point misses measures; of a point that misses none any more as long before the present.
      point: its id.
    """

    present: int
    since: int
    point: int


class Page(NamedTuple):
    """Some overdue points, and the cursor of those that are missed less long; None after the last."""

    points: list[OverduePoint]
    next: str | None


def overdue_points(engine: Engine, now: datetime, **wanted: Any) -> list[OverduePoint]:
    """The first page of overdue points: `overdue_page`."""
    return overdue_page(engine, now, **wanted).points


def overdue_page(
    engine: Engine,
    now: datetime,
    *,
    notices: Mapping[str, Collection[str]] | None = None,
    market: str | None = None,
    usual: int = 35,
    grace: int = 7,
    limit: int = 50,
    cursor: str | None = None,
) -> Page:
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
      cursor: `next` of the page before; the pages after the first are as of its present.

    Raises:
      ValueError: the cursor is none of ours.
    """
    refresh(engine, micros(now), notices or {})
    after = read_cursor(cursor) if cursor else Place(micros(now), -ALWAYS, 0)
    present = min(after.present, micros(now))
    with reading(engine) as connection:
        driver = driver_of(connection)
        found: list[Row] = []
        for running in (RUNNING, STOPPED):
            for code, every in _rhythms(driver, running, market):
                # What misses less than the list is full of already is not read.
                worst = found[limit][0] if len(found) > limit else ALWAYS
                most = min(present - ((every or usual) + grace + 1) * DAY, worst)
                late = _late(driver, (running, code, every), present, after, most, limit + 1)
                found = sorted([*found, *late], key=lambda row: row[:2])[: limit + 1]
        named = driver.matching("SELECT id, identifier FROM access_point WHERE true", [row[1] for row in found], "id")
        names: dict[int, str] = dict(named)
    shown = found[:limit]
    more = f"{present}.{shown[-1][0]}.{shown[-1][1]}" if len(found) > limit else None
    return Page([_told(row, names, present, usual) for row in shown], more)


def read_cursor(cursor: str) -> Place:
    """The place that a cursor names.

    Raises:
      ValueError: it is none of ours.
    """
    parts = cursor.split(".")
    if len(parts) != len(Place._fields) or not all(part.removeprefix("-").isdecimal() for part in parts):
        raise ValueError(f"{cursor!r} is no cursor of overdue points")
    place = Place(*map(int, parts))
    if max(map(abs, place)) > ALWAYS:
        raise ValueError(f"{cursor!r} is no cursor of overdue points")
    return place


def _rhythms(driver: Driver, running: int, market: str | None) -> Iterator[tuple[str, int]]:
    """The rhythms that there are, by market: a step of the index for each, whatever the number of points."""
    # In two steps: SQLite would walk through a market's rows to come to the rhythm that follows one.
    sql = "SELECT market, every FROM rhythm WHERE running = ? AND"
    further = f"{sql} market = ? AND every > ? ORDER BY every LIMIT 1"
    other = f"{sql} market {'=' if market else '>'} ? ORDER BY market, every LIMIT 1"
    rows = driver.rows(other, (running, market or ""))
    while rows:
        yield (after := (rows[0][0], rows[0][1]))
        rows = driver.rows(further, (running, *after))
        if not rows and market is None:
            rows = driver.rows(other, (running, after[0]))


def _late(driver: Driver, rhythm: tuple[int, str, int], present: int, after: Place, most: int, limit: int) -> list[Row]:
    """The points of a rhythm that miss measures since long, the longest first: (since, id, ...).

    Args:
      driver: of the store.
      rhythm: whether it runs, its market, its days.
      present: microseconds since the epoch.
      after: the place that the page begins after.
      most: the latest instant since which they miss measures.
      limit: how many at most.
    """
    since, point = after.since, after.point
    stopped = rhythm[0] == STOPPED
    if stopped:
        # Of these the days are kept: the place of a page is between two of them, or at one.
        days, rest = divmod(since - present, DAY)
        since, point, most = days, ALWAYS if rest else point, (most - present) // DAY
    sql = (
        "SELECT place, access_point_id, market, since, latest, every, running FROM rhythm "
        "WHERE running = ? AND market = ? AND every = ? AND place <= ? AND (place, access_point_id) > (?, ?) "
        "ORDER BY place, access_point_id LIMIT ?"
    )
    rows = driver.rows(sql, (*rhythm, most, since, point, limit))
    return [(present + row[0] * DAY if stopped else row[0], *row[1:]) for row in rows]


def _told(row: Row, names: Mapping[int, str], present: int, usual: int) -> OverduePoint:
    place, point, market, since, latest, every, _ = row
    missing = (present - place) // DAY
    return OverduePoint(
        market=market,
        access_point=names[point],
        supplied_since=instant(since),
        measured_until=None if latest is None else instant(latest),
        every=every or None,
        missing=missing,
        late=missing - (every or usual),
    )


def stale(driver: Driver, points: Sequence[int]) -> None:
    """Note that the rhythms of access points are to be worked out anew, in the transaction that changes them.

    On PostgreSQL each transaction has notes of its own, so that none is taken away by somebody who does not see yet
    what it is about.
    """
    if not points:
        return
    if not isinstance(driver, PostgresDriver):
        sql = "INSERT OR IGNORE INTO rhythm_stale (access_point_id, writer) VALUES (?, 0)"
        driver.many(sql, [(point,) for point in points])
    else:
        driver.run(
            "INSERT INTO rhythm_stale (access_point_id, writer) "
            "SELECT DISTINCT p, txid_current() FROM unnest(?::bigint[]) AS u(p) ON CONFLICT DO NOTHING",
            (list(points),),
        )


def refresh(engine: Engine, present: int, notices: Mapping[str, Collection[str]]) -> None:
    """Work out the rhythms that changed, and those that do not hold at an instant.

    On SQLite this waits for nobody: while somebody else writes, the rhythms stay as they were told last.

    Args:
      engine: the store.
      present: microseconds since the epoch.
      notices: as for `overdue_points`.
    """
    known = " ".join(f"{code}:{','.join(sorted(kinds))}" for code, kinds in sorted(notices.items()))
    values = (known, present, present)
    with reading(engine) as connection:
        if not driver_of(connection).rows(_WORK, values):
            return
    begin = writing_now if is_sqlite(engine) else writing
    with contextlib.suppress(UserError):
        while True:
            with begin(engine) as connection:
                driver = driver_of(connection)
                # Whoever refreshes too waits for the row.
                driver.run("UPDATE rhythm_head SET one = one")
                if driver.run("UPDATE rhythm_head SET notices = ? WHERE notices <> ?", (known, known)):
                    driver.run(_ALL)
                if not _work_out(driver, present, notices):
                    return


_WORK = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM rhythm_stale) OR EXISTS (SELECT 1 FROM rhythm_head WHERE notices <> ?) "
    "OR EXISTS (SELECT 1 FROM rhythm WHERE holds_until <= ?) OR EXISTS (SELECT 1 FROM rhythm WHERE holds_from > ?)"
)
_ALL = (
    "INSERT INTO rhythm_stale (access_point_id, writer) "
    "SELECT DISTINCT access_point_id, 0 FROM supply_period WHERE ended_at IS NULL AND access_point_id IS NOT NULL "
    "ON CONFLICT DO NOTHING"
)


def _work_out(driver: Driver, present: int, notices: Mapping[str, Collection[str]]) -> int:
    """Some of the rhythms that are to be worked out; how many points."""
    ids = [row[0] for row in driver.rows("SELECT DISTINCT access_point_id FROM rhythm_stale LIMIT ?", (PIECE,))]
    if not ids:
        sql = "SELECT access_point_id FROM rhythm WHERE holds_until <= ? UNION SELECT access_point_id FROM rhythm "
        ids = [row[0] for row in driver.rows(f"{sql} WHERE holds_from > ? LIMIT ?", (present, present, PIECE))]
    if not ids:
        return 0
    some = ", ".join(f"{number:d}" for number in ids)
    # First the notes go: what is noted later is about what may not be seen here.
    for table in ("rhythm_stale", "rhythm"):
        driver.run(f"DELETE FROM {table} WHERE access_point_id IN ({some})")  # noqa: S608 - numbers of ours
    pairs = [(code, kind) for code, kinds in notices.items() for kind in sorted(kinds)]
    noticed = " OR ".join(["(k.market = ? AND k.market_type = ?)"] * len(pairs)) or "1 = 0"
    named = [value for pair in pairs for value in pair]
    changes = driver.rows(_CHANGES.format(points=some, notices=noticed), (present, present, *named))
    holds = {row[0]: (-ALWAYS if row[1] is None else row[1], row[2] or ALWAYS) for row in changes}
    sql = _SQL.format(points=some, notices=noticed)
    made: dict[int, dict[str, object]] = {}
    for row in driver.rows(sql, (present, *named, present)):
        made[row[0]] = {**_rhythm(row, present), **dict(zip(("holds_from", "holds_until"), holds[row[0]], strict=True))}
    driver.insert(tables.rhythm, list(made.values()))
    return len(ids)


def _rhythm(row: Row, present: int) -> dict[str, object]:
    """The rhythm of a supplied point: since when it misses measures, or how many days it missed for good."""
    point, market, since, latest, earliest, number, stopped, going, months, *before = row
    until, ended = max(since, latest or since, stopped or since), None
    if stopped is not None and not going and not number:
        ended, until = stopped, max(since, latest or since)
        earliest, number = before
    every = None if months is None else round(months * MONTH)
    if latest is not None and number >= (2 if every is None else REMEMBERED):
        every = max(round((latest - earliest) / (number - 1) / DAY), 1)
    return {
        "access_point_id": point,
        "market": market,
        "since": since,
        "latest": latest,
        "every": every or 0,
        "running": NOT_YET if since > present else RUNNING if ended is None else STOPPED,
        "place": until if ended is None else -((ended - until) // DAY),
    }
