"""Belgian messages on their whole way: any order ends in the same EIS, and what is cancelled is taken back."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from energycomm.billing.period import billing_period
from energycomm.eis import archive
from energycomm.eis.comparison import Meaning, canonical
from energycomm.kernel.messages import MeterReading
from energycomm.market.contract import Transaction
from energycomm.pipeline.batch import Origin
from energycomm.pipeline.records import Book, MemberRecord, OpenEnvelope, save_member
from tests.adapters.belgian import FOLDER, content, digested
from tests.pipeline.desk import NOW, Desk

MOVED_IN, SWITCHED = "541449000000001031", "541449000000001048"
POINT = b"541449000000001017"


def transactions(text: bytes) -> list[Transaction]:
    """The CH messages of a member that can be digested."""
    return [transaction for transaction in digested(text).transactions if transaction.messages]


def cancellation(reference: str, code: str, effective: str, point: str) -> list[Transaction]:
    """The cancellation of a start (E05) or stop (406) that was announced."""
    text = content("cancellation.xml").replace(b"CA-0001", reference.encode()).replace(POINT, point.encode())
    text = text.replace(b">432<", f">{code}<".encode()).replace(b"2026-07-01T00:00:00+02:00", effective.encode())
    return transactions(text)


STORY = [
    *(one for path in sorted(FOLDER.glob("*.*")) for one in transactions(path.read_bytes()) if path.suffix != ".md"),
    *cancellation("CA-0002", "406", "2026-06-01T00:00:00+02:00", MOVED_IN),
]


def deliver(desk: Desk, batch: Sequence[Transaction]) -> None:
    """Store Belgian CH messages as one batch of an envelope of its own."""
    desk.deliveries += 1
    prepared = desk.writer.prepare(batch)
    with desk.store.transaction() as tx:
        name = f"{desk.deliveries}.xml"
        archived = archive.archive(tx, name, io.BytesIO(name.encode()), "test", NOW)
        member = MemberRecord(name, archived.sha256, archived.size)
        book = Book(tx, [OpenEnvelope(archived.envelope_id, name, archived.sha256)])
        member, _ = save_member(book, archived.envelope_id, member, "BE", len(batch), last=True)
        book.store()
        desk.writer.store(tx, Origin("BE", archived.envelope_id, member.id), prepared, NOW)


def told(url: str, order: Sequence[int]) -> Meaning:
    """The EIS after the story was delivered one by one in an order."""
    desk = Desk(url)
    for number in order:
        deliver(desk, [STORY[number]])
    meaning = canonical(desk.database, carriers=False)
    desk.database.dispose()
    return meaning


@pytest.mark.thorough
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(STORY))))
def test_any_order_of_belgian_messages_ends_in_the_same_eis(order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        expected = told(f"sqlite:///{folder}/in_order.db", range(len(STORY)))
        assert told(f"sqlite:///{folder}/eis.db", order) == expected


def periods(desk: Desk, point: str) -> list[tuple[bool, bool]]:
    """Of each supply period of a point: whether it has an end, and whether it has a length."""
    rows = desk.rows(
        "SELECT p.at, p.ended_at FROM supply_period p JOIN access_point a ON a.id = p.access_point_id "
        f"WHERE a.identifier = '{point}' ORDER BY p.at"
    )
    return [(end is not None, end is None or end > start) for start, end in rows]


def test_a_cancelled_stop_lets_the_supply_run_on(database_url: str) -> None:
    desk = Desk(database_url)
    deliver(desk, transactions(content("start_by_move.xml")))
    deliver(desk, transactions(content("stop_by_switch.xml")))
    assert periods(desk, MOVED_IN) == [(True, True)]
    deliver(desk, cancellation("CA-0002", "406", "2026-06-01T00:00:00+02:00", MOVED_IN))
    assert periods(desk, MOVED_IN) == [(False, True)]


def test_a_cancelled_start_leaves_no_supply(database_url: str) -> None:
    desk = Desk(database_url)
    early = cancellation("CA-0003", "E05", "2026-04-01T00:00:00+02:00", SWITCHED)
    deliver(desk, early)
    assert desk.states() == {"StartOfSupply CA-0003": "quarantined"}
    deliver(desk, transactions(content("start_by_combined_switch.xml")))
    assert desk.states()["StartOfSupply CA-0003"] == "accepted"
    assert periods(desk, SWITCHED) == [(True, False)]


def test_a_belgian_month_is_billed_by_its_indexes_and_by_its_volumes_where_there_are_none(tmp_path: Path) -> None:
    """March of RD-0001 and RD-0004: 10 615 - 10 500 and 8 351 - 8 200 kWh, which are its volumes too, 115 and 151."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}")
    for one in STORY:
        deliver(desk, [one])
    days = date(2026, 3, 1), date(2026, 3, 31)
    by_indexes = billing_period(desk.database, POINT.decode(), *days, desk.markets)
    assert {one.time_class: one.quantity for one in by_indexes.consumption} == {"HI": 115, "LO": 151}
    assert by_indexes.ready
    desk.database.dispose()

    alone = Desk(f"sqlite:///{tmp_path / 'volumes.db'}")
    for one in STORY:
        kept = tuple(message for message in one.messages if not isinstance(message, MeterReading))
        if kept:
            deliver(alone, [structs.replace(one, messages=kept)])
    by_volumes = billing_period(alone.database, POINT.decode(), *days, alone.markets)
    assert {one.time_class: one.quantity for one in by_volumes.consumption} == {"HI": 115, "LO": 151}
    assert "FROM_VOLUMES" in {one.code for one in by_volumes.remarks}
    assert by_volumes.ready
    alone.database.dispose()
