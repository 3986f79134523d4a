"""Views of lists that people keep."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; it begins empty."""
    op.create_table(
        "saved_view",
        sa.Column("person", sa.String(120), primary_key=True),
        sa.Column("list", sa.String(40), primary_key=True, comment="messages, tickets, requests"),
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("query", sa.Text(), nullable=False, comment="Filters and order, as an address has them."),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        comment="Filters and orders of lists that people keep under a name.",
    )
