"""Writes simulated lives in the documents of the Belgian market: starts, stops, master data, measures and grid fees; of
some points the indexes come in the older generation, as MSCONS, of others the hours as UTILTS and the grid fee as
INVOIC.

A life whose mistake is made in another message (an answer, a calorific value, anything after the end of an access) gets
messages of that type, the others right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from adapters.be_atrias.simulator import documents
from adapters.be_atrias.simulator.documents import BALANCE, GRID, REASONS, SUPPLIER, access_point, filled
from adapters.be_atrias.simulator.mistakes import COUNTED, FAULTS, FIRST_READ, OPENED
from adapters.be_atrias.times import ZONE
from energycomm.simulation.edits import both, drop, put
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.meters import Band, Meter, energy_of
from energycomm.simulation.people import with_check_digit
from energycomm.simulation.playing import DocumentPlay
from energycomm.simulation.staging import Draft

EVERYTHING: tuple[str, ...] = ("AccessPointData", "ContractTerms", "CustomerData", "MeterData")
_BANDS: tuple[tuple[str, Band], ...] = (("E11", "peak"), ("E10", "off-peak"))
_WRITTEN_AS = dict.fromkeys((FIRST_READ, OPENED, COUNTED), "MeterReadings")
"""The simulation's names of types -> the market's."""
_OLDER = ("UTILTS", "INVOIC")
_PERIODIC = ("MeteredSeries", "GridFee", "GridFeeInvoice", *_OLDER)
"""Types that come with a periodic reading."""


class BelgianPlay(DocumentPlay):
    """Lives in Belgium."""

    zone = ZONE
    market = FAULTS
    suffixes: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("MSCONS", *_OLDER), ".edi"),
        "CalorificValues": ".csv",
    }

    def event(self, life: Life, step: Step) -> Iterable[Draft]:
        """A start or a stop of the access, or new master data."""
        reason, day, after = REASONS.get(step.reason, "E32"), step.day, step.after
        if step.enters:
            values = {**self._told("ST", life, day, after), "data": self._data(life, after)}
            values |= {"supplier": SUPPLIER, "balance": BALANCE, "grid": GRID}
            yield _draft("StartOfAccess", documents.START, values, ("StartOfSupply", *EVERYTHING), reason)
        elif step.leaves:
            values = {**self._told("SP", life, day, after), "day": self.almanac.iso(day)}
            values["next"] = documents.NEXT if step.reason == "supplier-switch" else ""
            yield _draft("StopOfAccess", documents.STOP, values, ("EndOfSupply",), reason)
            kind = self.mistaken(life, "stop")  # what a mistaken market tells us on the day after our access ended
            if kind == "MasterData":
                values = {**self._told("MA", life, day + 1, after), "data": self._data(life, after)}
                yield _draft(kind, documents.MASTER_DATA, values, EVERYTHING, "E32")
            elif kind in ("MeterReadings", "MeteredSeries"):
                make = self._readings if kind == "MeterReadings" else self._series
                yield make(life, after, day + 1)
        else:
            data, kinds = self._data(life, after), EVERYTHING
            if step.before is not None and step.before.meter is not after.meter:
                data = self._data(life, after, meters=_meter(step.before, "24") + _meter(after, "23"))
                kinds = (*EVERYTHING, "MeterData")
            values = {**self._told("MD", life, day, after, minute=step.minute), "data": data}
            yield _draft("MasterData", documents.MASTER_DATA, values, kinds, "E32")
            if step.before is not None and step.before.meter is not after.meter:
                yield self._index_of(life, step.before, day, "B", step.minute)
                yield self._index_of(life, after, day, "A", step.minute)

    def reading(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """The two registers of a meter at the start of a day and what they counted; with a periodic reading also the
        hours of the day before and the grid fee."""
        kind = self.mistaken(life, "reading")
        if (changed := self.mistaken(life, "reading", day)) in (FIRST_READ, OPENED):
            yield from self._unread_meters(life, situation, day, changed)
            return
        if changed == COUNTED:
            yield from self._counted(life, situation, day)
            return
        older = kind == "MSCONS" or (life.fault is None and life.number % 5 == 4)
        yield (self._indexes if older else self._readings)(life, situation, day)
        if self.almanac.civil(day).day == life.reading_day or kind in _PERIODIC:
            before = kind in _OLDER or (life.fault is None and life.number % 5 == 3)
            yield (self._hours if before else self._series)(life, situation, day)
            yield from (self._invoiced if before else self._fee)(life, situation, day)
        alone = {"Response": self._answer, "ErrorReport": self._error, "CalorificValues": self._calorific}
        if kind in alone:  # nobody sends it unless a mistake is made in it
            yield alone[kind](life, day)
        elif kind == "MasterData":
            yield self._mastered(life, situation, day, _meter(situation, "55"))

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document, an interchange or a file of calorific values."""
        label, bodies = _WRITTEN_AS.get(drafts[0].type, drafts[0].type), [draft.body for draft in drafts]
        if label in ("MSCONS", *_OLDER):
            at = datetime.fromisoformat(created).astimezone(UTC)
            return documents.interchange([body for body in bodies if body], name=f"I{number:08d}", created=at)
        if label == "CalorificValues":
            return documents.calorific_file(bodies)
        return documents.document(label, bodies, name=f"DOC-{number:08d}", created=created, reason=drafts[0].group)

    def _told(self, prefix: str, life: Life, day: int, situation: Situation, minute: int = 0) -> dict[str, Any]:
        return {
            "reference": f"{prefix}-{life.number:06d}-{day}",
            "at": self.almanac.instant(day, minute),
            "point": access_point(life.number),
            "contract": _contract(life, situation),
        }

    def _data(self, life: Life, situation: Situation, meters: str | None = None) -> str:
        """What a document says of contract, point, customer and meter."""
        customer, smart = situation.customer, situation.meter.smart
        first = self.almanac.iso(situation.supply.start)
        told = filled(documents.TERMS, contract=_contract(life, situation), first=first, power=situation.terms.power)
        told += filled(documents.POINT, method="E14" if smart else "E13", remote="true" if smart else "false")
        if customer.company:
            told += filled(documents.COMPANY, company=customer.company)
        else:
            told += filled(documents.PERSON, surname=customer.surname, first_name=customer.first_name)
        return told + (_meter(situation, "55") if meters is None else meters)

    def _previous(self, life: Life, situation: Situation, day: int) -> int:
        """The day of the reading before: that of the month or the day before, or the first day of the supply."""
        if life.daily:
            return day - 1
        month = self.almanac.civil(day).replace(day=1) - timedelta(days=1)
        return max(situation.supply.start, self.almanac.number(month.replace(day=life.reading_day)))

    def _readings(self, life: Life, situation: Situation, day: int) -> Draft:
        before = self._previous(life, situation, day)
        energy, then = life.load.until(day, 0), life.load.until(before, 0)
        registers = volumes = ""
        for frame, band in _BANDS:
            index = situation.meter.index("supplier", band, energy) // 1000
            registers += filled(documents.REGISTER, frame=frame, value=index)
            counted = (energy_of(band, energy) - energy_of(band, then)) // 1000
            volumes += filled(documents.VOLUME, frame=frame, value=counted)
        values = {**self._told("RD", life, day, situation), "serial": situation.meter.serial, "registers": registers}
        values |= {"previous": self.almanac.instant(before), "volumes": volumes}
        return _draft("MeterReadings", documents.READING, values, ("MeterReading", "MeteredVolume"), "E23")

    def _index_of(
        self, life: Life, situation: Situation, day: int, moment: str, minute: int = 0, label: str = "MeterReadings"
    ) -> Draft:
        """The indexes of a meter before (B) or after (A) an event, or of the round (P), without energies."""
        energy = life.load.until(day, minute)
        registers = "".join(
            filled(documents.REGISTER, frame=frame, value=situation.meter.index("supplier", band, energy) // 1000)
            for frame, band in _BANDS
        )
        values = {**self._told(f"R{moment}", life, day, situation, minute), "serial": situation.meter.serial}
        values |= {"registers": registers, "previous": values["at"], "volumes": ""}
        body = both(put("MeterReadingMoment", moment), drop("PreviousReadingTime"))(filled(documents.READING, **values))
        return Draft(label, body, values["point"], values["reference"], ("MeterReading",), "E23")

    def _unread_meters(self, life: Life, situation: Situation, day: int, label: str) -> Iterable[Draft]:
        """A change of meter of which one index is not told: that of the new meter on the day before, or the closing one
        of the old meter."""
        fitted = day - 1 if label == FIRST_READ else day
        meter = Meter(str(10**13 + life.number), True, 6, 3000, life.load.until(fitted, 0))
        after = replace(situation, meter=meter)
        yield self._mastered(life, situation, fitted, _meter(situation, "24") + _meter(after, "23"), "MeterData")
        if label == FIRST_READ:
            yield self._index_of(life, situation, fitted, "B")
        yield self._index_of(life, after, day, "P" if label == FIRST_READ else "A", label=label)

    def _counted(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """A day that lies between two readings, with the hours of that day."""
        if not life.daily:
            yield self._readings(life, situation, day - 1)
        yield self._series(life, situation, day)
        yield self._readings(life, situation, day)._replace(type=COUNTED)

    def _mastered(self, life: Life, situation: Situation, day: int, meters: str, *more: str) -> Draft:
        """Master data of a day on which a meter is read."""
        values = {**self._told("MM", life, day, situation), "data": self._data(life, situation, meters=meters)}
        return _draft("MasterData", documents.MASTER_DATA, values, (*EVERYTHING, *more), "E32")

    def _indexes(self, life: Life, situation: Situation, day: int) -> Draft:
        energy = life.load.until(day, 0)
        peak, night = (situation.meter.index("supplier", band, energy) // 1000 for _, band in _BANDS)
        values = {**self._told("MS", life, day, situation), "serial": situation.meter.serial}
        at = datetime.fromisoformat(values["at"]).astimezone(UTC)
        values |= {"at": f"{at:%Y%m%d%H%M}", "day": peak, "night": night}
        return _draft("MSCONS", documents.INDEXES, values, ("MeterReading",), "")

    def _series(self, life: Life, situation: Situation, day: int) -> Draft:
        """The hours of the day before: 23, 24 or 25 of the same energy."""
        start, end = self.almanac.instant(day - 1), self.almanac.instant(day)
        count = int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()) // 3600
        hour = f"{_drawn(life, day - 1, day) / count / 1000:.3f}"
        hours = "".join(filled(documents.HOUR, number=number, value=hour) for number in range(1, count + 1))
        values = {**self._told("TS", life, day, situation), "start": start, "end": end, "hours": hours}
        return _draft("MeteredSeries", documents.SERIES, values, ("MeasureSeries",), "E23")

    def _hours(self, life: Life, situation: Situation, day: int) -> Draft:
        """The same hours as UTILTS."""
        start, end = (datetime.fromisoformat(self.almanac.instant(at)).astimezone(UTC) for at in (day - 1, day))
        count = int((end - start).total_seconds()) // 3600
        hour = f"{_drawn(life, day - 1, day) / count / 1000:.3f}"
        hours = "".join(documents.INTERVAL.format(number=number, value=hour) for number in range(1, count + 1))
        values = {**self._told("UT", life, day, situation), "start": f"{start:%Y%m%d%H%M}", "end": f"{end:%Y%m%d%H%M}"}
        values |= {"hours": hours, "segments": 18 + 2 * count}
        return _draft("UTILTS", documents.HOURS, values, ("MeasureSeries",), "")

    def _invoiced(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """The invoice of one point as INVOIC: its head with the totals, and its charge."""
        before = self._previous(life, situation, day)
        kwh = _drawn(life, before, day) // 1000
        net = kwh * 10 + 150
        tax = (net * 6 + 50) // 100
        amounts = {"energy": kwh * 10, "net": net, "tax": tax, "gross": net + tax}
        days = {"day": day, "previous": before, "due": day + 30}
        values = {**self._told("GI", life, day, situation), "kwh": kwh}
        values |= {name: f"{amount / 100:.2f}" for name, amount in amounts.items()}
        values |= {name: self.almanac.iso(at).replace("-", "") for name, at in days.items()}
        reference, point = values["reference"], values["point"]
        head = _draft("INVOIC", documents.INVOICED, values, ("GridInvoice",), reference)
        yield head._replace(access_point=None)
        yield Draft("INVOIC", "", point, f"{reference}:{point}", ("GridCharge",), reference)

    def _fee(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """The charge of the point, and the invoice of a month."""
        before, civil = self._previous(life, situation, day), self.almanac.iso(day)
        kwh = _drawn(life, before, day) // 1000
        span = {"previous": self.almanac.iso(before), "day": civil}
        lines = (
            ("E210", "Distribution, proportional term", kwh, "KWH", "0.10", f"{kwh * 10 / 100:.2f}"),
            ("E220", "Metering", 1, "MON", "1.50", "1.50"),
        )
        names = ("code", "text", "quantity", "unit", "price", "amount")
        written = (filled(documents.CHARGE_LINE, **span, **dict(zip(names, line, strict=True))) for line in lines)
        values = {**self._told("GF", life, day, situation), "day": civil, "lines": "".join(written)}
        values["total"] = f"{(kwh * 10 + 150) / 100:.2f}"
        yield _draft("GridFee", documents.CHARGE, values, ("GridCharge",), "E89")
        due = self.almanac.iso(day + 30)
        invoiced = {"reference": f"GI-{life.number:06d}-{day}", "day": civil, "due": due}
        yield _draft("GridFeeInvoice", documents.INVOICE, invoiced, ("GridInvoice",), "E89")

    def _answer(self, life: Life, day: int) -> Draft:
        """The refusal of a request."""
        values = _asked("RS", life, day)
        values |= {"status": "41", "at": self.almanac.instant(day), "place": filled(documents.PLACE, **values)}
        values["reason"] = filled(documents.REASON, code="E17", text="Requested date not within time limits")
        return _draft("Response", documents.ANSWER, values, ("RequestAnswer",), "E65")

    def _error(self, life: Life, day: int) -> Draft:
        """The report that a request could not be processed."""
        return _draft("ErrorReport", documents.ERROR, _asked("ER", life, day), ("ErrorReport",), "E65")

    def _calorific(self, life: Life, day: int) -> Draft:
        """The value of the month before at a receiving station."""
        month = self.almanac.civil(day).replace(day=1) - timedelta(days=1)
        station = with_check_digit(f"54145{life.number:012d}")
        values = {"reference": f"{station} {month:%Y-%m}", "month": f"{month:%Y-%m}", "station": station}
        return _draft("CalorificValues", documents.CALORIFIC, values, ("CalorificValue",), "")


def _draft(label: str, template: str, values: dict[str, Any], kinds: tuple[str, ...], reason: str) -> Draft:
    return Draft(label, filled(template, **values), values.get("point"), values["reference"], kinds, reason)


def _asked(prefix: str, life: Life, day: int) -> dict[str, Any]:
    """What an answer says of a request."""
    number = f"{life.number:06d}-{day}"
    return {"reference": f"{prefix}-{number}", "original": f"EC-{number}", "point": access_point(life.number)}


def _drawn(life: Life, first: int, last: int) -> int:
    return energy_of("all", life.load.until(last, 0)) - energy_of("all", life.load.until(first, 0))


def _contract(life: Life, situation: Situation) -> str:
    return f"AC-{life.number:06d}-{situation.supply.number}"


def _meter(situation: Situation, status: str) -> str:
    kind = "SMART" if situation.meter.smart else "CLASSIC"
    return filled(documents.METER, serial=situation.meter.serial, status=status, type=kind)
