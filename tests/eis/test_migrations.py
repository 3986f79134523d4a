"""`energycomm eis upgrade` brings any database of ours to the tables of this version, whoever else does so too."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, select, text

from energycomm.daemon.claims import claim
from energycomm.eis import changelog, findable, finding, migrations, tables, tallies
from energycomm.eis.archive import open_raw
from energycomm.eis.arrays import parts_of
from energycomm.eis.database import Conflict, connect, is_sqlite, reading, writing
from energycomm.eis.datakeys import unlock
from energycomm.eis.ownership import claim as claim_store
from energycomm.eis.ownership import owner_of, require_owner
from energycomm.eis.partitions import Partitions
from energycomm.eis.received_requests import list_owed
from energycomm.eis.resealing import reseal
from energycomm.eis.store import Store
from energycomm.eis.views import keep_view, views_of
from energycomm.errors import UserError
from energycomm.pipeline.acknowledgement import kept_acknowledgements, retry
from energycomm.pipeline.state import load_state
from energycomm.transport.keys import StorageKey
from energycomm.webservice import sessions, tokens
from energycomm.webservice.domain import rows_of_market
from energycomm.webservice.roles import Role, Scope
from energycomm.webservice.tokens import digest
from tests.eis.rows import put, put_ch_messages, row


@pytest.fixture
def empty(empty_url: str) -> Iterator[Engine]:
    engine = connect(empty_url)
    yield engine
    engine.dispose()


def _whole(name: str | None, kind: str, _parents: object) -> bool:
    """Neither a partition nor of the index of searches, which is made where the database can; tests/eis/test_finding.py
    looks at that."""
    found = re.fullmatch(r"(.+)_(p\d+|rest)", str(name)) if kind == "table" else None
    return (found is None or found[1] not in tables.metadata.tables) and not str(name).startswith("find_")


@pytest.mark.thorough
def test_the_migrations_make_the_tables_that_the_program_knows(empty: Engine) -> None:
    """Nothing is left for Alembic to find: no table, column, type, index or key differs, but for the references that
    PostgreSQL is not to check, which it does not have. Partitions are parts of the tables that they are compared as."""
    migrations.upgrade(empty)
    with empty.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _whole})
        found = compare_metadata(context, tables.metadata)
    unchecked = {(table.name, name) for table, names in tables.MADE_TOGETHER for name in names if not is_sqlite(empty)}
    left_out = {(one.table.name, *one.column_keys) for what, one in found if what == "add_fk"}
    assert left_out == unchecked
    assert len(found) == len(unchecked)


@pytest.mark.thorough
def test_the_comparison_would_find_a_difference(empty: Engine) -> None:
    migrations.upgrade(empty)
    with writing(empty) as connection:
        connection.execute(text("DROP INDEX ix_envelope_state_id"))
        connection.execute(text("ALTER TABLE envelope ADD COLUMN surprise integer"))
    with empty.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": _whole})
        found = compare_metadata(context, tables.metadata)
    assert {difference[0] for difference in found} - {"add_fk"} == {"add_index", "remove_column"}


def test_every_table_has_its_ids_after_an_upgrade(empty: Engine) -> None:
    migrations.upgrade(empty)
    with Store(empty).transaction() as tx:
        for table in tables.metadata.sorted_tables:
            if "id" in table.columns:
                assert len(tx.reserve(table, 2)) == 2
    if not is_sqlite(empty):
        assert set(inspect(empty).get_sequence_names()) == {sequence.name for sequence in tables.SEQUENCES}


@pytest.mark.thorough
def test_an_upgrade_says_where_it_came_from_and_a_second_has_nothing_to_do(empty: Engine) -> None:
    assert migrations.status(empty) == (None, migrations.HEAD, "empty")
    assert migrations.upgrade(empty) == (None, migrations.HEAD)
    assert migrations.status(empty) == (migrations.HEAD, migrations.HEAD, "ready")
    assert migrations.upgrade(empty) == (migrations.HEAD, migrations.HEAD)
    migrations.require_current(empty)


def test_the_newest_script_is_the_revision_the_program_works_with() -> None:
    assert migrations.revisions()[0] == migrations.head()


@pytest.mark.thorough
def test_processes_that_upgrade_at_once_wait_for_one_another(empty_url: str) -> None:
    results: list[object] = []

    def upgrade() -> None:
        engine = connect(empty_url)
        try:
            results.append(migrations.upgrade(engine))
        except Exception as error:
            results.append(error)
        engine.dispose()

    threads = [threading.Thread(target=upgrade) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    new = migrations.HEAD
    assert sorted(map(str, results)) == [f"('{new}', '{new}')", f"('{new}', '{new}')", f"(None, '{new}')"]


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(empty: Engine) -> None:
    """The table stands in the way of the migration's own."""
    with writing(empty) as connection:
        connection.execute(text("CREATE TABLE volume (x integer)"))
    with pytest.raises(Exception, match="already exists"):
        migrations.upgrade(empty)
    assert inspect(empty).get_table_names() == ["volume"]
    assert migrations.status(empty).state == "empty"


def test_a_database_without_tables_is_refused_with_what_to_type(empty: Engine) -> None:
    with pytest.raises(UserError, match="energycomm eis upgrade") as caught:
        migrations.require_current(empty)
    assert caught.value.exit_code == 4


def test_writing_to_a_database_without_tables_says_the_same(empty: Engine) -> None:
    with pytest.raises(UserError, match="energycomm eis upgrade"), Store(empty).transaction() as tx:
        tx.known_identities([b"a" * 16])


@pytest.mark.thorough
def test_a_database_of_a_newer_program_is_refused_and_left_alone(empty: Engine) -> None:
    migrations.upgrade(empty)
    with writing(empty) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for refused in (migrations.require_current, migrations.upgrade):
        with pytest.raises(UserError, match="newer than this EnergyComm"):
            refused(empty)
    assert migrations.current(empty) == "9999"


def test_the_folder_of_migrations_does_not_hide_the_library(project_root: Path) -> None:
    """`import alembic` at the top of the checkout is the library."""
    found = importlib.util.find_spec("alembic")
    assert found is not None
    assert found.origin is not None
    assert not Path(found.origin).is_relative_to(project_root / "alembic")
    assert migrations.scripts() == project_root / "alembic"


def test_what_was_stored_before_there_were_tallies_is_counted(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The migration that makes the tallies counts what is there, and the triggers go on from that."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0005")
        migrations.upgrade(empty)
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = f"INSERT INTO kernel_message ({columns}) VALUES ({{}}, 1, 'FR', 'C15', 'MeterData', 0, '{{}}', 7, 'x', 1)"
    finding = (
        'INSERT INTO finding (id, message_id, change_id, "current", error_code, rule, severity, error_class, field, '
        "comment, comment_fr) VALUES ({}, 2, 1, {}, 'FR-R03', 'r', 'error', 'dno', 'f', 'c', 'c')"
    )
    with writing(empty) as connection:
        connection.execute(text(message.format(1, "accepted")))
        connection.execute(text(message.format(2, "rejected")))
        connection.execute(
            text("INSERT INTO state_change (id, message_id, after, at, by) VALUES (1, 2, 'rejected', 7, 'x')")
        )
        for number, current in ((1, "true"), (2, "true"), (3, "false")):
            connection.execute(text(finding.format(number, current)))
    migrations.upgrade(empty)
    with writing(empty) as connection:
        connection.execute(text(message.format(3, "accepted")))
    with empty.connect() as connection:
        counted = {(one.kind, one.state): one.messages for one in tallies.combinations(connection)}
        (code,) = tallies.code_frequencies(connection)
    assert counted == {("MeterData", "accepted"): 2, ("MeterData", "rejected"): 1}
    assert (code.name, code.messages, code.occurrences, code.ever) == ("FR-R03", 1, 2, 3)


@pytest.mark.thorough
def test_sessions_of_a_filled_store_are_bound_to_their_tokens(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that a token began ends with it from then on; sign-ins that were under way are begun anew."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0011")
        migrations.upgrade(empty)
    columns = "id, label, hash, person, roles, scopes, created_at, created_by, expires_at"
    token = f"INSERT INTO api_token ({columns}) VALUES (:id, 'x', :hash, 'anna', 'consultant', 'read', 1, 'x', :end)"
    columns = "hash, purpose, person, content, created_at, expires_at"
    session = f"INSERT INTO web_session ({columns}) VALUES (:hash, :purpose, 'anna', :content, 1, :end)"
    end = 1 << 60
    with writing(empty) as connection:
        for number in (17, 18):
            connection.execute(text(token), {"id": number, "hash": bytes([number]), "end": end})
        for cookie, via in (("a", "session by token 17"), ("b", "session by provider"), ("c", "session by token 18")):
            content = f'{{"roles":"consultant","csrf":"x","via":"{via}"}}'
            row = {"hash": digest(cookie), "purpose": "session", "content": content, "end": end}
            connection.execute(text(session), row)
        row = {"hash": digest("d"), "purpose": "login", "content": '{"state":"x"}', "end": end}
        connection.execute(text(session), row)
    migrations.upgrade(empty)
    store = Store(empty)
    assert tokens.revoke(store, 18, "test") == (18,)
    found = {cookie: sessions.person_of(store, cookie) for cookie in "abcd"}
    assert (found["c"], found["d"]) == (None, None)
    assert found["a"] is not None
    assert (found["a"].token, found["a"].scopes) == (17, frozenset({Scope.READ}))
    assert found["b"] is not None
    assert (found["b"].token, found["b"].scopes, found["b"].roles) == (
        None,
        frozenset(Scope),
        frozenset({Role.CONSULTANT}),
    )
    with empty.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM web_session")).scalar() == 3
        assert connection.execute(text("SELECT count(*) FROM api_token WHERE made_with IS NULL")).scalar() == 2


@pytest.mark.thorough
def test_states_of_a_filled_store_hold_what_was_stated_by_name(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state of before had one place for each fact; nothing but the form changes, in checkpoints too."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0015")
        migrations.upgrade(empty)
    period = [5, 7, "ref", "GLN", "MES", None, None, None, 3, None]
    register = [1_200_000, 1000, 4, 6, False, "M1", 1]
    reading = ["MeterReading", "R151", "r", "own", "current", 9, False, {"dcBASE": register}]
    facts = ["BTINFCU4", "6.0", 2, "DI000001", "M1"]
    full = [9, True, [period], ["e"], {"dcHP": register}, [reading], 4, *facts, 1, 4, "C5", "connected", "2"]
    full += [{"R": ["sent", None, 8]}, ["c"]]
    bare = [9, True, [], [], {}, [], None, None, None, None, None, None, 0, -1, None, None, None, {}, []]
    states = {1: msgspec.msgpack.encode(full), 2: msgspec.msgpack.encode(bare), 3: b""}
    columns = "id, market, identifier, last_at, state, messages"
    with writing(empty) as connection:
        for number, state in states.items():
            point = text(f"INSERT INTO access_point ({columns}) VALUES (:id, 'FR', :name, 9, :state, 1)")
            connection.execute(point, {"id": number, "name": str(number), "state": state})
        for upto in (5, 6):
            checkpoint = text("INSERT INTO checkpoint (access_point_id, upto, state) VALUES (1, :upto, :state)")
            connection.execute(checkpoint, {"upto": upto, "state": states[1]})
    migrations.upgrade(empty)
    with empty.connect() as connection:
        points = {row[0]: bytes(row[1]) for row in connection.execute(text("SELECT id, state FROM access_point"))}
        kept = [bytes(row[0]) for row in connection.execute(text("SELECT state FROM checkpoint"))]
    assert kept == [points[1], points[1]]
    assert points[3] == b""
    now = load_state(points[1])
    assert (now.at, now.known, now.last_reading, now.generation, now.generation_at) == (9, True, 4, 1, 4)
    assert (now.periods[0].reference, now.periods[0].row) == ("ref", 3)
    assert (now.before["dcHP"].wh, now.readings[0].registers["dcBASE"].meter) == (1_200_000, "M1")
    assert (now.requests["R"].at, now.charges, now.events) == (8, ["c"], ["e"])
    assert msgspec.to_builtins(now.stated) == {
        "tariff": "BTINFCU4",
        "subscribed_power": "6.0",
        "contract_sequence": 2,
        "calendar": "DI000001",
        "meter": "M1",
        "segment": "C5",
        "connection_status": "connected",
        "service_level": "2",
    }
    assert msgspec.to_builtins(load_state(points[2]).stated) == {}


def test_requests_to_us_of_before_are_owed_an_answer(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upgrade keeps each request to us as an original, each of ours as an answer to none, and all prices."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0017")
        migrations.upgrade(empty)
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = f"INSERT INTO kernel_message ({columns}) VALUES (:id, 1, 'FR', 'ASK', :kind, 0, 'accepted', 7, 'x', 1)"
    with writing(empty) as connection:
        for number, kind in enumerate(("ReceivedRequest", "ReceivedRequest", "MoveInRequest", "PriceList"), 1):
            connection.execute(text(message), {"id": number, "kind": kind})
        for number, reference, by in ((1, "Q-1", 5_000_000), (2, "Q-2", None)):
            connection.execute(
                text(
                    "INSERT INTO received_request (id, at, message_id, source, reference, answer_by_at, reasons, "
                    "attachments) VALUES (:id, 0, :id, 'ASK', :reference, :by, '[]', '[]')"
                ),
                {"id": number, "reference": reference, "by": by},
            )
        connection.execute(
            text(
                "INSERT INTO outgoing (id, message_id, market, kind, type, reference, content, content_type, state, "
                "created_at, answer_by, attempts, submitted_by) VALUES (1, 3, 'FR', 'MoveInRequest', 'T', 'Q-1', :b, "
                "'text/xml', 'sent', 1, 2, 1, 'anna')"
            ),
            {"b": b"<a/>"},
        )
        connection.execute(
            text(
                "INSERT INTO price_list (id, at, message_id, source, market, charge_type, charge_owner, charge_code, "
                "currency, prices) VALUES (1, 9, 4, 'P', 'FR', 'fee', 'o', 'c', 'EUR', '[]')"
            )
        )
    assert migrations.upgrade(empty) == ("0017", migrations.HEAD)
    found = list_owed(empty, {"FR": ZoneInfo("Europe/Paris")})
    assert [(one.message_id, one.reference, one.late) for one in found] == [(1, "Q-1", True), (2, "Q-2", False)]
    with empty.connect() as connection:
        kept = connection.execute(text("SELECT function, correlation FROM received_request")).all()
        assert kept == [("original", None), ("original", None)]
        assert connection.execute(text("SELECT state, answers FROM outgoing")).all() == [("sent", None)]
    (row,) = rows_of_market(Store(empty), "FR", "price-lists").items
    assert row.content["charge_code"] == "c"


TOLD = '{"evidence":[{"class":"%s","found":"dno, é","messages":2}],"access_points":["dno"]}'
LONG = "FR-R03 " * 28
FILES = {
    "fr/a.yaml": "rules:\n- error_class: dno # dno\n- {error_class: 'dno'}\n- error_class: dno_x\n",
    "fr/codes.csv": "class,dno\n",
}
"""What a store of version 0018 held where the word `dno` is one of the program's, and where it is somebody else's."""


def _fill_with_dno(empty: Engine) -> None:
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = (
        f"INSERT INTO kernel_message ({columns}) VALUES (1, 1, 'FR', 'C15', 'MeterData', 0, 'rejected', 7, 'x', 1)"
    )
    finding = (
        'INSERT INTO finding (id, message_id, change_id, "current", error_code, rule, severity, error_class, field, '
        "comment, comment_fr) VALUES (:id, 1, 1, :current, 'FR-R03', 'dno', 'error', :class, 'dno', 'dno', 'dno')"
    )
    ticket = (
        'INSERT INTO ticket (id, title, error_class, codes, market, evidence, state, "by", created_at) '
        "VALUES (:id, :title, :class, 'FR-R03', 'FR', :evidence, 'open', 'a', 7)"
    )
    tickets = [
        {"id": 1, "title": "FR-R03: 2 messages (dno)", "class": "dno", "evidence": TOLD % "dno"},
        {"id": 2, "title": "FR-R03 (dno) (missing)", "class": "missing", "evidence": TOLD % "missing"},
        {"id": 3, "title": LONG[:194] + " (dno)", "class": "dno", "evidence": TOLD % "dno"},
    ]
    with writing(empty) as connection:
        connection.execute(text(message))
        connection.execute(
            text("INSERT INTO state_change (id, message_id, after, at, by) VALUES (1, 1, 'rejected', 7, 'x')")
        )
        for number, (word, current) in enumerate([("dno", True), ("dno", False), ("product", True)], 1):
            connection.execute(text(finding), {"id": number, "current": current, "class": word})
        for row in tickets:
            connection.execute(text(ticket), row)
        connection.execute(
            text(
                "INSERT INTO rules_version (id, hash, engine, first_used_at, catalogue) VALUES (1, 'a', 'e', 7, :files)"
            ),
            {"files": json.dumps(FILES)},
        )
        for number, answer in enumerate(['{"error_class":"dno","title":"dno"}', '{"title":"dno"}', None]):
            row = {"hash": bytes([number]), "answer": answer}
            connection.execute(
                text("INSERT INTO idempotency (hash, content, at, answer) VALUES (:hash, :hash, 7, :answer)"), row
            )


def test_the_grid_operator_has_one_word_in_a_filled_store(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings, tickets, stored versions of rules and answers that are kept for a second try; nothing else changes."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0018")
        migrations.upgrade(empty)
    _fill_with_dno(empty)
    with empty.connect() as connection:
        counted = tallies.code_frequencies(connection)
    migrations.upgrade(empty)
    with empty.connect() as connection:

        def rows(sql: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in connection.execute(text(sql))]

        classes = rows("SELECT error_class, rule, field, comment FROM finding ORDER BY id")
        found = rows("SELECT title, error_class, evidence FROM ticket ORDER BY id")
        ((catalogue,),) = rows("SELECT catalogue FROM rules_version")
        answers = rows("SELECT answer FROM idempotency ORDER BY hash")
        assert tallies.code_frequencies(connection) == counted
    assert classes == [(word, "dno", "dno", "dno") for word in ("grid_operator", "grid_operator", "product")]
    assert [row[:2] for row in found] == [
        ("FR-R03: 2 messages (grid operator)", "grid_operator"),
        ("FR-R03 (dno) (missing message)", "missing"),
        ((LONG[:194] + " (grid_operator)")[:200], "grid_operator"),
    ]
    assert [row[2] for row in found] == [TOLD % word for word in ("grid_operator", "missing", "grid_operator")]
    assert json.loads(str(catalogue)) == {
        "fr/a.yaml": FILES["fr/a.yaml"].replace(": dno #", ": grid_operator #").replace("'dno'", "'grid_operator'"),
        "fr/codes.csv": "class,dno\n",
    }
    assert answers == [('{"error_class":"grid_operator","title":"dno"}',), ('{"title":"dno"}',), (None,)]


def test_a_filled_store_of_before_stays_plain_and_can_be_encrypted(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upgrade touches no row; afterwards a run encrypts what was stored by the older version, byte for byte."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0012")
        migrations.upgrade(empty)
    sha256 = hashlib.sha256(b"plain raw").digest()
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = f"INSERT INTO kernel_message ({columns}) VALUES (:id, 1, 'FR', 'C15', 'MeterData', 0, 'x', 7, :xml, 1)"
    with writing(empty) as connection:
        connection.execute(text("INSERT INTO raw (sha256, size) VALUES (:s, 9)"), {"s": sha256})
        connection.execute(
            text('INSERT INTO raw_chunk (sha256, "number", bytes) VALUES (:s, 0, :b)'), {"s": sha256, "b": b"plain raw"}
        )
        for number in range(1, 6):
            connection.execute(text(message), {"id": number, "xml": f"<m n='{number}'/>"})
    assert migrations.upgrade(empty) == ("0012", migrations.HEAD)
    with empty.connect() as connection:
        assert connection.execute(text("SELECT what, data_key FROM at_rest")).all() == [("store", None)]
    vault = unlock(empty, {"k": StorageKey("k", b"k" * 32)}, "k")
    assert reseal(empty).rows == {"raw_chunk": 1, "kernel_message": 5}
    with empty.connect() as connection:
        rows = connection.execute(text("SELECT id, xml FROM kernel_message ORDER BY id")).all()
    assert [vault.text("kernel_message", *row) for row in rows] == [f"<m n='{n}'/>" for n in range(1, 6)]
    assert all(row.xml.startswith("ec:3:1:") for row in rows)
    assert open_raw(empty, sha256).read() == b"plain raw"


@pytest.mark.thorough
def test_a_filled_store_is_partitioned_in_place_or_left_as_it_was(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was stored is the first range, with its keys; an upgrade that does not come to its end changes nothing."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0038")
        migrations.upgrade(empty)
    sha256 = hashlib.sha256(b"plain raw").digest()
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = (
        f"INSERT INTO kernel_message ({columns}) VALUES (7, 1, 'FR', 'C15', 'MeterData', 0, 'accepted', 7, 'x', 1)"
    )
    change = "INSERT INTO state_change (id, message_id, after, at, by) VALUES ({}, 7, 'accepted', 7, 'x')"
    columns = "id, at, message_id, source, qualification, nature, registers, status"
    index = f"INSERT INTO reading ({columns}) VALUES ({{}}, 1, 7, 's', 'q', 'n', '[]', 'current')"
    with writing(empty) as connection:
        connection.execute(text("INSERT INTO raw (sha256, size) VALUES (:s, 9)"), {"s": sha256})
        connection.execute(
            text('INSERT INTO raw_chunk (sha256, "number", bytes) VALUES (:s, 0, :b)'), {"s": sha256, "b": b"plain raw"}
        )
        for sql in (message, change.format(1), index.format(1)):
            connection.execute(text(sql))
        connection.execute(text("CREATE TABLE raw_chunk_rest (x integer)"))
        if is_sqlite(empty):
            connection.execute(text("ALTER TABLE raw_chunk ADD COLUMN envelope_id integer"))
        else:
            connection.execute(text("SELECT setval('kernel_message_ids', 250001)"))
    with pytest.raises(Exception, match=r"already exists|duplicate column"):
        migrations.upgrade(empty)
    assert migrations.status(empty).current == "0038"
    with writing(empty) as connection:
        assert connection.execute(text("SELECT count(*) FROM reading")).scalar() == 1
        connection.execute(text("DROP TABLE raw_chunk_rest"))
        if is_sqlite(empty):
            connection.execute(text("ALTER TABLE raw_chunk DROP COLUMN envelope_id"))
    assert migrations.upgrade(empty) == ("0038", migrations.HEAD)
    assert open_raw(empty, sha256).read() == b"plain raw"
    with writing(empty) as connection:
        connection.execute(text(change.format(2)))
        connection.execute(text(index.format(2)))
        logged = connection.execute(text("SELECT table_name, row_id, op FROM change_log ORDER BY row_id")).all()
    assert logged == [("reading", 1, "insert"), ("reading", 2, "insert")]
    for again in (change.format(1), index.format(2)):
        with pytest.raises(Conflict), writing(empty) as connection:
            connection.execute(text(again))
    ranges = {one.name: one.end for one in Partitions(empty).known()}
    if is_sqlite(empty):
        assert ranges == {}
    else:
        assert (ranges["state_change_p1"], ranges["reading_p1"], ranges["raw_chunk_p1"]) == (300_000, 100_000, 50_000)


@pytest.mark.thorough
def test_a_filled_store_is_followed_from_its_first_export_on(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored before the log of changes is in no batch; what comes, or goes, after it is."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0019")
        migrations.upgrade(empty)
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = (
        f"INSERT INTO kernel_message ({columns}) VALUES ({{}}, 1, 'FR', 'C15', 'MeterData', 0, 'accepted', 7, 'x', 1)"
    )
    period = 'INSERT INTO supply_period (id, "at", message_id) VALUES ({0}, 0, {0})'
    with writing(empty) as connection:
        for statement in (message.format(1), message.format(2), period.format(1)):
            connection.execute(text(statement))
    migrations.upgrade(empty)
    with empty.connect() as connection:
        begun = changelog.present(connection)
    with writing(empty) as connection:
        connection.execute(text(period.format(2)))
        connection.execute(text("DELETE FROM supply_period WHERE id = 1"))
    with empty.connect() as connection:
        logged = connection.execute(text("SELECT row_id, op FROM change_log ORDER BY row_id")).all()
        assert changelog.place_of(connection, str(begun)) == begun
        assert (begun.number, changelog.present(connection).number > 0) == (0, True)
    assert logged == [(1, "delete"), (2, "insert")]


@pytest.mark.thorough
def test_requests_that_were_sent_before_batches_went_out_alone(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filled table of requests takes the new column on both databases; what was sent keeps every value."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0020")
        migrations.upgrade(empty)
    message = (
        "INSERT INTO kernel_message (id, position, market, market_type, kind, effective, state, received_at, xml, "
        "version) VALUES (1, 1, 'NL', 'M', 'MoveInRequest', 0, 'accepted', 7, 'x', 1)"
    )
    sent = (
        "INSERT INTO outgoing (id, message_id, market, kind, type, reference, content, content_type, state, "
        "created_at, answer_by, attempts, submitted_by) VALUES (:n, 1, 'NL', 'MoveInRequest', 'MoveInRequest', :r, :c, "
        "'text/xml', 'sent', 1, 2, 1, 'anna')"
    )
    with writing(empty) as connection:
        connection.execute(text(message))
        for number in (1, 2):
            connection.execute(text(sent), {"n": number, "r": f"r{number}", "c": b"bytes"})
    assert migrations.upgrade(empty) == ("0020", migrations.HEAD)
    with empty.connect() as connection:
        rows = connection.execute(text("SELECT reference, state, attempts, batch FROM outgoing ORDER BY id")).all()
    assert rows == [("r1", "sent", 1, None), ("r2", "sent", 1, None)]


@pytest.mark.thorough
def test_a_curve_of_before_keeps_its_values_and_tells_no_product(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filled table of series takes the new columns on both databases."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0025")
        migrations.upgrade(empty)
    message = (
        "INSERT INTO kernel_message (id, position, market, market_type, kind, effective, state, received_at, xml, "
        "version) VALUES (1, 1, 'FR', 'R50', 'MeasureSeries', 0, 'accepted', 7, 'x', 1)"
    )
    curve = (
        "INSERT INTO series (id, at, message_id, source, end_at, unit, direction, positions, status) "
        "VALUES (1, 0, 1, 'R50', 9, 'W', 'consumption', '[]', 'current')"
    )
    with writing(empty) as connection:
        connection.execute(text(message))
        connection.execute(text(curve))
    assert migrations.upgrade(empty) == ("0025", migrations.HEAD)
    with empty.connect() as connection:
        rows = connection.execute(text("SELECT end_at, unit, direction, status, product, register FROM series")).all()
    assert rows == [(9, "W", "consumption", "current", None, None)]


@pytest.mark.thorough
def test_what_came_before_there_were_acknowledgements_is_owed_none(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Envelopes of a filled store keep every value on both databases; acknowledgements refer to them from then on."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0026")
        migrations.upgrade(empty)
    sha256 = hashlib.sha256(b"UNB").digest()
    envelope = (
        "INSERT INTO envelope (id, name, sha256, received_at, channel, market, state) "
        "VALUES (1, 'a.edi', :s, 7, 'atrias', 'BE', 'done')"
    )
    with writing(empty) as connection:
        connection.execute(text("INSERT INTO raw (sha256, size) VALUES (:s, 3)"), {"s": sha256})
        connection.execute(text(envelope), {"s": sha256})
    assert migrations.upgrade(empty) == ("0026", migrations.HEAD)
    store = Store(empty)
    assert kept_acknowledgements(store) == []
    owed = (
        "INSERT INTO acknowledgement (sha256, market, envelope_id, type, reference, content, content_type, state, "
        "created_at, attempts) VALUES (:s, 'BE', :e, 'CONTRL', :r, :c, 'application/EDIFACT', 'dead', 8, 40)"
    )
    with writing(empty) as connection:
        connection.execute(text(owed), {"s": sha256, "e": 1, "r": "EC1-1", "c": b"CONTRL"})
    with pytest.raises(Exception, match=r"(?i)foreign key"), writing(empty) as connection:
        connection.execute(text(owed), {"s": b"x" * 32, "e": 2, "r": "EC2-1", "c": b"CONTRL"})
    assert [(one.envelope_id, one.state) for one in kept_acknowledgements(store)] == [(1, "dead")]
    assert retry(store) == 1
    assert [(one.state, one.attempts) for one in kept_acknowledgements(store, state="built")] == [("built", 0)]
    with empty.connect() as connection:
        assert connection.execute(text("SELECT name, channel, state FROM envelope")).all() == [
            ("a.edi", "atrias", "done")
        ]


@pytest.mark.thorough
def test_warnings_of_a_filled_store_are_counted_apart(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One code refused a message twice and warned of two, one of them formerly; another code only warned."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0027")
        migrations.upgrade(empty)
    columns = "id, position, market, market_type, kind, effective, state, received_at, xml, version"
    message = f"INSERT INTO kernel_message ({columns}) VALUES ({{}}, 1, 'FR', 'C15', 'MeterData', 0, 'x', 7, 'x', 1)"
    finding = (
        'INSERT INTO finding (id, message_id, change_id, "current", error_code, rule, severity, error_class, field, '
        "comment, comment_fr) VALUES (:n, :m, 1, :now, :code, :code, :severity, 'dno', 'f', 'c', 'c')"
    )
    found = [
        (1, True, "A", "error"),
        (1, True, "A", "error"),
        (2, True, "A", "warning"),
        (3, False, "A", "warning"),
        (3, True, "B", "warning"),
    ]
    counted_before = "INSERT INTO finding_tally VALUES (:what, :name, 0, :messages, :occurrences, :ever)"
    with writing(empty) as connection:
        for number in (1, 2, 3):
            connection.execute(text(message.format(number)))
        connection.execute(text("INSERT INTO state_change (id, message_id, after, at, by) VALUES (1, 1, 'x', 7, 'x')"))
        for number, (message_id, current, code, severity) in enumerate(found, 1):
            values = {"n": number, "m": message_id, "now": current, "code": code, "severity": severity}
            connection.execute(text(finding), values)
        connection.execute(text("DELETE FROM finding_tally"))
        for what in ("code", "rule"):  # as the triggers of before counted: what ever was, of both
            for name, counts in {"A": (1, 2, 4), "B": (0, 0, 1)}.items():
                values = dict(zip(("messages", "occurrences", "ever"), counts, strict=True))
                connection.execute(text(counted_before), {"what": what, "name": name, **values})
        connection.execute(text("INSERT INTO point_data (id, at, message_id, content) VALUES (1, 0, 1, '{}')"))
    migrations.upgrade(empty)
    with empty.connect() as connection:
        errors, warnings = (tallies.rule_frequencies(connection, severity) for severity in ("error", "warning"))
        (held,) = tallies.code_frequencies(connection)
        kept = connection.execute(text("SELECT content, reading_period FROM point_data")).all()
    assert (held.name, held.messages, held.occurrences, held.ever) == ("A", 1, 2, 2)
    assert {name: (one.messages, one.occurrences, one.ever) for name, one in errors.items()} == {"A": (1, 2, 2)}
    assert {name: (one.messages, one.occurrences, one.ever) for name, one in warnings.items()} == {
        "A": (1, 1, 2),
        "B": (1, 1, 1),
    }
    assert kept == [("{}", None)]
    with writing(empty) as connection:  # and the new triggers go on from there
        connection.execute(text("UPDATE finding SET \"current\" = false WHERE error_code = 'B'"))
    with empty.connect() as connection:
        assert tallies.rule_frequencies(connection, "warning")["B"].messages == 0


@pytest.mark.thorough
def test_envelopes_that_waited_before_there_were_claims_are_claimed(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are done stay done; what was begun counts as begun."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0031")
        migrations.upgrade(empty)
    envelope = "INSERT INTO envelope (id, name, sha256, received_at, channel, state, attempts) VALUES "
    with writing(empty) as connection:
        connection.execute(text("INSERT INTO raw (sha256, size) VALUES (:sha, 1)"), {"sha": b"1" * 32})
        for number, state, attempts in ((1, "done", 1), (2, "processing", 1), (3, "archived", None)):
            values = {"n": number, "sha": b"1" * 32, "state": state, "attempts": attempts}
            connection.execute(text(f"{envelope} (:n, 'a.xml', :sha, 7, 'drop', :state, :attempts)"), values)
    migrations.upgrade(empty)
    store = Store(empty)
    claimed = [[(one.envelope.id, one.attempt) for one in claim(store, 7, 10)] for _ in range(3)]
    assert claimed == [[(2, 2)], [(3, 1)], []]


@pytest.mark.thorough
def test_people_of_a_filled_store_keep_views(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table begins empty; who was signed in stays so."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0036")
        migrations.upgrade(empty)
    columns = "hash, person, content, created_at, expires_at"
    with writing(empty) as connection:
        values = {"hash": b"1" * 32, "content": "{}"}
        connection.execute(text(f"INSERT INTO web_session ({columns}) VALUES (:hash, 'anna', :content, 1, 2)"), values)
    migrations.upgrade(empty)
    store = Store(empty)
    assert views_of(empty, "anna", "messages") == {}
    keep_view(store, "anna", "messages", "mine", "state=rejected")
    keep_view(store, "anna", "messages", "mine", "state=treated")
    assert views_of(empty, "anna", "messages") == {"mine": "state=treated"}
    with empty.connect() as connection:
        assert connection.execute(text("SELECT person FROM web_session")).scalars().all() == ["anna"]


@pytest.mark.thorough
def test_references_of_a_filled_store_are_found_by_what_follows_their_point(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of before left out all that begins with an access point; it is made anew."""
    left_out = "(access_point IS NULL OR substr(reference, 1, length(access_point)) <> access_point)"
    before = findable.FINDABLE["ch_message"]._replace(where=left_out, parts={})
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0050")
        patched.setitem(findable.FINDABLE, "ch_message", before)
        migrations.upgrade(empty)
    store, point = Store(empty), "30001234567890"
    told = {f"{point}:700000202:2026-02-10": point, f"{point}:2026-02-10": point, "ST-0004": None}
    with store.transaction() as tx:
        for place, (reference, access_point) in enumerate(told.items()):
            (number,) = put_ch_messages(tx, [bytes([place]) * 16], f"{place}.xml")
            sql = "UPDATE ch_message SET reference = ?, access_point = ? WHERE id = ?"
            tx.driver.run(sql, (reference, access_point, number))
    if is_sqlite(empty):
        with writing(empty) as connection:
            connection.execute(text("INSERT OR REPLACE INTO find_upto VALUES ('ch_message', 1000000)"))
    migrations.upgrade(empty)

    def found(typed: str) -> set[str]:
        with reading(empty) as connection:
            return {row.value for row in finding.values_like(connection, [typed])}

    assert found("0000202") == {f"{point}:700000202:2026-02-10"}
    assert found("ST-00") == {"ST-0004"}
    assert found("2026-02") == {f"{point}:700000202:2026-02-10"}, "a point and its days are found by the point"


def test_titles_of_tickets_of_a_filled_store_say_in_words_whose_fault_it_is(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At their end alone; what a person has written there, and what is as long as a title may be, stay whole."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0051")
        migrations.upgrade(empty)
    long = f"{'A' * 191}(missing)"
    kept = [
        ("grid_operator", "FR-P05: 3 messages of 3 access points (grid_operator)"),
        ("grid_operator", "asked (grid_operator) twice"),
        ("product", "CO-R07: 1 message of 1 access point (product)"),
        ("missing", long),
        ("ordering", "CO-R01 (missing)"),
    ]
    store = Store(empty)
    with store.transaction() as tx:
        for error_class, title in kept:
            put(tx, tables.ticket, {"title": title, "error_class": error_class, "state": "open"})
    migrations.upgrade(empty)
    with reading(empty) as connection:
        told = [row[0] for row in connection.execute(select(tables.ticket.c.title).order_by(tables.ticket.c.id))]
    assert told == [
        "FR-P05: 3 messages of 3 access points (grid operator)",
        "asked (grid_operator) twice",
        "CO-R07: 1 message of 1 access point (our rules)",
        f"{'A' * 191}(missing ",
        "CO-R01 (missing)",
    ]


def test_a_filled_store_of_before_is_nobodys_until_a_supplier_takes_it(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is alone opens it as ever; of several, one takes it by hand, and no other gets it."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0043")
        migrations.upgrade(empty)
    with writing(empty) as connection:
        connection.execute(text("INSERT INTO web_session (hash, person, content, created_at, expires_at) "
                                "VALUES (:hash, 'anna', '{}', 1, 2)"), {"hash": b"1" * 32})  # fmt: skip
    migrations.upgrade(empty)
    assert owner_of(empty) is None
    with pytest.raises(UserError, match="belongs to no supplier yet"):
        require_owner(empty, "nord")
    for _ in range(2):
        claim_store(empty, "nord")
        require_owner(empty, "nord")
    for refused in (claim_store, require_owner):
        with pytest.raises(UserError, match="another supplier than sud"):
            refused(empty, "sud")
    assert owner_of(empty) == "nord"
    with empty.connect() as connection:
        assert connection.execute(text("SELECT person FROM web_session")).scalars().all() == ["anna"]


REGISTERS = (
    '[{"grid":"distributor","time_class":"HP","value":2062436,"unit":"Wh","direction":"consumption","rank":2},'
    '{"grid":"distributor","time_class":"HC","value":1311831,"unit":"Wh","direction":"consumption"}]'
)
FINDING = (
    'INSERT INTO finding (id, message_id, change_id, "current", error_code, rule, severity, error_class, field, '
    "comment, comment_fr) VALUES (:n, :m, :n, :now, 'FR-R03', 'r', 'error', 'dno', 'f', 'c', 'c')"
)


def _fill_with_readings(empty: Engine) -> None:
    message = (
        "INSERT INTO kernel_message (id, position, market, market_type, kind, effective, state, received_at, xml, "
        "version) VALUES (:n, 1, 'FR', 'R151', 'MeterReading', 0, :state, 7, 'x', 1)"
    )
    change = (
        'INSERT INTO state_change (id, message_id, "before", after, at, "by", why) '
        "VALUES (:n, :m, 'received', 'rejected', 7, 'kernel', 'FR-R03')"
    )
    kept = (
        "INSERT INTO reading (id, at, message_id, source, qualification, nature, status, registers) "
        "VALUES (:n, 0, :n, 'R151', 'periodic', 'read', 'current', :registers)"
    )
    with writing(empty) as connection:
        for number in range(1, 301):
            connection.execute(text(message), {"n": number, "state": "rejected" if number == 300 else "accepted"})
            connection.execute(text(kept), {"n": number, "registers": REGISTERS if number < 300 else "[]"})
        connection.execute(text(change), [{"n": 1, "m": 300}, {"n": 2, "m": 7}])
        connection.execute(text(FINDING), [{"n": 1, "m": 300, "now": True}, {"n": 2, "m": 7, "now": False}])


def _content(empty: Engine) -> list[object]:
    asked = (
        "SELECT * FROM state_change ORDER BY id",
        "SELECT * FROM finding ORDER BY id",
        "SELECT what, name, sum(messages), sum(occurrences), sum(ever) FROM finding_tally GROUP BY what, name",
        "SELECT table_name, row_id, op, message_id FROM change_log ORDER BY table_name, row_id, op",
    )
    with empty.connect() as connection:
        return [[tuple(row) for row in connection.execute(text(sql))] for sql in asked]


def _parts(empty: Engine) -> list[object]:
    with empty.connect() as connection:
        rows = connection.execute(text("SELECT registers FROM reading ORDER BY id")).scalars().all()
    return [parts_of(one) for one in rows]


@pytest.mark.thorough
def test_rows_of_a_filled_store_cost_less_and_say_the_same(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of state and findings keep every value; what is tallied and logged goes on. Parts are written as arrays
    by a run that may end early, and nobody who follows the store is told of it."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0032")
        migrations.upgrade(empty)
    _fill_with_readings(empty)

    def stop_early(_table: str, _rows: int) -> None:
        raise KeyboardInterrupt

    before, said = _content(empty), _parts(empty)
    assert said[0] == json.loads(REGISTERS)
    assert migrations.upgrade(empty) == ("0032", migrations.HEAD)
    assert _content(empty) == before
    with pytest.raises(KeyboardInterrupt):
        reseal(empty, stop_early)
    assert reseal(empty).rows["reading"] == 299
    assert reseal(empty).rows == {}
    assert _content(empty) == before
    assert _parts(empty) == said
    with empty.connect() as connection:
        (longest,) = connection.execute(text("SELECT max(length(registers)) FROM reading")).one()
    assert longest * 2 < len(REGISTERS)
    with writing(empty) as connection:
        connection.execute(text(FINDING), {"n": 3, "m": 300, "now": True})
        connection.execute(text("UPDATE reading SET status = 'replaced' WHERE id = 1"))
    after = _content(empty)
    assert [row[:1] for row in after[1]] == [(1,), (2,), (3,)]  # type: ignore[attr-defined]
    assert ("reading", 1, "update", 1) in after[3]  # type: ignore[operator]
    assert after[2] != before[2]


@pytest.mark.thorough
def test_first_verdicts_of_a_filled_store_keep_their_rows(empty: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was accepted before has its row, what is accepted since then says so itself; both are changes. New rows are
    logged once, whether one by one or together."""
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0042")
        migrations.upgrade(empty)
    message = (
        "INSERT INTO kernel_message (id, position, market, market_type, kind, effective, state, received_at, xml, "
        "version) VALUES (7, 1, 'FR', 'R151', 'MeterReading', 0, 'accepted', 7, 'x', 1)"
    )
    change = (
        'INSERT INTO state_change (id, message_id, "before", after, at, "by") '
        "VALUES (1, 7, 'received', 'accepted', 7, 'kernel')"
    )
    with writing(empty) as connection:
        for statement in (message, change):
            connection.execute(text(statement))
    assert migrations.upgrade(empty) == ("0042", migrations.HEAD)
    store = Store(empty)
    with store.transaction() as tx:
        rules = tx.rules_version("ab" * 32, "parallel", "{}", 8)
        accepted = row(tables.kernel_message, id=8, state="accepted", received_at=8, accepted_under=rules)
        tx.insert(tables.kernel_message, [accepted | {"ch_message_id": None, "access_point_id": None}])
        periods = [row(tables.supply_period, id=number, message_id=8) for number in (1, 2, 3)]
        tx.insert(tables.supply_period, periods[:2])
        tx.insert(tables.supply_period, periods[2:])
    with empty.connect() as connection:
        changes = connection.execute(select(tables.all_changes).order_by(tables.all_changes.c.message_id)).all()
        logged = connection.execute(text("SELECT row_id, op, run FROM change_log ORDER BY row_id")).all()
    assert [tuple(one) for one in changes] == [
        (1, 7, "received", "accepted", 7, "kernel", None, None),
        (0, 8, "received", "accepted", 8, "kernel", rules, None),
    ]
    assert [tuple(one) for one in logged] == [(1, "insert", 2), (3, "insert", 1)]


@pytest.mark.thorough
def test_the_index_of_a_filled_store_is_made_anew_for_searches_alone(
    empty: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "HEAD", "0052")
        migrations.upgrade(empty)
    with Store(empty).transaction() as tx:
        tx.access_points("FR", ["30001234567890"])
    if is_sqlite(empty):
        finding.refresh(empty)
    else:
        with writing(empty) as connection:
            connection.execute(text("DROP INDEX find_access_point_identifier"))
            sql = "CREATE INDEX find_access_point_identifier ON access_point USING gin (identifier gin_trgm_ops)"
            connection.execute(text(sql))
    migrations.upgrade(empty)
    with reading(empty) as connection:
        assert [row.value for row in finding.values_like(connection, ["12345"])] == ["30001234567890"]
        if not is_sqlite(empty):
            sql = "SELECT indexdef FROM pg_indexes WHERE indexname = 'find_access_point_identifier'"
            assert "||" in connection.execute(text(sql)).scalar_one()
