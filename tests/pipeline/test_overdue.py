"""Points whose measures stay away, held against the rhythm of their own measures."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec import structs
from sqlalchemy import text

from energycomm.eis import overdue, tables
from energycomm.eis.database import connect, is_sqlite, writing
from energycomm.eis.overdue import overdue_page, overdue_points
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant
from energycomm.kernel.messages import AccessPointData, RequestStatus
from energycomm.kernel.vocabulary import RequestState
from energycomm.market.contract import Noticing, Transaction
from energycomm.market.installed import installed_adapters
from tests.eis.rows import DAY, put, put_kernel_message
from tests.eis.watched import Watched
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start, transaction

MONTHLY, SILENT, LEFT, YOUNG = (f"9900000000{number}" for number in ("0017", "0024", "0031", "0048"))


def test_points_without_the_measures_that_their_rhythm_promises_are_listed_by_age(database_url: str) -> None:
    desk = Desk(database_url)
    monthly = [reading(MONTHLY, day(30 * number), 1_000_000 + 1000 * number) for number in (1, 2, 3)]
    desk.deliver([start(MONTHLY, day(0)), *monthly])
    desk.deliver([start(SILENT, day(0)), start(YOUNG, day(95))])
    desk.deliver([start(LEFT, day(0)), end(LEFT, day(40))])
    engine = desk.store.engine
    told = [
        (one.access_point, one.every, one.missing, one.late, one.measured_until)
        for one in overdue_points(engine, day(130), usual=35, grace=7)
    ]
    assert told == [(SILENT, None, 130, 95, None), (MONTHLY, 30, 40, 10, day(90))]
    assert [one.access_point for one in overdue_points(engine, day(130), grace=20)] == [SILENT]
    assert overdue_points(engine, day(127), grace=7, limit=5)[-1].access_point == SILENT
    assert overdue_points(engine, day(30) - timedelta(hours=1)) == []
    assert overdue_points(engine, day(130), market="NL") == []


def test_pages_of_overdue_points_hold_each_once_however_many_miss_measures_since_one_instant(
    database_url: str,
) -> None:
    """Seven points were supplied on one day; of two more a service stopped, which missed seven days for good."""
    desk = Desk(database_url)
    silent = [f"9900000001{number:04}" for number in range(7)]
    for prm in silent:
        desk.deliver([start(prm, day(0))])
    for prm in (MONTHLY, YOUNG):
        desk.deliver([start(prm, day(0)), *(reading(prm, day(n), 1_000_000 + 1000 * n) for n in (57, 58, 59, 60))])
        desk.deliver([service(prm, "IDX", day(67))])
    engine, notices = desk.store.engine, {"FR": ("NASS",)}
    shown: list[str] = []
    cursor, pages, now = None, 0, day(67)
    while pages == 0 or cursor is not None:
        found = overdue_page(engine, now, notices=notices, grace=2, limit=2, cursor=cursor)
        shown += [one.access_point for one in found.points]
        cursor, pages, now = found.next, pages + 1, day(90)  # the pages after the first are as of its present
    assert (sorted(shown[:7]), sorted(shown[7:]), pages) == (silent, sorted((MONTHLY, YOUNG)), 5)
    for wrong in ("1.2", "x.1.2", "1.2.³", f"1.{1 << 64}.2"):
        with pytest.raises(ValueError, match="no cursor"):
            overdue_page(engine, now, cursor=wrong)


def service(prm: str, name: str, stopped: datetime | None = None) -> Transaction:
    """A notice of day 62 that a service runs, or that it stopped on a day."""
    at = day(62) if stopped is None else stopped
    told = head(prm, at, "NASS", None, f"{name}{stopped}") | {"created": day(62)}
    state: RequestState = "in-course" if stopped is None else "done"
    return transaction(
        [RequestStatus(**told, request=f"{name}:2026-01-05", state=state, state_code="4", object_code=name)]
    )


def test_measures_of_a_service_that_stopped_are_not_missed(database_url: str) -> None:
    """Three points were read each day until day 60. Of one, the service stopped and nothing else runs; of the second,
    another service runs, by the usual rhythm; the third was subscribed anew and read until day 80."""
    alone, other, again = MONTHLY, SILENT, YOUNG
    desk = Desk(database_url)
    for prm in (alone, other, again):
        days = [57, 58, 59, 60, *((79, 80) if prm == again else ())]
        desk.deliver([start(prm, day(0)), *(reading(prm, day(n), 1_000_000 + 1000 * n) for n in days)])
    engine = desk.store.engine
    notices = {code: one.notices for code, one in installed_adapters().items() if isinstance(one, Noticing)}

    def missed(number: int) -> list[tuple[str, int | None, int]]:
        found = overdue_points(engine, day(number), notices=notices)
        return sorted((one.access_point, one.every, one.missing) for one in found)

    assert missed(75) == [(alone, 1, 15), (other, 1, 15)]
    desk.deliver([service(alone, "IDX", day(60)), service(other, "CDC", day(60)), service(other, "IDX")])
    desk.deliver([service(again, "IDX", day(60))])
    assert missed(75) == []
    assert missed(103) == [(other, None, 43), (again, 1, 23)]
    assert [one.access_point for one in overdue_points(engine, day(75), notices={"FR": ("X12",)})] == [alone, other]


def test_a_point_that_is_read_each_half_year_is_not_missed_after_a_month(database_url: str) -> None:
    """Readings of its first days make no rhythm. Of a point whose market tells no period, the usual one counts; once
    four measures are there, they tell the rhythm, whatever the market told."""
    told, untold, daily = MONTHLY, SILENT, YOUNG
    desk = Desk(database_url)
    for prm in (told, untold, daily):
        entry = list(start(prm, day(0)).messages)
        if prm != untold:
            entry = [
                structs.replace(one, reading_period=6) if isinstance(one, AccessPointData) else one for one in entry
            ]
        days = (10, 11, 12, 13) if prm == daily else (1, 9)
        desk.deliver([transaction(entry), *(reading(prm, day(n), 1_000_000 + 1000 * n) for n in days)])

    def missed(number: int) -> list[tuple[str, int | None, int]]:
        found = overdue_points(desk.store.engine, day(number))
        return sorted((one.access_point, one.every, one.late) for one in found)

    assert missed(60) == [(untold, 8, 43), (daily, 1, 46)]
    assert missed(9 + 183 + 7) == [(untold, 8, 182), (daily, 1, 185)]
    assert (told, 183, 8) in missed(9 + 183 + 8)


def test_what_was_missed_before_a_service_stopped_still_is(database_url: str) -> None:
    """Read each day until day 60; the service stopped on day 75."""
    desk = Desk(database_url)
    desk.deliver([start(MONTHLY, day(0)), *(reading(MONTHLY, day(n), 1_000_000 + 1000 * n) for n in range(56, 61))])
    desk.deliver([service(MONTHLY, "IDX", day(75))])
    for now in (74, 76, 120):
        found = overdue_points(desk.store.engine, day(now), notices={"FR": ("NASS",)})
        assert [(one.every, one.missing) for one in found] == [(1, min(now, 75) - 60)]


def test_what_is_kept_of_rhythms_is_what_the_whole_store_tells(database_url: str) -> None:
    """Whatever came since, was corrected or taken back: worked out all anew, the answer is the same."""
    desk = Desk(database_url)
    engine = desk.store.engine
    notices = {"FR": ("NASS",)}

    def missed(number: int) -> list[overdue.OverduePoint]:
        return overdue_points(engine, day(number), notices=notices, grace=0)

    desk.deliver([start(MONTHLY, day(0)), start(SILENT, day(10))])
    first = [missed(number) for number in (5, 50, 200)]
    assert [len(some) for some in first] == [0, 2, 2]
    rest = [
        [reading(MONTHLY, day(n), 1_000_000 + 1000 * n) for n in (30, 60, 90)],
        [start(LEFT, day(3))],
        [reading(SILENT, day(40), 1_000_000), service(MONTHLY, "IDX", day(95))],
        [end(LEFT, day(70)), reading(SILENT, day(41), 1_001_000)],
        [end(SILENT, day(120))],
    ]
    answers = set()
    for some in rest:
        desk.deliver(some)
        kept = [missed(number) for number in (69, 96, 119, 200, 5)]
        with writing(engine) as connection:
            connection.execute(text("DELETE FROM rhythm"))
            connection.execute(text(overdue._ALL))
        assert [missed(number) for number in (69, 96, 119, 200, 5)] == kept
        answers.add(str(kept))
    assert len(answers) == len(rest)


@pytest.mark.thorough
def test_the_list_costs_the_same_in_a_store_of_ten_times_as_many_points(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third of the points is read each day, a third each month, a third each half year; most are missed."""
    engine = connect(database_url)
    store = Store(engine)
    touched = []
    for some in (range(400), range(400, 4000)):
        with store.transaction() as tx:
            points = tx.access_points("FR", [f"{n:014d}" for n in some])
            message = put_kernel_message(tx, next(iter(points.values())).id, DAY)
            for number, point in zip(some, points.values(), strict=True):
                row = {"access_point_id": point.id, "at": DAY, "message_id": message}
                put(tx, tables.supply_period, {**row, "ended_at": None, "end_message_id": None})
                every = (1, 30, 182)[number % 3] * DAY
                measures = [{**row, "at": DAY + n * every, "status": "current"} for n in range(4)]
                put(tx, tables.reading, *measures)
            overdue.stale(tx.driver, [point.id for point in points.values()])
        now = instant(DAY * 400)
        assert len(overdue_points(engine, now)) == 50
        if not is_sqlite(engine):
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM (ANALYZE)"))
        with monkeypatch.context() as patched:
            watched = Watched(engine, patched)
            assert len(overdue_points(engine, now)) == 50
        touched.append(watched.all)
    assert touched[1] < 1.5 * touched[0]
    engine.dispose()
