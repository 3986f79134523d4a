"""What is known of channels and daemons on any host: pauses, attempts, signs of life."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two tables; there is one row for each channel, and one for each daemon."""
    op.create_table(
        "channel_state",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("paused_at", sa.BigInteger(), comment="Since when nothing is received or sent."),
        sa.Column("paused_by", sa.String(120)),
        sa.Column("why", sa.String(400)),
        sa.Column("asked_at", sa.BigInteger(), comment="When a person asked for an attempt at once."),
        sa.Column("worked_at", sa.BigInteger()),
        sa.Column("failed_at", sa.BigInteger(), comment="None once it worked again."),
        sa.Column("error", sa.Text()),
        sa.Column("host", sa.String(255), comment="Who said so."),
        comment="What is known of a channel, and whether it is to rest.",
    )
    op.create_table(
        "daemon_state",
        sa.Column("name", sa.String(280), primary_key=True),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False, comment="JSON: workers, alarms."),
        comment="The last sign of life of each daemon.",
    )
