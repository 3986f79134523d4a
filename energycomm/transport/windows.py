"""Seekable views of content that share one open file: an envelope with many inner zips needs two files only."""

from __future__ import annotations

import io
import itertools
import os
import tempfile
from collections.abc import Iterable
from typing import IO, BinaryIO, cast

from energycomm.transport.codes import refuse
from energycomm.transport.members import BrokenMember

CHUNK = 1 << 18
"""Bytes per read when content is copied, hashed or decrypted."""
IN_MEMORY = 1 << 19
"""Bytes of an envelope's unpacked content that are kept in memory instead of in a temporary file."""


class Window(io.RawIOBase):
    """A read-only part of an open file, or of bytes in memory, with a position of its own.

    Reads go through ``pread``: windows of one file do not disturb each other, in one thread or in several. Closing a
    window leaves the file open. Reading a window of a closed file raises ValueError.
    """

    def __init__(self, source: IO[bytes] | bytes, start: int, size: int) -> None:
        self._source = source
        self._start = start
        self.size = size
        self._at = 0

    def again(self) -> Window:
        """A fresh window of the same part, at its beginning."""
        return Window(self._source, self._start, self.size)

    def stream(self) -> IO[bytes]:
        """The same part as a stream at its beginning: what is in memory is read without our help."""
        if isinstance(self._source, bytes):
            return io.BytesIO(self.part(0, self.size))
        return cast("IO[bytes]", self.again())

    def part(self, start: int, size: int) -> bytes:
        """At most `size` bytes from position `start`, without moving."""
        left = min(size, self.size - start)
        if left <= 0:
            return b""
        at = self._start + start
        if isinstance(self._source, bytes):
            return self._source[at : at + left]
        return os.pread(self._source.fileno(), left, at)

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Position in the window, in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move; the new position. Positions after the end read nothing, those before the beginning raise OSError."""
        base = (0, self._at, self.size)[whence]
        if base + offset < 0:
            raise OSError(22, "negative position")
        self._at = base + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """At most `size` bytes, fewer only at the end; all the rest without a size."""
        left = self.size - self._at
        wanted = left if size is None or size < 0 else min(size, left)
        data = self.part(self._at, wanted)
        self._at += len(data)
        # One call gives at most 2 GB, and less than asked for only at the end of a file that was cut meanwhile.
        while data and len(data) < wanted and (more := self.part(self._at, wanted - len(data))):
            self._at += len(more)
            data += more
        return data

    def readall(self) -> bytes:
        """All the rest."""
        return self.read(-1)

    def readinto(self, buffer: object) -> int:
        """Fill a buffer; the number of bytes put there."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class Spool:
    """One nameless temporary file per envelope: what must be seekable and is not, is written here, up to a limit.

    Small content stays in memory, `IN_MEMORY` bytes of it in all: most envelopes are small and need no file. The file
    has no name in the file system, so the clear text of an encrypted envelope disappears with the process.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._file: BinaryIO | None = None
        self._end = 0
        self._memory = IN_MEMORY

    def write(self, chunks: Iterable[bytes], path: str) -> Window:
        """Copy chunks into the spool.

        Args:
          chunks: the content, in pieces.
          path: whose content it is, for the refusal.

        Raises:
          BrokenMember: the spool's limit is passed (ENV_TOO_LARGE), or the chunks themselves are broken.
          OSError: the disk is full or broken; no fault of the envelope.
        """
        waiting = iter(chunks)
        beginning: list[bytes] = []
        gathered = 0
        for chunk in waiting:
            beginning.append(chunk)
            gathered += len(chunk)
            if gathered > min(self._memory, self._limit):
                return self._write_file(itertools.chain(beginning, waiting), path)
        self._memory -= gathered
        return Window(b"".join(beginning), 0, gathered)

    def _write_file(self, chunks: Iterable[bytes], path: str) -> Window:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="energycomm-", buffering=0)  # noqa: SIM115
        start = self._end
        self._file.seek(start)
        end = start
        for chunk in chunks:
            end += len(chunk)
            if end > self._limit:
                self._file.truncate(start)
                raise BrokenMember(
                    refuse("ENV_TOO_LARGE", path, f"more than {self._limit} bytes of temporary space", "less")
                )
            view = memoryview(chunk)
            while view:
                view = view[self._file.write(view) :]
        self._end = end
        return Window(self._file, start, end - start)

    def release(self, window: Window) -> None:
        """Give back the space of the window written last; any other stays until the spool is closed."""
        if isinstance(window._source, bytes):
            self._memory += window.size
        elif self._file is not None and window._start + window.size == self._end:
            self._end = window._start
            self._file.truncate(self._end)

    def close(self) -> None:
        """Close the file; its space is free again."""
        if self._file is not None:
            self._file.close()


def chunks_of(stream: IO[bytes] | io.RawIOBase) -> Iterable[bytes]:
    """The rest of a stream, in pieces of `CHUNK` bytes."""
    while chunk := stream.read(CHUNK):
        yield chunk
