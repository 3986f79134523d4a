"""What makes two registers the same, and what one unit of an index counts."""

from __future__ import annotations

from functools import lru_cache

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
    return _key(register.grid, register.direction, register.time_class, register.unit, register.product)


_latest: tuple[tuple[Register, ...], list[str]] = ((), [])


def register_keys(registers: tuple[Register, ...]) -> list[str]:
    """The keys of the registers of a reading, in their order; not to be changed. Those of the latest reading are at
    hand: its history and its effects ask for the same ones."""
    global _latest
    known = _latest
    if known[0] is not registers:
        known = _latest = registers, [register_key(register) for register in registers]
    return known[1]


@lru_cache(maxsize=4096)
def _key(grid: str, direction: str, time_class: str, unit: str, product: str | None) -> str:
    return f"{grid[0]}{direction[0]}{time_class}{_counted(unit, product)}"


def counted(part: Register | Volume) -> str:
    """What a register or an energy counts, for its key: nothing for active energy in Wh."""
    return _counted(part.unit, part.product)


def _counted(unit: str, product: str | None) -> str:
    quantity = _QUANTITIES.get(unit, f"|{unit}")
    return quantity if product is None else f"|{product}{quantity}"
