"""HTTPS with client certificates: one request gives one answer, or one error that says whether it may have arrived.

The server's certificate is always verified. Certificates are read again when their files change, so that a renewed one
takes effect without a restart.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
from msgspec import Struct

from energycomm.transport.channel import TechnicalError
from energycomm.transport.credentials import Secret, SecretUnreadableError

USER_AGENT: Final = "EnergyComm"
LONGEST_WISH: Final = 86_400.0
"""Seconds that a server may ask us to wait; more is taken as this."""


class HttpsServer(Struct, frozen=True, kw_only=True):
    """Where a service is and who we are there.

    Attributes:
      url: its address; https only.
      ca_file: the authorities that may vouch for it, in PEM; those of the system when None.
      certificate_file: our client certificate with its chain, in PEM.
      key_file: our private key in PEM; None where it is in `certificate_file`.
      passphrase: opens the key; None where it is not encrypted.
      connect_timeout: seconds for the connection.
      timeout: seconds for the whole exchange after that.
      max_answer: largest answer in bytes.
    """

    url: str
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    passphrase: Secret | None = None
    connect_timeout: float = 10.0
    timeout: float = 60.0
    max_answer: int = 64 << 20


class Answer(Struct, frozen=True, kw_only=True):
    """What a server answered: status, media type, content, the seconds it asks us to wait, and its headers, by names in
    small letters."""

    status: int
    content_type: str
    content: bytes
    retry_after: float | None = None
    headers: Mapping[str, str] = {}


class HttpsClient:
    """Asks one service.

    Args:
      channel: name of the channel, for errors.
      server: the service.

    Raises:
      ValueError: the address is not https.
    """

    def __init__(self, channel: str, server: HttpsServer) -> None:
        if httpx.URL(server.url).scheme != "https":
            raise ValueError("only https addresses are used")
        self.channel, self.server = channel, server
        self._client: httpx.Client | None = None
        self._stamps: tuple[int, ...] = ()

    def close(self) -> None:
        """Close connections; the next use opens others."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def post(
        self, content: bytes, headers: Mapping[str, str], path: str = "", item: str | None = None
    ) -> Answer | TechnicalError:
        """Post bytes and read the answer, whatever its status. See `request`."""
        return self.request("POST", headers, path, item, content)

    def request(
        self, method: str, headers: Mapping[str, str], path: str = "", item: str | None = None, content: bytes = b""
    ) -> Answer | TechnicalError:
        """Ask something and read the answer, whatever its status.

        Args:
          method: of HTTP.
          headers: further headers.
          path: relative to the service's address, or absolute on its server.
          item: the message it is about.
          content: bytes that are sent.
        """
        try:
            client = self._open()
        except (OSError, SecretUnreadableError) as fault:
            return self._error("CHANNEL_CONFIG", _words(fault), item)
        deadline = time.monotonic() + self.server.connect_timeout + self.server.timeout
        url = httpx.URL(self.server.url).join(path) if path else httpx.URL(self.server.url)
        if (url.scheme, url.host, url.port) != (client.base_url.scheme, client.base_url.host, client.base_url.port):
            return self._error("CHANNEL_CONFIG", f"{path} leads to another server", item)
        try:
            with client.stream(method, url, content=content or None, headers=dict(headers)) as response:
                return self._read(response, deadline, item)
        except httpx.RequestError as fault:
            code, words, maybe_sent = explain(fault)
            return self._error(code, words, item, maybe_sent=maybe_sent)

    def _read(self, response: httpx.Response, deadline: float, item: str | None) -> Answer | TechnicalError:
        parts, size = [], 0
        # Sizes are of the unpacked answer: a small packed one may not fill our memory.
        for part in response.iter_bytes():
            size += len(part)
            if size > self.server.max_answer:
                detail = f"the answer has more than {self.server.max_answer} bytes"
                return self._error("CHANNEL_TOO_LARGE", detail, item, maybe_sent=True)
            if time.monotonic() > deadline:
                return self._error("CHANNEL_TIMEOUT", "the answer takes too long", item, maybe_sent=True)
            parts.append(part)
        return Answer(
            status=response.status_code,
            content_type=response.headers.get("content-type", ""),
            content=b"".join(parts),
            retry_after=wish(response.headers.get("retry-after")),
            headers=dict(response.headers),
        )

    def judge(self, answer: Answer, item: str | None = None) -> TechnicalError | None:
        """The error that a status stands for; None for 2xx."""
        status = answer.status
        if 200 <= status < 300:
            return None
        code = STATUS.get(status) or ("CHANNEL_SERVER" if status >= 500 else "CHANNEL_REFUSED")
        # 503 says that nothing was done; after any other failure of the server it may have been.
        maybe_sent = status >= 500 and status != 503
        words = f"HTTP status {status}"
        return TechnicalError(
            code=code,
            channel=self.channel,
            detail=f"{self._where()}: {words}",
            item=item,
            retry_after=answer.retry_after,
            maybe_sent=maybe_sent,
        )

    def _open(self) -> httpx.Client:
        """The client, made anew when a certificate's file changed.

        Raises:
          OSError, SecretUnreadableError: a file cannot be read or used.
        """
        server = self.server
        files = [file for file in (server.ca_file, server.certificate_file, server.key_file) if file is not None]
        stamps = tuple(file.stat().st_mtime_ns for file in files)
        if self._client is None or stamps != self._stamps:
            self.close()
            self._client = httpx.Client(
                base_url=server.url,
                verify=tls_context(server),
                timeout=httpx.Timeout(server.timeout, connect=server.connect_timeout),
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity", "Connection": "close"},
                # A connection that was idle may be closed just as we use it again, and nobody could say then whether
                # the message arrived. A handshake costs less than that doubt.
                limits=httpx.Limits(max_keepalive_connections=0),
                follow_redirects=False,
                # What the environment says of proxies and authorities is not ours to trust.
                trust_env=False,
            )
            self._stamps = stamps
        return self._client

    def _where(self) -> str:
        url = httpx.URL(self.server.url)
        return f"{url.host}:{url.port or 443}"

    def _error(self, code: str, words: str, item: str | None, *, maybe_sent: bool = False) -> TechnicalError:
        detail = f"{self._where()}: {words}"
        return TechnicalError(code=code, channel=self.channel, detail=detail, item=item, maybe_sent=maybe_sent)


STATUS: Final = {
    401: "CHANNEL_LOGIN",
    403: "CHANNEL_DENIED",
    407: "CHANNEL_LOGIN",
    408: "CHANNEL_TIMEOUT",
    409: "CHANNEL_CONFLICT",
    413: "CHANNEL_TOO_LARGE",
    429: "CHANNEL_LIMITED",
}
"""HTTP status -> code; others by their class."""


def tls_context(server: HttpsServer) -> ssl.SSLContext:
    """TLS 1.2 at least, the server verified, our certificate shown.

    Raises:
      OSError: a file cannot be read.
      SecretUnreadableError: a certificate or key is not what it should be; nothing of it is told.
    """
    try:
        context = ssl.create_default_context(cafile=str(server.ca_file) if server.ca_file else None)
    except ssl.SSLError:
        raise SecretUnreadableError(f"{server.ca_file} holds no certificates") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if server.certificate_file is not None:
        # Without an answer OpenSSL would ask at the terminal.
        words = server.passphrase.read() if server.passphrase is not None else ""
        key = str(server.key_file) if server.key_file is not None else None
        try:
            context.load_cert_chain(str(server.certificate_file), key, lambda: words)
        except ssl.SSLError:
            raise SecretUnreadableError(
                f"{server.certificate_file} and its key do not belong together, or the pass phrase is wrong"
            ) from None
    return context


def explain(fault: httpx.RequestError) -> tuple[str, str, bool]:
    """Code and words of a fault on the way, and whether what was sent may have arrived."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "CHANNEL_TLS", cause.verify_message, False
        if isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or ""):
            # The server looked at our certificate and hung up, before it read anything.
            return "CHANNEL_LOGIN", f"the server refused our certificate ({cause.reason})", False
        cause = cause.__cause__ or cause.__context__
    match fault:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return "CHANNEL_TIMEOUT", "no connection in time", False
        case httpx.TimeoutException():
            return "CHANNEL_TIMEOUT", "no answer in time", True
        case httpx.DecodingError():
            return "CHANNEL_ANSWER", "the answer is packed and cannot be unpacked", True
        case httpx.ConnectError() | httpx.UnsupportedProtocol():
            return "CHANNEL_UNREACHABLE", _words(fault), False
        case _:
            return "CHANNEL_BROKEN", "the connection was lost", True


def wish(header: str | None) -> float | None:
    """The seconds of a ``Retry-After`` header; a date there is not read: clocks differ."""
    with contextlib.suppress(ValueError, TypeError):
        seconds = float(header or "")
        return min(max(seconds, 0.0), LONGEST_WISH) if seconds == seconds else None
    return None


def _words(fault: Exception) -> str:
    if isinstance(fault, OSError):
        return f"{fault.filename}: {fault.strerror}"
    return str(fault) or type(fault).__name__
