"""A lock on a folder: one process at a time polls what is in it. It vanishes with the process that holds it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from energycomm.private_files import private_folder

LOCK_NAME = ".lock"


class FolderLock:
    """An advisory lock on a folder.

    Args:
      folder: the folder; its file ``.lock`` is locked, and made where it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether we hold it."""
        return self._descriptor is not None

    def take(self) -> bool:
        """Take the lock; False where another process, or another object of this one, holds it.

        Raises:
          OSError: the lock's file cannot be made.
        """
        if self._descriptor is not None:
            return True
        if not self._path.parent.is_dir():
            private_folder(self._path.parent)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens where it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other thread or process is in here with the same file, which is made where it is not there.

    Raises:
      OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make what was renamed into or out of a folder survive a power cut."""
    # Some network file systems do not know this; the rename itself stands.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all, and survives a power cut.

    Raises:
      OSError: it cannot be written; nothing is left behind under its name.
    """
    hidden = path.with_name(f".{path.name[-200:]}.{os.getpid()}.part")
    try:
        with hidden.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def free_name(folder: Path, name: str) -> Path:
    """A path of that name in the folder that nothing has yet: ``a.zip``, ``a.2.zip``, ``a.3.zip``."""
    path, number = folder / name, 1
    while os.path.lexists(path):
        number += 1
        stem, dot, suffix = name.rpartition(".")
        path = folder / (f"{stem}.{number}.{suffix}" if dot and stem else f"{name}.{number}")
    return path


def safe_name(reference: str, longest: int = 150) -> str:
    """A reference as a file name: letters, digits and ``._-`` stay, others become ``%XX``.

    Two references never give one name: what is cut off is replaced by a hash of the whole.
    """
    quoted = quote(reference, safe="._-").lstrip(".") or "%2E"
    if quoted != quote(reference, safe="._-") or len(quoted) > longest:
        return f"{quoted[:longest]}-{sha256(reference.encode()).hexdigest()[:16]}"
    return quoted
