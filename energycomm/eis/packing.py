"""The form in which content is kept: compressed with zstd, before it is encrypted.

Texts (Kernel XML, JSON) are short and alike, and so are the states of access points. They are compressed against a
dictionary, which is shipped with the program (`benchmarks/dictionary.py` makes it). A dictionary is never changed, as
stores need it to be read: a better one gets the next number.

    packed   00 | content as it is, where compressing it gains nothing
    packed   01 | zstd frame without a dictionary
    packed   01 + NUMBER | zstd frame against the dictionary NUMBER

Frames are without the magic number (the first byte says it), with the size of the content, without a checksum: a
sealed value has its own, and a plain one the pages of the database.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

import zstandard

TEXTS: Final = 1
"""The dictionary that texts are compressed against now."""
STATES: Final = 2
"""The dictionary that states of access points are compressed against now."""
PARTS: Final = 3
"""The dictionary that parts of messages (`energycomm.eis.arrays`) are compressed against now."""
NEWEST: Final = max(TEXTS, STATES, PARTS)
LEVEL: Final = 3
"""Higher levels gain 2 to 10 % of the size and cost four to six times the time."""

_AS_IS: Final = 0
_ALONE: Final = 1
_local = threading.local()


def pack(content: bytes, dictionary: int | None = None) -> bytes:
    """Content in packed form.

    Args:
      content: any bytes.
      dictionary: what it is like: `TEXTS`, `STATES`, `PARTS`; None for anything else.
    """
    form = _ALONE + (dictionary or 0)
    frame = _compressor(form).compress(content)
    if len(frame) >= len(content):
        return bytes((_AS_IS,)) + content
    return bytes((form,)) + frame


def unpack(packed: bytes) -> bytes:
    """The content again.

    Raises:
      ValueError: it is no packed content, or packed against a dictionary that this version does not have.
    """
    if not packed:
        raise ValueError("no packed content")
    form = packed[0]
    if form == _AS_IS:
        return packed[1:]
    try:
        return bytes(_decompressor(form).decompress(packed[1:]))
    except zstandard.ZstdError as error:
        raise ValueError(f"not packed here: {error}") from None


def _compressor(form: int) -> zstandard.ZstdCompressor:
    """Each thread has its own: they are not for several at once."""
    known: dict[int, zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    if form not in known:
        settings = zstandard.ZstdCompressionParameters.from_level(
            LEVEL, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_content_size=1, write_checksum=0, write_dict_id=0
        )
        known[form] = zstandard.ZstdCompressor(compression_params=settings, **_dictionary(form))
    return known[form]


def _decompressor(form: int) -> zstandard.ZstdDecompressor:
    known: dict[int, zstandard.ZstdDecompressor] = _local.__dict__.setdefault("decompressors", {})
    if form not in known:
        known[form] = zstandard.ZstdDecompressor(format=zstandard.FORMAT_ZSTD1_MAGICLESS, **_dictionary(form))
    return known[form]


@cache
def _dictionary(form: int) -> dict[str, Any]:
    """What a compressor is told of the dictionary of a form.

    Raises:
      ValueError: this version has no such dictionary.
    """
    if form == _ALONE:
        return {}
    number = form - _ALONE
    if number > NEWEST:
        raise ValueError(f"dictionary {number} is of a newer version")
    content = (Path(__file__).parent / "dictionaries" / f"{number}.zstd").read_bytes()
    found = zstandard.ZstdCompressionDict(content)
    found.precompute_compress(level=LEVEL)  # else each compressor makes larger tables of its own: 10 % slower
    return {"dict_data": found}
