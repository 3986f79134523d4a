"""The bytes of envelopes, kept as they arrived, once per content.

Bytes are stored in pieces of 1 MiB: an envelope of 1 GB needs as little memory as one of 1 kB, to keep and to read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from sqlalchemy import Engine

from energycomm.eis import tables
from energycomm.eis.away import where_bytes_are
from energycomm.eis.bulk import NewRow, PostgresDriver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.effects import Writing
from energycomm.eis.fitting import storable
from energycomm.eis.partitions import detached_with
from energycomm.errors import Absent, DamagedRow

CHUNK = 1 << 20
"""Bytes in one piece."""
ARRIVALS = "energycomm_envelopes"
"""What PostgreSQL tells of when envelopes were archived: the name to LISTEN to."""
LONGEST_NAME = 400
"""Characters of an envelope's name that are kept."""


class Archived(NamedTuple):
    """How an envelope was kept.

    Attributes:
      envelope_id: its row.
      sha256: SHA-256 of its bytes.
      size: number of its bytes.
      duplicate_of: the envelope that brought the same bytes first; None when these are new.
      resumes: the same envelope was archived before and its processing did not come to an end: `envelope_id` is that
        first row, no other was made, and its processing has to go on.
      first_state: state of the envelope that brought the bytes first; None when these are new.
    """

    envelope_id: int
    sha256: bytes
    size: int
    duplicate_of: int | None = None
    resumes: bool = False
    first_state: str | None = None


def archive(tx: Writing, name: str, content: IO[bytes], channel: str, now: int, answers: int | None = None) -> Archived:
    """Keep an envelope's bytes and make its row, in state `archived`: `Archiving` of one.

    Args:
      tx: the transaction.
      name: file name of the envelope.
      content: its bytes, seekable.
      channel: how it came: directory, sftp, web.
      now: when it came, microseconds since the epoch.
      answers: the request on whose call it was received.
    """
    archiving = Archiving(tx, channel, now)
    archived = archiving.keep(name, content, answers)
    archiving.close()
    return archived


class Archiving:
    """Keeps the bytes of envelopes that come together; what is made of several is stored at once.

    The same bytes again make a row in state `duplicate` that is linked to the first. The exception: the first has the
    same name and was never finished (the process died): then it is taken up again, as if it had arrived only now.
    Answers are compared among those to one request: two requests may be answered by the same words.

    Args:
      tx: the transaction.
      channel: how they came: directory, sftp, web.
      now: when they came, microseconds since the epoch.
    """

    def __init__(self, tx: Writing, channel: str, now: int) -> None:
        self._tx, self._channel, self._now = tx, channel, now
        self._envelopes: list[NewRow] = []
        self._pieces: list[NewRow] = []
        self._held = 0

    def keep(
        self, name: str, content: IO[bytes], answers: int | None = None, series: Mapping[str, Any] | None = None
    ) -> Archived:
        """Keep the bytes of one; its row is there once this is closed.

        Args:
          name: its file name; the last `LONGEST_NAME` characters are kept, with escapes for what is no text.
          content: its bytes, seekable; read twice, from the start.
          answers: the request on whose call it was received.
          series: its market and its place in a numbered series, by name of column; none of a duplicate.
        """
        tx, name = self._tx, storable(name[-LONGEST_NAME:], LONGEST_NAME)
        sha256, size = _digest(content)
        new = tx.driver.run("INSERT INTO raw (sha256, size) VALUES (?, ?) ON CONFLICT DO NOTHING", (sha256, size)) == 1
        first: tuple[int, str] | None = None
        if new:
            (envelope_id,) = tx.reserve(tables.envelope, 1)
            self._keep_pieces(sha256, envelope_id, content)
        else:
            self.close()  # the first may be one of these
            rows = tx.driver.rows(_FIRST, (sha256, answers or 0))
            if rows:
                first_id, first_name, first_state = rows[0]
                if first_name == name and first_state in ("archived", "processing"):
                    return Archived(first_id, sha256, size, None, True, first_state)
                first = (first_id, first_state)
            (envelope_id,) = tx.reserve(tables.envelope, 1)
        duplicate_of, first_state = first or (None, None)
        row = {"id": envelope_id, "name": name, "sha256": sha256, "received_at": self._now, "channel": self._channel}
        row |= {"state": "archived" if first is None else "duplicate", "duplicate_of": duplicate_of, "answers": answers}
        self._envelopes.append(row if first is not None or series is None else {**row, **series})
        return Archived(envelope_id, sha256, size, duplicate_of, False, first_state)

    def close(self) -> None:
        """Store what is not stored yet."""
        self._store_pieces()
        rows, self._envelopes = self._envelopes, []
        self._tx.insert(tables.envelope, rows)
        if rows and isinstance(self._tx.driver, PostgresDriver):
            self._tx.driver.rows(_TOLD)  # who waits for envelopes is told with the commit

    def _keep_pieces(self, sha256: bytes, envelope_id: int, content: IO[bytes]) -> None:
        content.seek(0)
        for number, piece in enumerate(_pieces(content)):
            self._pieces.append({"sha256": sha256, "number": number, "bytes": piece, "envelope_id": envelope_id})
            self._held += len(piece)
            if self._held >= CHUNK:
                self._store_pieces()

    def _store_pieces(self) -> None:
        rows, self._pieces, self._held = self._pieces, [], 0
        self._tx.insert(tables.raw_chunk, rows)


def open_raw(engine: Engine, sha256: bytes) -> IO[bytes]:
    """The kept bytes as a seekable stream that can only be read; at most a few pieces of it are in memory.

    Raises:
      FileNotFoundError: nothing with this SHA-256 is kept.
      Absent: its bytes are in an archive, which is named, or were removed.
      DamagedRow: its first piece was changed; later pieces raise it when they are read.
    """
    with reading(engine) as connection:
        driver = driver_of(connection)
        rows = driver.rows(_CONTENT, (sha256,))
    if not rows:
        raise FileNotFoundError(f"no raw bytes with SHA-256 {sha256.hex()}")
    size, stored = rows[0]
    if stored is None and size:
        held = where_bytes_are(engine, sha256)
        if held is None and (partition := detached_with(engine, sha256)):
            advice = f"`energycomm eis partition attach {partition}` brings them back."
            raise Absent(f"The bytes are in the detached partition {partition}.", advice)
        if held is None:
            raise Absent("The bytes were removed: they were older than is kept.", "Ask the sender for the file.")
        raise Absent(f"The bytes are archived in {held.name}.", held.advice)
    first = None if stored is None else driver.vault.content("raw_chunk", (sha256, 0), stored)
    return io.BufferedReader(RawContent(engine, sha256, size, first), 1 << 16)


def is_altered(engine: Engine, sha256: bytes) -> bool:
    """Whether a customer was taken out of kept bytes: they are not those that arrived under this SHA-256."""
    with reading(engine) as connection:
        rows = driver_of(connection).rows("SELECT 1 FROM raw WHERE sha256 = ? AND erased_at IS NOT NULL", (sha256,))
    return bool(rows)


def small_contents(engine: Engine, sha256s: Sequence[bytes]) -> dict[bytes, bytes]:
    """The kept bytes of small envelopes, read at once, by SHA-256. Those of more than one piece are left out, and
    damaged ones too: `open_raw` tells of them."""
    found: dict[bytes, bytes] = {}
    with reading(engine) as connection:
        driver = driver_of(connection)
        for sha256, size, stored in driver.matching(_CONTENTS, sha256s, "c.sha256"):
            with contextlib.suppress(DamagedRow):
                if size <= CHUNK:
                    found[bytes(sha256)] = driver.vault.content("raw_chunk", (bytes(sha256), 0), stored)
    return found


class RawContent(io.RawIOBase):
    """A stream over the pieces of one content.

    Each piece is read in a transaction of its own, so that a long reading does not keep the database from tidying up.
    """

    def __init__(self, engine: Engine, sha256: bytes, size: int, first: bytes | None = None) -> None:
        super().__init__()
        self._engine = engine
        self._sha256 = sha256
        self._size = size
        self._position = 0
        # Most envelopes are a single piece, read together with the size.
        self._number = -1 if first is None else 0
        self._piece = first or b""

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to another byte."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("negative position")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read up to the end of the current piece."""
        number, start = divmod(self._position, CHUNK)
        if self._position >= self._size:
            return 0
        if number != self._number:
            with reading(self._engine) as connection:
                driver = driver_of(connection)
                stored = driver.rows(_PIECE, (self._sha256, number))[0][0]
                self._piece = driver.vault.content("raw_chunk", (self._sha256, number), stored)
            self._number = number
        found = self._piece[start : start + len(buffer)]
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)


def _digest(content: IO[bytes]) -> tuple[bytes, int]:
    digest, size = hashlib.sha256(), 0
    content.seek(0)
    for piece in _pieces(content):
        digest.update(piece)
        size += len(piece)
    return digest.digest(), size


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    """Full pieces, whatever the stream gives at a time: a piece's number tells which bytes it holds."""
    while True:
        piece = content.read(CHUNK)
        while piece and len(piece) < CHUNK:
            more = content.read(CHUNK - len(piece))
            if not more:
                break
            piece += more
        if not piece:
            return
        yield piece


_FIRST = (
    "SELECT id, name, state FROM envelope WHERE sha256 = ? AND coalesce(answers, 0) = ? AND duplicate_of IS NULL "
    "ORDER BY id LIMIT 1"
)
_CONTENT = (
    "SELECT r.size, c.bytes FROM raw r "
    'LEFT JOIN raw_chunk c ON c.sha256 = r.sha256 AND c."number" = 0 WHERE r.sha256 = ?'
)
_CONTENTS = 'SELECT c.sha256, r.size, c.bytes FROM raw_chunk c JOIN raw r ON r.sha256 = c.sha256 WHERE c."number" = 0'
_PIECE = 'SELECT bytes FROM raw_chunk WHERE sha256 = ? AND "number" = ?'
_TOLD = f"SELECT pg_notify('{ARRIVALS}', '')"
