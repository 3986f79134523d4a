"""Triggers: those that keep the tallies, and those that keep the audit as it was written.

Tallies say how many messages of what are in which state, and how often which code was found. A count over a million
messages takes as long as a million messages; these are kept beside them by the database itself, whoever writes, in
the same transaction. On PostgreSQL a transaction has rows of its own (`writer`), so that workers never wait for one
another; `energycomm.eis.tallies.settle` adds them up. SQLite has one writer at a time.

Lines of the audit are appended and nothing else; its head moves on by one line at a time. The triggers stop mistakes,
and whoever may only use the tables. Who owns the database can drop them: `energycomm audit verify` shows what is done
then.
"""

# ruff: noqa: S608 - statements are put together from names of our own tables and columns, never from values

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from energycomm.eis import changelog

ALL_TIME = -1
"""The hour of the rows that count since the beginning."""

HOUR = 3_600_000_000
"""Microseconds of an hour."""

_KEYS = "hour, market, market_type, kind, state"

_MESSAGES = f"""
CREATE OR REPLACE FUNCTION tally_messages() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO message_tally AS t ({_KEYS}, writer, messages)
  SELECT h.hour, c.market, c.market_type, c.kind, c.state, txid_current(), sum(c.n)
  FROM ({{changed}}) AS c CROSS JOIN LATERAL (VALUES (c.received_at / {HOUR}), ({ALL_TIME})) AS h(hour)
  GROUP BY 1, 2, 3, 4, 5 HAVING sum(c.n) <> 0 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT ({_KEYS}, writer) DO UPDATE SET messages = t.messages + excluded.messages;
  RETURN NULL;
END $body$
"""

_ROWS = "SELECT market, market_type, kind, state, received_at, {n} AS n FROM {rows}"

_FINDINGS = """
CREATE OR REPLACE FUNCTION tally_findings() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  INSERT INTO finding_tally AS t (what, name, writer, messages, occurrences, ever)
  SELECT c.what, c.name, txid_current(), count(DISTINCT c.message_id) FILTER (WHERE c.held = 1)
      - count(DISTINCT c.message_id) FILTER (WHERE c.held = -1), sum(c.held), sum(c.ever)
  FROM ({changed}) AS c GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (what, name, writer) DO UPDATE SET messages = t.messages + excluded.messages,
    occurrences = t.occurrences + excluded.occurrences, ever = t.ever + excluded.ever;
  RETURN NULL;
END $body$
"""

_NAMED = (("code", "error_code"), ("rule", "rule"))
_WARNING = {"code": "codw", "rule": "rulw"}
"""What a finding counts for: its code and its rule, each among errors or among warnings."""


def _what(what: str, row: str) -> str:
    return f"CASE WHEN {row}.severity = 'warning' THEN '{_WARNING[what]}' ELSE '{what}' END"


_PAIRS = ", ".join(f"({_what(what, 'n')}, n.{column})" for what, column in _NAMED)
_NAMES = f"CROSS JOIN LATERAL (VALUES {_PAIRS}) AS w(what, name)"


def postgres_statements() -> list[str]:
    """What makes the triggers on PostgreSQL; they run once for each statement, over all its rows."""
    made, gone = _ROWS.format(n=1, rows="new_rows"), _ROWS.format(n=-1, rows="old_rows")
    held = "CASE WHEN n.current THEN 1 ELSE 0 END"
    found = f"SELECT w.what, w.name, n.message_id, {held} AS held, 1 AS ever FROM new_rows n {_NAMES}"
    left = "CASE WHEN n.current THEN -1 ELSE 0 END"
    gone_found = f"SELECT w.what, w.name, n.message_id, {left} AS held, -1 AS ever FROM old_rows n {_NAMES}"
    changed = (
        "SELECT w.what, w.name, n.message_id, CASE WHEN n.current THEN 1 ELSE -1 END AS held, 0 AS ever "
        f"FROM new_rows n JOIN old_rows o ON o.id = n.id {_NAMES} WHERE n.current <> o.current"
    )
    both = "OLD TABLE AS old_rows NEW TABLE AS new_rows"
    plan = [
        ("kernel_message", "insert", "NEW TABLE AS new_rows", _MESSAGES.format(changed=made)),
        ("kernel_message", "update", both, _MESSAGES.format(changed=f"{made} UNION ALL {gone}")),
        ("kernel_message", "delete", "OLD TABLE AS old_rows", _MESSAGES.format(changed=gone)),
        ("finding", "insert", "NEW TABLE AS new_rows", _FINDINGS.format(changed=found)),
        ("finding", "update", both, _FINDINGS.format(changed=changed)),
        ("finding", "delete", "OLD TABLE AS old_rows", _FINDINGS.format(changed=gone_found)),
    ]
    statements = []
    for table, event, rows, function in plan:
        name = f"tally_{table}_{event}"
        body = function.replace("tally_messages()", f"{name}()").replace("tally_findings()", f"{name}()")
        statements.append(body)
        statements.append(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        statements.append(
            f"CREATE TRIGGER {name} AFTER {event.upper()} ON {table} REFERENCING {rows} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )
    return statements


def sqlite_statements(condition: str) -> list[str]:
    """What makes the triggers on SQLite; they run for each row, those of new messages under a condition."""
    statements = []
    plan = [
        ("kernel_message_insert", f"AFTER INSERT ON kernel_message {condition}", [("NEW", 1)]),
        (
            "kernel_message_update",
            "AFTER UPDATE OF state ON kernel_message WHEN OLD.state <> NEW.state",
            [("OLD", -1), ("NEW", 1)],
        ),
        ("kernel_message_delete", "AFTER DELETE ON kernel_message", [("OLD", -1)]),
    ]
    for name, event, rows in plan:
        body = " ".join(
            _sqlite_count(row, n, hour) for row, n in rows for hour in (f"{row}.received_at / {HOUR}", "-1")
        )
        statements += _sqlite_trigger(name, event, body)
    body = " ".join(_sqlite_found(what, column, 'NEW."current"', 1) for what, column in _NAMED)
    statements += _sqlite_trigger("finding_insert", "AFTER INSERT ON finding", body)
    sign = 'CASE WHEN NEW."current" THEN 1 ELSE -1 END'
    body = " ".join(_sqlite_found(what, column, sign, 0) for what, column in _NAMED)
    event = 'AFTER UPDATE OF "current" ON finding WHEN OLD."current" <> NEW."current"'
    statements += _sqlite_trigger("finding_update", event, body)
    body = " ".join(_sqlite_found(what, column, '-OLD."current"', -1, "OLD") for what, column in _NAMED)
    statements += _sqlite_trigger("finding_delete", "AFTER DELETE ON finding", body)
    return statements


def _sqlite_trigger(name: str, event: str, body: str) -> list[str]:
    return [f"DROP TRIGGER IF EXISTS tally_{name}", f"CREATE TRIGGER tally_{name} {event} BEGIN {body} END"]


def _sqlite_count(row: str, n: int, hour: str) -> str:
    return (
        f"INSERT INTO message_tally ({_KEYS}, writer, messages) "
        f"VALUES ({hour}, {row}.market, {row}.market_type, {row}.kind, {row}.state, 0, {n}) "
        f"ON CONFLICT ({_KEYS}, writer) DO UPDATE SET messages = messages + excluded.messages;"
    )


def count_messages(driver: changelog.Writing, rows: Iterable[tuple[str, str, str, str, int]]) -> None:
    """Count messages that were inserted together while the triggers of SQLite were still.

    Args:
      driver: SQLite's, in a writing transaction.
      rows: market, type, kind, state and arrival (microseconds since the epoch) of each.
    """
    for (*key, at), messages in Counter((*row[:4], row[4] // HOUR) for row in rows).items():
        for hour in (at, ALL_TIME):
            driver.run(_COUNTED, (hour, *key, messages))


_COUNTED = (
    f"INSERT INTO message_tally ({_KEYS}, writer, messages) VALUES (?, ?, ?, ?, ?, 0, ?) "
    f"ON CONFLICT ({_KEYS}, writer) DO UPDATE SET messages = messages + excluded.messages"
)


def _sqlite_found(what: str, column: str, held: str, ever: int, row: str = "NEW") -> str:
    """A message counts once for a code, with the first finding of it and until the last."""
    others = (
        f"SELECT 1 FROM finding f WHERE f.message_id = {row}.message_id AND f.{column} = {row}.{column} "
        f'AND f."current" AND f.severity = {row}.severity AND f.id <> {row}.id'
    )
    return (
        "INSERT INTO finding_tally (what, name, writer, messages, occurrences, ever) "
        f"VALUES ({_what(what, row)}, {row}.{column}, 0, ({held}) * (NOT EXISTS ({others})), {held}, {ever}) "
        "ON CONFLICT (what, name, writer) DO UPDATE SET messages = messages + excluded.messages, "
        "occurrences = occurrences + excluded.occurrences, ever = ever + excluded.ever;"
    )


def install(connection: Connection) -> None:
    """Make the triggers of the tallies; those that are there are replaced."""
    sqlite = connection.dialect.name == "sqlite"
    condition = changelog.quiet_condition(connection, "<= 1") if sqlite else ""
    for statement in sqlite_statements(condition) if sqlite else postgres_statements():
        connection.exec_driver_sql(statement)


_ONLY_APPENDED = "the audit is append-only"

_POSTGRES_SEAL = (
    f"""CREATE OR REPLACE FUNCTION audit_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN RAISE EXCEPTION '{_ONLY_APPENDED}' USING ERRCODE = 'restrict_violation'; END $body$""",
    "CREATE TRIGGER audit_sealed BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_sealed()",
    "CREATE TRIGGER audit_kept BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_sealed()",
    "CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head FOR EACH ROW "
    "WHEN (NEW.position <> OLD.position + 1 OR NEW.one <> OLD.one) EXECUTE FUNCTION audit_is_sealed()",
    "CREATE TRIGGER audit_head_sealed BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION audit_is_sealed()",
    "CREATE TRIGGER audit_head_kept BEFORE TRUNCATE ON audit_head "
    "FOR EACH STATEMENT EXECUTE FUNCTION audit_is_sealed()",
)

# INSERT OR REPLACE deletes without a trigger on deletion: what is there already is refused before.
_SQLITE_SEAL = tuple(
    f"CREATE TRIGGER {name} BEFORE {event} BEGIN SELECT RAISE(ABORT, '{_ONLY_APPENDED}'); END"
    for name, event in (
        ("audit_changed", "UPDATE ON audit"),
        ("audit_deleted", "DELETE ON audit"),
        (
            "audit_replaced",
            "INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id OR position = NEW.position)",
        ),
        (
            "audit_head_moves_on",
            "UPDATE ON audit_head WHEN NEW.position <> OLD.position + 1 OR NEW.one <> OLD.one",
        ),
        ("audit_head_deleted", "DELETE ON audit_head"),
        ("audit_head_replaced", "INSERT ON audit_head WHEN EXISTS (SELECT 1 FROM audit_head)"),
    )
)


def seal_audit(connection: Connection, position: int = 0, last: bytes = bytes(32)) -> None:
    """Store the head of the audit, and make the triggers that refuse to change or delete its lines.

    Args:
      connection: in a transaction.
      position: how many lines there are.
      last: hash of the last of them.
    """
    head = text("INSERT INTO audit_head (one, position, hash) VALUES (1, :position, :hash)")
    connection.execute(head, {"position": position, "hash": last})
    for statement in _SQLITE_SEAL if connection.dialect.name == "sqlite" else _POSTGRES_SEAL:
        connection.exec_driver_sql(statement)


@contextmanager
def unsealed(connection: Connection) -> Iterator[None]:
    """A block of a transaction in which lines of the audit may be deleted; for others they may not meanwhile.

    Args:
      connection: in a writing transaction, of who owns the table.
    """
    if connection.dialect.name == "sqlite":
        (again,) = [statement for statement in _SQLITE_SEAL if " audit_deleted " in statement]
        off, on = "DROP TRIGGER audit_deleted", again
    else:
        off, on = (f"ALTER TABLE audit {word} TRIGGER audit_sealed" for word in ("DISABLE", "ENABLE"))
    connection.exec_driver_sql(off)
    yield
    connection.exec_driver_sql(on)
