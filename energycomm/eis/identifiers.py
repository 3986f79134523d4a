"""Row ids, given out by the application so that a batch can link its rows before any of them is stored.

An id is never given to two committed rows. SQLite has one writer at a time: its counters are rows of `id_counter`, read
and written in the transaction that uses the ids. PostgreSQL has many: each process takes blocks of ids from a sequence,
which no transaction waits for; what is left of a block is lost when the process ends.
"""

from __future__ import annotations

import threading
from typing import Protocol

from energycomm.eis.bulk import Driver
from energycomm.eis.tables import ID_BLOCK, sequence_name


class Identifiers(Protocol):
    """Where a transaction gets its ids from."""

    def reserve(self, table: str, n: int) -> range:
        """The next `n` ids of a table, one after the other."""

    def close(self) -> None:
        """The transaction is about to be committed."""


class CountedIdentifiers:
    """Ids of one writing transaction on SQLite."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._next: dict[str, int] = {}
        self._stored: dict[str, int] | None = None

    def reserve(self, table: str, n: int) -> range:
        """The next `n` ids of a table, one after the other."""
        if self._stored is None:
            self._stored = dict(self._driver.rows("SELECT name, next FROM id_counter"))
        first = self._next.get(table) or self._stored.get(table, 1)
        self._next[table] = first + n
        return range(first, first + n)

    def close(self) -> None:
        """Store the counters that moved."""
        if self._next:
            self._driver.many(
                "INSERT INTO id_counter (name, next) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET next = excluded.next",
                list(self._next.items()),
            )


class BlockPool:
    """Blocks of ids that a process took from PostgreSQL's sequences and has not used up; safe for threads.

    Attributes:
      blocks: how many it took.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self._lock = threading.Lock()
        self._left: dict[str, range] = {}

    def take(self, table: str, n: int, driver: Driver) -> range:
        """The next `n` ids of a table; uses the sequence when the reserved block is too small."""
        with self._lock:
            left = self._left.get(table, range(0))
            if len(left) < n:
                left = _blocks(driver, table, n)
                self.blocks += len(left) // ID_BLOCK
            self._left[table] = left[n:]
            return left[:n]


class BlockIdentifiers:
    """Ids of one transaction on PostgreSQL."""

    def __init__(self, driver: Driver, pool: BlockPool) -> None:
        self._driver = driver
        self._pool = pool

    def reserve(self, table: str, n: int) -> range:
        """The next `n` ids of a table, one after the other."""
        return self._pool.take(table, n, self._driver)

    def close(self) -> None:
        """Nothing to store: a sequence stands outside of transactions."""


def _blocks(driver: Driver, table: str, n: int) -> range:
    """Enough blocks of a sequence in a row; we try again when another process took one in between."""
    count = -(-n // ID_BLOCK)
    while True:
        starts = [row[0] for row in driver.rows(_NEXT, (sequence_name(table), count))]
        if starts == list(range(starts[0], starts[0] + count * ID_BLOCK, ID_BLOCK)):
            return range(starts[0], starts[0] + count * ID_BLOCK)


_NEXT = "SELECT nextval(cast(? AS regclass)) FROM generate_series(1, cast(? AS integer))"
