"""References of the market are found by any part, and meters that only readings name."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import findable

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the table of named meters, which the next readings fill, and both indexes of searches."""
    op.create_table(
        "named_meter",
        sa.Column("id", Id, primary_key=True, autoincrement=False),
        sa.Column("access_point_id", Id, sa.ForeignKey("access_point.id"), nullable=False),
        sa.Column("serial", sa.String(64), nullable=False),
        sa.UniqueConstraint("access_point_id", "serial"),
        comment="Meters that readings name, whatever became of the readings; by them their points are found.",
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("named_meter_ids", increment=1000)))
    op.drop_index("ix_ch_message_reference", "ch_message")
    findable.install_of(op.get_bind(), [findable.FINDABLE["named_meter"], findable.FINDABLE["ch_message"]])
