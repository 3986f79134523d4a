"""A series tells what it measures and by which register, so that exports tell active from reactive energy. Changes of
grid invoices are logged.

What was stored before tells neither, until its access point is judged again.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the triggers."""
    op.add_column("series", sa.Column("product", sa.String(64)))
    op.add_column("series", sa.Column("register", sa.String(64)))
    changelog.install(op.get_bind())
