"""A store knows which supplier of an installation it belongs to."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; it stays empty where there is one supplier alone."""
    op.create_table(
        "store_owner",
        sa.Column(
            "one", sa.SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row, or none."
        ),
        sa.Column("supplier", sa.String(30), nullable=False, comment="Name of the supplier in the configuration."),
        comment="Whose store this is in an installation of several suppliers; none where there is one alone.",
    )
