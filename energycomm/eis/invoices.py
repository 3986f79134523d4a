"""Which messages grid invoices are made of, whatever their verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from energycomm.eis import tables
from energycomm.kernel.messages import GridCharge, GridInvoice, KernelMessage

if TYPE_CHECKING:
    from energycomm.eis.store import StoreTransaction


_INVOICED = (GridCharge, GridInvoice)


def store_invoices(tx: StoreTransaction, messages: Iterable[tuple[int, KernelMessage]]) -> None:
    """Remember of which invoice new messages are, each with its id."""
    rows = [
        {"message_id": number, "market": message.market, "invoice": message.invoice}
        for number, message in messages
        if isinstance(message, _INVOICED)
    ]
    if rows:
        tx.insert(tables.invoice_message, rows)
