"""Causes and effects of a message: versions, siblings, requests, campaigns, tickets."""

from __future__ import annotations

from msgspec import Struct

from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.message_parts import Effect, Notification
from energycomm.eis.messages import MessageDetail
from energycomm.eis.store import Store


class Kinship(Struct, frozen=True, kw_only=True):
    """The relations of one message.

    Attributes:
      message_id: the message.
      envelope_id: the envelope that brought it; None for one that was made here.
      siblings: the other Kernel messages of its CH message.
      corrects: the version before it.
      corrected_by: later versions of it, the newest last.
      requests: requests to the market that it is, or that it answered or moved on.
      campaigns: campaigns that acted on it or made it.
      tickets: tickets that it is in.
      effects: rows of the domain that it caused.
      notifications: what the back office is told because of it.
    """

    message_id: int
    envelope_id: int | None
    siblings: tuple[int, ...]
    corrects: int | None
    corrected_by: tuple[int, ...]
    requests: tuple[int, ...]
    campaigns: tuple[int, ...]
    tickets: tuple[int, ...]
    effects: tuple[Effect, ...]
    notifications: tuple[Notification, ...]


_RELATED = {
    "corrected_by": "SELECT id FROM kernel_message WHERE corrects = ? ORDER BY id",
    "requests": (
        "SELECT id FROM outgoing WHERE message_id = ? "
        "UNION SELECT outgoing_id FROM outgoing_event WHERE message_id = ? ORDER BY 1"
    ),
    "campaigns": (
        "SELECT campaign_id FROM campaign_item WHERE message_id = ? "
        "UNION SELECT campaign_id FROM campaign_item WHERE result_id = ? ORDER BY 1"
    ),
    "tickets": "SELECT ticket_id FROM ticket_message WHERE message_id = ? ORDER BY 1",
}


def kinship(store: Store, detail: MessageDetail) -> Kinship:
    """The relations of a message.

    Args:
      store: the EIS.
      detail: the message.
    """
    number = detail.summary.id
    with reading(store.engine) as connection:
        driver = driver_of(connection)
        related = {
            name: tuple(row[0] for row in driver.rows(sql, (number,) * sql.count("?")))
            for name, sql in _RELATED.items()
        }
    return Kinship(
        message_id=number,
        envelope_id=None if detail.origin is None else detail.origin.envelope_id,
        siblings=tuple(one.id for one in detail.siblings if one.id != number),
        corrects=detail.corrects,
        effects=detail.effects,
        notifications=detail.notifications,
        **related,
    )
