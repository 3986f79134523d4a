"""Zips, opened with suspicion: the central directory is bounded and checked before a library builds objects from it."""

from __future__ import annotations

import itertools
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, cast

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse
from energycomm.transport.forms import ZIP_ENTRY
from energycomm.transport.limits import Limits
from energycomm.transport.members import ZIP_FAULTS, refusal_of
from energycomm.transport.windows import Window

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_LONGEST_COMMENT = (1 << 16) - 1
_BYTES_PER_ENTRY = 1024
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DRIVE = re.compile(r"^[A-Za-z]:")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


def open_zip(content: Window, path: str, limits: Limits) -> zipfile.ZipFile | Refusal:
    """Open a zip whose directory is whole and within the limits.

    Args:
      content: the zip.
      path: where it is, for the refusal.
      limits: bounds the number of entries, so that no directory can fill the memory.

    Returns:
      The open zip, or a refusal ``ENV_ZIP_BROKEN`` or ``ENV_BOMB``.
    """
    directory = _find_directory(content)
    if directory is None:
        return refuse("ENV_ZIP_BROKEN", path, "no central directory", "a whole zip")
    start, size = directory
    if size > limits.members * _BYTES_PER_ENTRY:
        return refuse("ENV_BOMB", path, f"a directory of {size} bytes", f"at most {limits.members} members")
    entries = _count_entries(content.part(start, size))
    if entries is None:
        return refuse("ENV_ZIP_BROKEN", path, "a damaged central directory", "a whole zip")
    if entries > limits.members:
        return refuse("ENV_BOMB", path, f"{entries} members", f"at most {limits.members}")
    try:
        opened = zipfile.ZipFile(cast(BinaryIO, content.again()))
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, ValueError, struct.error, zlib.error) as fault:
        return refuse("ENV_ZIP_BROKEN", path, str(fault), "a whole zip")
    entries_found = opened.infolist()
    if any(entry.header_offset < 0 for entry in entries_found):
        return refuse("ENV_ZIP_BROKEN", path, "a member before the beginning", "a whole zip")
    if _overlapping(entries_found, start):
        # Damage moves a member to where none begins; a cheat points at real ones.
        if any(content.part(entry.header_offset, 4) != ZIP_ENTRY for entry in entries_found):
            return refuse("ENV_ZIP_BROKEN", path, "a member where none begins", "a whole zip")
        return refuse("ENV_BOMB", path, "members that share bytes", "each member bytes of its own")
    return opened


def _find_directory(content: Window) -> tuple[int, int] | None:
    """Start and size of the central directory, in bytes; None where the end record is missing or impossible."""
    tail_size = min(content.size, _END.size + _LONGEST_COMMENT)
    tail_start = content.size - tail_size
    tail = content.part(tail_start, tail_size)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        return None
    _, disk, directory_disk, _, _, size, _, _ = _END.unpack_from(tail, at)
    end = tail_start + at
    if (disk, directory_disk) not in ((0, 0), (0xFFFF, 0xFFFF), (0, 0xFFFF), (0xFFFF, 0)):
        return None
    record = content.part(end - _LOCATOR_64.size - _END_64.size, _END_64.size) if end >= 76 else b""
    if len(record) == _END_64.size and record.startswith(b"PK\x06\x06"):
        locator = content.part(end - _LOCATOR_64.size, 4)
        if locator == b"PK\x06\x07":
            size = _END_64.unpack(record)[8]
            end -= _LOCATOR_64.size + _END_64.size
    start = end - size
    return (start, size) if start >= 0 else None


def _count_entries(directory: bytes) -> int | None:
    """Number of entries of a central directory; None where it is damaged."""
    at = entries = 0
    while at < len(directory):
        if len(directory) - at < 46 or directory[at : at + 4] != b"PK\x01\x02":
            return None
        name, extra, comment = struct.unpack_from("<3H", directory, at + 28)
        at += 46 + name + extra + comment
        entries += 1
    return entries if at == len(directory) else None


def _overlapping(entries: list[zipfile.ZipInfo], directory: int) -> bool:
    """Whether two entries claim the same bytes of the zip, or one reaches into the directory."""
    ordered = sorted((entry.header_offset, entry.compress_size) for entry in entries)
    ordered.append((directory, 0))
    return any(start + 30 + size > end for (start, size), (end, _) in itertools.pairwise(ordered))


def checked_entries(
    opened: zipfile.ZipFile, folder: str, limits: Limits
) -> Iterator[tuple[zipfile.ZipInfo, str] | Refusal]:
    """Each entry that is content, with its path, or the refusal of an entry that must not be read.

    Args:
      opened: the zip.
      folder: path of the zip inside the envelope, empty for the envelope itself.
      limits: bounds the length of names.

    Yields:
      Folders are passed over. Every entry of a name that occurs twice is refused: nobody can know which one was meant.
    """
    entries = opened.infolist()
    names = Counter(_plain(entry.filename) for entry in entries)
    for entry in entries:
        path = f"{folder}/{entry.filename}" if folder else entry.filename
        trick = _trick(entry, limits)
        if trick is None and names[_plain(entry.filename)] > 1:
            trick = "a name that occurs twice"
        if trick is None and entry.is_dir():
            continue
        if trick is not None:
            yield refuse("ENV_PATH", _UNPRINTABLE.sub("?", path)[: limits.name], trick, "a plain relative name")
        elif entry.flag_bits & 0x2041:
            yield refuse("ENV_ZIP_PASSWORD", path, "an encrypted entry", "an entry without password")
        elif entry.compress_type not in _METHODS or entry.flag_bits & 0x20:
            yield refuse("ENV_COMPRESSION", path, f"method {entry.compress_type}", "stored or deflated")
        else:
            yield entry, path


def _plain(name: str) -> str:
    """A name as a file system that folds slashes and dots would see it."""
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _trick(entry: zipfile.ZipInfo, limits: Limits) -> str | None:
    """What is wrong with an entry's name or nature, in words."""
    name = entry.orig_filename.replace("\\", "/")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a symbolic link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a special file"
    if not _plain(name):
        return "an empty name"
    if name.startswith("/"):
        return "an absolute path"
    if _DRIVE.match(name):
        return "a drive letter"
    if ".." in name.split("/"):
        return "a path that leaves its folder"
    if _UNPRINTABLE.search(name):
        return "a name with control characters"
    if len(name) > limits.name:
        return f"a name of {len(name)} characters"
    if entry.is_dir() and entry.file_size:
        return "a folder with content"
    return None


def read_head(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, size: int) -> bytes | Refusal:
    """The first `size` bytes of an entry, all of it where it is not longer, or the refusal of what is damaged there."""
    try:
        with opened.open(entry) as stream:
            head = stream.read(size)
            if len(head) < min(size, entry.file_size):
                return refuse("ENV_CRC", path, f"{len(head)} bytes", f"{entry.file_size} bytes, as announced")
            return head
    except ZIP_FAULTS as fault:
        return refusal_of(fault, path)
