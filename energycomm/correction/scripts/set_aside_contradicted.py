"""Sets aside a reading, or energies, told again with another value, where the readings around it prove it wrong.

Of two indexes of one register at one instant one is wrong. The accepted one fits the readings around it, or they would
be refused. When the refused one lies above the index that follows, or below the one before, it is the wrong one: it is
set aside, with its reason, and can be taken back. Where both fit, the market has to say which one holds.

Of two energies of one period, the refused one is wrong where the accepted one is what the indexes of the period rise by
and the refused one is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import accepted, finest, indexes
from energycomm.correction.script import Script, Selection, SetAside
from energycomm.kernel.messages import MeteredVolume, MeterReading
from energycomm.kernel.parts import Register, Volume
from energycomm.kernel.registers import WH_PER_UNIT, counted, register_key

SCRIPT = Script(
    title="A reading or energy told again that the readings around it contradict",
    selection=Selection(by_rules=True, kinds=("MeterReading", "MeteredVolume")),
)


def correct(case: Case, parameters: Mapping[str, str]) -> SetAside | None:
    """Set it aside where one of its indexes is not between those before and after it, or one of its energies is not
    what the indexes rise by."""
    message = case.message
    if isinstance(message, MeteredVolume):
        return _energies(case, message)
    assert isinstance(message, MeterReading)
    before, after = indexes(case), indexes(case, after=True)
    for one in message.registers:
        key = register_key(one)
        low, high = before.get(key), after.get(key)
        meter = one.meter or message.meter
        if high is not None and not high.rollover and _below(high, one, meter):
            return SetAside(
                f"register {one.time_class} shows {one.value} {one.unit}, and later {high.value} {high.unit}"
            )
        if low is not None and not one.rollover and _below(one, low, meter):
            return SetAside(
                f"register {one.time_class} shows {one.value} {one.unit}, and before {low.value} {low.unit}"
            )
    return None


def _energies(case: Case, message: MeteredVolume) -> SetAside | None:
    """Set energies aside where the accepted ones agree with the indexes of their period, and they do not."""
    if message.start is None:
        return None
    first, last = _indexes_at(case, message.start), _indexes_at(case, message.effective)
    rises = {}
    for key, end in last.items():
        begin = first.get(key)
        low, high = (finest(begin), finest(end)) if begin is not None else (None, None)
        if begin is None or low is None or high is None or end.rollover or begin.meter != end.meter:
            continue
        rises[key] = high - low, WH_PER_UNIT[begin.unit] + WH_PER_UNIT[end.unit]
    held = [
        one
        for other in accepted(case, MeteredVolume)
        if (other.start, other.effective, other.market_type) == (message.start, message.effective, message.market_type)
        for one in other.volumes
    ]
    for one in message.volumes:
        key = _key(one)
        rise, rounding = rises.get(key, (None, 0))
        unit = WH_PER_UNIT.get(one.unit)
        if rise is None or unit is None or abs(one.quantity * unit - rise) <= rounding:
            continue
        if any(_key(two) == key and abs(two.quantity * WH_PER_UNIT[two.unit] - rise) <= rounding for two in held):
            return SetAside(
                f"class {one.time_class} is told as {one.quantity} {one.unit}, the indexes rise by {rise} Wh"
            )
    return None


def _indexes_at(case: Case, instant: datetime) -> dict[str, Register]:
    """The registers of the accepted readings of an instant, by what makes registers the same."""
    return {
        register_key(one): structs.replace(one, meter=one.meter or reading.meter)
        for reading in accepted(case, MeterReading)
        if reading.effective == instant and reading.function != "cancel"
        for one in reading.registers
    }


def _key(energy: Volume) -> str:
    """The key of the register that an energy was counted by."""
    return f"{energy.grid[0]}{energy.direction[0]}{energy.time_class}{counted(energy)}"


def _below(lower: Register, upper: Register, meter: str | None) -> bool:
    """Whether an index is below another one of the same meter, by more than both are rounded."""
    small, large = finest(lower), finest(upper)
    if any(one.meter not in (None, meter) for one in (lower, upper)) or small is None or large is None:
        return False
    return small + max(WH_PER_UNIT[lower.unit], WH_PER_UNIT[upper.unit]) <= large
