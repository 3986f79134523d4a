"""SFTP channels against a real server: what is fetched, what is left, and what happens when it breaks."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import paramiko
import pytest

from energycomm.transport.channel import Arrival, Sent, TechnicalError
from energycomm.transport.credentials import Secret
from energycomm.transport.sftp import SftpIn, SftpOut
from energycomm.transport.sftp_session import SftpServer
from tests.servers.sftp import PASSWORD, USER, SftpTestServer, sftp_server
from tests.transport.arrivals import Message, content_of, drop, taken


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SftpTestServer]:
    """A server with the folders `out` (for us) and `done`."""
    root = tmp_path / "served"
    for name in ("out", "done"):
        (root / name).mkdir(parents=True)
    with sftp_server(root) as server:
        yield server


@pytest.fixture
def outbox(served: SftpTestServer) -> Path:
    """The folder that the market leaves files in."""
    return served.root / "out"


def login(served: SftpTestServer, tmp_path: Path, **settings: Any) -> SftpServer:
    known = {"known_hosts": served.known_hosts(tmp_path / "known_hosts"), "timeout": 5.0, "connect_timeout": 5.0}
    password = Secret("password", variable="P", environ={"P": PASSWORD})
    return SftpServer(
        **{"host": "127.0.0.1", "port": served.port, "user": USER, "password": password, **known, **settings}
    )


class Memory:
    """What was seen, in memory."""

    def __init__(self) -> None:
        self.marks: set[tuple[str, str]] = set()

    def seen(self, channel: str, key: str) -> bool:
        return (channel, key) in self.marks

    def mark(self, channel: str, key: str) -> None:
        self.marks.add((channel, key))


@pytest.fixture
def open_in(served: SftpTestServer, tmp_path: Path) -> Iterator[Any]:
    """Open an incoming channel; it is closed at the end."""
    opened: list[SftpIn] = []

    def make(**settings: Any) -> SftpIn:
        server = settings.pop("server", None) or login(served, tmp_path)
        channel = SftpIn("enedis", "FR", server, "/out", tmp_path / "spool", **settings)
        opened.append(channel)
        return channel

    yield make
    for channel in opened:
        channel.close()


def only_error(channel: SftpIn) -> TechnicalError:
    (item,) = channel.poll()
    assert isinstance(item, TechnicalError)
    return item


def test_files_are_fetched_the_oldest_first_and_deleted_when_the_store_has_them(open_in: Any, outbox: Path) -> None:
    """Nothing is deleted before it is acknowledged."""
    drop(outbox, "b.zip", b"older", age=200)
    drop(outbox, "a.zip", b"younger", age=100)
    channel = open_in()
    assert channel.check() == "2 files in /out on 127.0.0.1"
    first, second = taken(channel)
    assert [(item.name, content_of(item)) for item in (first, second)] == [("b.zip", b"older"), ("a.zip", b"younger")]
    assert sorted(path.name for path in outbox.iterdir()) == ["a.zip", "b.zip"]
    assert first.acknowledge() is None
    assert [path.name for path in outbox.iterdir()] == ["a.zip"]
    assert taken(channel) == []
    assert second.acknowledge("duplicate") is None
    assert list(outbox.iterdir()) == []


def test_files_are_moved_on_the_server_and_overwrite_nothing_there(
    open_in: Any, outbox: Path, served: SftpTestServer
) -> None:
    """A name that comes again gets a number."""
    channel = open_in(after="move", move_to="/done")
    for content in (b"1", b"22"):
        drop(outbox, "a.zip", content)
        (arrival,) = taken(channel)
        assert arrival.acknowledge() is None
    assert {path.name: path.read_bytes() for path in (served.root / "done").iterdir()} == {
        "a.zip": b"1",
        "2-a.zip": b"22",
    }


def test_files_that_are_kept_come_once_and_again_when_they_change(open_in: Any, outbox: Path) -> None:
    """The memory is asked, also by another process."""
    memory = Memory()
    drop(outbox, "a.zip", b"1")
    channel = open_in(after="keep", seen=memory)
    taken(channel)[0].acknowledge()
    channel.close()
    again = open_in(after="keep", seen=memory)
    assert taken(again) == []
    drop(outbox, "a.zip", b"22")
    assert [content_of(item) for item in taken(again)] == [b"22"]
    assert sorted(path.name for path in outbox.iterdir()) == ["a.zip"]


def test_after_a_crash_the_file_comes_from_our_own_disk(
    open_in: Any, outbox: Path, served: SftpTestServer, tmp_path: Path
) -> None:
    """What was fetched is not fetched again, and is deleted on the server after all."""
    drop(outbox, "a.zip", b"x" * 5000)
    first = open_in()
    assert len(taken(first)) == 1
    first.close()
    fetched = served.faults.bytes_read
    second = open_in()
    (arrival,) = taken(second)
    assert content_of(arrival) == b"x" * 5000
    assert served.faults.bytes_read == fetched
    assert arrival.acknowledge() is None
    assert list(outbox.iterdir()) == []
    assert [path.name for path in (tmp_path / "spool").iterdir()] == [".lock"]


@pytest.mark.thorough
def test_a_transfer_that_breaks_is_taken_up_where_it_stopped(
    open_in: Any, outbox: Path, served: SftpTestServer, tmp_path: Path
) -> None:
    """The second attempt fetches the rest only."""
    content = os.urandom(3_000_000)
    drop(outbox, "a.zip", content)

    def half_a_megabyte_is_there() -> None:
        until = time.monotonic() + 120  # a busy machine may stand still for long
        while time.monotonic() < until and sum(part.stat().st_size for part in spool.glob(".*.part")) <= 500_000:
            time.sleep(0.01)

    spool = tmp_path / "spool"
    served.faults.break_after, served.faults.on_break = 1_500_000, half_a_megabyte_is_there
    channel = open_in(server=login(served, tmp_path, timeout=240.0))
    error = only_error(channel)
    assert error.transient
    assert error.item is None
    (arrival,) = taken(channel)
    assert content_of(arrival) == content
    first, second = served.faults.starts
    assert first == 0
    assert second > 500_000


def test_a_file_that_changes_while_it_is_fetched_is_fetched_again_later(
    open_in: Any, outbox: Path, served: SftpTestServer
) -> None:
    """What is given out is what the server had before and after."""
    drop(outbox, "a.zip", b"first half")

    def grow(path: Path) -> None:
        served.faults.on_open = None
        with path.open("ab") as file:
            file.write(b", second half")

    served.faults.on_open = grow
    channel = open_in(settle=0)
    assert taken(channel) == []
    assert [content_of(item) for item in taken(channel)] == [b"first half, second half"]


def test_files_that_appear_or_vanish_while_the_folder_is_read_do_no_harm(
    open_in: Any, outbox: Path, served: SftpTestServer
) -> None:
    """One that vanished is passed over; one that appeared comes with the next poll."""
    drop(outbox, "a.zip", b"a", age=300)
    drop(outbox, "b.zip", b"b", age=200)
    served.faults.vanish = {"a.zip"}
    served.faults.on_open = lambda path: drop(outbox, "c.zip", b"c", age=100)
    channel = open_in()
    assert [item.name for item in taken(channel)] == ["b.zip"]
    served.faults.on_open = None  # written again while it is read, it would count as changed
    assert [item.name for item in taken(channel)] == ["c.zip"]


def test_a_file_that_was_just_written_is_left_to_settle(open_in: Any, outbox: Path) -> None:
    """Neither fresh files nor temporary names are fetched."""
    now = [0.0]
    channel = open_in(settle=30, clock=lambda: now[0])
    drop(outbox, "a.zip.part")
    drop(outbox, "b.zip", age=-3600)
    assert taken(channel) == []
    now[0] = 31.0
    assert [item.name for item in taken(channel)] == ["b.zip"]


def test_folders_inside_are_looked_into_where_asked(open_in: Any, outbox: Path) -> None:
    """Enedis has one folder for each family of flux."""
    (outbox / "R1X" / "deep").mkdir(parents=True)
    drop(outbox / "R1X" / "deep", "a.zip")
    drop(outbox, "b.txt")
    assert taken(open_in(include=("*.zip",))) == []


def test_folders_inside_are_looked_into(open_in: Any, outbox: Path) -> None:
    """With `recursive`, files below come by their own name and are deleted where they are."""
    (outbox / "R1X" / "deep").mkdir(parents=True)
    path = drop(outbox / "R1X" / "deep", "a.zip")
    (arrival,) = taken(open_in(recursive=True, include=("*.zip",)))
    assert arrival.name == "a.zip"
    assert arrival.acknowledge() is None
    assert not path.exists()


def test_a_bad_file_does_not_stop_the_others(open_in: Any, outbox: Path, served: SftpTestServer) -> None:
    """One too large and one that may not be read are told; both stay."""
    drop(outbox, "a.zip", b"x" * 100, age=300)
    drop(outbox, "b.zip", b"b", age=200)
    drop(outbox, "c.zip", b"c", age=100)
    served.faults.denied = {"b.zip"}
    first, second, third = open_in(max_bytes=50).poll()
    assert (first.code, first.item) == ("CHANNEL_TOO_LARGE", "/out/a.zip")
    assert (second.code, second.item) == ("CHANNEL_DENIED", "/out/b.zip")
    assert isinstance(third, Arrival)
    assert len(list(outbox.iterdir())) == 3


def test_a_file_that_cannot_be_deleted_is_not_given_out_again(
    open_in: Any, outbox: Path, served: SftpTestServer
) -> None:
    """Its deletion is tried again by the next poll."""
    drop(outbox, "a.zip", age=300)
    drop(outbox, "b.zip", age=200)
    channel = open_in()
    served.faults.denied = {"a.zip", "b.zip"}
    served.faults.readable = True
    for arrival in taken(channel):
        error = arrival.acknowledge()
        assert error is not None
        assert error.code == "CHANNEL_DENIED"
    served.faults.denied = {"a.zip"}
    assert only_error(channel).item == "/out/a.zip"
    assert [path.name for path in outbox.iterdir()] == ["a.zip"]
    served.faults.denied = set()
    assert taken(channel) == []
    assert list(outbox.iterdir()) == []


def test_a_disk_of_ours_that_is_full_is_told_as_such(open_in: Any, outbox: Path, tmp_path: Path) -> None:
    """The file stays on the server; nobody is told that it vanished."""
    path = drop(outbox, "a.zip")
    (tmp_path / "spool").mkdir()
    key = f"/out/a.zip|1|{int(path.stat().st_mtime)}"
    (tmp_path / "spool" / f".{sha256(key.encode()).hexdigest()[:32]}.part").symlink_to("/dev/full")
    error = only_error(open_in())
    assert (error.code, error.item) == ("CHANNEL_LOCAL", None)
    assert "No space left" in error.detail
    assert path.exists()


def test_a_file_that_the_server_fails_to_give_is_told(open_in: Any, outbox: Path, served: SftpTestServer) -> None:
    """It did not vanish: somebody must look at it."""
    drop(outbox, "a.zip", age=300)
    drop(outbox, "b.zip", age=200)
    served.faults.failing = {"a.zip"}
    first, second = open_in().poll()
    assert isinstance(first, TechnicalError)
    assert first.item == "/out/a.zip"
    assert isinstance(second, Arrival)


def test_a_new_file_under_the_old_name_is_not_deleted(open_in: Any, outbox: Path) -> None:
    """The market replaced it between fetching and acknowledging."""
    drop(outbox, "a.zip", b"old")
    channel = open_in()
    (arrival,) = taken(channel)
    drop(outbox, "a.zip", b"newer")
    assert arrival.acknowledge() is None
    assert [content_of(item) for item in taken(channel)] == [b"newer"]


def test_another_host_key_is_refused_before_the_password_is_sent(
    open_in: Any, served: SftpTestServer, tmp_path: Path
) -> None:
    """Somebody may stand in between."""
    served.known_hosts(tmp_path / "other", paramiko.ECDSAKey.generate())
    channel = open_in(server=login(served, tmp_path, known_hosts=tmp_path / "other"))
    error = only_error(channel)
    assert (error.code, error.transient) == ("CHANNEL_HOST_KEY", False)
    assert served.faults.logins == 0


def test_a_host_that_is_not_known_is_refused(open_in: Any, served: SftpTestServer, tmp_path: Path) -> None:
    """No key is ever taken on trust; the error says which key the server shows."""
    (tmp_path / "empty").write_text("")
    channel = open_in(server=login(served, tmp_path, known_hosts=tmp_path / "empty"))
    error = only_error(channel)
    channel.close()
    assert error.code == "CHANNEL_HOST_KEY"
    assert "SHA256:" in error.detail
    assert served.faults.logins == 0
    error = only_error(open_in(server=login(served, tmp_path, known_hosts=tmp_path / "none")))
    assert error.code == "CHANNEL_CONFIG"


def test_a_refused_login_tells_no_secret(open_in: Any, served: SftpTestServer, tmp_path: Path) -> None:
    """Words, not the password."""
    wrong = Secret("password", variable="P", environ={"P": "hunter2"})
    channel = open_in(server=login(served, tmp_path, password=wrong))
    error = only_error(channel)
    assert error.code == "CHANNEL_LOGIN"
    assert "hunter2" not in str(error) + repr(channel) + repr(wrong)
    channel.close()
    missing = Secret("password", variable="NOT_SET", environ={})
    error = only_error(open_in(server=login(served, tmp_path, password=missing)))
    assert error.code == "CHANNEL_CONFIG"
    assert "NOT_SET" in error.detail


def test_a_server_that_flaps_is_a_passing_error(open_in: Any, outbox: Path, served: SftpTestServer) -> None:
    """Refused connections, then one that works."""
    drop(outbox, "a.zip")
    served.faults.refuse = 2
    channel = open_in()
    assert [only_error(channel).transient for _ in range(2)] == [True, True]
    assert len(taken(channel)) == 1


def test_nothing_listens(open_in: Any, served: SftpTestServer, tmp_path: Path) -> None:
    """Unreachable, in the words of the system."""
    server = login(served, tmp_path, port=1)
    error = only_error(open_in(server=server))
    assert error.code == "CHANNEL_UNREACHABLE"
    assert os.strerror(errno.ECONNREFUSED) in str(error)
    assert "None" not in str(error)


def test_a_private_key_opens_the_door(tmp_path: Path) -> None:
    """An encrypted key with its pass phrase; without it the error is about our configuration."""
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(tmp_path / "key"), password="sesame")
    root = tmp_path / "served"
    (root / "out").mkdir(parents=True)
    with sftp_server(root, key) as served:
        phrase = Secret("passphrase", variable="W", environ={"W": "sesame"})
        good = login(served, tmp_path, password=None, key_file=tmp_path / "key", passphrase=phrase)
        channel = SftpOut("x", "FR", good, "/out")
        assert channel.check() == "files can be left in /out on 127.0.0.1"
        channel.close()
        for wrong in (None, Secret("passphrase", variable="W", environ={"W": "open barley"})):
            bad = login(served, tmp_path, password=None, key_file=tmp_path / "key", passphrase=wrong)
            error = SftpOut("x", "FR", bad, "/out").check()
            assert isinstance(error, TechnicalError)
            assert error.code == "CHANNEL_CONFIG"
            assert "barley" not in str(error)


def test_only_one_process_polls(open_in: Any, outbox: Path) -> None:
    """The spool is one process's."""
    drop(outbox, "a.zip")
    first = open_in()
    assert len(taken(first)) == 1
    assert only_error(open_in()).code == "CHANNEL_BUSY"
    first.close()


def test_messages_are_left_whole_once_and_told_apart(served: SftpTestServer, outbox: Path, tmp_path: Path) -> None:
    """The market never sees half a file; the same again is a duplicate, other bytes a conflict."""
    channel = SftpOut("x", "FR", login(served, tmp_path), "/out")
    seen_names: list[str] = []
    assert channel.send(Message()) == Sent(reference="r1", receipt="/out/C15_r1.xml")
    seen_names += [path.name for path in outbox.iterdir()]
    again = channel.send(Message())
    assert isinstance(again, Sent)
    assert again.duplicate
    conflict = channel.send(Message(content=b"<b/>"))
    assert isinstance(conflict, TechnicalError)
    assert conflict.code == "CHANNEL_CONFLICT"
    assert seen_names == [path.name for path in outbox.iterdir()] == ["C15_r1.xml"]
    assert (outbox / "C15_r1.xml").read_bytes() == b"<a/>"
    missing = SftpOut("x", "FR", login(served, tmp_path), "/nowhere")
    assert isinstance(missing.check(), TechnicalError)
    assert isinstance(missing.send(Message()), TechnicalError)
    channel.close()
    missing.close()


def test_a_lost_connection_is_opened_again(served: SftpTestServer, tmp_path: Path) -> None:
    """A server that hangs up between two messages costs one attempt at most."""
    channel = SftpOut("x", "FR", login(served, tmp_path), "/out")
    assert isinstance(channel.send(Message()), Sent)
    served.cut()
    outcomes = [channel.send(Message(reference="r2")) for _ in range(2)]
    assert isinstance(outcomes[-1], Sent)
    channel.close()
