"""The data keys of a store: made at random, kept wrapped by a key of the key ring, never removed.

What is stored is encrypted under a data key. So a new key in the key ring wraps the data keys anew, which is a moment's
work, and what is stored stays as it is; a new data key is for what is stored itself (`energycomm.eis.resealing`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Engine

from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import EXIT_DATABASE, is_sqlite, reading, reporting, writing
from energycomm.eis.sealing import VAULT, Vault, WrappingKey, wrapping_context
from energycomm.errors import UserError
from energycomm.kernel.instants import now_micros


class DataKey(NamedTuple):
    """A data key as the store keeps it.

    Attributes:
      number: its name in what is sealed under it.
      label: the key of the key ring that it is wrapped with.
      made_at, wrapped_at: microseconds since the epoch.
      current: what is written now is sealed under it.
    """

    number: int
    label: str
    made_at: int
    wrapped_at: int
    current: bool


def unlock(engine: Engine, ring: Mapping[str, WrappingKey], label: str | None = None) -> Vault:
    """Load the keys that decrypt a store; if a label is set and the store is plain, switch encryption on.

    Args:
      engine: the store, of this version.
      ring: the keys of the key ring for the store, by label.
      label: the key that the configuration wants the store encrypted under.

    Raises:
      UserError: the key that the store needs is not in the ring, or is another one of that name; or the database was
        lost.
    """
    vault = Vault(engine, ring, label)
    with reporting(engine):
        vault.check()
    engine.update_execution_options(**{VAULT: vault})
    if label is not None and current_data_key(engine) is None:
        switch_on(engine, label)
    return vault


def vault_of(engine: Engine) -> Vault:
    """The keys that were brought to an open store."""
    found: Vault = engine.get_execution_options()[VAULT]
    return found


def data_keys(engine: Engine) -> list[DataKey]:
    """Every data key of a store, the oldest first."""
    with reading(engine) as connection:
        driver = driver_of(connection)
        current = _current(driver)
        rows = driver.rows("SELECT number, label, made_at, wrapped_at FROM data_key ORDER BY number")
    return [DataKey(number, label, made, wrapped, number == current) for number, label, made, wrapped in rows]


def current_data_key(engine: Engine) -> int | None:
    """The current data key; None while the store is plain."""
    with reading(engine) as connection:
        return _current(driver_of(connection))


def switch_on(engine: Engine, label: str, *, anew: bool = False) -> int:
    """Make a data key and write under it from now on.

    When it returns, no transaction is under way that writes in plain or under another data key.

    Args:
      engine: the store.
      label: the key of the key ring to wrap it with.
      anew: also where the store has a current data key; else that one stays.

    Returns:
      The current data key.
    """
    key = _wrapping(engine, label)
    with writing(engine) as connection:
        driver = driver_of(connection)
        _hold(engine, driver)
        current = _current(driver)
        if current is not None and not anew:
            return current
        (last,) = driver.rows("SELECT coalesce(max(number), 0) FROM data_key")[0]
        number = int(last) + 1
        now = now_micros()
        wrapped = key.wrap(secrets.token_bytes(32), wrapping_context(number))
        driver.run(
            "INSERT INTO data_key (number, label, wrapped, made_at, wrapped_at) VALUES (?, ?, ?, ?, ?)",
            (number, label, wrapped, now, now),
        )
        driver.run("UPDATE at_rest SET data_key = ? WHERE what = 'store'", (number,))
        return number


def switch_off(engine: Engine) -> None:
    """Write plain values from now on; encrypted ones stay until they are decrypted."""
    with writing(engine) as connection:
        driver = driver_of(connection)
        _hold(engine, driver)
        driver.run("UPDATE at_rest SET data_key = NULL WHERE what = 'store'")


def wrap_anew(engine: Engine, label: str) -> int:
    """Wrap every data key with a key of the key ring; those that are wrapped with it already stay.

    Returns:
      How many were wrapped.

    Raises:
      UserError: the key, or one that a data key is wrapped with now, is not in the key ring.
    """
    key, vault = _wrapping(engine, label), vault_of(engine)
    with writing(engine) as connection:
        driver = driver_of(connection)
        _hold(engine, driver)
        rows = driver.rows("SELECT number, label, wrapped FROM data_key WHERE label <> ?", (label,))
        for number, before, wrapped in rows:
            again = key.wrap(vault.unwrapped(number, before, wrapped), wrapping_context(number))
            driver.run(
                "UPDATE data_key SET label = ?, wrapped = ?, wrapped_at = ? WHERE number = ?",
                (label, again, now_micros(), number),
            )
        return len(rows)


def _wrapping(engine: Engine, label: str) -> WrappingKey:
    key = vault_of(engine).wrapping(label)
    if key is None:
        raise UserError(
            f"The key {label!r} is not in the key ring.", "Add it to `keys`, or correct `storage_key`.", EXIT_DATABASE
        )
    return key


def _hold(engine: Engine, driver: Driver) -> None:
    """Wait for those who write what is to be sealed, and make others wait; SQLite has one writer at a time."""
    held = "SELECT what FROM at_rest WHERE what = 'store'"
    if not driver.rows(held if is_sqlite(engine) else f"{held} FOR UPDATE"):
        driver.run("INSERT INTO at_rest (what) VALUES ('store') ON CONFLICT DO NOTHING")


def _current(driver: Driver) -> int | None:
    rows = driver.rows("SELECT data_key FROM at_rest WHERE what = 'store'")
    return rows[0][0] if rows else None
