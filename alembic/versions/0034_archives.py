"""Archives of settled measures: what left the store, for which files, and what its access points lack since."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import triggers

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, and the trigger that counts findings which leave."""
    connection = op.get_bind()
    op.create_table(
        "archive",
        sa.Column("id", Id, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(40), nullable=False, unique=True),
        sa.Column("before", sa.BigInteger, nullable=False, comment="What arrived before this instant was looked at."),
        sa.Column("folder", sa.String(400), nullable=False, comment="Where its files were written."),
        sa.Column("revision", sa.String(32), nullable=False, comment="Of the tables when it was written."),
        sa.Column("by", sa.String(120), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("upto_point", sa.BigInteger, nullable=False, comment="Access points up to this one were looked at."),
        sa.Column("written_at", sa.BigInteger, comment="When its last file was written; none while it is under way."),
        comment="What left the store for files, month by month.",
    )
    op.create_table(
        "archive_piece",
        sa.Column("archive_id", Id, sa.ForeignKey("archive.id"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("what", sa.String(8), nullable=False, comment="messages, raw"),
        sa.Column("away", sa.Boolean, nullable=False, comment="Its rows are in the files alone."),
        sa.Column("rows", sa.BigInteger, nullable=False, comment="Messages, or envelopes."),
        sa.Column("first_id", sa.BigInteger, nullable=False, comment="The least of them."),
        sa.Column("last_id", sa.BigInteger, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False, comment="The earliest effective instant, or arrival."),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("files", sa.Text, nullable=False, comment="JSON: file -> its table, rows, bytes and SHA-256."),
        comment="The files of one transaction: all of them came to be with its commit, or none counts.",
    )
    op.create_table(
        "archived_point",
        sa.Column("access_point_id", Id, sa.ForeignKey("access_point.id"), primary_key=True, autoincrement=False),
        sa.Column("archive_id", Id, sa.ForeignKey("archive.id"), primary_key=True, autoincrement=False),
        sa.Column("piece", sa.Integer, nullable=False),
        sa.Column("upto", sa.BigInteger, nullable=False, comment="There is a checkpoint at this instant."),
        comment="Access points some of whose messages before an instant are in an archive, or were removed.",
    )
    op.create_index("ix_archived_point_archive_id_piece", "archived_point", ["archive_id", "piece"])
    op.add_column("raw", sa.Column("archive_id", sa.BigInteger, comment="The archive that holds its bytes."))
    if connection.dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("archive_ids", increment=1000)))
        # No index serves it: each message that leaves would walk the table.
        for key in sa.inspect(connection).get_foreign_keys("supply_period"):
            if key["constrained_columns"] == ["end_message_id"]:
                op.drop_constraint(str(key["name"]), "supply_period", type_="foreignkey")
    triggers.install(connection)
