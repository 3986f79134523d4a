"""Customers are found by telephone, e-mail address and register number; rhythms of measures are kept; orders by an
index."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import findable

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
WORDS = "Keyed hashes of name and contacts, spaces between."
TABLE = "The index of customers' names and contacts, which holds none (energycomm.eis.nameindex)."


def upgrade() -> None:
    """Words go with a former contact too; say up to which customer contacts are still to be put in, and that every
    rhythm is to be worked out."""
    _rhythms()
    ordered = sa.text("request IS NOT NULL AND duplicate_of IS NULL")
    op.create_index("ix_envelope_ordered", "envelope", ["received_at"], postgresql_where=ordered, sqlite_where=ordered)
    op.execute("DELETE FROM name_gap")
    op.execute("INSERT INTO name_gap (one, upto, target) SELECT 1, 0, max(id) FROM customer HAVING max(id) IS NOT NULL")
    findable.follow(op.get_bind())
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("customer_words", "words", existing_type=sa.Text(), comment=WORDS)
        op.create_table_comment("customer_words", TABLE)


def _rhythms() -> None:
    op.create_table(
        "rhythm",
        sa.Column("access_point_id", Id, sa.ForeignKey("access_point.id"), primary_key=True, autoincrement=False),
        sa.Column("market", sa.String(2), nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False, comment="When its supply began."),
        sa.Column("latest", sa.BigInteger, comment="The latest instant that measures tell of."),
        sa.Column("every", sa.Integer, nullable=False, comment="Days between its measures; 0 while nothing tells."),
        sa.Column(
            "running", sa.SmallInteger, nullable=False, comment="1: measures are to come; 0: not any more; 2: not yet."
        ),
        sa.Column(
            "place",
            sa.BigInteger,
            nullable=False,
            comment="From when it misses measures; 0: days missed, with a minus.",
        ),
        sa.Column("holds_from", sa.BigInteger, nullable=False),
        sa.Column("holds_until", sa.BigInteger, nullable=False, comment="It is to be worked out anew then."),
        comment="The rhythm of the measures of supplied access points (energycomm.eis.overdue).",
    )
    op.create_index("ix_rhythm_place", "rhythm", ["running", "market", "every", "place"])
    op.create_index("ix_rhythm_holds_from", "rhythm", ["holds_from"])
    op.create_index("ix_rhythm_holds_until", "rhythm", ["holds_until"])
    op.create_table(
        "rhythm_stale",
        sa.Column("access_point_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column(
            "writer", sa.BigInteger, primary_key=True, autoincrement=False, comment="The transaction; SQLite: 0."
        ),
        comment="Access points whose rhythm is to be worked out anew.",
    )
    op.create_table(
        "rhythm_head",
        sa.Column("one", sa.SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
        sa.Column(
            "notices", sa.Text, nullable=False, comment="Types of messages that tell which services stopped, by market."
        ),
        comment="What rhythms were worked out with; locked by whoever does so.",
    )
    op.execute("INSERT INTO rhythm_head (one, notices) VALUES (1, '?')")
