"""Groups of envelopes: claimed at once, stored together, each with the end that it would have alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from energycomm.config import Config
from energycomm.daemon.claims import Claimed, claim, group_size, others_ahead, turn_is_over
from energycomm.daemon.locks import Locks, open_locks
from energycomm.daemon.waking import Waking
from energycomm.daemon.worker import Worker
from energycomm.eis import migrations
from energycomm.eis.database import is_sqlite, opened
from energycomm.eis.store import Store
from energycomm.pipeline.progress import total
from energycomm.pipeline.records import TakenOver, unfinished
from energycomm.simulation.port import load_simulator
from energycomm.simulation.scenario import Scenario
from tests.daemon.conftest import Notes, Office
from tests.daemon.test_daemon import until

FRENCH = Path("tests/fixtures/fr")
ATTEMPTS = 10


def archived(office: Office, *names: str, channel: str = "test") -> None:
    """Envelopes that nobody can read, in one transaction."""
    office.gateway.inbound.archive([(BytesIO(f"<{name[0]} n='{name}'/>".encode()), name) for name in names], channel)


def names(group: Sequence[Claimed]) -> list[str]:
    return [one.envelope.name for one in group]


def held(office: Office, locks: Locks) -> list[Claimed]:
    """A group for the worker with these locks."""
    holder = locks.holder()
    return [] if holder is None else claim(office.store, holder, ATTEMPTS)


def worker(office: Office) -> Worker:
    return Worker("1", office.config, Notes(), threading.Event())


@contextmanager
def another(office: Office) -> Iterator[Locks]:
    """The locks of a worker that dies at the end; on SQLite the only one."""
    if is_sqlite(office.store.engine):
        office.desk.locks.close()
    locks = open_locks(office.store.engine)
    try:
        yield locks
    finally:
        locks.close()


def test_a_group_is_of_one_market_in_the_order_of_its_stamps_and_is_claimed_once(office: Office) -> None:
    """Names of two numbered series go together in the order of their times, whatever the order of arrival; others
    wait."""
    readings = [
        f"17XSIMULATEUR01G_R151_17XSIMULATEUR02E_90000001_500000001_{number:05}_Q_00001_00001_2025030{number}030900.zip"
        for number in (3, 1)
    ]
    contracts = "17XSIMULATEUR01G_C15_17XSIMULATEUR02E_90000001_D_00001_20250302030900.zip"
    archived(office, readings[0], "other.xml", contracts, readings[1])
    rows = office.rows("SELECT market, series_key FROM envelope ORDER BY id")
    assert [market for market, _ in rows] == ["FR", None, "FR", "FR"]
    assert rows[0] == rows[3] != rows[2]
    with another(office) as locks:
        assert names(held(office, locks)) == [readings[1], contracts, readings[0]]
        assert names(held(office, locks)) == ["other.xml"]
        assert held(office, locks) == []
    assert office.rows("SELECT attempts FROM envelope") == [(1,), (1,), (1,), (1,)]


def stamped(office: Office, stamps: Sequence[int]) -> None:
    """Envelopes of one market, in the order in which they arrive; their names are their stamps."""
    archived(office, *(f"{stamp:03}.xml" for stamp in stamps))
    with office.store.transaction() as tx:
        tx.driver.run("UPDATE envelope SET market = 'FR', series_stamp = substr(name, 1, 3)")


def test_the_oldest_envelope_is_in_its_group_whatever_its_stamp(office: Office) -> None:
    """Names of earlier times that keep arriving do not keep it waiting."""
    stamped(office, [999, *range(80)])
    with another(office) as locks:
        assert names(held(office, locks)) == [*(f"{number:03}.xml" for number in range(63)), "999.xml"]


def test_what_a_dead_worker_held_is_free_at_once(office: Office) -> None:
    archived(office, "a.xml", "b.xml")
    with another(office) as locks:
        assert names(held(office, locks)) == ["a.xml", "b.xml"]
    with another(office) as locks:
        until(lambda: names(held(office, locks)) != [], 10)
    assert office.rows("SELECT attempts FROM envelope") == [(2,), (2,)]


@pytest.mark.parametrize("attempts", [1, 2, 3, 7, 10, 1000])
def test_the_last_attempt_that_counts_is_made_alone(attempts: int) -> None:
    """From the first attempt on groups only become smaller."""
    sizes = [group_size(begun, attempts) for begun in range(attempts)]
    assert sizes[-1] == 1
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == (1 if attempts == 1 else 64)


def test_an_envelope_that_kills_its_workers_is_found_by_halving(office: Office) -> None:
    """Of forty, one kills whoever begins it: the others are processed, and it is put aside alone."""
    archived(office, *(f"{number:02}.xml" for number in range(40)))
    begun: list[int] = []
    for _ in range(60):
        with another(office) as locks:
            until(lambda: _died(office, locks, begun) or office.waiting() == [], 20)
        if not office.waiting():
            break
    # Ten died of it: of the others no more than those that shared a group with it.
    assert begun == [40, 32, 16, 8, 4, 2, 1, 1, 1, 1]
    assert office.rows(
        "SELECT e.name FROM envelope e JOIN incident i ON i.envelope_id = e.id WHERE code = 'ENV_PUT_ASIDE'"
    ) == [("17.xml",)]
    assert office.rows("SELECT count(*) FROM member") == [(39,)]


def _died(office: Office, locks: Locks, begun: list[int]) -> bool:
    """A worker claims groups until one has the envelope that kills it, or none is left."""
    office.desk.locks = locks
    mine = worker(office)
    group = held(office, locks)
    if "17.xml" in names(group) and group[0].attempt <= ATTEMPTS:
        begun.append(len(group))
        return True
    if group:
        mine._claimed(office.desk, office.gateway.inbound, group)
    return False


def test_an_envelope_that_the_program_breaks_on_is_kept_alone_and_the_others_are_done(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again after a pause; until then nobody else has it."""
    archived(office, *(f"{number}.xml" for number in range(9)))
    real = office.gateway.inbound._opened

    def opened_(envelope: Any, kept: Any) -> Any:
        if envelope.name == "5.xml":
            raise ValueError("what nobody foresaw")
        return real(envelope, kept)

    monkeypatch.setattr(office.gateway.inbound, "_opened", opened_)
    mine = worker(office)
    assert mine._pass(office.desk, office.gateway.inbound)
    left = "SELECT name, attempts FROM envelope WHERE state = 'archived'"
    assert office.rows(left) == [("5.xml", 1)]
    assert not mine._pass(office.desk, office.gateway.inbound)
    monkeypatch.undo()
    mine._left = [(0.0, one) for _, one in mine._left]
    assert mine._pass(office.desk, office.gateway.inbound)
    assert office.rows(left) == []


def test_a_stopped_worker_gives_its_group_back_and_no_attempt_counts(office: Office) -> None:
    archived(office, "a.xml", "b.xml")
    mine = worker(office)
    mine.stop.set()
    holder = office.desk.locks.holder()
    assert holder is not None
    mine._claimed(office.desk, office.gateway.inbound, claim(office.store, holder, ATTEMPTS))
    mine._release(office.desk)
    assert office.rows("SELECT state, attempts, holder FROM envelope") == [("archived", 0, None)] * 2


def test_a_worker_that_was_replaced_stores_nothing(office: Office) -> None:
    """Its lock was lost, another one claimed the group and is at work."""
    archived(office, "a.xml", "b.xml")
    with another(office) as locks:
        first = held(office, locks)
    with another(office) as locks:
        until(lambda: held(office, locks), 10)
    with pytest.raises(TakenOver):
        total(office.gateway.inbound.process_together([one.envelope for one in first]))
    assert office.rows("SELECT count(*) FROM member") == [(0,)]


@pytest.fixture
def served(postgres_template: str, postgres: Any) -> Iterator[Office]:
    """An office on PostgreSQL."""
    url = postgres.url(postgres.create_database(postgres_template))
    with opened(url) as engine:
        migrations.upgrade(engine)
        made = Office(Config.model_validate({"database": url}), Store(engine))
        yield made
        made.desk.locks.close()


def test_workers_share_what_waits_and_know_what_comes_before_theirs(served: Office) -> None:
    """Two groups of one channel: the later one waits for its turn to write, until the earlier one ended or died."""
    archived(served, *(f"{number:03}.xml" for number in range(70)))
    archived(served, "else.xml", channel="else")
    first, second = open_locks(served.store.engine), open_locks(served.store.engine)
    try:
        one = held(served, first)
        assert len(one) == 64
        assert names(held(served, second)) == ["else.xml"]
        other = held(served, second)
        assert names(other) == [f"{number:03}.xml" for number in range(64, 70)]
        assert not others_ahead(served.store, one)
        assert others_ahead(served.store, other)
        assert others_ahead(served.store, other) == [first.holder()]
        total(served.gateway.inbound.process_together([claimed.envelope for claimed in one]))
        assert not others_ahead(served.store, other)
        assert served.rows("SELECT count(*) FROM envelope WHERE holder IS NOT NULL") == [(7,)]
    finally:
        first.close()
        second.close()


def test_whoever_is_behind_waits_until_it_is_let_go_on_or_the_worker_before_it_died(served: Office) -> None:
    first = open_locks(served.store.engine)
    try:
        for leave in (first.give_way, first.close):
            holder = first.holder()
            assert holder is not None
            first.line_up()
            assert not turn_is_over(served.store, holder, 0.1)
            waiting = threading.Thread(target=leave)
            waiting.start()
            assert turn_is_over(served.store, holder, 20)
            waiting.join()
    finally:
        first.close()


class Ordered:
    """A turn that tells when it is over, and lets the transaction go on when it is told to."""

    def __init__(self) -> None:
        self.locked, self.go_on = threading.Event(), threading.Event()

    def wait(self) -> None:
        """Nobody is before it."""

    def over(self) -> None:
        """The access points are locked; what follows waits."""
        self.locked.set()
        assert self.go_on.wait(60)


def test_only_groups_that_share_an_access_point_wait_for_each_other(served: Office, tmp_path: Path) -> None:
    """Of three envelopes two tell of the same access point. While the first is judged the third is stored, and the
    second waits; so each access point has its messages in the order of the groups."""
    simulator = load_simulator("NL")
    assert simulator is not None
    simulator.simulate(Scenario(2, 1, 3, daily_share=1.0, per_file=1), tmp_path)
    one, other, one_again, _ = [path for path in sorted((tmp_path / "envelopes").iterdir()) if "P4" in path.name][-4:]
    files = [one, one_again, other]
    served.gateway.inbound.archive([(BytesIO(path.read_bytes()), path.name) for path in files], "test")
    envelopes, turns = unfinished(served.store), (Ordered(), Ordered(), Ordered())
    assert len(envelopes) == 3
    groups = [
        threading.Thread(
            target=lambda n=n: total(served.gateway.inbound.process_together([envelopes[n]], turn=turns[n]))
        )
        for n in range(3)
    ]
    groups[0].start()
    assert turns[0].locked.wait(60)
    groups[1].start()
    groups[2].start()
    turns[2].go_on.set()
    groups[2].join(60)
    assert served.rows("SELECT state FROM envelope ORDER BY id") == [("archived",), ("archived",), ("done",)]
    assert not turns[1].locked.wait(0.5)
    turns[1].go_on.set()
    turns[0].go_on.set()
    for group in groups:
        group.join(60)
    assert turns[1].locked.is_set()
    assert served.rows("SELECT state FROM envelope ORDER BY id") == [("done",)] * 3


def test_the_group_of_later_stamps_waits_although_some_of_it_is_older(served: Office) -> None:
    """Whose turn it is follows the stamps, as the groups do."""
    stamped(served, [number * 7 % 200 for number in range(200)])
    first, second = open_locks(served.store.engine), open_locks(served.store.engine)
    try:
        one, other = held(served, first), held(served, second)
        assert names(one) == [f"{stamp:03}.xml" for stamp in range(64)]
        # The oldest that is left, 070, is among them.
        assert names(other) == [f"{stamp:03}.xml" for stamp in range(64, 128)]
        assert min(claimed.envelope.id for claimed in other) < max(claimed.envelope.id for claimed in one)
        assert not others_ahead(served.store, one)
        assert others_ahead(served.store, other)
    finally:
        first.close()
        second.close()


def test_arrivals_wake_the_workers_of_other_processes(served: Office) -> None:
    waking = Waking(served.desk)
    waking.start()
    until(lambda: waking.listens, 20)
    served.desk.arrived.clear()
    archived(served, "a.xml")
    assert served.desk.arrived.wait(20)
    served.desk.stop.set()
    waking.join(10)


class Counted:
    """Statements and commits that psycopg sends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: Counter[str] = Counter()
        self.commits = 0
        execute, copy, commit = psycopg.Cursor.execute, psycopg.Cursor.copy, psycopg.Connection.commit

        def executed(cursor: Any, query: Any, *rest: Any, **more: Any) -> Any:
            text = query.decode() if isinstance(query, bytes) else str(query)
            # Apart: blocks of ids, once in many rows; a new connection; whether a pooled one lives.
            if "nextval" not in text and "set_config" not in text and text != ";":
                self.statements[" ".join(text.split()[:3])] += 1
            return execute(cursor, query, *rest, **more)

        def copied(cursor: Any, statement: Any, *rest: Any, **more: Any) -> Any:
            self.statements[" ".join(statement.decode().split()[:2])] += 1
            return copy(cursor, statement, *rest, **more)

        def committed(connection: Any) -> None:
            self.commits += 1
            commit(connection)

        monkeypatch.setattr(psycopg.Cursor, "execute", executed)
        monkeypatch.setattr(psycopg.Cursor, "copy", copied)
        monkeypatch.setattr(psycopg.Connection, "commit", committed)


def test_the_statements_of_a_group_do_not_grow_with_its_envelopes(
    served: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group is claimed by one statement and one commit and stored by one transaction, be it of 4 envelopes or 24."""
    simulator = load_simulator("NL")
    assert simulator is not None
    simulator.simulate(Scenario(20, 1, 3), tmp_path)
    files = sorted(path for path in (tmp_path / "envelopes").iterdir() if "P4" in path.name)
    assert len(files) >= 28
    found = []
    for group in (files[:1], files[1:5], files[5:29]):
        served.gateway.inbound.archive([(BytesIO(path.read_bytes()), path.name) for path in group], "test")
        mine, holder = worker(served), served.desk.locks.holder()
        assert holder is not None
        with monkeypatch.context() as patched:
            counted = Counted(patched)
            claims = claim(served.store, holder, ATTEMPTS)
            assert (counted.statements.total(), counted.commits) == (1, 1)
            mine._claimed(served.desk, served.gateway.inbound, claims)
            found.append((counted.statements, counted.commits))
    assert {commits for _, commits in found} == {2}
    # The claim and whose turn it is; the bytes; the rows of the envelopes, read and written; members that came before,
    # asked again when the access points are locked, and CH messages; access points, read, locked and written; seven
    # tables that gain rows (with the key that they are encrypted under); and whether what is told of requests is about
    # one of ours. The points of the largest group have so many messages by then that their states are kept apart.
    assert [statements.total() - statements["INSERT INTO checkpoint"] for statements, _ in found] == [24, 24, 24]
    assert [statements["INSERT INTO checkpoint"] for statements, _ in found] == [0, 0, 1]
    assert served.rows("SELECT count(*) FROM envelope WHERE state = 'done' AND attempts = 1 AND holder IS NULL") == [
        (29,)
    ]
