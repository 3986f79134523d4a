"""Every hostile file gets its code, quickly and in little memory."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from energycomm.kernel.safexml import prescan
from energycomm.kernel.verdicts import Refusal
from energycomm.transport.envelopes import BrokenMember, Member, open_envelope
from energycomm.transport.forms import HEAD, json_root
from energycomm.transport.intake import collect
from energycomm.transport.keys import Key, KeyRing
from tests.hostile import HOSTILE, write_hostile

RING = KeyRing(
    [Key("old", "aes-128-fixed-iv", bytes(16), bytes(16)), Key("new", "aes-256-iv-in-file", bytes(32))],
)


def judged(path: Path) -> list[str]:
    """The codes of everything in a file, ``readable`` for what an adapter would be given."""
    with open_envelope(path, keys=RING) as envelope:
        return [part.code if isinstance(part, Refusal) else judged_member(part) for part in envelope]


def judged_member(member: Member) -> str:
    try:
        with member.open() as stream:
            if member.form == "json":
                found: object = json_root(stream.read(HEAD))
            else:
                found = prescan(stream) if member.form == "xml" else None
        return found.code if isinstance(found, Refusal) else "readable"
    except BrokenMember as broken:
        return broken.refusal.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    write_hostile(made)
    return made


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, code, _ in HOSTILE])
def test_each_hostile_file_gets_its_code_and_nothing_of_it_is_read(folder: Path, name: str, code: str) -> None:
    tracemalloc.start()
    began = time.process_time()
    found = judged(folder / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert code in found
    assert "readable" not in found
    # A bomb of modest levels is only found where the sum passes the limit, after members that are judged as XML.
    also = {"XML_TRUNCATED", "XML_SYNTAX"} if name == "bomb-in-levels.zip" else set()
    assert set(found) - also == {code}
    assert peak < 40_000_000
    assert time.process_time() - began < 5


def test_the_folder_named_like_a_file_is_no_envelope(folder: Path) -> None:
    found = collect([folder])
    assert {path.name for path in found.files} == {name for name, _, _ in HOSTILE}
    assert found.refusals == ()


def test_every_run_makes_the_same_files(folder: Path, tmp_path: Path) -> None:
    write_hostile(tmp_path)
    for name, _, _ in HOSTILE:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
