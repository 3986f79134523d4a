"""Good French messages of every kind, each with the history it is judged against: whole, and free of any remark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from energycomm.kernel.family import KINDS
from energycomm.kernel.history import History, RegisterFacts
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.parts import Address, ChargeLine, Register, Volume

OPERATOR, SUPPLIER, BALANCE = "17XFICTIFA42DFAX", "17XFICTIFD235F9X", "17XFICTIF97FC48X"
METER = "13451014311879"


def at(text: str) -> datetime:
    """An instant of its ISO text."""
    return datetime.fromisoformat(text)


def base(value: int = 15_276, **more: Any) -> Register:
    """The supplier's only register, in kWh."""
    stated: dict[str, Any] = {"grid": "supplier", "time_class": "BASE", "value": value, "unit": "kWh", "digits": 6}
    return Register(**(stated | more))


def four(value: int = 2_500, **more: Any) -> tuple[Register, ...]:
    """The distributor's registers of the calendar DI000003, in kWh."""
    stated: dict[str, Any] = {"grid": "distributor", "value": value, "unit": "kWh", "digits": 6}
    return tuple(Register(time_class=name, **(stated | more)) for name in ("HPH", "HCH", "HPB", "HCB"))


def line(**more: Any) -> ChargeLine:
    """One charge line."""
    stated: dict[str, Any] = {
        "code": "FCGEECHO",
        "nature": "01",
        "start": date(2024, 9, 1),
        "end": date(2024, 9, 30),
        "quantity": Decimal(30),
        "price": Decimal("1.09148"),
        "amount": Decimal("32.74"),
        "tax": "20.000",
        "subscribed_power": Decimal("6.0"),
        "tariff": "BTINFCU4",
    }
    return ChargeLine(**(stated | more))


HEAD: dict[str, Any] = {
    "market": "FR",
    "market_type": "C15",
    "market_reason": "MCT",
    "reason": "contract-change",
    "reference": "99660599682036:248912973",
    "created": at("2024-10-05T05:10:13+02:00"),
    "effective": at("2024-10-04T00:01:00+02:00"),
    "access_point": "99660599682036",
    "contract_reference": "248912973",
    "request_reference": "38233180",
    "sender": OPERATOR,
    "receiver": SUPPLIER,
    "grid_operator": "0328",
}

SUPPLIED: dict[str, Any] = {
    "known": True,
    "supplied": True,
    "supplied_until": True,
    "supply_start": at("2024-04-30T00:01:00+02:00"),
    "supply_reference": "248912973",
    "reference_known": True,
    "supplier": SUPPLIER,
    "tariff": "BTINFCUST",
    "subscribed_power": Decimal(9),
    "contract_sequence": 1,
    "calendar": "DI000001",
    "meter": METER,
    "segment": "C5",
    "connection_status": "connected",
    "service_level": "2",
}

ENTRY: dict[str, Any] = {"market_reason": "CFNE", "reason": "supplier-switch"}
EXIT: dict[str, Any] = {"market_reason": "RES", "reason": "termination"}

OWN: dict[str, dict[str, Any]] = {
    "StartOfSupply": {
        **ENTRY,
        "supplier": SUPPLIER,
        "balance_responsible": BALANCE,
        "contract_start": date(2024, 10, 4),
    },
    "EndOfSupply": {**EXIT, "contract_status": "terminated", "contract_end": at("2024-10-04T00:01:00+02:00")},
    "ContractTerms": {
        "contract_status": "in-service",
        "contract_start": date(2024, 4, 30),
        "sequence": 2,
        "sequence_start": date(2024, 10, 4),
        "tariff": "BTINFCU4",
        "subscribed_power": Decimal("6.0"),
        "power_unit": "kVA",
        "calendar": "DI000003",
        "supplier_calendar": "FC022034",
        "contract_kind": "GRD-F",
    },
    "AccessPointData": {
        "segment": "C5",
        "contract_status": "in-service",
        "connection_status": "connected",
        "connection_since": date(2021, 2, 12),
        "phases": 1,
        "connection_power": Decimal(12),
        "service_level": "2",
        "remote_readable": True,
        "reading_day": 24,
        "reading_period": 1,
        "self_consumption": "0",
        "supplier": SUPPLIER,
        "address": Address(street="1 RUE DE L'EXEMPLE", postal_code="44000", city="NANTES"),
    },
    "CustomerData": {"category": "residential", "title": "Mme", "surname": "EXEMPLE", "phone": "0600000000"},
    "MeterData": {
        "action": "present",
        "meter": METER,
        "meter_type": "CCB",
        "rating": "60A",
        "registers": 14,
        "curve_step": 30,
    },
    "MeterReading": {
        "market_type": "R15",
        "market_reason": "CYCL",
        "reason": "periodic",
        "reading_reference": "0305020435564306",
        "qualification": "periodic",
        "nature": "read",
        "calendar": "DI000003",
        "meter": METER,
        "previous_date": at("2024-09-04T00:00:00+02:00"),
        "meter_type": "CCB",
        "service_level": "2",
        "next_reading": date(2024, 11, 4),
        "registers": (base(previous_value=15_175), *four()),
    },
    "MeteredVolume": {
        "market_type": "R15",
        "market_reason": "CYCL",
        "reason": "periodic",
        "start": at("2024-09-04T00:00:00+02:00"),
        "nature": "measured",
        "calendar": "DI000003",
        "volumes": (Volume(grid="supplier", time_class="BASE", quantity=Decimal(101), unit="kWh"),),
    },
    "GridInvoice": {
        "market_type": "F15",
        "market_reason": None,
        "reason": "invoicing",
        "access_point": None,
        "contract_reference": None,
        "request_reference": None,
        "invoice": "3210619182009",
        "invoice_type": "C",
        "invoice_date": date(2024, 10, 4),
        "due_date": date(2024, 11, 3),
        "currency": "EUR",
        "frequency": "M",
        "total_excluding_tax": Decimal("100.00"),
        "total_tax": Decimal("20.00"),
        "total_including_tax": Decimal("120.00"),
    },
    "GridCharge": {
        "market_type": "F15",
        "market_reason": None,
        "reason": "invoicing",
        "invoice": "3210619182009",
        "invoice_date": date(2024, 10, 4),
        "charge_reference": "17381405504114786",
        "billing_type": "CYCL",
        "currency": "EUR",
        "total_excluding_tax": Decimal("32.74"),
        "meter_type": "CCB",
        "lines": (line(),),
    },
    "RequestStatus": {
        "market_type": "X12",
        "market_reason": "CFN",
        "reason": None,
        "contract_reference": None,
        "request_reference": "38233180",
        "request": "38233180",
        "milestone": 3,
        "state": "in-course",
        "state_code": "INPL",
        "object_code": "CFN",
        "effective": at("2024-10-04T16:27:27+02:00"),
    },
}
"""What a message of each kind says besides the head."""

PAST: dict[str, dict[str, Any]] = {
    "StartOfSupply": {"supplied": False, "supplied_until": False, "supply_start": None, "supply_reference": None},
    "CustomerData": {},
    "MeterReading": {
        "registers": (
            RegisterFacts(
                index_wh=15_270_608, unit_wh=1, at=at("2024-10-03T00:00:00+02:00"), days=1.0, estimated=False
            ),
            *(
                RegisterFacts(index_wh=2_499_000, unit_wh=1000, at=at("2024-10-03T00:00:00+02:00"), days=1.0)
                for _ in "1234"
            ),
        )
    },
    "GridCharge": {"subscribed_power": Decimal(6), "tariff": "BTINFCU4"},
    "RequestStatus": {
        "request_known": True,
        "request_state": "acknowledged",
        "request_milestone": 2,
        "request_milestone_at": at("2024-10-04T16:27:20+02:00"),
    },
}
"""What its history says besides an access point that we supply."""


def good(kind: str, past: Mapping[str, Any] | None = None, **changes: Any) -> tuple[KernelMessage, History]:
    """A good message and its history, with changes.

    Args:
      kind: name of the kind.
      past: facts that are otherwise.
      changes: fields that are otherwise.
    """
    message = KINDS[kind](**{**HEAD, **OWN[kind], **changes})
    return message, History(**{**SUPPLIED, **PAST.get(kind, {}), **(past or {})})


def registers(**changes: Any) -> tuple[Register, ...]:
    """The registers of a good reading with changes to the first of them."""
    first, *rest = OWN["MeterReading"]["registers"]
    fields = {name: getattr(first, name) for name in first.__struct_fields__}
    return (Register(**(fields | changes)), *rest)
