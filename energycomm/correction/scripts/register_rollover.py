"""Marks a register as rolled over when its index fell from the top of its range to the bottom.

A register of six digits that showed 999 812 and shows 000 147 has not gone back: it began again. That is taken for what
happened only near both ends of the range, how near is a parameter; anything else is an index that went back, and the
grid operator's to explain.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import indexes
from energycomm.correction.script import Modify, Parameter, Script, Selection
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import register_key

SCRIPT = Script(
    title="A register that passed through zero",
    selection=Selection(by_rules=True, kinds=("MeterReading",)),
    parameters=(Parameter(name="percent", help="how near to the ends of its range, in percent of it", default="10"),),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The reading with the mark at the registers that began again."""
    message = case.message
    assert isinstance(message, MeterReading)
    share = float(parameters["percent"]) / 100
    before = indexes(case)
    registers = tuple(
        structs.replace(one, rollover=True) if _began_again(one, before.get(register_key(one)), share) else one
        for one in message.registers
    )
    if registers == message.registers:
        return None
    names = " ".join(new.time_class for old, new in zip(message.registers, registers, strict=True) if old != new)
    return Modify(structs.replace(message, registers=registers), f"passed through zero: {names}")


def _began_again(register: Register, before: Register | None, share: float) -> bool:
    if before is None or register.digits is None or register.rollover or before.unit != register.unit:
        return False
    top = float(10**register.digits)
    return before.value >= top * (1 - share) and register.value <= top * share
