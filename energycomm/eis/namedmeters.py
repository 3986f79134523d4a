"""Meters that readings name, so that searches find the points of those that no message about the meter told of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from energycomm.eis import tables
from energycomm.eis.store import StoreTransaction
from energycomm.kernel.messages import KernelMessage, MeterReading


def store_meters(
    tx: StoreTransaction, points: Mapping[str, int], messages: Iterable[tuple[int, KernelMessage]]
) -> None:
    """Remember which meters new messages name, whatever their verdict; most are there already.

    Args:
      tx: in which the messages are stored.
      points: identifier of an access point -> its id.
      messages: each with its id.
    """
    named = {
        (point, serial)
        for _, one in messages
        if isinstance(one, MeterReading) and (point := points.get(one.access_point or "")) is not None
        for serial in (one.meter, *(register.meter for register in one.registers))
        if serial
    }
    if named:
        ids = tx.reserve(tables.named_meter, len(named))
        rows = [(number, *one) for number, one in zip(ids, sorted(named), strict=True)]
        tx.driver.put(tables.named_meter, ("id", "access_point_id", "serial"), rows, "DO NOTHING")
