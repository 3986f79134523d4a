"""A reading tells the supplier's calendar too: the same time classes of another calendar are other hours.

What was stored before names none, until its access point is judged again.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("reading", sa.Column("supplier_calendar", sa.String(64)))
