"""R15 and R151: readings, energies, corrections and daily indexes."""

from __future__ import annotations

from datetime import date

import pytest

from energycomm.kernel.messages import MeteredVolume, MeterReading
from tests.adapters.french import codes, digest, kinds, only


def test_an_initial_reading_is_an_original_with_its_predecessor() -> None:
    transaction = digest("r15_periodic.xml").transactions[0]
    assert kinds(transaction) == ["MeterReading", "MeteredVolume"]
    [reading], [volume] = only(transaction, MeterReading), only(transaction, MeteredVolume)
    assert (reading.function, reading.correlation, reading.reading_reference) == ("original", None, "8000000000010101")
    assert (reading.qualification, reading.reason, reading.meter) == ("periodic", "periodic", "02197600010101")
    assert (reading.previous_reference, reading.previous_nature) == ("8000000000010001", "read")
    assert reading.previous_date is not None
    assert reading.previous_date.isoformat() == "2026-01-05T00:00:00+01:00"
    assert [register.previous_value for register in reading.registers] == [12340, 12340]
    assert reading.next_reading == date(2026, 3, 1)
    assert (volume.start, volume.effective) == (reading.previous_date, reading.effective)
    assert [(part.grid, int(part.quantity), part.purpose) for part in volume.volumes] == [
        ("distributor", 300, None),
        ("supplier", 300, None),
    ]


@pytest.mark.parametrize(
    ("position", "function", "reference"), [(0, "replace", "8000000000010101"), (1, "cancel", "8000000000020201")]
)
def test_a_correction_names_what_it_corrects(position: int, function: str, reference: str) -> None:
    transaction = digest("r15_corrections.xml").transactions[position]
    for message in transaction.messages:
        assert (message.function, message.correlation) == (function, reference)
    [reading] = only(transaction, MeterReading)
    assert reading.reading_reference == reference
    assert reading.correction_reason in ("CORR_IDX", "DYSF_CPT")


def test_a_correction_is_another_transaction_than_its_original() -> None:
    original = digest("r15_periodic.xml").transactions[0]
    correction = digest("r15_corrections.xml").transactions[0]
    assert original.reference != correction.reference
    assert original.identity != correction.identity
    assert original.messages[0].effective == correction.messages[0].effective


def test_shares_of_collective_self_consumption_are_told_apart() -> None:
    [volume] = only(digest("r15_self_consumption.xml").transactions[0], MeteredVolume)
    shares = {part.purpose: int(part.quantity) for part in volume.volumes if part.purpose}
    assert shares == {"autoproduced": 60, "alloproduced": 40, "autoconsumed": 35, "surplus": 25}


def test_a_missing_nature_of_the_index_is_unknown() -> None:
    [reading] = only(digest("r15_self_consumption.xml").transactions[0], MeterReading)
    assert reading.nature == "unknown"


@pytest.mark.parametrize(
    ("motive", "qualification"),
    [("CFNS", "before-event"), ("RES", "before-event"), ("MES", "after-event"), ("X", "periodic")],
)
def test_the_motive_tells_on_which_side_of_an_event_a_reading_lies(motive: str, qualification: str) -> None:
    [reading] = only(digest("r15_periodic.xml", ("CYCL", motive)).transactions[0], MeterReading)
    assert (reading.qualification, reading.market_reason) == (qualification, motive)


def test_a_reading_with_energies_only_gives_no_index() -> None:
    edits = (("<Classe_Mesure>1<", "<Classe_Mesure>2<"),) * 2
    assert kinds(digest("r15_periodic.xml", *edits).transactions[0]) == ["MeteredVolume"]


def test_registers_of_two_meters_name_their_meters() -> None:
    edit = ("<Num_Serie>02197600010101<", "<Num_Serie>OTHER<")
    [reading] = only(digest("r15_periodic.xml", edit).transactions[0], MeterReading)
    assert reading.meter is None
    assert [register.meter for register in reading.registers] == ["OTHER", "02197600010101"]


def test_a_daily_index_is_dated_by_the_end_of_its_day() -> None:
    readings = only(digest("r151_daily.xml").transactions[0], MeterReading)
    assert [reading.effective.isoformat() for reading in readings] == [
        "2026-01-06T00:00:00+01:00",
        "2026-01-07T00:00:00+01:00",
        "2026-01-08T00:00:00+01:00",
    ]


def test_days_are_put_in_order() -> None:
    edits = (("<Date_Releve>2026-01-05<", "<Date_Releve>2026-01-09<"),)
    transaction = digest("r151_daily.xml", *edits).transactions[0]
    days = [reading.effective for reading in only(transaction, MeterReading)]
    assert days == sorted(days)
    assert transaction.reference == "99000000000101:2026-01-06..2026-01-09"


def test_daily_indexes_stay_in_wh_and_powers_in_va() -> None:
    reading = only(digest("r151_daily.xml").transactions[0], MeterReading)[0]
    assert [(register.value, register.unit, register.doubtful) for register in reading.registers] == [
        (12352410, "Wh", False),
        (12352410, "Wh", False),
    ]
    assert (reading.maximum_power, reading.qualification, reading.nature) == (4180, "periodic", "read")


def test_the_unit_comes_from_the_header() -> None:
    found = digest(
        "r151_daily.xml", ("Unite_Mesure_Index>Wh<", "Unite_Mesure_Index>kWh<"), ("Puissance>VA<", "Puissance>kVA<")
    )
    reading = only(found.transactions[0], MeterReading)[0]
    assert reading.registers[0].unit == "kWh"
    assert reading.maximum_power == 4_180_000


def test_without_unit_nothing_is_guessed() -> None:
    found = digest("r151_daily.xml", ("<Unite_Mesure_Index>Wh</Unite_Mesure_Index>", ""))
    assert codes(found.transactions[0]) == ["SYN_MISSING"]


def test_rogue_calendars_are_carried_as_they_are() -> None:
    found = digest("r151_rogue.xml")
    first, second = (only(transaction, MeterReading)[0] for transaction in found.transactions[:2])
    assert (first.supplier_calendar, first.registers[1].time_class) == ("INCONNU", "INCONNU")
    assert [register.doubtful for register in first.registers] == [True, True]
    assert second.calendar == "DN999999"
