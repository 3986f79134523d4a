"""Limits for the head of a request and the chunks of its body."""

from __future__ import annotations

from typing import Any, Final

import h11

TARGET_BYTES: Final = 8192
HEADERS: Final = 100
HEAD_BYTES: Final = 16_384
"""Longest address, most headers, most bytes of all of them."""
SMALL_PIECES: Final = 1000
SMALL: Final = 512
"""Pieces of a body with fewer bytes than `SMALL` that one request may have: each costs as much as a large one."""


class BoundedReader(h11.Connection):
    """Reads requests as h11 does, and refuses those beyond the bounds.

    Args:
      role: which side we are.
      body_bytes: largest body; None where the application bounds it.

    Attributes:
      refused: status and words of the refusal.
    """

    def __init__(self, role: Any, body_bytes: int | None = None) -> None:
        super().__init__(role, HEAD_BYTES)
        self.refused: tuple[int, str] | None = None
        self._most, self._small, self._size = body_bytes, 0, 0

    def next_event(self) -> Any:
        """The next event.

        Raises:
          h11.RemoteProtocolError: it is no HTTP, or beyond the bounds.
        """
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            if error.error_status_hint == 431:
                self.refused = 431, f"The head of the request has more than {HEAD_BYTES} bytes."
            raise
        if isinstance(event, h11.Request):
            self._small = self._size = 0
            self.refused = _beyond(event) or self._too_large(_declared(event))
        elif isinstance(event, h11.Data):
            self._size += len(event.data)
            self._small += len(event.data) < SMALL
            self.refused = self._too_large(self._size)
            if self._small > SMALL_PIECES:
                self.refused = 400, f"The body comes in more than {SMALL_PIECES} pieces of under {SMALL} bytes."
        if self.refused is not None:
            raise h11.RemoteProtocolError(self.refused[1], self.refused[0])
        return event

    def _too_large(self, size: int) -> tuple[int, str] | None:
        if self._most is None or size <= self._most:
            return None
        return 413, f"The body is larger than {self._most} bytes."


def _declared(request: h11.Request) -> int:
    return max((int(value) for name, value in request.headers if name == b"content-length"), default=0)


def _beyond(request: h11.Request) -> tuple[int, str] | None:
    names = [name for name, _ in request.headers]
    size = sum(len(name) + len(value) for name, value in request.headers)
    if len(request.target) > TARGET_BYTES:
        return 414, f"The address has {len(request.target)} bytes, at most {TARGET_BYTES} are read."
    if len(names) > HEADERS:
        return 431, f"The request has {len(names)} headers, at most {HEADERS} are read."
    if size > HEAD_BYTES:
        return 431, f"The headers have {size} bytes, at most {HEAD_BYTES} are read."
    if b"transfer-encoding" in names and b"content-length" in names:
        return 400, "The request states its length twice: a proxy may have read it differently."
    return None
