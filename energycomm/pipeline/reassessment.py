"""What happens when messages arrive late: the later messages of their access points are judged again.

The fold of an access point starts from the latest stored state before its first late message and walks to the present.
Domain rows that come out the same are left alone; others are withdrawn, with their image kept, or added. A message
whose verdict changes gets a new row of `state_change`, and the back office is told (`energycomm.pipeline.rejudging`).
The access points of a batch share their queries: there are as many as one late message needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Table

from energycomm.eis import tables
from energycomm.eis.away import floors_of
from energycomm.eis.bulk import Row, column_names
from energycomm.eis.effects import drop_rows
from energycomm.eis.fitting import ordered
from energycomm.eis.store import NEVER, AccessPointRow, MessageRow, StoreTransaction
from energycomm.kernel.family import KINDS
from energycomm.pipeline.effects import DomainRow, content
from energycomm.pipeline.fold import Entry, Fold, around_broken
from energycomm.pipeline.history import counting, history_archived, past_in
from energycomm.pipeline.rejudging import AFTER_LATE, Judging, Rejudging
from energycomm.pipeline.state import load_state

TOGETHER = 16
"""Access points that share their queries; what is held of them in memory is bounded by it."""


class Late(NamedTuple):
    """An access point that is judged again.

    Attributes:
      point: as it is stored.
      start: instant from which it is judged again at the latest, microseconds since the epoch.
      entries: its messages that are not in the EIS yet, none before `start`; there may be none.
    """

    point: AccessPointRow
    start: int
    entries: Sequence[Entry] = ()


class _Stored(NamedTuple):
    """What a walk begins with: the latest state before its start, and the messages that count since."""

    state: bytes | None
    messages: Sequence[MessageRow]


class _Walk(NamedTuple):
    """A walk: the fold, the messages that were judged, and the instant of the first of them at the latest."""

    fold: Fold
    judged: list[Entry]
    start: int

    @property
    def since(self) -> tuple[int, int]:
        """The access point, and the instant since which it was judged."""
        return self.fold.access_point_id, self.start


class Reassessment(Rejudging):
    """Judges access points of one market again.

    Args:
      tx: the transaction of the batch.
      judging: the rules of today.
      zone: the legal time of the market.
      now: the present, microseconds since the epoch.
      why: words for the record.
    """

    def __init__(self, tx: StoreTransaction, judging: Judging, zone: ZoneInfo, now: int, why: str = AFTER_LATE) -> None:
        super().__init__(tx, judging, now, why)
        self.zone = zone
        self._kinds: set[str] = set()
        """Kinds of the stored messages of the access points at hand: they tell where there may be domain rows."""

    def run(self, late: Iterable[Late], faults: Mapping[int, str] | None = None) -> list[Fold]:
        """Fold access points with the late messages in their places.

        Where part of its history is in an archive, what is stored from before the floor keeps its verdicts.

        A message that breaks the walk gets the state `engine_error` and does nothing; the others are judged without it.

        Args:
          late: the access points, each once.
          faults: messages that are not to be judged, with what breaks on them.

        Returns:
          The fold of each: its state is the access point's new state, its rows are the domain rows to add.

        Raises:
          HistoryArchived: a late message takes effect before the floor of its access point.
        """
        folds: list[Fold] = []
        points = iter(late)
        while some := list(islice(points, TOGETHER)):
            folds += self._together(some, faults)
        return folds

    def _together(self, late: Sequence[Late], faults: Mapping[int, str] | None) -> list[Fold]:
        self._kinds.clear()
        late = self._above_floors(late)
        stored = self._stored([(one.point.id, one.start) for one in late])
        unreadable: dict[int, str] = {}
        walks = [
            around_broken(partial(self._walk, one, one.start, stored[one.point.id], unreadable), faults) for one in late
        ]
        self.tx.drop_checkpoints_after([walk.since for walk in walks])
        self.tx.save_checkpoints(
            [
                (walk.fold.access_point_id, upto, state)
                for walk in walks
                for upto, state in walk.fold.checkpoints
                if upto > walk.start
            ]
        )
        self._match_periods([walk.fold for walk in walks])
        self._leave_alone(walks)
        self.record([entry for walk in walks for entry in walk.judged if entry.before is not None])
        for number, why in unreadable.items():
            self.give_up(self.stored[number], why)
        return [walk.fold for walk in walks]

    def _above_floors(self, late: Sequence[Late]) -> list[Late]:
        """The access points, none judged from before its floor."""
        floors = floors_of(self.tx.driver, [one.point.id for one in late])
        for one in late:
            floor = floors.get(one.point.id, NEVER)
            if early := [entry.at for entry in one.entries if entry.at < floor]:
                raise history_archived(self.tx, one.point.id, min(early), floor)
        return [one._replace(start=max(one.start, floors.get(one.point.id, NEVER))) for one in late]

    def _stored(self, starts: Sequence[tuple[int, int]]) -> dict[int, _Stored]:
        """What the walks of access points begin with, by their ids; they start at the latest at the instants given."""
        checkpoints = self.tx.checkpoints_before(starts)
        since = [(point, checkpoints[point][0] if point in checkpoints else NEVER) for point, _ in starts]
        found = self.tx.messages_since(since)
        rows = [row for several in found.values() for row in several]
        self._kinds.update(row.kind for row in rows)
        counted = {row.id for row in counting(self.tx, rows)}
        return {
            point: _Stored(
                checkpoints[point][1] if point in checkpoints else None,
                [row for row in found.get(point, ()) if row.id in counted],
            )
            for point, _ in starts
        }

    def _walk(
        self, late: Late, start: int, stored: _Stored, unreadable: dict[int, str], faults: dict[int, str]
    ) -> _Walk:
        past = past_in(stored.messages)
        self.stored |= past.rows
        unreadable |= past.unreadable
        entries = [*past.entries, *late.entries]
        entries.sort(key=lambda entry: entry.key)
        # What broke loses its verdict, so that everything after it is judged anew.
        start = min([start, *(entry.at for entry in entries if entry.message_id in faults)])
        fold = Fold(self.engine, self.zone, load_state(stored.state), late.point.id, {}, faults=faults, writes=False)
        fold.foresee(entries)
        judged: list[Entry] = []
        for entry in entries:
            if entry.at < start:
                fold.replay(entry)
                continue
            if not judged:
                if (reached := fold.state.reaches(start)) < start:
                    earlier = self._stored([(late.point.id, reached)])[late.point.id]
                    return self._walk(late, reached, earlier, unreadable, faults)
                fold.writes = True
            self._settle(fold, entry)
            judged.append(entry)
        return _Walk(fold, judged, start)

    def _settle(self, fold: Fold, entry: Entry) -> None:
        """Give a message its verdict, and apply what it does."""
        fold.judge(entry)

    def _match_periods(self, folds: Sequence[Fold]) -> None:
        """Give the periods of the states their rows; withdraw rows of periods that are no more."""
        table = tables.supply_period
        sql = "SELECT access_point_id, at, message_id, id, ended_at FROM supply_period WHERE true"
        found = self.tx.driver.matching(sql, [fold.access_point_id for fold in folds], "access_point_id")
        rows = {tuple(place): (number, ended_at) for *place, number, ended_at in found}
        for fold in folds:
            for period in fold.state.periods:
                place = fold.access_point_id, period.start, period.message
                period.row, period.written = rows.pop(place, (0, None))
        drop_rows(self.tx, table, "true", "id", [number for number, _ in rows.values()], self.why, self.now)

    def _leave_alone(self, walks: Sequence[_Walk]) -> None:
        """Withdraw stored domain rows that the folds no longer write; leave to be added what is not stored yet."""
        filled = {kept.table for name in self._kinds if name in KINDS and (kept := KINDS[name].kept) is not None}
        for table in tables.EFFECTS:
            # New rows of a table without stored ones are added as they are.
            if table is tables.supply_period or table.name not in filled:
                continue
            wanted: dict[Row, list[_Written]] = {}
            for fold, *_ in walks:
                rows = fold.rows.pop(table, [])
                for stored, row in zip(ordered(table, [{**row, "id": 0} for row in rows]), rows, strict=True):
                    wanted.setdefault(stored[1:], []).append(_Written(stored, fold, row))
            found = self.tx.driver.given(_since(table), ("point", "at"), [walk.since for walk in walks])
            # What is kept in another form may say the same: only of what differs the parts are read.
            differ = _matched(wanted, found, lambda row: row[1:])
            told: dict[Row, list[_Written]] = {}
            for one in (one for several in wanted.values() for one in several):
                told.setdefault(content(table, one.stored) if differ else one.stored, []).append(one)
            surplus = _matched(told, differ, partial(content, table))
            drop_rows(self.tx, table, "true", "id", [row[0] for row in surplus], self.why, self.now)
            for one in (one for several in told.values() for one in several):
                one.fold.rows.setdefault(table, []).append(one.row)


class _Written(NamedTuple):
    """A domain row that a fold writes: as it is stored, and by name of column."""

    stored: Row
    fold: Fold
    row: DomainRow


def _matched(wanted: Mapping[Row, list[_Written]], found: Iterable[Row], key: Callable[[Row], Row]) -> list[Row]:
    """Take what is stored already out of what is wanted; the rows that nothing wants."""
    surplus = []
    for row in found:
        if again := wanted.get(key(row)):
            again.pop()
        else:
            surplus.append(row)
    return surplus


def _since(table: Table) -> str:
    """The statement of the rows of a table from an instant on."""
    names = ", ".join(f't."{name}"' for name in column_names(table))
    # Names of our own table and columns, never values.
    return (
        f"SELECT {names} FROM given CROSS JOIN {table.name} t "  # noqa: S608 - our own names
        "WHERE t.access_point_id = given.point AND t.at >= given.at"
    )
