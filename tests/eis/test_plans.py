"""What people look for is found through indexes: with 50 000 messages no list reads a whole table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, SelectBase, event, func, select, text

from energycomm.daemon.survey import survey
from energycomm.eis import tables
from energycomm.eis.browsing import EARLIEST, LATEST, MessageFilter, Place, code_query, find, page_query
from energycomm.eis.database import connect, is_sqlite, reading, writing
from energycomm.eis.envelopes import envelopes_query
from energycomm.eis.particulars import messages_query
from energycomm.eis.received_requests import owed_query
from energycomm.eis.store import Store
from energycomm.eis.tallies import Combination
from energycomm.eis.timeline import Span, domain_query, message_query, point_query
from energycomm.kernel.instants import instant
from energycomm.webservice.domain import MARKET_SUBJECTS, rows_of_market
from tests.eis.rows import DAY, NOW, put, put_member, row

MESSAGES = 50_000
POINTS = 2_000
ENVELOPES = 3_000

BIG = ("kernel_message", "particular", "finding", "reading", "access_point", "ch_message")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store with 50 000 Kernel messages, a tenth of them rejected with one of 20 codes, and as many readings."""
    if request.param == "sqlite":
        folder: Path = tmp_path_factory.mktemp("full")
        engine = connect(f"sqlite:///{folder / 'eis.db'}")
    else:
        server = request.getfixturevalue("postgres")
        engine = connect(server.url(server.create_database()))
    tables.metadata.create_all(engine)
    fill(Store(engine))
    with writing(engine) as connection:
        kept = "SELECT id, 'Nature', CASE WHEN id % 20 = 0 THEN 'MES' ELSE 'CFNE' END FROM kernel_message"
        connection.execute(text(f"INSERT INTO particular (message_id, name, value) {kept}"))
        connection.execute(text("ANALYZE"))
    if not is_sqlite(engine):
        tidy_up(engine)
    yield engine
    engine.dispose()


def tidy_up(engine: Engine) -> None:
    """Do to the table what autovacuum does sooner or later; pages that somebody may still look at need another go."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for _ in range(50):
            connection.execute(text("VACUUM (FREEZE, ANALYZE) kernel_message"))
            seen = connection.execute(text("SELECT relallvisible FROM pg_class WHERE relname = 'kernel_message'"))
            if seen.scalar_one() > 0:
                return
            time.sleep(0.2)


def fill(store: Store) -> None:
    states = ["accepted"] * 8 + ["quarantined", "rejected"]
    with store.transaction() as tx:
        envelope, member = put_member(tx)
        hashes = [n.to_bytes(32, "big") for n in range(ENVELOPES)]
        tx.insert(tables.raw, [{"sha256": one, "size": 1} for one in hashes])
        put(tx, tables.envelope, *({"name": f"{n}.zip", "sha256": one} for n, one in enumerate(hashes)))
        names = [f"{n:014}" for n in range(POINTS)]
        points = [p.id for p in tx.access_points("FR", names).values()]
        k, t = tables.kernel_message, tx.reserve(tables.ch_message, MESSAGES)
        origin = {"envelope_id": envelope, "member_id": member, "market": "FR", "type": "R151", "outcome": "digested"}
        tx.insert(
            tables.ch_message,
            [
                row(tables.ch_message, id=i, **origin, identity=i.to_bytes(16, "big"), access_point=names[i % POINTS])
                for i in t
            ],
        )
        ids = tx.reserve(k, MESSAGES)
        types = ["R151", "C15", "R15", "F15"]
        plain = {"market": "FR", "kind": "MeterReading", "xml": "x" * 800, "version": 1}
        tx.insert(
            k,
            [
                row(
                    k,
                    **plain,
                    id=i,
                    market_type=types[n % 4],
                    ch_message_id=t[n],
                    access_point_id=points[n % POINTS],
                    effective=n * DAY // 100,
                    received_at=NOW + n // 500 * DAY,
                    state=states[n % 10],
                )
                for n, i in enumerate(ids)
            ],
        )
        (change,) = tx.reserve(tables.state_change, 1)
        tx.insert(tables.state_change, [row(tables.state_change, id=change, message_id=ids[0])])
        found = tx.reserve(tables.finding, MESSAGES // 10)
        tx.insert(
            tables.finding,
            [
                row(
                    tables.finding,
                    id=f,
                    message_id=ids[10 * n + 9],
                    change_id=change,
                    error_code=f"FR-R{n % 20:02}",
                )
                for n, f in enumerate(found)
            ],
        )
        readings = tx.reserve(tables.reading, MESSAGES)
        tx.insert(
            tables.reading,
            [
                row(tables.reading, id=r, access_point_id=points[n % POINTS], at=n * DAY // 100, message_id=ids[n])
                for n, r in enumerate(readings)
            ],
        )


def plan(engine: Engine, query: SelectBase, *settings: str) -> str:
    """How a query will be answered; on PostgreSQL under settings."""
    written = query.compile(engine, compile_kwargs={"literal_binds": True})
    explain = "EXPLAIN QUERY PLAN " if is_sqlite(engine) else "EXPLAIN "
    with reading(engine) as connection:
        for setting in () if is_sqlite(engine) else settings:
            connection.exec_driver_sql(setting)
        rows = connection.exec_driver_sql(explain + str(written).replace("%", "%%")).all()
    return "\n".join(str(r[-1]) for r in rows)


def whole_tables(engine: Engine, shown: str) -> set[str]:
    """The big tables that a plan reads from end to end."""
    if is_sqlite(engine):
        lines = [line for line in shown.splitlines() if line.startswith("SCAN") and "USING" not in line]
        return {name for name in BIG for line in lines if name in line.split()}
    return {name for name in BIG if f"Seq Scan on {name}" in shown}


PRM = f"{77:014}"
THERE = [
    Combination(market="FR", type=name, kind="MeterReading", state=state, messages=1)
    for name in ("R151", "C15", "R15", "F15")
    for state in ("accepted", "quarantined", "rejected")
]


def listed(before: Place | None = None, **wanted: Any) -> SelectBase:
    """The query of a page of the store below."""
    return page_query(MessageFilter(**wanted), 50, before or Place(*LATEST), THERE)


LISTS: dict[str, SelectBase] = {
    "state": listed(state="quarantined"),
    "state, next page": listed(state="rejected", before=Place(NOW, 20_000)),
    "state and kind": listed(state="rejected", kind="MeterReading"),
    "code": code_query(["FR-R03"], None, 51),
    "code, next page": code_query(["FR-R03"], 20_000, 51),
    "particular": messages_query(("Nature", "MES"), None, 51),
    "particular, next page": messages_query(("Nature", "CFNE"), 20_000, 51),
    "particular that may be a number": messages_query(("Nature", "1.0"), None, 51),
    "particular and access point": listed(access_point=PRM, particular=("Nature", "MES")),
    "access point": listed(access_point=PRM),
    "access point and state": listed(access_point=PRM, state="rejected"),
    "access point and code": listed(access_point=PRM, codes=("FR-R03",)),
    "period": listed(since=instant(NOW + 40 * DAY), until=instant(NOW + 41 * DAY)),
    "period and state": listed(state="rejected", since=instant(NOW + 40 * DAY), until=instant(NOW + 41 * DAY)),
    "period, next page": listed(until=instant(NOW + 41 * DAY), before=Place(NOW + 40 * DAY, 20_100)),
    "first arrivals": listed(sort="received", before=Place(*EARLIEST)),
    "state, first arrivals": listed(state="rejected", sort="received", before=Place(NOW, 20_000)),
    "code, first arrivals": code_query(["FR-R03"], 20_000, 51, falling=False),
    "particular, first arrivals": messages_query(("Nature", "MES"), None, 51, falling=False),
    "type that is not there": listed(market="FR", type="X13"),
    "point": point_query(PRM),
    "messages of a point": message_query(77, Span(0, 10**17, 100)),
    "readings of a point": domain_query(tables.reading, 77, Span(0, 10**17, 100)),
    "envelopes": envelopes_query(None, None, 50, None),
}


@pytest.mark.parametrize("name", list(LISTS))
def test_no_list_reads_a_whole_table(full: Engine, name: str) -> None:
    shown = plan(full, LISTS[name])
    assert whole_tables(full, shown) == set(), shown


def test_the_newest_messages_are_read_from_the_end(full: Engine) -> None:
    """Walking the arrivals backwards stops after a page: nothing is sorted."""
    shown = plan(full, listed())
    assert "Sort" not in shown
    assert "TEMP B-TREE" not in shown
    assert "ix_kernel_message_received_at_id" in shown


def sorted_store(messages: int, folder: Path) -> Engine:
    """A store of three states, of which the first in the alphabet is the most frequent."""
    engine = connect(f"sqlite:///{folder / f'{messages}.db'}")
    tables.metadata.create_all(engine)
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {messages}) SELECT"
    state = "CASE i % 10 WHEN 0 THEN 'rejected' WHEN 1 THEN 'quarantined' ELSE 'accepted' END"
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    with writing(engine) as connection:
        message = f"i, 1, 'FR', 'A', 'MeterReading', i, {state}, i / 3, 'x', 1 FROM n"
        connection.execute(text(f"INSERT INTO kernel_message ({columns}) {numbers} {message}"))
    return engine


@pytest.mark.parametrize("sort", ["state", "-state", "kind", "-market", "received", "-received"])
def test_a_sorted_page_takes_as_long_in_a_large_store(sort: str, tmp_path: Path) -> None:
    """Counted in steps of the database: a page of twenty times as many messages takes at most 1.5 times as many."""
    steps: list[int] = []
    for messages in (2_000, 40_000):
        engine = sorted_store(messages, tmp_path)
        number = 0

        def step() -> None:
            nonlocal number
            number += 1

        with reading(engine) as connection:
            wanted = MessageFilter(sort=sort)
            first = find(connection, wanted, 50)
            driver = connection.connection.driver_connection
            assert driver is not None
            driver.set_progress_handler(step, 10)
            page = find(connection, wanted, 50, first.next)
            driver.set_progress_handler(None, 0)
        engine.dispose()
        assert len(page.ids) == 50
        assert not set(first.ids) & set(page.ids)
        steps.append(number)
    small, large = steps
    assert large <= 1.5 * small, steps


def test_a_common_type_is_walked_backwards_too(full: Engine) -> None:
    """One walk for each state: a page is read of each, and only these pages are sorted."""
    shown = plan(full, listed(type="R151"))
    assert shown.count("ix_kernel_message_combination") == 3
    assert shown.count("Limit") == 4 or is_sqlite(full)


def test_sqlite_merges_the_walks_of_a_list_and_sorts_nothing(full: Engine) -> None:
    if is_sqlite(full):
        wanted = MessageFilter(state="rejected")
        shown = plan(full, page_query(wanted, 50, Place(*LATEST), THERE, merged=True))
        assert shown.count("ix_kernel_message_combination") == 4
        assert "TEMP B-TREE" not in shown


def test_counts_by_type_and_state_need_an_index_only(full: Engine) -> None:
    k = tables.kernel_message.c
    keys = (k.market, k.market_type, k.state)
    # Whether PostgreSQL thinks the index cheaper depends on how far it has tidied up: the question is whether it can.
    dear = ("SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off")
    shown = plan(full, select(*keys, func.count()).group_by(*keys), *dear)
    assert "COVERING INDEX" in shown or "Index Only Scan" in shown, shown


@pytest.mark.parametrize("state", [None, "done"])
@pytest.mark.parametrize("sort", [None, "name", "-name", "state", "-state", "-received"])
def test_envelopes_are_walked_in_their_order(full: Engine, sort: str | None, state: str | None) -> None:
    """Whatever they are sorted by and restricted to: a page is read, and nothing is sorted."""
    # The table is small here: the question is whether PostgreSQL can.
    dear = ("SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off")
    shown = plan(full, envelopes_query(state, None, 50, None, sort), *dear)
    assert "Sort" not in shown, shown
    assert "TEMP B-TREE" not in shown, shown
    assert whole_tables(full, shown) == set()


def test_health_counts_no_messages(full: Engine) -> None:
    """What waits is read from the tallies."""
    asked: list[str] = []

    def note(_c: Any, _u: Any, statement: str, _p: Any, _x: Any, _m: bool) -> None:
        asked.append(statement)

    event.listen(full, "before_cursor_execute", note)
    found = survey(full, NOW, 48)
    event.remove(full, "before_cursor_execute", note)
    assert found.messages == {"quarantined": MESSAGES // 10}
    assert not [one for one in asked if "count(*) FROM kernel_message" in one]


@pytest.mark.parametrize("subject", sorted(MARKET_SUBJECTS))
@pytest.mark.parametrize("cursor", [None, "5_5"])
def test_the_rows_of_a_market_are_walked_backwards(full: Engine, subject: str, cursor: str | None) -> None:
    """By market, instant and id: a page is read, and nothing is sorted."""
    asked: list[tuple[str, Any]] = []

    def note(_c: Any, _u: Any, statement: str, parameters: Any, _x: Any, _m: bool) -> None:
        asked.append((statement, parameters))

    event.listen(full, "before_cursor_execute", note)
    rows_of_market(Store(full), "FR", subject, cursor=cursor)
    event.remove(full, "before_cursor_execute", note)
    ((statement, parameters),) = [one for one in asked if "ORDER BY" in one[0]]
    with reading(full) as connection:
        # The table is empty here: the question is whether PostgreSQL can.
        for dear in () if is_sqlite(full) else ("seqscan", "bitmapscan", "sort"):
            connection.exec_driver_sql(f"SET LOCAL enable_{dear} = off")
        explain = "EXPLAIN QUERY PLAN " if is_sqlite(full) else "EXPLAIN "
        shown = "\n".join(str(row[-1]) for row in connection.exec_driver_sql(explain + statement, parameters))
    assert f"ix_{MARKET_SUBJECTS[subject].name}_market_at_id" in shown, shown
    assert "Sort" not in shown
    assert "TEMP B-TREE" not in shown


def test_what_takes_requests_back_is_looked_for_once(tmp_path: Path) -> None:
    """Among 20 000 requests that nobody took back, each of which SQLite would compare with all the others."""
    engine = connect(f"sqlite:///{tmp_path / 'eis.db'}")
    tables.metadata.create_all(engine)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT"
    message = "i, 1, 'FR', 'A', 'ReceivedRequest', i, 'accepted', i, 'x', 1"
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    with writing(engine) as connection:
        connection.execute(text(f"INSERT INTO kernel_message ({columns}) {numbers} {message} FROM n"))
        columns = "id, at, message_id, source, reference, function, answer_by_at, reasons, attachments"
        asked = f"{numbers} i, i, i, 'A', 'Q-' || i, 'original', i, '[]', '[]' FROM n"
        connection.execute(text(f"INSERT INTO received_request ({columns}) {asked}"))
        connection.execute(text("ANALYZE"))
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return steps > 200

    with reading(engine) as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.set_progress_handler(step, 100_000)  # 20 000 x 20 000 comparisons would be interrupted
        found = driver.execute(owed_query("count(*)", "")).fetchone()
        driver.set_progress_handler(None, 0)
    engine.dispose()
    assert found == (20_000,)


def test_the_check_would_notice_a_whole_table(full: Engine) -> None:
    k = tables.kernel_message
    assert whole_tables(full, plan(full, k.select().where(k.c.xml == "x"))) == {"kernel_message"}
