"""`energycomm serve` in a process of its own, and the commands around it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from energycomm import cli
from energycomm.client import Client, Refused
from energycomm.commands.serve import options, tls_context
from energycomm.config import Config
from energycomm.errors import ExitCode, UserError
from energycomm.kernel.codec import encode_json
from energycomm.web_settings import WebSettings
from tests.pipeline.story import day, start
from tests.servers.authority import Authority
from tests.servers.gateway import gateway_server
from tests.webservice.conftest import PRM, configured, copied, told


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a store."""
    url = copied(told, tmp_path)
    monkeypatch.setenv("ENERGYCOMM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code and output of a command."""
    code = cli.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def served(place: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a running server, and its process."""
    with gateway_server(place) as running:
        yield running


@pytest.mark.thorough
def test_a_served_gateway_answers_the_client_and_stops_when_told(
    served: tuple[str, subprocess.Popen[bytes]], capsys: pytest.CaptureFixture[str]
) -> None:
    address, process = served
    code, token, _ = run(capsys, "token", "create", "anna", "--role", "consultant", "--days", "1")
    assert code == ExitCode.OK
    with Client(address, token.strip()) as gateway:
        (message,) = gateway.messages(state="rejected")
        assert (message.access_point, message.codes) == (PRM, ("CO-R05",))
        done = gateway.inject(start("99000000000025", day(0)).messages)
        assert {one.message.state for one in done.messages} == {"accepted"}
        code, _, _ = run(capsys, "token", "revoke", "1")
        with pytest.raises(Refused, match="unknown, expired or revoked"):
            gateway.me()
    assert httpx.get(f"{address}/", follow_redirects=False).headers.get("location", "/login").startswith("/login")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    assert token.strip() not in (process.stderr.read().decode() if process.stderr else "")


def test_a_place_where_nobody_can_listen_is_said_with_what_to_do(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, "serving on ..." came first."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cases = {
            ("--port", str(taken.getsockname()[1])): ("Address already in use", "ss -ltnp"),
            ("--port", "0", "--host", "192.0.2.1"): ("Cannot assign requested address", "no address of this machine"),
            ("--port", "0", "--host", "nowhere.invalid"): ("Cannot assign", "no address of this machine"),
        }
        for words, expected in cases.items():
            code, _, said = run(capsys, "serve", *words)
            assert code == ExitCode.USAGE
            assert all(one in said for one in expected), said
            assert "serving" not in said


def test_a_certificate_that_has_ended_is_told_when_it_is_used(place: Path) -> None:
    certificate, key = Authority(place).issue("old", expired=True)
    config = Config.model_validate({"web": {"certificate_file": certificate, "key_file": key}})
    with capture_logs() as lines:
        assert tls_context(config) is not None
    assert [(line["event"], line["file"]) for line in lines] == [("certificate.ended", str(certificate))]


def test_tokens_people_and_the_audit_are_seen_to_on_the_command_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, made, told_ = run(
        capsys, "token", "create", "billing", "--role", "back_office", "--scope", "read", "--label", "nightly"
    )
    assert code == ExitCode.OK
    assert re.fullmatch(r"ec_[\w-]{43}\n", made)
    assert "not shown again" in told_
    (listed,) = json.loads(run(capsys, "token", "list", "--json")[1])
    assert (listed["person"], listed["roles"], listed["scopes"]) == ("billing", ["back_office"], ["read"])
    assert made.strip() not in json.dumps(listed)
    (person,) = json.loads(run(capsys, "user", "list", "--json")[1])
    assert (person["name"], person["tokens"], person["sessions"]) == ("billing", 1, 0)
    code, _, words = run(capsys, "user", "sign-out", "billing")
    assert (code, "not signed in" in words) == (ExitCode.USAGE, True)
    assert run(capsys, "user", "sign-out", "billing", "--revoke")[0] == ExitCode.OK
    assert json.loads(run(capsys, "token", "list", "--json")[1]) == []
    code, _, words = run(capsys, "token", "revoke", "1")
    assert (code, "no token 1 that holds" in words) == (ExitCode.USAGE, True)
    page = json.loads(run(capsys, "audit", "list", "--json")[1])
    changes = [one for one in page["entries"] if one["action"] == "change"]
    assert [(one["what"], one["via"]) for one in changes] == [
        ("energycomm user sign-out", "command"),
        ("energycomm token create", "command"),
    ]
    assert changes[1]["subject"] == "token 1 of billing: back_office; read"
    for wrong in (["--action", "guess"], ["--since", "yesterday"], ["--cursor", "x"]):
        assert run(capsys, "audit", "list", *wrong)[0] == ExitCode.USAGE


def test_a_file_is_injected_whole_or_not_at_all(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = b"[" + b",".join(encode_json(one) for one in start("99000000000025", day(0)).messages) + b"]"
    (place / "good.json").write_bytes(good)
    (place / "bad.json").write_bytes(good[:-1] + b',{"kind": "MeterReading", "market": 7}]')
    code, _, words = run(capsys, "inject", "bad.json")
    assert code == ExitCode.UNREADABLE
    assert "message 5: KERNEL_JSON_VALUE at market" in words
    code, shown, _ = run(capsys, "inject", "good.json", "--by", "anna", "--json")
    assert code == ExitCode.OK
    assert {one["message"]["state"] for one in json.loads(shown)["messages"]} == {"accepted"}
    code, _, words = run(capsys, "inject", "good.json")
    assert (code, "4 of 4 had been injected before" in words) == (ExitCode.OK, True)
    (place / "end.json").write_text('{"kind": "EndOfSupply", "market": "FR", "access_point": "4711"}')
    assert run(capsys, "inject", "end.json")[0] == ExitCode.REJECTED
    assert run(capsys, "inject", "nowhere.json")[0] == ExitCode.USAGE


def test_a_certificate_that_cannot_be_used_is_told_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    web = WebSettings(certificate_file=tmp_path / "key.pem", key_file=tmp_path / "key.pem")
    with pytest.raises(UserError, match="cannot be used"):
        tls_context(configured("sqlite:///x.db", web=web))


def test_only_the_proxies_that_are_named_are_believed() -> None:
    plain = options(configured("sqlite:///x.db"), None, 0)
    assert (plain["proxy_headers"], plain["port"]) == (False, 0)
    behind: dict[str, Any] = options(
        configured("sqlite:///x.db", web=WebSettings(proxies=("10.0.0.7",))), "0.0.0.0", None
    )
    assert (behind["proxy_headers"], behind["forwarded_allow_ips"], behind["host"]) == (True, "10.0.0.7", "0.0.0.0")
