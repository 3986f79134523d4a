"""Reading JSON from a REST service: pages, patience, errors in words, no secret in any of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from assistant.extras import need
from energycomm.errors import UserError

TRIES = 4
LARGEST_ANSWER = 64 << 20


class Gone(UserError):
    """A service does not have what was asked for, or has it no more."""


class RestClient:
    """A client of one service.

    Args:
      url: address of the service.
      user: user name, for services that take it with the token (basic authentication).
      token: the token; alone it is sent as a bearer token.
      transport: for tests, a transport of httpx that answers itself.
      pause: seconds before the second try; doubled for each further one.
    """

    def __init__(self, url: str, user: str = "", token: str = "", transport: Any = None, pause: float = 1.0) -> None:
        need("httpx")
        import httpx

        if not url.startswith(("https://", "http://")):
            raise UserError(f"{url!r} is no address of a service.", "Write it with https://.")
        self._url = url.rstrip("/")
        self._pause = pause
        basic = httpx.BasicAuth(user, token) if user else None
        headers = {"Authorization": f"Bearer {token}"} if token and not user else {}
        self._client = httpx.Client(
            auth=basic, headers=headers, timeout=30, transport=transport, follow_redirects=False
        )

    def json(self, path: str, parameters: Mapping[str, str | int] | None = None) -> Any:
        """The JSON of an address.

        Raises:
          Gone: the service has no such thing.
          UserError: the service refuses or cannot be reached.
        """
        try:
            return self._get(path, parameters).json()
        except ValueError:
            raise UserError(f"{self._url} does not answer with JSON.", "Check the address.") from None

    def content(self, path: str, parameters: Mapping[str, str | int] | None = None) -> bytes:
        """The bytes of an address."""
        return bytes(self._get(path, parameters).content)

    def _get(self, path: str, parameters: Mapping[str, str | int] | None) -> Any:
        import httpx

        for attempt in range(TRIES):
            try:
                answer = self._client.get(self._url + path, params=dict(parameters or {}))
            except httpx.HTTPError as error:
                if attempt == TRIES - 1:
                    raise UserError(
                        f"{self._url} cannot be reached: {type(error).__name__}.", "Check the network."
                    ) from None
                time.sleep(self._pause * 2**attempt)
                continue
            if answer.status_code in (429, 502, 503, 504) and attempt < TRIES - 1:
                wait = answer.headers.get("Retry-After", "")
                time.sleep(min(60.0, float(wait)) if wait.isdigit() else self._pause * 2**attempt)
                continue
            if answer.status_code in (401, 403):
                raise UserError(f"{self._url} refuses the token.", "Check token_env and user in assistant.toml.")
            if answer.status_code >= 300:
                kind = Gone if answer.status_code in (404, 410) else UserError
                raise kind(f"{self._url}{path} answers {answer.status_code}.", "Check the address and the scope.")
            if len(answer.content) > LARGEST_ANSWER:
                raise UserError(f"{self._url}{path} answers with too much.", "Narrow the scope.")
            return answer
        raise AssertionError("unreachable")
