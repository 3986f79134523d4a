"""Tables of PostgreSQL that grow by time are in partitions, ranges of ids; what was stored is the first of them.

No row is written anew: each table becomes the first partition of one that takes its name, with its indexes. On SQLite
only the column is added.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

TABLES = {
    "state_change": ("message_id", "kernel_message_ids", 100_000),
    "particular": ("message_id", "kernel_message_ids", 100_000),
    "reading": ("id", "reading_ids", 100_000),
    "volume": ("id", "volume_ids", 100_000),
    "series": ("id", "series_ids", 100_000),
    "change_log": ("batch", "change_batch_ids", 100_000_000),
    "raw_chunk": ("envelope_id", "envelope_ids", 50_000),
}
"""Table -> the column whose ranges its partitions are, the sequence that its values come from, and what the end of the
first range is a multiple of."""

COMMENT = "The envelope that brought it; 0: in a store of before."


def upgrade() -> None:
    """Give raw bytes a number that grows with time, and make the tables partitioned."""
    column = sa.Column("envelope_id", sa.BigInteger(), nullable=False, server_default="0", comment=COMMENT)
    op.add_column("raw_chunk", column)
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    op.execute("ALTER TABLE raw_chunk DROP CONSTRAINT pk_raw_chunk")
    op.execute('ALTER TABLE raw_chunk ADD CONSTRAINT pk_raw_chunk PRIMARY KEY (sha256, "number", envelope_id)')
    for table, settings in TABLES.items():
        _divide(connection, table, *settings)
    changelog.install(connection)


def _divide(connection: sa.Connection, table: str, key: str, sequence: str, width: int) -> None:
    """Make a table the first partition of one that takes its name."""
    first = f"{table}_p1"
    values = {"name": table}
    indexes = connection.execute(
        sa.text(
            "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i "
            "WHERE i.indrelid = to_regclass(:name) AND NOT i.indisprimary"
        ),
        values,
    ).all()
    keys = connection.execute(
        sa.text(
            "SELECT conname, contype = 'p', pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid = to_regclass(:name) AND contype IN ('p', 'f')"
        ),
        values,
    ).all()
    made = connection.execute(
        sa.text("SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(:name) AND NOT tgisinternal"), values
    ).all()
    for (name,) in made:
        op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute(f"ALTER TABLE {table} RENAME TO {first}")
    for name, _ in indexes:
        op.execute(f"ALTER INDEX {name} RENAME TO {name}_p1")
    for name, _, _ in keys:
        op.execute(f"ALTER TABLE {first} RENAME CONSTRAINT {name} TO {name}_p1")
    like = "INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMMENTS"
    op.execute(f"CREATE TABLE {table} (LIKE {first} {like}) PARTITION BY RANGE ({key})")
    op.execute(
        f"DO $$ DECLARE words text := obj_description('{first}'::regclass); BEGIN "
        f"IF words IS NOT NULL THEN EXECUTE format('COMMENT ON TABLE {table} IS %L', words); END IF; END $$"
    )
    for name, _, definition in sorted(keys, key=lambda one: not one[1]):
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
    for _, definition in indexes:
        op.execute(definition)
    # Ids that were given out and not stored yet are below the next block of the sequence.
    used = int(connection.execute(sa.text(f"SELECT last_value FROM {sequence}")).scalar_one())  # noqa: S608 - our own
    end = (used // width + 1) * width
    op.execute(f"ALTER TABLE {table} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ({end})")
    op.execute(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
