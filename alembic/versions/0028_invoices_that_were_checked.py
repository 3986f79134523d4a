"""What was found in each complete grid invoice, and up to where the log of changes was followed for that.

The first check after the upgrade looks at every invoice.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "invoice_check",
        sa.Column("market", sa.String(2), nullable=False),
        sa.Column("invoice", sa.String(64), nullable=False),
        sa.Column("last_at", sa.BigInteger(), comment="End of the last day that it charges."),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("contested", sa.String(40), nullable=False, comment="Sum of the findings, a decimal number."),
        sa.Column("contradictions", sa.Integer(), nullable=False, comment="How many findings there are."),
        sa.Column("complete", sa.Boolean(), nullable=False, comment="Its general file is there, and all charges."),
        sa.Column("messages", sa.Integer(), nullable=False, comment="How many messages it was made of."),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("market", "invoice", name="pk_invoice_check"),
        comment="What was found in each grid invoice; made again when what it depends on changes.",
    )
    op.create_table(
        "invoice_check_head",
        sa.Column("one", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1: there is one row."),
        sa.Column("store", sa.String(16), nullable=False, comment="Whose log of changes it is (change_head)."),
        sa.Column("upto", sa.BigInteger(), nullable=False, comment="Changes up to this batch were looked at."),
        sa.Column(
            "tables", sa.String(64), nullable=False, comment="SHA-256 of the price lists and rates that were used."
        ),
        sa.PrimaryKeyConstraint("one", name="pk_invoice_check_head"),
        comment="Up to where the log of changes was followed by the check of invoices.",
    )
