"""A small HTTP server for metrics and health; nothing can be changed through it.

Anybody may ask whether the daemon lives and is ready, and hears one word. What else is known is for who shows the token
of the settings; where none is set, for programs on this machine.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Mapping
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog

from energycomm.errors import UserError
from energycomm.transport.credentials import Secret, SecretUnreadableError

log = structlog.get_logger()

Page = Callable[[], tuple[int, str, bytes]]
"""Makes an answer: status, media type, content."""

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers of a proxy: who asks through one is not on this machine, whatever address the proxy has."""


def word(healthy: bool, said: str) -> tuple[int, str, bytes]:
    """An answer about health for anybody: 200 and a word, or 503."""
    status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return int(status), TEXT, (said if healthy else "unavailable").encode() + b"\n"


class Doorkeeper:
    """Who may see more than a word.

    Args:
      token: what must be shown, one of several lines; None lets in whoever asks from this machine itself.
    """

    def __init__(self, token: Secret | None = None) -> None:
        self._token = token

    def admits(self, peer: str, headers: Mapping[str, str] | Message[str, str]) -> bool:
        """Whether a request may see everything.

        Args:
          peer: address that it comes from.
          headers: of the request.
        """
        if self._token is None:
            # A page in a browser on this machine may send its visitor here under a name of its own.
            host = headers.get("Host", "").rpartition("]")[0].lstrip("[") or headers.get("Host", "").partition(":")[0]
            direct = not any(name in headers for name in FORWARDED)
            return direct and _is_here(peer) and (host == "localhost" or _is_here(host))
        scheme, _, offered = headers.get("Authorization", "").partition(" ")
        try:
            return scheme.lower() == "bearer" and self._token.accepts(offered.strip())
        except SecretUnreadableError as error:
            log.error("health.token", error=str(error))
            return False


def _is_here(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


class HealthServer:
    """Serves pages in a thread.

    Args:
      host: address to listen on.
      port: port; 0 takes a free one.
      pages: path -> what makes the answer, for anybody.
      guarded: the same, for those whom the doorkeeper admits.
      door: the doorkeeper.

    Raises:
      UserError: the address is taken or not ours.
    """

    def __init__(
        self, host: str, port: int, pages: dict[str, Page], guarded: dict[str, Page], door: Doorkeeper
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                """Answer, or 401 or 404."""
                path = self.path.partition("?")[0]
                page = pages.get(path) or guarded.get(path)
                status, media, content = 404, TEXT, b"not found\n"
                if path in guarded and not door.admits(self.client_address[0], self.headers):
                    status, content = 401, b"unauthorized\n"
                elif page is not None:
                    status, media, content = page()
                self.send_response(status)
                if status == HTTPStatus.UNAUTHORIZED:
                    self.send_header("WWW-Authenticate", "Bearer")
                self.send_header("Cache-Control", "no-store")
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_HEAD = None  # noqa: N815

            def version_string(self) -> str:
                """Who answers; no version of anything."""
                return "EnergyComm"

            def log_message(self, *_: object) -> None:
                """Say nothing: a monitor asks every few seconds."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise UserError(
                f"Metrics and health cannot be served on {host}:{port}: {error.strerror}.",
                "Is a daemon running already? Else change `port` of [daemon].",
            ) from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
