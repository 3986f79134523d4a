"""Digests interchanges: each UTILMD transaction, MSCONS point, APERAK error and CONTRL verdict is one CH message.

The values go through the same digesters as those of the XML documents. A message whose counters or references do not
agree is refused alone; an interchange whose UNZ does not agree ends in a refusal after its messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b
from io import BytesIO
from typing import IO, Any, NamedTuple

from adapters.be_atrias import structure
from adapters.be_atrias.codes import refusal
from adapters.be_atrias.documents import MARKET
from adapters.be_atrias.edifact.facts import Facts, short
from adapters.be_atrias.edifact.measures import measures
from adapters.be_atrias.mapping import Table
from adapters.be_atrias.reading import Values
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Interchange, Message, Segment, Trailer, groups, read, segments
from adapters.common.outcome import FAULTS, business_order
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Transaction

LABEL = "EDIFACT"
ABOUT = "interchanges of the older generation: UTILMD, MSCONS, APERAK, CONTRL; one CH message per transaction"
_REFERENCE = 400
Digest = Callable[[Values, dict[str, Any]], list[KernelMessage]]
_UTILMD: dict[str, Digest] = {
    "start": structure.start_of_access,
    "stop": structure.stop_of_access,
    "change": structure.change_of_access,
    "data": structure.master_data,
    "answer": structure.response,
    "cancellation": structure.cancellation,
}


_PARTY = re.compile(r"54[0-9]{11}")
"""A GLN of the number range that GS1 gave to Belgium and Luxembourg."""
_GUIDE = re.compile(r"E[0-9]BE")
"""How the association assigned code of a Belgian guide begins: E5BE01."""


def recognised(text: str) -> bool:
    """Whether the first characters of a text begin an interchange of this market: a party of UNB is of its number
    range, or the first message follows one of its guides. Other countries write interchanges too."""
    try:
        for segment in segments(BytesIO(text.encode("utf-8", "surrogatepass"))):
            if segment.tag == "UNB" and any(_PARTY.fullmatch(segment.get(at)) for at in (1, 2)):
                return True
            if segment.tag == "UNH":
                return _GUIDE.match(segment.get(1, 4)) is not None
            if segment.tag != "UNB":
                return False
    except Unreadable:
        return False
    return False


class Piece(NamedTuple):
    """One CH message before it is digested.

    Attributes:
      reference: of the transaction.
      run: its segments, with those of the message that concern all of its transactions.
      digest: makes Kernel messages of it, by the head; raises `Unreadable`.
    """

    reference: str
    run: list[Segment]
    digest: Callable[[dict[str, Any]], tuple[str | None, list[KernelMessage]]]


def parts(table: Table, content: IO[bytes]) -> Iterator[MemberHead | Transaction | Refusal]:
    """The head, the transactions and, where the interchange ends badly, a refusal.

    Raises:
      Unreadable: EDI_SYNTAX, EDI_TRUNCATED.
    """
    interchange: Interchange | None = None
    position = 0
    for part in read(content):
        if isinstance(part, Interchange):
            interchange = part
            yield _head(part)
        elif isinstance(part, Trailer):
            if part.fault:
                yield refusal("EDI_CONTROL", "UNZ", part.found, "counters and references that agree")
        else:
            assert interchange is not None
            for piece in _pieces(table, part, interchange):
                position += 1
                yield _transaction(position, piece, part, interchange, table)


def _head(interchange: Interchange) -> MemberHead:
    return MemberHead(
        type=LABEL,
        version=interchange.syntax,
        sender=interchange.sender,
        receiver=interchange.receiver,
        created=interchange.prepared,
    )


def _pieces(table: Table, message: Message, interchange: Interchange) -> Iterator[Piece | Refusal]:
    """The CH messages of a message; a refusal where it cannot be split."""
    if message.fault:
        yield refusal("EDI_MESSAGE", f"UNH {message.reference}", message.found, "counters and references that agree")
        return
    split = {"UTILMD": _utilmd, "MSCONS": _mscons, "APERAK": _aperak, "CONTRL": _contrl}.get(
        next((ours for theirs, ours in table.edifact["messages"].items() if theirs == message.type), "")
    )
    if split is None:
        yield refusal("EDI_UNREAD", f"UNH {message.reference}", message.type, ", ".join(table.edifact["messages"]))
        return
    found = False
    for piece in split(table, message):
        found = True
        yield piece
    if not found:
        yield refusal("EDI_UNREAD", f"UNH {message.reference}", message.type, "a transaction")


def _transaction(
    position: int, piece: Piece | Refusal, message: Message, interchange: Interchange, table: Table
) -> Transaction:
    kind = message.type or LABEL
    version = ":".join(part for part in (message.version, message.release, message.association) if part) or None
    sender = interchange.sender
    state = blake2b(repr((MARKET, kind, sender)).encode("utf-8", "surrogatepass"), digest_size=16)
    messages: list[KernelMessage] = []
    point: str | None = None
    refusals: tuple[Refusal, ...] = ()
    if isinstance(piece, Refusal):
        reference, run, refusals = f"{interchange.reference}:{message.reference}", message.segments, (piece,)
    else:
        reference, run = piece.reference, piece.run
        try:
            head = _head_of(table, message, interchange, kind)
            point, messages = piece.digest(head)
        except Unreadable as unreadable:
            refusals, messages = (unreadable.refusal,), []
        except FAULTS as fault:
            refusals = (refusal("DIGEST_FAILED", kind, f"{type(fault).__name__}: {fault}"),)
    reference = " ".join(reference.split())[:_REFERENCE] or "-"
    for segment in run:
        state.update(repr(segment).encode("utf-8", "surrogatepass"))
    state.update(reference.encode("utf-8", "surrogatepass"))
    return Transaction(
        position=position,
        type=kind,
        version=version,
        reference=reference,
        access_point=point,
        sender=sender,
        identity=state.digest(),
        messages=tuple(sorted(messages, key=business_order)),
        refusals=refusals,
    )


def _head_of(table: Table, message: Message, interchange: Interchange, kind: str) -> dict[str, Any]:
    """The head of every Kernel message of a message."""
    facts = Facts(table).take(segment for segment in message.segments[:12] if segment.tag in ("DTM", "MKS"))
    created = facts.dates.get("created") or _prepared(interchange)
    energy = next((segment.get(0) for segment in message.segments[:12] if segment.tag == "MKS"), "")
    return {
        "market": MARKET,
        "energy": table.codes["energy"].words.get(energy, "electricity"),
        "market_type": kind,
        "created": created,
        "sender": interchange.sender,
        "receiver": interchange.receiver,
        "receiver_role": "supplier",
        "schema_version": message.association or None,
    }


def _prepared(interchange: Interchange) -> datetime:
    text = interchange.prepared
    try:
        return belgian(datetime.strptime(text, "%y%m%d%H%M" if len(text) == 10 else "%Y%m%d%H%M"))
    except ValueError:
        raise Unreadable(refusal("SYN_VALUE", "UNB", text, "date and time of preparation")) from None


def _document(message: Message) -> tuple[str, str]:
    """Document code and number of BGM."""
    bgm = next((segment for segment in message.segments if segment.tag == "BGM"), None)
    return (bgm.get(0), bgm.get(1)) if bgm else ("", "")


def _what(table: Table, message: Message) -> str:
    code, _ = _document(message)
    what = table.edifact["documents"].get(code)
    if what is None:
        raise Unreadable(refusal("EDI_UNREAD", "BGM", code, ", ".join(table.edifact["documents"])))
    return str(what)


def _utilmd(table: Table, message: Message) -> Iterator[Piece]:
    before, runs = groups(message.segments, lambda segment: segment.tag == "IDE")
    zone = Facts(table).take(segment for segment in before if segment.tag == "DTM").zone if runs else None
    for run in runs:
        reference = run[0].get(1) or "-"

        def digest(head: dict[str, Any], run: list[Segment] = run, reference: str = reference) -> Any:
            what = _what(table, message)
            facts = Facts(table, zone).take(run)
            values, head = _utilmd_values(facts, reference, what), dict(head)
            head["market_reason"] = values.pop("market_reason", None)
            head["reason"] = values.pop("reason", None)
            if what not in _UTILMD:
                raise Unreadable(refusal("EDI_UNREAD", "BGM", what, ", ".join(_UTILMD)))
            return values.get("access_point"), _UTILMD[what](values, head)

        yield Piece(reference, [Segment("BGM", ((_document(message)[0],),)), *run], digest)


def _utilmd_values(facts: Facts, reference: str, what: str) -> Values:
    dates, names = facts.dates, facts.names
    values = {**facts.values, **{name: names[name] for name in _NAMES if name in names}}
    values["reference"] = short(reference, _REFERENCE, "IDE")
    own = "end" if what == "stop" else "start"
    effective = dates.get("validity" if what in ("data", "change") else own) or dates.get(own) or dates.get("validity")
    if effective is not None:
        values["effective"] = effective
    elif what not in ("answer",):
        raise Unreadable(refusal("SYN_MISSING", "DTM", expected="the date from which the content holds"))
    if what != "answer" and "access_point" not in values:
        raise Unreadable(refusal("SYN_MISSING", "LOC", expected="the access point"))
    if what == "answer":
        values.setdefault("status", "rejected" if values.get("code") else "accepted")
        values.setdefault("original", reference)
    if what == "cancellation":
        values["cancelled"] = "request"
        values.setdefault("original", reference)
    if "contract" in names:
        values["contract_reference"] = names["contract"]
    if "meter" in names:
        values["meters"] = [{"meter": names["meter"]}]
    return values


_NAMES = ("access_point", "original", "supplier", "balance_responsible")


def _mscons(table: Table, message: Message) -> Iterator[Piece]:
    places = table.edifact["places"]["access_point"]
    before, runs = groups(message.segments, lambda segment: segment.tag == "LOC" and segment.get(0) in places)
    created = table.edifact["dates"]["created"]
    shared = [segment for segment in before if segment.tag == "DTM" and segment.get(0) != created]
    _, document = _document(message)
    for own in runs:
        run = [*shared, *own]
        reference = f"{document}:{own[0].get(1)}"

        def digest(head: dict[str, Any], run: list[Segment] = run, reference: str = reference) -> Any:
            return measures(table, run, head, short(reference, 64, "BGM"))

        yield Piece(reference, run, digest)


def _aperak(table: Table, message: Message) -> Iterator[Piece]:
    code, document = _document(message)
    before, runs = groups(message.segments, lambda segment: segment.tag == "ERC")
    head_run = [segment for segment in before if segment.tag != "DTM"]
    for number, run in enumerate(runs or [[]], 1):
        whole = [segment for segment in (*head_run, *run) if segment.tag != "BGM"]
        reference = f"{document}:{number}"

        def digest(head: dict[str, Any], whole: list[Segment] = whole, reference: str = reference) -> Any:
            what = _what(table, message)
            facts = Facts(table).take(whole)
            values = {**facts.values, "reference": reference, "original": facts.names.get("original")}
            point = values["access_point"] = facts.names.get("access_point")
            if what == "acknowledgement" and values["original"]:
                return point, structure.response(values | {"status": "pending"}, head)
            if "code" not in values:
                raise Unreadable(refusal("SYN_MISSING", "ERC", expected="the code of the error"))
            return point, structure.error_report(values, head)

        yield Piece(reference, [Segment("BGM", ((code,),)), *whole], digest)


def _contrl(table: Table, message: Message) -> Iterator[Piece]:
    for segment in message.segments:
        if segment.tag not in ("UCI", "UCM"):
            continue
        at = 3 if segment.tag == "UCI" else 2
        original, action, code = segment.get(0), segment.get(at), segment.get(at + 1)
        reference = f"{segment.tag}:{original}"

        def digest(
            head: dict[str, Any],
            original: str = original,
            action: str = action,
            code: str = code,
            reference: str = reference,
        ) -> Any:
            verdict = table.edifact["actions"].get(action)
            if verdict is None:
                raise Unreadable(refusal("SYN_CODE", reference, action, ", ".join(table.edifact["actions"])))
            values: Values = {"reference": reference, "original": short(original, 64, "UCI")}
            if verdict == "accepted":
                return None, structure.response(values | {"status": "pending"}, head)
            return None, structure.error_report(values | {"code": short(code or "18", 64, "UCI")}, head)

        yield Piece(reference, [segment], digest)
