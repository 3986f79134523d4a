"""Numbers the intervals of a series from 1 on, where there are as many as its period has.

Some systems count the intervals from 0, over the whole month, or jump a number. The values stand in their order; when
their number is that of the intervals of the period, the numbers follow from it. A repeated number is not mended: one
does not know which of the two values holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from msgspec import structs

from energycomm.correction.cases import Case
from energycomm.correction.script import Modify, Script, Selection
from energycomm.kernel.messages import MeasureSeries

SCRIPT = Script(
    title="Intervals numbered from one on",
    selection=Selection(by_rules=True, kinds=("MeasureSeries",)),
)


def correct(case: Case, parameters: Mapping[str, str]) -> Modify | None:
    """The series with its intervals numbered in their order."""
    message = case.message
    assert isinstance(message, MeasureSeries)
    if message.resolution is None:
        return None
    numbers = [one.position for one in message.positions]
    intervals = (message.end - message.effective) / timedelta(minutes=message.resolution)
    if len(set(numbers)) != len(numbers) or len(numbers) != intervals:
        return None
    ordered = sorted(message.positions, key=lambda one: one.position)
    positions = tuple(structs.replace(one, position=number) for number, one in enumerate(ordered, 1))
    return Modify(structs.replace(message, positions=positions), f"intervals {min(numbers)}.. numbered from 1 on")
