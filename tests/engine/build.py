"""Messages for the engine's tests, with everything filled that a test does not care about."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from energycomm.kernel.messages import ContractTerms, MeterReading
from energycomm.kernel.parts import Register

NEW_YEAR = datetime.fromisoformat("2024-01-01T00:00:00+01:00")
HEAD: dict[str, Any] = {
    "market": "FR",
    "market_type": "C15",
    "reference": "R1",
    "created": NEW_YEAR,
    "effective": NEW_YEAR,
    "sender": "GRD",
}


def reading(*registers: Register, **fields: Any) -> MeterReading:
    """A periodic reading that was read."""
    return MeterReading(**{**HEAD, "qualification": "periodic", "nature": "estimated", **fields}, registers=registers)


def terms(**fields: Any) -> ContractTerms:
    """Contract terms."""
    return ContractTerms(**{**HEAD, **fields})


def register(value: int, time_class: str = "HP", **fields: Any) -> Register:
    """A register in kWh."""
    return Register(**{"grid": "supplier", "time_class": time_class, "value": value, "unit": "kWh", **fields})
