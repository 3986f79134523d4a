"""The codes that this adapter answers with, and the hub's own codes beside them, as data."""

from __future__ import annotations

from msgspec import structs

from adapters.common.codes import AdapterCode, CodeTable
from energycomm.kernel.verdicts import Refusal

OWN: tuple[AdapterCode, ...] = (
    AdapterCode(
        "TYPE_DECLARED",
        "member",
        "The header declares another type than its document has.",
        "Ask the sender for the document with its own type.",
    ),
    AdapterCode(
        "TRANSACTION_REPEATED",
        "message",
        "Two transactions of one document have the same identifier; the first one is read.",
        "Ask the sender for a document with an identifier for each transaction.",
    ),
    AdapterCode(
        "BUILD_SCHEMA",
        "build",
        "The request does not satisfy the schema of its document.",
        "Correct the value that is named.",
    ),
)
"""Codes of this adapter beside the shared ones."""

_TABLE = CodeTable(*OWN)
CODES = _TABLE.codes
"""Every code."""
refusal = _TABLE.refusal
"""A refusal or note with the advice of its code."""

_SCHEMA, _VERSION, _TYPE = "00302 (B2B-005)", "00301 (B2B-007)", "00401 (B2B-006)"
_BY_CODE: dict[str, str] = {
    "TYPE_UNKNOWN": _TYPE,
    "TYPE_DECLARED": _TYPE,
    "TYPE_NOT_OURS": _SCHEMA,
    "VERSION_UNKNOWN": _VERSION,
    "ROOT_UNEXPECTED": _SCHEMA,
    "HEADER_MISSING": _SCHEMA,
    "HEADER_INVALID": _SCHEMA,
    "FORM_UNEXPECTED": _SCHEMA,
    "JSON_SYNTAX": _SCHEMA,
    "JSON_TRUNCATED": _SCHEMA,
    "JSON_LIMIT": _SCHEMA,
    "SYN_MISSING": _SCHEMA,
    "SYN_UNEXPECTED": _SCHEMA,
    "SYN_VALUE": _SCHEMA,
    "SYN_CODE": _SCHEMA,
    "TRANSACTION_REPEATED": "00102 (B2B-009)",
}
ADDED = "The hub itself refuses this with"
"""What the advice of a refusal begins with that has the hub's own code."""
_TOO_LONG = "at most"
_OF_HEADER = {"mRID": ("00201 (B2B-003)", "00305 (B2B-003)"), "Identification": ("00201 (B2B-003)", "00305 (B2B-003)")}
_OF_TRANSACTION = ("00202 (B2B-009)", "00205 (B2B-009)")
_RECEIVER = "00303 (B2B-011)"
_PROCESS = "00402 (B2B-002)"


def hub_code(refused: Refusal) -> str | None:
    """The hub's own code, with that of ebIX in brackets, of what it refuses for form; None where it has none.

    Args:
      refused: a refusal of this adapter.
    """
    found = _BY_CODE.get(refused.code)
    if found is None and refused.code.startswith("XML_"):
        return _SCHEMA
    *above, name = refused.path.split("/")
    if refused.code in ("HEADER_INVALID", "HEADER_MISSING"):
        if name.startswith("receiver_MarketParticipant.mRID") or "RecipientEnergyParty" in above:
            return _RECEIVER
        if name in _OF_HEADER and "SenderEnergyParty" not in above:
            return _OF_HEADER[name][refused.expected.startswith(_TOO_LONG)]
    if refused.code in ("SYN_MISSING", "SYN_VALUE") and name in _OF_HEADER and len(above) == 1:
        return _OF_TRANSACTION[refused.expected.startswith(_TOO_LONG)]
    if refused.code == "SYN_CODE" and refused.path == "process.processType":
        return _PROCESS  # a process of the list that its document does not have
    return found


def with_hub_code(refused: Refusal) -> Refusal:
    """The refusal, with the hub's own code in its advice where the hub has one."""
    code = hub_code(refused)
    if code is None or refused.advice.startswith(ADDED):
        return refused
    return structs.replace(refused, advice=f"{ADDED} {code}. {refused.advice}".strip())
