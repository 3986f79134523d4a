"""The adapters that the conformance suite is run against, with their fixtures and what is needed to vary them."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from adapters.be_atrias import adapter as be_adapter
from adapters.be_atrias.codes import CODES as BE_CODES
from adapters.fr_enedis import adapter as fr_adapter
from adapters.fr_enedis.codes import CODES as FR_CODES
from adapters.nl_edsn import adapter as nl_adapter
from adapters.nl_edsn.codes import CODES as NL_CODES
from energycomm.kernel import safexml
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import Adapter, MemberHead, Sniff, Transaction
from energycomm.transport.forms import HEAD, XML_HEAD, form_of, json_root, namespaces_of, text_root

TEXTS = (".edi", ".csv", ".json")
"""Endings of fixtures that are no XML."""

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FICTIVE = FIXTURES / "fictive"

# The fictive market is a package of its own, which the project does not install.
if str(FICTIVE) not in sys.path:
    sys.path.append(str(FICTIVE))
_ruritania = import_module("ruritania")
_ruritanian_codes = import_module("ruritania.codes")


class Subject(NamedTuple):
    """One adapter under test.

    Attributes:
      adapter: the adapter.
      folder: its fixtures; every XML file in it is a member that it digests, and every file of `TEXTS`.
      codes: every code it documents.
      restamp: the same member, written by the market at another time.
      first_piece: span of the first CH message's element in a member, to repeat it; None where there is only one.
    """

    adapter: Adapter
    folder: Path
    codes: frozenset[str]
    restamp: Callable[[bytes], bytes]
    first_piece: Callable[[bytes], tuple[int, int] | None]

    def members(self) -> list[Path]:
        """Every XML fixture."""
        return sorted(self.folder.glob("*.xml"))

    def every_member(self) -> list[Path]:
        """Every fixture of whatever form: XML, and the texts that are none."""
        return sorted(path for path in self.folder.iterdir() if path.suffix in (".xml", *TEXTS))


class Read(NamedTuple):
    """What `digest` gave of one member."""

    head: MemberHead | None
    transactions: list[Transaction]
    refusal: Refusal | None

    def codes(self) -> set[str]:
        """Every code of refusals and notes."""
        found = [*(self.head.notes if self.head else ()), *([self.refusal] if self.refusal else ())]
        for transaction in self.transactions:
            found += [*transaction.refusals, *transaction.notes]
        return {refused.code for refused in found}


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


def _zz_restamp(content: bytes) -> bytes:
    changed, count = re.subn(rb"<At>[^<]*<", b"<At>2027-11-30T01:02:03+01:00<", content, count=1)
    assert count == 1
    return changed


def _zz_first_piece(content: bytes) -> tuple[int, int] | None:
    tag = re.search(rb"<(Begin|Cease|Reading|Verdict)>", content)
    assert tag is not None
    closing = b"</" + tag[1] + b">"
    return tag.start(), content.index(closing) + len(closing)


SUBJECTS: dict[str, Subject] = {
    "be_atrias": Subject(
        be_adapter, FIXTURES / "be", frozenset(row.code for row in BE_CODES), _be_restamp, _be_first_piece
    ),
    "fr_enedis": Subject(
        fr_adapter, FIXTURES / "fr", frozenset(row.code for row in FR_CODES), _fr_restamp, _fr_first_piece
    ),
    "nl_edsn": Subject(
        nl_adapter, FIXTURES / "nl", frozenset(row.code for row in NL_CODES), _nl_restamp, _nl_first_piece
    ),
    "ruritania": Subject(
        _ruritania.adapter,
        FICTIVE / "envelopes",
        frozenset(row.code for row in _ruritanian_codes.CODES),
        _zz_restamp,
        _zz_first_piece,
    ),
}
"""Every adapter, by the name of its folder."""


def sniff(name: str, content: bytes) -> Sniff:
    """What the gateway sees of a member before it is digested."""
    form = form_of(content[:HEAD])
    if form == "other":
        return Sniff(name, form, text_root(content[:HEAD]))
    if form == "json":
        keys = json_root(content[:HEAD])
        return Sniff(name, form, None if isinstance(keys, Refusal) else keys)
    seen = safexml.prescan(io.BytesIO(content))
    if isinstance(seen, Refusal):
        return Sniff(name, "other")
    return Sniff(name, "xml", seen.root, seen.namespace, namespaces_of(content[:XML_HEAD]))


def read(adapter: Adapter, content: bytes, name: str = "member.xml", label: str | None = None) -> Read:
    """Dispatch and digest one member."""
    if label is None:
        found = adapter.dispatch(sniff(name, content))
        assert isinstance(found, str), found
        label = found
    head: MemberHead | None = None
    transactions: list[Transaction] = []
    refusal: Refusal | None = None
    for part in adapter.digest(label, io.BytesIO(content), name):
        assert refusal is None, "nothing comes after a refusal"
        if isinstance(part, MemberHead):
            assert head is None, "there is one head"
            assert not transactions, "it comes before all else"
            head = part
        elif isinstance(part, Transaction):
            assert head is not None, "the head comes first"
            transactions.append(part)
        else:
            refusal = part
    return Read(head, transactions, refusal)


def reindented(content: bytes) -> bytes:
    """The same document with other white space between its elements."""
    root = etree.fromstring(content, etree.XMLParser(remove_blank_text=True, remove_comments=True))
    etree.indent(root, space="\t\t")
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


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
