"""Workers claim envelopes in groups: a claim names its holder, and envelopes that wait have an index of their own."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

WAITING = sa.text("state IN ('archived', 'processing')")
COMMENT = "The worker that has claimed it; its claim ends with its lock."
HELD = sa.text("holder IS NOT NULL")


def upgrade() -> None:
    """Add the column and the indexes."""
    op.add_column("envelope", sa.Column("holder", sa.BigInteger, comment=COMMENT))
    op.create_index("ix_envelope_waiting", "envelope", ["id"], postgresql_where=WAITING, sqlite_where=WAITING)
    op.create_index("ix_envelope_holder", "envelope", ["holder"], postgresql_where=HELD, sqlite_where=HELD)
