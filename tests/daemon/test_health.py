"""What the daemon's health tells whom: strangers a word, whoever is admitted the rest, nobody a secret."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from energycomm.config import Config
from energycomm.daemon.health import JSON, TEXT, Doorkeeper, HealthServer, word
from energycomm.daemon.heartbeat import Heartbeat
from energycomm.daemon.supervisor import health_token
from energycomm.errors import UserError
from energycomm.transport.credentials import Secret
from tests.daemon.test_daemon import running_daemon, until

TOKEN = "Vx8-monitoring-token"
HERE = {"Host": "127.0.0.1:9464"}


def token(*lines: str) -> Secret:
    return Secret("token", variable="T", environ={"T": "\n".join(lines)})


@pytest.mark.parametrize(
    ("peer", "headers", "admitted"),
    [
        ("127.0.0.1", HERE, True),
        ("127.0.0.9", {"Host": "localhost:9464"}, True),
        ("::1", {"Host": "[::1]:9464"}, True),
        ("::ffff:127.0.0.1", HERE, True),
        ("10.1.2.3", HERE, False),
        ("::ffff:10.1.2.3", HERE, False),
        ("127.0.0.1", HERE | {"X-Forwarded-For": "127.0.0.1"}, False),
        ("127.0.0.1", HERE | {"Forwarded": "for=10.1.2.3"}, False),
        ("127.0.0.1", {"Host": "evil.example:9464"}, False),
        ("127.0.0.1", {"Host": "127.0.0.1.evil.example"}, False),
        ("127.0.0.1", {}, False),
    ],
)
def test_without_a_token_only_this_machine_is_admitted(peer: str, headers: dict[str, str], admitted: bool) -> None:
    """Not through a proxy, and not a page in a browser that was sent here under another name."""
    assert Doorkeeper().admits(peer, headers) is admitted


@pytest.mark.parametrize(
    ("sent", "admitted"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer  {TOKEN} ", True),
        ("Bearer second", True),
        (f"Basic {TOKEN}", False),
        (TOKEN, False),
        ("Bearer ", False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN}\nsecond", False),
        ("", False),
    ],
)
def test_with_a_token_it_alone_decides(sent: str, admitted: bool) -> None:
    """From wherever, this machine included; two tokens hold while one replaces the other."""
    door = Doorkeeper(token(TOKEN, "second"))
    for peer in ("127.0.0.1", "10.1.2.3"):
        assert door.admits(peer, HERE | {"Authorization": sent}) is admitted


def test_a_token_that_cannot_be_read_admits_nobody() -> None:
    assert not Doorkeeper(Secret("token", variable="T", environ={})).admits("127.0.0.1", HERE)


@pytest.fixture
def guarded() -> Iterator[str]:
    """The address of a server whose details ask for a token."""
    server = HealthServer(
        "127.0.0.1",
        0,
        {"/health/live": lambda: word(True, "live"), "/health/ready": lambda: word(False, "ready")},
        {"/metrics": lambda: (200, TEXT, b"figures"), "/health/details": lambda: (200, JSON, b"{}")},
        Doorkeeper(token(TOKEN)),
    )
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.close()


def test_strangers_hear_one_word(guarded: str) -> None:
    answers = {path: httpx.get(guarded + path) for path in ("/health/live", "/health/ready", "/metrics", "/x")}
    assert {path: (answer.status_code, answer.text) for path, answer in answers.items()} == {
        "/health/live": (200, "live\n"),
        "/health/ready": (503, "unavailable\n"),
        "/metrics": (401, "unauthorized\n"),
        "/x": (404, "not found\n"),
    }
    assert httpx.get(guarded + "/health/details?a=1").status_code == 401
    assert "server" not in answers["/health/live"].headers


def test_whoever_shows_the_token_sees_the_rest(guarded: str) -> None:
    for path, content in (("/metrics", "figures"), ("/health/details", "{}")):
        assert httpx.get(guarded + path, headers={"Authorization": f"Bearer {TOKEN}"}).text == content


def test_a_token_in_two_places_or_in_none_that_can_be_read_is_refused(tmp_path: Path) -> None:
    """Before anything is served."""
    with pytest.raises(ValueError, match="not both"):
        Config.model_validate({"daemon": {"token_file": "a", "token_env": "b"}})
    with pytest.raises(UserError, match="token_file"):
        health_token(Config.model_validate({"daemon": {"token_file": str(tmp_path / "none")}}))
    assert health_token(Config.model_validate({})) is None


@pytest.mark.thorough
def test_a_daemon_without_its_database_tells_no_stranger_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password is in the query of the address, and the driver speaks of it all the time."""
    secret = "Kq3wordofdatabase"
    (tmp_path / "energycomm.toml").write_text(
        f'database = "postgresql://127.0.0.1:1/db?user=u&password={secret}"\nlog_format = "json"\n'
        '[daemon]\nport = 0\nworkers = 1\nheartbeat = "beat.json"\ntoken_env = "MONITOR"\n',
        "utf-8",
    )
    monkeypatch.setitem(os.environ, "MONITOR", TOKEN)
    with running_daemon(tmp_path):
        beat = tmp_path / "beat.json"
        port = until(lambda: json.loads(beat.read_text())["alarms"] and json.loads(beat.read_text())["port"])
        base, shown = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {TOKEN}"}
        ready = httpx.get(f"{base}/health/ready")
        assert (ready.status_code, ready.text) == (503, "unavailable\n")
        assert httpx.get(f"{base}/health/details").status_code == 401
        details = httpx.get(f"{base}/health/details", headers=shown)
        metrics = httpx.get(f"{base}/metrics", headers=shown).text
        assert details.status_code == 503
        assert details.json()["alarms"][0]["alarm"] == "DATABASE_LOST"
        seen = [details.text, metrics, beat.read_text()]
    seen.append((tmp_path / "log").read_text())
    assert "DATABASE_LOST" in seen[-1]
    assert [text for text in seen if secret in text or TOKEN in text] == []


def test_a_heartbeat_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    """Before, the file was missing in silence. What stands in its place does as a folder without rights would."""
    (tmp_path / f".beat.json.{os.getpid()}").mkdir()
    with pytest.raises(UserError, match=r"beat\.json cannot be written") as refused:
        Heartbeat(tmp_path / "beat.json")
    assert "heartbeat" in refused.value.advice
