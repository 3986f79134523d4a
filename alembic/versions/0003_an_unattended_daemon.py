"""What a daemon needs that nobody watches: attempts at an envelope, and what retention removed."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column and the table."""
    comment = "How often a worker began and did not come to an end."
    op.add_column("envelope", sa.Column("attempts", sa.SmallInteger(), nullable=True, comment=comment))
    op.create_table(
        "purge",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.String(length=40), nullable=False, comment="raw, notifications"),
        sa.Column("before", sa.BigInteger(), nullable=False, comment="What is older was removed."),
        sa.Column("days", sa.Integer(), nullable=False, comment="The policy."),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column("first_id", sa.BigInteger(), nullable=False, comment="The oldest row that was touched."),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_purge"),
        comment="What retention removed, never removed itself.",
    )
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column(
            "outbox",
            "state",
            existing_type=sa.String(length=8),
            existing_nullable=False,
            comment="pending, sending, sent, dead",
        )
        op.execute(sa.schema.CreateSequence(sa.Sequence("purge_ids", increment=1000)))
