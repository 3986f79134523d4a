"""The index that a search goes by on PostgreSQL is taken for searches alone, not for lookups by a whole value."""

from __future__ import annotations

from alembic import op
from energycomm.eis import findable

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index anew, of the text of each column."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        findable.install_of(connection, findable.FINDABLE.values())
