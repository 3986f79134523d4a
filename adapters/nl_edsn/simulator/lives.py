"""Writes simulated lives in EDSN's messages: gains, losses, mutations of master data, established and P4 readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from adapters.nl_edsn.simulator import holdings
from adapters.nl_edsn.simulator.documents import (
    BALANCE,
    EDSN,
    GRID,
    METERING,
    OTHER,
    SUPPLIER,
    Content,
    access_point,
    document,
    mutation,
    parties,
    with_check_digit,
)
from adapters.nl_edsn.simulator.mistakes import BY_NAME, INTERVALS, MARKET_FAULTS
from adapters.nl_edsn.times import ZONE
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.meters import Band, energy_of
from energycomm.simulation.staging import Draft, Target

GAIN, LOSS = "GainResultResponse", "LossResultResponse"
MOVE = "MoveInResponse"
Make: TypeAlias = Callable[[Life, Situation, int, Almanac], Draft]
UPDATE, P4 = "MasterDataUpdateResponse", "P4CollectedDataBatchResultResponse"
EXCHANGE = "MeterReadingExchangeResponse"
AREA = with_check_digit("87199999000000001")
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
_REGISTERS: tuple[tuple[str, str, Band], ...] = (("1.8.1", "L", "off-peak"), ("1.8.2", "N", "peak"))


class DutchWriter:
    """Satisfies `energycomm.simulation.playing.Writer`."""

    zone: str = ZONE
    market = MARKET_FAULTS
    suffixes: Mapping[str, str] = {}

    def event(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """A gain with the data and the reading it begins with, a loss, or a mutation."""
        point, day = access_point(life.number), almanac.iso(step.day)
        reason = _REASONS[step.reason]
        dossier = f"7{life.number:06d}{step.day:04d}"
        told = mutation(day, reason, dossier)
        reference = f"{reason} {point} {day}"
        if step.enters:
            gained: Content = [
                *_point(point),
                ("MPCommercialCharacteristics", parties(SUPPLIER, OTHER if reason == "SWITCHLV" else None)),
                ("Portaal_Mutation", told),
            ]
            start = Draft(GAIN, gained, point, reference, ("RequestStatus", "StartOfSupply"), begins=True)
            held = _master_data(point, step.after, mutation(day, "CONNUPD", f"9{dossier[1:]}"))
            drafts = [
                start,
                Draft(UPDATE, held, point, f"CONNUPD {point} {day}", EVERYTHING),
                _established(life, step, dossier, almanac),
            ]
            if step.after.supply.number > 1 and _extra(life, "start") == MOVE:
                drafts.append(_acknowledged(point, step, dossier, almanac))
            return drafts
        if step.leaves:
            lost: Content = [
                *_point(point),
                ("MPCommercialCharacteristics", parties(OTHER, SUPPLIER)),
                ("Portaal_Mutation", told),
            ]
            return [Draft(LOSS, lost, point, reference, ("EndOfSupply",)), *self._after(life, step, almanac)]
        return [Draft(UPDATE, _master_data(point, step.after, told), point, reference, EVERYTHING)]

    def reading(self, life: Life, situation: Situation, day: int, almanac: Almanac) -> Sequence[Draft]:
        """The P4 result of a day: the registers at its first instant."""
        point, civil = access_point(life.number), almanac.iso(day)
        energy = life.load.until(day, 0)
        registers: Content = [
            (
                "P4Register",
                [
                    ("ID", code),
                    ("MeasureUnit", "KWH"),
                    (
                        "P4Reading",
                        [
                            ("Reading", f"{situation.meter.index('supplier', band, energy) / 1000:.3f}"),
                            ("ReadingDateTime", almanac.instant(day)),
                        ],
                    ),
                ],
            )
            for code, _, band in _REGISTERS
        ]
        body = _queried(life, civil, "DAY", [("ID", _meter(situation)), *registers])
        drafts = [Draft(P4, body, point, f"P4 {point} {civil}", ("MeterReading", "RequestStatus"))]
        make = _ALONE.get(_extra(life, "reading") or "")
        return drafts if make is None else [*drafts, make(life, situation, day, almanac)]

    def _after(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """What a mistaken market tells us on the day after a loss."""
        kind, day = _extra(life, "stop"), step.day + 1
        if kind == P4:
            return self.reading(life, step.after, day, almanac)
        return [_mutated(life, step.after, day, almanac, "CONNUPD")] if kind == UPDATE else []

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A list, or a batch of P4 results."""
        label = P4 if drafts[0].type == INTERVALS else drafts[0].type
        if drafts[0].group:
            return document(label, drafts[0].body, created=created, name=drafts[0].group)
        root, piece = ("P4Content", "P4MeteringPoint") if label == P4 else ("Portaal_Content", "Portaal_MeteringPoint")
        content: Content = [(root, [(piece, draft.body) for draft in drafts])]
        sender = GRID if label == P4 else EDSN
        return document(label, content, created=created, name=str(number), sender=sender)


def _extra(life: Life, target: Target) -> str | None:
    """The type of message that a life is sent for the sake of its mistake at a target."""
    row = BY_NAME.get(life.fault or "")
    return None if row is None or row.target != target else row.type


def _queried(life: Life, civil: str, reason: str, meter: Content) -> Content:
    return [
        ("EANID", access_point(life.number)),
        ("ExternalReference", f"{reason.lower()}-{life.number:06d}-{civil}"),
        ("QueryDate", civil),
        ("QueryReason", reason),
        ("P4EnergyMeter", meter),
    ]


def _intervals(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
    """The quarters of the day before, each with the same energy."""
    civil = almanac.iso(day - 1)
    start, end = (datetime.fromisoformat(almanac.instant(each)) for each in (day - 1, day))
    count = int((end - start).total_seconds()) // 900
    registers: Content = []
    for code, _, band in _REGISTERS:
        first, last = (situation.meter.index("supplier", band, life.load.until(each, 0)) for each in (day - 1, day))
        shown = [first + (last - first) * number // count for number in range(count + 1)]
        readings: Content = [
            ("P4Reading", [("Reading", index), ("ReadingDateTime", (start + _QUARTER * number).isoformat())])
            for number, index in enumerate(shown)
        ]
        registers.append(("P4Register", [("ID", code), ("MeasureUnit", "WH"), *readings]))
    body = _queried(life, civil, "INT", [("ID", _meter(situation)), *registers])
    kinds = ("MeasureSeries", "MeasureSeries", "MeterReading", "RequestStatus")
    return Draft(INTERVALS, body, access_point(life.number), f"INT {access_point(life.number)} {civil}", kinds)


def _volumes(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
    """What was established between the day before and the day."""
    point, before = access_point(life.number), max(situation.supply.start, day - 28)
    volumes: Content = []
    for _, tariff, band in _REGISTERS:
        drawn = energy_of(band, life.load.until(day, 0)) - energy_of(band, life.load.until(before, 0))
        span: Content = [("ValidFromDate", almanac.iso(before)), ("ValidToDate", almanac.iso(day))]
        told: Content = [("MeasureUnit", "KWH"), ("Volume", drawn // 1000), *span]
        volumes.append(("Volume", [*told, ("Register", [("MeteringDirection", "LVR"), ("TariffType", tariff)])]))
    told = [("MutationReason", "PERMTR"), ("Dossier", [("ID", f"6{life.number:05d}{day:04d}")])]
    body: Content = [*_point(point), *volumes, ("Portaal_Mutation", told)]
    return Draft(EXCHANGE, body, point, f"volume {point} {almanac.iso(day)}", ("MeteredVolume",))


def _mutated(life: Life, situation: Situation, day: int, almanac: Almanac, reason: str = "MTRUPD") -> Draft:
    """Master data of a later day."""
    point, civil = access_point(life.number), almanac.iso(day)
    body = _master_data(point, situation, mutation(civil, reason, f"5{life.number:05d}{day:04d}"))
    return Draft(UPDATE, body, point, f"{reason} {point} {civil}", EVERYTHING)


def _acknowledged(point: str, step: Step, dossier: str, almanac: Almanac) -> Draft:
    """The positive answer to a request of a dossier."""
    day = almanac.iso(step.day + 1)
    told: Content = [("EANID", point), ("Portaal_Mutation", mutation(day, "MOVEIN", dossier, f"EC-{dossier}"))]
    body: Content = [("Portaal_Content", [("Portaal_MeteringPoint", told)])]
    return Draft(MOVE, body, point, f"answer {dossier}", ("RequestAnswer", "RequestStatus"), group=dossier)


def _refused(label: str, root: str, tag: str, code: str) -> Make:
    """The refusal of a request."""

    def make(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
        reason: Content = [("Rejection", [("RejectionCode", code), ("RejectionText", "Afgewezen")])]
        return _answer(label, life, day, [(root, [(tag, reason)])], ("RequestAnswer",))

    return make


def _told(label: str, content: Callable[[str, str], Content]) -> Make:
    """The answer to a question, which is done with it."""

    def make(life: Life, situation: Situation, day: int, almanac: Almanac) -> Draft:
        told = content(access_point(life.number), f"EC-{life.number:06d}-{day}")
        return _answer(label, life, day, told, ("RequestAnswer", "RequestStatus"))

    return make


def _answer(label: str, life: Life, day: int, content: Content, kinds: tuple[str, ...]) -> Draft:
    reference = f"{label} {life.number:06d} {day}"
    return Draft(label, content, access_point(life.number), reference, kinds, group=reference)


_QUARTER = timedelta(minutes=15)
_ALONE: dict[str, Make] = {
    INTERVALS: _intervals,
    EXCHANGE: _volumes,
    UPDATE: lambda life, situation, day, almanac: _mutated(life, situation, day + 1, almanac),
    "ChangeOfSupplierResponse": _refused("ChangeOfSupplierResponse", "Portaal_Content", "Portaal_Rejection", "227"),
    "P4CollectedDataBatchResponse": _refused("P4CollectedDataBatchResponse", "P4Content", "P4Rejection", "012"),
    "SearchMeteringPointsResponse": _told("SearchMeteringPointsResponse", lambda point, _: holdings.found(point)),
    "ContractDataResponse": _told(
        "ContractDataResponse", lambda point, name: holdings.contract(point, name, name[3:].replace("-", ""))
    ),
    "MeterReadingExchangeAcknowledgement": _told(
        "MeterReadingExchangeAcknowledgement", lambda point, _: [("Portaal_Content", [])]
    ),
}
"""Messages that a life is only sent for the sake of a mistake in them."""


def _point(point: str) -> Content:
    return [("EANID", point), ("ProductType", "ELK"), ("GridOperator_Company", [("ID", GRID)])]


def _meter(situation: Situation) -> str:
    return f"E{situation.meter.serial[:16]}"


def _established(life: Life, step: Step, dossier: str, almanac: Almanac) -> Draft:
    """The established reading with which a supply begins."""
    point, day = access_point(life.number), almanac.iso(step.day)
    energy = life.load.until(step.day, 0)
    registers: Content = [
        (
            "Register",
            [
                ("MeasureUnit", "KWH"),
                ("MeteringDirection", "LVR"),
                ("NrOfDigits", 6),
                ("TariffType", tariff),
                (
                    "Reading",
                    [
                        ("Reading", step.after.meter.index("supplier", band, energy) // 1000),
                        ("ReadingDate", day),
                        ("ReadingMethod", "004"),
                    ],
                ),
            ],
        )
        for _, tariff, band in _REGISTERS
    ]
    body: Content = [
        *_point(point),
        ("Portaal_EnergyMeter", [("ID", _meter(step.after)), ("NrOfRegisters", 2), *registers]),
        (
            "Portaal_Mutation",
            [
                ("Consumer", SUPPLIER),
                ("Initiator", SUPPLIER),
                ("MutationReason", "MOVEIN" if step.reason == "first-connection" else _REASONS[step.reason]),
                ("Dossier", [("ID", dossier)]),
            ],
        ),
    ]
    return Draft(EXCHANGE, body, point, f"reading {point} {day}", ("MeterReading",))


def _master_data(point: str, situation: Situation, told: Content) -> Content:
    customer = situation.customer
    registers: Content = [
        (
            "Register",
            [
                ("ID", code),
                ("MeasureUnit", "KWH"),
                ("MeteringDirection", "LVR"),
                ("NrOfDigits", 6),
                ("TariffType", tariff),
            ],
        )
        for code, tariff, _ in _REGISTERS
    ]
    held: Content = [
        ("DeterminationComplex", "N"),
        ("Residential", "N" if customer.company else "J"),
        (
            "GridContractParty",
            [("Initials", f"{customer.first_name[0]}."), ("Surname", (customer.company or customer.surname)[:24])],
        ),
        ("BalanceSupplier_Company", [("ID", SUPPLIER)]),
        ("BalanceResponsibleParty_Company", [("ID", BALANCE)]),
        ("MeteringResponsibleParty_Company", [("ID", METERING)]),
    ]
    built: Content = [
        ("AllocationMethod", "PRF"),
        ("CapTarCode", "8719999910000"),
        ("ContractedCapacity", "17"),
        ("EACOffPeak", "1480"),
        ("EACPeak", "1320"),
        ("EnergyDeliveryStatus", "ACT"),
        ("EnergyFlowDirection", "LVR"),
        ("InvoiceMonth", "04"),
        ("MeteringMethod", "MND"),
        ("PhysicalCapacity", "3x25"),
        ("PhysicalStatus", "IBD"),
        ("ProfileCategory", "E1B"),
        ("Switchability", "J"),
    ]
    return [
        ("EANID", point),
        ("GridArea", AREA),
        ("MarketSegment", "KVB"),
        ("ProductType", "ELK"),
        ("GridOperator_Company", [("ID", GRID)]),
        ("MPCommercialCharacteristics", held),
        ("MPPhysicalCharacteristics", built),
        (
            "Portaal_EnergyMeter",
            [("ID", _meter(situation)), ("NrOfRegisters", 2), ("Type", "SLM"), *registers],
        ),
        ("Portaal_Mutation", told),
    ]
