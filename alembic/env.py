"""Runs migrations for `energycomm eis upgrade` and, in the checkout, for the `alembic` command."""

from __future__ import annotations

import os

from sqlalchemy import Connection

from alembic import context
from energycomm.eis.database import connect, writing
from energycomm.eis.tables import metadata


def migrate(connection: Connection) -> None:
    """Run what was asked for on a connection that is in a transaction; whoever began it commits it."""
    # SQLite can undo changes of tables too when the transaction was begun by hand, as ours are.
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("Migrations need a database: set ENERGYCOMM_DATABASE.")

given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with writing(connect(os.environ["ENERGYCOMM_DATABASE"])) as connection:
        migrate(connection)
