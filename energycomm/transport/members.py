"""A member of an envelope: one file of content, read as a stream as often as needed."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Literal, cast

from energycomm.kernel.verdicts import Refusal
from energycomm.transport.codes import refuse

MemberForm = Literal["xml", "json", "other"]


class BrokenMember(Exception):
    """Content turned out to be damaged while it was read.

    The only exception that a member's stream raises for what the sender did; `refusal` is what to report. It may come
    after good bytes: nothing read from the member may be kept.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


class Member:
    """One file of content inside an envelope, or the envelope's own content when it is no zip.

    Attributes:
      path: place inside the envelope, inner zips included: ``a.zip/b.xml``. The file's name when it is no zip.
      name: last part of the path.
      form: how the content begins: ``xml``, ``json``, or ``other`` for any other text. Judged from the content only.
      size: size in bytes that the zip announces; reading gives exactly as many or raises.
      sha256: digest of the content, 32 bytes; None until one stream was read to its end.
    """

    __slots__ = ("_opener", "form", "name", "path", "sha256", "size")

    def __init__(self, path: str, form: MemberForm, size: int, opener: Callable[[], IO[bytes]]) -> None:
        self.path = path
        self.name = path.replace("\\", "/").rsplit("/", 1)[-1]
        self.form = form
        self.size = size
        self.sha256: bytes | None = None
        self._opener = opener

    def __repr__(self) -> str:
        return f"Member(path={self.path!r}, form={self.form!r}, size={self.size})"

    def open(self) -> IO[bytes]:
        """A fresh stream of the content, at its beginning.

        It can be opened any number of times until the envelope is closed; afterwards reading raises ValueError. Reading
        raises `BrokenMember` when the content is not what the zip announces.
        """
        try:
            stream = self._opener()
        except ZIP_FAULTS as fault:
            raise BrokenMember(refusal_of(fault, self.path)) from None
        if self.sha256 is not None and isinstance(stream, io.BytesIO):
            return stream  # it is in memory, and was read to its announced end
        return cast(IO[bytes], MemberStream(self, stream))

    def read_sha256(self) -> bytes:
        """The digest of the content, reading it when it was not read before.

        Raises:
          BrokenMember: the content is damaged.
        """
        if self.sha256 is None:
            with self.open() as stream:
                while stream.read(1 << 18):
                    pass
        assert self.sha256 is not None
        return self.sha256


class MemberStream(io.RawIOBase):
    """A member's content: counts it, digests it on the first reading, and turns damage into `BrokenMember`."""

    def __init__(self, member: Member, stream: IO[bytes]) -> None:
        self._member = member
        self._stream = stream
        self._left = member.size
        # Content is read twice (checked, then digested); its digest is computed once.
        self._digest = hashlib.sha256() if member.sha256 is None else None
        if self._left == 0:
            self._finish()

    def readable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """At most `size` bytes; all the rest without a size; nothing at the end. Raises `BrokenMember`."""
        if size is None or size < 0:
            return self.readall()
        if size == 0 or self._left == 0:
            return b""
        try:
            data = self._stream.read(size)
        except ZIP_FAULTS as fault:
            raise BrokenMember(refusal_of(fault, self._member.path)) from None
        if not data:
            member = self._member
            found = f"{member.size - self._left} bytes"
            raise BrokenMember(refuse("ENV_CRC", member.path, found, f"{member.size} bytes, as announced"))
        self._left -= len(data)
        if self._digest is not None:
            self._digest.update(data)
        if self._left <= 0:
            self._finish()
        return data

    def readall(self) -> bytes:
        """All the rest, in memory. Raises `BrokenMember`."""
        pieces: list[bytes] = []
        while piece := self.read(1 << 20):
            pieces.append(piece)
        return b"".join(pieces)

    def readinto(self, buffer: object) -> int:
        """Fill a buffer; the number of bytes put there. Raises `BrokenMember`."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream; others of the member stay open."""
        if not self.closed:
            self._stream.close()
        super().close()

    def _finish(self) -> None:
        """At the announced end: let the zip check its sum, then keep the digest."""
        self._left = 0
        try:
            self._stream.read(1)
        except ZIP_FAULTS as fault:
            raise BrokenMember(refusal_of(fault, self._member.path)) from None
        if self._digest is not None:
            self._member.sha256 = self._digest.digest()
            self._digest = None


ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
    struct.error,
)
"""What zipfile raises for a damaged or unusual entry."""


def refusal_of(fault: Exception, path: str) -> Refusal:
    """The refusal that says what `zipfile` found wrong."""
    text = str(fault) or type(fault).__name__
    if isinstance(fault, zipfile.BadZipFile) and "CRC" in text:
        return refuse("ENV_CRC", path, "another checksum", "the checksum that the zip announces")
    if isinstance(fault, NotImplementedError):
        return refuse("ENV_COMPRESSION", path, text, "stored or deflated")
    if isinstance(fault, RuntimeError):
        return refuse("ENV_ZIP_PASSWORD", path, "an encrypted entry", "an entry without password")
    return refuse("ENV_ZIP_BROKEN", path, text, "a whole zip")
