"""What makes two registers the same, and what one unit of an index counts."""

from __future__ import annotations

from energycomm.kernel.parts import Register, Volume

WH_PER_UNIT: dict[str, int] = {
    "Wh": 1, "kWh": 1000, "MWh": 1_000_000, "dm3": 1, "m3": 1000, "VArh": 1, "kVArh": 1000,
}  # fmt: skip
"""Unit of an index -> how many of the finest unit of its quantity it counts: Wh, VArh, dm3 of gas. Any other unit
counts as itself."""
_QUANTITIES = {"Wh": "", "kWh": "", "MWh": "", "dm3": "|dm3", "m3": "|dm3", "kVArh": "|VArh"}


def register_key(register: Register) -> str:
    """What makes two registers the same from one reading to the next; gas in m3 is none in kWh, and an index of
    reactive energy none of active energy."""
    return f"{register.grid[0]}{register.direction[0]}{register.time_class}{counted(register)}"


def counted(part: Register | Volume) -> str:
    """What a register or an energy counts, for its key: nothing for active energy in Wh."""
    quantity = _QUANTITIES.get(part.unit, f"|{part.unit}")
    return quantity if part.product is None else f"|{part.product}{quantity}"
