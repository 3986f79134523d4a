"""Folders as channels: atomic pick-up, half-written files, what a crash leaves, and where files end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from energycomm.transport.channel import Arrival, Sent, TechnicalError
from energycomm.transport.folders import FolderIn, FolderOut
from tests.transport.arrivals import Message, content_of, drop, taken


def errors(channel: FolderIn) -> list[TechnicalError]:
    return [item for item in channel.poll() if isinstance(item, TechnicalError)]


def below(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"
    )


def test_files_come_by_name_and_go_where_they_belong(tmp_path: Path) -> None:
    """Each outcome has its folder, and a failed file has its reason beside it."""
    for name in ("c.zip", "a.zip", "b.zip"):
        drop(tmp_path, name, name.encode())
    channel = FolderIn("in", "FR", tmp_path)
    found = taken(channel)
    assert [item.name for item in found] == ["a.zip", "b.zip", "c.zip"]
    assert [content_of(item) for item in found] == [b"a.zip", b"b.zip", b"c.zip"]
    assert below(tmp_path) == ["processing/a.zip", "processing/b.zip", "processing/c.zip"]
    found[0].acknowledge("done")
    found[1].acknowledge("duplicate")
    found[2].acknowledge("failed", "ENV_NO_KEY: no key opens it")
    assert below(tmp_path) == ["done/a.zip", "duplicate/b.zip", "failed/c.zip", "failed/c.zip.reason.txt"]
    assert (tmp_path / "failed/c.zip.reason.txt").read_text() == "ENV_NO_KEY: no key opens it"


def test_what_is_not_acknowledged_is_not_given_out_twice_but_comes_again_after_a_crash(tmp_path: Path) -> None:
    """The object knows what it gave out; another one, after the process died, gives it out again."""
    drop(tmp_path, "a.zip")
    first = FolderIn("in", "FR", tmp_path)
    assert len(taken(first)) == 1
    assert taken(first) == []
    first.close()  # the lock of a process that dies vanishes just so
    again = taken(FolderIn("in", "FR", tmp_path))
    assert [item.name for item in again] == ["a.zip"]


def test_what_is_given_back_comes_at_the_next_poll(tmp_path: Path) -> None:
    """A daemon that stops, or has no room, loses nothing."""
    drop(tmp_path, "a.zip")
    channel = FolderIn("in", "FR", tmp_path)
    taken(channel)[0].give_back()
    assert [item.name for item in taken(channel)] == ["a.zip"]


def test_leaving_the_poll_early_leaves_the_rest_where_it_was(tmp_path: Path) -> None:
    """Back-pressure: nothing is picked up that nobody asked for."""
    drop(tmp_path, "a.zip")
    drop(tmp_path, "b.zip")
    channel = FolderIn("in", "FR", tmp_path)
    next(channel.poll())
    assert below(tmp_path) == ["b.zip", "processing/a.zip"]


@pytest.mark.parametrize("name", ["a.zip.part", ".a.zip", "a.tmp", "a.zip~", "a.filepart", "A.PART"])
def test_a_name_of_an_unfinished_file_is_left_alone(tmp_path: Path, name: str) -> None:
    """Whoever writes under a temporary name renames it when it is whole."""
    drop(tmp_path, name)
    assert taken(FolderIn("in", "FR", tmp_path)) == []
    assert below(tmp_path) == [name]


def test_a_file_that_still_grows_is_left_alone_until_it_is_quiet(tmp_path: Path) -> None:
    """Half a file is never read: it must not have changed for the settling time."""
    now = [0.0]
    channel = FolderIn("in", "FR", tmp_path, settle=5, clock=lambda: now[0])
    path = tmp_path / "a.zip"
    path.write_bytes(b"half")
    assert taken(channel) == []
    now[0] = 4.9
    with path.open("ab") as file:
        file.write(b" more")
    assert taken(channel) == []  # it changed: the time starts anew
    now[0] = 9.0
    assert taken(channel) == []
    now[0] = 9.91
    assert [content_of(item) for item in taken(channel)] == [b"half more"]


def test_a_file_whose_time_lies_in_the_future_is_taken_after_two_looks(tmp_path: Path) -> None:
    """A clock that goes wrong on the other side does not keep a file waiting for ever."""
    now = [0.0]
    channel = FolderIn("in", "FR", tmp_path, settle=5, clock=lambda: now[0])
    drop(tmp_path, "a.zip", age=-86_400)
    assert taken(channel) == []
    now[0] = 6.0
    assert len(taken(channel)) == 1


def test_a_file_that_changes_at_the_moment_of_the_rename_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look after the rename is compared with the one before it."""
    drop(tmp_path, "a.zip", b"half")
    rename = Path.rename

    def rename_while_written(self: Path, target: Path) -> Path:
        if target.parent.name == "processing":
            with self.open("ab") as file:
                file.write(b" more")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", rename_while_written)
    channel = FolderIn("in", "FR", tmp_path)
    assert taken(channel) == []
    assert below(tmp_path) == ["a.zip"]


def test_only_one_process_polls_a_folder(tmp_path: Path) -> None:
    """A second one is told so; it may poll when the first has closed."""
    drop(tmp_path, "a.zip")
    first, second = FolderIn("in", "FR", tmp_path), FolderIn("in", "FR", tmp_path)
    assert len(taken(first)) == 1
    assert [error.code for error in errors(second)] == ["CHANNEL_BUSY"]
    first.close()
    assert len(taken(second)) == 1


def test_a_name_that_comes_again_overwrites_nothing(tmp_path: Path) -> None:
    """Both files are kept."""
    channel = FolderIn("in", "FR", tmp_path)
    for content in (b"1", b"2", b"3"):
        drop(tmp_path, "a.zip", content)
        taken(channel)[0].acknowledge()
    assert below(tmp_path) == ["done/a.2.zip", "done/a.3.zip", "done/a.zip"]


def test_a_file_that_is_too_large_goes_to_failed_and_the_next_is_read(tmp_path: Path) -> None:
    """One bad file does not stop the channel."""
    drop(tmp_path, "a.zip", b"x" * 11)
    drop(tmp_path, "b.zip", b"x" * 10)
    channel = FolderIn("in", "FR", tmp_path, max_bytes=10)
    first, second = channel.poll()
    assert isinstance(first, TechnicalError)
    assert (first.code, first.item, first.transient) == ("CHANNEL_TOO_LARGE", "a.zip", False)
    assert isinstance(second, Arrival)
    assert "11 bytes" in (tmp_path / "failed/a.zip.reason.txt").read_text()


def test_patterns_links_and_folders(tmp_path: Path) -> None:
    """Only ordinary files that fit are taken; a link could lead anywhere."""
    drop(tmp_path, "A.ZIP")
    drop(tmp_path, "a.txt")
    (tmp_path / "b.zip").symlink_to("/etc/hostname")
    (tmp_path / "c.zip").mkdir()
    os.mkfifo(tmp_path / "d.zip")
    told = "1 file waits in {}; left alone (no files, unfinished, or not among `include`): a.txt, b.zip, c.zip, d.zip"
    assert FolderIn("in", "FR", tmp_path, include=("*.zip",)).check() == told.format(tmp_path)
    assert [item.name for item in taken(FolderIn("in", "FR", tmp_path, include=("*.zip",)))] == ["A.ZIP"]


def test_files_are_deleted_where_nobody_wants_to_keep_them(tmp_path: Path) -> None:
    """The store has the bytes; failed files are kept all the same."""
    for name in ("a.zip", "b.zip"):
        drop(tmp_path, name)
    first, second = taken(FolderIn("in", "FR", tmp_path, keep=False))
    first.acknowledge()
    second.acknowledge("failed", "why")
    assert below(tmp_path) == ["failed/b.zip", "failed/b.zip.reason.txt"]


def test_a_folder_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    """No traceback, and the check says the same."""
    channel = FolderIn("in", "FR", tmp_path / "none")
    (error,) = errors(channel)
    assert error.code == "CHANNEL_LOCAL"
    assert "none" in error.detail
    assert isinstance(channel.check(), TechnicalError)
    assert isinstance(FolderOut("out", "FR", tmp_path / "none").send(Message()), TechnicalError)


def test_a_message_is_left_whole_once_and_under_its_reference(tmp_path: Path) -> None:
    """The same reference with the same bytes is a duplicate; with others it is a conflict and nothing is written."""
    channel = FolderOut("out", "FR", tmp_path)
    assert channel.send(Message()) == Sent(reference="r1", receipt="C15_r1.xml")
    assert channel.send(Message()) == Sent(reference="r1", receipt="C15_r1.xml", duplicate=True)
    other = channel.send(Message(content=b"<b/>"))
    assert isinstance(other, TechnicalError)
    assert other.code == "CHANNEL_CONFLICT"
    assert below(tmp_path) == ["C15_r1.xml"]
    assert (tmp_path / "C15_r1.xml").read_bytes() == b"<a/>"


@pytest.mark.parametrize("reference", ["../../etc/passwd", "a/b", "..", ".hidden", "é" * 300, "a\0b", "x" * 1000])
def test_no_reference_leads_out_of_the_folder(tmp_path: Path, reference: str) -> None:
    """References come from back offices; they are names of files only after quoting."""
    folder = tmp_path / "out"
    folder.mkdir()
    sent = FolderOut("out", "FR", folder).send(Message(reference=reference))
    assert isinstance(sent, Sent)
    assert len(below(folder)) == 1
    assert below(tmp_path) == [f"out/{sent.receipt}"]
