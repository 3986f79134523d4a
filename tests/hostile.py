"""Files that would harm a careless reader, each with the code that it must get.

Only files that are refused before a market adapter sees them are made here: the code is transport's or that of the
check of XML. Every file is made anew, byte for byte the same each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.zips import Entry, encrypt, make_zip

_ENTITIES = "".join(f'<!ENTITY b{level} "{f"&b{level - 1};" * 10}">' for level in range(1, 10))
_GOOD = b"<?xml version='1.0' encoding='UTF-8'?><R15><PRM>12345678901234</PRM></R15>"
_DEEP = 200_000

BILLION_LAUGHS = f'<!DOCTYPE R15 [<!ENTITY b0 "ha">{_ENTITIES}]><R15>&b9;</R15>'
EXTERNAL_ENTITY = '<!DOCTYPE R15 [<!ENTITY x SYSTEM "file:///etc/passwd">]><R15>&x;</R15>'
EXTERNAL_DTD = '<!DOCTYPE R15 SYSTEM "http://127.0.0.1:9/x.dtd"><R15/>'


def _noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def _nested(depth: int) -> bytes:
    data = make_zip(("good.xml", _GOOD))
    for level in range(depth):
        data = make_zip((f"{level}.zip", data))
    return data


def _modest_levels() -> bytes:
    """Eight times eight times 400 kB, no zip of it with a ratio that would be noticed alone."""
    level = make_zip(*(Entry(f"{number}.xml", b"<a>" + b" " * 400_000) for number in range(8)))
    return make_zip(*(Entry(f"{number}.zip", level) for number in range(8)))


def _shared_bytes() -> bytes:
    """Two entries of the directory that claim the same packed bytes."""
    data = bytearray(make_zip(("a.xml", _GOOD), ("b.xml", _GOOD)))
    second = data.rfind(b"PK\x01\x02")
    data[second + 42 : second + 46] = bytes(4)
    return bytes(data)


def _attributes(count: int) -> bytes:
    return b"<R15 " + b" ".join(b'a%d="1"' % number for number in range(count)) + b"/>"


def _zip_of(entry: Entry) -> Callable[[], bytes]:
    return lambda: make_zip(entry)


HOSTILE: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    # XML
    ("entity-bomb.xml", "XML_DOCTYPE", BILLION_LAUGHS.encode),
    ("entity-bomb.zip", "XML_DOCTYPE", lambda: make_zip(("a.xml", BILLION_LAUGHS.encode()))),
    ("entity-bomb-utf-16.xml", "XML_DOCTYPE", lambda: BILLION_LAUGHS.encode("utf-16")),
    ("external-entity.xml", "XML_DOCTYPE", EXTERNAL_ENTITY.encode),
    ("external-dtd.xml", "XML_DOCTYPE", EXTERNAL_DTD.encode),
    ("truncated.xml", "XML_TRUNCATED", lambda: _GOOD[:-9]),
    ("truncated-utf-16.xml", "XML_TRUNCATED", lambda: "<R15><PRM>12345678901234</PRM>".encode("utf-16")),
    ("mismatched-tags.xml", "XML_SYNTAX", lambda: b"<R15><PRM></R15></PRM>"),
    ("two-roots.xml", "XML_SYNTAX", lambda: _GOOD + b"<R15/>"),
    ("undeclared-prefix.xml", "XML_SYNTAX", lambda: b"<e:R15/>"),
    ("wrong-encoding.xml", "XML_ENCODING", lambda: b"<?xml version='1.0' encoding='UTF-8'?><R15>Libell\xe9</R15>"),
    ("unknown-encoding.xml", "XML_ENCODING", lambda: b"<?xml version='1.0' encoding='KLINGON'?><R15/>"),
    ("deep.xml", "XML_LIMIT", lambda: b"<R15>" * _DEEP + b"</R15>" * _DEEP),
    ("many-attributes.xml", "XML_LIMIT", lambda: _attributes(200_000)),
    # JSON and other forms
    ("garbage.json", "JSON_SYNTAX", lambda: b'{"header": {"siDemandeur": "SGE", ]]]'),
    ("empty.xml", "ENV_EMPTY", bytes),
    ("blank.xml", "ENV_EMPTY", lambda: b"\r\n\r\n"),
    ("noise.bin", "ENV_UNKNOWN_FORM", lambda: _noise(5_001)),
    ("noise.xml", "ENV_UNKNOWN_FORM", lambda: b"<" + _noise(5_000)),
    ("zeros.zip", "ENV_UNKNOWN_FORM", lambda: bytes(4_096)),
    ("report.pdf", "ENV_UNKNOWN_FORM", lambda: b"%PDF-1.7\n" + _noise(1_000)),
    # encryption
    ("wrong-key.zip", "ENV_NO_KEY", lambda: encrypt(make_zip(("a.xml", _GOOD)), _noise(16, 2), _noise(16, 3))),
    ("encrypted-no-zip.zip", "ENV_NO_KEY", lambda: encrypt(_GOOD * 9, _noise(32, 4), _noise(16, 5), iv_in_file=True)),
    ("noise-of-whole-blocks.zip", "ENV_NO_KEY", lambda: _noise(4_096)),
    ("password.zip", "ENV_ZIP_PASSWORD", _zip_of(Entry("a.xml", _noise(80), flags=1, says_crc=7))),
    # zips
    ("truncated.zip", "ENV_ZIP_BROKEN", lambda: make_zip(("a.xml", _GOOD), ("b.xml", _GOOD))[:-40]),
    ("beginning.zip", "ENV_ZIP_BROKEN", lambda: b"PK\x03\x04"),
    ("no-members.zip", "ENV_EMPTY", make_zip),
    ("empty-member.zip", "ENV_EMPTY", _zip_of(Entry("a.xml", b""))),
    ("wrong-sum.zip", "ENV_CRC", _zip_of(Entry("a.xml", _GOOD, says_crc=7))),
    ("damaged-member.zip", "ENV_ZIP_BROKEN", _zip_of(Entry("a.xml", _GOOD, packed=b"\xff\xff\xff"))),
    ("says-less.zip", "ENV_CRC", _zip_of(Entry("a.xml", _GOOD, says_size=30))),
    ("says-more.zip", "ENV_CRC", _zip_of(Entry("a.xml", _GOOD, says_size=3_000))),
    ("says-2-gb.zip", "ENV_TOO_LARGE", _zip_of(Entry("a.xml", _GOOD, says_size=(2 << 30) + 1))),
    ("says-1900-mb.zip", "ENV_BOMB", _zip_of(Entry("a.xml", _GOOD, says_size=1_900_000_000))),
    ("bomb.zip", "ENV_BOMB", _zip_of(Entry("a.xml", b"<R15>" + b" " * 12_000_000))),
    ("bomb-in-levels.zip", "ENV_BOMB", _modest_levels),
    ("shared-bytes.zip", "ENV_BOMB", _shared_bytes),
    ("many-members.zip", "ENV_BOMB", lambda: make_zip(*(Entry(f"{n}.xml", b"<a/>", False) for n in range(10_001)))),
    ("too-deep.zip", "ENV_DEPTH", lambda: _nested(5)),
    ("lzma.zip", "ENV_COMPRESSION", _zip_of(Entry("a.xml", _GOOD, says_method=14))),
    ("traversal.zip", "ENV_PATH", _zip_of(Entry("../../etc/cron.d/x.xml", _GOOD))),
    ("backslashes.zip", "ENV_PATH", _zip_of(Entry("..\\..\\x.xml", _GOOD))),
    ("absolute.zip", "ENV_PATH", _zip_of(Entry("/etc/x.xml", _GOOD))),
    ("drive.zip", "ENV_PATH", _zip_of(Entry("C:\\x.xml", _GOOD))),
    ("link.zip", "ENV_PATH", _zip_of(Entry("a.xml", b"/etc/passwd", mode=0o120777))),
    ("twice.zip", "ENV_PATH", lambda: make_zip(("a.xml", _GOOD), ("a.xml", _GOOD + b" "))),
    ("control-characters.zip", "ENV_PATH", _zip_of(Entry("a\x1b[2J.xml", _GOOD))),
)
"""Name, expected code and content of every hostile file."""


def write_hostile(folder: Path) -> dict[str, str]:
    """Write every hostile file into a folder, and an empty folder named ``folder.xml``.

    Returns:
      The code that each file must get, by file name. No member of any of them is good. The folder gets none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, content in HOSTILE:
        (folder / name).write_bytes(content())
    (folder / "folder.xml").mkdir(exist_ok=True)
    return {name: code for name, code, _ in HOSTILE}
