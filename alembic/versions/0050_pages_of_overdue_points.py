"""Overdue points are listed page by page, in an order that holds where many miss measures since one instant."""

from __future__ import annotations

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The index of places takes in the point."""
    op.drop_index("ix_rhythm_place", "rhythm")
    op.create_index("ix_rhythm_place", "rhythm", ["running", "market", "every", "place", "access_point_id"])
