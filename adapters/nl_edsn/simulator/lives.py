"""Writes simulated lives in EDSN's messages: gains, losses, mutations of master data, established and P4 readings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from adapters.nl_edsn.simulator import holdings
from adapters.nl_edsn.simulator.documents import (
    EDSN,
    GRID,
    OTHER,
    REGISTERS,
    SUPPLIER,
    access_point,
    collected,
    document,
    element,
    leaves,
    master_data,
    mutation,
    parties,
    party,
    pointed,
    register,
)
from adapters.nl_edsn.simulator.mistakes import (
    EXCHANGE,
    FAULTS,
    FIRST_READ,
    GAIN,
    INTERVALS,
    LOSS,
    MOVE,
    OPENED,
    P4,
    UPDATE,
)
from adapters.nl_edsn.times import ZONE
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.meters import Band, Meter, energy_of
from energycomm.simulation.playing import DocumentPlay
from energycomm.simulation.staging import Draft

EVERYTHING = ("AccessPointData", "ContractTerms", "CustomerData", "MeterData")
_REASONS = {
    "first-connection": "CONNCRE",
    "move-in": "MOVEIN",
    "supplier-switch": "SWITCHLV",
    "move-out": "MOVEOUT",
    "contract-change": "CONNCHG",
    "master-data-change": "CONNUPD",
    "customer-change": "NAMECHG",
    "meter-change": "MTRINST",
}
_BANDS: tuple[Band, ...] = ("off-peak", "peak")
_WRITTEN_AS = {INTERVALS: P4, FIRST_READ: P4, OPENED: EXCHANGE}
"""The simulation's names of types -> the market's."""
_QUARTER = timedelta(minutes=15)
_REFUSED = {
    "ChangeOfSupplierResponse": ("Portaal_Content", "Portaal_Rejection", "227"),
    "P4CollectedDataBatchResponse": ("P4Content", "P4Rejection", "012"),
}
"""Type of an answer -> elements and code of a refusal."""
_TOLD: dict[str, Callable[[str, str], str]] = {
    "SearchMeteringPointsResponse": lambda point, _: holdings.found(point),
    "ContractDataResponse": lambda point, name: holdings.contract(point, name, name[3:].replace("-", "")),
}
"""Type of an answer -> what it tells of a point under our reference."""
_LISTED: dict[str, tuple[Callable[[str, str, str], str], str]] = {
    "NoticeEOSResponse": (holdings.notice, "RequestStatus"),
    "RejectionResultResponse": (holdings.rejection, "RequestAnswer"),
}
"""Type of a list -> what it tells of a point under our reference, and the kind that it becomes."""


class DutchPlay(DocumentPlay):
    """Lives in the Netherlands."""

    zone = ZONE
    market = FAULTS

    def event(self, life: Life, step: Step) -> Iterable[Draft]:
        """A gain with the data and the reading it begins with, a loss, or a mutation."""
        point, day = access_point(life.number), self.almanac.iso(step.day)
        reason = _REASONS[step.reason]
        dossier = f"7{life.number:06d}{step.day:04d}"
        told = mutation(day, reason, dossier)
        if step.enters:
            held = parties(SUPPLIER, OTHER if reason == "SWITCHLV" else None)
            gained = _point(point) + element("MPCommercialCharacteristics", held) + told
            yield Draft(GAIN, gained, point, f"{reason} {point} {day}", ("RequestStatus", "StartOfSupply"))
            yield self._mutated(life, step.after, step.day, "CONNUPD", f"9{dossier[1:]}")
            yield self._established(life, step, dossier)
            if step.after.supply.number > 1 and self.mistaken(life, "start") == MOVE:
                yield self._acknowledged(point, step, dossier)
        elif step.leaves:
            lost = _point(point) + element("MPCommercialCharacteristics", parties(OTHER, SUPPLIER)) + told
            ours = ("RequestStatus",) if reason == "MOVEOUT" else ()
            yield Draft(LOSS, lost, point, f"{reason} {point} {day}", ("EndOfSupply", *ours))
            kind = self.mistaken(life, "stop")
            if kind == P4:  # what a mistaken market tells us on the day after
                yield from self.reading(life, step.after, step.day + 1)
            elif kind == UPDATE:
                yield self._mutated(life, step.after, step.day + 1, "CONNUPD")
        else:
            yield self._mutated(life, step.after, step.day, reason, dossier)
            if step.before is not None and step.before.meter is not step.after.meter:
                yield from self._changed_meters(life, step)

    def reading(self, life: Life, situation: Situation, day: int) -> Iterable[Draft]:
        """The P4 result of a day: the registers at its first instant."""
        point, civil = access_point(life.number), self.almanac.iso(day)
        changed = self.mistaken(life, "reading", day)
        if changed in (FIRST_READ, OPENED):
            yield from self._unread_meters(life, situation, day, changed)
            return
        yield self._daily(life, situation, day)
        kind = self.mistaken(life, "reading")  # nothing of this is sent but for the sake of a mistake in it
        if kind == INTERVALS:
            yield self._intervals(life, situation, day)
        elif kind == EXCHANGE:
            yield self._volumes(life, situation, day)
        elif kind == UPDATE:
            yield self._mutated(life, situation, day, "MTRUPD")
        elif kind in _REFUSED or kind in _TOLD:
            yield _answer(kind, life, day)
        elif kind in _LISTED:
            told, made = _LISTED[kind]
            name = f"EC-{life.number:06d}-{day}"
            yield Draft(kind, told(point, name, civil), point, f"{kind} {name}", (made,), group=name)

    def _daily(self, life: Life, situation: Situation, day: int, label: str = P4) -> Draft:
        """The indexes of a day's first instant."""
        point, civil, at = access_point(life.number), self.almanac.iso(day), self.almanac.instant(day)
        shown = (f"{_index(life, situation, band, day) / 1000:.3f}" for band in _BANDS)
        registers = [register(code, "KWH", [(index, at)]) for (code, _), index in zip(REGISTERS, shown, strict=True)]
        body = _queried(life, civil, "DAY", situation, registers)
        return Draft(label, body, point, f"P4 {point} {civil}", ("MeterReading", "RequestStatus"))

    def _unread_meters(self, life: Life, situation: Situation, day: int, label: str) -> Iterable[Draft]:
        """A change of meter of which one index is not told: that of the new meter on the day before, or the closing one
        of the old meter."""
        fitted = day - 1 if label == FIRST_READ else day
        meter = Meter(str(10**13 + life.number), True, 6, 3000, life.load.until(fitted, 0))
        after = replace(situation, meter=meter)
        yield self._mutated(life, after, fitted, "MTRINST")
        if label == FIRST_READ:
            yield self._index_of(life, situation, fitted, "MTREND", f"4{life.number:05d}{fitted:04d}")
            yield self._daily(life, after, day, label)
        else:
            yield self._index_of(life, after, fitted, "MTRINST", f"3{life.number:05d}{fitted:04d}", label=label)

    def _changed_meters(self, life: Life, step: Step) -> Iterable[Draft]:
        """The last index of the old meter and the first one of the new."""
        assert step.before is not None
        for situation, reason in ((step.before, "MTREND"), (step.after, "MTRINST")):
            dossier = f"{4 if reason == 'MTREND' else 3}{life.number:05d}{step.day:04d}"
            yield self._index_of(life, situation, step.day, reason, dossier, step.minute)

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A list, or a batch of P4 results."""
        label = _WRITTEN_AS.get(drafts[0].type, drafts[0].type)
        if drafts[0].group:
            return document(label, drafts[0].body, created=created, name=drafts[0].group)
        root, piece = ("P4Content", "P4MeteringPoint") if label == P4 else ("Portaal_Content", "Portaal_MeteringPoint")
        content = element(root, *(element(piece, draft.body) for draft in drafts))
        return document(label, content, created=created, name=str(number), sender=GRID if label == P4 else EDSN)

    def _intervals(self, life: Life, situation: Situation, day: int) -> Draft:
        """The quarters of the day before, each with the same energy."""
        point, civil = access_point(life.number), self.almanac.iso(day - 1)
        start, end = (datetime.fromisoformat(self.almanac.instant(each)) for each in (day - 1, day))
        count = int((end - start).total_seconds()) // 900
        registers = []
        for (code, _), band in zip(REGISTERS, _BANDS, strict=True):
            first, last = (_index(life, situation, band, each) for each in (day - 1, day))
            read: list[tuple[object, str]] = [
                (first + (last - first) * number // count, (start + _QUARTER * number).isoformat())
                for number in range(count + 1)
            ]
            registers.append(register(code, "WH", read))
        body = _queried(life, civil, "INT", situation, registers)
        kinds = ("MeasureSeries", "MeasureSeries", "MeterReading", "RequestStatus")
        return Draft(INTERVALS, body, point, f"INT {point} {civil}", kinds)

    def _volumes(self, life: Life, situation: Situation, day: int) -> Draft:
        """What was established between the day before and the day."""
        point, before = access_point(life.number), max(situation.supply.start, day - 28)
        body = _point(point)
        for (_, tariff), band in zip(REGISTERS, _BANDS, strict=True):
            drawn = energy_of(band, life.load.until(day, 0)) - energy_of(band, life.load.until(before, 0))
            span = leaves(ValidFromDate=self.almanac.iso(before), ValidToDate=self.almanac.iso(day))
            told = leaves(MeasureUnit="KWH", Volume=drawn // 1000) + span
            body += element("Volume", told, element("Register", leaves(MeteringDirection="LVR", TariffType=tariff)))
        dossier = element("Dossier", leaves(ID=f"6{life.number:05d}{day:04d}"))
        body += element("Portaal_Mutation", leaves(MutationReason="PERMTR"), dossier)
        return Draft(EXCHANGE, body, point, f"volume {point} {self.almanac.iso(day)}", ("MeteredVolume",))

    def _mutated(self, life: Life, situation: Situation, day: int, reason: str, dossier: str | None = None) -> Draft:
        """Master data of a day."""
        point, civil, customer = access_point(life.number), self.almanac.iso(day), situation.customer
        body = master_data(
            point,
            _meter(situation),
            mutation(civil, reason, dossier or f"5{life.number:05d}{day:04d}"),
            (f"{customer.first_name[0]}.", (customer.company or customer.surname)[:24]),
            residential=not customer.company,
            yearly=("1480", "1320"),
        )
        ours = ("RequestStatus",) if reason == "NAMECHG" else ()
        return Draft(UPDATE, body, point, f"{reason} {point} {civil}", (*EVERYTHING, *ours))

    def _acknowledged(self, point: str, step: Step, dossier: str) -> Draft:
        """The positive answer to a request of a dossier."""
        told = mutation(self.almanac.iso(step.day + 1), "MOVEIN", dossier, f"EC-{dossier}")
        body = pointed(leaves(EANID=point) + told)
        return Draft(MOVE, body, point, f"answer {dossier}", ("RequestAnswer", "RequestStatus"), group=dossier)

    def _established(self, life: Life, step: Step, dossier: str) -> Draft:
        """The established reading with which a supply begins."""
        reason = "MOVEIN" if step.reason == "first-connection" else _REASONS[step.reason]
        return self._index_of(life, step.after, step.day, reason, dossier)

    def _index_of(
        self,
        life: Life,
        situation: Situation,
        day: int,
        reason: str,
        dossier: str,
        minute: int = 0,
        *,
        label: str = EXCHANGE,
    ) -> Draft:
        """The established reading of an event."""
        point, civil = access_point(life.number), self.almanac.iso(day)
        registers = []
        for (_, tariff), band in zip(REGISTERS, _BANDS, strict=True):
            index = _index(life, situation, band, day, minute) // 1000
            read = element("Reading", leaves(Reading=index, ReadingDate=civil, ReadingMethod="004"))
            told = leaves(MeasureUnit="KWH", MeteringDirection="LVR", NrOfDigits=6, TariffType=tariff)
            registers.append(element("Register", told, read))
        body = "".join(
            (
                _point(point),
                element("Portaal_EnergyMeter", leaves(ID=_meter(situation), NrOfRegisters=2), *registers),
                element(
                    "Portaal_Mutation",
                    leaves(Consumer=SUPPLIER, Initiator=SUPPLIER, MutationReason=reason),
                    element("Dossier", leaves(ID=dossier)),
                ),
            )
        )
        return Draft(label, body, point, f"reading {reason} {point} {civil}", ("MeterReading",))


def _index(life: Life, situation: Situation, band: Band, day: int, minute: int = 0) -> int:
    return situation.meter.index("supplier", band, life.load.until(day, minute))


def _queried(life: Life, civil: str, reason: str, situation: Situation, registers: list[str]) -> str:
    reference = f"{reason.lower()}-{life.number:06d}-{civil}"
    return collected(access_point(life.number), reference, civil, reason, _meter(situation), *registers)


def _answer(label: str, life: Life, day: int) -> Draft:
    """The refusal of a request, or the answer to a question, which is done with it."""
    point, reference = access_point(life.number), f"{label} {life.number:06d} {day}"
    if label in _TOLD:
        told = _TOLD[label](point, f"EC-{life.number:06d}-{day}")
        return Draft(label, told, point, reference, ("RequestAnswer", "RequestStatus"), group=reference)
    root, tag, code = _REFUSED[label]
    reason = element("Rejection", leaves(RejectionCode=code, RejectionText="Afgewezen"))
    if tag == "Portaal_Rejection":  # it names its point, without which two of them are one
        reason += element("Portaal_MeteringPoint", leaves(EANID=point))
    return Draft(label, element(root, element(tag, reason)), point, reference, ("RequestAnswer",), group=reference)


def _point(point: str) -> str:
    return leaves(EANID=point, ProductType="ELK") + party("GridOperator", GRID)


def _meter(situation: Situation) -> str:
    return f"E{situation.meter.serial[:16]}"
