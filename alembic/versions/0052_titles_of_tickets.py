"""Titles of tickets say in words whose fault it is."""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

WORDS = {
    "grid_operator": "grid operator",
    "missing": "missing message",
    "ordering": "wrong order",
    "product": "our rules",
}
MOST = 200


def upgrade() -> None:
    """Put the words in the place of the name of the store, which ends the titles that were made with it."""
    ticket = sa.table("ticket", sa.column("title", sa.String), sa.column("error_class", sa.String))
    title = ticket.c.title
    for name, words in WORDS.items():
        ending = f"({name})"
        before = sa.func.substr(title, 1, sa.func.length(title) - len(ending))
        named = sa.and_(ticket.c.error_class == name, title.endswith(ending, autoescape=True))
        op.execute(ticket.update().where(named).values(title=sa.func.substr(before.concat(f"({words})"), 1, MOST)))
