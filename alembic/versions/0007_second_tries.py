"""Changes by way of the web have no second effect; versions, requests and campaigns of a message are found at once."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of idempotency keys, and indexes."""
    op.create_table(
        "idempotency",
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False, comment="SHA-256 of person, route and key."),
        sa.Column("content", sa.LargeBinary(length=32), nullable=False, comment="SHA-256 of what was sent with it."),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True, comment="What was answered; none while it is under way."),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("hash", name="pk_idempotency"),
        comment="Changes that bore an idempotency key, so that a second try has no second effect.",
    )
    op.create_index("ix_idempotency_at", "idempotency", ["at"], unique=False)
    op.create_index("ix_campaign_item_result_id", "campaign_item", ["result_id"], unique=False)
    op.create_index("ix_outgoing_event_message_id", "outgoing_event", ["message_id"], unique=False)
    # Few messages are versions of others: the index holds only those.
    corrected = sa.text("corrects IS NOT NULL")
    op.create_index(
        "ix_kernel_message_corrects",
        "kernel_message",
        ["corrects"],
        unique=False,
        postgresql_where=corrected,
        sqlite_where=corrected,
    )
