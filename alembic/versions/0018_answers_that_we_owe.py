"""Which of our messages answers which request to us; what a request to us takes back; indexes by which the rows of a
market are paged.

A request of before is an original: its withdrawal was accepted and kept nowhere.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

SEARCHED = {
    "aggregated_series": ("market", "grid_area", "at"),
    "settlement": ("market", "charge_owner", "charge_code", "at"),
    "price_list": ("market", "charge_owner", "charge_code", "at"),
}
"""Columns of an index that nothing searches by; rows are paged by market, instant and id."""


def upgrade() -> None:
    """Add the columns and indexes."""
    comment = "The market's reference of the request to us that it answers."
    op.add_column("outgoing", sa.Column("answers", sa.String(400), comment=comment))
    given = sa.text("answers IS NOT NULL")
    op.create_index("ix_outgoing_answers", "outgoing", ["answers"], postgresql_where=given, sqlite_where=given)
    op.add_column("received_request", sa.Column("function", sa.String(24), nullable=False, server_default="original"))
    op.add_column("received_request", sa.Column("correlation", sa.String(400)))
    op.create_index("ix_received_request_reference", "received_request", ["reference"])
    for table, columns in SEARCHED.items():
        op.drop_index(f"ix_{table}_{'_'.join(columns)}", table)
        op.create_index(f"ix_{table}_market_at_id", table, ["market", "at", "id"])
