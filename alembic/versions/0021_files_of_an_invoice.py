"""A grid invoice is made of several files, each a row; a charge keeps its gross total, the spans of its parts and the
powers that it was computed with. What was stored before is of general files."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

AMOUNT = sa.String(24)

INVOICE = (
    sa.Column("part", sa.String(24), nullable=False, server_default="general"),
    sa.Column("due", sa.String(10)),
    sa.Column("tax", AMOUNT),
    sa.Column("gross", AMOUNT),
)

CHARGE = (
    sa.Column("gross", AMOUNT),
    sa.Column("fixed_start", sa.String(10)),
    sa.Column("fixed_end", sa.String(10)),
    sa.Column("variable_start", sa.String(10)),
    sa.Column("variable_end", sa.String(10)),
    sa.Column("segment", sa.String(40)),
    sa.Column("tariff", sa.String(64)),
    sa.Column("powers", sa.Text(), nullable=False, server_default="[]"),
    sa.Column("original_invoice", sa.String(64)),
)


def upgrade() -> None:
    """Add the columns."""
    for column in INVOICE:
        op.add_column("grid_invoice", column)
    for column in CHARGE:
        op.add_column("grid_charge", column)
