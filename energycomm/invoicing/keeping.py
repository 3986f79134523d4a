"""Complete invoices are checked by themselves, and again when something that they depend on changed.

What was found is kept as a number of findings and a sum, so that it can be told without checking again. Which invoices
depend on a change is read from the log of changes: those whose own messages changed, and those that charge an access
point for days on or after the change. A correction concerns every invoice of its point. So the order in which files and
readings come does not matter, and a second run has nothing to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, case, delete, func, insert, or_, select, union, update

from energycomm.eis import changelog, tables
from energycomm.eis.database import reading, writing
from energycomm.invoicing.gathering import BEFORE, CheckedInvoice, InvoiceCheck, InvoiceSummary
from energycomm.invoicing.pricelist import TABLES
from energycomm.kernel.instants import LAST_DAY, micros, midnight, now_micros

_BEFORE = BEFORE // timedelta(microseconds=1)
PORTION = 50
"""Invoices that are checked before what was found is kept."""
MANY = 200
"""So many new invoices, and all are checked."""


class Contested(NamedTuple):
    """Complete invoices of a currency that something contradicts: how many, and for how much in all."""

    currency: str
    invoices: int
    amount: Decimal


def contested(connection: Connection) -> list[Contested]:
    """What is contested, by currency, as the last check found it."""
    c = tables.invoice_check.c
    sums: dict[str, list[Decimal]] = {}
    for row in connection.execute(
        select(c.currency, c.contested).where(c.contradictions > 0, c.complete).order_by(c.currency)
    ):
        sums.setdefault(row.currency, []).append(Decimal(row.contested))
    return [Contested(currency, len(several), sum(several, Decimal(0))) for currency, several in sums.items()]


def check_changed(checker: InvoiceCheck) -> list[InvoiceSummary]:
    """Check the complete invoices that changed, or of which something that they depend on did.

    Args:
      checker: checks them.

    Returns:
      Those that were checked, in order of market and number.
    """
    digest = _digest(checker.rules)
    with reading(checker.store.engine) as connection:
        place = changelog.present(connection)
        due = _due(connection, place, digest)
    found: list[InvoiceSummary] = []
    for start in range(0, len(due), PORTION):
        portion = due[start : start + PORTION]
        checked = [checker.checked(*one) for one in portion]
        with writing(checker.store.engine) as connection:
            _keep(connection, checker, portion, checked)
        found += [one.summary for one in checked if one.complete]
    with writing(checker.store.engine) as connection:
        h = tables.invoice_check_head
        values = {"store": place.store, "upto": place.number, "tables": digest}
        if connection.execute(update(h).values(values)).rowcount == 0:
            connection.execute(insert(h).values(one=1, **values))
    return found


def _keep(
    connection: Connection, checker: InvoiceCheck, numbers: Sequence[tuple[str, str]], checked: Sequence[CheckedInvoice]
) -> None:
    c = tables.invoice_check
    for market, invoice in numbers:
        connection.execute(delete(c).where(c.c.market == market, c.c.invoice == invoice))
    rows = [
        {
            "market": one.market,
            "invoice": one.invoice,
            "last_at": _after(checker, one),
            "currency": one.currency,
            "contested": str(one.contested),
            "contradictions": one.contradictions,
            "complete": one.complete,
            "messages": one.messages,
            "checked_at": now_micros(),
        }
        for one in checked
    ]
    if rows:
        connection.execute(insert(c), rows)


def _after(checker: InvoiceCheck, one: CheckedInvoice) -> int | None:
    """The end of the last day that an invoice charges."""
    if one.last is None or one.last >= LAST_DAY:
        return None
    return micros(midnight(checker.zones[one.market], one.last + timedelta(days=1)))


def _due(connection: Connection, place: changelog.Place, digest: str) -> list[tuple[str, str]]:
    """Market and number of the invoices to be checked."""
    h, i, x = tables.invoice_check_head.c, tables.invoice_message.c, tables.invoice_check.c
    head = connection.execute(select(h.store, h.upto, h.tables)).first()
    floor = connection.execute(select(tables.change_head.c.floor)).scalar_one()
    followed = head is not None and (head.store, head.tables) == (place.store, digest)
    if head is None or not followed or not floor <= head.upto <= place.number:
        every = connection.execute(select(i.market, i.invoice).distinct())
        return sorted((row.market, row.invoice) for row in every)
    kept = {
        (row.market, row.invoice): row.messages for row in connection.execute(select(x.market, x.invoice, x.messages))
    }
    there = connection.execute(select(i.market, i.invoice, func.count()).group_by(i.market, i.invoice))
    counts = {(row.market, row.invoice): row[2] for row in there}
    grown = [one for one, messages in counts.items() if kept.get(one) != messages]
    if len(grown) > MANY:
        return sorted(counts)
    if not counts or (head.upto == place.number and not grown):
        return []
    return _touched(connection, head.upto, place.number, grown)


def _touched(connection: Connection, upto: int, number: int, grown: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Market and number of the invoices that changes between two batches touch, and of those that have grown."""
    i, k, x = tables.invoice_message.c, tables.kernel_message.c, tables.invoice_check.c
    g, b, log = tables.DOMAIN["grid_charge"].c, tables.change_batch.c, tables.change_log.c
    # Messages that wait are in no domain table, so that the log does not tell of them.
    since_then = (b.number > upto, b.number <= number)
    both = tables.change_batch.join(tables.change_log, log.batch == b.id)
    logged = (tables.metadata.tables[name] for name in changelog.LOGGED)
    changed = union(
        select(log.message_id).select_from(both).where(*since_then, log.run == 1),
        *(
            select(t.c.message_id)
            .select_from(both.join(t, t.c.id.between(log.row_id, log.row_id + log.run - 1)))
            .where(*since_then, log.table_name == t.name, log.run > 1)
            for t in logged
        ),
        *(select(i.message_id).where(i.market == market, i.invoice == invoice) for market, invoice in grown),
    ).subquery()
    own = (
        select(i.market, i.invoice)
        .join_from(changed, tables.invoice_message, i.message_id == changed.c.message_id)
        .distinct()
    )
    # A correction concerns what was charged at any time before; other charges those of the months around.
    corrects = or_(g.message_id.is_(None), g.original_invoice.is_not(None), g.lines.like('%"amount":"-%'))
    since = case(
        (k.kind != "GridCharge", k.effective),
        (corrects, 0),
        else_=k.effective - _BEFORE,
    )
    touched = (
        select(k.access_point_id.label("point"), func.min(since).label("since"))
        .join_from(changed, tables.kernel_message, k.id == changed.c.message_id)
        .outerjoin(tables.DOMAIN["grid_charge"], g.message_id == k.id)
        .where(k.access_point_id.is_not(None))
        .group_by(k.access_point_id)
        .subquery()
    )
    charge = tables.kernel_message.alias("charge")
    depending = (
        select(i.market, i.invoice)
        .join_from(touched, charge, charge.c.access_point_id == touched.c.point)
        .join(tables.invoice_message, i.message_id == charge.c.id)
        .join(tables.invoice_check, (x.market == i.market) & (x.invoice == i.invoice))
        .where(charge.c.kind == "GridCharge", or_(x.last_at.is_(None), x.last_at >= touched.c.since))
        .distinct()
    )
    return sorted({(row.market, row.invoice) for query in (own, depending) for row in connection.execute(query)})


def _digest(rules: Path) -> str:
    """Names the content of the tables that invoices are checked with."""
    digest = hashlib.sha256()
    for name in sorted(TABLES):
        for file in sorted(rules.glob(f"*/{name}")):
            digest.update(f"{file.parent.name}/{name}\n".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
