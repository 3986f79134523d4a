"""Files and folders that only the user who runs EnergyComm may read, whatever the umask.

Files are 0600 and folders 0700: the database and what SQLite keeps beside it, spools, the assistant's index. A file or
spool that was wider is narrowed when it is opened; a folder that somebody else may have made for other things too is
left as it is. Where the file system knows no modes, or the file is another user's, a warning is logged and work goes
on.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from energycomm.logs import Log

log = Log()

OTHERS = 0o077
"""What group and others may do: nothing."""

BESIDE = ("-wal", "-shm", "-journal")
"""Endings of what SQLite keeps beside a database."""

_LOOKING = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""How a file is opened whose content does not matter."""

_warned: set[Path] = set()


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """A block in which files created by this process and its children are readable by their user only."""
    before = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def private_file(path: Path, beside: Sequence[str] = ()) -> Path:
    """Make a file that only its owner may read, or narrow one that is there. Its content is left alone.

    Args:
      path: the file; its folder exists. A file that cannot be made is left for whoever opens it to complain of.
      beside: endings of further files of the same name that are narrowed where they are there.

    Returns:
      The path, so that it can be opened at once.

    Raises:
      PermissionError: it is a link that another user made.
    """
    _refuse_foreign_link(path)
    with contextlib.suppress(OSError):
        # Not through a link: a file is made where it was asked for, or not at all.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    for one in (path, *(path.with_name(path.name + ending) for ending in beside)):
        _narrow(one)
    return path


def private_folder(folder: Path, *, ours: bool = False) -> Path:
    """Make a folder that only its owner may enter, with those above it that are not there.

    Args:
      folder: the folder.
      ours: it holds nothing but what we put there: narrow it where it is there already.

    Returns:
      The folder.

    Raises:
      OSError: it cannot be made, or is a link that another user made.
    """
    _refuse_foreign_link(folder)
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    if ours:
        _narrow(folder)
    return folder


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A block that writes a file, which takes its place when all of it is on the disk; else nothing changes.

    Args:
      path: the file, readable by its owner only; its folder exists.

    Raises:
      PermissionError: it is a link that another user made.
      OSError: it cannot be written.
    """
    _refuse_foreign_link(path)
    place, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    hidden = Path(name)
    try:
        with os.fdopen(place, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _refuse_foreign_link(path: Path) -> None:
    """Refuse a link that another user laid where a file of ours belongs; root and we ourselves may."""
    try:
        found = path.lstat()
    except OSError:
        return
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), 0):
        raise PermissionError(f"{path} is a link that another user made")


def _by_descriptor(place: int, path: Path) -> Path:
    """What names an open file that was not opened for its content: no other way changes its mode."""
    return Path(f"/proc/self/fd/{place}") if hasattr(os, "O_PATH") else path


def _narrow(path: Path) -> None:
    """Take the rights of others from a file or folder of ours."""
    try:
        # Through its descriptor: what is narrowed is what was looked at, even when the name is exchanged meanwhile.
        # One that was opened for its content would, when it is closed, release the locks that SQLite holds on the file
        # in this process: another process would then take the write-ahead log away under our open connections.
        place = os.open(path.resolve(), _LOOKING | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        found = os.fstat(place)
        if found.st_mode & OTHERS and (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            with contextlib.suppress(OSError):
                _by_descriptor(place, path).chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
            if os.fstat(place).st_mode & OTHERS and path not in _warned:
                _warned.add(path)
                mode = oct(stat.S_IMODE(found.st_mode))
                log.warning("file.open_to_others", path=str(path), mode=mode, advice="take the rights of others away")
    finally:
        os.close(place)
