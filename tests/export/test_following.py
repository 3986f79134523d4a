"""Whoever applies the changes since a cursor has what the store has, whatever happened in between."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import pairwise
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from energycomm.eis.database import writing
from energycomm.export.rows import opened_export
from energycomm.export.subjects import FOLLOWED, Row, Selection, subjects
from energycomm.kernel.messages import GridInvoice
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start, story, transaction
from tests.postgres import PostgresServer

Warehouse = dict[str, dict[int, list[Row]]]
"""Subject -> message -> its rows, without what to do with them."""


def apply(held: dict[int, list[Row]], rows: Iterable[Row]) -> dict[int, str]:
    """Do what docs/export.md says: the rows of a message take the place of those that are there; what was done."""
    done: dict[int, str] = {}
    for op, message, *rest in rows:
        if message not in done:
            assert (op == "insert") == (message not in held)
            held.pop(message, None)
            done[message] = op
        assert done[message] == op
        if op != "withdraw":
            held.setdefault(message, []).append(tuple(rest))
    return done


def taken(desk: Desk, subject: str, cursor: str | None = None, **chosen: Any) -> tuple[list[Row], str]:
    with opened_export(desk.database, subject, Selection(**chosen), desk.markets.zones, cursor) as found:
        return list(found.rows()), str(found.place)


def whole(desk: Desk, subject: str) -> dict[int, list[Row]]:
    held: dict[int, list[Row]] = {}
    apply(held, taken(desk, subject)[0])
    return held


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """A fresh database on PostgreSQL: on SQLite a second writer waits for the first."""
    name = postgres.create_database()
    yield postgres.url(name)
    while Desk.open:
        Desk.open.pop().database.dispose()
    postgres.drop_database(name)


STORY = [*story(), *story("99000000000024"), reading("99000000000031", day(31), 1)]


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(range(len(STORY))),
    cuts=st.lists(st.integers(1, len(STORY) - 1), max_size=5, unique=True),
    read=st.integers(0, 31),
)
def test_following_a_store_ends_with_what_the_store_has(order: list[int], cuts: list[int], read: int) -> None:
    """Late messages, corrections, cancellations, verdicts that change, messages that come again; read now and then."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(f"sqlite:///{folder}/eis.db")
        follow(desk, order, cuts, read)


@pytest.mark.thorough
def test_following_a_store_message_by_message_on_both_databases(database_url: str) -> None:
    """Read after each: a late reading lets a later one be rejected, which is taken back; a correction, a late exit."""
    desk = Desk(database_url)
    order = [0, 1, 4, 2, 3, *range(5, 12), *reversed(range(12, len(STORY)))]
    done = follow(desk, order, list(range(1, len(STORY))), -1)
    assert {"insert", "correct", "withdraw"} <= done


def follow(desk: Desk, order: list[int], cuts: list[int], read: int) -> set[str]:
    held: Warehouse = {name: {} for name in FOLLOWED}
    cursors: dict[str, str] = {}
    done: set[str] = set()
    bounds = [0, *sorted(cuts), len(order)]
    for number, (low, high) in enumerate(pairwise(bounds)):
        desk.deliver([STORY[index] for index in order[low:high]])
        if read & 1 << number or high == len(order):
            for name in FOLLOWED:
                rows, cursors[name] = taken(desk, name, cursors.get(name))
                done |= set(apply(held[name], rows).values())
    desk.deliver([STORY[index] for index in order[:5]])  # they come again
    for name in FOLLOWED:
        assert taken(desk, name, cursors[name])[0] == []
        assert held[name] == whole(desk, name)
    return done


@pytest.mark.thorough
def test_following_while_two_others_write(postgres_url: str) -> None:
    """Each writer tells the life of a point of its own; the reader does not wait for them."""
    desk = Desk(postgres_url)
    held: Warehouse = {name: {} for name in FOLLOWED}
    cursors: dict[str, str] = {}

    def tell(prm: str, number: int) -> None:
        writer = Desk(postgres_url)
        writer.deliveries = number * 1000  # envelopes of their own
        for one in (story(prm)[index] for index in (0, 1, 4, 2, 3, 7)):
            writer.deliver([one])

    writers = [Thread(target=tell, args=(f"9900000000004{number}", number)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers) or not cursors:
        for name in FOLLOWED:
            rows, cursors[name] = taken(desk, name, cursors.get(name))
            apply(held[name], rows)
    for name in FOLLOWED:
        apply(held[name], taken(desk, name, cursors[name])[0])
        assert held[name] == whole(desk, name)
    assert len(held["supply"]) == 2


def test_what_is_exported_is_what_arrived(database_url: str) -> None:
    """By hand: an entry and two readings, 1100 and 1240 kWh (1250 was replaced), an exit on the 150th day."""
    desk = Desk(database_url)
    prm = "99000000000017"
    begun: list[Transaction] = [start(prm, day(0)), reading(prm, day(31), 1_100_000), reading(prm, day(59), 1_250_000)]
    desk.deliver(begun)
    with opened_export(desk.database, "readings", Selection(), desk.markets.zones) as found:
        names = [column.name for column in found.subject.columns]
        rows = [dict(zip(names, row, strict=True)) for row in found.rows()]
        cursor = str(found.place)
    assert [(row["op"], row["item"], row["value"], row["unit"], row["status"]) for row in rows] == [
        ("insert", 1, 1100, "kWh", "current"),
        ("insert", 1, 1250, "kWh", "current"),
    ]
    assert [(row["market"], row["access_point"], row["at"], row["time_class"]) for row in rows] == [
        ("FR", prm, day(31), "BASE"),
        ("FR", prm, day(59), "BASE"),
    ]
    desk.deliver([reading(prm, day(59), 1_240_000, function="replace"), end(prm, day(150))])
    changed, cursor = taken(desk, "readings", cursor)
    shown = [dict(zip(names, row, strict=True)) for row in changed]
    assert [(row["op"], row["message"] == rows[1]["message"], row["value"], row["status"]) for row in shown] == [
        ("correct", True, 1250, "replaced"),
        ("insert", False, 1240, "current"),
    ]
    supply, _ = taken(desk, "supply")
    assert [row[5] for row in supply] == [day(0)]
    assert [value for value in supply[0][6:] if not isinstance(value, str | int)][:1] == [day(150)]
    assert len(taken(desk, "readings", cursor)[0]) == 0


def test_filters_choose_by_day_point_market_and_segment(database_url: str) -> None:
    desk = Desk(database_url)
    for prm in ("99000000000017", "99000000000024"):
        desk.deliver([start(prm, day(0)), reading(prm, day(31), 1_100_000), reading(prm, day(59), 1_250_000)])
    day31, day59 = day(31).date(), day(59).date()
    assert len(taken(desk, "readings")[0]) == 4
    assert len(taken(desk, "readings", access_points=("99000000000024",))[0]) == 2
    assert len(taken(desk, "readings", first=day31, last=day31)[0]) == 2
    assert len(taken(desk, "readings", first=day59)[0]) == 2
    assert len(taken(desk, "readings", markets=("NL",))[0]) == 0
    assert len(taken(desk, "readings", segments=("C5",))[0]) == 4
    assert len(taken(desk, "supply", first=day59)[0]) == 2
    assert len(taken(desk, "supply", last=day(-1).date())[0]) == 0


@pytest.mark.thorough
def test_a_transaction_that_commits_late_is_not_lost(postgres_url: str) -> None:
    """It began, and took its ids, before another one that committed first; in between somebody read."""
    desk = Desk(postgres_url)
    desk.deliver([start("99000000000017", day(0)), start("99000000000024", day(0))])
    _, cursor = taken(desk, "supply")
    change = "UPDATE supply_period SET end_reason = :why WHERE message_id = :message"
    first, second = (row[1] for row in taken(desk, "supply")[0])
    with writing(desk.database) as slow:
        slow.execute(text(change), {"why": "slow", "message": first})
        with writing(desk.database) as quick:
            quick.execute(text(change), {"why": "quick", "message": second})
        rows, between = taken(desk, "supply", cursor)
        assert [row[1] for row in rows] == [second]
    rows, _ = taken(desk, "supply", between)
    assert [(row[0], row[1]) for row in rows] == [("correct", first)]


def test_totals_of_grid_invoices_are_followed(database_url: str) -> None:
    """The general file of an invoice comes after the first export; it names no access point."""
    desk = Desk(database_url)
    held: dict[int, list[Row]] = {}
    rows, cursor = taken(desk, "invoices")
    assert rows == []
    told = head("99000000000017", day(40), "F15", None, "invoice:F1") | {"access_point": None}
    invoice = GridInvoice(
        **told,
        invoice="F1",
        invoice_date=day(40).date(),
        currency="EUR",
        total_excluding_tax=Decimal("100.00"),
        total_tax=Decimal("20.00"),
    )
    desk.deliver([transaction([invoice])])
    rows, _ = taken(desk, "invoices", cursor)
    assert apply(held, rows).values(), desk.states()
    assert held == whole(desk, "invoices")
    names = [column.name for column in subjects()["invoices"].columns]
    (row,) = [dict(zip(names, row, strict=True)) for row in rows]
    assert (row["op"], row["market"], row["access_point"]) == ("insert", "FR", None)
    assert (row["invoice"], row["part"], row["total"], row["tax"], row["gross"]) == ("F1", "general", 100, 20, None)
