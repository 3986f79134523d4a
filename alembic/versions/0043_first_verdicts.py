"""A message that was accepted as it arrived says so itself; what is stored together is logged by who stores it."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

COMMENT = "The rules (rules_version) that accepted it as it arrived, without a finding; none of state_change."
CHANGES = "Every change of state, never overwritten; those of kernel_message.accepted_under have no row."


def upgrade() -> None:
    """Add the column, and make the triggers anew. What is stored keeps its rows: both forms are read."""
    op.add_column("kernel_message", sa.Column("accepted_under", sa.Integer(), nullable=True, comment=COMMENT))
    if op.get_bind().dialect.name == "postgresql":
        op.create_table_comment("state_change", CHANGES)
    changelog.install(op.get_bind())
