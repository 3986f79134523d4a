"""The billing period of a contract: consumption by time class from the readings that hold, terms, and what is missing.

Consumption is the difference of the indexes at the two borders of the period. An index is first reduced to whole kWh
(or m3) by cutting off, never by rounding, as meters show it: so the consumption of successive periods adds up, whether
a flow gives Wh or kWh. Where a meter was changed, the closing index of the old one and the first of the new one are
borders as well.

Only active energy and gas are billed. What else a meter counts (reactive energy, times) and totals beside their own
time classes are told apart, in `beside`. Whatever sources tell one index (a periodic flow, an answer, an opening
balance), it counts once, and energies of a period are not added to indexes: they stand in only where no index tells the
period, those of one source for one direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct, structs
from sqlalchemy import Connection, Engine, or_, select

from energycomm.eis import tables
from energycomm.eis.arrays import parts_of
from energycomm.eis.away import archive_at, floor_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.errors import UserError
from energycomm.kernel.instants import FIRST_DAY, LAST_DAY, instant, local_day, micros, midnight
from energycomm.kernel.opening import OPENING
from energycomm.market.installed import Markets

FINE = {"Wh": 1, "kWh": 1000, "MWh": 1_000_000, "dm3": 1, "m3": 1000}
"""Unit of an index -> how many of the finest unit of its quantity it counts."""

BILLED = {"Wh": "kWh", "kWh": "kWh", "MWh": "kWh", "dm3": "m3", "m3": "m3"}
"""Unit of an index -> the unit that its consumption is told in; another unit is told as it is."""

ACTIVE = frozenset((None, "", "active", "active-energy", "natural-gas"))
"""Products that are billed: active energy, and gas."""

BLOCKING = {
    "READINGS_ARCHIVED": "measures of the period are in an archive, or were removed",
    "READINGS_NONE": "there is no reading of the period",
    "READING_MISSING": "a border of the period has no reading, and none follows or precedes it",
    "READING_BETWEEN": "a border of the period lies between two readings: its index is interpolated",
    "READINGS_CONTRADICT": "two readings of one register and instant say different indexes",
    "INDEX_FELL": "an index is lower than the one before, and nothing says that the register passed through zero",
    "METER_CHANGE_OPEN": "the meter was changed without the closing index of the old one or the first of the new one",
    "VOLUMES_MISSING": "there are no indexes, and the volumes do not cover the period, or cross its borders",
    "VOLUMES_CONTRADICT": "two sources that cover the period tell different volumes",
    "TERMS_UNKNOWN": "no terms of the contract are known at the start of the period",
}
"""Why a period cannot be billed: code -> what it means."""

NOTED = {
    "SUPPLY_PARTIAL": "our supply covers only a part of the days",
    "READING_ESTIMATED": "an index at a border was estimated by the market",
    "READING_DOUBTFUL": "the market doubts an index at a border",
    "FROM_VOLUMES": "no index tells the period: the consumption is a sum of volumes",
    "VOLUME_ESTIMATED": "a volume was estimated by the market",
    "VOLUME_NOT_ENERGY": "the consumption is a volume of gas: its energy needs the calorific value of each month",
    "MESSAGES_HELD": "messages of the period wait or were rejected, and may change it",
}
"""What is to be known of a period that can be billed all the same: code -> what it means."""

_ORDER = {"before-event": 0, "periodic": 1, "after-event": 2}
_CHANGES_METER = ("present", "installed")


class Remark(Struct, frozen=True, kw_only=True):
    """Something that hinders the bill (`blocks`), or is to be known.

    Attributes:
      code: one of `BLOCKING` or `NOTED`.
      words, words_fr: it in a sentence, in English and in French.
    """

    code: str
    blocks: bool
    words: str
    words_fr: str


class Border(Struct, frozen=True, kw_only=True):
    """The index of a register at a border of the period.

    Attributes:
      at: its instant.
      index, unit: as the market gave it; of an interpolated one in the unit of the consumption.
      origin: read, self-read, estimated, unknown; interpolated where it was computed here.
      message: the message of the reading; None for an interpolated one.
    """

    at: datetime
    index: int
    unit: str
    origin: str
    message: int | None = None


class Consumption(Struct, frozen=True, kw_only=True):
    """What one register counted.

    Attributes:
      grid, direction, time_class, product: which register.
      calendar: the calendar of its time class, where the readings name it.
      quantity: in `unit`; None where it is not known. A sum of volumes may have decimals.
      start, end: its borders; None where there are none, as of volumes.
      meters: how many meters counted it; 0 of volumes.
      estimated: a border was estimated or interpolated, or a volume estimated.
      sources: market types of the readings at its borders, or of its volumes.
    """

    grid: str
    direction: str
    time_class: str
    product: str | None
    quantity: int | Decimal | None
    unit: str
    start: Border | None
    end: Border | None
    meters: int
    estimated: bool
    sources: tuple[str, ...] = ()
    calendar: str | None = None


class Terms(Struct, frozen=True, kw_only=True):
    """Terms of the contract from an instant on."""

    since: datetime
    tariff: str | None
    subscribed_power: Decimal | None
    power_unit: str | None
    calendar: str | None
    powers: Any
    message: int


class MeterChange(Struct, frozen=True, kw_only=True):
    """Another meter within the period."""

    at: datetime
    before: str | None
    after: str | None


class BillingPeriod(Struct, frozen=True, kw_only=True):
    """A contract between two days.

    Attributes:
      first, last: the days, both included, in legal time; where our supply covers fewer, those.
      start, end: the instants.
      ready: it can be billed.
      consumption: of active energy or gas. Each grid tells all of it: sum within one grid.
      beside: what is not to be added to it: reactive energy and the like, totals beside their time classes. What is
        missing there hinders no bill.
    """

    market: str
    access_point: str
    contract: str | None
    first: date
    last: date
    start: datetime
    end: datetime
    ready: bool
    remarks: tuple[Remark, ...]
    consumption: tuple[Consumption, ...]
    terms: tuple[Terms, ...]
    meter_changes: tuple[MeterChange, ...]
    beside: tuple[Consumption, ...] = ()


class _Index(NamedTuple):
    """One index of a register."""

    at: int
    generation: int
    order: int
    fine: int
    unit: str
    nature: str
    message: int
    digits: int | None
    rollover: bool
    doubtful: bool
    meter: str | None
    source: str


class _Energy(NamedTuple):
    """The energy of one time class over a period, in the unit that it is told in."""

    start: int
    end: int
    time_class: str
    unit: str
    quantity: Decimal
    nature: str
    message: int


_Key = tuple[str, str, str, str, str, str]
"""Which register: grid, direction, time class, product, unit of its consumption, calendar; peak hours of another
calendar are other hours. The calendar is empty where no reading names one."""

_CALENDARS = {"distributor": "calendar", "supplier": "supplier_calendar"}
"""Grid -> the column of a reading that names the calendar of its time classes."""


def billing_period(
    engine: Engine, contract: str, first: date, last: date, markets: Markets, market: str | None = None
) -> BillingPeriod:
    """The billing period of a contract.

    Args:
      engine: the store.
      contract: its reference, or the access point where that has one contract in the period.
      first, last: the days, both included.
      markets: the installed ones.
      market: only of this market.

    Raises:
      UserError: there is no such contract in the period, or several; the days are in the wrong order.
    """
    if last < first:
        raise UserError(f"The last day, {last}, is before the first, {first}.", "Exchange them.")
    if not FIRST_DAY <= first <= last <= LAST_DAY:
        raise UserError(f"{first} to {last} is out of range.", f"Name days from {FIRST_DAY} to {LAST_DAY}.")
    with reading(engine) as connection:
        span = _span(connection, contract, first, last, markets.zones, market)
        return _Gathering(connection, span, markets, first, last).period()


class _Span(NamedTuple):
    point_id: int
    market: str
    identifier: str
    reference: str | None
    start: int
    end: int | None


def _span(
    connection: Connection, contract: str, first: date, last: date, zones: Mapping[str, ZoneInfo], market: str | None
) -> _Span:
    supply, point = tables.supply_period.c, tables.access_point.c
    query = (
        select(point.id, point.market, point.identifier, supply.reference, supply["at"], supply.ended_at)
        .join_from(tables.supply_period, tables.access_point, point.id == supply.access_point_id)
        .order_by(supply["at"])
    )
    if market is not None:
        query = query.where(point.market == market)
    # Two steps, each with an index or a small result: a point is found by its identifier.
    found = [_Span._make(row) for row in connection.execute(query.where(point.identifier == contract))]
    if not found:
        found = [_Span._make(row) for row in connection.execute(query.where(supply.reference == contract))]
    if not found:
        raise UserError(
            f"There is no contract {contract[:80]}, and no access point of that number that we supply.",
            "`energycomm access-point show` lists the supply periods of a point, with their references.",
        )
    within = [
        span
        for span in found
        if span.start < micros(midnight(zones[span.market], last + timedelta(days=1)))
        and (span.end is None or span.end > micros(midnight(zones[span.market], first)))
        and span.end != span.start
    ]
    if len(within) == 1:
        return within[0]
    told = ", ".join(
        f"{one.reference or one.identifier} of {one.market} from {local_day(zones[one.market], one.start)}"
        + (f" to {local_day(zones[one.market], one.end - 1)}" if one.end is not None else "")
        for one in (within or found)
    )
    if not within:
        raise UserError(f"{contract[:80]} was not supplied from {first} to {last}.", f"Supplied were: {told}.")
    raise UserError(f"Several contracts of {contract[:80]} fall into the period.", f"Name one, and its days: {told}.")


class _Gathering:
    """A billing period while it is put together."""

    def __init__(self, connection: Connection, span: _Span, markets: Markets, first: date, last: date) -> None:
        self.connection, self.span = connection, span
        self.zone = zone = markets.zone(span.market)
        self.totals = markets.totals(span.market)
        asked = micros(midnight(zone, first)), micros(midnight(zone, last + timedelta(days=1)))
        self.start = max(asked[0], span.start)
        self.end = min(asked[1], asked[1] if span.end is None else span.end)
        self.remarks: dict[tuple[str, str], Remark] = {}
        if (self.start, self.end) != asked:
            days = self._day(self.start), self._day(self.end - 1)
            self._remark(
                "SUPPLY_PARTIAL",
                f"We supply from {days[0]} to {days[1]}.",
                f"Nous fournissons du {days[0]} au {days[1]}.",
            )

    def _day(self, at: int) -> str:
        return local_day(self.zone, at).isoformat()

    def _remark(self, code: str, words: str, words_fr: str) -> None:
        remark = Remark(code=code, blocks=code in BLOCKING, words=words, words_fr=words_fr)
        self.remarks.setdefault((code, words), remark)

    def _archived(self) -> None:
        driver = driver_of(self.connection)
        floor = floor_of(driver, self.span.point_id)
        if floor is not None and floor > self.start:
            day, back = self._day(floor), archive_at(driver, self.span.point_id)
            self._remark(
                "READINGS_ARCHIVED",
                f"Measures before {day} are away. {back}",
                f"Des mesures d'avant le {day} ne sont plus dans la base. {back}",
            )

    def period(self) -> BillingPeriod:
        """The whole of it."""
        self._archived()
        changes = self._meter_changes()
        terms = self._terms()
        moments = {one[0] for one in changes} | {micros(one.since) for one in terms}
        consumption, beside = self._consumption(changes, moments)
        self._held()
        remarks = tuple(sorted(self.remarks.values(), key=lambda one: (not one.blocks, one.code, one.words)))
        return BillingPeriod(
            market=self.span.market,
            access_point=self.span.identifier,
            contract=self.span.reference,
            first=local_day(self.zone, self.start),
            last=local_day(self.zone, self.end - 1),
            start=instant(self.start),
            end=instant(self.end),
            ready=not any(one.blocks for one in remarks),
            remarks=remarks,
            consumption=consumption,
            beside=beside,
            terms=terms,
            meter_changes=tuple(
                MeterChange(at=instant(at), before=before, after=after)
                for at, before, after in changes
                if self.start < at < self.end
            ),
        )

    # --- what the store has ---

    def _rows(self, name: str) -> list[Mapping[str, Any]]:
        table = tables.DOMAIN[name]
        mine = table.c.access_point_id == self.span.point_id
        query = select(table).where(mine).order_by(table.c["at"], table.c.id)
        return [dict(row) for row in self.connection.execute(query).mappings()]

    def _meter_changes(self) -> list[tuple[int, str | None, str | None]]:
        """Instants from which another serial number is in place: (at, before, after)."""
        changes: list[tuple[int, str | None, str | None]] = []
        serial = None
        for row in self._rows("meter"):
            if row["action"] in _CHANGES_METER and row["serial"] is not None:
                if serial is not None and row["serial"] != serial:
                    changes.append((row["at"], serial, row["serial"]))
                serial = row["serial"]
        return changes

    def _terms(self) -> tuple[Terms, ...]:
        """The terms at the start, and each change within."""
        found: list[Terms] = []
        # Terms may name the span otherwise than its start did (an opening balance, for one), but not another span.
        others = {row["reference"] for row in self._rows("supply_period")} - {None, self.span.reference}
        for row in self._rows("contract"):
            if row["at"] >= self.end or row["reference"] in others:
                continue
            if row["at"] < self.span.start and row["reference"] != self.span.reference:
                continue
            power = row["subscribed_power"]
            terms = Terms(
                since=instant(row["at"]),
                tariff=row["tariff"],
                subscribed_power=None if power is None else Decimal(power),
                power_unit=row["power_unit"],
                calendar=row["calendar"],
                powers=parts_of(row["powers"]),
                message=row["message_id"],
            )
            if found:  # what a change does not state stays as it was
                stated = {name: value for name, value in structs.asdict(terms).items() if value not in (None, [])}
                terms = structs.replace(found[-1], **stated)
            if row["at"] <= self.start:
                found = []
            found.append(terms)
        if not found or micros(found[0].since) > self.start:
            day = self._day(self.start)
            self._remark(
                "TERMS_UNKNOWN",
                f"No terms of the contract are known on {day}.",
                f"Aucune condition du contrat n'est connue au {day}.",
            )
        return tuple(found)

    def _held(self) -> None:
        k = tables.kernel_message.c
        query = (
            select(k.id)
            .where(k.access_point_id == self.span.point_id, k.effective >= self.start, k.effective <= self.end)
            .where(or_(*(k.state == state for state in ("quarantined", "rejected", "to_replay", "engine_error"))))
            .order_by(k.id)
        )
        numbers = self.connection.execute(query).scalars().all()
        if numbers:
            shown = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
            self._remark(
                "MESSAGES_HELD",
                f"Messages that wait or were rejected: {shown}.",
                f"Messages en attente ou rejetés : {shown}.",
            )

    def _indexes(self, changes: Sequence[tuple[int, str | None, str | None]]) -> dict[_Key, list[_Index]]:
        """The indexes that hold, by register, in order; one instant may have several."""
        rows = [row for row in self._rows("reading") if row["status"] == "current"]
        rows.sort(key=lambda row: (row["at"], _ORDER[row["qualification"]]))
        calendars = {grid: _calendars(rows, column) for grid, column in _CALENDARS.items()}
        found: dict[_Key, list[_Index]] = {}
        for place, row in enumerate(rows):
            order = _ORDER[row["qualification"]]
            for part in parts_of(row["registers"]):
                unit, named = part["unit"], part.get("meter")
                generation = sum(
                    at < row["at"] or (at == row["at"] and order > 0 and named in (None, after))
                    for at, _, after in changes
                )
                key = (
                    part["grid"],
                    part["direction"],
                    part["time_class"],
                    _product(part),
                    BILLED.get(unit, unit),
                    calendars[part["grid"]][place],
                )
                one = _Index(
                    row["at"],
                    generation,
                    order,
                    int(part["value"]) * FINE.get(unit, 1),
                    unit,
                    row["nature"],
                    row["message_id"],
                    part.get("digits"),
                    bool(part.get("rollover")),
                    bool(part.get("doubtful")),
                    named,
                    row["source"],
                )
                found.setdefault(key, []).append(one)
        return {key: sorted(several) for key, several in sorted(found.items())}

    def _settled(self, key: _Key, indexes: Iterable[_Index]) -> list[_Index]:
        """One index for each instant and meter: the market's before that of an opening balance, and the finer one
        where two flows say the same."""
        kept: list[_Index] = []
        for one in indexes:
            if kept and (kept[-1].at, kept[-1].generation) == (one.at, one.generation):
                last = kept[-1]
                coarse = max(FINE.get(last.unit, 1), FINE.get(one.unit, 1))
                if last.fine // coarse != one.fine // coarse and self.start <= one.at <= self.end:
                    day = self._day(one.at)
                    self._remark(
                        "READINGS_CONTRADICT",
                        f"{_named(key)} on {day}: messages {last.message} and {one.message}.",
                        f"{_nomme(key)}, au {day} : messages {last.message} et {one.message}.",
                    )
                ranks = [(each.source == OPENING, FINE.get(each.unit, 1)) for each in (one, last)]
                if ranks[0] < ranks[1]:
                    kept[-1] = one
                continue
            kept.append(one)
        return kept

    # --- what follows from it ---

    def _consumption(
        self, changes: Sequence[tuple[int, str | None, str | None]], moments: set[int]
    ) -> tuple[tuple[Consumption, ...], tuple[Consumption, ...]]:
        """What is billed, and what stands beside it."""
        every = self._indexes(changes)
        moments = moments | _calendar_changes(every)
        remarks = self.remarks
        told: dict[_Key, dict[tuple[str, str], Remark]] = {}
        found: dict[_Key, Consumption] = {}
        for key, several in every.items():
            if any(self.start <= one.at <= self.end for one in several):
                self.remarks = told[key] = {}
                found[key] = self._of_register(key, self._settled(key, several), moments)
        self.remarks = remarks
        billed = {key for key in found if _is_billed(key)}
        billed -= {key for key in billed if self._is_total(found[key], [found[other] for other in billed])}
        beside = tuple(one for key, one in found.items() if key not in billed)
        if not any(found[key].start and found[key].end for key in billed) and (volumes := self._volumes()):
            return tuple(volumes), beside
        if not billed:
            days = self._day(self.start), self._day(self.end)
            self._remark(
                "READINGS_NONE",
                f"No reading from {days[0]} to {days[1]}.",
                f"Aucun relevé du {days[0]} au {days[1]}.",
            )
        for key in billed:
            remarks.update(told[key])
        return tuple(one for key, one in found.items() if key in billed), beside

    # --- volumes, where no index tells the period ---

    def _volumes(self) -> list[Consumption]:
        """The consumption by the volumes that hold: for each grid and direction those of one source, never of two."""
        told: dict[tuple[str, str], dict[str, list[_Energy]]] = {}
        for row in self._rows("volume"):
            start = row["start_at"]
            if row["status"] != "current" or start is None or start >= self.end or row["at"] <= self.start:
                continue
            for part in parts_of(row["volumes"]):
                unit = part["unit"]
                # A share of collective self-consumption is a part of the energy that is told beside it.
                if part.get("product") not in ACTIVE or part.get("purpose") or unit not in FINE or start == row["at"]:
                    continue
                one = _Energy(
                    start,
                    row["at"],
                    part["time_class"],
                    unit,
                    Decimal(part["quantity"]),
                    row["nature"],
                    row["message_id"],
                )
                told.setdefault((part["grid"], part["direction"]), {}).setdefault(row["source"], []).append(one)
        found = {key: self._of_sources(*key, sources) for key, sources in sorted(told.items())}
        # Each grid tells all of a direction: one that is covered is enough.
        covered = {direction for (_, direction), several in found.items() if several}
        for (grid, direction), sources in sorted(told.items()):
            if direction not in covered:
                told_by, where = ", ".join(sorted(sources)), _side(grid, direction)
                days = self._day(self.start), self._day(self.end - 1)
                self._remark(
                    "VOLUMES_MISSING",
                    f"Volumes of {told_by} do not cover the days from {days[0]} to {days[1]}: {where}.",
                    f"Les volumes de {told_by} ne couvrent pas les jours du {days[0]} au {days[1]} : "
                    f"{_cote(grid, direction)}.",
                )
        return [one for several in found.values() for one in several]

    def _of_sources(self, grid: str, direction: str, sources: Mapping[str, list[_Energy]]) -> list[Consumption]:
        """The consumption of a direction by the source that covers the period with the most time classes; nothing where
        none covers it."""
        where, lieu = _side(grid, direction), _cote(grid, direction)
        covering = self._covering(sources)
        if not covering:
            return []
        sums = {
            source: _sum(one for several in classes.values() for one in several) for source, classes in covering.items()
        }
        chosen = min(covering, key=lambda source: (-len(covering[source]), source))
        for source in sorted(sums):
            parts = max(sum(map(len, covering[one].values())) for one in (source, chosen))
            # Each volume may have been cut off to the unit that it is told in.
            if abs(sums[source] - sums[chosen]) > parts * _coarsest(sources[source], sources[chosen]):
                self._remark(
                    "VOLUMES_CONTRADICT",
                    f"Volumes of the {where}: {chosen} and {source}.",
                    f"Volumes de la {lieu} : {chosen} et {source}.",
                )
        self._remark(
            "FROM_VOLUMES",
            f"The volumes of the {where} are those of {chosen}.",
            f"Les volumes de la {lieu} sont ceux de {chosen}.",
        )
        found = []
        for name, several in sorted(covering[chosen].items()):
            unit = BILLED[several[0].unit]
            if unit == "m3":
                self._gas()
            estimated = any(one.nature in ("estimated", "unknown") for one in several)
            if any(one.nature == "estimated" for one in several):
                self._remark(
                    "VOLUME_ESTIMATED",
                    f"{name} of the {where}: a volume of {chosen} was estimated by the market.",
                    f"{name} de la {lieu} : un volume de {chosen} a été estimé par le marché.",
                )
            quantity = _sum(several) / FINE[unit]
            found.append(
                Consumption(
                    grid=grid,
                    direction=direction,
                    time_class=name,
                    product=None,
                    quantity=int(quantity) if quantity == int(quantity) else quantity,
                    unit=unit,
                    start=None,
                    end=None,
                    meters=0,
                    estimated=estimated,
                    sources=(chosen,),
                )
            )
        return found

    def _covering(self, sources: Mapping[str, list[_Energy]]) -> dict[str, dict[str, list[_Energy]]]:
        """The volumes of the sources that cover the period, by time class; totals only where nothing else is told."""
        covering: dict[str, dict[str, list[_Energy]]] = {}
        for source, energies in sorted(sources.items()):
            classes: dict[str, list[_Energy]] = {}
            for one in energies:
                classes.setdefault(one.time_class, []).append(one)
            if set(classes) - self.totals:
                classes = {name: several for name, several in classes.items() if name not in self.totals}
            if all(self._covers(several) for several in classes.values()):
                covering[source] = classes
        return covering

    def _covers(self, energies: Sequence[_Energy]) -> bool:
        """Whether volumes follow one another from the first to the last instant of the period, without hole or overlap;
        a regularisation stands beside what it corrects, and must lie within."""
        if any(one.start < self.start or one.end > self.end for one in energies):
            return False
        steps = sorted((one.start, one.end) for one in energies if one.nature != "regularised")
        steps = steps or sorted((one.start, one.end) for one in energies)
        ends = (steps[0][0], steps[-1][1])
        return ends == (self.start, self.end) and all(low[1] == high[0] for low, high in pairwise(steps))

    def _is_total(self, one: Consumption, others: Iterable[Consumption]) -> bool:
        """Whether a register of all hours stands beside time classes of the same hours."""
        same = [
            other
            for other in others
            if other.time_class not in self.totals
            and (other.grid, other.direction, other.unit) == (one.grid, one.direction, one.unit)
        ]
        if one.time_class not in self.totals or not same:
            return False
        if one.start is None or one.end is None:
            return True
        return any(
            other.start is not None
            and other.end is not None
            and other.start.at < one.end.at
            and one.start.at < other.end.at
            for other in same
        )

    def _gas(self) -> None:
        self._remark(
            "VOLUME_NOT_ENERGY",
            "The consumption is in m3: `energycomm gas convert` gives its energy.",
            "La consommation est en m3 : `energycomm gas convert` donne son énergie.",
        )

    # --- registers ---

    def _of_register(self, key: _Key, indexes: list[_Index], moments: set[int]) -> Consumption:
        unit = FINE.get(key[4], 1)
        start = self._border(key, indexes, self.start, moments, first=True)
        end = self._border(key, indexes, self.end, moments, first=False)
        quantity, meters = None, 0
        if start is not None and end is not None:
            between = [one for one in indexes if (start.at, start.generation) < (one.at, one.generation)]
            between = [one for one in between if (one.at, one.generation) < (end.at, end.generation)]
            quantity, meters = self._counted(key, [start, *between, end], unit)
        borders = [one for one in (start, end) if one is not None]
        for one in borders:
            if one.nature == "estimated":
                self._remark(
                    "READING_ESTIMATED",
                    f"{_named(key)} on {self._day(one.at)} was estimated by the market.",
                    f"{_nomme(key)}, au {self._day(one.at)} : index estimé par le marché.",
                )
            if one.doubtful:
                self._remark(
                    "READING_DOUBTFUL",
                    f"{_named(key)} on {self._day(one.at)} is doubted by the market.",
                    f"{_nomme(key)}, au {self._day(one.at)} : index mis en doute par le marché.",
                )
        if key[4] == "m3":
            self._gas()
        grid, direction, time_class, product, told, calendar = key
        return Consumption(
            grid=grid,
            direction=direction,
            time_class=time_class,
            product=product or None,
            quantity=quantity,
            unit=told,
            start=_shown(start),
            end=_shown(end),
            meters=meters,
            estimated=any(one.nature in ("estimated", "unknown", "interpolated") for one in borders),
            sources=tuple(sorted({one.source for one in borders if one.source})),
            calendar=calendar or None,
        )

    def _border(self, key: _Key, indexes: list[_Index], at: int, moments: set[int], *, first: bool) -> _Index | None:
        """The index at a border. At the start that of the meter which goes on, at the end that of the one which was
        there; a register that begins, or ends, with other terms or another meter has its border there."""
        here = [one for one in indexes if one.at == at]
        if here:
            return here[-1] if first else here[0]
        before = [one for one in indexes if one.at < at]
        after = [one for one in indexes if one.at > at]
        if first and not before and after[0].at in moments:
            return after[0]
        if not first and not after and before[-1].at in moments and before[-1].at > self.start:
            return before[-1]
        day = self._day(at)
        low, high = before[-1] if before else None, after[0] if after else None
        if low is None or high is None or low.generation != high.generation or high.fine < low.fine:
            self._remark(
                "READING_MISSING",
                f"{_named(key)} has no reading on {day}, the {'first' if first else 'last'} border of the period.",
                f"{_nomme(key)} : aucun relevé au {day}, {'première' if first else 'dernière'} borne de la période.",
            )
            return None
        unit = FINE.get(key[4], 1)
        fine = low.fine + (high.fine - low.fine) * (at - low.at) // (high.at - low.at)
        self._remark(
            "READING_BETWEEN",
            f"{_named(key)} has no reading on {day}: {fine // unit} {key[4]} is interpolated from "
            f"{self._day(low.at)} and {self._day(high.at)}.",
            f"{_nomme(key)} : aucun relevé au {day} ; {fine // unit} {key[4]} interpolés entre le "
            f"{self._day(low.at)} et le {self._day(high.at)}.",
        )
        return _Index(
            at,
            low.generation,
            low.order,
            fine // unit * unit,
            key[4],
            "interpolated",
            0,
            None,
            False,
            False,
            low.meter,
            "",
        )

    def _counted(self, key: _Key, indexes: Sequence[_Index], unit: int) -> tuple[int | None, int]:
        """What was counted between the first and the last index, in the unit of the consumption, and by how many
        meters."""
        total, meters, fine = 0, 1, True
        for low, high in pairwise(indexes):
            changes = high.generation - low.generation
            if not changes and None not in (low.meter, high.meter) and low.meter != high.meter:
                changes = 1  # no message told of it, but another meter was read
            if changes:
                meters += changes
                # Both indexes are of the instant of the change, or something was not counted.
                if low.at != high.at or changes > 1:
                    self._remark(
                        "METER_CHANGE_OPEN",
                        f"{_named(key)} between {self._day(low.at)} and {self._day(high.at)}.",
                        f"{_nomme(key)}, entre le {self._day(low.at)} et le {self._day(high.at)}.",
                    )
                    fine = False
                continue
            coarse = max(unit, FINE.get(low.unit, 1), FINE.get(high.unit, 1))
            counted = high.fine // unit - low.fine // unit
            if high.fine // coarse < low.fine // coarse:
                if high.rollover and high.digits is not None:
                    counted += 10**high.digits * FINE.get(high.unit, 1) // unit
                else:
                    self._remark(
                        "INDEX_FELL",
                        f"{_named(key)} from {self._day(low.at)} to {self._day(high.at)}.",
                        f"{_nomme(key)}, du {self._day(low.at)} au {self._day(high.at)}.",
                    )
                    fine = False
            total += counted
        return (total if fine else None), meters


def _calendars(rows: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    """The calendar of one grid for each reading, in order.

    A reading that names none, and an opening balance, whose words are the supplier's own, has that of the reading
    before, else of the first one after; before an event that of before, after it that of after.
    """
    named = ["" if row["source"] == OPENING else row[column] or "" for row in rows]
    found, last = [], next((name for name in named if name), "")
    for place, name in enumerate(named):
        if not name and _ORDER[rows[place]["qualification"]] == 2:
            same = (
                other for row, other in zip(rows[place:], named[place:], strict=True) if row["at"] == rows[place]["at"]
            )
            name = next((other for other in same if other), "")
        last = name or last
        found.append(last)
    return found


def _calendar_changes(every: Mapping[_Key, Iterable[_Index]]) -> set[int]:
    """Instants at which one grid is told by two calendars: the registers of one end, those of the other begin."""
    told: dict[tuple[str, int], set[str]] = {}
    for (grid, *_, calendar), several in every.items():
        for one in several:
            told.setdefault((grid, one.at), set()).add(calendar)
    return {at for (_, at), calendars in told.items() if len(calendars) > 1}


def _product(part: Mapping[str, Any]) -> str:
    """The product of a register; empty for what is billed, so that its readings meet whatever a flow calls it."""
    product = part.get("product")
    return "" if product in ACTIVE else str(product)


def _is_billed(key: _Key) -> bool:
    return not key[3] and key[4] in ("kWh", "m3")


def _sum(energies: Iterable[_Energy]) -> Decimal:
    """A sum in the finest unit."""
    return sum((one.quantity * FINE[one.unit] for one in energies), Decimal(0))


def _coarsest(*several: Sequence[_Energy]) -> int:
    return max(FINE[one.unit] for energies in several for one in energies)


SIDES = {
    ("distributor", "consumption"): "distributor's grid",
    ("distributor", "production"): "distributor's grid, production",
    ("supplier", "consumption"): "supplier's grid",
    ("supplier", "production"): "supplier's grid, production",
}
"""Grid of time classes and direction -> their words."""


def _side(grid: str, direction: str) -> str:
    return SIDES.get((grid, direction), f"{grid} {direction}")


def _named(key: _Key) -> str:
    grid, direction, time_class, product, _, calendar = key
    of_calendar = f" ({calendar})" if calendar else ""
    return f"{time_class}{of_calendar} of the {_side(grid, direction)}{f', {product}' if product else ''}"


_GRILLES = {"distributor": "grille du distributeur", "supplier": "grille du fournisseur"}


def _cote(grid: str, direction: str) -> str:
    """`_side` in French."""
    return f"{_GRILLES.get(grid, grid)}{'' if direction == 'consumption' else ', production'}"


def _nomme(key: _Key) -> str:
    """`_named` in French."""
    grid, direction, time_class, product, _, calendar = key
    of_calendar = f" ({calendar})" if calendar else ""
    return f"{time_class}{of_calendar} de la {_cote(grid, direction)}{f', {product}' if product else ''}"


def _shown(one: _Index | None) -> Border | None:
    if one is None:
        return None
    index = one.fine // FINE.get(one.unit, 1)
    return Border(at=instant(one.at), index=index, unit=one.unit, origin=one.nature, message=one.message or None)
