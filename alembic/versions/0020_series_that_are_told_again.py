"""A series has a status like a reading and a volume: current, or replaced by one that tells the same intervals anew.

Until now two series of one instant could both be current; what is stored stays so until its access point is judged
again.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; every stored series is current."""
    status = sa.Column(
        "status", sa.String(10), nullable=False, server_default="current", comment="current, replaced, cancelled"
    )
    op.add_column("series", status)
