"""Messages that are stuck, each with its access point's history: what analysis groups and scripts correct."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final, overload
from zoneinfo import ZoneInfo

from msgspec import Struct, structs
from sqlalchemy import Engine

from energycomm.eis.bulk import Driver, driver_of
from energycomm.eis.database import reading
from energycomm.eis.states import APPLIED as APPLIED
from energycomm.eis.states import STUCK as STUCK
from energycomm.eis.store import StoreReader
from energycomm.kernel.codec import decode
from energycomm.kernel.messages import KernelMessage
from energycomm.market.contract import Adapter
from energycomm.market.installed import Markets

_MANY = 20_000
_PIECE = 500
"""Messages that are read with their histories at a time."""


class Neighbour:
    """Another Kernel message of the same access point. Its content is read on first use.

    Attributes:
      id: of the message.
      kind: name of its kind.
      state: accepted, rejected, ...
      at: effective instant, microseconds since the epoch.
      received_at: when it arrived, microseconds since the epoch.
      waits_for: what it waits for.
    """

    __slots__ = ("_message", "_xml", "at", "id", "kind", "received_at", "state", "waits_for")

    def __init__(
        self, number: int, kind: str, state: str, at: int, received_at: int, waits_for: str | None, xml: str
    ) -> None:
        self.id, self.kind, self.state, self.at = number, kind, state, at
        self.received_at, self.waits_for, self._xml = received_at, waits_for, xml
        self._message: KernelMessage | None = None

    def __repr__(self) -> str:
        return f"Neighbour({self.id}, {self.kind}, {self.state})"

    @property
    def message(self) -> KernelMessage:
        """Its content."""
        if self._message is None:
            self._message = content_of(self._xml)
        return self._message


class Neighbours(list[Neighbour]):
    """The messages of an access point, in the order of their instants; looked up by kind without reading all."""

    @cached_property
    def by_kind(self) -> dict[str, list[Neighbour]]:
        """Kind -> its messages."""
        found: dict[str, list[Neighbour]] = {}
        for one in self:
            found.setdefault(one.kind, []).append(one)
        return found

    @cached_property
    def awaiting(self) -> dict[str, list[Neighbour]]:
        """Kind that is waited for -> those that wait for it and are not applied."""
        found: dict[str, list[Neighbour]] = {}
        for one in self:
            if one.waits_for and one.state not in APPLIED:
                found.setdefault(one.waits_for.split(" ")[0], []).append(one)
        return found


class Around(Sequence[Neighbour]):
    """The messages of an access point but one: all cases of the point share one list.

    Args:
      all_of_them: of the access point.
      place: of the one that is left out; None where it is none of them.
    """

    __slots__ = ("_all", "_place")

    def __init__(self, all_of_them: Neighbours, place: int | None) -> None:
        self._all, self._place = all_of_them, place

    def of(self, kind: str, at: int | None = None) -> list[Neighbour]:
        """Those of a kind, in the order of their instants: all of them, or those of one instant."""
        several = self._all.by_kind.get(kind, [])
        if at is not None:
            first, last = (side(several, at, key=lambda one: one.at) for side in (bisect_left, bisect_right))
            several = several[first:last]
        return self._but_one(several)

    def awaiting(self, kind: str) -> list[Neighbour]:
        """Those that wait for a kind."""
        return self._but_one(self._all.awaiting.get(kind, []))

    def _but_one(self, several: list[Neighbour]) -> list[Neighbour]:
        left_out = None if self._place is None else self._all[self._place]
        return [one for one in several if one is not left_out]

    def __iter__(self) -> Iterator[Neighbour]:
        """All of them; `Sequence` would ask for each by its number."""
        if self._place is None:
            return iter(self._all)
        return chain(islice(self._all, self._place), islice(self._all, self._place + 1, None))

    def __len__(self) -> int:
        return len(self._all) - (self._place is not None)

    @overload
    def __getitem__(self, index: int) -> Neighbour: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Neighbour]: ...

    def __getitem__(self, index: int | slice) -> Neighbour | Sequence[Neighbour]:
        """One of them, or several."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        return self._all[number if self._place is None or number < self._place else number + 1]


ALONE: Final = Around(Neighbours(), None)
"""Nothing is around."""


class Found(Struct, frozen=True):
    """A finding that holds now."""

    code: str
    rule: str
    severity: str
    error_class: str
    field: str
    value: str | None


class Companion(Struct, frozen=True):
    """Another Kernel message of the same CH message that is not accepted, and the errors that refuse it."""

    id: int
    kind: str
    findings: tuple[Found, ...]


class Case(Struct, frozen=True, kw_only=True):
    """One stuck message.

    Attributes:
      markets: the installed ones.
      id, state, waits_for, received_at, at, version: as they are stored; instants in microseconds since the epoch.
      message: its content.
      identifier: of its access point; None when it concerns none.
      access_point_id: row of the access point.
      findings: that hold now, warnings too.
      why: reason of its last change of state.
      around: the other messages of its access point that count, in business time.
      companions: the other Kernel messages of its CH message that are not accepted.
    """

    markets: Markets
    id: int
    state: str
    at: int
    received_at: int
    version: int
    waits_for: str | None
    message: KernelMessage
    identifier: str | None
    access_point_id: int | None
    findings: tuple[Found, ...] = ()
    why: str | None = None
    around: Around = ALONE
    companions: tuple[Companion, ...] = ()

    @property
    def alone(self) -> Case:
        """The same without what is around it: what may be kept of many."""
        return structs.replace(self, around=ALONE, companions=())

    @property
    def kind(self) -> str:
        """Name of its kind."""
        return type(self.message).__name__

    @property
    def adapter(self) -> Adapter:
        """What its market offers: how it announces that supply begins, for one.

        Raises:
          UserError: the market is not installed.
        """
        return self.markets[self.message.market]

    @property
    def zone(self) -> ZoneInfo:
        """The legal time of its market.

        Raises:
          UserError: the market is not installed.
        """
        return self.markets.zone(self.message.market)

    @property
    def codes(self) -> tuple[str, ...]:
        """Its error codes, sorted, each once; warnings apart."""
        return tuple(sorted({found.code for found in self.findings if found.severity == "error"}))

    @property
    def grid_operator(self) -> str | None:
        """Who is to be asked: the grid operator that the message names, else its sender."""
        return self.message.grid_operator or self.message.sender


def stuck_ids(
    engine: Engine,
    states: Sequence[str] = STUCK,
    *,
    kinds: Sequence[str] = (),
    markets: Sequence[str] = (),
    waits_for: tuple[str, ...] = (),
    codes: Sequence[str] = (),
) -> list[int]:
    """Ids of the messages that are stuck and that no corrected version has taken the place of, in their order.

    Args:
      engine: the store.
      states: in one of these states.
      kinds, markets: of one of these; of any where empty.
      waits_for: waiting for something whose words begin like one of these.
      codes: with one of these error codes now.
    """
    sql = "SELECT id, kind, market, waits_for FROM kernel_message WHERE true"
    with reading(engine) as connection:
        driver = driver_of(connection)
        ids = {
            number
            for number, kind, market, wait in driver.matching(sql, states, "state")
            if (not kinds or kind in kinds)
            and (not markets or market in markets)
            and (not waits_for or (wait or "").startswith(waits_for))
        }
        if codes and ids:
            sql = "SELECT message_id FROM finding WHERE \"current\" AND severity = 'error'"
            ids &= {row[0] for row in driver.matching(sql, codes, "error_code")}
        return sorted(ids - StoreReader(driver).superseded(sorted(ids)))


def by_point(engine: Engine, ids: Sequence[int], points: int, most: int) -> Iterator[list[int]]:
    """Messages in slices of whole access points; those of none are a slice by themselves.

    A few whole numbers of each message are in memory, nothing else.

    Args:
      engine: the store.
      ids: of the messages.
      points: a slice has so many access points, or a multiple of them.
      most: messages after which a slice ends, unless it is in the middle of an access point.
    """
    places, numbers = array("q"), array("q")
    sql = "SELECT coalesce(access_point_id, 0), id FROM kernel_message WHERE true"
    for start in range(0, len(ids), _MANY):
        with reading(engine) as connection:
            for point, number in driver_of(connection).matching(sql, ids[start : start + _MANY], "id"):
                places.append(point)
                numbers.append(number)
    found: list[int] = []
    known, last = 0, None
    for place, number in sorted(zip(places, numbers, strict=True)):
        if place != last:
            if found and ((known % points == 0 and len(found) >= most) or last == 0):
                yield found
                found = []
            known, last = known + 1, place
        found.append(number)
    if found:
        yield found


def read_cases(engine: Engine, markets: Markets, ids: Sequence[int]) -> Iterator[Case]:
    """The cases of messages, access point by access point, read in pieces; ids of no message are left out.

    Args:
      engine: the store.
      markets: the installed ones.
      ids: of the messages.
    """
    for start in range(0, len(ids), _PIECE):
        with reading(engine) as connection:
            yield from _cases(driver_of(connection), markets, ids[start : start + _PIECE])


def _cases(driver: Driver, markets: Markets, ids: Sequence[int]) -> list[Case]:
    sql = (
        "SELECT k.id, k.state, k.effective, k.received_at, k.version, k.waits_for, k.xml, p.identifier, "
        "k.access_point_id, k.ch_message_id FROM kernel_message k "
        "LEFT JOIN access_point p ON p.id = k.access_point_id WHERE true"
    )
    rows = {row[0]: row for row in driver.matching(sql, ids, "k.id")}
    sql = "SELECT ch_message_id, id, kind FROM kernel_message WHERE state NOT IN ('accepted', 'treated', 'withdrawn')"
    within = sorted({row[9] for row in rows.values() if row[9]})
    together = driver.matching(sql, within, "ch_message_id", "ORDER BY id")
    gone = StoreReader(driver).superseded([row[1] for row in together])
    together = [row for row in together if row[1] not in gone]
    findings: dict[int, list[Found]] = {}
    sql = 'SELECT message_id, error_code, rule, severity, error_class, field, value FROM finding WHERE "current"'
    judged = sorted({*ids, *(row[1] for row in together)})
    for message_id, *found in driver.matching(sql, judged, "message_id", "ORDER BY id"):
        findings.setdefault(message_id, []).append(Found(*found))
    companions: dict[int, list[Companion]] = {}
    for ch_message, number, kind in together:
        errors = tuple(one for one in findings.get(number, ()) if one.severity == "error")
        companions.setdefault(ch_message, []).append(Companion(number, kind, errors))
    whys: dict[int, str | None] = {}
    sql = "SELECT message_id, why FROM state_change WHERE true"
    whys.update(driver.matching(sql, ids, "message_id", "ORDER BY id"))
    around = neighbours(driver, {row[8] for row in rows.values() if row[8] is not None})
    places = {one.id: place for several in around.values() for place, one in enumerate(several)}
    cases = []
    for number, state, at, received_at, version, waits_for, xml, identifier, point, ch_message in rows.values():
        others = Around(around.get(point, Neighbours()), places.get(number))
        cases.append(
            Case(
                markets=markets,
                id=number,
                state=state,
                at=at,
                received_at=received_at,
                version=version,
                waits_for=waits_for,
                message=content_of(driver.vault.text("kernel_message", number, xml)),
                identifier=identifier,
                access_point_id=point,
                findings=tuple(findings.get(number, ())),
                why=whys.get(number),
                around=others,
                companions=tuple(one for one in companions.get(ch_message, ()) if one.id != number),
            )
        )
    cases.sort(key=lambda case: (case.identifier or "", case.at, case.id))
    return cases


def neighbours(driver: Driver, access_point_ids: Iterable[int]) -> dict[int, Neighbours]:
    """The messages of access points that count, by access point, in the order of their instants."""
    points = sorted(access_point_ids)
    sql = (
        "SELECT access_point_id, id, kind, state, effective, received_at, waits_for, xml FROM kernel_message "
        "WHERE state <> 'withdrawn'"
    )
    rows = driver.matching(sql, points, "access_point_id", "ORDER BY effective, id")
    sql = "SELECT o.id FROM kernel_message k JOIN kernel_message o ON o.id = k.corrects WHERE k.state <> 'withdrawn'"
    gone = {row[0] for row in driver.matching(sql, points, "o.access_point_id")}
    found: dict[int, Neighbours] = {}
    for point, number, kind, state, at, received_at, wait, xml in _once(rows):
        if number not in gone:
            clear = driver.vault.text("kernel_message", number, xml)
            found.setdefault(point, Neighbours()).append(Neighbour(number, kind, state, at, received_at, wait, clear))
    return found


def _once(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({row[1]: row for row in rows}.values())


def content_of(xml: str) -> KernelMessage:
    """The message of Kernel XML that the EIS holds."""
    message = decode(xml)
    assert isinstance(message, KernelMessage), f"Kernel XML in the EIS is not readable: {message}"
    return message
