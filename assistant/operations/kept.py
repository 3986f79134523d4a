"""What was read of files, kept until one of them changes: reading all rules takes twenty times as long as this.

A value lies in a file of its own, behind a hash of the contents of the files that it was read from and of the state of
the code that reads them. With another hash it is read anew, so nothing that is kept is ever old. Where nothing can be
written, everything is read anew each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from energycomm.private_files import private_folder, written_whole

T = TypeVar("T")

READERS = ("energycomm.kernel", "energycomm.engine", "assistant.operations")
"""The packages whose code makes what is kept."""


class Kept:
    """Values that were read of files.

    Args:
      folder: where they are kept; None keeps nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def value(self, name: str, files: Iterable[Path], read: Callable[[], T], kind: Any) -> T:
        """What `read` gives, or what it gave when the files were as they are now.

        Args:
          name: of the value, and of its file.
          files: every file that it is read from.
          read: reads them.
          kind: type of the value, which msgspec encodes and decodes.

        Raises:
          Exception: whatever `read` raises; then nothing is kept.
        """
        if self.folder is None:
            return read()
        path = self.folder / f"{name}.msgpack"
        hash = _hash(files)
        with suppress(OSError, msgspec.MsgspecError):
            content = path.read_bytes()
            if content.startswith(hash):
                found: T = msgspec.msgpack.decode(memoryview(content)[len(hash) :], type=kind)
                return found
        value = read()
        with suppress(OSError):
            private_folder(self.folder)
            with written_whole(path) as file:
                file.write(hash + msgspec.msgpack.encode(value))
        return value


def _hash(files: Iterable[Path]) -> bytes:
    digest = hashlib.blake2b(_code(), digest_size=32)
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.digest()


@cache
def _code() -> bytes:
    """The state of the code that reads: name, size and time of each of its files."""
    digest = hashlib.blake2b(digest_size=32)
    for package in READERS:
        for file in sorted(Path(str(resources.files(package))).glob("*.py")):
            found = file.stat()
            digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return digest.digest()
