"""Mistakes in the documents of the Belgian market: at least one of each family of rules, and of broken content."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from energycomm.simulation.edits import twice, with_text, within, without
from energycomm.simulation.staging import Draft, Market, Mistake

POINT, TERMS, HOLDER, METER, READING = "AccessPointData", "ContractTerms", "CustomerData", "MeterData", "MeterReading"
EVERYTHING = (POINT, TERMS, HOLDER, METER)
_PIECE = "PayloadMasterDataMPEvent"
Body = dict[str, Any]


def _put(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, **fields}


def _meter(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "meters": [{**meter, **fields} for meter in body["meters"]]}


def _registers(change: Callable[[Body], Body]) -> Callable[[Body], Body]:
    return lambda body: {**body, "registers": [change(register) for register in body["registers"]]}


def _lower(register: Body) -> Body:
    return {**register, "value": register["value"] - 2000}


def _again(body: Body) -> Body:
    return {**body, "reference": f"{body['reference']}-2", "profile": "S22", "tariff": "LS_TM", "phone": "025550100"}


def _corrected(draft: Draft) -> Draft:
    body = draft.body
    made = {**body, "reference": f"RC{body['reference'][2:]}", "function": "replace", "original": body["reference"]}
    return draft._replace(body={**made, "correction_reason": "METER_FAULT"})


def _recipient(content: bytes) -> bytes:
    """Another recipient, with a wrong check digit."""
    return content.replace(b"5419999000024</", b"5419999000025</", 1)


MISTAKES: tuple[Mistake, ...] = (
    Mistake("BE-P06", "change", _put(phases=2), {POINT: ("BE-P06",)}),
    Mistake("BE-P10", "change", _put(reading_period=7), {POINT: ("BE-P10",)}),
    Mistake("BE-C01", "change", _put(contract_kind="E99"), {TERMS: ("BE-C01",)}, error_class="product"),
    Mistake("BE-C02", "change", _put(subscribed_power=Decimal(0)), {TERMS: ("BE-C02",)}),
    Mistake("BE-U01", "change", _put(category=None), {HOLDER: ("BE-U01",)}, error_class="missing"),
    Mistake("BE-M02", "change", _meter(registers=99), {METER: ("BE-M02",)}),
    Mistake("CO-R04", "reading", _registers(lambda one: {**one, "digits": 2}), {READING: ("CO-R04",)},
            {READING: ("CO-R11",)}),
    Mistake("CO-R05", "reading", _registers(_lower), {READING: ("CO-R05",)}),
    Mistake(
        "CO-S05",
        "change",
        _again,
        {POINT: ("CO-S05",), TERMS: ("CO-S05",), HOLDER: ("CO-S05",)},
        error_class="ordering",
        extra=True,
    ),
    Mistake("CO-S03", "stop", lambda body: {**body, "reference": f"{body['reference']}-2"},
            {"EndOfSupply": ("CO-S03", "CO-S05")},
            extra=True),
    Mistake("BE-E02", "change", document=_recipient,
            errors={POINT: ("BE-E02",), **dict.fromkeys((TERMS, HOLDER, METER), ("BE-E02", "BE-P05"))}),
    Mistake("SYN_MISSING", "change", document=within(_PIECE, without("StartOfOccurrence")), refused=True),
    Mistake("SYN_VALUE", "change", document=within(_PIECE, with_text("NumberOfPhases", "one")), refused=True),
    Mistake("SYN_CODE", "change", document=within(_PIECE, with_text("PhysicalStatus", "E99")), refused=True),
    Mistake("SYN_UNEXPECTED", "reading", document=within("PayloadMeterReading", twice("MeterReadingOrigin")),
            refused=True),
    Mistake("new-regime", "change", _put(service_level="SMR9"), {POINT: ("BE-P07",)}, error_class="product"),
)  # fmt: skip
"""Each mistake with the codes that it must get."""

MARKET_FAULTS = Market(
    MISTAKES,
    frozenset((*EVERYTHING, "StartOfSupply", "EndOfSupply", READING)),
    by_contract=True,
    corrected=_corrected,
)
