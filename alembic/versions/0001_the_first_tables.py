"""The first tables, and the sequences of their ids on PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "access_point",
    "before_image",
    "ch_duplicate",
    "ch_message",
    "contract",
    "customer",
    "envelope",
    "finding",
    "grid_charge",
    "grid_invoice",
    "incident",
    "kernel_message",
    "member",
    "meter",
    "outbox",
    "point_data",
    "reading",
    "request",
    "rules_version",
    "series",
    "state_change",
    "supply_period",
    "volume",
)
"""Tables whose rows have ids."""

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    arrived()
    judged()
    known()
    sequences()


def arrived() -> None:
    """What arrived: envelopes, members, CH messages."""
    op.create_table(
        "id_counter",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("next", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_id_counter"),
        comment="Next id of each table on SQLite; PostgreSQL has sequences.",
    )
    op.create_table(
        "raw",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_raw"),
        comment="Content of an envelope, once per content.",
    )
    op.create_table(
        "envelope",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.String(length=40), nullable=False),
        sa.Column("market", sa.String(length=2), nullable=True),
        sa.Column(
            "state", sa.String(length=12), nullable=False, comment="archived, processing, done, failed, duplicate"
        ),
        sa.Column("duplicate_of", ID, nullable=True),
        sa.Column("key_label", sa.String(length=80), nullable=True, comment="Label of the key that opened it."),
        sa.Column("series_key", sa.String(length=200), nullable=True),
        sa.Column("series_number", sa.Integer(), nullable=True),
        sa.Column("series_stamp", sa.String(length=20), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["duplicate_of"], ["envelope.id"], name="fk_envelope_duplicate_of"),
        sa.ForeignKeyConstraint(["sha256"], ["raw.sha256"], name="fk_envelope_sha256"),
        sa.PrimaryKeyConstraint("id", name="pk_envelope"),
    )
    op.create_index("ix_envelope_received_at", "envelope", ["received_at"], unique=False)
    op.create_index("ix_envelope_series_key_received_at", "envelope", ["series_key", "received_at"], unique=False)
    op.create_index("ix_envelope_sha256", "envelope", ["sha256"], unique=False)
    op.create_index("ix_envelope_state", "envelope", ["state"], unique=False)
    op.create_table(
        "raw_chunk",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["raw.sha256"], name="fk_raw_chunk_sha256"),
        sa.PrimaryKeyConstraint("sha256", "number", name="pk_raw_chunk"),
        comment="The bytes as they arrived, in pieces of at most 1 MiB.",
    )
    op.create_table(
        "member",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("envelope_id", ID, nullable=False),
        sa.Column("path", sa.String(length=600), nullable=False, comment="Path inside the envelope: a.zip/b.xml."),
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=True),
        sa.Column("declared_version", sa.String(length=40), nullable=True),
        sa.Column("version", sa.String(length=40), nullable=True),
        sa.Column("sender", sa.String(length=40), nullable=True),
        sa.Column("receiver", sa.String(length=40), nullable=True),
        sa.Column("state", sa.String(length=12), nullable=False, comment="processing, done, refused, duplicate"),
        sa.Column("duplicate_of", ID, nullable=True),
        sa.Column("committed", sa.Integer(), nullable=False, comment="Transactions that are stored."),
        sa.Column("transactions", sa.Integer(), nullable=True, comment="Transactions it held, known at its end."),
        sa.ForeignKeyConstraint(["duplicate_of"], ["member.id"], name="fk_member_duplicate_of"),
        sa.ForeignKeyConstraint(["envelope_id"], ["envelope.id"], name="fk_member_envelope_id"),
        sa.PrimaryKeyConstraint("id", name="pk_member"),
        sa.UniqueConstraint("envelope_id", "path", name="uq_member_envelope_id_path"),
    )
    op.create_index("ix_member_sha256", "member", ["sha256"], unique=False)
    op.create_table(
        "ch_message",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("envelope_id", ID, nullable=False),
        sa.Column("member_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=True),
        sa.Column("sender", sa.String(length=40), nullable=True),
        sa.Column("reference", sa.String(length=400), nullable=False),
        sa.Column("access_point", sa.String(length=40), nullable=True),
        sa.Column(
            "identity",
            sa.LargeBinary(length=16),
            nullable=False,
            comment="Equal for equal market, sender, reference and content.",
        ),
        sa.Column("outcome", sa.String(length=10), nullable=False, comment="digested, refused"),
        sa.ForeignKeyConstraint(["envelope_id"], ["envelope.id"], name="fk_ch_message_envelope_id"),
        sa.ForeignKeyConstraint(["member_id"], ["member.id"], name="fk_ch_message_member_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ch_message"),
        sa.UniqueConstraint("identity", name="uq_ch_message_identity"),
    )
    op.create_index("ix_ch_message_access_point", "ch_message", ["access_point"], unique=False)
    op.create_index("ix_ch_message_envelope_id", "ch_message", ["envelope_id"], unique=False)
    op.create_table(
        "ch_duplicate",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("envelope_id", ID, nullable=False),
        sa.Column("member_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("first_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["envelope_id"], ["envelope.id"], name="fk_ch_duplicate_envelope_id"),
        sa.ForeignKeyConstraint(["first_id"], ["ch_message.id"], name="fk_ch_duplicate_first_id"),
        sa.ForeignKeyConstraint(["member_id"], ["member.id"], name="fk_ch_duplicate_member_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ch_duplicate"),
        sa.UniqueConstraint("member_id", "position", name="uq_ch_duplicate_member_id_position"),
        comment="A CH message that had arrived before; nothing else happened.",
    )
    op.create_index("ix_ch_duplicate_first_id", "ch_duplicate", ["first_id"], unique=False)
    op.create_table(
        "incident",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("envelope_id", ID, nullable=True),
        sa.Column("member_id", ID, nullable=True),
        sa.Column("ch_message_id", ID, nullable=True),
        sa.Column("code", sa.String(length=40), nullable=False),
        sa.Column("severity", sa.String(length=8), nullable=False, comment="error, note"),
        sa.Column("path", sa.String(length=600), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("advice", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["ch_message_id"], ["ch_message.id"], name="fk_incident_ch_message_id"),
        sa.ForeignKeyConstraint(["envelope_id"], ["envelope.id"], name="fk_incident_envelope_id"),
        sa.ForeignKeyConstraint(["member_id"], ["member.id"], name="fk_incident_member_id"),
        sa.PrimaryKeyConstraint("id", name="pk_incident"),
        comment="Refusals, gaps, and what was noticed and did no harm.",
    )
    op.create_index("ix_incident_ch_message_id", "incident", ["ch_message_id"], unique=False)
    op.create_index("ix_incident_code_at", "incident", ["code", "at"], unique=False)
    op.create_index("ix_incident_envelope_id", "incident", ["envelope_id"], unique=False)


def judged() -> None:
    """What the Kernel made of it."""
    op.create_table(
        "access_point",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("identifier", sa.String(length=40), nullable=False),
        sa.Column(
            "last_at", sa.BigInteger(), nullable=False, comment="Effective instant of the last message that was judged."
        ),
        sa.Column("state", sa.LargeBinary(), nullable=False, comment="What the next message is judged against."),
        sa.Column("messages", sa.Integer(), nullable=False, comment="Messages judged since the last checkpoint."),
        sa.PrimaryKeyConstraint("id", name="pk_access_point"),
        sa.UniqueConstraint("identifier", "market", name="uq_access_point_identifier_market"),
    )
    op.create_table(
        "rules_version",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("engine", sa.String(length=20), nullable=False),
        sa.Column("first_used_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "catalogue", sa.Text(), nullable=False, comment="The rule files of the version, as JSON: path -> text."
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rules_version"),
        sa.UniqueConstraint("hash", name="uq_rules_version_hash"),
    )
    op.create_table(
        "before_image",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("table_name", sa.String(length=40), nullable=False),
        sa.Column("row_id", sa.BigInteger(), nullable=False),
        sa.Column("access_point_id", ID, nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("why", sa.String(length=400), nullable=False),
        sa.Column("image", sa.Text(), nullable=False, comment="The row as it was, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_before_image_access_point_id"),
        sa.PrimaryKeyConstraint("id", name="pk_before_image"),
        comment="Every domain row before it was changed or withdrawn.",
    )
    op.create_index("ix_before_image_access_point_id", "before_image", ["access_point_id"], unique=False)
    op.create_table(
        "checkpoint",
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column(
            "upto", sa.BigInteger(), nullable=False, comment="All messages effective before this instant are in it."
        ),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_checkpoint_access_point_id"),
        sa.PrimaryKeyConstraint("access_point_id", "upto", name="pk_checkpoint"),
        comment="States to judge late messages from.",
    )
    op.create_table(
        "kernel_message",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("ch_message_id", ID, nullable=True),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("access_point_id", ID, nullable=True),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("market_type", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("effective", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("waits_for", sa.String(length=200), nullable=True),
        sa.Column("waits_until", sa.BigInteger(), nullable=True, comment="When a quarantined message is given up."),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.Column("xml", sa.Text(), nullable=False),
        sa.Column("version", sa.SmallInteger(), nullable=False, comment="1, and one more for each correction."),
        sa.Column("corrects", ID, nullable=True),
        sa.Column("injected_by", sa.String(length=120), nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_kernel_message_access_point_id"),
        sa.ForeignKeyConstraint(["ch_message_id"], ["ch_message.id"], name="fk_kernel_message_ch_message_id"),
        sa.ForeignKeyConstraint(["corrects"], ["kernel_message.id"], name="fk_kernel_message_corrects"),
        sa.PrimaryKeyConstraint("id", name="pk_kernel_message"),
    )
    op.create_index(
        "ix_kernel_message_access_point_id_effective", "kernel_message", ["access_point_id", "effective"], unique=False
    )
    op.create_index("ix_kernel_message_ch_message_id", "kernel_message", ["ch_message_id"], unique=False)
    op.create_index(
        "ix_kernel_message_market_type", "kernel_message", ["market_type", "id", "state", "market"], unique=False
    )
    op.create_index("ix_kernel_message_received_at_id", "kernel_message", ["received_at", "id"], unique=False)
    op.create_index("ix_kernel_message_state_id", "kernel_message", ["state", "id"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("event", sa.String(length=80), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False, comment="pending, sent, dead"),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_outbox_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        comment="What the back office is told, written in the transaction of its cause.",
    )
    op.create_index("ix_outbox_message_id", "outbox", ["message_id"], unique=False)
    op.create_index("ix_outbox_state", "outbox", ["state", "id"], unique=False)
    op.create_table(
        "state_change",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("before", sa.String(length=12), nullable=True),
        sa.Column("after", sa.String(length=12), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column("rules_version_id", ID, nullable=True),
        sa.Column("why", sa.String(length=400), nullable=True),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_state_change_message_id"),
        sa.ForeignKeyConstraint(["rules_version_id"], ["rules_version.id"], name="fk_state_change_rules_version_id"),
        sa.PrimaryKeyConstraint("id", name="pk_state_change"),
        comment="Every change of state, never overwritten.",
    )
    op.create_index("ix_state_change_message_id", "state_change", ["message_id"], unique=False)
    op.create_table(
        "finding",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("change_id", ID, nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False, comment="Belongs to the verdict that holds now."),
        sa.Column("error_code", sa.String(length=20), nullable=False),
        sa.Column("rule", sa.String(length=120), nullable=False),
        sa.Column("severity", sa.String(length=8), nullable=False),
        sa.Column("error_class", sa.String(length=10), nullable=False),
        sa.Column("field", sa.String(length=120), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("comment_fr", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["change_id"], ["state_change.id"], name="fk_finding_change_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_finding_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_finding"),
    )
    op.create_index(
        "ix_finding_error_code_current_message_id", "finding", ["error_code", "current", "message_id"], unique=False
    )
    op.create_index("ix_finding_message_id", "finding", ["message_id"], unique=False)


def known() -> None:
    """What is known of an access point."""
    op.create_table(
        "contract",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("reference", sa.String(length=64), nullable=True),
        sa.Column("status", sa.String(length=12), nullable=True),
        sa.Column("sequence", sa.Integer(), nullable=True),
        sa.Column("tariff", sa.String(length=64), nullable=True),
        sa.Column("subscribed_power", sa.String(length=24), nullable=True),
        sa.Column("power_unit", sa.String(length=8), nullable=True),
        sa.Column("calendar", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_contract_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_contract_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_contract"),
    )
    op.create_index("ix_contract_access_point_id_at", "contract", ["access_point_id", "at"], unique=False)
    op.create_table(
        "customer",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("category", sa.String(length=16), nullable=True),
        sa.Column("name", sa.String(length=400), nullable=True),
        sa.Column("content", sa.Text(), nullable=False, comment="All fields of the message, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_customer_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_customer_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_customer"),
    )
    op.create_index("ix_customer_access_point_id_at", "customer", ["access_point_id", "at"], unique=False)
    op.create_table(
        "grid_charge",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("invoice", sa.String(length=64), nullable=False),
        sa.Column("reference", sa.String(length=64), nullable=False),
        sa.Column("billing_type", sa.String(length=64), nullable=True),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("total", sa.String(length=24), nullable=False),
        sa.Column("lines", sa.Text(), nullable=False, comment="The lines, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_grid_charge_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_grid_charge_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_grid_charge"),
    )
    op.create_index("ix_grid_charge_access_point_id_at", "grid_charge", ["access_point_id", "at"], unique=False)
    op.create_table(
        "grid_invoice",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("market", sa.String(length=2), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("invoice", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=True),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("total", sa.String(length=24), nullable=True),
        sa.Column("charges", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_grid_invoice_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_grid_invoice"),
    )
    op.create_index("ix_grid_invoice_invoice", "grid_invoice", ["invoice"], unique=False)
    op.create_table(
        "meter",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("serial", sa.String(length=64), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_meter_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_meter_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_meter"),
    )
    op.create_index("ix_meter_access_point_id_at", "meter", ["access_point_id", "at"], unique=False)
    op.create_table(
        "point_data",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("segment", sa.String(length=40), nullable=True),
        sa.Column("connection_status", sa.String(length=16), nullable=True),
        sa.Column("service_level", sa.String(length=8), nullable=True),
        sa.Column("content", sa.Text(), nullable=False, comment="All fields of the message, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_point_data_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_point_data_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_point_data"),
    )
    op.create_index("ix_point_data_access_point_id_at", "point_data", ["access_point_id", "at"], unique=False)
    op.create_table(
        "reading",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("reference", sa.String(length=400), nullable=True),
        sa.Column("source", sa.String(length=40), nullable=False),
        sa.Column("qualification", sa.String(length=16), nullable=False),
        sa.Column("nature", sa.String(length=12), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False, comment="current, replaced, cancelled"),
        sa.Column("calendar", sa.String(length=64), nullable=True),
        sa.Column("maximum_power", sa.Integer(), nullable=True),
        sa.Column("registers", sa.Text(), nullable=False, comment="The indexes, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_reading_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_reading_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_reading"),
    )
    op.create_index("ix_reading_access_point_id_at", "reading", ["access_point_id", "at"], unique=False)
    op.create_table(
        "request",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("reference", sa.String(length=64), nullable=False),
        sa.Column("milestone", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=14), nullable=False),
        sa.Column("state_code", sa.String(length=64), nullable=True),
        sa.Column("object_code", sa.String(length=64), nullable=True),
        sa.Column("initiated_by_us", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_request_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_request_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_request"),
    )
    op.create_index("ix_request_access_point_id_at", "request", ["access_point_id", "at"], unique=False)
    op.create_table(
        "series",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("end_at", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.String(length=40), nullable=False),
        sa.Column("resolution", sa.Integer(), nullable=False),
        sa.Column("unit", sa.String(length=16), nullable=False),
        sa.Column("direction", sa.String(length=12), nullable=True),
        sa.Column("positions", sa.Text(), nullable=False, comment="The values, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_series_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_series_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
    )
    op.create_index("ix_series_access_point_id_at", "series", ["access_point_id", "at"], unique=False)
    op.create_table(
        "supply_period",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("reference", sa.String(length=64), nullable=True),
        sa.Column("supplier", sa.String(length=40), nullable=True),
        sa.Column("reason", sa.String(length=40), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("end_reason", sa.String(length=40), nullable=True),
        sa.Column("end_message_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_supply_period_access_point_id"),
        sa.ForeignKeyConstraint(["end_message_id"], ["kernel_message.id"], name="fk_supply_period_end_message_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_supply_period_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_supply_period"),
    )
    op.create_index("ix_supply_period_access_point_id_at", "supply_period", ["access_point_id", "at"], unique=False)
    op.create_table(
        "volume",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("access_point_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("message_id", ID, nullable=False),
        sa.Column("start_at", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.String(length=40), nullable=False),
        sa.Column("nature", sa.String(length=12), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False, comment="current, replaced, cancelled"),
        sa.Column("volumes", sa.Text(), nullable=False, comment="The energies, JSON."),
        sa.ForeignKeyConstraint(["access_point_id"], ["access_point.id"], name="fk_volume_access_point_id"),
        sa.ForeignKeyConstraint(["message_id"], ["kernel_message.id"], name="fk_volume_message_id"),
        sa.PrimaryKeyConstraint("id", name="pk_volume"),
    )
    op.create_index("ix_volume_access_point_id_at", "volume", ["access_point_id", "at"], unique=False)


def sequences() -> None:
    """Where ids come from on PostgreSQL; SQLite counts them in `id_counter`."""
    if op.get_bind().dialect.name == "postgresql":
        for table in TABLES:
            op.execute(sa.schema.CreateSequence(sa.Sequence(f"{table}_ids", increment=1000)))
