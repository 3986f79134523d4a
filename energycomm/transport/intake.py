"""Intake: the files and folders that an operator names, as an ordered list of envelope files."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse

UNFINISHED: tuple[str, ...] = (
    ".*",
    "~*",
    "*~",
    "#*#",
    "*.tmp",
    "*.temp",
    "*.part",
    "*.partial",
    "*.filepart",
    "*.crdownload",
    "*.download",
    "*.swp",
    "*.lock",
)
"""Names, in lower case, that are hidden or still being written: passed over in folders, read where named."""


class Intake(Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
      files: the envelope files, each once, in the order of the arguments and by name within a folder.
      skipped: hidden and unfinished files, and what is neither file nor folder.
      refusals: arguments that do not exist (``ENV_MISSING``) and folders that cannot be listed (``ENV_UNREADABLE``).
    """

    files: tuple[Path, ...]
    skipped: tuple[Path, ...]
    refusals: tuple[Refusal, ...]


def collect(paths: Iterable[str | os.PathLike[str]]) -> Intake:
    """Find the envelope files of files and folders, folders with everything below them.

    Args:
      paths: files and folders, as given on the command line.

    Returns:
      The same list for the same content of the folders, whatever order the file system gives. Files that vanish while
      the folders are listed are not in it; one that vanishes afterwards is refused when it is opened.
    """
    files: dict[tuple[int, int], Path] = {}
    skipped: list[Path] = []
    refusals: list[Refusal] = []
    for argument in paths:
        path = Path(argument)
        try:
            status = path.stat()
        except (OSError, ValueError) as fault:
            missing = isinstance(fault, FileNotFoundError | NotADirectoryError)
            refusals.append(_refuse_path(path, fault, "ENV_MISSING" if missing else "ENV_UNREADABLE"))
            continue
        found = _below(path, skipped, refusals) if stat.S_ISDIR(status.st_mode) else iter([(path, status)])
        for file, file_status in found:
            if not stat.S_ISREG(file_status.st_mode):
                skipped.append(file)
                continue
            # The same file through two arguments, or through a link, is one envelope.
            files.setdefault((file_status.st_dev, file_status.st_ino), file)
    return Intake(files=tuple(files.values()), skipped=tuple(skipped), refusals=tuple(refusals))


def _below(folder: Path, skipped: list[Path], refusals: list[Refusal]) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file below a folder with its status, in order of names; linked folders are not entered."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if not stat.S_ISDIR(_mode(current)):
            status = _status(current)
            if status is not None:
                yield current, status
            continue
        try:
            with os.scandir(current) as listing:
                names = sorted(entry.name for entry in listing)
        except FileNotFoundError:
            continue
        except OSError as fault:
            refusals.append(_refuse_path(current, fault, "ENV_UNREADABLE"))
            continue
        inside: list[Path] = []
        for name in names:
            path = current / name
            linked_folder = path.is_symlink() and path.is_dir()
            if linked_folder or any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in UNFINISHED):
                skipped.append(path)
            else:
                inside.append(path)
        waiting.extend(reversed(inside))


def _status(path: Path) -> os.stat_result | None:
    """The status of a path, None where it vanished."""
    try:
        return path.stat()
    except OSError:
        return None


def _mode(path: Path) -> int:
    status = _status(path)
    return status.st_mode if status else 0


def _refuse_path(path: Path, fault: OSError | ValueError, code: str) -> Refusal:
    reason = fault.strerror if isinstance(fault, OSError) else str(fault)
    return refuse(code, str(path), reason, "a file or folder that can be read")
