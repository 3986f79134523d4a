"""What was made of files, kept until one of them changes: to read it again takes a tenth of making it, or less.

A value lies in a file of its own, behind the state of all that it was made of: the contents of the files, and the code
that made it. With another state it is made anew, so nothing that is kept is ever old. Where nothing can be written,
everything is made anew each time.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from energycomm.private_files import private_folder, written_whole

T = TypeVar("T")

FOLDER = "kept"
"""Where values are kept, in the assistant's folder."""


class Kept:
    """Values that were made of files.

    Args:
      folder: where they are kept; None keeps nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def value(self, name: str, state: bytes, make: Callable[[], T], kind: Any) -> T:
        """What `make` gives, or what it gave in the same state.

        Args:
          name: of the value, and of its file.
          state: of all that it is made of, of one length; see `state_of`.
          make: makes it.
          kind: type of the value, which msgspec encodes and decodes; a `memoryview` in it stays in the file.

        Raises:
          Exception: whatever `make` raises; then nothing is kept.
        """
        if self.folder is None:
            return make()
        path = self.folder / f"{name}.msgpack"
        with suppress(OSError, ValueError), path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            if content[: len(state)] == state:
                found: T = msgspec.msgpack.decode(content[len(state) :], type=kind)
                return found
        made = make()
        with suppress(OSError):
            private_folder(self.folder)
            with written_whole(path) as file:
                file.write(state + msgspec.msgpack.encode(made))
        return made


def state_of(code: Iterable[str], files: Iterable[Path] = (), known: str = "") -> bytes:
    """The state of what a value is made of.

    Args:
      code: packages whose code makes it.
      files: every file that it is made of.
      known: what else it depends on: the hash of a file that is known already.
    """
    digest = hashlib.blake2b(known.encode(), digest_size=32)
    for package in code:
        digest.update(_state_of_code(package))
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.digest()


@cache
def _state_of_code(package: str) -> bytes:
    """Name, size and time of each file of a package."""
    digest = hashlib.blake2b(digest_size=32)
    for file in sorted(Path(str(resources.files(package))).glob("*.py")):
        found = file.stat()
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return digest.digest()
