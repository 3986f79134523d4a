"""Which request an envelope answers, and the calorific values of gas."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column and the table."""
    comment = "The request (outgoing) on whose call it was received."
    op.add_column("envelope", sa.Column("answers", sa.BigInteger(), nullable=True, comment=comment))
    op.create_table(
        "calorific_value",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False, comment="Start of the month."),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("station", sa.String(length=64), nullable=False, comment="EAN-GSRN of the receiving station."),
        sa.Column("name", sa.String(length=400)),
        sa.Column("month", sa.String(length=7), nullable=False, comment="YYYY-MM"),
        sa.Column("value", sa.String(length=24), comment="kWh/m3(n); nothing where none is published."),
        sa.ForeignKeyConstraint(
            ["message_id"], ["kernel_message.id"], name="fk_calorific_value_message_id_kernel_message"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_calorific_value"),
    )
    op.create_index("ix_calorific_value_station_month", "calorific_value", ["station", "month"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("calorific_value_ids", increment=1000)))
