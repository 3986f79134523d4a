"""Access tokens of OAuth 2 by client credentials (RFC 6749, section 4.4): asked for when one is needed, kept until they
end, and asked for anew when a service refuses one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from energycomm.masking import conceal
from energycomm.transport.channel import TechnicalError
from energycomm.transport.credentials import Secret, SecretUnreadableError
from energycomm.transport.https import HttpsClient, HttpsServer

SPARE: Final = 60.0
"""Seconds before its end from which a token is not used any more."""
LONGEST_TOKEN: Final = 1 << 14


class _Granted(Struct):
    access_token: str
    expires_in: float = 300.0


class ClientCredentials:
    """The tokens of one client.

    Args:
      channel: name of the channel, for errors.
      server: that gives tokens.
      client: identifier of ours.
      secret: its secret.
      scope: what is asked for; None to leave it out.
      now: seconds that only go up.
    """

    def __init__(
        self,
        channel: str,
        server: HttpsServer,
        client: str,
        secret: Secret,
        scope: str | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = HttpsClient(channel, server)
        self._name, self._secret, self._scope, self._now = client, secret, scope, now
        self._token, self._end = "", 0.0

    def close(self) -> None:
        """Close connections, and forget the token."""
        self._client.close()
        self.forget()

    def forget(self) -> None:
        """Use the present token no more: the service refused it."""
        self._token = ""

    def token(self) -> str | TechnicalError:
        """A token that holds for a while, or why there is none."""
        if self._token and self._now() < self._end:
            return self._token
        fields = {"grant_type": "client_credentials", "client_id": self._name}
        try:
            fields["client_secret"] = self._secret.read()
        except SecretUnreadableError as fault:
            return self._error("CHANNEL_CONFIG", str(fault))
        if self._scope is not None:
            fields["scope"] = self._scope
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        answer = self._client.post(urlencode(fields).encode(), headers)
        if isinstance(answer, TechnicalError):
            return answer
        if answer.status == 400:  # RFC 6749, section 5.2: the client or what it asks for is refused
            return self._error("CHANNEL_LOGIN", "HTTP status 400: the client is refused")
        refused = self._client.judge(answer)
        if refused is not None:
            return refused
        try:
            granted = msgspec.json.decode(answer.content, type=_Granted)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return self._error("CHANNEL_ANSWER", "the answer is no token")
        if not 0 < len(granted.access_token) <= LONGEST_TOKEN or not granted.access_token.isascii():
            return self._error("CHANNEL_ANSWER", "the answer is no token")
        if not granted.access_token.isprintable() or " " in granted.access_token:
            return self._error("CHANNEL_ANSWER", "the answer is no token")
        self._token = conceal(granted.access_token)
        self._end = self._now() + max(granted.expires_in - SPARE, 0.0)
        return self._token

    def _error(self, code: str, words: str) -> TechnicalError:
        return TechnicalError(code=code, channel=self._client.channel, detail=f"access token: {words}")
