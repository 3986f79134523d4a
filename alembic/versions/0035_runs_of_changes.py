"""Rows that are made together are one line of the log of changes; SQLite counts and logs them at once."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog, triggers

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

COMMENT = "Rows made together, by following ids."


def upgrade() -> None:
    """Add the length of a run, and make the triggers anew."""
    op.add_column("change_log", sa.Column("run", sa.Integer(), nullable=False, server_default="1", comment=COMMENT))
    triggers.install(op.get_bind())
    changelog.install(op.get_bind())
