"""Leaves out a register, or an energy, that a message gives twice with the same value.

A repeated line that says the same changes nothing. Where the two differ the market has to say which one holds, and
nothing is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import KernelMessage, MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume

_P = TypeVar("_P", Register, Volume)

SCRIPT = Script(
    title="A register given twice",
    selection=Selection(by_rules=True, kinds=("MeterReading", "MeteredVolume")),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The message with each register once."""
    message = case.message
    once: KernelMessage = message
    if isinstance(message, MeterReading):
        once = structs.replace(message, registers=_once(message.registers))
    elif isinstance(message, MeteredVolume):
        once = structs.replace(message, volumes=_once(message.volumes))
    return None if once == message else Modify(once, "a repeated line left out")


def _once(parts: Iterable[_P]) -> tuple[_P, ...]:
    """The parts without those that repeat another; ranks apart, which number the lines."""
    found: dict[Hashable, _P] = {}
    for part in parts:
        said = tuple(getattr(part, name) for name in part.__struct_fields__ if name != "rank")
        found.setdefault(said, part)
    return tuple(found.values())
