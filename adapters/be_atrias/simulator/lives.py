"""Writes simulated lives in the documents of the Belgian market: starts, stops, master data, meter readings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from adapters.be_atrias.mapping import table
from adapters.be_atrias.simulator.mistakes import MARKET_FAULTS
from adapters.be_atrias.times import ZONE
from adapters.be_atrias.writing import write
from energycomm.simulation.almanac import Almanac
from energycomm.simulation.lives import Life, Situation, Step
from energycomm.simulation.staging import Draft

MARKET, SUPPLIER, BALANCE = "5419999000017", "5419999000024", "5419999000048"
GRID, OTHER, AREA = "5419999000031", "5419999000055", "541449000000990014"
EVERYTHING = ("AccessPointData", "ContractTerms", "CustomerData", "MeterData")
_STOPS = {"move-out": "move-out", "supplier-switch": "supplier-switch"}
_BANDS = (("HI", "peak"), ("LO", "off-peak"))


def with_check_digit(digits: str) -> str:
    """A number of GS1: its digits and the check digit."""
    total = sum(int(digit) * (3 - n % 2 * 2) for n, digit in enumerate(reversed(digits)))
    return f"{digits}{-total % 10}"


def access_point(number: int) -> str:
    """EAN-GSRN of the simulation's n-th access point."""
    return with_check_digit(f"54144900{number:09d}")


class BelgianWriter:
    """Satisfies `energycomm.simulation.playing.Writer`."""

    zone: str = ZONE
    market = MARKET_FAULTS

    def event(self, life: Life, step: Step, almanac: Almanac) -> Sequence[Draft]:
        """A start or a stop of the access, or new master data."""
        if step.enters:
            values = {**_event("ST", life, step, almanac), **_data(step.after, almanac)}
            values |= {"supplier": SUPPLIER, "balance_responsible": BALANCE, "grid_operator": GRID}
            return [_draft("StartOfAccess", values, ("StartOfSupply", *EVERYTHING), step.reason, begins=True)]
        if step.leaves:
            values = {**_event("SP", life, step, almanac), "contract_status": "terminated"}
            values |= {"contract_end": almanac.civil(step.day)}
            if step.reason == "supplier-switch":
                values["new_supplier"] = OTHER
            return [_draft("StopOfAccess", values, ("EndOfSupply",), _STOPS[step.reason])]
        values = {**_event("MD", life, step, almanac), **_data(step.after, almanac)}
        kinds: tuple[str, ...] = EVERYTHING
        if step.before is not None and step.before.meter is not step.after.meter:
            removed = {**_meter(step.before), "action": "removed"}
            values["meters"] = [removed, {**values["meters"][0], "action": "installed"}]
            kinds = (*EVERYTHING, "MeterData")
        return [_draft("MasterData", values, kinds, "master-data-change")]

    def reading(self, life: Life, situation: Situation, day: int, almanac: Almanac) -> Sequence[Draft]:
        """The two registers of a meter at the start of a day."""
        energy = life.load.until(day, 0)
        values: dict[str, Any] = {
            "reference": f"RD-{life.number:06d}-{almanac.iso(day)}",
            "function": "original",
            "access_point": access_point(life.number),
            "effective": datetime.fromisoformat(almanac.instant(day)),
            "nature": "read",
            "qualification": "periodic",
            "contract_reference": _contract(life.number, situation),
            "meter": situation.meter.serial,
            "registers": [
                {
                    "time_class": name,
                    "direction": "consumption",
                    "value": situation.meter.index("supplier", band, energy) // 1000,  # type: ignore[arg-type]
                    "unit": "kWh",
                    "digits": 6,
                }
                for name, band in _BANDS
            ],
        }
        return [_draft("MeterReadings", values, ("MeterReading",), "periodic")]

    def document(self, drafts: Sequence[Draft], created: str, number: int) -> bytes:
        """A document by the mapping table."""
        mapping = table()
        document = mapping.documents[drafts[0].type]
        head = {
            "document": f"DOC-{number:08d}",
            "type": document.type,
            "created": datetime.fromisoformat(created),
            "sender": MARKET,
            "receiver": SUPPLIER,
            "reason": drafts[0].group,
            "role": "grid-operator",
            "energy": "electricity",
        }
        return write(mapping, document, head, [draft.body for draft in drafts])


def _draft(label: str, values: dict[str, Any], kinds: tuple[str, ...], reason: str, *, begins: bool = False) -> Draft:
    return Draft(label, values, values["access_point"], values["reference"], kinds, reason, begins)


def _contract(number: int, situation: Situation) -> str:
    return f"AC-{number:06d}-{situation.supply.number}"


def _event(prefix: str, life: Life, step: Step, almanac: Almanac) -> dict[str, Any]:
    return {
        "reference": f"{prefix}-{life.number:06d}-{step.day}",
        "function": "original",
        "effective": datetime.fromisoformat(almanac.instant(step.day, step.minute)),
        "access_point": access_point(life.number),
        "contract_reference": _contract(life.number, step.after),
    }


def _meter(situation: Situation) -> dict[str, Any]:
    return {
        "meter": situation.meter.serial,
        "action": "present",
        "meter_type": "SMART" if situation.meter.smart else "CLASSIC",
        "registers": 2,
        "digits": 6,
    }


def _data(situation: Situation, almanac: Almanac) -> dict[str, Any]:
    """What a document says of point, contract, customer and meter."""
    customer = situation.customer
    return {
        "contract_kind": "E03",
        "contract_status": "in-service",
        "contract_start": almanac.civil(situation.supply.start),
        "tariff": "LS_TH",
        "subscribed_power": Decimal(situation.terms.power),
        "power_unit": "kVA",
        "calendar": "HILO",
        "segment": "LV",
        "direction": "consumption",
        "connection_status": "connected",
        "metering_method": "E14" if situation.meter.smart else "E13",
        "service_level": "SMR1",
        "profile": "S21",
        "phases": 1,
        "voltage": "E06",
        "connection_power": Decimal(40),
        "remote_readable": situation.meter.smart,
        "reading_period": 12,
        "invoice_month": "05",
        "switchable": True,
        "grid_area": AREA,
        "category": "professional" if customer.company else "residential",
        "surname": None if customer.company else customer.surname,
        "first_name": None if customer.company else customer.first_name,
        "company": customer.company,
        "company_id": "0123456749" if customer.company else None,
        "meters": [_meter(situation)],
    }
