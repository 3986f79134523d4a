"""The index of what people search for: trigrams of identifiers and references, keyed hashes of names."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import findable

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

OWN_REFERENCE = "(access_point IS NULL OR substr(reference, 1, length(access_point)) <> access_point)"
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, index what is there, and say up to which customer names are still to be put in."""
    op.create_table(
        "name_key",
        sa.Column("one", sa.SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row."),
        sa.Column("secret", sa.LargeBinary, nullable=False, comment="What words of names are hashed under."),
        comment="The key of the index of customers' names; made with the first of them.",
    )
    op.create_table(
        "name_gap",
        sa.Column(
            "one", sa.SmallInteger, primary_key=True, autoincrement=False, comment="1: there is one row, or none."
        ),
        sa.Column("upto", sa.BigInteger, nullable=False, comment="Customers up to this number are in the index."),
        sa.Column(
            "target", sa.BigInteger, nullable=False, comment="The last that was stored before there was an index."
        ),
        comment="How far the names of a store of before are in the index; none when all are.",
    )
    op.create_table(
        "customer_words",
        sa.Column(
            "customer_id", Id, primary_key=True, autoincrement=False, comment="customer; triggers delete it with that."
        ),
        sa.Column("words", sa.Text, nullable=False, comment="Keyed hashes of words of the name, with spaces between."),
        comment="The index of customers' names, which holds none (energycomm.eis.nameindex).",
    )
    op.create_index(
        "ix_ch_message_reference",
        "ch_message",
        ["reference"],
        postgresql_where=sa.text(OWN_REFERENCE),
        sqlite_where=sa.text(OWN_REFERENCE),
        postgresql_ops={"reference": "varchar_pattern_ops"},
    )
    op.execute(
        "INSERT INTO name_gap (one, upto, target) SELECT 1, 0, max(id) FROM customer WHERE name IS NOT NULL "
        "HAVING max(id) IS NOT NULL"
    )
    findable.install(op.get_bind())
