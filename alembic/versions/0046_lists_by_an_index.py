"""Lists of envelopes are sorted by an index."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

LISTS = "messages, tickets, requests, envelopes"


def upgrade() -> None:
    """Make the indexes; that of states takes in the number."""
    op.create_index("ix_envelope_state_id", "envelope", ["state", "id"])
    op.create_index("ix_envelope_name_id", "envelope", ["name", "id"])
    op.create_index("ix_envelope_state_name_id", "envelope", ["state", "name", "id"])
    op.drop_index("ix_envelope_state", "envelope")
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("saved_view", "list", existing_type=sa.String(40), comment=LISTS)
