"""References that begin with their access point are found by what they tell beside it."""

from __future__ import annotations

from alembic import op
from energycomm.eis import findable

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index of references anew, with the part that tells more than a point and its days."""
    findable.install_of(op.get_bind(), [findable.FINDABLE["ch_message"]])
