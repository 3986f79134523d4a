"""A later portfolio takes the place of what an earlier one told of the same points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from energycomm.eis import tables
from energycomm.eis.store import AccessPointRow, StoreTransaction
from energycomm.kernel.messages import EndOfSupply, StartOfSupply
from energycomm.kernel.opening import OPENING
from energycomm.pipeline.fold import Entry
from energycomm.pipeline.rejudging import WITHDRAWN
from energycomm.pipeline.rows import change_row

REPLACED = "a later portfolio told it anew"


def withdraw_replaced(
    tx: StoreTransaction, openings: Sequence[Entry], points: Mapping[str, AccessPointRow], now: int
) -> dict[str, int]:
    """Withdraw the stored messages of opening balances whose kind is told anew of their points.

    Kinds that a new row does not tell stay: a file of tariffs alone replaces the terms alone.

    Args:
      tx: the transaction.
      openings: messages of opening balances that are new.
      points: the rows of their access points, by identifier.
      now: the present, microseconds since the epoch.

    Returns:
      Access points of which something was withdrawn, with the instants from which they are to be judged again.
    """
    told: dict[int, set[str]] = {}
    names: dict[int, str] = {}
    for entry in openings:
        point = points[entry.message.access_point or ""]
        if point.state:
            kinds = told.setdefault(point.id, set())
            if isinstance(entry.message, StartOfSupply) and entry.message.contract_start is None:
                continue  # of a picture that says we supply the point, not since when: an earlier start holds
            kinds.add(type(entry.message).__name__)
            if isinstance(entry.message, StartOfSupply):
                told[point.id].add(EndOfSupply.__name__)  # of the supply that is told anew
            names[point.id] = point.identifier
    if not told:
        return {}
    sql = (
        "SELECT id, access_point_id, kind, effective, state FROM kernel_message "
        "WHERE market_type = ? AND state <> 'withdrawn'"
    )
    rows = tx.driver.matching(sql, sorted(told), "access_point_id", "", (OPENING,))
    gone = [row for row in rows if row[2] in told[row[1]]]
    ids = [row[0] for row in gone]
    tx.set_states([(number, WITHDRAWN, None, None) for number in ids])
    tx.retire_findings(ids)
    tx.withdraw_notifications(ids, now)
    tx.insert(tables.state_change, [change_row(row[0], row[4], WITHDRAWN, now, REPLACED) for row in gone])
    since: dict[str, int] = {}
    for _, point_id, _, at, _ in gone:
        since[names[point_id]] = min(at, since.get(names[point_id], at))
    return since
