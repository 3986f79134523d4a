"""What the register and the P4 portal of a simulation tell of a point when they are asked: the same of every point."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

from adapters.nl_edsn.simulator.documents import GRID, METERING, SUPPLIER, Content, parties, with_check_digit
from adapters.nl_edsn.times import minutes_of_day, start_of_day

METER = "E0041000000000001"
_AREA = with_check_digit("87199999000000001")
_HOME: Content = [
    ("StreetName", "Voorbeeldkade"),
    ("BuildingNr", "12"),
    ("ZIPCode", "9999AB"),
    ("CityName", "Testdorp"),
]
_REGISTERS = (("1.8.1", "L", Decimal("4210.118")), ("1.8.2", "N", Decimal("3877.402")))
_QUARTER = timedelta(minutes=15)


def found(point: str) -> Content:
    """The result of a search: one point and its address."""
    return [
        (
            "Portaal_Content",
            [("Result", [("Portaal_MeteringPoint", [("EANID", point), ("EDSN_AddressSearch", _HOME)])])],
        )
    ]


def contract(point: str, reference: str, dossier: str) -> Content:
    """The end of a contract and its notice."""
    told: Content = [("EndDateContract", "2027-12-31"), ("NoticePeriod", "30")]
    mutation: Content = [("ExternalReference", reference), ("Dossier", [("ID", dossier)])]
    return _pointed([("EANID", point), ("MPCommercialCharacteristics", told), ("Portaal_Mutation", mutation)])


def master_data(point: str, reference: str) -> Content:
    """Point, contract, customer and meter."""
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
    built: Content = [
        ("AllocationMethod", "PRF"),
        ("CapTarCode", "8719999910000"),
        ("ContractedCapacity", "17"),
        ("EnergyDeliveryStatus", "ACT"),
        ("EnergyFlowDirection", "LVR"),
        ("InvoiceMonth", "04"),
        ("MeteringMethod", "MND"),
        ("PhysicalCapacity", "3x25"),
        ("PhysicalStatus", "IBD"),
        ("ProfileCategory", "E1B"),
    ]
    held: Content = [("GridContractParty", [("Initials", "T."), ("Surname", "Voorbeeld")]), *parties(SUPPLIER)]
    return _pointed(
        [
            ("EANID", point),
            ("GridArea", _AREA),
            ("MarketSegment", "KVB"),
            ("ProductType", "ELK"),
            ("GridOperator_Company", [("ID", GRID)]),
            ("EDSN_AddressSearch", _HOME),
            (
                "MPCommercialCharacteristics",
                [*held, ("MeteringResponsibleParty_Company", [("ID", METERING)])],
            ),
            ("MPPhysicalCharacteristics", built),
            ("Portaal_EnergyMeter", [("ID", METER), ("NrOfRegisters", 2), ("Type", "SLM"), *registers]),
            ("Portaal_Mutation", [("ExternalReference", reference)]),
        ]
    )


def collected(point: str, reference: str, day: str, reason: str) -> Content:
    """A P4 result: the registers at the first instant of the day, or at every quarter of it (INT)."""
    civil = date.fromisoformat(day)
    begin = start_of_day(civil)
    quarters = minutes_of_day(civil) // 15 if reason == "INT" else 0
    registers: Content = [
        (
            "P4Register",
            [
                ("ID", code),
                ("MeasureUnit", "WH" if quarters else "KWH"),
                *(_reading(begin + number * _QUARTER, index, number, quarters) for number in range(quarters + 1)),
            ],
        )
        for code, _, index in _REGISTERS
    ]
    asked: Content = [("EANID", point), ("ExternalReference", reference), ("QueryDate", day), ("QueryReason", reason)]
    return [("P4Content", [("P4MeteringPoint", [*asked, ("P4EnergyMeter", [("ID", METER), *registers])])])]


def _reading(at: datetime, index: Decimal, number: int, quarters: int) -> tuple[str, Content]:
    value = f"{index * 1000 + number * 40:.0f}" if quarters else str(index)
    return "P4Reading", [("Reading", value), ("ReadingDateTime", at.isoformat())]


def _pointed(content: Content) -> Content:
    return [("Portaal_Content", [("Portaal_MeteringPoint", content)])]
