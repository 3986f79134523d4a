"""The data keys that raw bytes and Kernel XML may be encrypted under."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables; what is stored stays as it is, in plain."""
    op.create_table(
        "data_key",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column(
            "label", sa.String(length=80), nullable=False, comment="Key of the key ring that it is wrapped with."
        ),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False, comment="The key, encrypted."),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("wrapped_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_data_key"),
        comment="Keys that columns are encrypted under; none is ever removed, a backup may need it.",
    )
    op.create_table(
        "at_rest",
        sa.Column("what", sa.String(length=8), nullable=False, comment="store"),
        sa.Column("data_key", sa.Integer(), nullable=True, comment="What new rows are encrypted under."),
        sa.ForeignKeyConstraint(["data_key"], ["data_key.number"], name="fk_at_rest_data_key_data_key"),
        sa.PrimaryKeyConstraint("what", name="pk_at_rest"),
        comment="One row. Who stores what is to be encrypted locks it, so that no one writes under a key of before.",
    )
    op.execute("INSERT INTO at_rest (what) VALUES ('store')")
