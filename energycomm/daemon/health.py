"""A small HTTP server for metrics and health; nothing can be changed through it.

Anybody may ask whether the daemon lives and is ready, and hears one word. What else is known is for who shows the token
of the settings; where none is set, for programs on this machine.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from energycomm.errors import UserError
from energycomm.logs import Log
from energycomm.transport.credentials import Secret, SecretUnreadableError
from energycomm.transport.listening import Bounds, http_server

log = Log()

Page = Callable[[], tuple[int, str, bytes]]
"""Makes an answer: status, media type, content."""

METRICS = "text/plain; version=0.0.4; charset=utf-8"
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
"""Headers of a proxy: who asks through one is not on this machine, whatever address the proxy has."""
CONNECTIONS = 128
REQUESTS = 32
"""Open connections, and questions at once; live and ready are answered beyond them."""
CLOSE_SECONDS = 3.0


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

    def admits(self, peer: str, headers: Mapping[str, str]) -> bool:
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
    """Serves pages in a thread, within the bounds of every server of ours.

    Args:
      host: address to listen on.
      port: port; 0 takes a free one.
      pages: path -> what makes the answer, in a thread, for anybody.
      guarded: the same, for those whom the doorkeeper admits.
      door: the doorkeeper.

    Raises:
      UserError: the address is taken or not ours.
    """

    def __init__(
        self, host: str, port: int, pages: dict[str, Page], guarded: dict[str, Page], door: Doorkeeper
    ) -> None:
        self._pages, self._guarded, self._door = pages, guarded, door
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            raise UserError(
                f"Metrics and health cannot be served on {host}:{port}: {error.strerror}.",
                "Is a daemon running already? Else change `port` of [daemon].",
            ) from None
        self.port = int(self._socket.getsockname()[1])
        bounds = Bounds(connections=CONNECTIONS, per_address=CONNECTIONS // 2, requests=REQUESTS)
        self._server = http_server(self._answer, bounds, lifespan="off", timeout_graceful_shutdown=1)
        run = {"sockets": [self._socket]}
        self._thread = threading.Thread(target=self._server.run, kwargs=run, name="health", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        self._socket.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, path = Request(scope), scope["path"]
        peer = request.client.host if request.client else ""
        page = self._pages.get(path) or self._guarded.get(path)
        if scope["method"] != "GET":
            response = Response("only GET\n", 405, {"Allow": "GET"}, TEXT)
        elif path in self._guarded and not self._door.admits(peer, request.headers):
            response = Response("unauthorized\n", HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": "Bearer"}, TEXT)
        elif page is None:
            response = Response("not found\n", HTTPStatus.NOT_FOUND, media_type=TEXT)
        else:
            status, media, content = await run_in_threadpool(page)
            response = Response(content, status, {"Content-Type": media})
        response.headers["Cache-Control"] = "no-store"
        await response(scope, receive, send)
