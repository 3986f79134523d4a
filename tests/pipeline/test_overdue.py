"""Points whose measures stay away, held against the rhythm of their own measures."""

from __future__ import annotations

from datetime import timedelta

from energycomm.eis.overdue import overdue_points
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, reading, start

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
