"""Folders as channels: files dropped for us, and files that we write for others.

Picking a file up is one rename into ``processing/``, so two processes never read one file. What a crash left in there
is given out again. A file that is still being written is not read: its name says so, or its size or time still change.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, get_args

from energycomm.kernel.counting import counted
from energycomm.private_files import private_folder
from energycomm.transport.channel import Arrival, Direction, Outcome, Outgoing, Sent, TechnicalError
from energycomm.transport.finished_files import Look, QuietFiles, wanted
from energycomm.transport.folder_lock import FolderLock, free_name, safe_name, sync_folder, write_whole

PROCESSING: Final = "processing"
REASON: Final = ".reason.txt"
DEFAULT_LIMIT: Final = 1 << 30
NAMED: Final = 5
"""Files that are left alone, as `check` names them."""
SUFFIXES: Final = {
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/soap+xml": ".xml",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/edifact": ".edi",
    "text/csv": ".csv",
}
"""Media type -> end of the file's name."""


class FolderIn:
    """A folder that files are dropped into.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      path: the folder. ``processing``, ``done``, ``duplicate`` and ``failed`` are made inside it.
      include: patterns of names that are taken; others are left alone.
      settle: seconds that a file must not have changed before it is taken; 0 takes it at once.
      max_bytes: largest file; a larger one goes to ``failed``.
      keep: whether files that are done or duplicate are kept in their folders, or deleted.
      clock: seconds that only go up, for `settle`.
    """

    direction: Direction = "in"

    def __init__(
        self,
        name: str,
        market: str,
        path: Path,
        *,
        include: Sequence[str] = ("*",),
        settle: float = 2.0,
        max_bytes: int = DEFAULT_LIMIT,
        keep: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.market, self.path = name, market, path
        self._include, self._max_bytes, self._keep = tuple(include), max_bytes, keep
        self._quiet = QuietFiles(settle, clock)
        self._lock = FolderLock(path / PROCESSING)
        self._held: set[Path] = set()

    def check(self) -> str | TechnicalError:
        """See whether files could be taken and moved."""
        try:
            waiting = self._waiting()
            left = self._left_alone(waiting)
        except OSError as fault:
            return self._error("CHANNEL_LOCAL", fault)
        for place in (self.path, self.path / PROCESSING):
            if place.exists() and not os.access(place, os.W_OK | os.X_OK):
                return self._error("CHANNEL_LOCAL", f"no permission to move files in {place}")
        return f"{counted(len(waiting), 'file waits', 'files wait')} in {self.path}{left}"

    def _left_alone(self, waiting: Sequence[str]) -> str:
        """What lies there and is never taken, in words: whoever put it there waits for it."""
        ours = {PROCESSING, *get_args(Outcome)}
        there = {entry.name for entry in self.path.iterdir() if not entry.name.startswith(".")}
        left = sorted(there - ours - set(waiting))
        more = ", ..." if len(left) > NAMED else ""
        why = "no files, unfinished, or not among `include`"
        return f"; left alone ({why}): {', '.join(left[:NAMED])}{more}" if left else ""

    def close(self) -> None:
        """Let others poll the folder; arrivals that are neither acknowledged nor given back come again."""
        self._held.clear()
        self._lock.release()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """First what a crash left behind, then the files of the folder, by name."""
        try:
            if not self.path.is_dir():
                yield self._error("CHANNEL_LOCAL", f"the folder {self.path} is not there")
                return
            if not self._lock.take():
                yield self._error("CHANNEL_BUSY", f"{self.path} is polled by another process")
                return
            left = sorted(path for path in (self.path / PROCESSING).iterdir() if not path.name.startswith("."))
            waiting = self._waiting()
        except OSError as fault:
            yield self._error("CHANNEL_LOCAL", fault)
            return
        for path in left:
            if path not in self._held:
                yield from self._give_out(path)
        for name in waiting:
            look = look_at(self.path / name)
            if look is not None and self._quiet.is_quiet(name, look):
                yield from self._pick_up(name, look)

    def _waiting(self) -> list[str]:
        """Names of the files that may be taken, in order."""
        with os.scandir(self.path) as listing:
            names = sorted(entry.name for entry in listing if entry.is_file(follow_symlinks=False))
        self._quiet.keep(names)
        return [name for name in names if wanted(name, self._include)]

    def _pick_up(self, name: str, seen: Look) -> Iterator[Arrival | TechnicalError]:
        source, target = self.path / name, free_name(self.path / PROCESSING, name)
        try:
            source.rename(target)
        except FileNotFoundError:
            return  # whoever dropped it took it away again
        except OSError as fault:
            yield self._error("CHANNEL_LOCAL", fault, name)
            return
        if look_at(target) != seen:  # it was written to between our look and the rename
            target.rename(free_name(self.path, name))
            return
        yield from self._give_out(target)

    def _give_out(self, path: Path) -> Iterator[Arrival | TechnicalError]:
        look = look_at(path)
        if look is None:
            return
        self._held.add(path)
        if look[0] > self._max_bytes:
            detail = f"{look[0]} bytes, at most {self._max_bytes} are allowed; it was moved to failed"
            yield self._settled(path, "failed", detail) or self._error("CHANNEL_TOO_LARGE", detail, path.name)
            return
        yield Arrival(
            self.name,
            path.name,
            look[0],
            lambda: path.open("rb"),
            lambda outcome, reason: self._settled(path, outcome, reason),
            lambda: self._held.discard(path),
        )

    def _settled(self, path: Path, outcome: Outcome, reason: str) -> TechnicalError | None:
        folder = self.path / outcome
        try:
            if outcome != "failed" and not self._keep:
                path.unlink(missing_ok=True)
            elif path.exists():
                private_folder(folder)
                target = free_name(folder, path.name)
                if reason:
                    write_whole(target.with_name(target.name + REASON), reason.encode())
                path.rename(target)
                sync_folder(folder)
            sync_folder(path.parent)
        except OSError as fault:
            return self._error("CHANNEL_LOCAL", fault, path.name)
        self._held.discard(path)
        return None

    def _error(self, code: str, fault: OSError | str, item: str | None = None) -> TechnicalError:
        return local_error(code, self.name, fault, item)


class FolderOut:
    """A folder that we leave files in, each whole or not there at all, named by type and reference.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      path: the folder.
    """

    direction: Direction = "out"

    def __init__(self, name: str, market: str, path: Path) -> None:
        self.name, self.market, self.path = name, market, path

    def check(self) -> str | TechnicalError:
        """See whether files could be written."""
        if not self.path.is_dir():
            return local_error("CHANNEL_LOCAL", self.name, f"the folder {self.path} is not there")
        if not os.access(self.path, os.W_OK | os.X_OK):
            return local_error("CHANNEL_LOCAL", self.name, f"no permission to write in {self.path}")
        return f"files can be left in {self.path}"

    def close(self) -> None:
        """Nothing is held open."""

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Leave a message as a file. The same bytes once more are not written again; others under its name neither."""
        path = self.path / file_name(message)
        try:
            if path.exists():
                if path.read_bytes() == message.content:
                    return Sent(reference=message.reference, receipt=path.name, duplicate=True)
                detail = f"{path.name} is there already with other content"
                return local_error("CHANNEL_CONFLICT", self.name, detail, message.reference)
            write_whole(path, message.content)
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.name, fault, message.reference)
        return Sent(reference=message.reference, receipt=path.name)


def local_error(code: str, channel: str, fault: OSError | str, item: str | None = None) -> TechnicalError:
    """An error of our own disk in words."""
    words = fault if isinstance(fault, str) else f"{fault.filename or ''}: {fault.strerror}".lstrip(": ")
    return TechnicalError(code=code, channel=channel, detail=words, item=item)


def file_name(message: Outgoing) -> str:
    """The name of a message's file: its type, its reference, and the end that goes with its media type."""
    media = message.content_type.partition(";")[0].strip().lower()
    return f"{safe_name(message.type, 60)}_{safe_name(message.reference)}{SUFFIXES.get(media, '.bin')}"


def look_at(path: Path) -> Look | None:
    """What tells whether a file changed; None where it is not there or no ordinary file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ino) if stat.S_ISREG(status.st_mode) else None
