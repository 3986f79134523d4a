"""Files and folders become one ordered list of envelope files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from energycomm.transport.intake import collect


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(folder: Path, *arguments: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in collect(arguments or (folder,)).files]


def test_a_folder_is_read_with_everything_below_it_in_order_of_names(tmp_path: Path) -> None:
    make(tmp_path, "b.zip", "a/2.xml", "a/10.xml", "a/1/z", "c", "A.zip")
    assert names(tmp_path) == ["A.zip", "a/1/z", "a/10.xml", "a/2.xml", "b.zip", "c"]


def test_arguments_keep_their_order_and_each_file_comes_once(tmp_path: Path) -> None:
    make(tmp_path, "b/1", "a/1", "a/2")
    assert names(tmp_path, tmp_path / "b", tmp_path / "a" / "2", tmp_path) == ["b/1", "a/2", "a/1"]


def test_hidden_and_unfinished_files_are_passed_over_and_listed(tmp_path: Path) -> None:
    unfinished = [".hidden", "x.zip.part", "x.TMP", "~lock", "x~", "#x#", "x.zip.filepart", ".git/config"]
    make(tmp_path, "good.zip", *unfinished)
    found = collect([tmp_path])
    assert [path.name for path in found.files] == ["good.zip"]
    assert len(found.skipped) == len(unfinished)


def test_a_file_named_on_its_own_is_read_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, ".hidden.tmp")
    assert names(tmp_path, tmp_path / ".hidden.tmp") == [".hidden.tmp"]


def test_a_folder_named_like_a_file_is_a_folder(tmp_path: Path) -> None:
    make(tmp_path, "x.xml/y.xml")
    assert names(tmp_path) == ["x.xml/y.xml"]


def test_what_does_not_exist_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    make(tmp_path, "a")
    found = collect([tmp_path / "gone", tmp_path, tmp_path / "a" / "b", "nul\0"])
    assert [path.name for path in found.files] == ["a"]
    assert [refusal.code for refusal in found.refusals] == ["ENV_MISSING", "ENV_MISSING", "ENV_UNREADABLE"]


def test_links_that_form_a_loop_end(tmp_path: Path) -> None:
    make(tmp_path, "in/a")
    (tmp_path / "in" / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    assert names(tmp_path) == ["in/a"]


def test_a_link_and_its_target_are_one_envelope(tmp_path: Path) -> None:
    make(tmp_path, "a")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert names(tmp_path) == ["a"]


def test_pipes_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = collect([tmp_path])
    assert (found.files, found.skipped) == ((), (tmp_path / "pipe",))


def test_files_that_vanish_while_the_folder_is_read_are_not_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", "b", "sub/c")
    listed = os.scandir

    def vanish(path: Path) -> object:
        listing = listed(path)
        entries = list(listing)
        listing.close()
        (tmp_path / "b").unlink(missing_ok=True)
        if (tmp_path / "sub/c").exists():
            (tmp_path / "sub/c").unlink()
            (tmp_path / "sub").rmdir()

        class Listing:
            def __enter__(self) -> list[os.DirEntry[str]]:
                return entries

            def __exit__(self, *_: object) -> None:
                return None

        return Listing()

    monkeypatch.setattr(os, "scandir", vanish)
    found = collect([tmp_path])
    assert [path.name for path in found.files] == ["a"]
    assert found.refusals == ()
