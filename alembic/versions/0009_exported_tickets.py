"""Tickets that other trackers hold."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table of exports."""
    op.create_table(
        "ticket_export",
        sa.Column("ticket_id", ID, nullable=False),
        sa.Column("tracker", sa.String(length=60), nullable=False, comment="Its name in the configuration."),
        sa.Column("remote", sa.String(length=200), nullable=False, comment="What the tracker calls the ticket."),
        sa.Column("digest", sa.String(length=64), nullable=False, comment="SHA-256 of what was sent last."),
        sa.Column("exported_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name="fk_ticket_export_ticket_id"),
        sa.PrimaryKeyConstraint("ticket_id", "tracker", name="pk_ticket_export"),
        comment="Tickets that other trackers hold: a second export changes them and makes no second one.",
    )
