"""Sessions are bound to the token that they began with, tokens to the one by whose right they were made."""

from __future__ import annotations

import json
import re

import sqlalchemy as sa

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BEGAN = re.compile(r"session by token (\d{1,18})")


def upgrade() -> None:
    """Add the columns, bind the sessions that are there, and forget sign-ins under way: browsers keep these now."""
    comment = "The token (api_token) by whose right it was made; revoked with it."
    op.add_column("api_token", sa.Column("made_with", sa.BigInteger(), nullable=True, comment=comment))
    op.create_index("ix_api_token_made_with", "api_token", ["made_with"])
    comment = "The token (api_token) that it began with, and ends with."
    op.add_column("web_session", sa.Column("token", sa.BigInteger(), nullable=True, comment=comment))
    op.execute("DELETE FROM web_session WHERE purpose <> 'session'")
    _bind()
    op.drop_column("web_session", "purpose")
    if op.get_bind().dialect.name == "postgresql":  # SQLite keeps no comments
        comment = "JSON: roles, CSRF token, how they came."
        op.alter_column("web_session", "content", existing_type=sa.Text(), existing_nullable=False, comment=comment)


def _bind() -> None:
    """Tell each session its token, from the words that say how it began."""
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT hash, content FROM web_session")).all()
    for key, content in rows:
        found = BEGAN.fullmatch(json.loads(content)["via"])
        if found is not None:
            connection.execute(
                sa.text("UPDATE web_session SET token = :token WHERE hash = :hash"),
                {"token": int(found[1]), "hash": key},
            )
