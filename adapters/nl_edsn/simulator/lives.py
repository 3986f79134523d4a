"""Writes simulated lives in EDSN's messages: gains, losses, mutations of master data, established and P4 readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.nl_edsn.header import EDSN
from adapters.nl_edsn.simulator.documents import (
    BALANCE,
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
from adapters.nl_edsn.simulator.mistakes import MARKET_FAULTS
from adapters.nl_edsn.times import ZONE
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.meters import Band
from energycomm.simulation.staging import Draft

GAIN, LOSS = "GainResultResponse", "LossResultResponse"
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
            return [
                start,
                Draft(UPDATE, held, point, f"CONNUPD {point} {day}", EVERYTHING),
                _established(life, step, dossier, almanac),
            ]
        if step.leaves:
            lost: Content = [
                *_point(point),
                ("MPCommercialCharacteristics", parties(OTHER, SUPPLIER)),
                ("Portaal_Mutation", told),
            ]
            return [Draft(LOSS, lost, point, reference, ("EndOfSupply",))]
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
        body: Content = [
            ("EANID", point),
            ("ExternalReference", f"day-{life.number:06d}-{civil}"),
            ("QueryDate", civil),
            ("QueryReason", "DAY"),
            ("P4EnergyMeter", [("ID", _meter(situation)), *registers]),
        ]
        return [Draft(P4, body, point, f"P4 {point} {civil}", ("MeterReading", "RequestStatus"))]

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A list, or a batch of P4 results."""
        label = drafts[0].type
        root, piece = ("P4Content", "P4MeteringPoint") if label == P4 else ("Portaal_Content", "Portaal_MeteringPoint")
        content: Content = [(root, [(piece, draft.body) for draft in drafts])]
        sender = GRID if label == P4 else EDSN
        return document(label, content, created=created, name=str(number), sender=sender)


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
