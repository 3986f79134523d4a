"""The connection below the client: requests with a token, answers as types, refusals as exceptions, second tries."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from energycomm.private_files import written_whole
from energycomm.webservice.problems import Details

T = TypeVar("T")

AGAIN = frozenset((429, 503))
"""Answers after which the same request is sent again: the server has done nothing."""
PREFIX = "/api/v1"


class Refused(Exception):
    """The server refused a request.

    Attributes:
      status: HTTP status.
      details: why; every mistake is in `details.errors`.
    """

    def __init__(self, status: int, details: Details) -> None:
        super().__init__(f"{status} {details.code}: {details.detail}")
        self.status, self.details = status, details


class Unreachable(Exception):
    """The server did not answer; whether it did anything is not known."""


class Connection:
    """A connection to one server. It may be used by many threads.

    Args:
      url: address of the server, without /api.
      token: an API token.
      timeout: seconds that an answer may take.
      attempts: how often a request is sent before a 429 or 503 is raised.
      ca_file: authorities that the server's certificate may be of; those of the system when None.
      http: another client of HTTP, for tests.
      sleep: waits, for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        attempts: int = 4,
        ca_file: Path | None = None,
        http: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._attempts, self._sleep = attempts, sleep
        self._headers = {"Authorization": f"Bearer {token}"}
        self._root = url.rstrip("/") + PREFIX
        verify = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._http = http if http is not None else httpx.Client(timeout=timeout, verify=verify)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def ask(
        self,
        type_: type[T],
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
    ) -> T:
        """Send a request and read its answer.

        Args:
          type_: what the answer is.
          method: of HTTP.
          path: below /api/v1.
          query: parameters; those that are None are left out.
          body: sent as JSON; bytes as they are.
          key: idempotency key: the change is made once, however often it is sent.

        Raises:
          Refused: the server refuses it.
          Unreachable: it does not answer.
        """
        return msgspec.json.decode(self.raw(method, path, query=query, body=body, key=key), type=type_, strict=False)

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        accept: str = "application/json",
    ) -> bytes:
        """Send a request; the bytes of its answer. See `ask`."""
        headers = self._headers | {"Accept": accept}
        content = body
        if body is not None and not isinstance(body, bytes):
            content = msgspec.json.encode(body)
        if body is not None:
            headers["Content-Type"] = "application/xml" if content.lstrip()[:1] == b"<" else "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        parameters = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        for attempt in range(1, self._attempts + 1):
            try:
                answer = self._http.request(
                    method, self._root + path, params=parameters, content=content, headers=headers
                )
            except httpx.HTTPError as error:
                raise Unreachable(f"{method} {path}: {type(error).__name__}: {error}") from None
            if answer.status_code in AGAIN and attempt < self._attempts:
                self._sleep(_seconds(answer.headers.get("Retry-After"), attempt))
                continue
            break
        if answer.status_code >= 300:
            raise Refused(answer.status_code, _details(answer.status_code, answer.content))
        return bytes(answer.content)

    def download(self, path: str, to: Path, header: str, *, query: Mapping[str, Any]) -> str:
        """Write an answer to a file, piece by piece; the file takes its place when all of it came.

        Args:
          path: below /api/v1.
          to: the file.
          header: of the answer, which is returned.
          query: parameters; those that are None are left out, lists are sent one by one.

        Raises:
          Refused: the server refuses it.
          Unreachable: it does not answer, or stopped in the middle.
        """
        several = {name: value if isinstance(value, list | tuple) else [value] for name, value in query.items()}
        parameters = httpx.QueryParams(
            [(name, _text(one)) for name, some in several.items() for one in some if one is not None]
        )
        for attempt in range(1, self._attempts + 1):
            try:
                with self._http.stream("GET", self._root + path, params=parameters, headers=self._headers) as answer:
                    if answer.status_code < 300:
                        with written_whole(to) as file:
                            for piece in answer.iter_bytes():
                                file.write(piece)
                        return str(answer.headers[header])
                    content = answer.read()
            except httpx.HTTPError as error:
                raise Unreachable(f"GET {path}: {type(error).__name__}: {error}") from None
            if answer.status_code not in AGAIN or attempt == self._attempts:
                break
            self._sleep(_seconds(answer.headers.get("Retry-After"), attempt))
        raise Refused(answer.status_code, _details(answer.status_code, content))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _seconds(header: str | None, attempt: int) -> float:
    return float(header) if header is not None and header.isdigit() else 2.0**attempt


def _details(status: int, content: bytes) -> Details:
    try:
        return msgspec.json.decode(content, type=Details)
    except msgspec.DecodeError:
        # A proxy in between has words of its own.
        words = content[:200].decode("utf-8", "replace")
        return Details(type="about:blank", title="", status=status, code="", detail=words, instance="")
