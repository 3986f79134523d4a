"""A measure that is told again with another value: one value is current, whatever arrives first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from energycomm.eis.arrays import parts_of
from energycomm.eis.comparison import canonical
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    KernelMessage,
    MeasureSeries,
    MeterData,
    MeteredVolume,
)
from energycomm.kernel.parts import Position, Power, Register, Volume
from energycomm.market.contract import Transaction
from tests.pipeline.desk import Desk
from tests.pipeline.story import day, end, head, reading, start, transaction

PRM = "99000000000017"


def changed(told: Transaction, *, hours: int = 0, **fields: object) -> Transaction:
    """A CH message whose one Kernel message says something else, written some hours later."""
    (message,) = told.messages
    written = message.created + timedelta(hours=hours)
    reference = f"{message.reference}+{hours}{sorted(fields)}"
    return transaction([structs.replace(message, created=written, reference=reference, **fields)])


def delivered(folder: Path, told: Sequence[Transaction], url: str | None = None) -> Desk:
    """An EIS that the messages reached one by one."""
    desk = Desk(url or f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db")
    for one in told:
        desk.deliver([one])
    return desk


def in_any_order(folder: Path, *told: Transaction, url: str | None = None) -> Desk:
    """The EIS after a start of supply and the messages, which is the same in three orders of arrival; of the database
    at an address, the last order is there."""
    messages = [start(PRM, day(0)), *told]
    orders = [messages, messages[::-1], [*messages[2:], *messages[:2]]]
    desks = [delivered(folder, order, url if order is orders[-1] else None) for order in orders]
    assert all(canonical(one.database, carriers=False) == canonical(desks[0].database, carriers=False) for one in desks)
    return desks[0]


def verdicts(desk: Desk, kind: str) -> list[str]:
    """The verdicts of the messages of a kind, in the order in which they were written."""
    sql = (
        f'SELECT k.state, (SELECT min(f.error_code) FROM finding f WHERE f.message_id = k.id AND f."current") '
        f"FROM kernel_message k WHERE k.kind = '{kind}' ORDER BY k.id"
    )
    return sorted(" ".join(filter(None, row)) for row in desk.rows(sql))


def rows(desk: Desk, table: str, column: str) -> list[tuple[str, object]]:
    """Status and content of the rows of a table."""
    sql = f"SELECT status, {column} FROM {table} ORDER BY status, id"
    return [(status, parts_of(told)) for status, told in desk.rows(sql)]


def test_the_same_reading_with_another_index_is_refused(tmp_path: Path) -> None:
    """C15 entry, R15 with an index, the same Id_Releve with another index, announced as no correction."""
    first, again = reading(PRM, day(31), 1_100_000), changed(reading(PRM, day(31), 1_130_000), hours=3)
    desk = in_any_order(tmp_path, first, again)
    assert verdicts(desk, "MeterReading") == ["accepted", "rejected CO-R12"]
    ((status, registers),) = rows(desk, "reading", "registers")
    assert (status, registers[0]["value"]) == ("current", 1100)  # type: ignore[index]
    ((comment,),) = desk.rows("SELECT comment FROM finding WHERE error_code = 'CO-R12'")
    assert "1130 kWh" in comment
    assert "1100 kWh" in comment


def test_an_index_that_is_repeated_is_current_once(tmp_path: Path) -> None:
    first = reading(PRM, day(31), 1_100_000)
    desk = in_any_order(tmp_path, first, changed(first, hours=3, reading_reference="R-2"))
    assert verdicts(desk, "MeterReading") == ["accepted", "accepted"]
    assert [status for status, _ in rows(desk, "reading", "registers")] == ["current", "replaced"]


def test_a_reading_may_stand_in_the_place_of_one_that_is_cancelled(tmp_path: Path) -> None:
    """The market takes a reading back and sends another one, in whatever order the three arrive."""
    first = reading(PRM, day(31), 1_100_000)
    cancelled = changed(reading(PRM, day(31), 1_100_000, function="cancel"), hours=3)
    new = changed(reading(PRM, day(31), 1_130_000), hours=3, reading_reference="R-new")
    desk = in_any_order(tmp_path, first, cancelled, new)
    assert verdicts(desk, "MeterReading") == ["accepted"] * 3
    held = {status: told for status, told in rows(desk, "reading", "registers") if told}
    assert {status: told[0]["value"] for status, told in held.items()} == {"current": 1130, "cancelled": 1100}  # type: ignore[index]


def test_an_identifier_is_that_of_one_reading(tmp_path: Path) -> None:
    first = reading(PRM, day(31), 1_100_000)
    later = changed(reading(PRM, day(59), 1_250_000), reading_reference="R20260205")
    assert first.messages[0].reading_reference == "R20260205"  # type: ignore[attr-defined]
    assert verdicts(in_any_order(tmp_path, first, later), "MeterReading") == ["accepted", "rejected CO-R13"]


def test_two_meters_and_two_sides_of_an_event_stand_side_by_side(tmp_path: Path) -> None:
    """The old meter and the new one are read at one instant; that is no contradiction."""
    old = changed(reading(PRM, day(31), 1_100_000), reading_reference=None, qualification="before-event")
    new = changed(
        reading(PRM, day(31), 7_000),
        hours=1,
        reading_reference=None,
        qualification="after-event",
        meter="2",
        market_type="C15",
    )
    other = changed(reading(PRM, day(31), 9_000), hours=2, reading_reference=None, meter="3", market_type="R151")
    desk = in_any_order(tmp_path, old, changed(old, hours=1, meter="4"), new, other)
    assert not desk.rows("SELECT 1 FROM finding WHERE error_code IN ('CO-R12', 'CO-R13')")


def registers(*told: tuple[str, int]) -> tuple[Register, ...]:
    """Registers of the distributor, in Wh."""
    return tuple(Register(grid="distributor", time_class=name, value=value, unit="Wh") for name, value in told)


def published(hours: int, *told: tuple[str, int]) -> Transaction:
    """An R64 with indexes of day 31, written some hours later."""
    fields = {"market_type": "R64", "reading_reference": None, "contract_reference": None, "calendar": None}
    return changed(reading(PRM, day(31), 0), hours=hours, registers=registers(*told), **fields)


def test_the_newest_publication_of_a_value_holds(tmp_path: Path) -> None:
    """R64 publishes a value anew: the one before is no longer current, register by register, and the change is told."""
    desk = in_any_order(
        tmp_path,
        published(0, ("HP", 1_000_000), ("HC", 500_000)),
        published(5, ("HP", 1_000_400)),
        published(9, ("HP", 1_000_400), ("HC", 500_100)),
        published(11, ("HC", 500_200)),
    )
    assert verdicts(desk, "MeterReading") == ["accepted"] * 4
    current = [
        (one["time_class"], one["value"])
        for status, told in rows(desk, "reading", "registers")
        if status == "current"
        for one in told  # type: ignore[attr-defined]
    ]
    assert sorted(current) == [("HC", 500_200), ("HP", 1_000_400)]
    assert desk.rows("SELECT count(*) FROM outbox WHERE event = 'measure-corrected'") == [(3,)]


def energies(hours: int, quantity: int, **fields: object) -> Transaction:
    """Energies of the month before day 31."""
    told = head(PRM, day(31), "R15", "CYCL", f"V{hours}{quantity}{sorted(fields)}") | {
        "contract_reference": "123456789"
    }
    told["created"] += timedelta(hours=hours)
    told |= {"start": day(0), "nature": "measured"} | fields
    volume = Volume(grid="distributor", time_class="BASE", quantity=Decimal(quantity), unit="kWh")
    return transaction([MeteredVolume(**told, volumes=(volume,))])


def test_a_period_has_one_energy(tmp_path: Path) -> None:
    """Another quantity of the period is refused; another period, or a regularisation of it, is not."""
    others = energies(2, 50, start=day(10)), energies(3, -4, nature="regularised")
    desk = in_any_order(tmp_path, energies(0, 101), energies(1, 131), *others)
    assert verdicts(desk, "MeteredVolume") == [*["accepted"] * 3, "rejected CO-V09"]


def curve(flow: str, hours: int, *values: int, at: int = 1, before: int = 0) -> Transaction:
    """A curve of half hours in W from a day on, or some hours before it, written some hours later."""
    begin = day(at) - timedelta(hours=before)
    told = head(PRM, begin, flow, None, f"{flow}{hours}{values[:2]}")
    told["created"] += timedelta(hours=hours)
    positions = tuple(Position(position=n, value=Decimal(value)) for n, value in enumerate(values, 1))
    ends = begin + timedelta(minutes=30 * len(values))
    told |= {"unit": "W", "product": "active", "direction": "consumption", "resolution": 30, "end": ends}
    return transaction([MeasureSeries(**told, positions=positions)])


@pytest.mark.parametrize(("over", "refused"), [(0, 1), (24, 2)])
def test_a_day_of_a_curve_is_told_once(tmp_path: Path, over: int, refused: int) -> None:
    """Other values of a known day are refused, the same values are not. A curve that begins a day earlier comes before
    the others in business order, so that they contradict it."""
    first = curve("R50", 30, *[300] * 48)
    other = curve("R50", 60, *[300] * over * 2, *[300] * 47, 900, before=over)
    same = curve("R50", 90, *[300] * 48)
    desk = in_any_order(tmp_path, first, other, same)
    assert verdicts(desk, "MeasureSeries") == ["accepted"] * (3 - refused) + ["rejected CO-V10"] * refused
    assert [status for (status,) in desk.rows("SELECT status FROM series")].count("current") == 1


def in_stream(told: Transaction, **fields: Any) -> Transaction:
    """A curve as one of several sources of a stream tells it."""
    return changed(told, stream="power-raw", **fields)


def values_of(desk: Desk) -> list[tuple[datetime, float, str]]:
    """Start, value and unit of each current interval."""
    found = [
        (
            datetime.fromtimestamp(at / 1e6, UTC) + timedelta(minutes=30 * (one["position"] - 1)),
            float(one["value"]),
            unit,
        )
        for status, at, unit, positions in desk.rows("SELECT status, at, unit, positions FROM series")
        if status == "current"
        for one in parts_of(positions)
        if one.get("value") is not None
    ]
    return sorted(found)


def test_curves_of_two_sources_of_a_stream_are_one(tmp_path: Path, database_url: str) -> None:
    """R4x tells two days in kW; R63A the second half of day 1, and all of day 2 but its last half hour, in W. Each half
    hour has one value, that of the newest publication: no contradiction is told."""
    first, second = (in_stream(curve("R4x", n, *[3 * n] * 48, at=n), unit="kW") for n in (1, 2))
    lap = in_stream(curve("R63A", 9, *[4500] * 24, at=2, before=12))
    later = in_stream(curve("R63A", 20, *[5500] * 47, at=2))
    desk = in_any_order(tmp_path, first, second, lap, later, url=database_url)
    assert verdicts(desk, "MeasureSeries") == ["accepted"] * 4
    told = [(value, unit) for _, value, unit in values_of(desk)]
    assert told == [(3, "kW")] * 24 + [(4500, "W")] * 24 + [(5500, "W")] * 47 + [(6, "kW")]
    assert len({at for at, _, _ in values_of(desk)}) == 96


def test_a_correction_within_a_curve_is_current_for_what_it_covers(tmp_path: Path) -> None:
    """R50 tells a day. R63B corrects 04:00 to 06:00, then 05:00 to 05:30; an older publication tells 05:00 to 07:00:
    of each half hour the newest one holds, also where it is of the same source, in whatever order they arrive."""
    of_day = in_stream(curve("R50", 10, *[100] * 48, at=1))
    parts = [
        in_stream(curve("R63B", hours, *[watts] * count, at=1, before=-hour))
        for hours, watts, count, hour in ((30, 200, 4, 4), (60, 300, 1, 5), (1, 400, 4, 5))
    ]
    expected = [100.0] * 8 + [200, 200, 300, 200] + [100] * 36
    for told in [*permutations((of_day, *parts))][::5]:
        desk = delivered(tmp_path, [start(PRM, day(0)), *told])
        assert [value for _, value, _ in values_of(desk)] == expected
        assert len({at for at, _, _ in values_of(desk)}) == 48


def test_indexes_are_held_against_both_sources_of_a_stream(tmp_path: Path) -> None:
    """Of days 1 and 2, R50 tells the first and R63B both: 7200 Wh each. The indexes rise by 14 400 Wh, or by other."""
    for rise, told in ((14_000, 0), (30_000, 1)):
        desk = delivered(
            tmp_path,
            [
                start(PRM, day(0)),
                in_stream(curve("R50", 0, *[300] * 48)),
                in_stream(curve("R63B", 5, *[300] * 48)),
                in_stream(curve("R63B", 5, *[300] * 48, at=2)),
                reading(PRM, day(1), 1_000_000),
                reading(PRM, day(3), 1_000_000 + rise),
            ],
        )
        [(number,)] = desk.rows("SELECT count(*) FROM finding WHERE error_code = 'CO-R14'")
        assert number == told


def test_what_is_dated_before_its_contract_is_said_to_be(tmp_path: Path) -> None:
    """An exit and a reading that lie before the only entry of their contract wait, and their dates are doubted; of
    another contract nothing is said."""
    entry = start(PRM, day(60))
    early = end(PRM, day(20)), reading(PRM, day(31), 1_100_000)
    other = changed(reading(PRM, day(31), 900_000), reading_reference="R-2", contract_reference="777777777")
    messages = [entry, *early, other]
    desks = [delivered(tmp_path, order) for order in (messages, messages[::-1], [*early, entry, other])]
    assert all(canonical(one.database, carriers=False) == canonical(desks[0].database, carriers=False) for one in desks)
    sql = (
        "SELECT k.kind, k.state FROM kernel_message k JOIN finding f ON f.message_id = k.id "
        "WHERE f.error_code = 'CO-S06' AND f.\"current\" ORDER BY k.kind"
    )
    assert desks[0].rows(sql) == [("EndOfSupply", "quarantined"), ("MeterReading", "quarantined")]


def test_each_class_of_a_contract_has_its_own_power(tmp_path: Path) -> None:
    """A point of C4 with 20 kVA in HPH and 30 kVA in HCH: 600 kWh of a day are too many for the one, not for the other;
    and no tariff above 36 kVA has so little."""
    entry = start(PRM, day(0))
    changes: dict[type[KernelMessage], dict[str, Any]] = {
        AccessPointData: {"segment": "C4"},
        ContractTerms: {
            "tariff": "BTSUPCU4",
            "subscribed_power": Decimal(30),
            "powers": tuple(
                Power(time_class=name, value=Decimal(kva), unit="kVA") for name, kva in (("HPH", 20), ("HCH", 30))
            ),
        },
    }
    told = [structs.replace(one, market_type="C12", **changes.get(type(one), {})) for one in entry.messages]
    days = [
        changed(published(n, ("HPH", 1_000_000 + wh), ("HCH", 1_000_000 + wh)), market_type="R171", effective=day(n))
        for n, wh in ((5, 0), (6, 400_000), (7, 1_000_000))
    ]
    desk = delivered(tmp_path, [transaction(told), *days])
    assert verdicts(desk, "MeterReading") == ["accepted", "accepted", "rejected FR-R21"]
    ((comment,),) = desk.rows("SELECT comment FROM finding WHERE error_code = 'FR-R21'")
    assert comment.startswith("Register HPH ")
    assert "20 kVA" in comment
    assert desk.rows("SELECT count(*) FROM finding WHERE error_code = 'FR-C15'") == [(1,)]


@pytest.mark.parametrize(("watts", "said"), [(500, 0), (515, 0), (300, 1), (700, 1)])
def test_a_curve_is_held_against_the_indexes_of_its_days(tmp_path: Path, watts: int, said: int) -> None:
    """A day of 500 W is 12 kWh, as the indexes rise by; the curve may differ by five percent. The third day, of which
    the curve lacks half an hour, is compared with nothing."""
    indexes = []
    for n in (3, 4, 5, 6):
        shown = published(n, ("HP", 600_000 + n * 8_000), ("HC", 400_000 + n * 4_000))
        indexes.append(changed(shown, market_type="R151", effective=day(n)))
    curves = [curve("R50", 50, *[value] * 48, at=n) for n, value in ((3, watts), (4, 500))]
    desk = in_any_order(tmp_path, *indexes, *curves, curve("R50", 99, *[100] * 47, at=5))
    found = desk.rows("SELECT comment FROM finding WHERE error_code = 'CO-R14' AND \"current\"")
    assert len(found) == said
    assert all("rise by 12 kWh" in comment for (comment,) in found)
    assert set(verdicts(desk, "MeterReading")) <= {"accepted", "accepted CO-R14", "accepted FR-R09", "accepted FR-R04"}


def test_other_files_that_come_before_the_day_that_they_contradict_compare_equal(tmp_path: Path) -> None:
    """An entry, the index of a day and a lower one of the next, told in and out of order, say the same to the back
    office."""
    entry, ends = start(PRM, day(0)), end(PRM, day(90))
    days = [changed(reading(PRM, day(n), wh), market_type="R151") for n, wh in ((40, 1_400_000), (41, 1_200_000))]
    told = [entry, *days, ends]
    desks = [delivered(tmp_path, order) for order in (told, [entry, ends, *days[::-1]])]
    one, other = (canonical(desk.database, carriers=False) for desk in desks)
    assert one == other


def test_two_meters_of_one_purpose_are_no_change_of_the_meter(tmp_path: Path) -> None:
    """Both are named at each event, in either order; a third one is a change that no operation explains."""

    def named(at: int, *meters: str) -> Transaction:
        told = head(PRM, day(at), "C15", "MDPRM", f"123456789:MDPRM:{at}") | {"contract_reference": "123456789"}
        return transaction([MeterData(**told, action="present", meter=one, meter_type="CCB") for one in meters])

    first, second, third = "13451014311879", "13451014311880", "13451014311881"
    entry = changed_meters(start(PRM, day(0)), second)
    desk = Desk(f"sqlite:///{tmp_path}/two.db")
    for told in (entry, named(10, first, second), named(20, second, first), named(30, third)):
        desk.deliver([told])
    found = desk.rows(
        "SELECT k.effective FROM finding f JOIN kernel_message k ON k.id = f.message_id WHERE f.error_code = 'FR-M10'"
    )
    assert len(found) == 1
    ((comment,),) = desk.rows("SELECT comment FROM finding WHERE error_code = 'FR-M10'")
    assert third in comment


def changed_meters(entry: Transaction, other: str) -> Transaction:
    """An entry that names another meter beside its own."""
    (meter,) = [one for one in entry.messages if isinstance(one, MeterData)]
    return transaction([*entry.messages, structs.replace(meter, meter=other)])
