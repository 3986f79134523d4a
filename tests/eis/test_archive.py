"""The bytes of an envelope are kept once and come back as they were, in flat memory."""

from __future__ import annotations

import hashlib
import io
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from energycomm.eis import tables
from energycomm.eis.archive import CHUNK, RawContent, archive, open_raw
from energycomm.eis.store import Store
from tests.eis.rows import NOW

SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7]


def keep(store: Store, content: bytes, name: str = "a.zip") -> tuple[int, bytes]:
    with store.transaction() as tx:
        archived = archive(tx, name, io.BytesIO(content), "directory", NOW)
    return archived.envelope_id, archived.sha256


@pytest.mark.parametrize("size", SIZES)
def test_bytes_come_back_as_they_were(store: Store, engine: Engine, size: int) -> None:
    content = random.Random(size).randbytes(size)
    _, sha256 = keep(store, content)
    assert sha256 == hashlib.sha256(content).digest()
    with open_raw(engine, sha256) as raw:
        assert raw.read() == content
        assert raw.seek(-1 if size else 0, io.SEEK_END) == max(size - 1, 0)
        assert raw.read() == content[-1:]


def test_a_stream_is_read_from_any_place_in_any_steps(store: Store, engine: Engine) -> None:
    """A zip is read from its end: seeking must land exactly."""
    content = random.Random(1).randbytes(2 * CHUNK + 100)
    _, sha256 = keep(store, content)
    draw = random.Random(2)
    with open_raw(engine, sha256) as raw:
        for _ in range(50):
            start, length = draw.randrange(len(content)), draw.choice([1, 100, CHUNK, 2 * CHUNK])
            raw.seek(start)
            assert raw.read(length) == content[start : start + length]
            assert raw.tell() == min(start + length, len(content))
        with pytest.raises(ValueError, match="negative"):
            raw.seek(-1)


class Drip(io.BytesIO):
    """A stream that gives at most a few bytes at a time, as sockets do."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size if size and size > 0 else 70_001, 70_001))


def test_a_stream_that_drips_fills_whole_pieces(store: Store, engine: Engine) -> None:
    content = random.Random(3).randbytes(CHUNK + 5)
    with store.transaction() as tx:
        sha256 = archive(tx, "a.zip", Drip(content), "sftp", NOW).sha256
    with store.transaction() as tx:
        rows = tx.driver.rows('SELECT "number", bytes FROM raw_chunk ORDER BY "number"')
        pieces = [len(tx.driver.vault.content("raw_chunk", (sha256, n), bytes(stored))) for n, stored in rows]
    assert pieces == [CHUNK, 5]
    with open_raw(engine, sha256) as raw:
        assert raw.read() == content


def test_the_same_bytes_again_are_a_duplicate_and_stored_once(store: Store, engine: Engine) -> None:
    first, sha256 = keep(store, b"content", "a.zip")
    with store.transaction() as tx:
        tx.connection.execute(tables.envelope.update().values(state="done"))
        again = archive(tx, "a.zip", io.BytesIO(b"content"), "directory", NOW)
        third = archive(tx, "other.zip", io.BytesIO(b"content"), "web", NOW)
    assert (again.duplicate_of, again.first_state, again.resumes, again.sha256) == (first, "done", False, sha256)
    assert third.duplicate_of == first
    with engine.connect() as connection:
        states = connection.execute(select(tables.envelope.c.state).order_by(tables.envelope.c.id)).scalars().all()
        assert states == ["done", "duplicate", "duplicate"]
        assert connection.execute(select(tables.raw.c.size)).scalars().all() == [7]


def test_an_envelope_that_was_not_finished_is_taken_up_again(store: Store) -> None:
    """The process died after archiving: the same file is no duplicate of itself; the same bytes of another name are."""
    first, _ = keep(store, b"content", "a.zip")
    with store.transaction() as tx:
        again = archive(tx, "a.zip", io.BytesIO(b"content"), "directory", NOW)
        other = archive(tx, "b.zip", io.BytesIO(b"content"), "directory", NOW)
    assert (again.envelope_id, again.resumes, again.duplicate_of) == (first, True, None)
    assert (other.duplicate_of, other.resumes, other.first_state) == (first, False, "archived")


def test_bytes_that_are_not_kept_cannot_be_opened(engine: Engine) -> None:
    with pytest.raises(FileNotFoundError):
        open_raw(engine, bytes(32))


def test_keeping_and_reading_take_flat_memory(store: Store, engine: Engine) -> None:
    """64 MB in, 64 MB out, at most a few pieces at a time."""

    class Zeros(io.RawIOBase):
        size, at = 64 * CHUNK, 0

        def read(self, size: int = -1) -> bytes:
            size = min(size, self.size - self.at)
            self.at += size
            return bytes(size)

        def seek(self, offset: int, whence: int = 0) -> int:
            self.at = offset
            return offset

    tracemalloc.start()
    with store.transaction() as tx:
        sha256 = archive(tx, "big.zip", Zeros(), "directory", NOW).sha256  # type: ignore[arg-type]
    with open_raw(engine, sha256) as raw:
        while raw.read(CHUNK):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * CHUNK


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=20))
@settings(max_examples=50, deadline=None)
def test_reading_in_pieces_never_runs_past_the_end(steps: list[tuple[int, int]]) -> None:
    """Against an in-memory stream, for any walk."""
    content = bytes(range(30))
    plain, raw = io.BytesIO(content), RawContent(None, b"", len(content))  # type: ignore[arg-type]
    raw._number, raw._piece = 0, content
    for start, length in steps:
        plain.seek(start)
        raw.seek(start)
        assert raw.read(length) == plain.read(length)
        assert raw.tell() == max(plain.tell(), start)
