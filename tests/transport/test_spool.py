"""The spool: what lies in it is whole, comes in order, and is told to the other side until it hears it."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

from energycomm.transport.channel import Arrival, TechnicalError
from energycomm.transport.spool import STALE, Entry, Spool
from tests.transport.arrivals import content_of


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool("c", tmp_path / "spool")
    assert made.open_for_polling() is None
    return made


def put(spool: Spool, key: str, content: bytes = b"x", **settings: str) -> Entry:
    return spool.put(key, f"{key}.xml", io.BytesIO(content), **settings)


def all_of(spool: Spool) -> list[Arrival]:
    return list(spool.arrivals())


def test_entries_come_in_the_order_in_which_they_were_put(spool: Spool) -> None:
    """Whatever they are called."""
    for key in ("z", "a", "m/../n"):
        put(spool, key, key.encode())
    assert [(item.name, content_of(item)) for item in all_of(spool)] == [
        ("z.xml", b"z"),
        ("a.xml", b"a"),
        ("m/../n.xml", b"m/../n"),
    ]
    assert all(path.parent == spool.folder for path in spool.folder.rglob("*"))


def test_content_without_its_second_file_is_no_entry_and_is_cleared_away_when_old(spool: Spool) -> None:
    """A process died between the two; what it wrote is young enough to be left to a writer who is still there."""
    put(spool, "a")
    (spool.folder / "a.json").unlink()
    assert all_of(spool) == []
    spool.close()
    assert spool.open_for_polling() is None
    assert (spool.folder / "a.content").exists()
    old = time.time() - STALE - 1
    os.utime(spool.folder / "a.content", (old, old))
    put(spool, "b")
    os.utime(spool.folder / "b.content", (old, old))
    spool.close()
    assert spool.open_for_polling() is None
    assert not (spool.folder / "a.content").exists()
    assert [item.name for item in all_of(spool)] == ["b.xml"]


@pytest.mark.parametrize("damage", [b"", b"{", b'{"key": 1}'])
def test_a_damaged_second_file_is_no_entry(spool: Spool, damage: bytes) -> None:
    """And no traceback."""
    put(spool, "a")
    (spool.folder / "a.json").write_bytes(damage)
    assert all_of(spool) == []
    assert spool.find("a") is None


def test_a_disk_that_is_full_leaves_no_entry(spool: Spool) -> None:
    """The reader breaks off in the middle: nothing is there."""

    class Full(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        spool.put("a", "a.xml", Full())
    assert [path.name for path in spool.folder.iterdir()] == [".lock"]


def test_what_the_other_side_could_not_be_told_is_told_again(spool: Spool) -> None:
    """The arrival itself does not come again; its bytes are gone already."""
    put(spool, "a", place="/far/a.xml")
    told: list[str | None] = []

    def deaf(entry: Entry) -> TechnicalError | None:
        told.append(entry.place)
        return TechnicalError(code="CHANNEL_BROKEN", channel="c", detail="deaf") if len(told) < 3 else None

    (arrival,) = spool.arrivals(deaf)
    assert arrival.acknowledge() is not None
    assert all_of(spool) == []
    again = Spool("c", spool.folder)
    assert all_of(again) == []
    assert [error.code for error in again.retell(deaf)] == ["CHANNEL_BROKEN"]
    assert again.retell(deaf) == []
    assert told == ["/far/a.xml"] * 3
    assert again.entries() == []


def test_failed_content_is_kept_with_its_reason(spool: Spool) -> None:
    """For a person to look at."""
    put(spool, "a", b"broken")
    (arrival,) = spool.arrivals()
    assert arrival.acknowledge("failed", "ENV_NO_KEY") is None
    kept = sorted(path.name for path in (spool.folder / "failed").iterdir())
    assert kept == ["a.xml", "a.xml.reason.txt"]
    assert (spool.folder / "failed" / "a.xml").read_bytes() == b"broken"
    assert spool.entries() == []
