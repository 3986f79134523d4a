"""The audit as a chain: lines that were written before are chained in the order of their time."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import triggers
from energycomm.eis.auditchain import BEGINNING, CONTENT, hashed

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

PIECE = 5_000


def upgrade() -> None:
    """Add the columns and the head, chain what is there, and seal it."""
    op.add_column("audit", sa.Column("position", sa.BigInteger(), nullable=True))
    op.add_column("audit", sa.Column("previous", sa.LargeBinary(length=32), nullable=True))
    op.add_column("audit", sa.Column("hash", sa.LargeBinary(length=32), nullable=True))
    op.create_table(
        "audit_head",
        sa.Column("one", sa.SmallInteger(), autoincrement=False, nullable=False, comment="1: there is one row."),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("one", name="pk_audit_head"),
        comment="The last line of the audit; locked by whoever appends one.",
    )
    position, last = _chain(op.get_bind())
    comments = {
        "position": "1, 2, 3, ... in the order of writing.",
        "previous": "Hash of the line before.",
        "hash": "SHA-256 of `previous` and the content.",
    }
    with op.batch_alter_table("audit") as audit:
        for name, comment in comments.items():
            kind = sa.BigInteger() if name == "position" else sa.LargeBinary(32)
            audit.alter_column(name, existing_type=kind, nullable=False, comment=comment)
        words = "HTTP status that was answered; 0: a command."
        audit.alter_column("status", existing_type=sa.SmallInteger(), existing_nullable=False, comment=words)
    if op.get_bind().dialect.name == "postgresql":
        words = "Every read of personal data and every change that a person made; a chain, only ever appended to."
        op.create_table_comment("audit", words)
    op.create_index("ix_audit_position", "audit", ["position"], unique=True)
    triggers.seal_audit(op.get_bind(), position, last)


def _chain(connection: sa.Connection) -> tuple[int, bytes]:
    """Give every line its place and hash; the last of them."""
    columns = ", ".join(CONTENT)
    piece = sa.text(
        f"SELECT {columns} FROM audit WHERE at > :at OR (at = :at AND id > :id) "  # noqa: S608 - names of our own
        "ORDER BY at, id LIMIT :piece"
    )
    change = sa.text("UPDATE audit SET position = :position, previous = :previous, hash = :hash WHERE id = :id")
    position, last, at, number = 0, BEGINNING, -(1 << 62), 0
    while rows := connection.execute(piece, {"at": at, "id": number, "piece": PIECE}).all():
        changes = []
        for row in rows:
            previous, last, position = last, hashed(last, row), position + 1
            changes.append({"id": row.id, "position": position, "previous": previous, "hash": last})
        connection.execute(change, changes)
        at, number = rows[-1].at, rows[-1].id
    return position, last
