"""Which files that stay on their servers were taken in, for every host."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "seen_file",
        sa.Column("channel", sa.String(length=40), nullable=False),
        sa.Column("key", sa.LargeBinary(length=32), nullable=False, comment="SHA-256 of path, size and time."),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "key", name="pk_seen_file"),
        comment="Files that were taken in and stay where they are: no host takes them again.",
    )
