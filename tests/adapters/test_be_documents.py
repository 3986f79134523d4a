"""The XML documents of the Belgian market, as the mapping table reads them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from energycomm.kernel.family import kind_of
from energycomm.kernel.messages import (
    EndOfSupply,
    ErrorReport,
    MeasureSeries,
    MeteredVolume,
    MeterReading,
    RequestAnswer,
    RequestStatus,
    StartOfSupply,
)
from tests.adapters.belgian import OTHER, POINT, SUPPLIER, content, digested, messages


def test_the_start_of_an_access_brings_the_master_data_of_the_point_along() -> None:
    start, point, terms, customer, meter = messages("start_by_switch.xml")[:5]
    assert isinstance(start, StartOfSupply)
    assert (start.access_point, start.supplier, start.reason) == (POINT, SUPPLIER, "supplier-switch")
    assert start.effective == datetime.fromisoformat("2026-03-01T00:00:00+01:00")
    assert [kind_of(one) for one in (point, terms, customer, meter)] == [
        "AccessPointData",
        "ContractTerms",
        "CustomerData",
        "MeterData",
    ]
    assert {one.contract_reference for one in (start, point, terms, customer, meter)} == {"AC-2026-0001"}
    assert start.request_reference == "REQ-2026-0001"


def test_midnight_written_in_universal_time_is_the_civil_day_of_belgium() -> None:
    utc = content("start_by_switch.xml").replace(b"2026-03-01T00:00:00+01:00", b"2026-02-28T23:00:00Z")
    start = digested(utc).transactions[0].messages[0]
    assert start.effective.isoformat() == "2026-03-01T00:00:00+01:00"


def test_a_time_without_offset_is_belgian_and_noted() -> None:
    naive = content("stop_by_switch.xml").replace(b"2026-06-01T00:00:00+02:00", b"2026-06-01T00:00:00")
    found = digested(naive).transactions[0]
    assert found.messages[0].effective.isoformat() == "2026-06-01T00:00:00+02:00"
    assert [note.code for note in found.notes] == ["NOTE_TIME_NAIVE"]


def test_the_end_of_an_access_tells_who_follows() -> None:
    (end,) = messages("stop_by_switch.xml")
    assert isinstance(end, EndOfSupply)
    assert (end.new_supplier, end.contract_status, end.market_reason) == (OTHER, "terminated", "E03")


def test_indexes_and_the_energies_between_them_are_two_messages() -> None:
    reading, volume = messages("readings_march.xml")[1:]
    assert isinstance(reading, MeterReading)
    assert isinstance(volume, MeteredVolume)
    assert [(one.time_class, one.value, one.previous_value) for one in reading.registers] == [
        ("HI", 10612, 10500),
        ("LO", 8350, 8200),
    ]
    assert volume.start == reading.previous_date == datetime.fromisoformat("2026-03-01T00:00:00+01:00")
    assert [one.quantity for one in volume.volumes] == [Decimal(112), Decimal(150)]


def test_a_correction_names_the_reading_that_it_replaces() -> None:
    for message in messages("readings_corrected.xml"):
        assert (message.function, message.correlation) == ("replace", "RD-0002")


@pytest.mark.parametrize(
    ("name", "number", "hours"),
    [("series_days.xml", 0, 24), ("series_days.xml", 1, 23), ("series_25_hours.xml", 0, 25)],
)
def test_a_day_of_quarters_has_four_for_each_of_its_hours(name: str, number: int, hours: int) -> None:
    series = messages(name)[number]
    assert isinstance(series, MeasureSeries)
    assert series.end - series.effective == timedelta(hours=hours)
    assert len(series.positions) == 4 * hours


def test_a_missing_value_is_missing_and_not_zero() -> None:
    (series,) = messages("series_25_hours.xml")
    assert isinstance(series, MeasureSeries)
    assert (series.positions[8].value, series.positions[8].quality) == (None, "missing")


def test_answers_repeat_the_reference_of_our_request() -> None:
    pending, accepted, refused = messages("responses.xml")
    assert isinstance(pending, RequestStatus)
    assert (pending.state, pending.correlation) == ("acknowledged", "EC-REQ-0001")
    assert isinstance(accepted, RequestAnswer)
    assert (accepted.accepted, accepted.correlation, accepted.request) == (True, "EC-REQ-0001", "REQ-2026-0001")
    assert isinstance(refused, RequestAnswer)
    assert (refused.accepted, refused.correlation, refused.code) == (False, "EC-REQ-0002", "E17")
    (error,) = messages("error_report.xml")
    assert isinstance(error, ErrorReport)
    assert (error.code, error.correlation) == ("E10", "EC-REQ-0003")


@pytest.mark.parametrize(
    ("code", "kind", "function"),
    [(b"E05", "StartOfSupply", "cancel"), (b"406", "EndOfSupply", "cancel"), (b"432", "RequestStatus", "original")],
)
def test_a_cancellation_takes_back_what_it_names(code: bytes, kind: str, function: str) -> None:
    text = content("cancellation.xml")
    assert b">432</CancelledProcess>" in text
    (message,) = digested(text.replace(b">432<", b">" + code + b"<")).transactions[0].messages
    assert (kind_of(message), message.function, message.correlation) == (kind, function, "EC-REQ-0007")


def test_every_mistake_of_a_message_is_told_at_once_with_its_place() -> None:
    text = (
        content("readings_march.xml")
        .replace(b'<MeterReadingOrigin listAgencyIdentifier="260">E28', b"<MeterReadingOrigin>E77", 1)
        .replace(b">10500</MeterReading>", b">many</MeterReading>", 1)
        .replace(b">AC-2026-0001<", b">" + b"x" * 65 + b"<", 1)
    )
    first, second = digested(text).transactions
    assert [(one.code, one.path.rpartition("/")[2]) for one in first.refusals] == [
        ("SYN_CODE", "MeterReadingOrigin"),
        ("SYN_VALUE", "Identification"),
        ("SYN_VALUE", "MeterReading"),
    ]
    assert second.messages


def test_an_index_with_a_fraction_is_cut_off_and_noted() -> None:
    text = content("readings_march.xml").replace(b">10500</MeterReading>", b">10500.7</MeterReading>", 1)
    found = digested(text).transactions[0]
    assert isinstance(found.messages[0], MeterReading)
    assert found.messages[0].registers[0].value == 10500
    assert [note.code for note in found.notes] == ["NOTE_INDEX_FRACTION"]


def test_an_unknown_business_reason_is_carried_for_the_rules_to_judge() -> None:
    text = content("stop_by_switch.xml").replace(b">E03</EnergyBusinessProcess>", b">E0Z</EnergyBusinessProcess>")
    (end,) = digested(text).transactions[0].messages
    assert (end.market_reason, end.reason) == ("E0Z", None)
