"""Leaves out the previous index that a reading repeats where it contradicts the reading that we accepted.

A reading repeats the index before it for the reader's comfort. When that copy is wrong, and the new index fits the
accepted one, the copy is what is wrong: it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import finest, indexes
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import register_key

SCRIPT = Script(
    title="A repeated previous index that is wrong",
    selection=Selection(by_rules=True, kinds=("MeterReading",)),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The reading without the copies that contradict the history."""
    message = case.message
    assert isinstance(message, MeterReading)
    before = indexes(case)
    registers = tuple(
        structs.replace(one, previous_value=None) if _contradicts(one, before.get(register_key(one))) else one
        for one in message.registers
    )
    if registers == message.registers:
        return None
    return Modify(structs.replace(message, registers=registers), "the repeated previous index was not the accepted one")


def _contradicts(register: Register, before: Register | None) -> bool:
    """Whether the copy is above the index itself, and the accepted index before is not."""
    if register.previous_value is None or before is None or register.previous_value <= register.value:
        return False
    mine, known = finest(register), finest(before)
    return mine is not None and known is not None and known <= mine
