"""Acknowledgements of syntax that we owe the senders of members: kept until they are sent, once per content.

What arrived before is not acknowledged afterwards.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "acknowledgement",
        sa.Column("sha256", sa.LargeBinary(32), nullable=False, comment="Of the member that it acknowledges."),
        sa.Column("market", sa.String(2), nullable=False),
        sa.Column("envelope_id", ID, nullable=False),
        sa.Column("type", sa.String(120), nullable=False, comment="The market's message type."),
        sa.Column("reference", sa.String(120), nullable=False, comment="Our reference."),
        sa.Column("content", sa.LargeBinary(), nullable=False, comment="Built once: the same bytes on every attempt."),
        sa.Column("content_type", sa.String(80), nullable=False),
        sa.Column("state", sa.String(14), nullable=False, comment="built, sent, dead"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger()),
        sa.Column("sent_at", sa.BigInteger()),
        sa.Column("channel", sa.String(80)),
        sa.Column("last_error", sa.Text()),
        sa.ForeignKeyConstraint(["envelope_id"], ["envelope.id"], name="fk_acknowledgement_envelope_id"),
        sa.PrimaryKeyConstraint("sha256", name="pk_acknowledgement"),
        comment="Acknowledgements of syntax that we owe the senders of members, or sent them.",
    )
    op.create_index("ix_acknowledgement_envelope_id", "acknowledgement", ["envelope_id"])
    op.create_index("ix_acknowledgement_state", "acknowledgement", ["state", "market", "created_at"])
