"""Requests to the market, and every step of their lives."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "outgoing",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("access_point_id", ID, nullable=True),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("type", sa.String(length=120), nullable=False, comment="The market's message type or service."),
        sa.Column(
            "reference", sa.String(length=120), nullable=False, comment="Our reference, which the market repeats."
        ),
        sa.Column(
            "market_reference",
            sa.String(length=120),
            nullable=True,
            comment="The market's own reference of the request.",
        ),
        sa.Column("content", sa.LargeBinary(), nullable=False, comment="Built once: the same bytes on every attempt."),
        sa.Column("content_type", sa.String(length=80), nullable=False),
        sa.Column(
            "state",
            sa.String(length=14),
            nullable=False,
            comment="built, sent, acknowledged, in-course, done, refused, dead",
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("answer_by", sa.BigInteger(), nullable=False, comment="When an answer is overdue."),
        sa.Column("settled_at", sa.BigInteger(), nullable=True, comment="When it was done, refused or given up."),
        sa.Column("answer_code", sa.String(length=64), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("channel", sa.String(length=80), nullable=True),
        sa.Column("receipt", sa.String(length=400), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.String(length=120), nullable=True),
        sa.Column("submitted_by", sa.String(length=120), nullable=False),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_outgoing_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_outgoing_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_outgoing"),
        sa.UniqueConstraint("idempotency_key", name="uq_outgoing_idempotency_key"),
        sa.UniqueConstraint("reference", name="uq_outgoing_reference"),
        comment="Requests to the market and what became of them.",
    )
    op.create_index("ix_outgoing_state", "outgoing", ["state", "id"], unique=False)
    op.create_index("ix_outgoing_market_reference", "outgoing", ["market_reference"], unique=False)
    op.create_index("ix_outgoing_access_point_id", "outgoing", ["access_point_id"], unique=False)
    op.create_index("ix_outgoing_message_id", "outgoing", ["message_id"], unique=False)
    op.create_table(
        "outgoing_event",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("outgoing_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=14), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("message_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_outgoing_event_message_id"),
        sa.ForeignKeyConstraint(["outgoing_id"], ["outgoing.id"], name="fk_outgoing_event_outgoing_id"),
        sa.PrimaryKeyConstraint("id", name="pk_outgoing_event"),
        comment="Every step of a request's life: attempts, answers, milestones.",
    )
    op.create_index("ix_outgoing_event_outgoing_id", "outgoing_event", ["outgoing_id"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        for table in ("outgoing", "outgoing_event"):
            op.execute(sa.schema.CreateSequence(sa.Sequence(f"{table}_ids", increment=1000)))
