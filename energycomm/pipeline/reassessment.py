"""What happens when a message arrives late: the later messages of its access point are judged again.

The fold starts from the latest stored state before the late message and walks to the present. Domain rows that come
out the same are left alone; others are withdrawn, with their image kept, or added. A message whose verdict changes
gets a new row of `state_change`, and the back office is told (`energycomm.pipeline.rejudging`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from zoneinfo import ZoneInfo

from energycomm.eis import tables
from energycomm.eis.away import floor_of
from energycomm.eis.bulk import Row, column_names, quoted
from energycomm.eis.effects import drop_rows
from energycomm.eis.store import NEVER, AccessPointRow, StoreTransaction
from energycomm.pipeline.effects import DomainRow, Rows, content, contents
from energycomm.pipeline.fold import Entry, Fold, around_broken
from energycomm.pipeline.history import history_archived, past_of
from energycomm.pipeline.rejudging import AFTER_LATE, Judging, Rejudging
from energycomm.pipeline.state import load_state


class Reassessment(Rejudging):
    """Judges one access point again from a late message on.

    Args:
      tx: the transaction of the batch.
      judging: the rules of today.
      point: the access point as it is stored.
      zone: the legal time of its market.
      now: the present, microseconds since the epoch.
      why: words for the record.
    """

    def __init__(
        self,
        tx: StoreTransaction,
        judging: Judging,
        point: AccessPointRow,
        zone: ZoneInfo,
        now: int,
        why: str = AFTER_LATE,
    ) -> None:
        super().__init__(tx, judging, now, why)
        self.point, self.zone = point, zone
        self._unreadable: dict[int, str] = {}

    def run(self, late: list[Entry], since: int | None = None, faults: Mapping[int, str] | None = None) -> Fold:
        """Fold the access point with the late messages in their places.

        Where part of its history is in an archive, what is stored from before the floor keeps its verdicts.

        A message that breaks the walk gets the state `engine_error` and does nothing; the others are judged without it.

        Args:
          late: messages that are not in the EIS yet; may be empty to judge again what is there.
          since: instant to judge again from at the latest; that of the first late message when None.
          faults: messages that are not to be judged, with what breaks on them.

        Returns:
          The fold: its state is the access point's new state, its rows are the domain rows to add.

        Raises:
          HistoryArchived: a late message takes effect before the floor.
        """
        start = min((*(entry.at for entry in late), *(() if since is None else (since,))))
        floor = floor_of(self.tx.driver, self.point.id)
        if floor is not None:
            if early := [entry for entry in late if entry.at < floor]:
                raise history_archived(self.tx, self.point.id, min(entry.at for entry in early), floor)
            start = max(start, floor)
        fold, judged, start = around_broken(partial(self._walk, late, start), faults)
        self.tx.drop_checkpoints_after(self.point.id, start)
        self.tx.save_checkpoints([(self.point.id, upto, state) for upto, state in fold.checkpoints if upto > start])
        self._match_periods(fold)
        fold.rows = self._difference(fold, start)
        self.record([entry for entry in judged if entry.before is not None])
        for number, why in self._unreadable.items():
            self.give_up(self.stored[number], why)
        return fold

    def _walk(self, late: list[Entry], start: int, faults: dict[int, str]) -> tuple[Fold, list[Entry], int]:
        """The fold, the messages that were judged, and the instant of the first of them at the latest."""
        checkpoint = self.tx.checkpoint_before(self.point.id, start)
        upto, data = checkpoint if checkpoint is not None else (NEVER, None)
        past = past_of(self.tx, self.point.id, upto)
        self.stored |= past.rows
        self._unreadable |= past.unreadable
        entries = past.entries + late
        entries.sort(key=lambda entry: entry.key)
        # What broke loses its verdict, so that everything after it is judged anew.
        start = min([start, *(entry.at for entry in entries if entry.message_id in faults)])
        fold = Fold(self.engine, self.zone, load_state(data), self.point.id, {}, faults=faults)
        fold.foresee(entries)
        judged: list[Entry] = []
        for entry in entries:
            if entry.at < start:
                fold.replay(entry)
                continue
            if not judged:
                if (reached := fold.state.reaches(start)) < start:
                    return self._walk(late, reached, faults)
                fold.rows = {}
            fold.judge(entry)
            judged.append(entry)
        if not judged:
            fold.rows = {}
        return fold, judged, start

    def _match_periods(self, fold: Fold) -> None:
        """Give the periods of the state their rows; withdraw rows of periods that are no more."""
        table = tables.supply_period
        found = self.tx.driver.rows(
            "SELECT at, message_id, id, ended_at FROM supply_period WHERE access_point_id = ?", (self.point.id,)
        )
        rows = {(at, message_id): (number, ended_at) for at, message_id, number, ended_at in found}
        for period in fold.state.periods:
            period.row, period.written = rows.pop((period.start, period.message), (0, None))
        drop_rows(self.tx, table, "true", "id", [number for number, _ in rows.values()], self.why, self.now)

    def _difference(self, fold: Fold, start: int) -> Rows:
        """Withdraw stored domain rows that the fold no longer writes; return those that are not stored yet."""
        missing: Rows = {}
        for table in tables.EFFECTS:
            if table is tables.supply_period:
                continue
            written = fold.rows.get(table, [])
            wanted: dict[Row, list[DomainRow]] = {}
            for told, row in zip(contents(table, written), written, strict=True):
                wanted.setdefault(told, []).append(row)
            names = quoted(column_names(table))
            # Names of our own table and columns, never values.
            sql = f"SELECT {names} FROM {table.name} WHERE access_point_id = ? AND at >= ?"  # noqa: S608 - our own names
            surplus = []
            for stored in self.tx.driver.rows(sql, (self.point.id, start)):
                if again := wanted.get(content(table, stored)):
                    again.pop()
                else:
                    surplus.append(stored[0])
            drop_rows(self.tx, table, "true", "id", surplus, self.why, self.now)
            if rows := [row for several in wanted.values() for row in several]:
                missing[table] = rows
        return missing
