"""Requests that go out in one message with others bear its reference: what answers it answers them all."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what was sent before went out alone."""
    comment = "Reference of the message in which it went out with others."
    op.add_column("outgoing", sa.Column("batch", sa.String(120), nullable=True, comment=comment))
    where = sa.text("batch IS NOT NULL")
    op.create_index("ix_outgoing_batch", "outgoing", ["batch"], postgresql_where=where, sqlite_where=where)
