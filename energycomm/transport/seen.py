"""Which files of a server we have, remembered in a file: for SFTP channels that leave what they fetched where it is."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from energycomm.transport.holding import safe_name, sync_folder


class FileSeen:
    """A memory of one file for each channel: a line for each file that was taken, the hash of its key.

    A memory that is lost costs work only: the files come again, and the store knows their bytes.

    Args:
      folder: folder of the memories.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, set[str]] = {}

    def seen(self, channel: str, key: str) -> bool:
        """Whether the channel's file was marked.

        Raises:
          OSError: the memory cannot be read.
        """
        return _hash(key) in self._of(channel)

    def mark(self, channel: str, key: str) -> None:
        """Remember the channel's file.

        Raises:
          OSError: it cannot be written.
        """
        known, line = self._of(channel), _hash(key)
        if line in known:
            return
        path = self._path(channel)
        new = not path.exists()
        self._folder.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self._folder)
        known.add(line)

    def _of(self, channel: str) -> set[str]:
        if channel not in self._known:
            path = self._path(channel)
            # A last line that a crash cut short is no hash of anything.
            self._known[channel] = set(path.read_text("ascii").split()) if path.exists() else set()
        return self._known[channel]

    def _path(self, channel: str) -> Path:
        return self._folder / f"{safe_name(channel)}.seen"


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()
