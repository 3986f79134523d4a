"""Domain rows: equal messages write equal rows, wherever the messages came from."""

from __future__ import annotations

from energycomm.eis import tables
from energycomm.eis.arrays import parts_json
from energycomm.eis.fitting import ordered
from energycomm.kernel.codec import decode, decode_json, encode, encode_json
from energycomm.kernel.instants import micros
from energycomm.kernel.messages import KernelMessage, MeterReading
from energycomm.pipeline.effects import Step, store_reading
from energycomm.pipeline.state import AccessPointState
from tests.pipeline.story import day, reading


def registers_of(message: KernelMessage) -> str:
    """What a reading leaves of its registers in the domain table."""
    step = Step(AccessPointState(), message, micros(message.effective), 1, 1, {})
    store_reading(step)
    (row,) = step.written(tables.reading)
    (stored,) = ordered(tables.reading, [{"id": 1, **row}])
    return str(stored[tables.reading.columns.keys().index("registers")])


def test_a_message_that_was_stored_and_read_again_writes_the_same_row() -> None:
    """A default that was written out and read again is no other value."""
    made = reading("99000000000017", day(31), 1_000_000).messages[0]
    assert isinstance(made, MeterReading)
    by_xml, by_json = decode(encode(made)), decode_json(encode_json(made))
    assert isinstance(by_xml, MeterReading)
    assert isinstance(by_json, MeterReading)
    wanted = registers_of(made)
    assert '"direction":"consumption"' in parts_json(wanted)
    assert registers_of(by_xml) == wanted
    assert registers_of(by_json) == wanted
