"""Customers that were erased, and what was changed for them."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the table, and the columns that say what was changed."""
    op.create_table(
        "erasure",
        sa.Column("id", Id, primary_key=True, autoincrement=False),
        sa.Column("market", sa.String(2), nullable=False),
        sa.Column("access_point", sa.String(40), nullable=False),
        sa.Column(
            "since", sa.BigInteger, nullable=False, comment="The customer was there from this instant on; 0: ever."
        ),
        sa.Column("until", sa.BigInteger, nullable=False, comment="And not at this instant any more."),
        sa.Column("ordered_at", sa.BigInteger, nullable=False),
        sa.Column("by", sa.String(120), nullable=False),
        sa.Column("reference", sa.String(120), nullable=False, comment="Number of the case in the officer's register."),
        sa.Column("done_at", sa.BigInteger, comment="When nothing was left to be done; none while something is."),
        sa.Column("wiped_at", sa.BigInteger, comment="When the files of the database were written anew after it."),
        sa.Column("counts", sa.Text, nullable=False, comment="JSON: place -> how many values were taken out there."),
        sa.Column("kept", sa.Text, nullable=False, comment="JSON: what stays for a time -> until when, or why."),
        comment="Customers that were erased: standing orders, which hold for what arrives or comes back later. "
        "No names.",
    )
    op.create_index("ix_erasure_access_point", "erasure", ["access_point"])
    op.add_column(
        "kernel_message",
        sa.Column("erased_at", sa.BigInteger, comment="When what it told of the customer was taken out."),
    )
    op.add_column(
        "raw",
        sa.Column(
            "erased_at",
            sa.BigInteger,
            comment="When a customer was taken out: the bytes have another SHA-256 since.",
        ),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("erasure_ids", increment=1000)))
