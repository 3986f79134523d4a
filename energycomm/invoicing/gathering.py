"""Invoices as the store has them: every message that one is made of, and what is known of its access points.

All messages count, also those that wait or were rejected: they are on the invoice. Only withdrawn ones do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct
from sqlalchemy import Connection, and_, func, select

from energycomm.eis import tables
from energycomm.eis.arrays import NONE, parts_as, parts_of
from energycomm.eis.bulk import driver_of
from energycomm.eis.database import reading
from energycomm.eis.store import Store
from energycomm.invoicing.checking import Content, InvoiceFinding, Metered, PointFacts, Terms, check
from energycomm.invoicing.counting import KWH, Index
from energycomm.invoicing.pricelist import PriceList
from energycomm.invoicing.settlement import StoredCharge
from energycomm.kernel.codec import decode
from energycomm.kernel.instants import FIRST_DAY, LAST_DAY, instant, micros, midnight
from energycomm.kernel.messages import GridCharge, GridInvoice
from energycomm.kernel.parts import ChargeLine

DAY = timedelta(days=1)
PORTION = 400
"""Access points, or messages, that one query asks for."""
WINDOW = 2_000
"""Messages of invoices that one query walks through to list the invoices."""
BEFORE = timedelta(days=62)
"""How long before its first day an invoice may charge together with another: readings of two months."""
_TURN = {"before-event": 0, "periodic": 1, "after-event": 2}
_CHANGES_METER = ("present", "installed")
_ACTIVE = (None, "", "active")


class InvoiceSummary(Struct, frozen=True, kw_only=True):
    """An invoice, and for how much it is contested.

    Attributes:
      market, invoice: which one.
      latest: number of the message of it that came last.
      invoice_date: its date, where its general file or a charge tells it.
      currency: of its amounts.
      total: its net total as the general file says; None while that is not there.
      charged: sum of the charges that are there.
      charges, announced: how many charges are there, and how many the general file announces.
      contested: sum of the euros of the findings.
      contradictions: how many findings there are.
      complete: its general file is there, and as many charges as that announces.
      last: the last day that it charges.
      messages: how many it is made of.
    """

    market: str
    invoice: str
    latest: int
    invoice_date: date | None
    currency: str
    total: Decimal | None
    charged: Decimal
    charges: int
    announced: int | None
    contested: Decimal
    contradictions: int
    complete: bool
    last: date | None
    messages: int


class CheckedInvoice(InvoiceSummary, frozen=True, kw_only=True):
    """An invoice and what it is contradicted in.

    Attributes:
      findings: the findings, those of the invoice as a whole first.
    """

    findings: tuple[InvoiceFinding, ...]

    @property
    def summary(self) -> InvoiceSummary:
        """Without the findings."""
        return InvoiceSummary(**{name: getattr(self, name) for name in InvoiceSummary.__struct_fields__})


class _Some(NamedTuple):
    """Some access points of an invoice, whose facts are gathered.

    Attributes:
      connection: to the store.
      ids: rows of the access points, at most as many as a statement takes.
      points: their identifiers, by row.
      facts: what is gathered, by identifier.
      zone: of the market.
    """

    connection: Connection
    ids: Sequence[int]
    points: dict[int, str]
    facts: dict[str, PointFacts]
    zone: ZoneInfo

    def facts_of(self, row: int) -> PointFacts:
        """The facts of an access point, by its row."""
        return self.facts[self.points[row]]


class InvoiceCheck:
    """Checks invoices against the store and the tables of the rules.

    Args:
      store: the EIS.
      rules: the folder of the rules.
      zones: market -> its legal time.
    """

    def __init__(self, store: Store, rules: Path, zones: dict[str, ZoneInfo]) -> None:
        self.store, self.rules, self.zones = store, rules, zones
        self._prices: dict[str, PriceList] = {}

    def numbers(
        self, *, market: str | None = None, limit: int = 50, before: int | None = None
    ) -> list[tuple[str, str]]:
        """Market and number of the invoices, those that came last first.

        Args:
          market: only of this one.
          limit: how many at most.
          before: only those whose last message came before the one of this number.
        """
        # Walked from the last message back, so that a page takes as long in a store of many invoices.
        i = tables.invoice_message.c
        walk = select(i.message_id, i.market, i.invoice).order_by(i.message_id.desc()).limit(WINDOW)
        if market is not None:
            walk = walk.where(i.market == market)
        seen: set[tuple[str, str]] = set()
        found: list[tuple[str, str]] = []
        reached = before
        with reading(self.store.engine) as connection:
            while True:
                rows = connection.execute(walk if reached is None else walk.where(i.message_id < reached)).all()
                for _, code, invoice in rows:
                    if (code, invoice) in seen:
                        continue
                    seen.add((code, invoice))
                    if before is None or not _goes_on(connection, (code, invoice), before):
                        found.append((code, invoice))
                    if len(found) == limit:
                        return found
                if len(rows) < WINDOW:
                    return found
                reached = rows[-1].message_id

    def markets_of(self, number: str) -> list[str]:
        """The markets that have an invoice of a number."""
        i = tables.invoice_message.c
        with reading(self.store.engine) as connection:
            return sorted(connection.scalars(select(i.market).where(i.invoice == number).distinct()))

    def near(self, number: str) -> list[str]:
        """Numbers of invoices that look like one that is none."""
        return get_close_matches(number, [one for _, one in self.numbers(limit=1_000)], n=3)

    def checked(self, market: str, number: str) -> CheckedInvoice:
        """An invoice, checked against what the store holds now."""
        zone = self.zones[market]
        prices = self._prices.get(market)
        if prices is None:
            prices = self._prices[market] = PriceList(self.rules / market.lower())
        with reading(self.store.engine) as connection:
            content, points, latest = self._content(connection, market, number)
            i = tables.invoice_message.c
            messages = connection.execute(
                select(func.count()).select_from(tables.invoice_message).where(i.market == market, i.invoice == number)
            ).scalar_one()
            facts = {name: PointFacts() for name in points.values()}
            for portion in _portions(sorted(points)):
                self._facts(_Some(connection, portion, points, facts, zone), content)
        found = check(content, facts, prices)
        found.sort(
            key=lambda one: (one.access_point is not None, one.access_point or "", one.charge or "", one.code or "")
        )
        general = content.general
        told = [one for one in (general, *content.charges, *content.parts) if one is not None]
        return CheckedInvoice(
            market=market,
            invoice=number,
            latest=latest,
            invoice_date=next((one.invoice_date for one in told if one.invoice_date is not None), None),
            currency=told[0].currency if told else "",
            total=None if general is None else general.total_excluding_tax,
            charged=content.net,
            charges=len(content.charges),
            announced=None if general is None else general.charges,
            contested=sum((one.euros for one in found), Decimal("0.00")),
            contradictions=len(found),
            findings=tuple(found),
            complete=general is not None and (general.charges is None or general.charges == len(content.charges)),
            last=max((line.end for one in content.charges for line in one.lines if line.end is not None), default=None),
            messages=messages,
        )

    def _content(self, connection: Connection, market: str, number: str) -> tuple[Content, dict[int, str], int]:
        i, k = tables.invoice_message.c, tables.kernel_message.c
        query = (
            select(k.id, k.xml, k.access_point_id)
            .join(tables.invoice_message, i.message_id == k.id)
            .where(i.market == market, i.invoice == number, k.state != "withdrawn")
            .order_by(k.effective, k.id)
        )
        content, points, vault = Content(number), {}, driver_of(connection).vault
        latest = 0
        for row in connection.execute(query):
            latest = max(latest, row.id)
            message = decode(vault.text("kernel_message", row.id, row.xml))
            if isinstance(message, GridInvoice):
                content.parts.append(message)
            elif isinstance(message, GridCharge):
                content.charges.append(message)
                if row.access_point_id is not None and message.access_point is not None:
                    points[row.access_point_id] = message.access_point
        content.charges.sort(key=lambda one: (one.effective, one.charge_reference))
        return content, points, latest

    def _facts(self, some: _Some, content: Content) -> None:
        """Contracts, supplies, energies, counts and other charges of some access points."""
        c = tables.contract.c
        query = select(c.access_point_id, c.at, c.tariff, c.subscribed_power, c.powers).where(
            c.access_point_id.in_(some.ids)
        )
        for row in some.connection.execute(query.order_by(c.at, c.id)):
            told = some.facts_of(row.access_point_id).terms
            before = told[-1] if told else None
            tariff = row.tariff or (before.tariff if before else None)
            power = Decimal(row.subscribed_power) if row.subscribed_power else (before.power if before else None)
            powers = _subscribed(parts_of(row.powers or NONE)) or (before.powers if before else {})
            told.append(Terms(_day(row.at, some.zone), tariff, power, powers))
        s = tables.supply_period.c
        for supply in some.connection.execute(
            select(s.access_point_id, s.at, s.ended_at).where(s.access_point_id.in_(some.ids)).order_by(s.at)
        ):
            ended = None if supply.ended_at is None else _day(supply.ended_at, some.zone) - DAY
            some.facts_of(supply.access_point_id).supplied.append((_day(supply.at, some.zone), ended))
        v = tables.volume.c
        for energy in some.connection.execute(
            select(v.access_point_id, v.at, v.start_at, v.volumes)
            .where(v.access_point_id.in_(some.ids), v.status == "current", v.start_at.is_not(None))
            .order_by(v.at, v.id)
        ):
            energies = _energies(parts_of(energy.volumes))
            if energies:
                metered = Metered(_day(energy.start_at, some.zone), _day(energy.at, some.zone) - DAY, energies)
                some.facts_of(energy.access_point_id).metered.append(metered)
        self._counts(some, content)
        self._others(some, content.number)

    def _counts(self, some: _Some, content: Content) -> None:
        """What the registers counted on the days of the energies that are charged."""
        days = [
            day
            for charge in content.charges
            for line in charge.lines
            if line.unit in KWH
            for day in (line.start, line.end)
            if day is not None and FIRST_DAY + BEFORE < day < LAST_DAY - BEFORE
        ]
        if not days:
            return
        low, high = micros(midnight(some.zone, min(days) - BEFORE)), micros(midnight(some.zone, max(days) + 2 * DAY))
        m, r = tables.DOMAIN["meter"].c, tables.reading.c
        serials: dict[int, str] = {}
        changes: dict[int, list[int]] = {}
        for row in some.connection.execute(
            select(m.access_point_id, m.at, m.serial)
            .where(m.access_point_id.in_(some.ids), m.action.in_(_CHANGES_METER), m.serial.is_not(None))
            .order_by(m.at, m.id)
        ):
            if serials.setdefault(row.access_point_id, row.serial) != row.serial:
                changes.setdefault(row.access_point_id, []).append(row.at)
                serials[row.access_point_id] = row.serial
        registers: dict[tuple[int, str, str], list[Index]] = {}
        for read in some.connection.execute(
            select(r.access_point_id, r.at, r.qualification, r.registers)
            .where(r.access_point_id.in_(some.ids), r.status == "current", r.at >= low, r.at < high)
            .order_by(r.at, r.id)
        ):
            for part in parts_of(read.registers):
                active = part.get("product") in _ACTIVE and part["unit"] in KWH
                if not active or part.get("direction", "consumption") != "consumption" or part.get("doubtful"):
                    continue
                told = part.get("coefficient")
                index = Index(
                    at=read.at,
                    turn=_TURN[read.qualification],
                    day=_day(read.at, some.zone),
                    value=Decimal(str(part["value"])),
                    unit=part["unit"],
                    coefficient=None if told is None else Decimal(str(told)),
                    digits=part.get("digits"),
                    rollover=bool(part.get("rollover")),
                    meter=part.get("meter"),
                )
                registers.setdefault((read.access_point_id, part["grid"], part["time_class"]), []).append(index)
        for (point, _, time_class), indexes in sorted(registers.items(), key=lambda one: one[0]):  # distributor first
            some.facts_of(point).counts.add(time_class, indexes, changes.get(point, ()))

    def _others(self, some: _Some, number: str) -> None:
        """Charges of other invoices, whatever their verdict."""
        g, k, i = tables.DOMAIN["grid_charge"].c, tables.kernel_message.c, tables.invoice_message.c
        vault = driver_of(some.connection).vault
        query = (
            select(
                k.id, k.access_point_id, k.market_type, k.effective, i.invoice, g.reference, g.original_invoice, g.lines
            )
            .join_from(tables.kernel_message, tables.invoice_message, i.message_id == k.id)
            # By the point, which has an index, and few charges.
            .outerjoin(
                tables.DOMAIN["grid_charge"],
                and_(g.access_point_id == k.access_point_id, g.at == k.effective, g.message_id == k.id),
            )
            .where(k.access_point_id.in_(some.ids), k.state != "withdrawn", i.invoice != number)
        )
        waiting: list[int] = []
        for row in some.connection.execute(query):
            if row.lines is None:
                waiting.append(row.id)
                continue
            told = StoredCharge(
                market_type=row.market_type,
                access_point=some.points[row.access_point_id],
                invoice=row.invoice,
                charge_reference=row.reference,
                effective=instant(row.effective),
                original_invoice=row.original_invoice,
                lines=tuple(parts_as(row.lines, ChargeLine)),
            )
            some.facts_of(row.access_point_id).others.append(told)
        for ids in _portions(waiting):
            for held in some.connection.execute(select(k.id, k.access_point_id, k.xml).where(k.id.in_(ids))):
                message = decode(vault.text("kernel_message", held.id, held.xml))
                if isinstance(message, GridCharge):
                    some.facts_of(held.access_point_id).others.append(message)


def _goes_on(connection: Connection, key: tuple[str, str], since: int) -> bool:
    """Whether an invoice has a message of this number or a later one."""
    i = tables.invoice_message.c
    query = select(i.message_id).where(i.market == key[0], i.invoice == key[1], i.message_id >= since).limit(1)
    return connection.execute(query).first() is not None


def _day(at: int, zone: ZoneInfo) -> date:
    found: datetime = instant(at)
    return found.astimezone(zone).date()


def _subscribed(powers: Iterable[dict[str, str]]) -> dict[str, Decimal]:
    """The subscribed power of each time class."""
    return {
        one["time_class"]: Decimal(one["value"]) for one in powers if one.get("nature", "subscribed") == "subscribed"
    }


def _energies(volumes: Iterable[dict[str, str]]) -> dict[str, Decimal]:
    """kWh by time class: of the distributor's grid where it is told, else of ours."""
    grids: dict[str, dict[str, Decimal]] = {}
    for one in volumes:
        active = one.get("product") in _ACTIVE and one["unit"] in KWH
        if active and one.get("direction", "consumption") == "consumption" and not one.get("purpose"):
            classes = grids.setdefault(one["grid"], {})
            name = one["time_class"]
            classes[name] = classes.get(name, Decimal(0)) + Decimal(str(one["quantity"])) / KWH[one["unit"]]
    return grids.get("distributor") or grids.get("supplier") or {}


def _portions(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + PORTION] for start in range(0, len(ids), PORTION))
