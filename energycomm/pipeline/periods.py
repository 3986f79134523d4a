"""Supply periods of the state, written as rows of `supply_period`.

A period's row changes when the period ends, so it cannot be one of the rows that a message simply adds.
"""

from __future__ import annotations

from collections.abc import Sequence

from energycomm.eis import tables
from energycomm.eis.bulk import NewRow
from energycomm.eis.effects import change_rows
from energycomm.eis.store import StoreTransaction
from energycomm.pipeline.state import AccessPointState, Period

_END = ("ended_at", "end_reason", "end_message_id")


def project_periods(tx: StoreTransaction, points: Sequence[tuple[int, AccessPointState]], now: int) -> None:
    """Bring the rows of `supply_period` in line with the states of the access points of a batch.

    New periods get their row; a period that ended, or whose end was taken back, has its row changed and the row as it
    was kept in `before_image`. Sets `Period.row`.
    """
    new = [(point_id, period) for point_id, state in points for period in state.periods if not period.row]
    if new:
        rows = []
        for number, (point_id, period) in zip(tx.reserve(tables.supply_period, len(new)), new, strict=True):
            period.row = number
            period.written = period.end
            rows.append(_row(number, point_id, period))
        tx.insert(tables.supply_period, rows)
    ended = [period for _, state in points for period in state.periods if period.end != period.written]
    ends = [(period.row, period.end, period.end_reason, period.end_message) for period in ended]
    change_rows(tx, tables.supply_period, _END, ends, "the end of the supply period changed", now)
    for period in ended:
        period.written = period.end


def _row(number: int, point_id: int, period: Period) -> NewRow:
    return {
        "id": number,
        "access_point_id": point_id,
        "at": period.start,
        "message_id": period.message,
        "reference": period.reference,
        "supplier": period.supplier,
        "reason": period.reason,
        "ended_at": period.end,
        "end_reason": period.end_reason,
        "end_message_id": period.end_message,
    }
