"""Builders: what a supplier asks of the clearing house, as the document of the mapping table.

Building is deterministic: the same Kernel message and reference give the same bytes. The document's own reference is
the one given; the market repeats it in its answer. Every document is checked against its schema before it is given out.
"""

from __future__ import annotations

from typing import Any

from adapters.be_atrias import schema
from adapters.be_atrias.codes import refusal
from adapters.be_atrias.mapping import reasons_of, type_of
from adapters.be_atrias.times import midnight
from adapters.be_atrias.writing import write
from adapters.common.codes import Unreadable
from adapters.common.table import Table
from energycomm.kernel import safexml
from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.verdicts import Refusal
from energycomm.market.contract import OutgoingMessage

CONTENT_TYPE = "application/xml; charset=utf-8"
_CANCELLED = {
    "SupplierSwitchRequest": "start-request",
    "MoveInRequest": "start-request",
    "CombinedSwitchRequest": "start-request",
    "MoveOutRequest": "stop-request",
    "EndOfSupplyRequest": "stop-request",
    "ContractChangeRequest": "change-request",
    "MasterDataUpdate": "data-request",
}
"""Kind of a request that is withdrawn -> word of the code list ``cancelled``."""


def built_kinds(table: Table) -> frozenset[str]:
    """Every kind that a document of the table is built from."""
    return frozenset(kind for document in table.sent.values() for kind in reasons_of(table, document))


def build(table: Table, message: KernelMessage, reference: str) -> OutgoingMessage | Refusal:
    """The document that asks the market for what a Kernel message says.

    Args:
      table: the mapping table.
      message: an outgoing message that the rules let pass.
      reference: our reference of it, at most 64 characters; the market repeats it.

    Returns:
      The document; or a refusal: BUILD_KIND, BUILD_MISSING, BUILD_VALUE, BUILD_SCHEMA.
    """
    kind = kind_of(message)
    document = next((row for row in table.sent.values() if kind in reasons_of(table, row)), None)
    if document is None:
        return refusal("BUILD_KIND", value=kind, expected=", ".join(sorted(built_kinds(table))))
    values = _values(message, reference)
    head = values | {
        "document": reference,
        "type": type_of(table, document),
        "reason": reasons_of(table, document)[kind],
        "sender_role": message.sender_role or "supplier",
    }
    try:
        content = write(table, document, head, values)
    except Unreadable as unreadable:
        return unreadable.refusal
    parsed = safexml.parse_bytes(content)
    if isinstance(parsed, Refusal):
        return refusal("BUILD_SCHEMA", str(document.root), parsed.value, parsed.expected)
    errors = schema.check(table, document, parsed)
    if errors:
        return refusal("BUILD_SCHEMA", errors[0].path, expected=errors[0].expected)
    return OutgoingMessage(type=document.label, content=content, reference=reference, content_type=CONTENT_TYPE)


def _values(message: KernelMessage, reference: str) -> dict[str, Any]:
    """The fields of a Kernel message, and what the mapping table names besides."""
    values: dict[str, Any] = {name: getattr(message, name) for name in message.__struct_fields__}
    requested = values.get("requested_date")
    values |= {
        "reference": reference,
        "effective": midnight(requested) if requested else message.effective,
        "contract": values.get("contract") or message.contract_reference,
    }
    if "supplier" in values:
        values["supplier"] = values["supplier"] or message.sender
    if values.get("subscribed_power") is not None:
        values["power_unit"] = "kVA"
    if "cancelled_kind" in values:
        values["cancelled"] = _CANCELLED.get(str(values["cancelled_kind"]))
    return values
