"""The files of the database written anew, so that nothing of who was erased remains in free pages, logs or indexes."""

from __future__ import annotations

from typing import Final

from energycomm.eis import tables
from energycomm.eis.database import reading
from energycomm.eis.erasures import erasures, wiped
from energycomm.eis.resealing import wipe
from energycomm.eis.store import Store

ALWAYS: Final = ("customer", "customer_words", "kernel_message", "particular", "before_image", "finding")
"""Tables whose former rows may tell of customers, whoever changed them."""


def wipe_files(store: Store, now: int) -> list[str]:
    """Write the files anew; other processes wait meanwhile, and room for a second copy is needed.

    Args:
      store: the EIS.
      now: the present, microseconds since the epoch.

    Returns:
      The tables that PostgreSQL wrote anew.

    Raises:
      UserError: another process reads the SQLite file at that moment.
    """
    with reading(store.engine) as connection:
        counted = {place for one in erasures(connection) for place in one.counts}
    further = sorted({*ALWAYS, *(place for place in counted if place in tables.metadata.tables)})
    wipe(store.engine, further)
    with store.transaction() as tx:
        wiped(tx, now)
    return further
