"""The channels of the configuration: what is accepted, what is refused, and that secrets are never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import fields

from energycomm.cli import main
from energycomm.config import Config, load
from energycomm.errors import UserError
from energycomm.transport.channel import Unseen
from energycomm.transport.folders import FolderIn, FolderOut
from energycomm.transport.httpqueue import HttpQueueOut
from energycomm.transport.messagequeue import QueueIn, QueueNames, QueueOut, QueueService
from energycomm.transport.opening import Places, bare_channel, open_channel
from energycomm.transport.patience import GuardedIn, GuardedOut
from energycomm.transport.push import PushIn
from energycomm.transport.settings import QUEUE_NAMES
from energycomm.transport.sftp import SftpIn, SftpOut
from energycomm.transport.soap import SoapOut

EVERY_KIND = """
[[channels]]
name = "inbox"
market = "FR"
direction = "in"
kind = "folder"
path = "inbox"

[[channels]]
name = "outbox"
market = "FR"
direction = "out"
kind = "folder"
path = "outbox"

[[channels]]
name = "enedis"
market = "FR"
direction = "in"
kind = "sftp"
host = "sftp.example"
user = "us"
known_hosts = "known_hosts"
path = "/out"
password_env = "ENERGYCOMM_ENEDIS_PASSWORD"
after = "keep"

[[channels]]
name = "enedis-out"
market = "FR"
direction = "out"
kind = "sftp"
host = "sftp.example"
user = "us"
known_hosts = "known_hosts"
path = "/in"
key_file = "id"

[[channels]]
name = "sge"
market = "FR"
kind = "soap"
url = "https://sge.example/ws"
[channels.actions]
Search = "urn:search"

[[channels]]
name = "atrias-in"
market = "BE"
direction = "in"
kind = "message-queue"
url = "https://atrias.example/ms"
[channels.names]
message = "Payload"
payload = "xml"

[[channels]]
name = "atrias-out"
market = "BE"
direction = "out"
kind = "message-queue"
url = "https://atrias.example/ms"
break_after = 2

[[channels]]
name = "hub-in"
market = "DK"
direction = "in"
kind = "http-queue"
url = "https://hub.example/b2b"
queues = ["aggregations", "measuredata"]
form = "json"
token_url = "https://login.example/token"
client_id = "us"
client_secret_env = "ENERGYCOMM_HUB_SECRET"
scope = "api"

[[channels]]
name = "hub-out"
market = "DK"
direction = "out"
kind = "http-queue"
url = "https://hub.example/b2b"
queues = ["aggregations"]
certificate_file = "hub.pem"

[[channels]]
name = "pushed"
market = "NL"
kind = "push"
token_file = "token"
"""

Writer = Callable[[str], Config]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writer:
    """Write an energycomm.toml and read it."""
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Config:
        (tmp_path / "energycomm.toml").write_text(text, "utf-8")
        return load()

    return written


def test_every_kind_is_opened_as_it_is_configured(
    read: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is connected by opening; a variable that holds a secret is no unknown setting."""
    monkeypatch.setenv("ENERGYCOMM_ENEDIS_PASSWORD", "hunter2")
    monkeypatch.setenv("ENERGYCOMM_HUB_SECRET", "hunter3")
    config = read(EVERY_KIND)
    places, seen = Places(config.folder, config.spool_folder, queue_names={"BE": {"namespace": "urn:x"}}), Unseen()
    channels = [bare_channel(setting, places, seen) for setting in config.channels]
    kinds = [FolderIn, FolderOut, SftpIn, SftpOut, SoapOut, QueueIn, QueueOut, QueueIn, HttpQueueOut, PushIn]
    assert [type(channel) for channel in channels] == kinds
    directions = " ".join(channel.direction for channel in channels)
    assert directions == "in out in out out in out in out in"
    assert [(channel.name, channel.market) for channel in channels] == [
        (setting.name, setting.market) for setting in config.channels
    ]
    guarded = [open_channel(setting, places, seen) for setting in config.channels]
    assert {type(channel) for channel in guarded} == {GuardedIn, GuardedOut}
    assert not (tmp_path / "spool").exists()


def folder(**settings: str) -> str:
    lines = {"name": '"a"', "market": '"FR"', "direction": '"in"', "kind": '"folder"', "path": '"x"', **settings}
    return "[[channels]]\n" + "\n".join(f"{name} = {value}" for name, value in lines.items() if value)


def sftp(**settings: str) -> str:
    return folder(
        kind='"sftp"', **{"host": '"h"', "user": '"u"', "known_hosts": '"k"', "password_env": '"P"', **settings}
    )


def service(kind: str, **settings: str) -> str:
    return folder(path="", kind=f'"{kind}"', **{"url": '"https://x/"', **settings})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            folder(kind='"ftp"'),
            ["channels.1", "'ftp'", "'folder', 'sftp', 'soap', 'message-queue', 'http-queue', 'push'"],
        ),
        (folder(name='"A b"'), ["channels.1.folder.name"]),
        (folder(market='"France"'), ["channels.1.folder.market"]),
        (folder(colour="1"), ["channels.1.folder.colour", "no such setting"]),
        (folder() + "\n" + folder(), ["'a' is the name of two channels"]),
        (sftp(password_env=""), ["either a password", "key_file is needed"]),
        (sftp(key_file='"id"'), ["either a password", "key_file is needed"]),
        (sftp(password_file='"p"'), ["either password_file or password_env, not both"]),
        (sftp(known_hosts=""), ["channels.1.sftp.known_hosts", "it is missing"]),
        (sftp(after='"move"'), ['move_to goes with after = "move"']),
        (service("soap", url='"http://x/"', direction=""), ["channels.1.soap.url"]),
        (service("soap"), ["channels.1.soap.direction", "'out'"]),
        (service("soap", direction="", key_file='"k"'), ["a key_file without a certificate_file"]),
        (service("message-queue", names='{mesage = "x"}'), ["names has no mesage", "message"]),
        (service("message-queue", names='{message = "a b"}'), ["'a b' is no name of an element"]),
        (service("http-queue"), ["channels.1.http-queue.queues", "it is missing"]),
        (service("http-queue", queues='["a b"]'), ["channels.1.http-queue.queues"]),
        (service("http-queue", queues='["a"]'), ["either a token_url or a certificate_file is needed"]),
        (service("http-queue", queues='["a"]', token_url='"https://t/"'), ["client_secret (file or env) go together"]),
        (service("http-queue", queues='["a"]', token_url='"http://t/"'), ["channels.1.http-queue.token_url"]),
        (folder(path="", kind='"push"'), ["token_file or token_env is needed"]),
    ],
)
def test_a_mistake_is_told_with_its_place(read: Writer, text: str, words: list[str]) -> None:
    """By number of the channel, kind and setting."""
    with pytest.raises(UserError) as caught:
        read(text)
    for word in words:
        assert word in str(caught.value)


def test_a_secret_under_a_wrong_name_is_not_repeated(read: Writer) -> None:
    """Somebody writes the password itself into the file."""
    with pytest.raises(UserError) as caught:
        read(sftp(password='"hunter2"'))
    assert "channels.1.sftp.password: no such setting" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_config_show_shows_channels_and_no_secret(
    read: Writer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where secrets are."""
    monkeypatch.setenv("ENERGYCOMM_ENEDIS_PASSWORD", "hunter2")
    read(EVERY_KIND)
    assert main(["config", "show"]) == 0
    assert main(["config", "show", "--json"]) == 0
    assert main(["channel", "list", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "sftp.example" in shown
    assert "hunter2" not in shown


def test_the_names_that_can_be_configured_are_those_of_the_channel() -> None:
    """A name that the channel knows can be set."""
    assert {field.name for field in fields(QueueNames)} == QUEUE_NAMES


def test_the_names_of_a_market_are_used_where_the_configuration_says_none(read: Writer, tmp_path: Path) -> None:
    """The adapter's table, then the settings."""
    setting = read(service("message-queue", names='{queue = "Q"}')).channels[0]
    places = Places(tmp_path, tmp_path, queue_names={"FR": {"namespace": "urn:x", "queue": "X", "send": "Send"}})
    channel = bare_channel(setting, places)
    assert isinstance(channel, QueueIn)
    assert isinstance(channel._service, QueueService)
    assert (channel._service.names.queue, channel._service.names.send) == ("Q", "Send")
