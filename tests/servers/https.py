"""A real HTTPS server on loopback that asks for client certificates and answers as it is told."""

from __future__ import annotations

import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec import Struct


class Request(Struct, frozen=True):
    """What arrived."""

    path: str
    headers: dict[str, str]
    content: bytes
    method: str = "POST"


class Reply(Struct, frozen=True):
    """What is answered.

    Attributes:
      status, content, headers: the answer.
      delay: seconds before anything is said.
      drip: seconds between the bytes of the content.
      hang_up: close the connection instead of answering.
    """

    status: int = 200
    content: bytes = b""
    headers: dict[str, str] = {}
    delay: float = 0.0
    drip: float = 0.0
    hang_up: bool = False


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        reply = self.server.owner.answer(Request(self.path, dict(self.headers), content, self.command))
        time.sleep(reply.delay)
        self.close_connection = True
        if reply.hang_up:
            return
        with suppress(OSError):
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            if reply.drip:
                for byte in reply.content:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(reply.drip)
            else:
                self.wfile.write(reply.content)

    do_GET = do_DELETE = do_POST  # noqa: N815 - named by the library

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Listener(ThreadingHTTPServer):
    owner: HttpsTestServer
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # refused certificates and clients that hang up are what the tests are about


class HttpsTestServer:
    """The server.

    Attributes:
      requests: what arrived, in order.
      replies: what the next requests are answered; then `otherwise` decides.
      otherwise: answers a request.
      url: its address.
    """

    def __init__(
        self,
        certificate: tuple[Path, Path],
        client_authority: Path | None,
        otherwise: Callable[[Request], Reply],
        host: str = "127.0.0.1",
    ) -> None:
        self.requests: list[Request] = []
        self.replies: deque[Reply] = deque()
        self.otherwise = otherwise
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_authority)
        self._listener = _Listener((host, 0), _Handler)
        self._listener.owner = self
        # The handshake happens in the request's own thread, so a client that is refused does not stop the server.
        self._listener.socket = context.wrap_socket(
            self._listener.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://{host}:{self._listener.server_address[1]}/service"
        self._thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.replies.popleft() if self.replies else self.otherwise(request)

    def close(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join(10)


@contextmanager
def https_server(
    certificate: tuple[Path, Path],
    client_authority: Path | None,
    otherwise: Callable[[Request], Reply] = lambda request: Reply(),
    host: str = "127.0.0.1",
) -> Iterator[HttpsTestServer]:
    """A running server."""
    server = HttpsTestServer(certificate, client_authority, otherwise, host)
    try:
        yield server
    finally:
        server.close()
