"""The tallies say what counting the tables would say, whatever was written, and by whomever."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import Engine

from energycomm.eis import tables, tallies
from energycomm.eis.browsing import MessageFilter, number_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import is_sqlite, reading, rehearsal
from energycomm.eis.messages import list_messages
from energycomm.eis.store import Store
from energycomm.kernel.instants import instant
from tests.eis.rows import DAY, NOW, put, put_kernel_message, reject

PRM = "30001234567890"

COUNTED = (
    "SELECT market, market_type, kind, state, count(*) FROM kernel_message GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
)
FOUND = (
    "SELECT error_code, count(DISTINCT message_id), count(*) FROM finding WHERE \"current\" AND severity = 'error' "
    "GROUP BY 1 ORDER BY 2 DESC, 1"
)


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        return driver_of(connection).rows(sql)


def agreed(engine: Engine) -> bool:
    """Whether the tallies and the tables say the same."""
    with reading(engine) as connection:
        messages = [(c.market, c.type, c.kind, c.state, c.messages) for c in tallies.combinations(connection)]
        codes = [(f.name, f.messages, f.occurrences) for f in tallies.code_frequencies(connection)]
    return messages == rows(engine, COUNTED) and codes == rows(engine, FOUND)


def fill(store: Store, count: int, prm: str = PRM) -> list[int]:
    """Messages, every third rejected with two findings of one code and one of another."""
    with store.transaction() as tx:
        point = tx.access_points("FR", [prm])[prm].id
        states = ["accepted", "quarantined", "rejected"]
        ids = [
            put_kernel_message(tx, point, n * DAY, state=states[n % 3], received_at=NOW + n * DAY // 24)
            for n in range(count)
        ]
        for number in ids[2::3]:
            reject(tx, number, "FR-R03", "FR-R03", "FR-R01")
    return ids


def test_what_is_stored_is_counted(store: Store, engine: Engine) -> None:
    fill(store, 9)
    assert agreed(engine)
    assert rows(engine, FOUND) == [("FR-R01", 3, 3), ("FR-R03", 3, 6)]


def test_a_change_of_state_moves_a_message_from_one_count_to_the_other(store: Store, engine: Engine) -> None:
    ids = fill(store, 9)
    with store.transaction() as tx:
        tx.set_states([(ids[2], "to_replay", None, None), (ids[5], "accepted", None, None)])
        tx.set_states([(ids[2], "treated", None, None)])
        tx.set_states([(ids[0], "accepted", "nothing", None)])
    assert agreed(engine)


def test_findings_that_hold_no_more_are_counted_as_former_ones(store: Store, engine: Engine) -> None:
    ids = fill(store, 9)
    with store.transaction() as tx:
        tx.retire_findings([ids[2], ids[5]])
        reject(tx, ids[2], "FR-R01")
    assert agreed(engine)
    with reading(engine) as connection:
        (first, second) = tallies.code_frequencies(connection)
    assert (first.name, first.messages, first.ever) == ("FR-R01", 2, 4)
    assert (second.name, second.messages, second.ever) == ("FR-R03", 1, 6)
    assert first.oldest == instant(NOW + 2 * DAY // 24)


def test_warnings_are_findings_but_hold_nothing_up(store: Store, engine: Engine) -> None:
    (number,) = fill(store, 1)
    with store.transaction() as tx:
        (change,) = put(tx, tables.state_change, {"message_id": number, "after": "accepted", "at": NOW})
        finding = {"message_id": number, "change_id": change, "current": True, "severity": "warning", "rule": "R-1"}
        put(tx, tables.finding, {**finding, "error_code": "FR-W01"})
    with reading(engine) as connection:
        assert tallies.code_frequencies(connection) == ()
        assert tallies.rule_frequencies(connection) == {}
        warned = tallies.rule_frequencies(connection, "warning")["R-1"]
    assert (warned.messages, warned.occurrences, warned.ever) == (1, 1, 1)
    with store.transaction() as tx:
        tx.retire_findings([number])
    with reading(engine) as connection:
        warned = tallies.rule_frequencies(connection, "warning")["R-1"]
    assert (warned.messages, warned.occurrences, warned.ever) == (0, 0, 1)


def test_a_code_that_refuses_one_message_and_warns_of_another_is_counted_twice_apart(
    store: Store, engine: Engine
) -> None:
    """Once under each severity, as when a rule became stricter."""
    ids = fill(store, 3)
    with store.transaction() as tx:
        (change,) = put(tx, tables.state_change, {"message_id": ids[0], "after": "accepted", "at": NOW})
        finding = {"message_id": ids[0], "change_id": change, "severity": "warning", "rule": "R-1"}
        found = [{**finding, "error_code": "FR-R03", "current": current} for current in (True, True, False)]
        put(tx, tables.finding, *found)
    assert agreed(engine)
    with reading(engine) as connection:
        (code,) = tallies.code_frequencies(connection, "FR-R03")
        warned = tallies.rule_frequencies(connection, "warning")["R-1"]
    assert (code.messages, code.occurrences, code.ever) == (1, 2, 2)
    assert (warned.messages, warned.occurrences, warned.ever) == (1, 2, 3)


def test_a_dry_run_leaves_no_counts_behind(store: Store, engine: Engine) -> None:
    with rehearsal(engine):
        fill(store, 9)
    assert agreed(engine)
    assert rows(engine, COUNTED) == []


def test_arrivals_are_counted_by_the_hour(store: Store, engine: Engine) -> None:
    fill(store, 9)
    hour = NOW // 3_600_000_000 * 3_600_000_000
    with reading(engine) as connection:
        found = tallies.hourly(connection, instant(hour), instant(hour + 3 * 3_600_000_000))
    assert [(one.hour, one.state, one.messages) for one in found] == [
        (instant(hour), "accepted", 1),
        (instant(hour + 3_600_000_000), "quarantined", 1),
        (instant(hour + 2 * 3_600_000_000), "rejected", 1),
    ]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_workers_that_write_at_once_do_not_wait_for_one_another(store: Store, engine: Engine) -> None:
    """Each transaction has rows of its own until they are settled. SQLite has one writer at a time."""
    inside, both = threading.Barrier(2, timeout=20), []

    def write(prm: str) -> None:
        with store.transaction() as tx:
            point = tx.access_points("FR", [prm])[prm].id
            put_kernel_message(tx, point, DAY)
            inside.wait()
            both.append(prm)

    threads = [threading.Thread(target=write, args=(prm,)) for prm in ("1", "2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(both) == ["1", "2"]
    assert agreed(engine)


def test_settling_adds_up_and_changes_no_count(store: Store, engine: Engine) -> None:
    for number in range(3):
        fill(store, 6, str(number))
    with reading(engine) as connection:
        before = tallies.loose(connection)
    settled = tallies.settle(engine)
    assert agreed(engine)
    if not is_sqlite(engine):
        assert before > 20
        assert settled > 0
    with reading(engine) as connection:
        assert tallies.loose(connection) == 0
    fill(store, 6, "9")
    assert agreed(engine)


def test_the_number_of_messages_of_a_filter_is_known_where_tallies_tell(store: Store, engine: Engine) -> None:
    fill(store, 9)
    with reading(engine) as connection:
        assert number_of(connection, MessageFilter()) == 9
        assert number_of(connection, MessageFilter(state="rejected", market="FR")) == 3
        assert number_of(connection, MessageFilter(codes=("FR-R03",))) is None


def test_a_list_of_a_code_with_a_rare_companion_says_where_to_go_on(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page looks through so many findings, not all; the cursor leads to the rest."""
    monkeypatch.setattr("energycomm.eis.browsing.WINDOW", 3)
    ids = fill(store, 24)
    with store.transaction() as tx:
        tx.set_states([(ids[2], "ticketed", None, None)])
    seen: list[int] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = list_messages(engine, MessageFilter(codes=("FR-R03",), state="ticketed"), limit=2, cursor=cursor)
        seen += [one.id for one in page.messages]
        cursor, pages = page.next, pages + 1
    assert (seen, pages) == ([ids[2]], 3)
    (all_of_them,) = [list_messages(engine, MessageFilter(codes=("FR-R03",)), limit=50)]
    assert [one.id for one in all_of_them.messages] == ids[2::3][::-1]
