"""Indexes and references that no query needs are gone; each table of the hot path has as few as it can.

`state_change` has one index instead of two. Messages in their final states are left out of the index of states, and CH
messages with Kernel messages out of that of access points. PostgreSQL no longer checks, row by row, references to what
the same transaction made. Parts of messages are written as arrays from now on; each value says in which form it is,
and `energycomm eis compact` writes the former ones anew.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import changelog, triggers

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

OPEN = sa.text("state NOT IN ('accepted', 'treated')")
REFUSED = sa.text("outcome = 'refused'")

MADE_TOGETHER = {
    "ch_message": ("envelope_id", "member_id"),
    "ch_duplicate": ("envelope_id", "member_id", "first_id"),
    "kernel_message": ("ch_message_id", "access_point_id"),
    "state_change": ("message_id", "rules_version_id"),
    "finding": ("message_id", "change_id"),
    "outbox": ("message_id",),
    "particular": ("message_id",),
    "invoice_message": ("message_id",),
    **dict.fromkeys(
        (
            "supply_period",
            "contract",
            "point_data",
            "customer",
            "meter",
            "reading",
            "volume",
            "series",
            "grid_charge",
            "request",
            "received_request",
            "point_parties",
            "point_relations",
        ),
        ("access_point_id", "message_id"),
    ),
    **dict.fromkeys(
        ("aggregated_series", "grid_invoice", "settlement", "price_list", "calorific_value"), ("message_id",)
    ),
}
"""Table -> columns whose references are not checked any more."""


def upgrade() -> None:
    """Change keys, references and indexes; SQLite makes the tables of changes of state and of findings anew."""
    op.drop_index("ix_ch_message_access_point", "ch_message")
    op.create_index(
        "ix_ch_message_refused", "ch_message", ["access_point"], postgresql_where=REFUSED, sqlite_where=REFUSED
    )
    op.drop_index("ix_kernel_message_state_id", "kernel_message")
    op.create_index(
        "ix_kernel_message_open", "kernel_message", ["state", "id"], postgresql_where=OPEN, sqlite_where=OPEN
    )
    op.drop_index("ix_state_change_message_id", "state_change")
    words = "1: triggers of SQLite log nothing."
    quiet = sa.Column("quiet", sa.SmallInteger(), nullable=False, server_default="0", comment=words)
    op.add_column("change_head", quiet)
    if op.get_bind().dialect.name == "postgresql":
        known = sa.inspect(op.get_bind())
        for table, columns in MADE_TOGETHER.items():
            for key in known.get_foreign_keys(table):  # not all were named by one rule
                if set(key["constrained_columns"]).intersection(columns):
                    op.drop_constraint(str(key["name"]), table, type_="foreignkey")
        op.drop_constraint("pk_state_change", "state_change", type_="primary")
        op.create_primary_key("pk_state_change", "state_change", ["message_id", "id"])
    else:
        _anew("state_change", *_changes(), sqlite_with_rowid=False)
        _anew("finding", *_findings())
        op.create_index("ix_finding_message_id", "finding", ["message_id"])
        op.create_index("ix_finding_error_code_current_message_id", "finding", ["error_code", "current", "message_id"])
        triggers.install(op.get_bind())
    changelog.install(op.get_bind())


def _anew(table: str, *content: sa.schema.SchemaItem, **settings: bool) -> None:
    """Copy a table into one of another make; its indexes and triggers are gone."""
    new = f"new_{table}"
    op.create_table(new, *content, **settings)
    names = ", ".join(f'"{one.name}"' for one in content if isinstance(one, sa.Column))
    op.execute(f"INSERT INTO {new} ({names}) SELECT {names} FROM {table}")  # noqa: S608 - names of our own
    op.drop_table(table)
    op.rename_table(new, table)


def _changes() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("before", sa.String(12)),
        sa.Column("after", sa.String(12), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(120), nullable=False),
        sa.Column("rules_version_id", sa.Integer()),
        sa.Column("why", sa.String(400)),
        sa.PrimaryKeyConstraint("message_id", "id", name="pk_state_change"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_state_change_message_id"),
        sa.ForeignKeyConstraint(["rules_version_id"], ["rules_version.id"], name="fk_state_change_rules_version_id"),
    ]


def _findings() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("change_id", sa.Integer(), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("error_code", sa.String(20), nullable=False),
        sa.Column("rule", sa.String(120), nullable=False),
        sa.Column("severity", sa.String(8), nullable=False),
        sa.Column("error_class", sa.String(24), nullable=False),
        sa.Column("field", sa.String(120), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("comment_fr", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_finding"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_finding_message_id"),
    ]
