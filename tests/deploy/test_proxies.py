"""The reverse proxy that is shipped, running: what it passes on of a client's claims, and what it says itself."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.machine import program

NAME = "energycomm.example.org"
FORGED = {"X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "http", "Forwarded": "for=9.9.9.9;host=evil.example"}


class Upstream(BaseHTTPRequestHandler):
    """Answers with the head and the length of the body that it was sent, and the header that we send over TLS."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Any request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = json.dumps({"path": self.path, "body": len(body), **{k.lower(): v for k, v in self.headers.items()}})
        self.send_response(200)
        self.send_header("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told.encode())

    do_POST = do_GET  # noqa: N815 -- named by the library

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Proxy:
    """nginx with the file that is shipped, in front of an upstream that tells what it was sent."""

    def __init__(self, plain: int, tls: int) -> None:
        self.plain, self.tls = plain, tls

    def ask(
        self,
        path: str,
        host: str = NAME,
        body: bytes | None = None,
        chunked: bool = False,
        claims: Mapping[str, str] | None = None,
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, headers and body of an answer over TLS."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        sent = iter([body]) if chunked and body is not None else body
        with closing(HTTPSConnection("127.0.0.1", self.tls, context=context, timeout=30)) as connection:
            connection.request(
                "POST" if body else "GET", path, sent, {"Host": host, **(claims or {})}, encode_chunked=chunked
            )
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()


def _free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def proxy(project_root: Path, tmp_path: Path) -> Iterator[Proxy]:
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    key: list[str | Path] = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=energycomm",
    ]
    files: list[str | Path] = ["-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"]
    subprocess.run([program("openssl", "openssl"), *key[1:], *files], check=True, capture_output=True)
    plain, tls = _free(), _free()
    text = (project_root / "deploy" / "nginx.conf").read_text("utf-8").replace("/etc/energycomm/tls", str(tmp_path))
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace("listen 443 ", f"listen 127.0.0.1:{tls} ")
    text = text.replace("server 127.0.0.1:8080", f"server 127.0.0.1:{upstream.server_address[1]}")
    (tmp_path / "site.conf").write_text(text)
    places = " ".join(
        f"{one}_temp_path {tmp_path}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"daemon off; user root; pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} "
    (tmp_path / "main.conf").write_text(f"{main} http {{ access_log off; {places} include site.conf; }}")
    server = subprocess.Popen([program("nginx", "nginx-light"), "-c", tmp_path / "main.conf"])
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", tls)) == 0:
                    break
            time.sleep(0.05)
        yield Proxy(plain, tls)
    finally:
        server.terminate()
        server.wait(30)
        upstream.shutdown()
        upstream.server_close()


def test_what_a_client_claims_of_itself_is_not_passed_on(proxy: Proxy) -> None:
    """Guesses are counted by address: a client that could choose its own would never be limited."""
    status, headers, body = proxy.ask("/api/v1/me", claims=FORGED)
    told = json.loads(body)
    assert status == 200
    assert (told["x-forwarded-for"], told["x-forwarded-proto"], told["host"]) == ("127.0.0.1", "https", NAME)
    assert not told.get("forwarded")
    said = [value for name, value in headers if name.lower() == "strict-transport-security"]
    assert said == ["max-age=31536000"], "browsers heed the first only: it is said once"


def test_a_body_in_pieces_arrives_whole(proxy: Proxy) -> None:
    status, _, body = proxy.ask("/api/v1/injections", body=b"x" * 300_000, chunked=True)
    assert (status, json.loads(body)["body"]) == (200, 300_000)


def test_health_is_not_for_the_world(proxy: Proxy) -> None:
    for path in ("/health/ready", "/health", "/x/../health/live", "//health/live", "/%68ealth/live"):
        assert proxy.ask(path)[0] == 404, path


def test_another_name_leads_nowhere(proxy: Proxy) -> None:
    """A page that is cached or mailed with somebody else's host in it would send people there."""
    assert proxy.ask("/login", host="evil.example")[0] == 421
    with closing(HTTPConnection("127.0.0.1", proxy.plain, timeout=30)) as connection:
        connection.request("GET", "/login?then=/messages", headers={"Host": "evil.example"})
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Location")) == (308, f"https://{NAME}/login?then=/messages")
