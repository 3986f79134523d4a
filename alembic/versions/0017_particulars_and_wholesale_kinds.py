"""Particulars of messages, and the domain tables of aggregates, settlement, prices, parties and relations."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "particular",
        sa.Column("message_id", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(120), nullable=False, comment="The market's name of the value."),
        sa.Column(
            "value", sa.String(400), nullable=False, comment="Numbers without needless zeros, instants in UTC."
        ),
        sa.PrimaryKeyConstraint("message_id", "name", name="pk_particular"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_particular_message_id"),
        comment="Values of the market that no field has a place for, so that messages are found by them.",
    )
    op.create_index("ix_particular_name_value_message_id", "particular", ["name", "value", "message_id"])
