"""The webhook: notifications go to an HTTP endpoint of the back office, authenticated by an HMAC signature.

Signature: header ``EnergyComm-Signature: t=SECONDS,v1=HEX``, where HEX is the HMAC-SHA256 of ``SECONDS.BODY`` with the
shared secret. The receiver computes it again, compares in constant time, and refuses what is older than some minutes.
Header ``Idempotency-Key``: the same at every attempt at one notification.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from energycomm.backoffice.notification import Failure, Notification
from energycomm.masking import conceal_address
from energycomm.transport.credentials import Secret, SecretUnreadableError

SIGNATURE = "EnergyComm-Signature"
KEY = "Idempotency-Key"
TARGET_STATUS = frozenset((401, 403, 404, 405, 407, 410))
"""Answers that say that the address or the secret is wrong: no other notification would pass either."""
LATER = frozenset((408, 425, 429, 502, 503, 504))
"""Answers of a target that is not ready: nothing is said about the notification."""


def sign(secret: str, body: bytes, at: int) -> str:
    """The value of the header of the signature."""
    digest = hmac.new(secret.encode(), str(at).encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


class Webhook:
    """An HTTP endpoint of the back office.

    Args:
      url: its address.
      secret: the shared secret.
      timeout: seconds that an answer may take.
      ca_file: authorities that its certificate may be of; those of the system when None.
      clock: seconds since the epoch, for the signature.
    """

    def __init__(
        self,
        url: str,
        secret: Secret,
        *,
        timeout: float = 10,
        ca_file: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        conceal_address(url, path=True)
        self.url, self.secret, self._timeout, self._ca_file, self._clock = url, secret, timeout, ca_file, clock
        self._client: httpx.Client | None = None

    def tell(self, notification: Notification) -> Failure | None:
        """Post one notification; a redirect is not followed."""
        try:
            secret = self.secret.read()
            client = self._opened()
        except (SecretUnreadableError, OSError) as fault:
            return Failure("target", str(fault))
        headers = {
            "Content-Type": "application/json",
            KEY: notification.key,
            SIGNATURE: sign(secret, notification.body, int(self._clock())),
        }
        try:
            answer = client.post(self.url, content=notification.body, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.ProxyError) as fault:
            return Failure("target", f"{type(fault).__name__}: {fault}")
        except httpx.HTTPError as fault:
            return Failure("perhaps", f"{type(fault).__name__}: {fault}")
        return _judge(answer)

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _opened(self) -> httpx.Client:
        if self._client is None:
            context = ssl.create_default_context(cafile=str(self._ca_file) if self._ca_file else None)
            self._client = httpx.Client(timeout=self._timeout, verify=context)
        return self._client


def _judge(answer: httpx.Response) -> Failure | None:
    status = answer.status_code
    # 409: the receiver knows the key already.
    if answer.is_success or status == httpx.codes.CONFLICT:
        return None
    reason = f"answered {status} {answer.reason_phrase}"
    if status in TARGET_STATUS or answer.is_redirect:
        return Failure("target", reason)
    if status in LATER:
        return Failure("target", reason, _seconds(answer.headers.get("Retry-After")))
    return Failure("perhaps" if answer.is_server_error else "item", reason)


def _seconds(value: str | None) -> float | None:
    return float(value) if value is not None and value.isascii() and value.isdigit() else None
