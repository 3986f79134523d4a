"""Smart-meter data and established readings: days of 92, 96 and 100 quarters, holes, repeated queries, disputes."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

import pytest

from energycomm.kernel.messages import MeasureSeries, MeteredVolume, MeterReading, RequestAnswer, RequestStatus
from tests.adapters.dutch import GAS_POINT, POINT, digested, every, fixture, only, transactions, without_reading


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("name", "quarters", "hours"),
    [("p4_interval_23_hours.xml", 92, 23), ("p4_interval.xml", 96, 24), ("p4_interval_25_hours.xml", 100, 25)],
)
def test_a_day_has_92_96_or_100_quarters(name: str, quarters: int, hours: int) -> None:
    series = every(transactions(name)[0], MeasureSeries)[0]
    assert len(series.positions) == quarters
    assert (series.end - series.effective).total_seconds() == hours * 3600
    assert [position.position for position in series.positions] == list(range(1, quarters + 1))
    assert all(position.quality == "as-read" for position in series.positions)
    assert (series.resolution, series.unit, series.direction) == (15, "Wh", "consumption")


def test_gas_is_measured_by_the_hour_in_litres() -> None:
    series = only(transactions("p4_interval_25_hours.xml")[1], MeasureSeries)
    assert (series.access_point, series.energy) == (GAS_POINT, "gas")
    assert (len(series.positions), series.resolution, series.unit) == (25, 60, "dm3")
    assert series.positions[0].value == Decimal(31)


def test_interval_energies_add_up_to_the_difference_of_the_indexes() -> None:
    transaction = transactions("p4_interval.xml")[0]
    reading = only(transaction, MeterReading)
    assert reading.effective == at("2026-03-10T00:00:00+01:00")
    for series, register in zip(every(transaction, MeasureSeries), reading.registers, strict=True):
        last = max(int(found) for found in _indexes(series.register or ""))
        assert register.value + sum(position.value or 0 for position in series.positions) == last


def _indexes(register: str) -> list[str]:
    obis = register.rpartition("/")[2]
    content = fixture("p4_interval.xml").decode()
    part = content[content.index(f"<ID>{obis}</ID>") :]
    return re.findall(r"<Reading>(\d+)<", part[: part.index("</P4Register>")])


def test_a_missing_reading_leaves_two_intervals_without_value() -> None:
    series = only(transactions(without_reading(fixture("p4_interval_23_hours.xml"), 40))[0], MeasureSeries)
    assert len(series.positions) == 92
    assert [position.position for position in series.positions if position.value is None] == [40, 41]
    assert {position.quality for position in series.positions if position.value is None} == {"missing"}


def test_a_day_that_ends_too_early_says_so_by_its_end() -> None:
    series = only(transactions(without_reading(fixture("p4_interval_23_hours.xml"), -1))[0], MeasureSeries)
    assert len(series.positions) == 91
    assert series.end == at("2026-03-29T21:45:00+00:00")


def test_readings_out_of_order_are_put_into_it_and_noted() -> None:
    content = fixture("p4_day.xml").replace(b"<QueryReason>DAY<", b"<QueryReason>INT<", 1)
    first, second = "2026-03-11T00:15:00+01:00", "2026-03-11T00:00:00+01:00"
    readings = f"""<P4Reading><Reading>12</Reading><ReadingDateTime>{first}</ReadingDateTime></P4Reading>
      <P4Reading><Reading>10</Reading><ReadingDateTime>{second}</ReadingDateTime></P4Reading>""".encode()
    start, end = content.index(b"<P4Reading>"), content.index(b"</P4Register>")
    content = content[:start] + readings + content[end:]
    start, end = content.index(b"<P4Register>", content.index(b"</P4Register>")), content.index(b"</P4EnergyMeter>")
    content = content[:start] + content[end:]
    transaction = transactions(content)[0]
    assert [note.code for note in transaction.notes] == ["NOTE_ORDER"]
    assert [position.value for position in only(transaction, MeasureSeries).positions] == [Decimal(2000)]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (b"2026-03-29T00:15:00Z", b"2026-03-29T00:16:00Z", "SYN_VALUE"),
        (b"2026-03-29T00:15:00Z", b"2026-03-29T00:00:00Z", "SYN_UNEXPECTED"),
        (b"2026-03-29T22:00:00Z", b"2026-04-29T22:00:00Z", "SYN_VALUE"),
        (b"<MeasureUnit>WH<", b"<MeasureUnit>KLAFTER<", "SYN_CODE"),
        (b"<QueryReason>INT<", b"<QueryReason>YEAR<", "SYN_CODE"),
        (b"<Reading>20418200<", b"<Reading>20418200.5<", "SYN_VALUE"),
    ],
)
def test_what_is_no_interval_answer_is_refused_where_it_is_wrong(old: bytes, new: bytes, code: str) -> None:
    content = fixture("p4_interval_23_hours.xml")
    assert old in content
    (transaction,) = digested(content.replace(old, new, 1)).transactions
    assert [refused.code for refused in transaction.refusals] == [code]
    assert transaction.access_point == POINT


def test_a_day_answer_is_one_reading_of_all_registers() -> None:
    reading = only(transactions("p4_day.xml")[0], MeterReading)
    found = [(register.time_class, register.direction, register.value, register.unit) for register in reading.registers]
    assert found == [
        ("L", "consumption", 10245118, "Wh"),
        ("N", "consumption", 9877402, "Wh"),
        ("L", "production", 412, "kWh"),
        ("N", "production", 903, "kWh"),
    ]
    assert (reading.meter, reading.correlation) == ("E0041005514782119", "lum-day-0001")


def test_each_point_of_an_answer_is_refused_on_its_own() -> None:
    first, second, third, fourth = transactions("p4_day.xml")
    assert [only(one, RequestStatus).state for one in (first, second)] == ["done", "done"]
    mandate, failing = only(third, RequestAnswer), only(fourth, RequestAnswer)
    assert (mandate.accepted, mandate.code, mandate.correlation) == (False, "040", "lum-day-0003")
    assert (failing.code, failing.access_point) == ("012", fourth.access_point)


def test_the_answer_to_a_repeated_query_is_a_duplicate_though_its_message_id_is_new() -> None:
    once, again = fixture("p4_day.xml"), fixture("p4_day_again.xml")
    assert once != again
    assert [one.identity for one in transactions(once)] == [one.identity for one in transactions(again)]


def test_the_same_day_asked_under_another_reference_is_another_answer() -> None:
    other = fixture("p4_day.xml").replace(b"lum-day-0001", b"lum-day-0009")
    first, second = transactions("p4_day.xml")[0], transactions(other)[0]
    assert first.identity != second.identity


def test_established_readings_are_of_the_start_of_their_day() -> None:
    reading = only(transactions("readings.xml")[0], MeterReading)
    assert reading.effective == at("2026-02-01T00:00:00+01:00")
    assert (reading.qualification, reading.market_reason, reading.nature) == ("after-event", "SWITCHLV", "read")
    assert [register.digits for register in reading.registers] == [6, 6, 6, 6]


def test_a_disputed_reading_takes_the_place_of_the_one_of_its_day() -> None:
    established = only(transactions("readings.xml")[0], MeterReading)
    disputed = only(transactions("readings_disputed.xml")[0], MeterReading)
    assert disputed.function == "replace"
    assert disputed.correlation == established.reading_reference == f"{POINT}:2026-02-01"
    assert disputed.reading_reference != disputed.correlation


def test_a_volume_lies_between_two_readings_that_are_told_too() -> None:
    (transaction,) = transactions("volumes.xml")
    volume = only(transaction, MeteredVolume)
    assert (volume.start, volume.effective) == (at("2026-02-01T00:00:00+01:00"), at("2026-03-01T00:00:00+01:00"))
    assert [(one.time_class, one.quantity, one.unit) for one in volume.volumes] == [
        ("L", Decimal(89), "kWh"),
        ("N", Decimal(88), "kWh"),
    ]
    first, last = every(transaction, MeterReading)
    for before, after, energy in zip(first.registers, last.registers, volume.volumes, strict=True):
        assert after.value - before.value == energy.quantity


def test_a_corrected_volume_that_is_empty_is_none() -> None:
    """The market sends the element for electricity too."""
    plain = fixture("volumes.xml")
    told = plain.replace(b"<Volume>89</Volume>", b"<CalorificCorrectedVolume/><Volume>89</Volume>")
    assert told != plain
    assert [one.messages for one in transactions(told)] == [one.messages for one in transactions(plain)]
