"""People who sign in by name and password, their second factors, and what is known of a session."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables, and the columns of sessions."""
    op.create_table(
        "account",
        sa.Column("id", Id, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(120), nullable=False, unique=True),
        sa.Column("roles", sa.String(200), nullable=False, comment="Separated by spaces."),
        sa.Column(
            "password",
            sa.Text,
            comment="Argon2id of it, as PHC string; none: signs in by the identity provider alone.",
        ),
        sa.Column(
            "initial_until", sa.BigInteger, comment="The password is an initial one, to be changed, and ends here."
        ),
        sa.Column("changed_at", sa.BigInteger, comment="When the password was set."),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.Column("disabled_at", sa.BigInteger),
        sa.Column("disabled_by", sa.String(120)),
        comment="People who sign in by name and password, and people who may not sign in any more.",
    )
    op.create_table(
        "second_factor",
        sa.Column("account_id", Id, sa.ForeignKey("account.id"), primary_key=True, autoincrement=False),
        sa.Column("secret", sa.LargeBinary, nullable=False, comment="Key of the one-time codes (RFC 6238)."),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("confirmed_at", sa.BigInteger, comment="The first right code; until then it is not in force."),
        sa.Column(
            "last_step",
            sa.BigInteger,
            nullable=False,
            comment="Period of the last code that was used; none goes twice.",
        ),
        comment="Devices that show one-time codes.",
    )
    op.create_table(
        "recovery_code",
        sa.Column("account_id", Id, sa.ForeignKey("account.id"), primary_key=True, autoincrement=False),
        sa.Column("hash", sa.LargeBinary(32), primary_key=True, comment="SHA-256 of the code, which is not kept."),
        sa.Column("used_at", sa.BigInteger),
        comment="Stand in for a second factor that was lost, each once.",
    )
    op.create_table(
        "sign_in_attempt",
        sa.Column(
            "hash",
            sa.LargeBinary(32),
            primary_key=True,
            comment="SHA-256 of what is counted: a name, an address, both.",
        ),
        sa.Column(
            "name",
            sa.LargeBinary(32),
            comment="SHA-256 of the name that was tried; none where an address is counted.",
        ),
        sa.Column("failures", sa.Integer, nullable=False, comment="Wrong ones in a row."),
        sa.Column("at", sa.BigInteger, nullable=False, comment="The last of them; forgotten a day later."),
        comment="Wrong passwords and codes: the next one must wait.",
    )
    op.create_index("ix_sign_in_attempt_name", "sign_in_attempt", ["name"])
    op.create_index("ix_sign_in_attempt_at", "sign_in_attempt", ["at"])
    for column in (
        sa.Column("account_id", sa.BigInteger, comment="The account (account) that signed in, and whose roles it has."),
        sa.Column("address", sa.String(64), comment="Where it began."),
        sa.Column("device", sa.String(200), comment="What the browser calls itself."),
        sa.Column("seen_at", sa.BigInteger, comment="Last use, to the minute."),
    ):
        op.add_column("web_session", column)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("account_ids", increment=1000)))
