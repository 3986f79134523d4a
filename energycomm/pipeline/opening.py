"""Opening the store of a configuration, ready to be used: of this version, of this supplier, with its keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from energycomm.errors import UserError
from energycomm.logs import Log

# What a store needs is imported when one is opened: a command that opens none begins in half the time.
if TYPE_CHECKING:
    from sqlalchemy import Engine

    from energycomm.config import Config
    from energycomm.eis.store import Store

log = Log()


@contextmanager
def open_store(config: Config, *, make: bool = False) -> Iterator[Store]:
    """The EIS of the configuration, upgraded; its connections are closed at the end.

    Args:
      config: the configuration.
      make: make a SQLite store that is not there yet, see `make_ready`.

    Raises:
      UserError: it is absent, cannot be reached, is not of this version, or a key that it is encrypted under is
        missing.
    """
    from energycomm.eis.database import opened
    from energycomm.eis.store import Store

    with opened(config.database_url, create=make) as engine:
        make_ready(engine, config, make=make)
        store = Store(engine)
        if (first := _first.get()) is not None:
            _first.set(None)
            first(store)
        yield store


_first: ContextVar[Callable[[Store], None] | None] = ContextVar("first", default=None)


@contextmanager
def at_opening(first: Callable[[Store], None]) -> Iterator[None]:
    """A block with a function that is called when the store is first opened within: to record who reads it.

    Args:
      first: is given the store; where it raises, the store is not opened.
    """
    token = _first.set(first)
    try:
        yield
    finally:
        _first.reset(token)


def make_ready(engine: Engine, config: Config, *, make: bool = False) -> None:
    """Refuse a database that this program cannot use, and load the keys for its encrypted content.

    Args:
      engine: the database.
      config: says which keys there are.
      make: give a SQLite file that has no tables yet those of this version. A server's database is left to who runs it.

    Raises:
      UserError: it is not of this version, it is another supplier's, or a key that it needs is missing or is another
        one.
    """
    from energycomm.eis.database import is_sqlite, shown
    from energycomm.eis.datakeys import unlock
    from energycomm.eis.migrations import current, require_current, upgrade
    from energycomm.eis.ownership import claim, require_owner
    from energycomm.transport.keys import STORAGE, read_keys

    made = make and is_sqlite(engine) and current(engine) is None
    if made:
        upgrade(engine)
        log.info("store.made", database=shown(engine))
    require_current(engine)
    if config.supplier is not None:
        (claim if made else require_owner)(engine, config.supplier.name)
    entries = [entry for entry in config.key_entries if entry["scheme"] == STORAGE]
    ring, refusals = read_keys(entries, os.environ, config.folder)
    try:
        unlock(engine, {key.label: key for key in ring.storage}, config.storage_key)
    except UserError as error:
        # Why a key is not in the ring may be known.
        raise UserError("\n  ".join((error.message, *map(str, refusals))), error.advice, error.exit_code) from None
