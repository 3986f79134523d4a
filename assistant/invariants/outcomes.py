"""What became of accepted messages: those that turned out to be wrong teach what a broken invariant is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, or_, select

from assistant.classifier.material import Stored
from energycomm.eis import tables
from energycomm.eis.arrays import parts_as
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import APPLIED
from energycomm.eis.store import Store
from energycomm.eis.tables import DOMAIN
from energycomm.invoicing.gathering import InvoiceCheck
from energycomm.kernel.parts import ChargeLine

_STATUS = "SELECT DISTINCT message_id, status FROM {} WHERE status IN ('replaced', 'cancelled')"
_VERSIONS = "SELECT corrects FROM kernel_message WHERE corrects IS NOT NULL AND state IN ({})"
_CONTESTED = (
    "SELECT m.message_id FROM invoice_message m JOIN invoice_check c ON c.market = m.market AND c.invoice = m.invoice "
    "JOIN kernel_message k ON k.id = m.message_id WHERE c.contradictions > 0 AND k.kind = 'GridInvoice'"
)


def taken_back(store: Store, rules: Path, zones: Mapping[str, ZoneInfo]) -> dict[int, str]:
    """Messages that were accepted and turned out to be wrong -> what tells it.

    Args:
      store: the EIS.
      rules: folder of the rules, with the price lists that invoices are checked with.
      zones: market -> its legal time.

    Returns:
      `replaced` or `cancelled` by a later message of the market, `corrected` by a version of ours, `contested`: an
      invoice, or a single charge of it, that its own check contradicts, `credited`: a charge of which a later one gives
      a line back.
    """
    states = ", ".join(f"'{state}'" for state in APPLIED)
    found: dict[int, str] = dict.fromkeys(_contested_charges(store, rules, zones), "contested")
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        found.update((number, "contested") for (number,) in driver.rows(_CONTESTED))
        found.update(dict.fromkeys(_credited(connection), "credited"))
        for table in DOMAIN.values():
            if "status" in table.columns and table.columns["status"].comment == "current, replaced, cancelled":
                found.update(dict(driver.rows(_STATUS.format(table.name))))
        found.update((number, "corrected") for (number,) in driver.rows(_VERSIONS.format(states)))
    return found


def _contested_charges(store: Store, rules: Path, zones: Mapping[str, ZoneInfo]) -> set[int]:
    """Charges that the check of their invoice contradicts."""
    c, g, k = tables.invoice_check.c, DOMAIN["grid_charge"].c, tables.kernel_message.c
    with reading(store.engine) as connection:
        invoices = connection.execute(select(c.market, c.invoice).where(c.contradictions > 0)).all()
    checker = InvoiceCheck(store, rules, dict(zones))
    found: set[int] = set()
    for market, invoice in invoices:
        named = {one.charge for one in checker.checked(market, invoice).findings if one.charge is not None}
        query = (
            select(g.message_id, g.reference)
            .join(tables.kernel_message, k.id == g.message_id)
            .where(k.market == market, g.invoice == invoice)
        )
        with reading(store.engine) as connection:
            found.update(number for number, reference in connection.execute(query) if reference in named)
    return found


def _credited(connection: Connection) -> set[int]:
    """Charges of which a later charge of the same access point gives a line back: the same days, and the amount negated
    or the invoice named. The code may be another one: markets have codes for annulments."""
    g = DOMAIN["grid_charge"].c
    giving = connection.scalars(
        select(g.access_point_id).where(or_(g.original_invoice.is_not(None), g.lines.like('%"amount":"-%'))).distinct()
    )
    found: set[int] = set()
    for point in giving.all():
        charged: list[tuple[int, str, ChargeLine]] = []
        query = select(g.message_id, g.invoice, g.original_invoice, g.lines).where(g.access_point_id == point)
        for number, invoice, named, lines in connection.execute(query.order_by(g.message_id)):
            own = parts_as(lines, ChargeLine)
            for line in own:
                found.update(
                    earlier
                    for earlier, of, one in charged
                    if line.amount < 0
                    and (one.start, one.end) == (line.start, line.end)
                    and (of == named or one.amount == -line.amount)
                )
            charged += [(number, invoice, line) for line in own if line.amount > 0]
    return found


def reasons(stored: Iterable[Stored], back: dict[int, str]) -> dict[int, str]:
    """Number of a message that is known to be wrong -> why: the one rule that refused it, or how it was taken back."""
    found = {one.id: f"{one.market} {one.kind} {back[one.id]}" for one in stored if one.id in back}
    found.update((one.id, one.codes[0]) for one in stored if len(one.codes) == 1)
    return found
