"""Points whose measures stay away, held against the rhythm of their own measures."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs

from energycomm.eis.overdue import overdue_points
from energycomm.kernel.messages import AccessPointData, RequestStatus
from energycomm.kernel.vocabulary import RequestState
from energycomm.market.contract import Noticing, Transaction
from energycomm.market.installed import installed_adapters
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
