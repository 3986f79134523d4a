"""Tallies of messages and findings, kept by triggers, and the index that lists walk."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import triggers

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, count what is there, and keep the counts from now on."""
    op.create_table(
        "message_tally",
        sa.Column(
            "hour", sa.BigInteger(), nullable=False, comment="Of arrival, hours since 1970; -1: since the beginning."
        ),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("market_type", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("writer", sa.BigInteger(), nullable=False, comment="0: settled; else the transaction that wrote it."),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "market", "market_type", "kind", "state", "writer", name="pk_message_tally"),
        comment="How many Kernel messages there are, kept by triggers; rows of one key are to be added up.",
    )
    op.create_table(
        "finding_tally",
        sa.Column("what", sa.String(length=4), nullable=False, comment="code, rule"),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("writer", sa.BigInteger(), nullable=False, comment="0: settled; else the transaction that wrote it."),
        sa.Column("messages", sa.BigInteger(), nullable=False, comment="Messages that an error of it holds for now."),
        sa.Column("occurrences", sa.BigInteger(), nullable=False, comment="Findings of severity error that hold now."),
        sa.Column(
            "ever", sa.BigInteger(), nullable=False, comment="All findings, of former verdicts and warnings too."
        ),
        sa.PrimaryKeyConstraint("what", "name", "writer", name="pk_finding_tally"),
        comment="How often a code or a rule was found, kept by triggers; rows of one key are to be added up.",
    )
    op.drop_index("ix_kernel_message_market_type", table_name="kernel_message")
    columns = ["market", "market_type", "kind", "state", "received_at", "id"]
    op.create_index("ix_kernel_message_combination", "kernel_message", columns, unique=False)
    # What is put into these statements stands in this file and in `triggers`.
    for hour in (f"received_at / {triggers.HOUR}", str(triggers.ALL_TIME)):
        op.execute(
            "INSERT INTO message_tally (hour, market, market_type, kind, state, writer, messages) "  # noqa: S608
            f"SELECT {hour}, market, market_type, kind, state, 0, count(*) FROM kernel_message GROUP BY 1, 2, 3, 4, 5"
        )
    for what, column in (("code", "error_code"), ("rule", "rule")):
        held = "CASE WHEN \"current\" AND severity = 'error' THEN {} END"
        op.execute(
            "INSERT INTO finding_tally (what, name, writer, messages, occurrences, ever) "  # noqa: S608
            f"SELECT '{what}', {column}, 0, count(DISTINCT {held.format('message_id')}), count({held.format('1')}), "
            "count(*) FROM finding GROUP BY 2"
        )
    triggers.install(op.get_bind())
