"""`energycomm channel`, as an operator uses it: folders and a real SFTP server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from energycomm.errors import ExitCode
from tests.end_to_end.conftest import Place
from tests.servers.sftp import PASSWORD, USER, SftpTestServer, sftp_server
from tests.transport.arrivals import drop

Places = Callable[..., Place]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SftpTestServer]:
    """An SFTP server with a folder `out`."""
    (tmp_path / "served" / "out").mkdir(parents=True)
    with sftp_server(tmp_path / "served") as server:
        yield server


def configure(here: Place, text: str) -> None:
    (here.folder / "energycomm.toml").write_text(text, "utf-8")


def folder_channel(here: Place, market: str = "FR") -> Path:
    inbox = here.folder / "inbox"
    inbox.mkdir()
    configure(
        here,
        f'[[channels]]\nname = "inbox"\nmarket = "{market}"\ndirection = "in"\nkind = "folder"\npath = "inbox"\n',
    )
    return inbox


def names_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_folder_is_polled_into_the_store_and_each_file_goes_where_it_belongs(
    place: Places, project_root: Path
) -> None:
    """Good files are done, the same bytes again are duplicates, what cannot be read has its reason beside it."""
    here = place()
    inbox = folder_channel(here)
    content = (project_root / "fixtures" / "fr" / "c15_entries.xml").read_bytes()
    drop(inbox, "first.xml", content, age=300)
    drop(inbox, "second.xml", content, age=200)
    drop(inbox, "third.zip", b"PK\x03\x04 broken", age=100)
    drop(inbox, "fourth.xml.part", b"half")
    answer = here("channel", "poll", "inbox", "--once", "--json")
    assert answer.code == ExitCode.UNREADABLE
    assert answer.json["envelopes"] == {"taken_in": 3, "resumed": 0, "duplicate": 1, "unreadable": 1, "left": 0}
    assert answer.json["channel_errors"] == []
    assert [name for name in names_below(inbox) if not name.endswith(".lock")] == [
        "done/first.xml",
        "duplicate/second.xml",
        "failed/third.zip",
        "failed/third.zip.reason.txt",
        "fourth.xml.part",
    ]
    assert "ENV_" in (inbox / "failed" / "third.zip.reason.txt").read_text()
    assert here.rows("SELECT DISTINCT channel FROM envelope") == [("inbox",)]
    again = here("channel", "poll", "inbox", "--once", "--json")
    assert again.json["envelopes"]["taken_in"] == 0
    assert again.code == ExitCode.OK


def test_a_file_that_was_picked_up_before_a_crash_is_taken_in_after_it(place: Places, project_root: Path) -> None:
    """It lies in processing; the next poll takes it from there."""
    here = place()
    inbox = folder_channel(here)
    (inbox / "processing").mkdir()
    shutil.copy(project_root / "fixtures" / "fr" / "c15_entries.xml", inbox / "processing" / "left.xml")
    assert here("channel", "poll", "inbox", "--once", "--json").json["envelopes"]["taken_in"] == 1
    assert (inbox / "done" / "left.xml").is_file()


def test_an_sftp_server_is_checked_and_polled(
    place: Places, served: SftpTestServer, project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the host key is wrong, then the password, then all is well; the password is shown nowhere."""
    here = place()
    content = (project_root / "fixtures" / "fr" / "c15_entries.xml").read_bytes()
    drop(served.root / "out", "a.xml", content)
    configure(
        here,
        f'[[channels]]\nname = "enedis"\nmarket = "FR"\ndirection = "in"\nkind = "sftp"\nhost = "127.0.0.1"\n'
        f'port = {served.port}\nuser = "{USER}"\nknown_hosts = "known_hosts"\npath = "/out"\npassword_env = "SECRET"\n',
    )
    monkeypatch.setenv("SECRET", "hunter2")
    (here.folder / "known_hosts").write_text("")
    unknown = here("channel", "check", "enedis")
    assert (unknown.code, "CHANNEL_HOST_KEY" in unknown.out) == (ExitCode.UNREADABLE, True)
    served.known_hosts(here.folder / "known_hosts")
    refused = here("channel", "check", "enedis", "--json")
    assert (refused.code, refused.json[0]["works"]) == (ExitCode.UNREADABLE, False)
    assert "CHANNEL_LOGIN" in refused.out
    failed = here("channel", "poll", "enedis", "--once", "--json")
    assert failed.code == ExitCode.UNREADABLE
    assert "CHANNEL_LOGIN" in failed.json["channel_errors"][0]
    monkeypatch.setenv("SECRET", PASSWORD)
    good = here("channel", "check")
    assert (good.code, "1 file in /out on 127.0.0.1" in good.out) == (ExitCode.OK, True)
    polled = here("channel", "poll", "enedis", "--once", "--json")
    assert polled.json["envelopes"]["taken_in"] == 1
    assert polled.json["channel_errors"] == []
    assert list((served.root / "out").iterdir()) == []
    assert "hunter2" not in unknown.out + refused.out + refused.err + failed.out + failed.err


def test_what_cannot_be_polled_is_told_in_words(place: Places) -> None:
    """No such channel, or one that sends: exit code 3."""
    here = place()
    assert here("channel", "list").err == "No channels are configured; docs/channels.md says how.\n"
    missing = here("channel", "poll", "none", "--once")
    assert (missing.code, "There is no channel none." in missing.err) == (ExitCode.USAGE, True)
    configure(here, '[[channels]]\nname = "out"\nmarket = "FR"\ndirection = "out"\nkind = "folder"\npath = "x"\n')
    sends = here("channel", "poll", "out", "--once")
    assert (sends.code, "only incoming ones are polled" in sends.err) == (ExitCode.USAGE, True)
    assert here("channel", "list").out.split("\t")[:4] == ["out", "FR", "out", "folder"]
