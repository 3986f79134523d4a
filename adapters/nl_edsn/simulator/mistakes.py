"""Mistakes in EDSN's messages: at least one of each family of rules, and of broken content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.nl_edsn.simulator.documents import Content
from energycomm.simulation.edits import drop, inside, put, repeated
from energycomm.simulation.staging import Market, Mistake

POINT, TERMS, HOLDER, METER, READING = "AccessPointData", "ContractTerms", "CustomerData", "MeterData", "MeterReading"
EVERYTHING = (POINT, TERMS, HOLDER, METER)
_PIECE, _P4 = "Portaal_MeteringPoint", "P4MeteringPoint"


def _put(path: str, text: str | None) -> Callable[[Content], Content]:
    """Give every element of a path another text; None takes it out."""
    return _changed(path, lambda _: text)


def _changed(path: str, change: Callable[[Any], Any]) -> Callable[[Content], Content]:
    first, _, rest = path.partition("/")

    def edit(content: Content) -> Content:
        inner = _changed(rest, change) if rest else change
        return [(tag, inner(value) if tag == first else value) for tag, value in content]

    return edit


def _both(*edits: Callable[[Content], Content]) -> Callable[[Content], Content]:
    def edit(content: Content) -> Content:
        for one in edits:
            content = one(content)
        return content

    return edit


_METER, _BUILT, _HELD = "Portaal_EnergyMeter", "MPPhysicalCharacteristics", "MPCommercialCharacteristics"
_READ = "P4EnergyMeter/P4Register/P4Reading/Reading"

MISTAKES: tuple[Mistake, ...] = (
    Mistake("NL-P05", "change", _put(f"{_BUILT}/InvoiceMonth", "13"), {POINT: ("NL-P05",)}),
    Mistake("NL-P06", "change", _put(f"{_BUILT}/MeteringMethod", "XXX"), warnings={POINT: ("NL-P06",)}),
    Mistake(
        "NL-P12",
        "change",
        _put(f"{_BUILT}/CapTarCode", "8719999910001"),
        {POINT: ("NL-P12",), TERMS: ("NL-C01",)},
    ),
    Mistake("NL-U01", "change", _put(f"{_HELD}/GridContractParty/Surname", None), {HOLDER: ("NL-U01",)},
            error_class="missing"),
    Mistake("NL-M02", "change", _put(f"{_METER}/NrOfRegisters", "9"), {METER: ("NL-M02",)}),
    Mistake("CO-R05", "reading", _changed(_READ, lambda text: f"{float(text) - 2000:.3f}"), {READING: ("CO-R05",)}),
    Mistake("NL-R08", "reading", _put("P4EnergyMeter/ID", "E9999999999999999"), warnings={READING: ("NL-R08",)}),
    Mistake(
        "CO-S05",
        "change",
        _both(_put(f"{_BUILT}/ProfileCategory", "E1A"), _put(f"{_BUILT}/ContractedCapacity", "16"),
              _put(f"{_HELD}/GridContractParty/Surname", "Anders")),
        {POINT: ("CO-S05",), TERMS: ("CO-S05",), HOLDER: ("CO-S05",)},
        error_class="ordering",
        extra=True,
    ),
    Mistake("NL-E02", "change", document=put("ReceiverID", "8719999100105"),
            errors=dict.fromkeys(EVERYTHING, ("NL-E02",)), warnings={POINT: ("NL-P19",)}),
    Mistake("SYN_MISSING", "change", document=inside(_PIECE, drop("EANID")), refused=True),
    Mistake("SYN_VALUE", "change", document=inside(_PIECE, put("MutationDate", "2025-02-30")), refused=True),
    Mistake("SYN_CODE", "change", document=inside(_PIECE, put("ProductType", "WATER")), refused=True),
    Mistake("SYN_UNEXPECTED", "reading", document=inside(_P4, repeated("QueryDate")), refused=True),
    Mistake("new-profile", "change", _put(f"{_BUILT}/ProfileCategory", "E9Z"), warnings={POINT: ("NL-P08",)},
            error_class="product"),
)  # fmt: skip
"""Each mistake with the codes that it must get."""

MARKET_FAULTS = Market(
    MISTAKES,
    frozenset((*EVERYTHING, "StartOfSupply", "EndOfSupply", READING)),
    by_contract=False,
    orphans={"MeterReadingExchangeResponse": {READING: ("NL-R12",)}},
)
