"""What of the store is away: in the files of an archive, or removed for good.

Messages of measures leave when they are settled (`energycomm.archive`). Then their access point has a *floor*: an
instant at which there is a checkpoint, and before which its history is not whole. Nothing is judged from before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from sqlalchemy import Connection, Engine, text

from energycomm.eis.bulk import Driver
from energycomm.eis.database import reading
from energycomm.errors import UserError
from energycomm.kernel.instants import instant

REMOVED = "removed"
"""Name of the archive without files: what retention removed."""


BYTES_LEAVE = (
    "EXISTS (SELECT 1 FROM envelope e WHERE e.sha256 = c.sha256 AND e.received_at < :before AND e.state = 'done' "
    "AND e.duplicate_of IS NULL) AND NOT EXISTS (SELECT 1 FROM envelope e WHERE e.sha256 = c.sha256 AND "
    "(e.received_at >= :before AND e.duplicate_of IS NULL OR e.state IN ('archived', 'processing') OR EXISTS "
    "(SELECT 1 FROM ch_message m WHERE m.envelope_id = e.id AND m.outcome = 'put-aside')))"
)
"""The condition under which bytes (`c`, of `raw_chunk`) may leave: all envelopes that brought them are done."""


class Archive(Struct, frozen=True, kw_only=True):
    """An archive, by what of it is away.

    Attributes:
      id: its row.
      name: the month up to which it holds what arrived, 2026-01.
      folder: where its files were written.
      before: what arrived before this instant was looked at.
      made_at: when its writing began.
      written: its last file is written.
      messages: Kernel messages that are away.
      envelopes: envelopes whose bytes are away.
      first, last: effective instants of the earliest and latest of these messages; None where none is away.
    """

    id: int
    name: str
    folder: str
    before: datetime
    made_at: datetime
    written: bool
    messages: int = 0
    envelopes: int = 0
    first: datetime | None = None
    last: datetime | None = None

    @property
    def advice(self) -> str:
        """How what is in it comes back."""
        return f"`energycomm eis archive restore {self.name}` brings it back from {self.folder}."


def archives(connection: Connection) -> tuple[Archive, ...]:
    """Every archive, the earliest first; not what was removed for good."""
    sums = text(
        "SELECT archive_id, what, sum(rows), min(first_at), max(last_at) FROM archive_piece "
        "WHERE away GROUP BY archive_id, what"
    )
    away = {(row[0], row[1]): row for row in connection.execute(sums)}
    found = []
    sql = text(
        "SELECT id, name, folder, before, made_at, written_at FROM archive WHERE name <> :name ORDER BY before, id"
    )
    for number, name, folder, before, made_at, written_at in connection.execute(sql, {"name": REMOVED}):
        _, _, messages, first, last = away.get((number, "messages"), (None, None, 0, None, None))
        archive = Archive(
            id=number,
            name=name,
            folder=folder,
            before=instant(before),
            made_at=instant(made_at),
            written=written_at is not None,
            messages=int(messages),
            envelopes=int(away.get((number, "raw"), (0, 0, 0))[2]),
            first=None if first is None else instant(first),
            last=None if last is None else instant(last),
        )
        found.append(archive)
    return tuple(found)


def missing(connection: Connection, first: int | None = None, last: int | None = None) -> tuple[Archive, ...]:
    """The archives that hold messages which are effective between two instants (microseconds since the epoch, the last
    one included) and away."""
    sql = text(
        "SELECT DISTINCT archive_id FROM archive_piece WHERE away AND what = 'messages' "
        "AND last_at >= :first AND first_at <= :last"
    )
    within = {"first": -(1 << 62) if first is None else first, "last": 1 << 62 if last is None else last}
    held = set(connection.execute(sql, within).scalars())
    return tuple(one for one in archives(connection) if one.id in held) if held else ()


def told_missing(archives: tuple[Archive, ...]) -> list[str]:
    """What an answer lacks, one line an archive."""
    return [
        f"{one.messages} messages of measures are not in it: archived in {one.name}. {one.advice}" for one in archives
    ]


def missing_words(engine: Engine, first: int | None = None, last: int | None = None) -> list[str]:
    """What an answer about measures lacks, one line an archive; see `missing`."""
    with reading(engine) as connection:
        return told_missing(missing(connection, first, last))


def refuse_archived(engine: Engine, message_id: int) -> None:
    """Nothing where a message that is not in the store is not in an archive either, as far as its number tells.

    Args:
      engine: the store.
      message_id: number of a Kernel message that was not found.

    Raises:
      UserError: it is in an archive, which is named.
    """
    sql = text(
        "SELECT DISTINCT archive_id FROM archive_piece "
        "WHERE away AND what = 'messages' AND first_id <= :id AND last_id >= :id"
    )
    with reading(engine) as connection:
        there = connection.execute(text("SELECT 1 FROM kernel_message WHERE id = :id"), {"id": message_id}).first()
        held = (
            set() if there or abs(message_id) >= 1 << 62 else set(connection.execute(sql, {"id": message_id}).scalars())
        )
        found = [one for one in archives(connection) if one.id in held] if held else []
    if found:
        names = " or ".join(one.name for one in found)
        raise UserError(f"Message {message_id} is archived in {names}.", found[0].advice)


def where_bytes_are(engine: Engine, sha256: bytes) -> Archive | None:
    """The archive that holds the bytes of an envelope; None where none does."""
    sql = text("SELECT archive_id FROM raw WHERE sha256 = :sha256")
    with reading(engine) as connection:
        number = connection.execute(sql, {"sha256": sha256}).scalar()
        if number is None:
            return None
        return next((one for one in archives(connection) if one.id == number), None)


def floor_of(driver: Driver, access_point_id: int) -> int | None:
    """The floor of an access point, microseconds since the epoch; None where its history is whole."""
    return floors_of(driver, [access_point_id]).get(access_point_id)


def floors_of(driver: Driver, access_point_ids: Sequence[int]) -> dict[int, int]:
    """The floors of access points, by id; those whose history is whole have none."""
    sql = "SELECT access_point_id, max(upto) FROM archived_point WHERE true"
    found = driver.matching(sql, access_point_ids, "access_point_id", "GROUP BY access_point_id")
    return {row[0]: row[1] for row in found}


def archive_at(driver: Driver, access_point_id: int) -> str:
    """Words for what is away of an access point, and how it comes back."""
    rows = driver.rows(
        "SELECT a.name, a.folder FROM archived_point p JOIN archive a ON a.id = p.archive_id "
        "WHERE p.access_point_id = ? ORDER BY a.before DESC",
        (access_point_id,),
    )
    names = [row[0] for row in rows]
    if REMOVED in names:
        return "It was removed by retention and does not come back."
    back = " and ".join(f"`energycomm eis archive restore {name}`" for name in names)
    return f"Bring it back with {back}, the latest first."
