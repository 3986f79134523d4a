"""Customers are found by telephone, e-mail address and register number."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import findable

revision = "0048"
down_revision = "0046"
branch_labels = None
depends_on = None

WORDS = "Keyed hashes of name and contacts, spaces between."
TABLE = "The index of customers' names and contacts, which holds none (energycomm.eis.nameindex)."


def upgrade() -> None:
    """Words go with a former contact too; say up to which customer contacts are still to be put in."""
    op.execute("DELETE FROM name_gap")
    op.execute("INSERT INTO name_gap (one, upto, target) SELECT 1, 0, max(id) FROM customer HAVING max(id) IS NOT NULL")
    findable.follow(op.get_bind())
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("customer_words", "words", existing_type=sa.Text(), comment=WORDS)
        op.create_table_comment("customer_words", TABLE)
