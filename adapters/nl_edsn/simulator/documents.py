"""Writes the market's side of EDSN's documents: the header as EDSN writes it, and the elements inside."""

from __future__ import annotations

from typing import Any, TypeAlias
from uuid import UUID, uuid5

from lxml import etree

Content: TypeAlias = list[tuple[str, Any]]
"""Elements in order: (tag, text or content); None leaves an element out."""

EDSN, HEADER = "8712423010208", "EDSNBusinessDocumentHeader"
_SECOND = ("P4CollectedDataBatchResponse", "P4CollectedDataBatchResultResponse")
"""Messages in the second version of their namespace."""
SUPPLIER, OTHER, BALANCE, GRID = "8719999100104", "8719999100203", "8719999100302", "8719999100401"
METERING = "8719999100500"
_MESSAGES = UUID("b6d7f0a2-4a25-5c36-9c0e-0d9f2a6f4d11")
"""Name space of the identifiers of simulated messages."""


def with_check_digit(digits: str) -> str:
    """A number of GS1: its digits and the check digit."""
    total = sum(int(digit) * (3 - n % 2 * 2) for n, digit in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def access_point(number: int) -> str:
    """EAN of the simulation's n-th access point."""
    return with_check_digit(f"87199998{number:09d}")


def document(
    label: str,
    content: Content,
    *,
    created: str,
    name: str,
    receiver: str = SUPPLIER,
    sender: str = EDSN,
    correlation: str | None = None,
) -> bytes:
    """A document of the market.

    Args:
      label: the market's message type.
      content: what stands beside the header.
      created: instant with offset.
      name: what its MessageID is made of.
      receiver, sender: parties.
      correlation: MessageID of the request that it answers.
    """
    namespace = f"urn:nedu:edsn:data:{label.lower()}:{2 if label in _SECOND else 1}:standard"
    head: Content = [
        ("CorrelationID", correlation),
        ("CreationTimestamp", created),
        ("MessageID", str(uuid5(_MESSAGES, f"{label} {name}"))),
        ("Destination", [("Receiver", _contact("DDQ_O", "ReceiverID", receiver))]),
        ("Source", _contact("EDSN" if sender == EDSN else "DDM", "SenderID", sender)),
    ]
    root = etree.Element(f"{{{namespace}}}{label}Envelope", nsmap={None: namespace})  # type: ignore[dict-item]
    _fill(root, [(HEADER, head), *content], namespace)
    return bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True))


def _contact(kind: str, tag: str, party: str) -> Content:
    return [("Authority", "EAN.UCC"), ("ContactTypeIdentifier", kind), (tag, party)]


def _fill(parent: etree._Element, content: Content, namespace: str) -> None:
    for tag, value in content:
        if value is None:
            continue
        element = etree.SubElement(parent, f"{{{namespace}}}{tag}")
        if isinstance(value, list):
            _fill(element, value, namespace)
        else:
            element.text = str(value)


def parties(supplier: str, old: str | None = None, balance: str = BALANCE) -> Content:
    """Supplier, balance responsible party and the supplier before."""
    return [
        ("BalanceSupplier_Company", [("ID", supplier)]),
        ("BalanceResponsibleParty_Company", [("ID", balance)]),
        ("OldBalanceSupplier_Company", None if old is None else [("ID", old)]),
    ]


def mutation(day: str, reason: str, dossier: str, external: str | None = None) -> Content:
    """A mutation of a point."""
    return [
        ("ExternalReference", external),
        ("MutationDate", day),
        ("MutationReason", reason),
        ("Dossier", [("ID", dossier)]),
    ]
