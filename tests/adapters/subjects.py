"""The adapters that the conformance suite is run against, with their fixtures and what is needed to vary them."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from adapters.be_atrias import adapter as be_adapter
from adapters.common.conformance.subject import Subject as Tried
from adapters.common.conformance.subject import members_of, requests_of
from adapters.dk_energinet import adapter as dk_adapter
from adapters.fr_enedis import adapter as fr_adapter
from adapters.nl_edsn import adapter as nl_adapter
from energycomm.market.contract import Adapter

TEXTS = (".edi", ".csv", ".json")
"""Endings of fixtures that are no XML."""

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FICTIVE = FIXTURES / "fictive"

# The fictive market is a package of its own, which the project does not install.
if str(FICTIVE) not in sys.path:
    sys.path.append(str(FICTIVE))
_ruritania = import_module("ruritania")


class Subject(NamedTuple):
    """One adapter under test.

    Attributes:
      adapter: the adapter.
      package: its package.
      folder: its fixtures; every XML file in it is a member that it digests, and every file of `TEXTS`.
      codes: every code it documents.
      restamp: the same member, written by the market at another time.
      first_piece: span of the first CH message's element in a member, to repeat it; None where there is only one.
    """

    adapter: Adapter
    package: str
    folder: Path
    codes: frozenset[str]
    restamp: Callable[[bytes], bytes]
    first_piece: Callable[[bytes], tuple[int, int] | None]

    def tried(self, adapter: Adapter | None = None) -> Tried:
        """The subject of the suite; of another adapter, with the same fixtures, where one is given."""
        if adapter is None:
            return _tried(self.package)
        return Tried(adapter, self.package, members_of(self.folder), self._requests())

    def _requests(self) -> list[dict[str, object]]:
        return requests_of(self.folder.parent / "requests", self.adapter.market)

    def members(self) -> list[Path]:
        """Every XML fixture."""
        return sorted(self.folder.glob("*.xml"))

    def every_member(self) -> list[Path]:
        """Every fixture of whatever form: XML, and the texts that are none."""
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".xml", *TEXTS))


def _fr_restamp(content: bytes) -> bytes:
    if b":Envelope" in content:
        return content  # an answer of a service bears no time
    changed, count = re.subn(
        rb"<(Date_Creation|dateCreation|dateHeureCreation)>[^<]*<", rb"<\1>2027-11-30T01:02:03+01:00<", content, count=1
    )
    assert count == 1
    return changed


def _fr_first_piece(content: bytes) -> tuple[int, int] | None:
    for tag in (b"PRM", b"Donnees_Valorisation", b"Sous_Lot", b"Corps", b"serieMesuresDatees"):
        opening, closing = b"<" + tag + b">", b"</" + tag + b">"
        if opening in content:
            return content.index(opening), content.index(closing) + len(closing)
    if b"<affaire " in content:
        return content.index(b"<affaire "), content.index(b"</affaire>") + len(b"</affaire>")
    return None


def _be_restamp(content: bytes) -> bytes:
    changed, count = re.subn(rb"<Creation>[^<]*<", rb"<Creation>2027-11-30T01:02:03+01:00<", content, count=1)
    assert count == 1
    return changed


def _be_first_piece(content: bytes) -> tuple[int, int] | None:
    tag = re.search(rb"<(Payload\w+)>", content)
    assert tag is not None
    closing = b"</" + tag[1] + b">"
    return tag.start(), content.index(closing) + len(closing)


def _nl_restamp(content: bytes) -> bytes:
    """Another time and another MessageID: an answer to a request that was repeated after a time-out."""
    changed = re.sub(rb"<CreationTimestamp>[^<]*<", b"<CreationTimestamp>2027-11-30T01:02:03Z<", content, count=1)
    if b"<MessageID>" not in changed:
        return changed  # a SOAP fault has neither
    return re.sub(rb"<MessageID>[^<]*<", b"<MessageID>00000000-0000-4000-8000-00000000ffff<", changed, count=1)


def _nl_first_piece(content: bytes) -> tuple[int, int] | None:
    lists = (b"<P4CollectedDataBatchResultResponse", b"<GainResult", b"<LossResult", b"<MasterDataUpdate")
    if not any(name in content for name in (*lists, b"<MeterReadingExchangeResponse")):
        return None
    for tag in (b"P4MeteringPoint>", b"Portaal_MeteringPoint>"):
        if b"<" + tag in content:
            return content.index(b"<" + tag), content.index(b"</" + tag) + len(tag) + 2
    return None


def _dk_restamp(content: bytes) -> bytes:
    """Another time and another identifier of the document, as every delivery has its own."""
    changed, count = re.subn(rb"<(createdDateTime|Creation)>[^<]*<", rb"<\1>2027-11-30T01:02:03Z<", content, count=1)
    assert count == 1
    return changed


def _dk_first_piece(content: bytes) -> tuple[int, int] | None:
    tag = re.search(rb"<(Series|MktActivityRecord|Payload\w+)>", content)
    if tag is None or b"<Acknowledgement_MarketDocument" in content:
        return None
    closing = b"</" + tag[1] + b">"
    return tag.start(), content.index(closing) + len(closing)


def _zz_restamp(content: bytes) -> bytes:
    changed, count = re.subn(rb"<At>[^<]*<", b"<At>2027-11-30T01:02:03+01:00<", content, count=1)
    assert count == 1
    return changed


def _zz_first_piece(content: bytes) -> tuple[int, int] | None:
    tag = re.search(rb"<(Begin|Cease|Reading|Verdict|Ask)>", content)
    assert tag is not None
    closing = b"</" + tag[1] + b">"
    return tag.start(), content.index(closing) + len(closing)


def _subject(
    adapter: Adapter,
    package: str,
    folder: Path,
    restamp: Callable[[bytes], bytes],
    first_piece: Callable[[bytes], tuple[int, int] | None],
) -> Subject:
    codes = frozenset(row.code for row in import_module(f"{package}.codes").CODES)
    return Subject(adapter, package, folder, codes, restamp, first_piece)


SUBJECTS: dict[str, Subject] = {
    "be_atrias": _subject(be_adapter, "adapters.be_atrias", FIXTURES / "be", _be_restamp, _be_first_piece),
    "dk_energinet": _subject(dk_adapter, "adapters.dk_energinet", FIXTURES / "dk", _dk_restamp, _dk_first_piece),
    "fr_enedis": _subject(fr_adapter, "adapters.fr_enedis", FIXTURES / "fr", _fr_restamp, _fr_first_piece),
    "nl_edsn": _subject(nl_adapter, "adapters.nl_edsn", FIXTURES / "nl", _nl_restamp, _nl_first_piece),
    "ruritania": _subject(_ruritania.adapter, "ruritania", FICTIVE / "envelopes", _zz_restamp, _zz_first_piece),
}
"""Every adapter, by the name of its folder."""


@cache
def _tried(package: str) -> Tried:
    subject = next(one for one in SUBJECTS.values() if one.package == package)
    others = [one.adapter for one in SUBJECTS.values() if one.package != package]
    return Tried(subject.adapter, package, members_of(subject.folder), subject._requests(), others)


class Repeated(io.RawIOBase):
    """A member with one of its pieces repeated, produced as it is read, so that its size costs no memory."""

    def __init__(self, content: bytes, piece: tuple[int, int], times: int) -> None:
        self._parts = self._generate(content, piece, times)
        self._left = b""
        self.given = 0

    @staticmethod
    def _generate(content: bytes, piece: tuple[int, int], times: int) -> Iterator[bytes]:
        start, end = piece
        yield content[:start]
        for _ in range(times):
            yield content[start:end]
        yield content[end:]

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        assert size > 0, "a stream is never read whole"
        while len(self._left) < size:
            part = next(self._parts, b"")
            if not part:
                break
            self._left += part
        given, self._left = self._left[:size], self._left[size:]
        self.given += len(given)
        return given
