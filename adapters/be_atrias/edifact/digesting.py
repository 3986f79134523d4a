"""Digests interchanges: one CH message for each UTILMD or UTILTS transaction, MSCONS point, INVOIC head, point of an
INVOIC, APERAK error and CONTRL verdict.

The values go through the same digesters as those of the XML documents. A message whose counters or references do not
agree is refused alone; an interchange whose UNZ does not agree ends in a refusal after its messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from io import BytesIO
from typing import IO, Any, NamedTuple

from adapters.be_atrias import structure
from adapters.be_atrias.codes import refusal
from adapters.be_atrias.edifact.facts import Facts, short
from adapters.be_atrias.edifact.invoices import charge_of, head_of, split
from adapters.be_atrias.edifact.measures import measures, timeseries
from adapters.be_atrias.times import belgian
from adapters.common.codes import Unreadable
from adapters.common.edifact.syntax import Interchange, Message, Segment, Trailer, groups, read, segments
from adapters.common.outcome import FAULTS, business_order
from adapters.common.particulars import with_particulars
from adapters.common.pieces import Values
from adapters.common.table import Table
from adapters.common.tableadapter import Digest
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import MemberHead, Transaction

LABEL = "EDIFACT"
ABOUT = "interchanges of the older generation: UTILMD, MSCONS, UTILTS, INVOIC, APERAK, CONTRL; one CH message each"
_REFERENCE = 400
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
_FOREIGN = re.compile(r"E[0-9](?!BE)[A-Z]{2}")
"""The same of another country's guide: E5DK02, E5SE5A."""


def recognised(text: str) -> bool:
    """Whether the first characters of a text begin an interchange of this market.

    The first message follows one of its guides; or a party of UNB is of its number range and the message follows no
    other country's guide: a Belgian party may be supplied, or supply, elsewhere.
    """
    ours = False
    try:
        for segment in segments(BytesIO(text.encode("utf-8", "surrogatepass"))):
            if segment.tag == "UNH":
                guide = segment.get(1, 4)
                return _GUIDE.match(guide) is not None or (ours and not _FOREIGN.match(guide))
            if segment.tag != "UNB":
                break
            ours = any(_PARTY.fullmatch(segment.get(at)) for at in (1, 2))
    except Unreadable:
        pass
    return ours


Digested = tuple[str | None, list[KernelMessage], dict[str, Any]]
"""Access point, Kernel messages, and what is kept as particulars."""


class Piece(NamedTuple):
    """One CH message before it is digested.

    Attributes:
      reference: of the transaction.
      run: its segments, with those of the message that concern all of its transactions.
      digest: makes Kernel messages of it, by the head; raises `Unreadable`.
      before: segments of the message that are kept with each of its transactions, and are not part of their identity.
    """

    reference: str
    run: list[Segment]
    digest: Callable[[dict[str, Any]], Digested]
    before: Sequence[Segment] = ()


def parts(table: Table, content: IO[bytes]) -> Iterator[MemberHead | Transaction | Refusal]:
    """The head, the transactions and, where the interchange ends badly, a refusal.

    Raises:
      Unreadable: EDI_SYNTAX, EDI_TRUNCATED.
    """
    interchange: Interchange | None = None
    position, wrong = 0, ""
    for part in read(content):
        if isinstance(part, Interchange):
            interchange = part
            yield _head(part)
        elif isinstance(part, Trailer):
            wrong = part.found  # told at the end: what stands after it is refused in its place
        else:
            assert interchange is not None
            for piece in _pieces(table, part, interchange):
                position += 1
                yield _transaction(position, piece, part, interchange, table)
    if wrong:
        yield refusal("EDI_CONTROL", "UNZ", wrong, "counters and references that agree")


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
    pieces = _SPLIT.get(
        next((ours for theirs, ours in table.raw["edifact"]["messages"].items() if theirs == message.type), "")
    )
    if pieces is None:
        yield refusal(
            "EDI_UNREAD", f"UNH {message.reference}", message.type, ", ".join(table.raw["edifact"]["messages"])
        )
        return
    found = False
    for piece in pieces(table, message):
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
    state = blake2b(repr((table.market, kind, sender)).encode("utf-8", "surrogatepass"), digest_size=16)
    messages: tuple[KernelMessage, ...] = ()
    point: str | None = None
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Refusal, ...] = ()
    if isinstance(piece, Refusal):
        reference, run, refusals = f"{interchange.reference}:{message.reference}", message.segments, (piece,)
    else:
        reference, run = piece.reference, piece.run
        try:
            head = _head_of(table, message, interchange, kind)
            point, made, kept = piece.digest(head)
            kept = {**_kept_of(table, message, interchange, piece.before), **kept}
            messages, notes = with_particulars(tuple(sorted(made, key=business_order)), kept)
        except Unreadable as unreadable:
            refusals = (unreadable.refusal,)
        except FAULTS as fault:
            refusals = (refusal("DIGEST_FAILED", kind, f"{type(fault).__name__}: {fault}"),)
    reference = " ".join(reference.split())[:_REFERENCE] or "-"
    for segment in run:
        # As Python shows a segment: what is stored was hashed so.
        state.update(f"Segment(tag={segment.tag!r}, elements={segment.elements!r})".encode("utf-8", "surrogatepass"))
    state.update(reference.encode("utf-8", "surrogatepass"))
    return Transaction(
        position=position,
        type=kind,
        version=version,
        reference=reference,
        access_point=point,
        sender=sender,
        identity=state.digest(),
        messages=messages,
        refusals=refusals,
        notes=notes,
    )


def _head_of(table: Table, message: Message, interchange: Interchange, kind: str) -> dict[str, Any]:
    """The head of every Kernel message of a message."""
    facts = Facts(table).take(segment for segment in message.segments[:12] if segment.tag in ("DTM", "MKS"))
    # The date of an invoice is a day that its messages take effect; it was written when its interchange was.
    created = (None if kind == "INVOIC" else facts.dates.get("created")) or _prepared(interchange)
    energy = next((segment.get(0) for segment in message.segments[:12] if segment.tag == "MKS"), "")
    return {
        "market": table.market,
        "energy": table.codes["energy"].words.get(energy, "electricity"),
        "market_type": kind,
        "created": created,
        "sender": interchange.sender,
        "receiver": interchange.receiver,
        "receiver_role": "supplier",
        "schema_version": message.association or None,
    }


def _kept_of(table: Table, message: Message, interchange: Interchange, before: Sequence[Segment]) -> dict[str, Any]:
    """What the head of a message says beyond its Kernel fields; its parties where they are not those of UNB."""
    same = {"sender": interchange.sender, "receiver": interchange.receiver}
    kept = Facts(table).take(before).kept(lambda name, value: name == "created" or value == same.get(name))
    bgm, functions = _document(message), table.codes["function"].words
    beside = {
        "UNB/0035": "1" if interchange.test else "",
        "UNH/0068": message.access,
        "BGM/1001": bgm.get(0) if message.type in ("MSCONS", "UTILTS") else "",
        "BGM/1225": bgm.get(2) if bgm.get(2) not in functions else "",
        "BGM/4343": bgm.get(3),
    }
    return {name: short(text, 400, name) for name, text in beside.items() if text} | kept


def _prepared(interchange: Interchange) -> datetime:
    text = interchange.prepared
    try:
        return belgian(datetime.strptime(text, "%y%m%d%H%M" if len(text) == 10 else "%Y%m%d%H%M"))
    except ValueError:
        raise Unreadable(refusal("SYN_VALUE", "UNB", text, "date and time of preparation")) from None


def _document(message: Message) -> Segment:
    """BGM: document code, number, function."""
    return next((segment for segment in message.segments if segment.tag == "BGM"), Segment("BGM", ()))


def _function(table: Table, message: Message) -> str:
    """Whether a message is new, replaces or cancels another."""
    function: str = table.codes["function"].words.get(_document(message).get(2), "original")
    return function


def _begun(message: Message, *, coded: bool = True) -> list[Segment]:
    """What BGM brings into the identity of a transaction: its code, and its function if that is not the usual."""
    bgm = _document(message)
    elements = ((bgm.get(0),),) if coded else ()
    function = bgm.get(2)
    return [Segment("BGM", (*elements, (function,)))] if function not in ("", "9") else (
        [Segment("BGM", elements)] if coded else []
    )  # fmt: skip


def _what(table: Table, message: Message) -> str:
    code = _document(message).get(0)
    what = table.raw["edifact"]["documents"].get(code)
    if what is None:
        raise Unreadable(refusal("EDI_UNREAD", "BGM", code, ", ".join(table.raw["edifact"]["documents"])))
    return str(what)


_ALWAYS = frozenset(("access_point", "correlation", "contract"))
_ANSWER = frozenset(("state", "code", "text"))
_PARTIES = frozenset(("supplier", "balance_responsible"))


def _taken(what: str, name: str, values: Values) -> bool:
    """Whether the Kernel messages of a document have a field for a name, which is a date, a name or one of `values`."""
    if what in ("start", "data") and name not in _ALWAYS:
        return name in _PARTIES or name == "meter" or (name in values and name not in _ANSWER)
    return name in _ALWAYS or name in {"change": _PARTIES, "answer": _ANSWER, "error": _ANSWER}.get(what, ())


def _utilmd(table: Table, message: Message) -> Iterator[Piece]:
    before, runs = groups(message.segments, lambda segment: segment.tag == "IDE")
    zone = Facts(table).take(segment for segment in before if segment.tag == "DTM").zone if runs else None
    for run in runs:
        reference = run[0].get(1) or "-"

        def digest(head: dict[str, Any], run: list[Segment] = run, reference: str = reference) -> Digested:
            what = _what(table, message)
            facts = Facts(table, zone).take(run)
            values, head = _utilmd_values(facts, reference, what), dict(head)
            values["function"] = _function(table, message)
            head["market_reason"] = values.pop("market_reason", None)
            head["reason"] = values.pop("reason", None)
            if what not in _UTILMD:
                raise Unreadable(refusal("EDI_UNREAD", "BGM", what, ", ".join(_UTILMD)))
            dated = next((name for name in _dates(what) if name in facts.dates), None)
            kept = facts.kept(lambda name, _: name == dated or _taken(what, name, facts.values))
            return values.get("access_point"), _UTILMD[what](values, head), kept

        yield Piece(reference, [*_begun(message), *run], digest, before)


def _dates(what: str) -> tuple[str, ...]:
    """The dates that may be the effective one, the likeliest first."""
    own = "end" if what == "stop" else "start"
    return ("validity", own) if what in ("data", "change") else (own, "validity")


def _utilmd_values(facts: Facts, reference: str, what: str) -> Values:
    names = facts.names
    values = {**facts.values, **{name: names[name] for name in _NAMES if name in names}}
    values["reference"] = short(reference, _REFERENCE, "IDE")
    effective = next((facts.dates[name] for name in _dates(what) if name in facts.dates), None)
    if effective is not None:
        values["effective"] = effective
    elif what not in ("answer",):
        raise Unreadable(refusal("SYN_MISSING", "DTM", expected="the date from which the content holds"))
    if what != "answer" and "access_point" not in values:
        raise Unreadable(refusal("SYN_MISSING", "LOC", expected="the access point"))
    if what == "answer":
        values.setdefault("state", "refused" if values.get("code") else "done")
        values.setdefault("correlation", reference)
    if what == "cancellation":
        values["cancelled"] = "request"
        values.setdefault("correlation", reference)
    if "contract" in names:
        values["contract_reference"] = names["contract"]
    if "meter" in names:
        values["MeterData"] = [{"meter": names["meter"]}]
    return values


_NAMES = ("access_point", "correlation", "supplier", "balance_responsible")


def _mscons(table: Table, message: Message) -> Iterator[Piece]:
    places = table.raw["edifact"]["places"]["access_point"]
    before, runs = groups(message.segments, lambda segment: segment.tag == "LOC" and segment.get(0) in places)
    created = table.raw["edifact"]["dates"]["created"]
    shared = [segment for segment in before if segment.tag == "DTM" and segment.get(0) != created]
    others = [segment for segment in before if segment.tag != "DTM"]
    document = _document(message).get(1)
    for own in runs:
        run = [*shared, *own]
        reference = f"{document}:{own[0].get(1)}"

        def digest(head: dict[str, Any], run: list[Segment] = run, reference: str = reference) -> Digested:
            return measures(table, run, head, short(reference, 64, "BGM"), _function(table, message))

        yield Piece(reference, [*_begun(message, coded=False), *run], digest, others)


def _aperak(table: Table, message: Message) -> Iterator[Piece]:
    document = _document(message).get(1)
    before, runs = groups(message.segments, lambda segment: segment.tag == "ERC")
    created = table.raw["edifact"]["dates"]["created"]
    dated = [segment for segment in before if segment.tag == "DTM" and segment.get(0) != created]
    head_run = [segment for segment in before if segment.tag != "DTM"]
    for number, run in enumerate(runs or [[]], 1):
        whole = [segment for segment in (*head_run, *run) if segment.tag != "BGM"]
        reference = f"{document}:{number}"

        def digest(head: dict[str, Any], whole: list[Segment] = whole, reference: str = reference) -> Digested:
            what = _what(table, message)
            facts = Facts(table).take(whole)
            values = {**facts.values, "reference": reference, "correlation": facts.names.get("correlation")}
            values["function"] = _function(table, message)
            point = values["access_point"] = facts.names.get("access_point")
            values["contract_reference"] = facts.names.get("contract")
            kept = facts.kept(lambda name, _: _taken("error", name, {}))
            if what == "acknowledgement" and values["correlation"]:
                kept = facts.kept(lambda name, _: name != "text" and _taken("error", name, {}))
                return point, structure.response(values | {"state": "acknowledged"}, head), kept
            if "code" not in values:
                raise Unreadable(refusal("SYN_MISSING", "ERC", expected="the code of the error"))
            return point, structure.error_report(values, head), kept

        yield Piece(reference, [*_begun(message), *whole], digest, dated)


def _contrl(table: Table, message: Message) -> Iterator[Piece]:
    _, runs = groups(message.segments, lambda segment: segment.tag in ("UCI", "UCM"))
    for run in runs:
        segment = run[0]
        at = 3 if segment.tag == "UCI" else 2
        original, action, code = segment.get(0), segment.get(at), segment.get(at + 1)
        reference = f"{segment.tag}:{original}"

        def digest(
            head: dict[str, Any],
            run: list[Segment] = run,
            at: int = at,
            original: str = original,
            action: str = action,
            code: str = code,
            reference: str = reference,
        ) -> Digested:
            verdict = table.raw["edifact"]["actions"].get(action)
            if verdict is None:
                raise Unreadable(refusal("SYN_CODE", reference, action, ", ".join(table.raw["edifact"]["actions"])))
            values: Values = {"reference": reference, "correlation": short(original, 64, "UCI")}
            kept = Facts(table).take(run[1:]).kept(lambda name, _: False)
            if wrong := ":".join(":".join(part) for part in run[0].elements[at + 2 :]):
                kept[f"{run[0].tag}/0135"] = wrong[:400]
            if verdict == "accepted":
                return None, structure.response(values | {"state": "acknowledged"}, head), kept
            return None, structure.error_report(values | {"code": short(code or "18", 64, "UCI")}, head), kept

        yield Piece(reference, run, digest)


def _utilts(table: Table, message: Message) -> Iterator[Piece]:
    before, runs = groups(message.segments, lambda segment: segment.tag == "IDE")
    zone = Facts(table).take(segment for segment in before if segment.tag == "DTM").zone if runs else None
    places = table.raw["edifact"]["places"]["access_point"]

    def piece(reference: str, run: list[Segment]) -> Piece:
        def digest(head: dict[str, Any]) -> Digested:
            if _what(table, message) != "measures":
                raise Unreadable(refusal("EDI_UNREAD", "BGM", _document(message).get(0), "measures"))
            return timeseries(table, run, head, short(reference, 64, "IDE"), _function(table, message), zone)

        return Piece(reference, [*_begun(message), *run], digest, before)

    for run in runs:
        reference = run[0].get(1) or "-"
        common, own = groups(run, lambda segment: segment.tag == "LOC" and segment.get(0) in places)
        if len(own) > 1:  # each place with its own series: what stands before them is said of all
            yield from (piece(f"{reference}:{one[0].get(1)}", [*common, *one]) for one in own)
        else:
            yield piece(reference, run)


def _invoic(table: Table, message: Message) -> Iterator[Piece]:
    bgm = _document(message)
    invoice = split(table, message.segments, bgm)
    begun = _begun(message)

    def of_head(head: dict[str, Any]) -> Digested:
        if _what(table, message) not in ("invoice", "credit"):
            raise Unreadable(refusal("EDI_UNREAD", "BGM", bgm.get(0), "380, 381"))
        made, kept = head_of(table, invoice, head | {"function": _function(table, message)})
        return None, [made], kept

    yield Piece(invoice.number, [*begun, *invoice.before, *invoice.summary], of_head)
    for point, lines in invoice.lines.items():
        run = [*begun, *invoice.before, *(segment for line in lines for segment in line)]

        def of_point(head: dict[str, Any], point: str | None = point) -> Digested:
            if _what(table, message) not in ("invoice", "credit"):
                raise Unreadable(refusal("EDI_UNREAD", "BGM", bgm.get(0), "380, 381"))
            made, kept = charge_of(table, invoice, point, head | {"function": _function(table, message)})
            return made.access_point, [made], kept

        yield Piece(f"{invoice.number}:{point or '-'}", run, of_point)


_SPLIT: dict[str, Callable[[Table, Message], Iterator[Piece]]] = {
    "UTILMD": _utilmd,
    "MSCONS": _mscons,
    "UTILTS": _utilts,
    "INVOIC": _invoic,
    "APERAK": _aperak,
    "CONTRL": _contrl,
}
"""How a message of each type is split into CH messages."""
