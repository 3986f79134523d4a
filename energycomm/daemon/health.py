"""A small HTTP server for metrics and health; nothing can be changed through it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from energycomm.errors import UserError

Page = Callable[[], tuple[int, str, bytes]]
"""Makes an answer: status, media type, content."""

JSON = "application/json"


def page_of(healthy: bool, facts: dict[str, Any]) -> tuple[int, str, bytes]:
    """An answer about health: 200 or 503, with what is known."""
    status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return int(status), JSON, json.dumps(facts).encode()


class HealthServer:
    """Serves pages in a thread.

    Args:
      host: address to listen on.
      port: port; 0 takes a free one.
      pages: path -> what makes the answer.

    Raises:
      UserError: the address is taken or not ours.
    """

    def __init__(self, host: str, port: int, pages: dict[str, Page]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                """Answer, or 404."""
                page = pages.get(self.path.partition("?")[0])
                status, media, content = page() if page else (404, "text/plain", b"not found\n")
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_HEAD = None  # noqa: N815

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
