"""Two PostgreSQL servers of which one follows the other: a commit is answered when both disks have it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from tests.postgres import DURABLE, PostgresServer, prepared

REPLICATING = DURABLE | {"wal_level": "replica", "max_wal_senders": "10", "wal_keep_size": "256MB"}
FOLLOW_SECONDS = 30.0


class Pair:
    """A primary and its synchronous standby.

    Args:
      first: the server that begins as primary; it is started.
      second: the one that begins as standby; it is not.

    Attributes:
      primary: the server that is written to.
      standby: the other one.
    """

    def __init__(self, first: PostgresServer, second: PostgresServer) -> None:
        self.primary, self.standby = first, second
        self.heal()

    def url(self, database: str) -> str:
        """Address of a database, with both servers in it, today's primary first: whichever is written to is used."""
        servers = ",".join(f"{server.host}:{server.port}" for server in (self.primary, self.standby))
        return f"postgresql://postgres@{servers}/{database}"

    def create_database(self) -> str:
        """Create a fresh database; its name, for `url`."""
        return self.primary.create_database()

    def fail_over(self) -> None:
        """Kill the primary and all its sessions at once, and let the standby take its place."""
        self.primary.lose_power()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def split(self) -> None:
        """Let the standby take its place beside a primary that lives on, as when the line between them is cut."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def fence(self) -> None:
        """End the server that was primary before `split`."""
        self.standby.lose_power()

    def heal(self) -> None:
        """Let the server that is not written to follow anew; from now on commits wait for it."""
        self.standby.follow(self.primary)
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.ask("SELECT pg_reload_conf()")
        deadline = time.monotonic() + FOLLOW_SECONDS
        while not self.primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
            if time.monotonic() > deadline:
                raise RuntimeError("the standby does not follow")
            time.sleep(0.05)


@contextlib.contextmanager
def replicating(hosts: tuple[str, str] = ("127.0.0.1", "127.0.0.1")) -> Iterator[Pair]:
    """A pair of servers, stopped and removed at the end.

    Args:
      hosts: addresses that they listen on.

    Raises:
      NoPostgres: no server is installed and the wheel is not either.
    """
    with prepared(REPLICATING, host=hosts[0]) as first, prepared(REPLICATING, host=hosts[1]) as second:
        first.start()
        yield Pair(first, second)
