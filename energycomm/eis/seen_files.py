"""The record of fetched remote files, for channels that leave files on the server."""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import Engine

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading, writing
from energycomm.kernel.instants import now_micros


class SeenFiles:
    """Cache of one process for the table `seen_file`, which all hosts share.

    What is known once stays known, so that only files that nobody knows yet are asked for.

    Args:
      engine: the EIS.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, set[bytes]] = {}

    def seen(self, channel: str, key: str) -> bool:
        """Whether the channel's file was marked, here or on another host.

        Args:
          channel: name of the channel.
          key: names the file as it is now: its path, size and time.

        Raises:
          UserError: the database was lost.
        """
        known, digest = self._of(channel), _digest(key)
        if digest in known:
            return True
        with reading(self._engine) as connection:
            sql = "SELECT 1 FROM seen_file WHERE channel = ? AND key = ?"
            found = bool(driver_of(connection).rows(sql, (channel, digest)))
        if found:
            known.add(digest)
        return found

    def mark(self, channel: str, key: str) -> None:
        """Remember the channel's file; nothing happens where it is marked already.

        Raises:
          UserError: the database was lost.
        """
        digest = _digest(key)
        with writing(self._engine) as connection:
            sql = "INSERT INTO seen_file (channel, key, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            driver_of(connection).run(sql, (channel, digest, now_micros()))
        self._of(channel).add(digest)

    def _of(self, channel: str) -> set[bytes]:
        if channel not in self._known:
            with reading(self._engine) as connection:
                rows = driver_of(connection).rows("SELECT key FROM seen_file WHERE channel = ?", (channel,))
            self._known[channel] = {bytes(row[0]) for row in rows}
        return self._known[channel]


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()
