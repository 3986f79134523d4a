"""What somebody remembers of an identifier, a reference or a name leads to it, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Engine, text

from energycomm.eis import findable, finding, migrations, nameindex, tables
from energycomm.eis.database import connect, is_sqlite, reading, writing
from energycomm.eis.datakeys import unlock
from energycomm.eis.store import Store
from energycomm.transport.keys import StorageKey
from tests.eis.rows import DAY, put, put_ch_messages, put_kernel_message, put_member

PRM, OTHER = "30001234567890", "30009876543210"
NAME = "Zoë Durand-Lefèvre"
CONTENT = '{"phone":"06 12 34 56 78","email":"zoe.durand@Example.org","company_id":"73282932000074","surname":"Durand"}'


def fill(store: Store) -> dict[str, int]:
    """Two access points, with a contract, a meter, a customer, a file, a ticket; the ids of some."""
    with store.transaction() as tx:
        points = tx.access_points("FR", [PRM, OTHER])
        message = put_kernel_message(tx, points[PRM].id, DAY)
        row: dict[str, Any] = {"access_point_id": points[PRM].id, "at": DAY, "message_id": message}
        put(tx, tables.contract, {**row, "reference": "GM-700000202"})
        put(tx, tables.DOMAIN["meter"], {**row, "serial": "02197600040404", "action": "installed"})
        (customer,) = put(tx, tables.customer, {**row, "name": NAME, "content": CONTENT})
        envelope, _ = put_member(tx, "ENEDIS_C15_0315_00007.zip")
        (ticket,) = put(tx, tables.ticket, {"title": "Wrong distributor in May", "state": "open"})
    return {"message": message, "customer": customer, "envelope": envelope, "ticket": ticket}


def found(engine: Engine, *words: str) -> set[tuple[str, str, str]]:
    """(table, value, how) of the values that hold words."""
    with reading(engine) as connection:
        return {(row.table, row.value, row.how) for row in finding.values_like(connection, words)}


def near(engine: Engine, word: str) -> set[str]:
    with reading(engine) as connection:
        return {row.value for row in finding.values_near(connection, word)}


def named(engine: Engine, words: str, *, mistyped: bool = False) -> list[tuple[str, str]]:
    with reading(engine) as connection:
        return [(row.key, row.how) for row in finding.customers_named(connection, words, mistyped=mistyped)]


def test_a_value_is_found_whole_by_its_beginning_and_by_a_part(engine: Engine, store: Store) -> None:
    fill(store)
    assert found(engine, PRM) == {("access_point", PRM, "whole")}
    assert found(engine, "gm-7000") == {("contract", "GM-700000202", "beginning")}
    assert found(engine, "97600040") == {("meter", "02197600040404", "part")}
    assert found(engine, "c15", "00007") == {
        ("envelope", "ENEDIS_C15_0315_00007.zip", "part"),
        ("member", "ENEDIS_C15_0315_00007.zip/m.xml", "part"),
    }
    assert found(engine, "distributor") == {("ticket", "Wrong distributor in May", "part")}
    assert found(engine, "hello world") == set()


def test_signs_that_stand_for_others_in_a_pattern_stand_for_themselves(engine: Engine, store: Store) -> None:
    fill(store)
    for typed in ("C15%00007", "C15_____00007", "ENEDIS%", "02197600040404\\", "'; DROP TABLE meter; --", '"', "C1_"):
        assert found(engine, typed) == set(), typed
    assert ("envelope", "ENEDIS_C15_0315_00007.zip", "beginning") in found(engine, "ENEDIS_C")


MISTYPED = (
    "30001234567809",  # the last two in the wrong order
    "03001234567890",  # the first two
    "3000123457890",  # one is missing
    "300012345667890",  # one is twice
    "30001234667890",  # one is wrong
    "20001234567890",
    "30001234567891",
)


def test_one_mistake_anywhere_is_seen_through(engine: Engine, store: Store) -> None:
    fill(store)
    for typed in MISTYPED:
        assert found(engine, typed) == set()
        assert near(engine, typed) == {PRM}, typed


def test_what_is_too_different_is_not_similar(engine: Engine, store: Store) -> None:
    fill(store)
    assert near(engine, "30001119567890") == set()
    assert near(engine, "12345") == set()


def test_what_is_changed_or_gone_is_found_no_more(engine: Engine, store: Store) -> None:
    """Before and after the index of SQLite has caught up."""
    ids = fill(store)
    for turn in range(2):
        with writing(engine) as connection:
            connection.execute(tables.ticket.update().values(title=f"Turn {turn} of May"))
        assert found(engine, "in May") == set()
        assert found(engine, f"Turn {turn}") == {("ticket", f"Turn {turn} of May", "beginning")}
        finding.refresh(engine)
    with store.transaction() as tx:
        tx.driver.delete(tables.ticket, [ids["ticket"]])
    assert found(engine, "of May") == set()


def test_what_arrives_while_others_write_is_found_at_once(engine: Engine, store: Store) -> None:
    """SQLite: the index waits for nobody, and what is not in it yet is read."""
    fill(store)
    with store.transaction() as tx:
        tx.access_points("FR", ["39999999999999"])
        finding.refresh(engine)
        assert found(engine, "39999999999") == set(), "not committed"
    assert found(engine, "39999999999") == {("access_point", "39999999999999", "beginning")}
    finding.refresh(engine)
    with reading(engine) as connection:
        assert not is_sqlite(engine) or not findable.behind(connection)
    assert found(engine, "39999999999") == {("access_point", "39999999999999", "beginning")}


def test_the_index_is_made_of_what_is_declared(engine: Engine) -> None:
    with engine.connect() as connection:
        assert findable.able(connection)
        if is_sqlite(engine):
            made = set(connection.execute(text("SELECT name FROM find_upto")).scalars())
            assert made == set(findable.INDEXED)
        else:
            sql = text("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'find\\_%'")
            made = set(connection.execute(sql).scalars())
            assert made == {f"{one.stem}_{column}" for one in findable.INDEXED.values() for column in one.columns}


def test_the_pieces_of_an_index_that_grew_are_merged(engine: Engine, store: Store) -> None:
    """Each search that takes in what came since leaves a piece; an hour later they are one, and all is found."""
    if not is_sqlite(engine):
        pytest.skip("PostgreSQL merges by itself")
    one = findable.FINDABLE["access_point"]
    numbers = [f"9900000000{number:04}" for number in range(9)]
    for number in numbers:
        with store.transaction() as tx:
            tx.access_points("FR", [number])
        finding.refresh(engine)
    with reading(engine) as connection:
        assert findable.segments(connection, one) > finding.SCATTERED
    finding.tidy(engine)
    with reading(engine) as connection:
        assert findable.segments(connection, one) == 1
    assert {value for _, value, _ in found(engine, "9900000000")} == set(numbers)


def test_a_question_walks_the_index(engine: Engine, store: Store) -> None:
    fill(store)
    finding.refresh(engine)
    asked = {"access_point": "identifier", "ch_message": "reference", "named_meter": "serial"}
    for table, column in asked.items():
        if is_sqlite(engine):
            sql = f"EXPLAIN QUERY PLAN SELECT rowid FROM find_{table} WHERE {column} LIKE '%0001%'"
            wanted = "INDEX 0:L0"
        else:
            rows = findable.FINDABLE[table].rows()
            searched = findable.FINDABLE[table].text(column)
            sql = f"EXPLAIN SELECT id FROM {table} WHERE {searched} ILIKE '%0001%' AND {rows}"
            wanted = f"find_{table}_{column}"
        with writing(engine) as connection:
            if not is_sqlite(engine):
                connection.execute(text("SET LOCAL enable_seqscan = off"))
            assert wanted in str(connection.execute(text(sql)).all())


def test_a_lookup_by_a_whole_value_never_takes_the_index_of_trigrams(engine: Engine) -> None:
    """pg_trgm could answer it, and the planner would believe that it is quick: each arrival asks for its access points
    so, and took 15 times as long with 8 000 of them."""
    if is_sqlite(engine):
        pytest.skip("SQLite takes its index of trigrams only where it is named")
    plans = []
    with writing(engine) as connection:
        for way in ("seqscan", "indexscan", "indexonlyscan"):
            connection.execute(text(f"SET LOCAL enable_{way} = off"))
        for one in findable.FINDABLE.values():
            for column in one.columns:
                for condition in (f"{column} = 'a'", f"{column} = ANY(ARRAY['a', 'b'])"):
                    sql = f"EXPLAIN SELECT * FROM {one.table} WHERE {condition} AND {one.rows()}"
                    plans.append(str(connection.execute(text(sql)).all()))
    assert len(plans) > 2 * len(findable.FINDABLE)
    # Without a condition on the index it would be read whole, which is what all else being off leaves.
    assert [plan for plan in plans if "find_" in plan and "Index Cond" in plan] == []


def test_a_database_without_trigrams_gives_the_same_answers(
    engine: Engine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server whose owner does not allow the extension."""
    fill(store)
    finding.refresh(engine)
    before = found(engine, "0004"), near(engine, "30001234567809"), named(engine, "durand")
    with writing(engine) as connection:
        for one in findable.INDEXED.values():
            for column in one.columns:
                if not is_sqlite(engine):
                    connection.execute(text(f"DROP INDEX {one.stem}_{column}"))
            if is_sqlite(engine):
                for event in ("update", "delete"):
                    connection.execute(text(f"DROP TRIGGER {one.stem}_{event}"))
                connection.execute(text(f"DROP TABLE {one.stem}"))
    with reading(engine) as connection:
        assert not findable.able(connection)
    assert (found(engine, "0004"), near(engine, "30001234567809"), named(engine, "durand")) == before
    assert all(before)


def test_the_extension_may_be_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findable, "EXTENSION", "no_such_extension")
    monkeypatch.setattr(findable, "_has_trigrams", lambda _: False)
    with writing(engine) as connection:
        assert not findable.install(connection)
    if not is_sqlite(engine):
        with reading(engine) as connection:
            assert not findable.able(connection)


# --- references of CH messages ---


def test_a_reference_of_the_market_leads_to_its_message(engine: Engine, store: Store) -> None:
    with store.transaction() as tx:
        (own,) = put_ch_messages(tx, [b"a" * 16])
        (refused,) = put_ch_messages(tx, [b"b" * 16], "b.zip")
        point = tx.access_points("FR", [PRM])[PRM].id
        (of_point,) = put_ch_messages(tx, [b"c" * 16], "c.zip")
        first = put_kernel_message(tx, point, DAY, ch_message_id=own)
        second = put_kernel_message(tx, point, DAY, ch_message_id=of_point)
        rows = [(own, "ST-0004", None), (refused, "ST-0005", None), (of_point, f"{PRM}:2026-02-10", PRM)]
        for number, reference, access_point in rows:
            sql = "UPDATE ch_message SET reference = ?, access_point = ? WHERE id = ?"
            tx.driver.run(sql, (reference, access_point, number))
        envelope = tx.driver.rows("SELECT envelope_id FROM ch_message WHERE id = ?", (refused,))[0][0]

    def led(typed: str) -> list[tuple[str, str, str]]:
        finding.refresh(engine)
        with reading(engine) as connection:
            rows = [*finding.values_like(connection, [typed]), *finding.references_like(connection, typed)]
        return sorted((row.table, row.key, row.how) for row in rows if row.column == "reference")

    assert led("st-0004") == [("ch_message", str(first), "whole")]
    assert led("ST-000") == sorted([("ch_message", str(first), "beginning"), ("envelope", str(envelope), "beginning")])
    assert led(f"{PRM}:2026") == [("ch_message", str(second), "beginning")]
    assert led("-0004") == [("ch_message", str(first), "part")], "a part in the middle or at the end"
    assert led("2026-02") == [], "a point and its days are found by the point"
    with reading(engine) as connection:
        assert {(row.key, row.how) for row in finding.values_near(connection, "ST-0104")} == {(str(first), "similar")}


@pytest.mark.parametrize("rest", ["CONS:PMB:2026-02-04", "CONS:PM:2026-02-04", "CONS:PMAA:2026", "COSN:PMA:2026-02"])
def test_a_mistake_behind_the_point_of_a_reference_is_seen_through(engine: Engine, store: Store, rest: str) -> None:
    with store.transaction() as tx:
        (number,) = put_ch_messages(tx, [b"a" * 16])
        message = put_kernel_message(tx, tx.access_points("FR", [PRM])[PRM].id, DAY, ch_message_id=number)
        sql = "UPDATE ch_message SET reference = ?, access_point = ? WHERE id = ?"
        tx.driver.run(sql, (f"{PRM}:CONS:PMA:2026-02-04", PRM, number))
    with reading(engine) as connection:
        found = finding.references_near(connection, f"{PRM}:{rest}")
        assert [(row.value, row.key, row.how) for row in found] == [
            (f"{PRM}:CONS:PMA:2026-02-04", str(message), "similar")
        ]
        assert finding.references_near(connection, f"{OTHER}:{rest}") == []
        assert finding.references_near(connection, f"{PRM}:CUNS:PMB:2026") == []


@pytest.mark.parametrize(
    ("reference", "typed"),
    [
        (f"{PRM}:700000202:2026-02-10T00:01:00+01:00:MCT", "700000202"),  # the contract of a C15
        (f"{PRM}:M0000AC1", "m0000ac1"),  # our request in a C68
        (f"{PRM}:8000000000010101:RECTIFICATIF", "0000010101"),  # the end of the number of a reading in an R15
        (f"{PRM}:SL0000505:2026-01-12..2026-02-01", "SL0000505 2026-02-01"),  # words of an R17
    ],
)
def test_a_reference_is_found_by_what_it_tells_beside_its_point(
    engine: Engine, store: Store, reference: str, typed: str
) -> None:
    with store.transaction() as tx:
        (number,) = put_ch_messages(tx, [b"a" * 16])
        put_kernel_message(tx, tx.access_points("FR", [PRM])[PRM].id, DAY, ch_message_id=number)
        sql = "UPDATE ch_message SET reference = ?, access_point = ? WHERE id = ?"
        tx.driver.run(sql, (reference, PRM, number))
    for _ in range(2):  # read, then by the index
        assert found(engine, *typed.split()) == {("ch_message", reference, "part")}
        assert found(engine, PRM[2:]) == {("access_point", PRM, "part")}
        finding.refresh(engine)
    first = typed.split()[0]
    assert near(engine, f"{first[:-2]}x{first[-1]}") == {reference}


def test_the_index_of_references_follows_what_becomes_of_a_message(engine: Engine, store: Store) -> None:
    with store.transaction() as tx:
        (number,) = put_ch_messages(tx, [b"a" * 16])

    def change(reference: str, access_point: str | None) -> None:
        finding.refresh(engine)
        with store.transaction() as tx:
            sql = "UPDATE ch_message SET reference = ?, access_point = ? WHERE id = ?"
            tx.driver.run(sql, (reference, access_point, number))

    change("LOT-2026-77001:4", None)
    assert {row[1:] for row in found(engine, "77001")} == {("LOT-2026-77001:4", "part")}
    change(f"{PRM}:2026-02-10:77001", PRM)  # it tells a point and its days
    assert found(engine, "77001") == set()
    change(f"{PRM}:77001:2026-02-10", PRM)
    assert {row[1:] for row in found(engine, "77001")} == {(f"{PRM}:77001:2026-02-10", "part")}
    assert found(engine, PRM[:-1]) == set(), "the point is found by itself"
    change(f"{PRM}:77002:2026-02-10", PRM)
    assert found(engine, "77001") == set()
    change("LOT-2027-77001:4", PRM)
    assert {row[1:] for row in found(engine, "2027-77001")} == {("LOT-2027-77001:4", "part")}
    assert near(engine, "LOT-2027-77010:4") == {"LOT-2027-77001:4"}


# --- names of customers ---


def test_a_customer_is_found_by_words_of_the_name(engine: Engine, store: Store) -> None:
    fill(store)
    finding.refresh(engine)
    assert named(engine, "zoe durand lefevre") == [(PRM, "whole")]
    for typed in ("DURAND", "dur zo", "Lefèvre Zoë"):
        assert named(engine, typed) == [(PRM, "beginning")]
    for typed in ("durnad", "martin", "12345"):
        assert named(engine, typed) == []


def test_one_wrong_letter_of_a_name_is_seen_through(engine: Engine, store: Store) -> None:
    fill(store)
    for typed in ("durnad", "duran", "durandd", "dyrand", "zoe lefevrre", "leefvre"):
        assert [key for key, _ in named(engine, typed, mistyped=True)] == [PRM], typed
    assert named(engine, "martin", mistyped=True) == []


def reached(engine: Engine, typed: str, *, mistyped: bool = False) -> list[tuple[str, str, str]]:
    with reading(engine) as connection:
        rows = finding.customers_reached(connection, typed, mistyped=mistyped)
    return sorted((row.column, row.key, row.how) for row in rows)


REACHED = {
    "0612345678": ("phone", "whole"),
    "+33 6 12 34 56 78": ("phone", "whole"),
    "0033612345678": ("phone", "whole"),
    "06 12 34": ("phone", "beginning"),
    "345678": ("phone", "part"),
    "ZOE.DURAND@example.org": ("email", "whole"),
    "zoe.d": ("email", "beginning"),
    "@example.org": ("email", "part"),
    "example.org": ("email", "part"),
    "732 829 320 00074": ("company_id", "whole"),
    "732 829 320": ("company_id", "beginning"),  # SIREN of a SIRET
    "000074": None,  # the zeros before a number say nothing
    "0687654321": None,
    "zoe": None,
}


def test_a_customer_is_found_by_contacts(engine: Engine, store: Store) -> None:
    """Before and after the index of SQLite has caught up."""
    fill(store)
    for _ in range(2):
        for typed, wanted in REACHED.items():
            told = reached(engine, typed)
            assert told == ([] if wanted is None else [(wanted[0], PRM, wanted[1])]), typed
        finding.refresh(engine)


def test_one_wrong_sign_of_a_contact_is_seen_through(engine: Engine, store: Store) -> None:
    fill(store)
    for typed in ("0612345687", "0621345678", "061234568", "zoe.durnad@example.org", "zoe.durand@exampel.org"):
        assert reached(engine, typed) == [], typed
        assert [(key, how) for _, key, how in reached(engine, typed, mistyped=True)] == [(PRM, "similar")], typed
    for typed in ("73282392000074", "73282932000047"):
        assert ("company_id", PRM, "similar") in reached(engine, typed, mistyped=True)
    assert reached(engine, "0699999999", mistyped=True) == []


@pytest.mark.parametrize(
    ("kept", "typed"),
    [
        ("+32 2 123 45 67", "02 123 45 67"),  # Belgium: eight digits without the country
        ("+31 (0)20 123 45 67", "+31201234567"),
        ("BE 0403.170.701", "0403170701"),
        ("0403170701", "BE0403.170.701"),
        ("27312345", "KvK 27312345".removeprefix("KvK ")),
    ],
)
def test_numbers_are_found_however_they_are_written(kept: str, typed: str) -> None:
    assert finding.fit_of_contact(kept, typed, mistyped=False) == "whole"
    secret = b"s" * 32
    contacts = [nameindex.Contact("phone", kept)]
    assert set(nameindex.kept("", secret, contacts).split()) & set(
        nameindex.asked_contact(typed, secret, mistyped=False)
    )


def test_a_customer_whose_contact_changes_is_found_by_the_former_no_more(engine: Engine, store: Store) -> None:
    fill(store)
    finding.refresh(engine)
    with writing(engine) as connection:
        connection.execute(tables.customer.update().values(content='{"phone":"0699999999"}'))
    assert reached(engine, "0612345678") == []
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM customer_words")).scalar() == 0


def content(engine: Engine, tables_: Sequence[str]) -> str:
    """What tables hold, as text."""
    with reading(engine) as connection:
        rows = [connection.execute(text(f"SELECT * FROM {name}")).all() for name in tables_]
    return str(rows).casefold()


def test_the_index_holds_no_name(engine: Engine, store: Store) -> None:
    unlock(engine, {"old": StorageKey("old", b"o" * 32)}, "old")
    fill(store)
    finding.refresh(engine)
    held = ["customer_words", "name_key"]
    if is_sqlite(engine):
        held += ["find_customer_words", "find_customer_words_data", "find_customer_words_idx"]
    told = content(engine, held)
    # of five letters and more: three in a row are among keys by chance
    assert not any(word in told for word in ("durand", "lefevre", "lefèvre", "example"))
    assert named(engine, "durand") == [(PRM, "beginning")]


def test_the_words_of_one_store_say_nothing_in_another() -> None:
    one, other = nameindex.kept("Durand", b"1" * 32), nameindex.kept("Durand", b"2" * 32)
    assert one != other
    assert set(one.split()).isdisjoint(other.split())


def test_a_customer_who_is_deleted_or_renamed_leaves_no_words(engine: Engine, store: Store) -> None:
    ids = fill(store)
    finding.refresh(engine)
    with writing(engine) as connection:
        connection.execute(tables.customer.update().values(name="anonymous"))
    assert named(engine, "durand") == []
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM customer_words")).scalar() == 0
    with store.transaction() as tx:
        row = {"access_point_id": 1, "at": DAY, "message_id": ids["message"], "name": "Paul Petit", "content": "{}"}
        put(tx, tables.customer, row)
    assert len(named(engine, "petit")) == 1
    with writing(engine) as connection:
        connection.execute(tables.customer.delete())
    with reading(engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM customer_words")).scalar() == 0
    assert named(engine, "petit") == []


def test_a_store_of_before_is_filled_in_pieces(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identifiers by the upgrade, names after it: what is ended is gone on with, new ones meanwhile are found."""
    engine = connect(empty_url)
    with monkeypatch.context() as patched:
        (script,) = (migrations.scripts() / "versions").glob("*_what_is_found.py")
        revisions = migrations.revisions()
        patched.setattr(migrations, "HEAD", revisions[revisions.index(script.name[:4]) + 1])
        migrations.upgrade(engine)
    with writing(engine) as connection:
        columns = "id, market, identifier, last_at, state, messages"
        sql = f"INSERT INTO access_point ({columns}) VALUES (1, 'FR', :prm, 0, :b, 0)"
        connection.execute(text(sql), {"prm": PRM, "b": b""})
        columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
        values = "1, 1, 'FR', 'C15', 'CustomerData', 0, 'accepted', 7, 'x', 1"
        sql = f"INSERT INTO kernel_message ({columns}) VALUES ({values})"
        connection.execute(text(sql))
        for number in range(1, 8):
            columns = "id, access_point_id, at, message_id, name, content"
            sql = f"INSERT INTO customer ({columns}) VALUES (:n, 1, 0, 1, :name, :content)"
            name = f"Customer Number{'abcdefg'[number - 1] * 3}"
            connection.execute(text(sql), {"n": number, "name": name, "content": f'{{"phone":"061234567{number}"}}'})
    migrations.upgrade(engine)
    assert found(engine, PRM) == {("access_point", PRM, "whole")}
    monkeypatch.setattr(nameindex, "BATCH", 3)

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nameindex.fill(engine, stop)
    with reading(engine) as connection:
        assert nameindex.unfinished(connection) == 4
    finding.refresh(engine)
    assert (len(named(engine, "numberccc")), len(named(engine, "numberddd"))) == (1, 0)
    assert nameindex.fill(engine) == 4
    finding.refresh(engine)
    with reading(engine) as connection:
        assert nameindex.unfinished(connection) == 0
    assert (len(named(engine, "numberccc")), len(named(engine, "numberggg"))) == (1, 1)
    assert reached(engine, "0612345677") == [("phone", PRM, "whole")]
    engine.dispose()
