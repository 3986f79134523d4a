"""Sets aside a reading that was told again with another index, where the readings around it prove it wrong.

Of two indexes of one register at one instant one is wrong. The accepted one fits the readings around it, or they would
be refused. When the refused one lies above the index that follows, or below the one before, it is the wrong one: it is
set aside, with its reason, and can be taken back. Where both fit, the market has to say which one holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from energycomm.correction.cases import Case
from energycomm.correction.neighbours import finest, indexes
from energycomm.correction.script import Script, Selection, SetAside
from energycomm.kernel.messages import MeterReading
from energycomm.kernel.parts import Register
from energycomm.kernel.registers import WH_PER_UNIT, register_key

SCRIPT = Script(
    title="A reading told again that the readings around it contradict",
    selection=Selection(by_rules=True, kinds=("MeterReading",)),
)


def correct(case: Case, parameters: Mapping[str, str]) -> SetAside | None:
    """Set it aside where one of its indexes is not between those before and after it."""
    message = case.message
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


def _below(lower: Register, upper: Register, meter: str | None) -> bool:
    """Whether an index is below another one of the same meter, by more than both are rounded."""
    small, large = finest(lower), finest(upper)
    if any(one.meter not in (None, meter) for one in (lower, upper)) or small is None or large is None:
        return False
    return small + max(WH_PER_UNIT[lower.unit], WH_PER_UNIT[upper.unit]) <= large
