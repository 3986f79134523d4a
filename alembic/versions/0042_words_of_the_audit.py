"""Lines of the audit are found by whom or what they are about; those of before too."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis.auditchain import words_of

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
PIECE = 5_000


def upgrade() -> None:
    """Add the table, and fill it from the lines that there are."""
    made = op.create_table(
        "audit_word",
        sa.Column("word", sa.String(60), primary_key=True, comment="In small letters: an identifier, or `message 17`."),
        sa.Column("audit_id", Id, primary_key=True, autoincrement=False),
        comment="Of whom or what lines of the audit are: found by it, and no part of the chain.",
    )
    connection, last = op.get_bind(), -1
    lines = sa.text("SELECT id, subject FROM audit WHERE id > :last ORDER BY id LIMIT :piece")
    while rows := connection.execute(lines, {"last": last, "piece": PIECE}).all():
        words = [{"word": word, "audit_id": number} for number, subject in rows for word in words_of(subject)]
        if words:
            connection.execute(sa.insert(made), words)
        last = rows[-1][0]
