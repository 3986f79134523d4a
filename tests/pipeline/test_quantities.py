"""Indexes are compared with indexes of the same quantity: energy with energy, gas in m3 with gas in m3 or dm3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.kernel.verdicts import Action, Verdict
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk, shipped_rules
from tests.pipeline.story import day, reading, start

PRM = "99000000000017"
COMPARING = frozenset(("CO-R05", "CO-R07"))
"""An index goes back; an index is a thousand times the one before, or a thousandth of it."""


class Rules(ParallelEngine):
    """The shipped rules; of a reading, those that compare it with the one before."""

    def __init__(self) -> None:
        super().__init__(shipped_rules())

    def judge(self, message: KernelMessage, history: Any) -> Verdict:
        """Refuse a reading by the comparisons alone."""
        verdict = super().judge(message, history)
        if not isinstance(message, MeterReading):
            return verdict
        found = tuple(one for one in verdict.findings if one.error_code in COMPARING)
        if found:
            return Verdict(label="rejected", findings=found)
        return Verdict(label="accepted", actions=(Action(verb="store-reading", rule="test"),))


def measured(at: int, value: int, unit: str) -> Transaction:
    """A reading of an index in a unit."""
    made = reading(PRM, day(at), value * 1000)
    (message,) = made.messages
    assert isinstance(message, MeterReading)
    registers = (structs.replace(message.registers[0], value=value, unit=unit),)
    return structs.replace(made, messages=(structs.replace(message, registers=registers),))


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        ((1200, "m3"), (1150, "kWh"), set()),
        ((1200, "kWh"), (1150, "m3"), set()),
        ((1200, "m3"), (1200, "kWh"), set()),
        ((1200, "m3"), (1_200_000, "kWh"), set()),
        ((1200, "m3n"), (1150, "m3"), set()),
        ((1200, "m3n"), (1150, "Wh"), set()),
        ((1200, "kvarh"), (1150, "kWh"), set()),
        ((1200, "m3"), (1150, "m3"), {"CO-R05"}),
        ((1200, "m3"), (1_150_000, "dm3"), {"CO-R05"}),
        ((1200, "m3"), (1_250_000, "dm3"), set()),
        ((1200, "m3n"), (1150, "m3n"), {"CO-R05"}),
        ((1200, "kWh"), (1_150_000, "Wh"), {"CO-R05"}),
        ((1200, "kWh"), (1_250_000, "kWh"), {"CO-R07"}),
        ((1200, "m3"), (1_250_000, "m3"), {"CO-R07"}),
    ],
)
def test_only_indexes_of_one_quantity_are_compared(
    tmp_path: Path, first: tuple[int, str], second: tuple[int, str], codes: set[str]
) -> None:
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}", Rules())
    desk.deliver([start(PRM, day(0)), measured(31, *first)])
    desk.deliver([measured(60, *second)])
    assert {code for (code,) in desk.rows("SELECT error_code FROM finding WHERE severity = 'error'")} == codes


def test_a_quantity_is_compared_with_the_last_index_of_its_own(tmp_path: Path) -> None:
    """An index in kWh between two in m3 makes neither forgotten."""
    desk = Desk(f"sqlite:///{tmp_path / 'eis.db'}", Rules())
    desk.deliver([start(PRM, day(0)), measured(31, 1200, "m3"), measured(60, 900, "kWh"), measured(90, 1190, "m3")])
    desk.deliver([measured(120, 1210, "m3"), measured(150, 890, "kWh")])
    refused = (
        "SELECT effective FROM kernel_message WHERE kind = 'MeterReading' AND state = 'rejected' ORDER BY effective"
    )
    assert desk.rows(refused) == [(micros(day(90)),), (micros(day(150)),)]
