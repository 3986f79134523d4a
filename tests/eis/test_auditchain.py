"""The audit is a chain that is only ever appended to, and a check finds whatever was done to it all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from energycomm.eis import auditchain, migrations, triggers
from energycomm.eis.auditchain import BEGINNING, append, verify
from energycomm.eis.database import connect, is_sqlite, writing
from energycomm.eis.store import Store
from energycomm.errors import UserError

NAMES = "id, at, person, via, action, what, subject, status, address, position, previous, hash"


def wrote(store: Store, *subjects: str) -> None:
    for subject in subjects:
        append(store, (1_000, "anna", "token 1", "read", "GET /x", subject, 200, "10.0.0.1"))


def lines(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        found = connection.execute(text(f"SELECT {NAMES} FROM audit ORDER BY position")).all()
    return [tuple(row) for row in found]


@pytest.fixture
def unsealed(store: Store) -> Iterator[Connection]:
    """Ten lines, and the hand of somebody who owns the database: without triggers, free to do anything."""
    wrote(store, *(f"message {number}" for number in range(1, 11)))
    with writing(store.engine) as connection:
        if is_sqlite(store.engine):
            names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
            for name in names:
                connection.execute(text(f"DROP TRIGGER {name}"))
        else:
            connection.execute(text("ALTER TABLE audit DISABLE TRIGGER ALL"))
            connection.execute(text("ALTER TABLE audit_head DISABLE TRIGGER ALL"))
    with store.engine.connect() as connection:
        yield connection


def rehash(connection: Connection, first: int, last: int) -> None:
    """Give lines the hashes that they would have, as somebody who knows how would do."""
    for position in range(first, last + 1):
        previous = BEGINNING
        if position > 1:
            previous = connection.execute(
                text("SELECT hash FROM audit WHERE position = :p"), {"p": position - 1}
            ).scalar_one()
        columns = ", ".join(auditchain.CONTENT)
        row = connection.execute(text(f"SELECT {columns} FROM audit WHERE position = :p"), {"p": position}).one()
        own = auditchain.hashed(bytes(previous), row)
        connection.execute(
            text("UPDATE audit SET previous = :previous, hash = :hash WHERE position = :p"),
            {"previous": previous, "hash": own, "p": position},
        )


def shift(connection: Connection, first: int, by: int) -> None:
    """Number the lines from one on anew."""
    connection.execute(
        text("UPDATE audit SET position = -(position + :by) WHERE position >= :p"), {"by": by, "p": first}
    )
    connection.execute(text("UPDATE audit SET position = -position WHERE position < 0"))


def put_in(connection: Connection, position: int, previous: bytes, hash_: bytes) -> None:
    connection.execute(
        text(
            "INSERT INTO audit VALUES (999, 1000, 'otto', 'session', 'read', 'GET /y', 'nothing', 200, '', :p, :q, :h)"
        ),
        {"p": position, "q": previous, "h": hash_},
    )


def hash_at(connection: Connection, position: int) -> bytes:
    found = connection.execute(text("SELECT hash FROM audit WHERE position = :p"), {"p": position}).scalar_one()
    return bytes(found)


def test_a_line_holds_the_hash_of_its_content_and_of_the_line_before(store: Store) -> None:
    """Reckoned here from the words of the documentation: each value with its length before it."""
    append(store, (5, "ann\u00e9", "token 1", "read", "GET /x", "message 17", 200, "::1"))
    append(store, (6, "bo", "command", "read", "message show", "", 0, "host"))
    (first, second) = lines(store.engine)
    content = b"1:%d,1:5,5:ann\xc3\xa9,7:token 1,4:read,6:GET /x,10:message 17,3:200,3:::1," % first[0]
    assert first[9:] == (1, bytes(32), sha256(bytes(32) + content).digest())
    content = b"1:%d,1:6,2:bo,7:command,4:read,12:message show,0:,1:0,4:host," % second[0]
    assert second[9:] == (2, first[11], sha256(first[11] + content).digest())
    assert verify(store.engine) == auditchain.Verification(checked=2, head=second[11].hex(), flaw=None)


def test_an_empty_audit_holds(store: Store) -> None:
    found = verify(store.engine)
    assert (found.checked, found.head, found.flaw) == (0, "00" * 32, None)
    assert verify(store.engine, BEGINNING).flaw is None


def test_writers_at_the_same_time_make_one_chain(store: Store) -> None:
    """Stores of their own have ids from blocks of their own, as processes do: ids are not in the order of the chain."""
    faults: list[BaseException] = []

    def write(number: int) -> None:
        engine = connect(store.engine.url.render_as_string(hide_password=False))
        try:
            wrote(Store(engine), *(f"{number}.{line}" for line in range(25)))
        except BaseException as fault:
            faults.append(fault)
        finally:
            engine.dispose()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert verify(store.engine).checked == 150
    assert [line[9] for line in lines(store.engine)] == list(range(1, 151))
    assert len({line[6] for line in lines(store.engine)}) == 150


def test_a_line_whose_transaction_fails_leaves_no_gap(store: Store) -> None:
    wrote(store, "a")
    with pytest.raises(Exception):  # noqa: B017 - another one on each database
        append(store, (1, "anna", "x", "read", "y", None, 200, ""))  # type: ignore[arg-type]
    wrote(store, "b")
    assert verify(store.engine).checked == 2


FORBIDDEN = (
    "UPDATE audit SET person = 'otto' WHERE position = 1",
    "UPDATE audit SET person = person",
    "DELETE FROM audit",
    "DELETE FROM audit WHERE position = 2",
    "DELETE FROM audit_head",
    "UPDATE audit_head SET position = 1",
    "UPDATE audit_head SET hash = previous_hash",
    "INSERT INTO audit SELECT id, at, 'otto', via, action, what, subject, status, address, position, previous, "
    "hash FROM audit WHERE position = 1 ON CONFLICT (id) DO UPDATE SET person = 'otto'",
)
OF_ONE_DATABASE = {
    "postgresql": ("TRUNCATE audit", "TRUNCATE audit_head"),
    "sqlite": (
        "INSERT OR REPLACE INTO audit SELECT id, at, 'otto', via, action, what, subject, status, address, position, "
        "previous, hash FROM audit WHERE position = 1",
        "INSERT OR REPLACE INTO audit_head VALUES (1, 1, x'00')",
    ),
}


@pytest.mark.parametrize(
    ("database_url", "statement"),
    [(database, words) for database, own in OF_ONE_DATABASE.items() for words in (*FORBIDDEN, *own)],
    indirect=["database_url"],
)
def test_the_database_refuses_to_change_or_delete_lines(store: Store, statement: str) -> None:
    statement = statement.replace("previous_hash", "(SELECT previous FROM audit WHERE position = 2)")
    wrote(store, "a", "b")
    before = lines(store.engine)
    with pytest.raises(DBAPIError, match="append-only"), store.engine.connect() as connection, connection.begin():
        connection.execute(text(statement))
    assert lines(store.engine) == before
    assert verify(store.engine).checked == 2


def changed(connection: Connection) -> None:
    connection.execute(text("UPDATE audit SET person = 'otto' WHERE position = 4"))


def changed_and_hashed(connection: Connection) -> None:
    connection.execute(text("UPDATE audit SET subject = 'nothing' WHERE position = 4"))
    rehash(connection, 4, 4)


def values_moved_between_columns(connection: Connection) -> None:
    """A hash over the bare values one after the other would not see it."""
    connection.execute(text("UPDATE audit SET person = 'ann', via = 'atoken 1' WHERE position = 4"))


def last_changed_and_hashed(connection: Connection) -> None:
    connection.execute(text("UPDATE audit SET subject = 'nothing' WHERE position = 10"))
    rehash(connection, 10, 10)


def taken_out(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit WHERE position IN (4, 5)"))


def first_taken_out(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit WHERE position = 1"))


def taken_out_and_numbered(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit WHERE position = 5"))
    shift(connection, 6, -1)


def put_in_and_numbered(connection: Connection) -> None:
    shift(connection, 4, 1)
    put_in(connection, 4, hash_at(connection, 3), b"x" * 32)


def put_in_hashed(connection: Connection) -> None:
    shift(connection, 4, 1)
    put_in(connection, 4, BEGINNING, b"x" * 32)
    rehash(connection, 4, 4)


def put_on_a_taken_position(connection: Connection) -> None:
    connection.execute(text("DROP INDEX ix_audit_position"))
    put_in(connection, 4, hash_at(connection, 3), b"x" * 32)


def two_changed_places(connection: Connection) -> None:
    connection.execute(text("UPDATE audit SET position = -4 WHERE position = 4"))
    connection.execute(text("UPDATE audit SET position = 4 WHERE position = 5"))
    connection.execute(text("UPDATE audit SET position = 5 WHERE position = -4"))


def put_at_the_end(connection: Connection) -> None:
    put_in(connection, 11, BEGINNING, b"x" * 32)
    rehash(connection, 11, 11)


def cut_off(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit WHERE position > 7"))


def all_gone(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit"))


def head_gone(connection: Connection) -> None:
    connection.execute(text("DELETE FROM audit_head"))


@pytest.mark.parametrize(
    ("tamper", "kind", "position", "checked"),
    [
        (changed, "changed", 4, 3),
        (changed_and_hashed, "changed", 4, 3),
        (values_moved_between_columns, "changed", 4, 3),
        (last_changed_and_hashed, "changed", 10, 9),
        (taken_out, "missing", 4, 3),
        (first_taken_out, "missing", 1, 0),
        (taken_out_and_numbered, "changed", 4, 3),
        (put_in_and_numbered, "inserted", 4, 3),
        (put_in_hashed, "inserted", 4, 3),
        (put_on_a_taken_position, "inserted", 4, 3),
        (two_changed_places, "changed", 3, 2),
        (put_at_the_end, "inserted", 11, 10),
        (cut_off, "truncated", 8, 7),
        (all_gone, "truncated", 1, 0),
        (head_gone, "truncated", 11, 10),
    ],
)
def test_a_check_tells_the_first_place_that_was_tampered_with(
    store: Store, unsealed: Connection, tamper: Callable[[Connection], None], kind: str, position: int, checked: int
) -> None:
    assert verify(store.engine).checked == 10
    tamper(unsealed)
    unsealed.commit()
    found = verify(store.engine)
    assert found.flaw is not None
    assert (found.flaw.kind, found.flaw.position, found.checked, found.head) == (kind, position, checked, None)


def test_an_audit_written_anew_is_told_by_a_hash_that_was_kept(store: Store, unsealed: Connection) -> None:
    """Whoever owns the database and knows how can make another chain that holds: not with the hash kept elsewhere."""
    kept = verify(store.engine).head
    assert kept is not None
    unsealed.execute(text("DELETE FROM audit WHERE position = 10"))
    unsealed.execute(text("UPDATE audit SET person = 'otto' WHERE position = 4"))
    rehash(unsealed, 4, 9)
    unsealed.execute(text("UPDATE audit_head SET position = 9, hash = :h"), {"h": hash_at(unsealed, 9)})
    unsealed.commit()
    assert verify(store.engine).flaw is None
    flaw = verify(store.engine, bytes.fromhex(kept)).flaw
    assert flaw is not None
    assert flaw.kind == "rewritten"


def test_a_hash_that_was_kept_is_found_again_after_more_lines(store: Store) -> None:
    wrote(store, "a", "b")
    kept = verify(store.engine).head
    assert kept is not None
    wrote(store, "c")
    found = verify(store.engine, bytes.fromhex(kept))
    assert (found.checked, found.flaw) == (3, None)


def test_nothing_is_appended_to_an_audit_whose_head_does_not_fit(store: Store, unsealed: Connection) -> None:
    """What cannot be recorded is not read: whoever hid lines by the head makes every read fail, loudly."""
    unsealed.execute(text("UPDATE audit_head SET position = 5, hash = :h"), {"h": hash_at(unsealed, 5)})
    unsealed.commit()
    with pytest.raises(UserError, match="audit verify"):
        wrote(store, "x")
    unsealed.execute(text("DELETE FROM audit_head"))
    unsealed.commit()
    with pytest.raises(UserError, match="audit verify"):
        wrote(store, "x")
    assert len(lines(store.engine)) == 10


@pytest.mark.thorough
def test_lines_of_an_older_store_are_chained_in_the_order_of_their_time(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of 0.1 with audit lines whose ids are in another order than their times, some at one instant."""
    engine = connect(empty_url)
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0011")
        migrations.upgrade(engine)
    monkeypatch.setattr("energycomm.eis.auditchain._PIECE", 3)
    old = [(3, 500), (1, 700), (2, 500), (1001, 600), (9, -5), (12, 700), (8, 900)]
    with writing(engine) as connection:
        for number, at in old:
            connection.execute(
                text(
                    "INSERT INTO audit (id, at, person, via, action, what, subject, status, address) VALUES "
                    "(:id, :at, 'anna', 'token 1', 'read', 'GET /x', 'é', 200, '')"
                ),
                {"id": number, "at": at},
            )
        if is_sqlite(engine):
            connection.execute(text("INSERT INTO id_counter (name, next) VALUES ('audit', 1002)"))
        else:
            connection.execute(text("SELECT setval('audit_ids', 2001)"))
    migrations.upgrade(engine)
    found = lines(engine)
    assert [(line[9], line[0]) for line in found] == list(enumerate((9, 2, 3, 1001, 1, 12, 8), 1))
    assert all(line[6] == "é" for line in found)
    assert verify(engine).checked == 7
    wrote(Store(engine), "new")
    assert verify(engine).checked == 8
    with pytest.raises(DBAPIError, match="append-only"), engine.connect() as connection, connection.begin():
        connection.execute(text("DELETE FROM audit WHERE position = 1"))
    engine.dispose()


def test_a_check_while_others_write_sees_one_state(store: Store) -> None:
    """Lines and head are of one moment, however many lines come meanwhile."""
    wrote(store, "first")
    end = threading.Event()

    def write() -> None:
        engine = connect(store.engine.url.render_as_string(hide_password=False))
        while not end.is_set():
            wrote(Store(engine), "more")
        engine.dispose()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = [verify(store.engine) for _ in range(20)]
    finally:
        end.set()
        writer.join()
    assert [one.flaw for one in found] == [None] * 20
    assert [one.checked for one in found] == sorted(one.checked for one in found)


def cut_at(store: Store, before: int, most: int = 500) -> list[int]:
    with store.transaction() as tx:
        return auditchain.cut(tx, before, 9_000, most)


def aged(store: Store, *instants: int) -> None:
    for at in instants:
        append(store, (at, "anna", "token 1", "read", "GET /x", f"message {at}", 200, "10.0.0.1"))


def test_the_old_end_is_cut_off_and_the_chain_holds_from_there(store: Store) -> None:
    """What was removed is said by a line of the chain; what was not, and is gone all the same, is missing."""
    aged(store, 1, 2, 3, 40, 5, 60)
    heads = [bytes(row[-1]) for row in lines(store.engine)]
    assert cut_at(store, 10) == [1, 2, 3]  # a younger line ends it
    assert cut_at(store, 10) == []
    found = verify(store.engine)
    assert (found.checked, found.flaw) == (4, None)
    assert [verify(store.engine, head).flaw is None for head in heads] == [False, False, True, True, True, True]
    assert verify(store.engine, heads[0]).flaw.words.endswith("all lines up to 3")  # type: ignore[union-attr]
    with pytest.raises(DBAPIError, match="append-only"), store.engine.begin() as connection:
        connection.execute(text("DELETE FROM audit"))  # sealed again
    assert cut_at(store, 100, most=1) == [4]
    assert cut_at(store, 10_000) == [5, 6, 7]  # the last line always stays, and says what went
    assert verify(store.engine).checked == 2
    with store.engine.connect() as connection:
        left = connection.execute(text("SELECT count(*) FROM audit_word WHERE word LIKE 'message %'")).scalar()
    assert left == 0


def test_lines_that_are_gone_without_a_word_of_retention_are_missing(store: Store) -> None:
    aged(store, 1, 2, 3, 4, 5)
    cut_at(store, 3)
    with writing(store.engine) as connection, triggers.unsealed(connection):
        connection.execute(text("DELETE FROM audit WHERE position <= 3"))
    flaw = verify(store.engine).flaw
    assert flaw is not None
    assert (flaw.kind, flaw.position, flaw.words[:12]) == ("missing", 1, "lines 1 to 3")
