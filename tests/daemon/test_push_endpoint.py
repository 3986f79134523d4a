"""What markets push reaches the EIS: the daemon serves the endpoint by itself, over HTTPS."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from energycomm.config import Config
from energycomm.daemon.endpoint import Renewed, listen, make_app, make_server, tls_context
from energycomm.daemon.polling import Polling
from energycomm.eis import migrations
from energycomm.eis.database import opened
from energycomm.errors import UserError
from tests.daemon.conftest import Office
from tests.daemon.test_daemon import running_daemon, until
from tests.servers.authority import Authority
from tests.transport.memory import MemoryIn

SETTINGS = """
database = "sqlite:///eis.db"
log_format = "json"
log_level = "info"
[daemon]
poll_seconds = 0.2
port = 0
heartbeat = "beat.json"
[push]
port = 0
certificate_file = "pki/server.pem"
key_file = "pki/server.key"
[[channels]]
name = "partner"
market = "NL"
kind = "push"
token_file = "token"
"""
TOKEN = "let-me-in"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "energycomm.toml").write_text(SETTINGS)
    (tmp_path / "token").write_text(TOKEN)
    Authority(tmp_path / "pki").issue("server")
    with opened(f"sqlite:///{tmp_path}/eis.db") as engine:
        migrations.upgrade(engine)
    return tmp_path


def facts(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "beat.json").read_text())
    return found


def push(place: Path, port: int, content: bytes, token: str = TOKEN) -> int:
    """Push a message; the status."""
    context = ssl.create_default_context(cafile=place / "pki" / "ca.pem")
    request = urllib.request.Request(
        f"https://127.0.0.1:{port}/channels/partner/messages?name=a.xml",
        data=content,
        headers={"Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.thorough
def test_a_pushed_message_is_taken_in_and_the_endpoint_outlives_its_process(place: Path) -> None:
    with running_daemon(place) as daemon:
        port = until(lambda: facts(place)["ready"] and facts(place)["push"]["port"])
        assert push(place, port, b"<unknown/>", "wrong") == 401
        assert push(place, port, b"<unknown/>") == 202
        until(lambda: (place / "spool" / "partner" / "failed" / "a.xml").exists())
        killed = until(lambda: facts(place)["push"]["pid"])
        os.kill(killed, signal.SIGKILL)
        assert push(place, port, b"<unknown-too/>") == 202
        until(lambda: facts(place)["push"]["pid"] not in (None, killed))
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    log = (place / "log").read_text()
    assert TOKEN not in log
    assert "Traceback" not in log


def config_of(**push: Any) -> Config:
    channel = {"name": "partner", "market": "NL", "kind": "push", "token_file": "token"}
    return Config.model_validate({"channels": [channel], "push": push})


def test_the_endpoint_is_not_served_without_a_certificate_unless_a_proxy_has_one() -> None:
    with pytest.raises(UserError, match="no certificate is set"):
        listen(config_of(port=0))
    behind = listen(config_of(port=0, behind_proxy=True))
    assert behind is not None
    behind.close()
    assert listen(config_of(serve=False)) is None
    assert listen(Config.model_validate({})) is None


def test_a_certificate_that_cannot_be_used_and_a_port_that_is_taken_are_told(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).issue("server")
    with pytest.raises(UserError, match="cannot be used") as told:
        listen(config_of(certificate_file=certificate, key_file=tmp_path / "none.key"))
    assert "none.key" in str(told.value)
    with pytest.raises(UserError, match="cannot be used"):
        listen(config_of(certificate_file=certificate, key_file=Authority(tmp_path / "b").issue("other")[1]))
    first = listen(config_of(port=0, certificate_file=certificate, key_file=key))
    assert first is not None
    with first, pytest.raises(UserError, match="cannot be taken"):
        listen(config_of(port=first.getsockname()[1], certificate_file=certificate, key_file=key))


@contextlib.contextmanager
def endpoint(config: Config) -> Iterator[tuple[int, ssl.SSLContext]]:
    """The endpoint in this process: its port, and how its connections are secured."""
    listening, context = listen(config), tls_context(config)
    assert listening is not None
    assert context is not None
    server = make_server(make_app(config)[0], context, config.push)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield listening.getsockname()[1], context
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


def shown(port: int, authority: Path) -> str:
    """The certificate that a client is shown."""
    return ssl.get_server_certificate(("127.0.0.1", port), ca_certs=str(authority))


def test_a_renewed_certificate_is_shown_without_a_restart(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    config = config_of(port=0, certificate_file=certificate, key_file=key)
    with endpoint(config) as (port, context):
        before = shown(port, authority.file)
        renewed = Renewed(context, config)
        renewed.look()
        assert shown(port, authority.file) == before
        certificate.write_text("half of a certificate")
        renewed.look()
        assert shown(port, authority.file) == before
        authority.issue("server")
        renewed.look()
        assert shown(port, authority.file) != before


def test_clients_show_a_certificate_where_authorities_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    config = config_of(port=0, certificate_file=certificate, key_file=key, client_ca_file=authority.file)
    url = "/channels/partner/messages"
    with endpoint(config) as (port, _):
        trusting = ssl.create_default_context(cafile=authority.file)
        with pytest.raises((OSError, httpx.HTTPError)), httpx.Client(verify=trusting) as client:
            client.post(f"https://127.0.0.1:{port}{url}", content=b"x")
        trusting.load_cert_chain(*authority.issue("client"))
        with httpx.Client(verify=trusting) as client:
            assert client.post(f"https://127.0.0.1:{port}{url}", content=b"x").status_code == 401


def test_each_host_polls_what_was_pushed_to_it(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other channels are polled by one host of all."""
    channels = [
        {"name": "partner", "market": "NL", "kind": "push", "token_file": "token"},
        {"name": "drop", "market": "NL", "kind": "folder", "direction": "in", "path": "in"},
    ]
    office.desk.config = Config.model_validate({"channels": channels})
    keys = []
    for host in ("one", "two"):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        keys.append([Polling(office.desk, MemoryIn(name), office.gateway.inbound).key for name in ("partner", "drop")])
    assert keys == [["poll/partner@one", "poll/drop"], ["poll/partner@two", "poll/drop"]]
