"""What people do about refused messages: campaigns of corrections, tickets, notes."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "campaign",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column(
            "script",
            sa.String(length=80),
            nullable=False,
            comment="Name of the correction script; edit for one by hand.",
        ),
        sa.Column("digest", sa.String(length=64), nullable=False, comment="Hash of the script as it was run."),
        sa.Column("parameters", sa.Text(), nullable=False, comment="JSON."),
        sa.Column("state", sa.String(length=12), nullable=False, comment="planned, running, cancelled, done, undone"),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column("why", sa.String(length=400), nullable=False),
        sa.Column("approved_by", sa.String(length=120), nullable=True, comment="The second pair of eyes."),
        sa.Column(
            "key",
            sa.String(length=120),
            nullable=True,
            comment="Idempotency key: a second click finds the first campaign.",
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("selected", sa.Integer(), nullable=False),
        sa.Column("freed", sa.Integer(), nullable=False, comment="Messages that came to be accepted, neighbours too."),
        sa.PrimaryKeyConstraint("id", name="pk_campaign"),
        sa.UniqueConstraint("key", name="uq_campaign_key"),
        comment="One run of a correction script: who, why, on what, with what result.",
    )
    op.create_index("ix_campaign_state", "campaign", ["state"], unique=False)
    op.create_table(
        "ticket",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("error_class", sa.String(length=10), nullable=False),
        sa.Column("codes", sa.String(length=200), nullable=False),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("grid_operator", sa.String(length=40), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=False, comment="JSON."),
        sa.Column("state", sa.String(length=12), nullable=False, comment="open, waiting, closed"),
        sa.Column("owner", sa.String(length=120), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column(
            "link", sa.String(length=400), nullable=True, comment="The ticket in the tracker it was exported to."
        ),
        sa.PrimaryKeyConstraint("id", name="pk_ticket"),
        comment="What no correction frees, for somebody to take up.",
    )
    op.create_index("ix_ticket_state", "ticket", ["state"], unique=False)
    op.create_table(
        "campaign_item",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("access_point_id", ID, nullable=True),
        sa.Column("action", sa.String(length=12), nullable=False, comment="modify, reorder, create, replay"),
        sa.Column("state", sa.String(length=12), nullable=False, comment="planned, acted, done, undone, skipped"),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="Kernel XML of the new version or the new message; else empty.",
        ),
        sa.Column("note", sa.String(length=400), nullable=False),
        sa.Column(
            "before",
            sa.String(length=12),
            nullable=False,
            comment="State of the message when the campaign was planned.",
        ),
        sa.Column(
            "after",
            sa.String(length=12),
            nullable=True,
            comment="State of the message when the campaign had replayed it.",
        ),
        sa.Column("result_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_campaign_item_access_point_id"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_campaign_item_campaign_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_campaign_item_message_id"),
        sa.ForeignKeyConstraint(["result_id"], ["kernel_message.id"], name="fk_campaign_item_result_id"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign_item"),
        sa.UniqueConstraint("campaign_id", "message_id", name="uq_campaign_item_campaign_id_message_id"),
        comment="What a campaign does to one message; nothing is done twice.",
    )
    op.create_index("ix_campaign_item_message_id", "campaign_item", ["message_id"], unique=False)
    op.create_table(
        "note",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("message_id", ID, nullable=True),
        sa.Column("ticket_id", ID, nullable=True),
        sa.Column("campaign_id", ID, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column(
            "assignee", sa.String(length=120), nullable=True, comment="Colleague that the message was delegated to."
        ),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_note_campaign_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_note_message_id"),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name="fk_note_ticket_id"),
        sa.PrimaryKeyConstraint("id", name="pk_note"),
    )
    op.create_index("ix_note_message_id", "note", ["message_id"], unique=False)
    op.create_index("ix_note_ticket_id", "note", ["ticket_id"], unique=False)
    op.create_table(
        "ticket_message",
        sa.Column("ticket_id", ID, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_ticket_message_message_id"),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name="fk_ticket_message_ticket_id"),
        sa.PrimaryKeyConstraint("ticket_id", "message_id", name="pk_ticket_message"),
    )
    op.create_index("ix_ticket_message_message_id", "ticket_message", ["message_id"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        for table in ("campaign", "campaign_item", "ticket", "note"):
            op.execute(sa.schema.CreateSequence(sa.Sequence(f"{table}_ids", increment=1000)))
