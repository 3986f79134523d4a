"""A spool: where bytes from afar lie on our own disk, safe from a power cut, until the store has them.

Each entry is two files: the content, and beside it what is known of it. The second is written last and whole; content
without it was not finished and is not an entry.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from energycomm.private_files import private_folder
from energycomm.transport.channel import Arrival, Outcome, TechnicalError
from energycomm.transport.folder_lock import FolderLock, free_name, safe_name, sync_folder, write_whole
from energycomm.transport.folders import REASON, local_error

CONTENT: Final = ".content"
ABOUT: Final = ".json"
CHUNK: Final = 1 << 18
STALE: Final = 7 * 86_400
"""Seconds after which what was never finished is cleared away."""


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one entry.

    Attributes:
      key: names it; two entries of one key do not exist at one time.
      name: file name of the envelope, for people and for series.
      size: bytes of its content.
      sha256: their hash in hexadecimal.
      order: entries are given out by it, then by key.
      reference: the other side's identifier.
      place: where the other side has it (a path), for what is still to be done there.
      settled: the store has it; only the other side is still to be told.
    """

    key: str
    name: str
    size: int
    sha256: str
    order: int
    reference: str | None = None
    place: str | None = None
    settled: bool = False


class Spool:
    """The spool of one channel.

    Args:
      channel: name of the channel.
      folder: its folder; made when it is needed. Failed arrivals are kept in its folder ``failed``.
    """

    def __init__(self, channel: str, folder: Path) -> None:
        self.channel, self.folder = channel, folder
        self.lock = FolderLock(folder)
        self._held: set[str] = set()

    def open_for_polling(self) -> TechnicalError | None:
        """Take the lock and remove unfinished entries; the error if another process polls."""
        try:
            private_folder(self.folder, ours=True)
            if self.lock.held:
                return None
            if not self.lock.take():
                return local_error("CHANNEL_BUSY", self.channel, f"{self.folder} is used by another process")
            self._sweep()
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.channel, fault)
        return None

    def close(self) -> None:
        """Return unsettled entries, and release the lock."""
        self._held.clear()
        self.lock.release()

    def put(
        self, key: str, name: str, source: IO[bytes], reference: str | None = None, place: str | None = None
    ) -> Entry:
        """Take a copy of some content; the entry is there whole, or not at all.

        Args:
          key: names the entry; content that is there under this key already is replaced.
          name: file name of the envelope.
          source: the content, read to its end.
          reference: the other side's identifier.
          place: where the other side has it.

        Raises:
          OSError: the disk cannot take it.
        """
        private_folder(self.folder, ours=True)
        # The process and the time keep two writers of one key apart; the last rename decides.
        part = self.folder / f".{safe_name(key, 80)}.{os.getpid()}.{time.monotonic_ns()}.part"
        digest, size = sha256(), 0
        try:
            with part.open("wb") as file:
                while chunk := source.read(CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                file.flush()
                os.fsync(file.fileno())
            return self._enter(part, key, name, size, digest.hexdigest(), reference, place)
        finally:
            part.unlink(missing_ok=True)

    def adopt(self, part: Path, key: str, name: str, place: str) -> Entry:
        """Make an entry of a finished file that lies in the spool's folder.

        Raises:
          OSError: it cannot be read or moved.
        """
        with part.open("rb") as file:
            digest = sha256()
            while chunk := file.read(CHUNK):
                digest.update(chunk)
            os.fsync(file.fileno())
        return self._enter(part, key, name, part.stat().st_size, digest.hexdigest(), None, place)

    def _enter(
        self, part: Path, key: str, name: str, size: int, digest: str, reference: str | None, place: str | None
    ) -> Entry:
        entry = Entry(
            key=key, name=name, size=size, sha256=digest, order=time.time_ns(), reference=reference, place=place
        )
        part.replace(self._content(key))
        self._write(entry)
        return entry

    def find(self, key: str) -> Entry | None:
        """The entry of a key; None where there is none."""
        return self._read(self._about(key))

    def count(self) -> int:
        """How many entries there are."""
        if not self.folder.is_dir():
            return 0
        return sum(1 for path in self.folder.iterdir() if path.suffix == ABOUT and not path.name.startswith("."))

    def entries(self) -> list[Entry]:
        """Every entry, the oldest first."""
        if not self.folder.is_dir():
            return []
        paths = [path for path in self.folder.iterdir() if path.suffix == ABOUT and not path.name.startswith(".")]
        found = [entry for path in paths if (entry := self._read(path)) is not None]
        return sorted(found, key=lambda entry: (entry.order, entry.key))

    def arrivals(self, told: Callable[[Entry], TechnicalError | None] = lambda entry: None) -> Iterator[Arrival]:
        """The entries that are neither settled nor given out.

        Args:
          told: tells the other side that we have an entry; on an error it is asked again by `retell`.
        """
        for entry in self.entries():
            if not entry.settled and entry.key not in self._held:
                yield self.arrival(entry, told)

    def arrival(self, entry: Entry, told: Callable[[Entry], TechnicalError | None] = lambda entry: None) -> Arrival:
        """Give out one entry."""
        self._held.add(entry.key)
        return Arrival(
            self.channel,
            entry.name,
            entry.size,
            lambda: self._content(entry.key).open("rb"),
            lambda outcome, reason: self._settle(entry, outcome, reason, told),
            lambda: self._held.discard(entry.key),
            entry.reference,
        )

    def retell(self, told: Callable[[Entry], TechnicalError | None]) -> list[TechnicalError]:
        """Repeat the confirmations that failed before; the errors. An error of the channel ends it."""
        errors: list[TechnicalError] = []
        for entry in self.entries():
            error = self._tell(entry, told) if entry.settled else None
            if error is not None:
                errors.append(error)
                if error.item is None:
                    break
        return errors

    def _sweep(self) -> None:
        """Clear away old content that never became an entry."""
        known = {self._content(entry.key) for entry in self.entries()}
        for path in self.folder.iterdir():
            unfinished = path.name.endswith(".part") or (path.suffix == CONTENT and path not in known)
            if unfinished and time.time() - path.lstat().st_mtime > STALE:
                path.unlink(missing_ok=True)

    def _settle(
        self, entry: Entry, outcome: Outcome, reason: str, told: Callable[[Entry], TechnicalError | None]
    ) -> TechnicalError | None:
        try:
            if outcome == "failed":
                self._keep_failed(entry, reason)
            entry = msgspec.structs.replace(entry, settled=True)
            self._write(entry)
            self._content(entry.key).unlink(missing_ok=True)
            self._held.discard(entry.key)
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.channel, fault, entry.name)
        return self._tell(entry, told)

    def _tell(self, entry: Entry, told: Callable[[Entry], TechnicalError | None]) -> TechnicalError | None:
        error = told(entry)
        if error is None:
            try:
                self._about(entry.key).unlink(missing_ok=True)
                self._content(entry.key).unlink(missing_ok=True)
            except OSError as fault:
                return local_error("CHANNEL_LOCAL", self.channel, fault, entry.name)
        return error

    def _keep_failed(self, entry: Entry, reason: str) -> None:
        folder = private_folder(self.folder / "failed", ours=True)
        target = free_name(folder, safe_name(entry.name))
        if reason:
            write_whole(target.with_name(target.name + REASON), reason.encode())
        if self._content(entry.key).exists():
            self._content(entry.key).rename(target)
            sync_folder(folder)

    def _write(self, entry: Entry) -> None:
        write_whole(self._about(entry.key), msgspec.json.encode(entry))

    def _read(self, path: Path) -> Entry | None:
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=Entry)
        except (OSError, msgspec.MsgspecError):
            return None
        return entry if entry.settled or self._content(entry.key).exists() else None

    def _content(self, key: str) -> Path:
        return self.folder / (safe_name(key) + CONTENT)

    def _about(self, key: str) -> Path:
        return self.folder / (safe_name(key) + ABOUT)
