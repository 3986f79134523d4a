"""What is compressed comes back as it was; dictionaries that were shipped stay as they are."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from energycomm.eis import packing
from energycomm.eis.packing import PARTS, STATES, TEXTS, pack, unpack
from energycomm.pipeline.state import AccessPointState, dump_state, load_state

SHIPPED = {
    "1.zstd": "dbe1594660a98356963f25d3a6ce04ac1316684ff9030ae1462fbdfd4e2f4ce3",
    "2.zstd": "a984156dd2bad7e1ccb3557939d9be3dc522971fe415de5fa0e5e39f4e0e03eb",
    "3.zstd": "dee4034ce68a9d4f7a7387b390c82b4a74586210c313a1ad9d3694f258de9e7c",
}
"""Dictionary -> its SHA-256 when it was first shipped; another one could not read what was packed against it."""


def test_dictionaries_stay_as_they_were_shipped() -> None:
    folder = Path(packing.__file__).with_name("dictionaries")
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} == SHIPPED
    assert max(TEXTS, STATES, PARTS) == len(SHIPPED)


@given(st.binary() | st.text().map(str.encode), st.sampled_from([None, TEXTS, STATES, PARTS]))
def test_any_content_comes_back(content: bytes, dictionary: int | None) -> None:
    packed = pack(content, dictionary)
    assert unpack(packed) == content
    assert len(packed) <= len(content) + 1


def test_threads_do_not_disturb_each_other() -> None:
    contents = [f"<MeterReading n='{n}' value='{n * 7919}'/>".encode() * 50 for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda one: unpack(pack(one, TEXTS)), contents)) == contents


@pytest.mark.parametrize("packed", [b"", b"\x01no frame", b"\x02no frame", bytes((2 + len(SHIPPED),)) + b"x", b"\xff"])
def test_what_is_no_packed_content_is_refused(packed: bytes) -> None:
    """Nothing, no frame, and a dictionary of a later version."""
    with pytest.raises(ValueError, match=r"packed|newer"):
        unpack(packed)


def test_a_state_of_an_earlier_version_is_read() -> None:
    """Earlier versions stored MessagePack as it is, which begins with the head of an array."""
    state = AccessPointState(at=1_736_031_600_000_000)
    before = msgspec.msgpack.encode(state)
    assert load_state(before) == load_state(memoryview(before)) == load_state(dump_state(state)) == state
    assert dump_state(state) != before
