"""SFTP channels: files fetched from a server, and files left on one.

A file is fetched into the spool, looked at once more on the server, and only then given out: one that changed meanwhile
is fetched again later. A fetch that was broken off is taken up where it stopped. When the store has the bytes the file
is deleted, moved, or remembered as seen.
"""

from __future__ import annotations

import io
import posixpath
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

import paramiko
from msgspec import Struct

from energycomm.kernel.counting import counted
from energycomm.transport.channel import Arrival, Direction, Outgoing, Seen, Sent, TechnicalError
from energycomm.transport.finished_files import QuietFiles, wanted
from energycomm.transport.folders import DEFAULT_LIMIT, file_name, local_error
from energycomm.transport.sftp_session import FAULTS, SftpServer, SftpSession, pieces
from energycomm.transport.spool import Entry, Spool

After = Literal["delete", "move", "keep"]
"""What happens on the server to a file that the store has."""

DEEPEST: Final = 8
"""Folders inside each other that are looked into."""


class _OurDiskError(Exception):
    """Our own disk did not take what came; not to be mistaken for a fault of the server."""

    def __init__(self, fault: OSError) -> None:
        super().__init__(str(fault))
        self.fault = fault


class RemoteFile(Struct, frozen=True, kw_only=True):
    """A file on a server as a listing shows it: path, bytes, and the second of its last change."""

    path: str
    size: int
    changed: int

    @property
    def key(self) -> str:
        """Names this content of this file: a new size or time is a new file."""
        return f"{self.path}|{self.size}|{self.changed}"


class SftpIn:
    """A folder on a server that a market leaves files in.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      server: where it is and who we are.
      path: the folder on the server.
      spool: folder of ours where files lie until the store has them.
      after: what happens to a file that the store has.
      move_to: folder on the server for ``move``.
      seen: remembers what was taken, for ``keep``.
      recursive: whether folders inside are looked into, at most `DEEPEST` deep.
      include: patterns of file names that are taken.
      settle: seconds that a file must not have changed.
      max_bytes: largest file; larger ones are told and left.
      max_files: most files of one poll.
      clock: seconds that only go up, for `settle`.

    Raises:
      ValueError: ``move`` without `move_to`, or ``keep`` without `seen`.
    """

    direction: Direction = "in"

    def __init__(
        self,
        name: str,
        market: str,
        server: SftpServer,
        path: str,
        spool: Path,
        *,
        after: After = "delete",
        move_to: str | None = None,
        seen: Seen | None = None,
        recursive: bool = False,
        include: Sequence[str] = ("*",),
        settle: float = 10.0,
        max_bytes: int = DEFAULT_LIMIT,
        max_files: int = 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if after == "move" and move_to is None:
            raise ValueError("move needs the folder to move to")
        if after == "keep" and seen is None:
            raise ValueError("`keep` needs a record of the files that were fetched")
        self.name, self.market, self.path = name, market, posixpath.normpath(path)
        self._session, self._spool = SftpSession(name, server), Spool(name, spool)
        self._after, self._seen = after, seen
        self._move_to = posixpath.normpath(move_to) if move_to is not None else None
        self._recursive, self._include = recursive, tuple(include)
        self._max_bytes, self._max_files = max_bytes, max_files
        self._quiet = QuietFiles(settle, clock)

    def check(self) -> str | TechnicalError:
        """Log in and list the folder."""
        found = self._session.attempt(self._list)
        if isinstance(found, TechnicalError):
            return found
        return f"{counted(len(found), 'file')} in {self.path} on {self._session.server.host}"

    def close(self) -> None:
        """Close the connection and let others poll."""
        self._session.close()
        self._spool.close()

    def poll(self) -> Iterator[Arrival | TechnicalError]:
        """First what was fetched before a crash, then the files of the server, the oldest first."""
        error = self._spool.open_for_polling()
        if error is not None:
            yield error
            return
        yield from self._spool.arrivals(self._told)
        for error in self._spool.retell(self._told):
            yield error
            if error.item is None:
                return
        listed = self._session.attempt(self._list)
        if isinstance(listed, TechnicalError):
            yield listed
            return
        self._quiet.keep([file.path for file in listed])
        left = self._max_files
        for file in sorted(listed, key=lambda file: (file.changed, file.path)):
            if left <= 0:
                return
            if not self._due(file):
                continue
            left -= 1
            outcome = self._fetch(file)
            if isinstance(outcome, Entry):
                yield self._spool.arrival(outcome, self._told)
            elif outcome is not None:
                yield outcome
                if outcome.item is None:
                    return

    def _list(self, sftp: paramiko.SFTPClient) -> list[RemoteFile]:
        """Every file that may be taken; folders that vanish or may not be read are passed over, but for the first."""
        found: list[RemoteFile] = []
        waiting = [(self.path, 0)]
        while waiting:
            folder, depth = waiting.pop()
            try:
                items = sftp.listdir_attr(folder)
            except (FileNotFoundError, PermissionError):
                if depth == 0:
                    raise
                continue
            for item in items:
                path, mode = posixpath.join(folder, item.filename), item.st_mode or 0
                if stat.S_ISDIR(mode):
                    if self._recursive and depth < DEEPEST and path != self._move_to:
                        waiting.append((path, depth + 1))
                elif stat.S_ISREG(mode) and wanted(item.filename, self._include):
                    found.append(RemoteFile(path=path, size=item.st_size or 0, changed=item.st_mtime or 0))
        return found

    def _due(self, file: RemoteFile) -> bool:
        """Whether a file is finished and not ours already."""
        if not self._quiet.is_quiet(file.path, (file.size, file.changed * 1_000_000_000)):
            return False
        if self._spool.find(file.key) is not None:
            return False
        return self._seen is None or self._after != "keep" or not self._seen.seen(self.name, file.key)

    def _fetch(self, file: RemoteFile) -> Entry | TechnicalError | None:
        """Fetch one file into the spool; None where it vanished or changed."""
        if file.size > self._max_bytes:
            detail = f"{file.size} bytes, at most {self._max_bytes} are allowed; it stays on the server"
            return TechnicalError(code="CHANNEL_TOO_LARGE", channel=self.name, detail=detail, item=file.path)
        part = self._spool.folder / f".{sha256(file.key.encode()).hexdigest()[:32]}.part"
        try:
            local = part.open("ab", buffering=0)
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.name, fault, file.path)
        try:
            with local:
                fetched = self._session.attempt(lambda sftp: self._whole(sftp, file, local), file.path)
        except _OurDiskError as ours:
            return local_error("CHANNEL_LOCAL", self.name, ours.fault, None)
        if isinstance(fetched, TechnicalError):
            return fetched
        if not fetched:
            part.unlink(missing_ok=True)
            return None
        try:
            return self._spool.adopt(part, file.key, posixpath.basename(file.path), place=file.path)
        except OSError as fault:
            return local_error("CHANNEL_LOCAL", self.name, fault, file.path)

    def _whole(self, sftp: paramiko.SFTPClient, file: RemoteFile, local: io.FileIO) -> bool:
        """Fetch what is missing of a file; False where it is not the file that was listed any more."""
        have = local.tell()
        try:
            if have < file.size:
                with sftp.open(file.path, "rb") as remote:
                    for chunk in pieces(remote, have, file.size):
                        _write(local, chunk)
                        have += len(chunk)
            now = sftp.stat(file.path)
        except FileNotFoundError:
            return False  # somebody took it away since it was listed
        return (have, now.st_size, now.st_mtime) == (file.size, file.size, file.changed)

    def _told(self, entry: Entry) -> TechnicalError | None:
        """The store has a file: delete, move or mark it."""
        path = entry.place or ""
        if self._after == "keep":
            assert self._seen is not None
            self._seen.mark(self.name, entry.key)
            return None
        done = self._session.attempt(lambda sftp: self._put_away(sftp, path, entry.key), path)
        return done if isinstance(done, TechnicalError) else None

    def _put_away(self, sftp: paramiko.SFTPClient, path: str, key: str) -> None:
        try:
            now = sftp.stat(path)
        except FileNotFoundError:
            return  # somebody else took it away: that is what we wanted
        if RemoteFile(path=path, size=now.st_size or 0, changed=now.st_mtime or 0).key != key:
            return  # a new file under the old name: not ours to remove, the next poll takes it
        if self._after == "delete":
            sftp.remove(path)
            return
        assert self._move_to is not None
        target = posixpath.join(self._move_to, posixpath.basename(path))
        number = 1
        while _exists(sftp, target):
            number += 1
            target = posixpath.join(self._move_to, f"{number}-{posixpath.basename(path)}")
        sftp.rename(path, target)


class SftpOut:
    """A folder on a server that we leave files in: written under a hidden name, then renamed.

    Args:
      name: name of the channel.
      market: ISO code of the market.
      server: where it is and who we are.
      path: the folder on the server.
    """

    direction: Direction = "out"

    def __init__(self, name: str, market: str, server: SftpServer, path: str) -> None:
        self.name, self.market, self.path = name, market, path
        self._session = SftpSession(name, server)

    def check(self) -> str | TechnicalError:
        """Log in and look at the folder."""
        mode = self._session.attempt(lambda sftp: sftp.stat(self.path).st_mode)
        if isinstance(mode, TechnicalError):
            return mode
        if not stat.S_ISDIR(mode or 0):
            return TechnicalError(code="CHANNEL_REFUSED", channel=self.name, detail=f"{self.path} is no folder")
        return f"files can be left in {self.path} on {self._session.server.host}"

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def send(self, message: Outgoing) -> Sent | TechnicalError:
        """Leave a message as a file. The same bytes once more are not written again, while the file is still there."""
        path = posixpath.join(self.path, file_name(message))
        renaming = False
        try:
            sftp = self._session.sftp()
            if _exists(sftp, path):
                return self._again(sftp, path, message)
            hidden = posixpath.join(self.path, f".{posixpath.basename(path)}.part")
            # paramiko compares the size on the server with what was written.
            sftp.putfo(io.BytesIO(message.content), hidden, len(message.content), confirm=True)
            renaming = True
            sftp.posix_rename(hidden, path)
        except FAULTS as fault:
            error = self._session.fault(fault, message.reference)
            return TechnicalError(
                code=error.code, channel=self.name, detail=error.detail, item=message.reference, maybe_sent=renaming
            )
        return Sent(reference=message.reference, receipt=path)

    def _again(self, sftp: paramiko.SFTPClient, path: str, message: Outgoing) -> Sent | TechnicalError:
        with sftp.open(path, "rb") as remote:
            same = remote.read(len(message.content) + 1) == message.content
        if same:
            return Sent(reference=message.reference, receipt=path, duplicate=True)
        detail = f"{path} is there already with other content"
        return TechnicalError(code="CHANNEL_CONFLICT", channel=self.name, detail=detail, item=message.reference)


def _write(local: io.FileIO, chunk: bytes) -> None:
    left = memoryview(chunk)
    try:
        while left:
            left = left[local.write(left) :]
    except OSError as fault:
        raise _OurDiskError(fault) from fault


def _exists(sftp: paramiko.SFTPClient, path: str) -> bool:
    try:
        sftp.stat(path)
    except FileNotFoundError:
        return False
    return True
