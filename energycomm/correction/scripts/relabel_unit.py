"""Gives indexes the unit that they were read in, where Wh was written for kWh or kWh for Wh.

An index that is a thousand times the one before it, or a thousandth of it, bears the wrong unit. The figures are left
as the market wrote them; only the word behind them changes, and only where it puts the index between the accepted one
before and the one after. Invoices that were drawn with the wrong unit have to be looked at: ask the grid operator to
confirm the unit before you run it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import finest, indexes
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import WH_PER_UNIT, register_key

OTHER = {"Wh": ("kWh",), "kWh": ("Wh", "MWh"), "MWh": ("kWh",), "m3": ("dm3",), "dm3": ("m3",)}
"""Unit -> those it is mistaken for."""

SCRIPT = Script(
    title="Indexes in the wrong unit",
    selection=Selection(by_rules=True, kinds=("MeterReading",)),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The reading with the units that fit its history."""
    message = case.message
    assert isinstance(message, MeterReading)
    before, after = indexes(case), indexes(case, after=True)
    told = []
    registers = []
    for register in message.registers:
        unit = _fitting(register, before.get(register_key(register)), after.get(register_key(register)))
        if unit != register.unit:
            told.append(f"{register.time_class} {register.value} {register.unit} -> {unit}")
        registers.append(structs.replace(register, unit=unit))
    if not told:
        return None
    return Modify(structs.replace(message, registers=tuple(registers)), "; ".join(told))


def _fitting(register: Register, before: Register | None, after: Register | None) -> str:
    """The unit that puts an index between those around it; its own where that does already, or where none does."""
    least = None if before is None else finest(before)
    if least is None or not least or register.unit not in OTHER:
        return register.unit
    most = None if after is None else finest(after)
    rounding = (
        WH_PER_UNIT[register.unit]
        if before is None
        else max(WH_PER_UNIT[register.unit], WH_PER_UNIT.get(before.unit, 1))
    )
    for unit in (register.unit, *OTHER[register.unit]):
        value = register.value * WH_PER_UNIT[unit]
        if (
            value + max(rounding, WH_PER_UNIT[unit]) >= least
            and value < 500 * least
            and (most is None or value <= most)
        ):
            return unit
    return register.unit
