"""MeterReadingExchangeNotification: a reading that we establish, or dispute.

EDSN's schema is not public; names, order and codes were read in public software for this portal. There is no message
of its own for a dispute: it is a reading whose mutation reason is DISPUTE.
"""

from __future__ import annotations

from adapters.nl_edsn.codes import refusal
from adapters.nl_edsn.exchange import DISPUTE
from adapters.nl_edsn.measures import DIRECTIONS, PRODUCTS, UNITS
from adapters.nl_edsn.requests.document import Content, Document, Unbuildable, external, needed, portaal
from adapters.nl_edsn.settings import Settings
from energycomm.kernel.parts import Register
from energycomm.kernel.requests import MeterReadingSubmission
from energycomm.kernel.vocabulary import ReadingNature, Reason

EVENTS: dict[Reason, str] = {
    "move-in": "MOVEIN",
    "move-out": "MOVEOUT",
    "supplier-switch": "SWITCHLV",
    "end-of-contract": "EOSUPPLY",
    "periodic": "PERMTR",
    "historical": "HISTMTR",
    "on-demand": "ONRQST",
    "correction": DISPUTE,
}
"""Business reason -> MutationReason of the reading, where the request does not name the market's own code."""

METHODS: dict[ReadingNature, str] = {"read": "003", "self-read": "22", "estimated": "005"}
"""Nature of the reading -> ReadingMethod: physical, told by the customer, calculated; of another none is written."""

_UNITS = {unit.name: code for code, unit in UNITS.items()}
_PRODUCTS = {energy: code for code, energy in PRODUCTS.items()}
_DIRECTIONS = {direction: code for code, direction in DIRECTIONS.items()}


def reading(message: MeterReadingSubmission, reference: str, settings: Settings) -> Document:
    """A reading of one day: all registers of one meter."""
    told = external(reference)
    reason = DISPUTE if message.dispute else message.market_reason or EVENTS.get(needed(message.reason, "reason"))
    if reason is None:
        expected = ", ".join(EVENTS)
        raise Unbuildable(refusal("BUILD_VALUE", path="reason", value=message.reason, expected=expected))
    if not message.registers:
        raise Unbuildable(refusal("BUILD_MISSING", path="registers", expected="an index at least"))
    day = needed(message.requested_date, "requested_date")
    registers: Content = [("Register", _register(register, message, str(day))) for register in message.registers]
    meter: Content = [
        ("ID", needed(message.meter or message.registers[0].meter, "meter")),
        ("NrOfRegisters", len(message.registers)),
        *registers,
    ]
    mutation: Content = [
        ("Consumer", needed(message.receiver, "receiver")),
        ("ExternalReference", told),
        ("Initiator", needed(message.sender, "sender")),
        ("MutationReason", reason),
        ("Dossier", [("ID", message.request_reference)]),
    ]
    point: Content = [
        ("EANID", needed(message.access_point, "access_point")),
        ("ProductType", _PRODUCTS[message.energy]),
        ("GridOperator_Company", [("ID", needed(message.grid_operator, "grid_operator"))]),
        ("Portaal_EnergyMeter", meter),
        ("Portaal_Mutation", mutation),
    ]
    return portaal("MeterReadingExchangeNotification", told, point, settings)


def _register(register: Register, message: MeterReadingSubmission, day: str) -> Content:
    if register.unit not in _UNITS:
        expected = ", ".join(_UNITS)
        raise Unbuildable(refusal("BUILD_VALUE", path="registers.unit", value=register.unit, expected=expected))
    return [
        ("MeasureUnit", _UNITS[register.unit]),
        ("MeteringDirection", _DIRECTIONS[register.direction]),
        ("NrOfDigits", register.digits),
        ("TariffType", register.time_class),
        (
            "Reading",
            [("Reading", register.value), ("ReadingDate", day), ("ReadingMethod", METHODS.get(message.nature))],
        ),
    ]
