"""A meter that only readings name leads to its access point."""

from __future__ import annotations

from msgspec import structs

from energycomm.eis import finding
from energycomm.eis.database import reading as reading_
from energycomm.kernel.messages import MeterReading
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, reading, start, transaction

POINT, WAITING = "99000000000017", "99000000000025"


def of_registers(prm: str, at: int, *serials: str) -> Transaction:
    """A reading with a meter for each register."""
    (message,) = reading(prm, day(at), 1_200_000).messages
    assert isinstance(message, MeterReading)
    registers = [
        structs.replace(message.registers[0], meter=serial, time_class=f"T{number}")
        for number, serial in enumerate(serials)
    ]
    return transaction([structs.replace(message, meter=None, registers=tuple(registers))])


def test_a_meter_that_only_readings_name_is_found(database_url: str) -> None:
    desk = Desk(database_url)
    desk.deliver([start(POINT, day(0)), of_registers(POINT, 31, "MET-000777001", "MET-000777002")])
    desk.deliver([of_registers(POINT, 62, "MET-000777001", "MET-000777002")])
    desk.deliver([of_registers(WAITING, 31, "MET-000888001")])

    def led(typed: str) -> set[tuple[str, str, str]]:
        finding.refresh(desk.database)
        with reading_(desk.database) as connection:
            rows = finding.values_like(connection, [typed]) or finding.values_near(connection, typed)
        return {(row.key, row.value, row.how) for row in rows}

    assert led("met-000777001") == {(POINT, "MET-000777001", "whole")}
    assert {value for _, value, _ in led("000777")} == {"MET-000777001", "MET-000777002"}
    assert led("MET-000888001") == {(WAITING, "MET-000888001", "whole")}, "of a reading that waits too"
    assert led("MET-000888010") == {(WAITING, "MET-000888001", "similar")}
