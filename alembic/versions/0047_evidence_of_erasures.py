"""Why customers were erased, and the evidence of each run that took something out of the store."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the reason of an order, and the table of evidence."""
    op.add_column("erasure", sa.Column("reason", sa.String(30), comment="Why, by the article of the law; a word."))
    op.create_table(
        "erasure_evidence",
        sa.Column("id", Id, primary_key=True, autoincrement=False),
        sa.Column("erasure_id", Id, sa.ForeignKey("erasure.id"), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("by", sa.String(120), nullable=False),
        sa.Column("via", sa.String(140), nullable=False, comment="How they came: a session, a token, a command."),
        sa.Column("done", sa.Boolean, nullable=False, comment="Whether nothing was left to be done."),
        sa.Column("counts", sa.Text, nullable=False, comment="JSON: place -> how many values this run took out there."),
        sa.Column("kept", sa.Text, nullable=False, comment="JSON: what stayed, why, by which law, until when."),
        sa.Column(
            "order_hash", sa.LargeBinary(32), nullable=False, comment="SHA-256 of the order, as the evidence shows it."
        ),
        comment="Evidence of erasures: a row for each run that took something out. No names.",
    )
    op.create_index("ix_erasure_evidence_erasure_id", "erasure_evidence", ["erasure_id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("erasure_evidence_ids", increment=1000)))
