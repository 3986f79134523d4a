"""Reads the header that is equal in all messages of EDSN into what every Kernel message of a member needs."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

from adapters.common.codes import Unreadable
from adapters.common.reading import Fields, leaf, node
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.times import moment
from energycomm.kernel.verdicts import Refusal
from energycomm.kernel.vocabulary import Role
from energycomm.market.contract import MemberHead

MARKET = "NL"
EDSN = "8712423010208"
"""GLN of EDSN itself, which speaks for the connection register."""

HEADER = "EDSNBusinessDocumentHeader"
_LONGEST_PARTY = 40

ROLES: dict[str, Role] = {
    "EDSN": "clearing-house",
    "DDM": "grid-operator",
    "DDQ": "supplier",
    "DDK": "balance-responsible",
    "MDR": "metering-responsible",
}
"""ContactTypeIdentifier without its suffix (_O organisation, _M market party) -> role."""


class Context(NamedTuple):
    """What the messages of a member take from its header.

    Attributes:
      head: keyword arguments that every Kernel message of the member starts with.
      seed: hash of market, sender and type; identities go on from a copy of it.
      created: as written.
      correlation: MessageID of the request that the member answers, where it says so.
      message_id: MessageID of the member itself.
      namespace: of the message.
      version: of the schema that the namespace has.
      notes: what was noticed in the header.
    """

    head: dict[str, Any]
    seed: blake2b
    created: str
    correlation: str | None
    message_id: str | None
    namespace: str | None
    version: str
    notes: tuple[Refusal, ...] = ()

    def member_head(self) -> MemberHead:
        """The head of the member."""
        return MemberHead(
            type=self.head["market_type"],
            declared_version=self.head.get("schema_version"),
            version=self.version,
            sender=self.head["sender"],
            receiver=self.head.get("receiver"),
            created=self.created,
            notes=self.notes,
        )


def context(fields: Fields, message_type: str, namespace: str, version: str) -> Context:
    """Read a header.

    Args:
      fields: content of the header element.
      message_type: the market's message type.
      namespace: of the message.
      version: of the schema that the namespace has.

    Raises:
      Unreadable: a needed field is missing, unreadable or too long (HEADER_INVALID).
    """
    source, receiver = node(fields, "Source"), node(fields, "Destination", "Receiver")
    sender = _party(source, "SenderID", f"{HEADER}/Source")
    addressee = _party(receiver, "ReceiverID", f"{HEADER}/Destination/Receiver")
    written, path = leaf(fields, "CreationTimestamp"), f"{HEADER}/CreationTimestamp"
    try:
        created = moment(written or "")
    except ValueError:
        raise _invalid(path, written, "a date-time") from None
    notes = []
    if created.naive:
        notes.append(refusal("NOTE_TIME_NAIVE", path=path, value=written, expected=created.at.isoformat()))
    if leaf(fields, "TestRequest") in ("true", "1"):
        notes.append(refusal("NOTE_TEST", path=f"{HEADER}/TestRequest", value=leaf(fields, "TestRequest")))
    head = {
        "market": MARKET,
        "market_type": message_type,
        "created": created.at,
        "sender": sender,
        "receiver": addressee,
        "sender_role": role(leaf(source, "ContactTypeIdentifier"), sender),
        "receiver_role": role(leaf(receiver, "ContactTypeIdentifier"), addressee),
        "schema_version": number_of(namespace),
    }
    correlation, message_id = _short(fields, "CorrelationID"), _short(fields, "MessageID")
    started = seed(sender, message_type)
    return Context(head, started, str(written), correlation, message_id, namespace, version, tuple(notes))


def number_of(namespace: str) -> str:
    """The number in a namespace: urn:nedu:edsn:data:<message>:<number>:standard, urn:nl:edsn:...:env:<number>."""
    return next(part for part in reversed(namespace.split(":")) if part.isdigit())


def seed(sender: str | None, message_type: str) -> blake2b:
    """The hash that the identities of a member start with."""
    started = blake2b(digest_size=16)
    started.update(repr((MARKET, sender, message_type)).encode())
    return started


def answered(context: Context) -> str:
    """What tells the answer to one request from an equal answer to another: the CorrelationID, where a CH message
    answers one request as a whole."""
    return repr(context.correlation)


def role(contact: str | None, party: str | None) -> Role | None:
    """The role that a ContactTypeIdentifier tells; EDSN is known by its GLN too."""
    if contact is not None:
        return ROLES.get(contact.partition("_")[0])
    return "clearing-house" if party == EDSN else None


def _party(fields: Fields, tag: str, path: str) -> str:
    value = leaf(fields, tag)
    if value is None or len(value) > _LONGEST_PARTY:
        raise _invalid(f"{path}/{tag}", value, f"a party's code of at most {_LONGEST_PARTY} characters")
    return value


def _invalid(path: str, value: str | None, expected: str) -> Unreadable:
    return Unreadable(refusal("HEADER_INVALID", path=path, value=value, expected=expected))


def _short(fields: Fields, tag: str) -> str | None:
    value = leaf(fields, tag)
    return value[:400] if value else None
