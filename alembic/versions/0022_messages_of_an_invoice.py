"""Which messages a grid invoice is made of, whatever their verdict. Of those that were stored before, the ones that are
kept are known."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
KEPT = ("grid_invoice", "grid_charge")


def upgrade() -> None:
    """Make the table and fill it from what is kept."""
    op.create_table(
        "invoice_message",
        sa.Column("message_id", ID, autoincrement=False, nullable=False),
        sa.Column("market", sa.String(2), nullable=False),
        sa.Column("invoice", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name="pk_invoice_message"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_invoice_message_message_id"),
        comment="The messages that a grid invoice is made of, whatever their verdict.",
    )
    op.create_index("ix_invoice_message_market_invoice", "invoice_message", ["market", "invoice"])
    for table in KEPT:
        source = f"FROM {table} t JOIN kernel_message k ON k.id = t.message_id"
        op.execute(
            f"INSERT INTO invoice_message (message_id, market, invoice) SELECT k.id, k.market, t.invoice {source}"
        )
