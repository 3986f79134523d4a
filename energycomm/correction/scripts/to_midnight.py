"""Moves what belongs to a whole day to the midnight that it misses by a little.

A supply that begins at 23:59:59, at 00:01, or at midnight of another zone (01:00 or 02:00 in Amsterdam, 22:00 of the
day before), begins at midnight in the legal time of the market. The message gets another place in business order.
Further away than the limit nothing is moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.script import Parameter, Reorder, Script, Selection
from energycomm.kernel.instants import local_day, micros, midnight
from energycomm.kernel.messages import EndOfSupply, MeteredVolume

SCRIPT = Script(
    title="Shifted end of day",
    selection=Selection(by_rules=True),
    parameters=(Parameter(name="minutes", help="how far away midnight may be", default="120"),),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Reorder | None:
    """The message at midnight."""
    message, most = case.message, timedelta(minutes=int(parameters["minutes"]))
    at = _nearest(case.zone, message.effective)
    changed = {"effective": at}
    if isinstance(message, MeteredVolume) and message.start is not None:
        changed["start"] = _nearest(case.zone, message.start)
    if isinstance(message, EndOfSupply) and message.contract_end == message.effective:
        changed["contract_end"] = at
    moved = [abs(new - getattr(message, name)) for name, new in changed.items()]
    # Midnight itself, written with the offset of another zone, is moved too: some markets want their own.
    same = all(new.isoformat() == getattr(message, name).isoformat() for name, new in changed.items())
    if same or any(distance > most for distance in moved):
        return None
    return Reorder(structs.replace(message, **changed), f"{message.effective.isoformat()} -> {at.isoformat()}")


def _nearest(zone: ZoneInfo, at: datetime) -> datetime:
    """The midnight, in the legal time of the market, that lies nearest."""
    day = local_day(zone, micros(at))
    sides = [midnight(zone, day), midnight(zone, day + timedelta(days=1))]
    return min(sides, key=lambda side: abs(side - at))
