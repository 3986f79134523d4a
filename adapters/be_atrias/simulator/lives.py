"""Writes simulated lives in the documents of the Belgian market: starts, stops, master data, measures and grid fees; of
some points the indexes come in the older generation, as MSCONS.

A life whose mistake is made in another message (an answer, a calorific value, anything after the end of an access) gets
messages of that type, the others right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.be_atrias.simulator import documents
from adapters.be_atrias.simulator.documents import (
    BALANCE,
    GRID,
    REASONS,
    SUPPLIER,
    access_point,
    filled,
    with_check_digit,
)
from adapters.be_atrias.simulator.mistakes import BY_NAME, MARKET_FAULTS
from adapters.be_atrias.times import ZONE
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.meters import Band, energy_of
from energycomm.simulation.staging import Draft, Target

EVERYTHING: tuple[str, ...] = ("AccessPointData", "ContractTerms", "CustomerData", "MeterData")
MEASURES = ("MeterReading", "MeteredVolume")
_BANDS: tuple[tuple[str, Band], ...] = (("E11", "peak"), ("E10", "off-peak"))


class BelgianWriter:
    """Satisfies `energycomm.simulation.playing.Writer`."""

    zone: str = ZONE
    market = MARKET_FAULTS
    suffixes: Mapping[str, str] = {"MSCONS": ".edi", "CalorificValues": ".csv"}

    def event(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """A start or a stop of the access, or new master data."""
        reason = REASONS.get(step.reason, "E32")
        if step.enters:
            values = _told("ST", life, step.day, step.after, almanac)
            values |= {"supplier": SUPPLIER, "balance": BALANCE, "grid": GRID, "data": _data(life, step.after, almanac)}
            kinds = ("StartOfSupply", *EVERYTHING)
            return [_draft("StartOfAccess", documents.START, values, kinds, reason, begins=True)]
        if step.leaves:
            values = {**_told("SP", life, step.day, step.after, almanac), "day": almanac.iso(step.day)}
            values["next"] = documents.NEXT if step.reason == "supplier-switch" else ""
            stop = _draft("StopOfAccess", documents.STOP, values, ("EndOfSupply",), reason)
            return [stop, *self._after(life, step, almanac)]
        data, kinds = _data(life, step.after, almanac), EVERYTHING
        if step.before is not None and step.before.meter is not step.after.meter:
            data = _data(life, step.after, almanac, meters=_meter(step.before, "24") + _meter(step.after, "23"))
            kinds = (*EVERYTHING, "MeterData")
        values = _told("MD", life, step.day, step.after, almanac, minute=step.minute)
        return [_draft("MasterData", documents.MASTER_DATA, {**values, "data": data}, kinds, "E32")]

    def _after(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """What a mistaken market tells us on the day after our access ended."""
        kind, day = _extra(life, "stop"), step.day + 1
        if kind == "MasterData":
            values = _told("MA", life, day, step.after, almanac)
            values["data"] = _data(life, step.after, almanac)
            return [_draft(kind, documents.MASTER_DATA, values, EVERYTHING, "E32")]
        if kind in ("MeterReadings", "MeteredSeries"):
            make = _readings if kind == "MeterReadings" else _series
            return [make(life, step.after, day, almanac)]
        return []

    def reading(self, life: Life, situation: Situation, day: int, almanac: Almanac) -> Sequence[Draft]:
        """The two registers of a meter at the start of a day and what they counted; with a periodic reading also the
        hours of the day before and the grid fee."""
        extra = _extra(life, "reading")
        if extra == "MSCONS" or (life.fault is None and life.number % 5 == 4):
            drafts = [_indexes(life, situation, day, almanac)]
        else:
            drafts = [_readings(life, situation, day, almanac)]
        if almanac.civil(day).day == life.reading_day or extra in _PERIODIC:
            drafts += [_series(life, situation, day, almanac), *_fee(life, situation, day, almanac)]
        if extra is not None and extra in _ALONE:
            drafts.append(_ALONE[extra](life, day, almanac))
        return drafts

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document, an interchange or a file of calorific values."""
        label, bodies = drafts[0].type, [draft.body for draft in drafts]
        if label == "MSCONS":
            at = datetime.fromisoformat(created).astimezone(UTC)
            return documents.interchange(bodies, name=f"I{number:08d}", created=at)
        if label == "CalorificValues":
            return documents.calorific_file(bodies)
        return documents.document(label, bodies, name=f"DOC-{number:08d}", created=created, reason=drafts[0].group)


def _extra(life: Life, target: Target) -> str | None:
    """The type of message that a life is sent for the sake of its mistake at a target."""
    row = BY_NAME.get(life.fault or "")
    return None if row is None or row.target != target else row.type


def _draft(
    label: str, template: str, values: dict[str, Any], kinds: tuple[str, ...], reason: str, *, begins: bool = False
) -> Draft:
    body = filled(template, **values)
    return Draft(label, body, values.get("point"), values["reference"], kinds, reason, begins)


def _contract(life: Life, situation: Situation) -> str:
    return f"AC-{life.number:06d}-{situation.supply.number}"


def _told(prefix: str, life: Life, day: int, situation: Situation, almanac: Almanac, minute: int = 0) -> dict[str, Any]:
    return {
        "reference": f"{prefix}-{life.number:06d}-{day}",
        "at": almanac.instant(day, minute),
        "point": access_point(life.number),
        "contract": _contract(life, situation),
    }


def _meter(situation: Situation, status: str) -> str:
    kind = "SMART" if situation.meter.smart else "CLASSIC"
    return filled(documents.METER, serial=situation.meter.serial, status=status, type=kind)


def _data(life: Life, situation: Situation, almanac: Almanac, meters: str | None = None) -> str:
    """What a document says of contract, point, customer and meter."""
    customer, smart = situation.customer, situation.meter.smart
    first = almanac.iso(situation.supply.start)
    told = filled(documents.TERMS, contract=_contract(life, situation), first=first, power=situation.terms.power)
    told += filled(documents.POINT, method="E14" if smart else "E13", remote="true" if smart else "false")
    if customer.company:
        told += filled(documents.COMPANY, company=customer.company)
    else:
        told += filled(documents.PERSON, surname=customer.surname, first_name=customer.first_name)
    return told + (_meter(situation, "55") if meters is None else meters)


def _previous(life: Life, situation: Situation, day: int, almanac: Almanac) -> int:
    """The day of the reading before: that of the month or the day before, or the first day of the supply."""
    if life.daily:
        return day - 1
    month = almanac.civil(day).replace(day=1) - timedelta(days=1)
    return max(situation.supply.start, almanac.number(month.replace(day=life.reading_day)))


def _readings(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
    before = _previous(life, situation, day, almanac)
    energy, then = life.load.until(day, 0), life.load.until(before, 0)
    registers = volumes = ""
    for frame, band in _BANDS:
        index = situation.meter.index("supplier", band, energy) // 1000
        registers += filled(documents.REGISTER, frame=frame, value=index)
        counted = (energy_of(band, energy) - energy_of(band, then)) // 1000
        volumes += filled(documents.VOLUME, frame=frame, value=counted)
    values = {
        **_told("RD", life, day, situation, almanac),
        "serial": situation.meter.serial,
        "previous": almanac.instant(before),
        "registers": registers,
        "volumes": volumes,
    }
    return _draft("MeterReadings", documents.READING, values, MEASURES, "E23")


def _indexes(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
    energy = life.load.until(day, 0)
    peak, night = (situation.meter.index("supplier", band, energy) // 1000 for _, band in _BANDS)
    at = datetime.fromisoformat(almanac.instant(day)).astimezone(UTC)
    values = {
        **_told("MS", life, day, situation, almanac),
        "serial": situation.meter.serial,
        "at": f"{at:%Y%m%d%H%M}",
        "day": peak,
        "night": night,
    }
    return _draft("MSCONS", documents.INDEXES, values, ("MeterReading",), "")


def _series(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
    """The hours of the day before: 23, 24 or 25 of the same energy."""
    start, end = almanac.instant(day - 1), almanac.instant(day)
    count = int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()) // 3600
    drawn = energy_of("all", life.load.until(day, 0)) - energy_of("all", life.load.until(day - 1, 0))
    hour = f"{drawn / count / 1000:.3f}"
    values = {
        **_told("TS", life, day, situation, almanac),
        "start": start,
        "end": end,
        "hours": "".join(filled(documents.HOUR, number=number, value=hour) for number in range(1, count + 1)),
    }
    return _draft("MeteredSeries", documents.SERIES, values, ("MeasureSeries",), "E23")


def _fee(life: Life, situation: Situation, day: int, almanac: Almanac) -> Sequence[Draft]:
    """The charge of the point, and the invoice of a month."""
    values = {**_told("GF", life, day, situation, almanac), "day": almanac.iso(day)}
    before = _previous(life, situation, day, almanac)
    drawn = energy_of("all", life.load.until(day, 0)) - energy_of("all", life.load.until(before, 0))
    amount = drawn // 1000 * 10
    charged = {
        "previous": almanac.iso(before),
        "quantity": drawn // 1000,
        "amount": f"{amount / 100:.2f}",
        "total": f"{(amount + 150) / 100:.2f}",
    }
    invoiced = {"reference": f"GI-{life.number:06d}-{day}", "day": values["day"], "due": almanac.iso(day + 30)}
    return [
        _draft("GridFee", documents.CHARGE, {**values, **charged}, ("GridCharge",), "E89"),
        _draft("GridFeeInvoice", documents.INVOICE, invoiced, ("GridInvoice",), "E89"),
    ]


def _answer(life: Life, day: int, almanac: Almanac) -> Draft:
    """The refusal of a request."""
    point = access_point(life.number)
    values = {
        "reference": f"RS-{life.number:06d}-{day}",
        "original": f"EC-{life.number:06d}-{day}",
        "status": "41",
        "reason": filled(documents.REASON, code="E17", text="Requested date not within time limits"),
        "at": almanac.instant(day),
        "place": filled(documents.PLACE, point=point),
        "point": point,
    }
    return _draft("Response", documents.ANSWER, values, ("RequestAnswer",), "E65")


def _error(life: Life, day: int, almanac: Almanac) -> Draft:
    """The report that a request could not be processed."""
    values = {
        "reference": f"ER-{life.number:06d}-{day}",
        "original": f"EC-{life.number:06d}-{day}",
        "point": access_point(life.number),
    }
    return _draft("ErrorReport", documents.ERROR, values, ("ErrorReport",), "E65")


def _calorific(life: Life, day: int, almanac: Almanac) -> Draft:
    """The value of the month before at a receiving station."""
    month = almanac.civil(day).replace(day=1) - timedelta(days=1)
    station = with_check_digit(f"54145{life.number:012d}")
    values = {"reference": f"{station} {month:%Y-%m}", "month": f"{month:%Y-%m}", "station": station}
    return _draft("CalorificValues", documents.CALORIFIC, values, ("CalorificValue",), "")


_PERIODIC = ("MeteredSeries", "GridFee", "GridFeeInvoice")
"""Types that come with a periodic reading."""
_ALONE = {"Response": _answer, "ErrorReport": _error, "CalorificValues": _calorific}
"""Messages that nobody sends unless a mistake is made in them."""
