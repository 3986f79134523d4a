"""What became of accepted messages: those that turned out to be wrong teach what a broken invariant is worth."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Engine

from assistant.classifier.material import Stored
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import APPLIED
from energycomm.eis.tables import DOMAIN

_STATUS = "SELECT DISTINCT message_id, status FROM {} WHERE status IN ('replaced', 'cancelled')"
_VERSIONS = "SELECT corrects FROM kernel_message WHERE corrects IS NOT NULL AND state IN ({})"
_CONTESTED = (
    "SELECT m.message_id FROM invoice_message m JOIN invoice_check c ON c.market = m.market AND c.invoice = m.invoice "
    "JOIN kernel_message k ON k.id = m.message_id WHERE c.contradictions > 0 AND k.kind = 'GridInvoice'"
)


def taken_back(engine: Engine) -> dict[int, str]:
    """Messages that were accepted and turned out to be wrong -> what tells it.

    Args:
      engine: the store.

    Returns:
      `replaced` or `cancelled` by a later message of the market, `corrected` by a version of ours, `contested`: an
      invoice that its own check contradicts.
    """
    states = ", ".join(f"'{state}'" for state in APPLIED)
    found: dict[int, str] = {}
    with reading(engine) as connection:
        driver = driver_of(connection)
        found.update((number, "contested") for (number,) in driver.rows(_CONTESTED))
        for table in DOMAIN.values():
            if "status" in table.columns and table.columns["status"].comment == "current, replaced, cancelled":
                found.update(dict(driver.rows(_STATUS.format(table.name))))
        found.update((number, "corrected") for (number,) in driver.rows(_VERSIONS.format(states)))
    return found


def reasons(stored: Iterable[Stored], back: dict[int, str]) -> dict[int, str]:
    """Number of a message that is known to be wrong -> why: the one rule that refused it, or how it was taken back."""
    found = {one.id: f"{one.market} {one.kind} {back[one.id]}" for one in stored if one.id in back}
    found.update((one.id, one.codes[0]) for one in stored if len(one.codes) == 1)
    return found
