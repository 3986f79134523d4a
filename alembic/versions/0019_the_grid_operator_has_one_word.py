"""The error class of the grid operator is called grid_operator: in findings, tickets, and the stored versions of rules.

The audit keeps its lines as they were written: each is bound to the one before by its hash.
"""

from __future__ import annotations

import json
import re
from typing import Any

import sqlalchemy as sa

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

BEFORE, NOW = "dno", "grid_operator"
CLASSES = ("finding", "ticket")
"""Tables with a column error_class."""

SHORT, LONG = 10, 24
TITLE = 200
IN_RULES = re.compile(rf"(\berror_class[\"']?\s*:\s*[\"']?){BEFORE}\b")
IN_ANSWERS = tuple((f'"{key}":"{BEFORE}"', f'"{key}":"{NOW}"') for key in ("error_class", "class"))


def upgrade() -> None:
    """Lengthen the columns and write the word anew."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        _rewrite_tables(connection)
    else:
        for name in CLASSES:
            op.alter_column(name, "error_class", existing_type=sa.String(length=SHORT), type_=sa.String(length=LONG))
    for name in CLASSES:
        table = sa.table(name, sa.column("error_class"))
        connection.execute(sa.update(table).where(table.c.error_class == BEFORE).values(error_class=NOW))
    _rewrite(connection, sa.table("ticket", *map(sa.column, ("id", "title", "evidence"))), _ticket)
    _rewrite(connection, sa.table("rules_version", *map(sa.column, ("id", "catalogue"))), _rules)
    answers = sa.table("idempotency", sa.column("answer"))
    for old, new in IN_ANSWERS:
        change = sa.update(answers).where(answers.c.answer.contains(old, autoescape=True))
        connection.execute(change.values(answer=sa.func.replace(answers.c.answer, old, new)))


def _rewrite_tables(connection: sa.Connection) -> None:
    # SQLite keeps the length of a text in the text of the table alone, and documents that it may be changed there: no
    # row is copied, however many there are.
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    old, new = (f"\terror_class VARCHAR({length})" for length in (SHORT, LONG))
    for name in CLASSES:
        sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
        if connection.exec_driver_sql(sql, (name,)).scalar_one().count(old) != 1:
            raise RuntimeError(f"the table {name} is not as an earlier version of this program made it")
        change = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = ?"
        connection.exec_driver_sql(change, (old, new, name))
    connection.exec_driver_sql(f"PRAGMA schema_version = {int(version) + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")


def _rewrite(connection: sa.Connection, table: sa.TableClause, change: Any) -> None:
    """Write the rows of a table anew that a change makes another of, one after the other: a version of rules is big."""
    for number in connection.execute(sa.select(table.c.id)).scalars().all():
        row = dict(connection.execute(sa.select(table).where(table.c.id == number)).mappings().one())
        changed = change(row)
        if changed != row:
            connection.execute(sa.update(table).where(table.c.id == number).values(changed))


def _ticket(row: dict[str, Any]) -> dict[str, Any]:
    title = row["title"]
    if title.endswith(f" ({BEFORE})"):
        title = f"{title.removesuffix(f'({BEFORE})')}({NOW})"[:TITLE]
    evidence = json.loads(row["evidence"])
    if isinstance(evidence, dict):
        for one in evidence.get("evidence", ()):
            if one.get("class") == BEFORE:
                one["class"] = NOW
    content = json.dumps(evidence, ensure_ascii=False, separators=(",", ":"))
    return {"id": row["id"], "title": title, "evidence": content}


def _rules(row: dict[str, Any]) -> dict[str, Any]:
    files = json.loads(row["catalogue"])
    changed = {path: IN_RULES.sub(rf"\g<1>{NOW}", text) for path, text in files.items()}
    catalogue = row["catalogue"] if changed == files else json.dumps(changed, ensure_ascii=False)
    return {"id": row["id"], "catalogue": catalogue}
