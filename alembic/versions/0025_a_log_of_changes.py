"""A log of changes, kept by triggers, from which exports tell what is new, corrected or taken back."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables and the triggers. What was stored before is not in the log: the first export tells it."""
    op.create_table(
        "change_head",
        sa.Column("one", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1: there is one row."),
        sa.Column("store", sa.String(16), nullable=False, comment="Whose cursors these are; made by chance."),
        sa.Column("number", sa.BigInteger(), nullable=False, comment="The last batch that was numbered."),
        sa.Column("mark", sa.BigInteger(), nullable=False, comment="Its mark."),
        sa.Column(
            "floor", sa.BigInteger(), nullable=False, comment="What changed up to this batch is no longer known."
        ),
        sa.Column("floor_mark", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one", name="pk_change_head"),
        comment="Counts the batches; locked by whoever commits one.",
    )
    op.create_table(
        "change_batch",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), comment="1, 2, 3, ... in the order of commits; given at the commit."),
        sa.Column("mark", sa.BigInteger(), nullable=False, comment="By chance: another history has another one."),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_change_batch"),
        comment="The changes of one transaction (SQLite: one change). Kept by triggers.",
    )
    op.create_index("ix_change_batch_number", "change_batch", ["number"], unique=True)
    op.create_table(
        "change_log",
        sa.Column("batch", sa.BigInteger(), autoincrement=False, nullable=False, comment="change_batch"),
        sa.Column("table_name", sa.String(40), nullable=False),
        sa.Column("row_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("op", sa.String(6), nullable=False, comment="insert, update, delete"),
        sa.Column("message_id", sa.BigInteger(), nullable=False, comment="The cause of the row (kernel_message)."),
        sa.PrimaryKeyConstraint("batch", "table_name", "row_id", "op", name="pk_change_log"),
        comment="Which rows of what is exported were made, changed or taken back. Kept by triggers.",
    )
    if op.get_bind().dialect.name != "sqlite":
        op.execute(sa.schema.CreateSequence(sa.Sequence("change_batch_ids", increment=1000)))
    changelog.install(op.get_bind())
