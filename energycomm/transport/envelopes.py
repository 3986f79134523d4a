"""Envelopes: decrypted, unzipped at any depth, and given out member by member, without ever trusting a name or a size.

What is wrong with an envelope or a member is a `Refusal` among the members; a member that proves damaged only while it
is read raises `BrokenMember` from its stream. Nothing is ever unpacked under a name of its own, and no member is wholly
in memory.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse
from energycomm.transport.forms import HEAD, Form, form_of, known_binary, may_be_encrypted
from energycomm.transport.keys import KeyRing
from energycomm.transport.limits import Account, Limits
from energycomm.transport.members import BrokenMember, Member, MemberForm
from energycomm.transport.windows import Spool, Window, chunks_of
from energycomm.transport.zips import checked_entries, open_zip, read_head

SMALL = 1 << 18
"""Size in bytes up to which a zip's entry is unpacked at once; one such entry is kept in memory at a time."""

Source = str | os.PathLike[str] | bytes | IO[bytes] | Iterable[bytes]


def open_envelope(
    source: Source,
    name: str = "",
    keys: KeyRing | None = None,
    limits: Limits | None = None,
    *,
    day: date | None = None,
    sha256: bytes | None = None,
) -> Envelope:
    """Open an envelope and give out its members.

    Args:
      source: path of a file; or its bytes, a binary stream, or chunks, which are copied to a temporary file.
      name: the envelope's file name, for reports; the path's by default.
      keys: the key ring; without one, encrypted envelopes are refused.
      limits: what the envelope may cost.
      day: day the envelope was made, where known: keys in use that day are tried first.
      sha256: digest of the source, 32 bytes, where known: a member that is all of it is not digested again.

    Returns:
      An iterator of `Member` and `Refusal`, which is a context manager too: members can be read until it is closed.
      Nothing is read before the first step.
    """
    return Envelope(source, name, keys or KeyRing(), limits or Limits(), day, sha256)


class Whole:
    """An envelope that is one member, whatever its form: it is not unpacked.

    Attributes:
      key_label: None: it is not encrypted.

    Args:
      name: its file name.
      size: in bytes.
      limits: what it may cost.
      opener: gives its bytes anew.
    """

    key_label: str | None = None

    def __init__(self, name: str, size: int, limits: Limits, opener: Callable[[], IO[bytes]]) -> None:
        self._name, self._size, self._limits, self._opener = name, size, limits, opener

    def __iter__(self) -> Iterator[Member | Refusal]:
        if self._size > self._limits.envelope:
            yield refuse("ENV_TOO_LARGE", self._name, f"{self._size} bytes", f"at most {self._limits.envelope}")
        else:
            yield Member(self._name, "other", self._size, self._opener)

    def __enter__(self) -> Whole:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""


class Envelope:
    """The iterator that `open_envelope` gives.

    Attributes:
      name: the envelope's file name.
      size: size of the envelope as received, in bytes; None until the first step.
      key_label: label of the key that opened it; None where it is not encrypted.
    """

    def __init__(
        self, source: Source, name: str, keys: KeyRing, limits: Limits, day: date | None, sha256: bytes | None
    ) -> None:
        self.name = name or (Path(source).name if isinstance(source, str | os.PathLike) else "envelope")
        self.size: int | None = None
        self.key_label: str | None = None
        self._source = source
        self._keys = keys.in_order(day)
        self._limits = limits
        self._sha256 = sha256
        self._account = Account(limits, 1)
        self._spool = Spool(limits.envelope)
        self._files: list[IO[bytes]] = []
        self._recent: tuple[zipfile.ZipInfo, bytes] | None = None
        self._steps: Iterator[Member | Refusal] = self._walk()
        # Members hold their envelope: it is closed when the last of them is gone, should nobody close it before.
        self._finalizer = weakref.finalize(self, _close, self._spool, self._files)

    def __iter__(self) -> Iterator[Member | Refusal]:
        return self

    def __next__(self) -> Member | Refusal:
        return next(self._steps)

    def __enter__(self) -> Envelope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release files and temporary space; members cannot be read afterwards."""
        self._finalizer()

    def _walk(self) -> Iterator[Member | Refusal]:
        try:
            content = self._content()
        except BrokenMember as broken:
            yield broken.refusal
            return
        if isinstance(content, Refusal):
            yield content
            return
        self.size = content.size
        self._account = Account(self._limits, content.size)
        if content.size > self._limits.envelope:
            yield refuse("ENV_TOO_LARGE", self.name, f"{content.size} bytes", f"at most {self._limits.envelope}")
            return
        yield from self._examine(content, "", 0)

    def _content(self) -> Window | Refusal:
        """The source as a seekable window."""
        source = self._source
        if isinstance(source, str | os.PathLike):
            return self._open_file(os.fspath(source))
        if isinstance(source, bytes):
            chunks: Iterable[bytes] = (source,)
        elif hasattr(source, "read"):
            chunks = chunks_of(cast(IO[bytes], source))
        else:
            chunks = source
        return self._spool.write(chunks, self.name)

    def _open_file(self, path: str) -> Window | Refusal:
        try:
            # Without O_NONBLOCK a pipe that somebody left in the folder would stop the gateway for ever.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as fault:
            gone = isinstance(fault, OSError) and fault.errno in (errno.ENOENT, errno.ENOTDIR)
            reason = fault.strerror if isinstance(fault, OSError) else str(fault)
            return refuse("ENV_MISSING" if gone else "ENV_UNREADABLE", self.name, reason, "a readable file")
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return refuse("ENV_UNREADABLE", self.name, "not a regular file", "a file")
        file = open(descriptor, "rb", buffering=0)  # noqa: SIM115, PTH123
        self._files.append(file)
        return Window(file, 0, status.st_size)

    def _examine(self, content: Window, folder: str, depth: int) -> Iterator[Member | Refusal]:
        """Say what seekable content is: a zip, an encrypted zip, or a member.

        Args:
          content: the envelope, or an inner zip.
          folder: its path inside the envelope, empty for the envelope itself.
          depth: number of zips it is in.
        """
        path = folder or self.name
        head = content.part(0, HEAD)
        form = form_of(head)
        if form == "zip":
            yield from self._unzip(content, folder, depth + 1)
            return
        # A short cipher text may pass for text by chance: keys come before XML and JSON.
        if self._opens_with_a_key(form, head):
            clear = self._decrypt(content, head, path)
            if isinstance(clear, Refusal):
                yield clear
            else:
                yield from self._unzip(clear, folder, depth + 1)
        elif form == "empty" or form == "binary":
            yield self._not_a_member(head, content.size, path)
        elif content.size > self._limits.member:
            yield refuse("ENV_TOO_LARGE", path, f"{content.size} bytes", f"at most {self._limits.member}")
        else:
            member = self._member(path, form, content.size, content.stream)
            member.sha256 = None if depth else self._sha256
            yield member

    def _unzip(self, content: Window, folder: str, depth: int) -> Iterator[Member | Refusal]:
        path = folder or self.name
        if depth > self._limits.depth:
            yield refuse("ENV_DEPTH", path, f"{depth} zips inside each other", f"at most {self._limits.depth}")
            return
        opened = open_zip(content, path, self._limits)
        if isinstance(opened, Refusal):
            yield opened
            return
        entries = opened.infolist()
        # Members too large by themselves are refused alone, so that one does not take the others with it.
        sound = [entry.file_size for entry in entries if not self._too_much(entry, path)]
        refusal = self._account.enter(path, len(entries), sum(sound))
        if refusal is not None:
            yield refusal
            return
        found = False
        for checked in checked_entries(opened, folder, self._limits):
            found = True
            if isinstance(checked, Refusal):
                yield checked
            else:
                yield from self._examine_entry(opened, *checked, depth)
        if not found:
            yield refuse("ENV_EMPTY", path, "a zip without members", "at least one member")

    def _too_much(self, entry: zipfile.ZipInfo, path: str) -> Refusal | None:
        return self._account.check_member(path, entry.compress_size, entry.file_size)

    def _examine_entry(
        self, opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: str, depth: int
    ) -> Iterator[Member | Refusal]:
        """Say what an entry of a zip is; inner zips are copied to the spool, since a zip must be seekable."""
        refusal = self._too_much(entry, path)
        # A small entry is unpacked once and kept until the next one is looked at; opening it costs nothing then.
        whole = entry.file_size <= SMALL
        content = refusal or read_head(opened, entry, path, SMALL if whole else HEAD)
        if isinstance(content, Refusal):
            yield content
            return
        self._recent = (entry, content) if whole else None
        head = content[:HEAD]
        form = form_of(head)
        if form == "zip" or self._opens_with_a_key(form, head):
            if depth >= self._limits.depth:
                yield refuse("ENV_DEPTH", path, f"{depth + 1} zips inside each other", f"at most {self._limits.depth}")
                return
            try:
                inner = Member(path, "other", entry.file_size, lambda: self._open_entry(opened, entry))
                with inner.open() as stream:
                    window = self._spool.write(chunks_of(stream), path)
            except BrokenMember as broken:
                yield broken.refusal
                return
            yield from self._examine(window, path, depth)
        elif form == "empty" or form == "binary":
            yield self._not_a_member(head, entry.file_size, path)
        else:
            yield self._member(path, form, entry.file_size, lambda: self._open_entry(opened, entry))

    def _open_entry(self, opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
        recent = self._recent
        return io.BytesIO(recent[1]) if recent is not None and recent[0] is entry else opened.open(entry)

    def _member(self, path: str, form: MemberForm, size: int, opener: Callable[[], IO[bytes]]) -> Member:
        def open_while_open() -> IO[bytes]:
            if not self._finalizer.alive:
                raise ValueError(f"{path}: the envelope is closed")
            return opener()

        return Member(path, form, size, open_while_open)

    def _opens_with_a_key(self, form: Form, head: bytes) -> bool:
        """Whether content begins like a zip under some key.

        Cipher text has control characters: a long head that is XML or JSON is none, and costs no trial.
        """
        if form in ("xml", "json") and len(head) >= HEAD // 2:
            return False
        return any(key.opens_beginning(head) for key in self._keys)

    def _decrypt(self, content: Window, head: bytes, path: str) -> Window | Refusal:
        """The clear text under the one key that gives valid padding and a zip that opens."""
        damaged = ""
        for key in self._keys:
            if not key.opens_beginning(head):
                continue
            damaged = damaged or key.label
            clear_size = key.clear_size(content)
            if clear_size is None:
                continue
            try:
                clear = self._spool.write(key.decrypt(content, clear_size), path)
            except BrokenMember as broken:
                return broken.refusal
            opened = open_zip(clear, path, self._limits)
            if isinstance(opened, zipfile.ZipFile):
                self.key_label = self.key_label or key.label
                return clear
            if opened.code == "ENV_BOMB":
                return opened
            self._spool.release(clear)
        return refuse(
            "ENV_ZIP_BROKEN",
            path,
            f"begins as a zip under the key {damaged!r} and does not end as one",
            "a whole encrypted zip",
        )

    def _not_a_member(self, head: bytes, size: int, path: str) -> Refusal:
        """The refusal of content that is nothing an adapter could read."""
        if not size or form_of(head) == "empty":
            return refuse("ENV_EMPTY", path, f"{size} bytes", "content")
        kind = known_binary(head)
        if kind is None and may_be_encrypted(head, size):
            labels = ", ".join(key.label for key in self._keys) or "none configured"
            return refuse("ENV_NO_KEY", path, f"{len(self._keys)} keys tried: {labels}", "content that a key opens")
        return refuse("ENV_UNKNOWN_FORM", path, kind or f"binary: {head[:8].hex(' ')}", "zip, XML, JSON or text")


def _close(spool: Spool, files: list[IO[bytes]]) -> None:
    spool.close()
    for file in files:
        file.close()


__all__ = ["BrokenMember", "Envelope", "Limits", "Member", "Source", "open_envelope"]
