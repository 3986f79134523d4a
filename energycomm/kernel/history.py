"""What a rule may know of an access point: facts as of the business time of the message that is judged.

Facts are fetched before any rule runs and rules only read them. A fact that is not known is ``None``. In a rule's
expression they are read as ``history.<name>``; the facts of one register as ``previous.<name>`` in a rule with
``each: registers``.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct


class RegisterFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one register (same grid, time class and direction) before the message."""

    index_wh: Annotated[int | None, Meta(description="Last accepted index before this reading, in Wh.")] = None
    unit_wh: Annotated[int | None, Meta(description="Wh that one unit of that index counts: 1 or 1000.")] = None
    at: Annotated[datetime | None, Meta(description="Instant of that index.")] = None
    days: Annotated[float | None, Meta(description="Days between that index and this reading.")] = None
    digits: Annotated[int | None, Meta(description="Number of digits of the register, last stated.")] = None
    estimated: Annotated[bool | None, Meta(description="That index was estimated.")] = None
    meter: Annotated[str | None, Meta(description="Serial number of the meter that held the register.")] = None
    meter_changed: Annotated[bool, Meta(description="The meter was changed since that index.")] = False


class History(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the access point before the message, in business order."""

    known: Annotated[bool, Meta(description="An earlier message of the access point was accepted.")] = False
    supplied: Annotated[
        bool, Meta(description="A supply period of ours covers the instant: start <= instant < end.")
    ] = False
    supplied_until: Annotated[
        bool, Meta(description="A supply period of ours covers the instant, its end included: for final readings.")
    ] = False
    supply_start: Annotated[datetime | None, Meta(description="Start of the latest supply period.")] = None
    supply_end: Annotated[datetime | None, Meta(description="End of the latest supply period, None while it runs.")] = (
        None
    )
    supply_reference: Annotated[str | None, Meta(description="Contract reference of the latest supply period.")] = None
    days_since_end: Annotated[
        int | None,
        Meta(description="Civil days in the market's zone since the latest supply period ended; None while it runs."),
    ] = None
    reference_known: Annotated[
        bool, Meta(description="The message's contract reference is that of a supply period, running or ended.")
    ] = False
    reference_ended: Annotated[
        bool, Meta(description="The supply period of the message's contract reference has ended before the instant.")
    ] = False
    tariff: Annotated[str | None, Meta(description="Tariff formula in force.")] = None
    subscribed_power: Annotated[Decimal | None, Meta(description="Subscribed power in force, kVA.")] = None
    contract_sequence: Annotated[
        int | None, Meta(description="Latest sequence number of the contract terms of the span.")
    ] = None
    calendar: Annotated[str | None, Meta(description="Distributor's calendar in force.")] = None
    meter: Annotated[str | None, Meta(description="Serial number of the meter in place.")] = None
    segment: Annotated[str | None, Meta(description="Segment of the point, last stated.")] = None
    connection_status: Annotated[str | None, Meta(description="Connection status, last stated.")] = None
    service_level: Annotated[str | None, Meta(description="Level of smart-meter services, last stated.")] = None
    supplier: Annotated[
        str | None, Meta(description="Supplier of the latest supply period, as the market named it.")
    ] = None
    last_reading_at: Annotated[datetime | None, Meta(description="Instant of the latest accepted reading.")] = None
    event_repeated: Annotated[
        bool,
        Meta(
            description="A message of the same kind and market reason was accepted at the same instant with other "
            "content."
        ),
    ] = False
    original_found: Annotated[
        bool, Meta(description="The original that a correction or cancellation names is there.")
    ] = False
    original_cancelled: Annotated[bool, Meta(description="That original was cancelled before.")] = False
    charge_repeated: Annotated[bool, Meta(description="A charge with the same reference was accepted.")] = False
    request_known: Annotated[bool, Meta(description="The request that the message is about is known.")] = False
    request_state: Annotated[str | None, Meta(description="State of that request.")] = None
    request_milestone: Annotated[int | None, Meta(description="Highest milestone of that request so far.")] = None
    request_milestone_at: Annotated[datetime | None, Meta(description="Instant of that milestone.")] = None
    pending_requests: Annotated[
        int, Meta(description="Requests under way on the access point, others than this one.")
    ] = 0
    registers: Annotated[
        tuple[RegisterFacts, ...], Meta(description="Facts of each register of the message, in the message's order.")
    ] = ()


NO_HISTORY = History()
"""The history of an access point nothing is known of."""
