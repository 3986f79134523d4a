"""SOAP faults: the market could not read or would not process a request at all.

A fault has no EDSNBusinessDocumentHeader: no sender, no time, no reference. Time and reference come from where they
can be found: the SOAP header (WS-Security's Timestamp, WS-Addressing's RelatesTo), else the name under which the
channel kept the answer: ``answer-<reference of the request>_<YYYYMMDDThhmmssZ>.xml``. Without a name two equal faults
are one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from lxml import etree

from adapters.common.outcome import Outcome
from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.header import EDSN, MARKET, Context, seed
from adapters.nl_edsn.times import moment
from energycomm.kernel.instants import EPOCH
from energycomm.kernel.messages import ErrorReport
from energycomm.kernel.verdicts import Refusal

TYPE = "SOAPFault"
_KEPT = re.compile(r"answer[-_](?P<reference>.+)_(?P<stamp>[0-9]{8}T[0-9]{6}Z)(?:\.[A-Za-z]+)?")
_LONGEST_CODE = 64


class Kept(NamedTuple):
    """What the name of a kept answer tells."""

    reference: str | None = None
    at: datetime | None = None


def kept_as(name: str) -> Kept:
    """Reference and time from the name under which a channel kept an answer; both None for any other name.

    Args:
      name: file name, with or without folders.
    """
    match = _KEPT.fullmatch(re.split(r"[/\\]", name)[-1])
    if match is None:
        return Kept()
    try:
        at = datetime.strptime(match["stamp"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return Kept(match["reference"][:400])
    return Kept(match["reference"][:400], at)


def fault_context(soap_header: etree._Element | None, name: str) -> Context:
    """The head of a fault, from its SOAP header and the name it was kept under."""
    kept = kept_as(name)
    created = _created(soap_header)
    at = created or kept.at or EPOCH
    notes: tuple[Refusal, ...] = ()
    if at is EPOCH:
        notes = (refusal("NOTE_TIME_UNKNOWN", path=name, expected="answer-<reference>_<YYYYMMDDThhmmssZ>.xml"),)
    head = {
        "market": MARKET,
        "market_type": TYPE,
        "created": at,
        "sender": EDSN,
        "sender_role": "clearing-house",
        "receiver_role": "supplier",
    }
    correlation = _text(soap_header, "RelatesTo") or kept.reference
    return Context(head, seed(EDSN, TYPE), at.isoformat(), correlation, None, None, "1.0", notes)


def outcome(fault: etree._Element, context: Context) -> Outcome:
    """The error report of a fault: EDSN's own code and text where it gives them, else those of SOAP."""
    code = _text(fault, "ErrorCode")
    text = _text(fault, "ErrorText")
    details = _text(fault, "ErrorDetails")
    if code is None:  # SOAP's own: of 1.1, of 1.2
        code, text = _text(fault, "faultcode", "Code/Value"), text or _text(fault, "faultstring", "Reason/Text")
        details = details or _text(fault, "Subcode/Value")
    reference = context.correlation or "-"
    state = context.seed.copy()
    state.update(repr((context.correlation, code, text, details)).encode("utf-8", "surrogatepass"))
    if code is None or len(code) > _LONGEST_CODE:
        path = "Fault/detail/SOAPFault/ErrorCode"
        refused = refusal(
            "SYN_MISSING", path=path, value=code, expected=f"a code of at most {_LONGEST_CODE} characters"
        )
        return Outcome(reference, None, state.digest(), (), (refused,))
    told = " ".join(part for part in (text, details) if part)[:400] or None
    report = ErrorReport(
        **context.head,
        reference=reference,
        correlation=context.correlation,
        effective=context.head["created"],
        code=code.zfill(3) if code.isdigit() else code,  # EDSN's schema calls the code a number
        text=told,
    )
    return Outcome(reference, None, state.digest(), (report,))


def _created(soap_header: etree._Element | None) -> datetime | None:
    text = _text(soap_header, "Created")
    if text is None:
        return None
    try:
        return moment(text).at
    except ValueError:
        return None


def _text(element: etree._Element | None, *paths: str) -> str | None:
    """The first text of one of some paths of local names, wherever they begin inside."""
    for path in paths:
        found = None if element is None else element.findtext(".//{*}" + path.replace("/", "/{*}"))
        if found and found.strip():
            return found.strip()
    return None
