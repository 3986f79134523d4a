"""What is kept whole (raw bytes, Kernel XML, requests, former rows) is written compressed from now on.

No row is touched: each value says in which form it is, and `energycomm eis compact` writes the former ones anew. The
revision keeps earlier programs off, which do not know the form. PostgreSQL no longer tries to compress such bytes
again, and leaves room in the pages of access points for their next states.
"""

from __future__ import annotations

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Settings of PostgreSQL; nothing on SQLite."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE raw_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE kernel_message ALTER COLUMN xml SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE access_point SET (fillfactor = 50)")
