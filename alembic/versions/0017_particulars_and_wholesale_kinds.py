"""Particulars of messages; domain tables of aggregated series, settlement amounts, price lists, requests to us, parties
and relations of points; powers of a contract, taxes of an invoice, calendar steps of a series."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

PARTS = (("contract", "powers"), ("grid_invoice", "taxes"), ("grid_charge", "taxes"))
"""Columns that keep parts of a message as JSON; what was stored before has none."""

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "particular",
        sa.Column("message_id", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(120), nullable=False, comment="The market's name of the value."),
        sa.Column("value", sa.String(400), nullable=False, comment="Numbers without needless zeros, instants in UTC."),
        sa.PrimaryKeyConstraint("message_id", "name", name="pk_particular"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_particular_message_id"),
        comment="Values of the market that no field has a place for, so that messages are found by them.",
    )
    op.create_index("ix_particular_name_value_message_id", "particular", ["name", "value", "message_id"])
    for table in ("grid_invoice", "calorific_value"):
        op.create_index(f"ix_{table}_message_id", table, ["message_id"])
    for table, column in PARTS:
        op.add_column(table, sa.Column(column, sa.Text(), nullable=False, server_default="[]"))
    op.add_column("series", sa.Column("resolution_months", sa.Integer()))
    op.add_column("series", sa.Column("point_type", sa.String(24)))
    op.add_column("series", sa.Column("registered_at", sa.BigInteger()))
    _let_the_step_be_absent()
    _alone(
        "aggregated_series",
        sa.Column("reason", sa.String(24)),
        sa.Column("end_at", sa.BigInteger(), nullable=False),
        *_step(),
        sa.Column("unit", sa.String(16), nullable=False),
        sa.Column("grid_area", sa.String(64), nullable=False),
        sa.Column("settlement", sa.String(64)),
        sa.Column("version", sa.String(24)),
        sa.Column("point_type", sa.String(24)),
        sa.Column("product", sa.String(64)),
        sa.Column("supplier", sa.String(40)),
        sa.Column("balance_responsible", sa.String(64)),
        sa.Column("positions", sa.Text(), nullable=False),
        searched=("market", "grid_area", "at"),
    )
    _alone(
        "settlement",
        sa.Column("reason", sa.String(24)),
        sa.Column("reference", sa.String(400), nullable=False),
        sa.Column("end_at", sa.BigInteger(), nullable=False),
        *_step(),
        sa.Column("unit", sa.String(16)),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("charge_type", sa.String(24)),
        sa.Column("charge_owner", sa.String(40)),
        sa.Column("charge_code", sa.String(64)),
        sa.Column("grid_area", sa.String(64)),
        sa.Column("supplier", sa.String(40)),
        sa.Column("version", sa.String(24)),
        sa.Column("point_type", sa.String(24)),
        sa.Column("settlement", sa.String(64)),
        sa.Column("total", sa.String(24)),
        sa.Column("positions", sa.Text(), nullable=False),
        searched=("market", "charge_owner", "charge_code", "at"),
    )
    _alone(
        "price_list",
        sa.Column("end_at", sa.BigInteger()),
        *_step(),
        sa.Column("charge_type", sa.String(24), nullable=False),
        sa.Column("charge_owner", sa.String(40), nullable=False),
        sa.Column("charge_code", sa.String(64), nullable=False),
        sa.Column("name", sa.String(400)),
        sa.Column("unit", sa.String(16)),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("taxed", sa.Boolean()),
        sa.Column("passed_on", sa.Boolean()),
        sa.Column("prices", sa.Text(), nullable=False),
        searched=("market", "charge_owner", "charge_code", "at"),
    )
    _of_point(
        "received_request",
        sa.Column("reference", sa.String(400), nullable=False),
        sa.Column("object_code", sa.String(64)),
        sa.Column("requester", sa.String(40)),
        sa.Column("requested_date", sa.String(10)),
        sa.Column("answer_by_at", sa.BigInteger()),
        sa.Column("text", sa.String(400)),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("attachments", sa.Text(), nullable=False),
    )
    _of_point("point_parties", sa.Column("parties", sa.Text(), nullable=False))
    _of_point("point_relations", sa.Column("relations", sa.Text(), nullable=False))


def _step() -> tuple[sa.Column[Any], ...]:
    return sa.Column("resolution", sa.Integer()), sa.Column("resolution_months", sa.Integer())


def _alone(name: str, *columns: sa.Column[Any], searched: tuple[str, ...]) -> None:
    """A table of what belongs to no access point."""
    _domain(name, sa.Column("market", sa.String(2), nullable=False), *columns)
    op.create_index(f"ix_{name}_{'_'.join(searched)}", name, list(searched))
    op.create_index(f"ix_{name}_message_id", name, ["message_id"])


def _of_point(name: str, *columns: sa.Column[Any]) -> None:
    """A table of what belongs to an access point."""
    _domain(name, *columns, point=True)
    op.create_index(f"ix_{name}_access_point_id_at", name, ["access_point_id", "at"])


def _domain(name: str, *columns: sa.Column[Any], point: bool = False) -> None:
    keys = [sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name=f"fk_{name}_message_id")]
    own = []
    if point:
        own = [sa.Column("access_point_id", ID)]
        keys += [sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name=f"fk_{name}_access_point_id")]
    op.create_table(
        name,
        sa.Column("id", ID, autoincrement=False, nullable=False),
        *own,
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("id", name=f"pk_{name}"),
        *keys,
    )
    if op.get_bind().dialect.name != "sqlite":
        op.execute(sa.schema.CreateSequence(sa.Sequence(f"{name}_ids", increment=1000)))


def _let_the_step_be_absent() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        op.alter_column("series", "resolution", existing_type=sa.Integer(), nullable=True)
        return
    # SQLite keeps NOT NULL in the text of the table alone, and documents that it may be taken away there.
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    old, where = "resolution INTEGER NOT NULL", "WHERE type = 'table' AND name = 'series'"
    text = connection.exec_driver_sql(f"SELECT sql FROM sqlite_schema {where}").scalar_one()  # noqa: S608 - constant
    if text.count(old) != 1:
        raise RuntimeError("the table series is not as an earlier version of this program made it")
    change = f"UPDATE sqlite_schema SET sql = replace(sql, ?, ?) {where}"  # noqa: S608 - constant
    connection.exec_driver_sql(change, (old, "resolution INTEGER"))
    connection.exec_driver_sql(f"PRAGMA schema_version = {int(version) + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
