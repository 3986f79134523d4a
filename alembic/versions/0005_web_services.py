"""Who may use the web services, who is signed in, and who read or changed what."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "api_token",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column(
            "label", sa.String(length=120), nullable=False, comment="What the token is for, in its owner's words."
        ),
        sa.Column(
            "hash", sa.LargeBinary(length=32), nullable=False, comment="SHA-256 of the token, which is not kept."
        ),
        sa.Column("person", sa.String(length=120), nullable=False, comment="In whose name it acts."),
        sa.Column("roles", sa.String(length=200), nullable=False, comment="Separated by spaces."),
        sa.Column("scopes", sa.String(length=200), nullable=False, comment="Separated by spaces."),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.String(length=120), nullable=True),
        sa.Column("used_at", sa.BigInteger(), nullable=True, comment="Last use, to the minute."),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.UniqueConstraint("hash", name="uq_api_token_hash"),
        comment="What programs, and people while nothing else is set up, sign in with.",
    )
    op.create_index("ix_api_token_person", "api_token", ["person"], unique=False)
    op.create_table(
        "web_session",
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False, comment="SHA-256 of the cookie's value."),
        sa.Column(
            "purpose", sa.String(length=8), nullable=False, comment="session, or login while a sign-in is under way."
        ),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="JSON: roles, CSRF token; or what the sign-in has to remember.",
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_web_session"),
        comment="Who is signed in to the pages.",
    )
    op.create_index("ix_web_session_expires_at", "web_session", ["expires_at"], unique=False)
    op.create_index("ix_web_session_person", "web_session", ["person"], unique=False)
    op.create_table(
        "audit",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("via", sa.String(length=140), nullable=False, comment="token and its number, session, command."),
        sa.Column("action", sa.String(length=10), nullable=False, comment="read, change, refused, sign-in"),
        sa.Column(
            "what", sa.String(length=200), nullable=False, comment="Method and path of the route, or the command."
        ),
        sa.Column(
            "subject",
            sa.String(length=400),
            nullable=False,
            comment="Of whom or what: access point, message, filter.",
        ),
        sa.Column("status", sa.SmallInteger(), nullable=False, comment="HTTP status that was answered."),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        comment="Every read of personal data and every change by way of the web; never changed.",
    )
    op.create_index("ix_audit_at_id", "audit", ["at", "id"], unique=False)
    op.create_index("ix_audit_person_at", "audit", ["person", "at"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        for table in ("api_token", "audit"):
            op.execute(sa.schema.CreateSequence(sa.Sequence(f"{table}_ids", increment=1000)))
