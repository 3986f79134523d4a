"""Files outside of the store that may tell of a customer: what channels keep of envelopes that came in.

A folder keeps what was done, known before or refused, with the reason beside it; other channels keep what was refused
in their spool. Such files are written anew without the customer. What waits to be taken in is left alone: it is not in
the store yet, and is cleaned when it is. Files that were left for others, and what is on servers, are theirs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from energycomm.config import Config
from energycomm.private_files import written_whole
from energycomm.transport.settings import FolderSetting

FINISHED = ("done", "duplicate", "failed")
"""Folders of a channel in which files stay that it is done with."""


def folders_of(config: Config) -> tuple[Path, ...]:
    """The folders in which channels keep files that they are done with; those that are there.

    Args:
      config: names the channels, and the folder of their spools.
    """
    found: list[Path] = []
    for channel in config.channels:
        if isinstance(channel, FolderSetting) and channel.direction == "in":
            found += [config.folder / channel.path / name for name in FINISHED]
    if config.spool_folder.is_dir():
        found += sorted(config.spool_folder.glob("*/failed"))
    return tuple(dict.fromkeys(folder for folder in found if folder.is_dir()))


def files_in(folders: tuple[Path, ...], since: int) -> Iterator[Path]:
    """The files of some folders that were changed from an instant on, by name; links are left alone.

    Args:
      folders: the folders.
      since: microseconds since the epoch; 0 for all.
    """
    for folder in folders:
        try:
            with os.scandir(folder) as listing:
                names = sorted(one.name for one in listing if one.is_file(follow_symlinks=False))
        except FileNotFoundError:
            continue
        for name in names:
            path = folder / name
            try:
                changed = path.lstat().st_ctime_ns // 1000
            except FileNotFoundError:
                continue
            if changed >= since:
                yield path


def replace(path: Path, content: bytes) -> None:
    """Write a file anew, whole or not at all.

    Raises:
      OSError: it cannot be written.
    """
    with written_whole(path) as file:
        file.write(content)


def sha256_of(content: bytes) -> bytes:
    """The hash by which the store knows an envelope."""
    return hashlib.sha256(content).digest()
