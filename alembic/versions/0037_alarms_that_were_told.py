"""Alarms that somebody was told of, or is to be."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; it has one row for each alarm that is on, or whose end was not told yet."""
    op.create_table(
        "alarm_state",
        sa.Column("code", sa.String(40), primary_key=True),
        sa.Column("subject", sa.String(200), primary_key=True),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("over", sa.Boolean(), nullable=False, comment="Its cause is gone; kept until that was told."),
        sa.Column("told_at", sa.BigInteger(), comment="When somebody was last told of it."),
        sa.Column("claimed_at", sa.BigInteger(), comment="When a process began to tell of it."),
        comment="Alarms that somebody was told of, or is to be.",
    )
