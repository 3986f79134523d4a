"""What models say of Kernel messages beside the rules."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of predictions."""
    op.create_table(
        "prediction",
        sa.Column("message_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False, comment="Name and version."),
        sa.Column("rules", sa.String(length=64), nullable=False, comment="Version of the rules that it learned from."),
        sa.Column("codes", sa.Text(), nullable=False, comment="Error codes it expects, sorted; empty for accepted."),
        sa.Column("probability", sa.Integer(), nullable=False, comment="In millionths."),
        sa.Column("abstained", sa.Boolean(), nullable=False),
        sa.Column(
            "agrees",
            sa.Boolean(),
            nullable=True,
            comment="With the verdict; none where there was none, or it abstained.",
        ),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_prediction_message_id"),
        sa.PrimaryKeyConstraint("message_id", "model", name="pk_prediction"),
        comment="A second opinion that decides nothing; another process writes it.",
    )
    op.create_index("ix_prediction_agrees_probability", "prediction", ["agrees", "probability"], unique=False)
    op.create_index("ix_prediction_model_message_id", "prediction", ["model", "message_id"], unique=False)
