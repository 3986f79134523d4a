"""An envelope tells the request whose result it holds, and how many files of it a report announces.

What was received before tells neither, so no alarm is raised for it.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the index by which the files of a request are counted."""
    comment = "The market's reference of the request whose result it holds."
    op.add_column("envelope", sa.Column("request", sa.String(64), comment=comment))
    comment = "Files of that result, as a report in it announces them."
    op.add_column("envelope", sa.Column("files", sa.Integer, comment=comment))
    op.create_index("ix_envelope_request", "envelope", ["request"])
