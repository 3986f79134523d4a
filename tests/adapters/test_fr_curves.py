"""C12, F12, R50, R4x and R171: what each flux means by its dates, units and holes."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from adapters.common.conformance.subject import read
from adapters.fr_enedis import adapter, curves
from energycomm.engine.parallel import ParallelEngine
from energycomm.kernel.history import NO_HISTORY
from energycomm.kernel.messages import (
    AccessPointData,
    ContractTerms,
    EndOfSupply,
    GridCharge,
    MeasureSeries,
    MeterReading,
    StartOfSupply,
)
from tests.adapters.french import codes, content, digest, kinds, only
from tests.pipeline.desk import shipped_rules


def test_a_half_hour_of_r50_is_dated_by_its_end() -> None:
    [transaction] = digest("r50_curve.xml").transactions
    [curve] = only(transaction, MeasureSeries)
    assert curve.effective.isoformat() == "2026-02-10T00:00:00+01:00"
    assert curve.end.isoformat() == "2026-02-11T00:00:00+01:00"
    assert (curve.resolution, curve.unit, len(curve.positions)) == (30, "W", 48)


def test_a_missing_value_keeps_its_place_and_a_doubtful_one_is_noted() -> None:
    [transaction] = digest("r50_curve.xml").transactions
    [curve] = only(transaction, MeasureSeries)
    assert [place.position for place in curve.positions if place.quality == "missing"] == [5, 6]
    assert codes(transaction) == ["NOTE_VALUE_DOUBTFUL"]


def test_the_day_of_a_clock_change_has_as_many_values_as_it_has_half_hours() -> None:
    edits = (
        ("<H>2026-02-10T00:30:00+01:00</H>", "<H>2026-03-29T01:30:00+01:00</H>"),
        ("<H>2026-02-10T01:00:00+01:00</H>", "<H>2026-03-29T03:00:00+02:00</H>"),
        ("<H>2026-02-10T01:30:00+01:00</H>", "<H>2026-03-29T03:30:00+02:00</H>"),
    )
    [curve] = only(digest("r50_curve.xml", *edits).transactions[0], MeasureSeries)
    last = [place.position for place in curve.positions][-3:]
    assert last == [last[0], last[0] + 1, last[0] + 2], "02:00 winter time is 03:00 summer time: there is no hole"


def test_a_curve_without_a_step_is_refused() -> None:
    edited = digest("r50_curve.xml", ("<Pas_Publication>30</Pas_Publication>", "<Pas_Publication>0</Pas_Publication>"))
    assert [refused.code for refused in edited.transactions[0].refusals] == ["SYN_VALUE"]


def test_a_value_off_the_step_or_given_twice_is_refused() -> None:
    for other in ("00:45:00", "01:00:00"):
        [transaction] = digest(
            "r50_curve.xml", ("<H>2026-02-10T00:30:00+01:00</H>", f"<H>2026-02-10T{other}+01:00</H>")
        ).transactions
        assert [refused.code for refused in transaction.refusals] == ["SYN_VALUE"]


def test_a_value_of_r4x_is_dated_by_its_start_and_says_how_it_was_obtained() -> None:
    [transaction] = digest("r4h_curve.xml").transactions
    active, reactive = only(transaction, MeasureSeries)
    assert active.effective.isoformat() == "2026-02-03T00:00:00+01:00"
    assert (active.unit, active.product, active.resolution, len(active.positions)) == ("kW", "active", 10, 144)
    assert [place.quality for place in active.positions[19:24]] == [
        "as-read",
        "missing",
        "estimated",
        "estimated",
        "as-read",
    ]
    assert (reactive.unit, reactive.product, reactive.direction) == ("kWr", "reactive-inductive", "consumption")


def test_a_curve_without_grandeur_metier_is_taken_for_consumption_and_noted() -> None:
    [transaction] = digest("r4h_curve.xml").transactions
    assert codes(transaction) == ["NOTE_CODE_UNKNOWN"]


def cut(first: int, last: int) -> MeasureSeries:
    """The active curve of the R4x fixture with the values `first` to `last` of its 144."""
    text = content("r4h_curve.xml").decode()
    points = re.findall(r" *<Donnees_Point_Mesure [^>]*/>\n", text)[:144]
    gone = [point for number, point in enumerate(points, 1) if not first <= number <= last]
    return only(digest("r4h_curve.xml", *((point, "") for point in gone)).transactions[0], MeasureSeries)[0]


@pytest.mark.parametrize(("first", "last"), [(1, 144), (26, 144), (1, 100), (30, 32)])
def test_a_curve_covers_the_period_that_it_is_announced_for(first: int, last: int) -> None:
    """What is cut off at the head or the tail is missing; the announced end is a second short of that of the step."""
    curve = cut(first, last)
    assert (curve.effective.isoformat(), curve.end.isoformat()) == (
        "2026-02-03T00:00:00+01:00",
        "2026-02-04T00:00:00+01:00",
    )
    assert [place.position for place in curve.positions] == list(range(first, last + 1))


def test_each_cut_is_said_with_its_hole() -> None:
    """Two half hours of an R50 day: the finding names how many are missing, and the first hole."""
    text = content("r50_curve.xml").decode()
    points = re.findall(r" *<PDC>.*?</PDC>\n", text, re.DOTALL)
    edits = [(point, "") for number, point in enumerate(points, 1) if number not in (19, 20)]
    [curve] = only(digest("r50_curve.xml", *edits).transactions[0], MeasureSeries)
    findings, _ = ParallelEngine(shipped_rules()).validate(curve, NO_HISTORY)
    [comment] = [found.comment for found in findings if found.error_code == "FR-L06"]
    assert "Of the 48 values" in comment
    assert "46 are missing" in comment
    assert "from 2026-02-10 00:00 to 2026-02-10 09:00" in comment


def test_a_day_of_25_hours_is_whole_with_50_half_hours() -> None:
    day = datetime.fromisoformat("2026-10-25T00:00:00+02:00")
    values = [curves.Value(day + timedelta(minutes=30 * n), Decimal(1), None) for n in range(50)]
    head = {"market": "FR", "market_type": "R50", "reference": "1", "created": day, "access_point": "99000000000303"}
    announced = curves.Span(day, datetime.fromisoformat("2026-10-26T00:00:00+01:00"))
    told = {"unit": "W", "product": "active", "direction": "consumption"}
    engine = ParallelEngine(shipped_rules())
    for number, missing in ((50, 0), (48, 1)):
        series = curves.series(head, values[:number], 30, "PDC", announced, **told)
        found = [one.error_code for one in engine.validate(series, NO_HISTORY).findings]
        assert found.count("FR-L06") == missing


def test_an_index_of_r171_is_an_index_and_says_of_what() -> None:
    hph, hch, power, reactive = digest("r171_daily.xml").transactions
    assert [reading.registers[0].value for reading in only(hph, MeterReading)] == [48113200, 49371900]
    assert only(hch, MeterReading)[0].registers[0].time_class == "HCH"
    assert [(series.product, series.unit) for series in only(power, MeasureSeries)] == [("maximum-power", "W")] * 2
    counted = [reading.registers[0] for reading in only(reactive, MeterReading)]
    assert [(one.product, one.value, one.unit) for one in counted] == [
        ("reactive-inductive", 911000, "VArh"),
        ("reactive-inductive", 934500, "VArh"),
    ]
    assert {reading.registers[0].product for reading in only(hph, MeterReading)} == {None}


def test_a_quantity_of_r171_that_is_no_index_stays_a_quantity_of_a_day() -> None:
    over = ("<grandeurPhysique>ERI</grandeurPhysique>", "<grandeurPhysique>DQ</grandeurPhysique>")
    edited = content("r171_daily.xml", over).decode()
    kind, _, rest = edited.rpartition("<type>INDEX</type>")
    read_as = read(adapter, f"{kind}<type>QTE</type>{rest}".encode(), "r171_daily.xml", "R171")
    assert [series.product for series in only(read_as.transactions[3], MeasureSeries)] == ["DQ", "DQ"]


def test_naive_times_of_r171_are_those_of_paris() -> None:
    reading = only(digest("r171_daily.xml").transactions[0], MeterReading)[0]
    assert reading.effective.isoformat() == "2026-02-04T00:51:11+01:00"
    summer = digest("r171_daily.xml", ("2026-02-04T00:51:11", "2026-07-04T00:51:11")).transactions[0]
    assert only(summer, MeterReading)[-1].effective.isoformat() == "2026-07-04T00:51:11+02:00"


def test_an_entry_of_c12_begins_supply_with_the_highest_power_of_its_classes() -> None:
    entry, change = digest("c12_situation.xml").transactions
    [start] = only(entry, StartOfSupply)
    assert (start.supplier, start.balance_responsible) == ("17XLUMINEFICT01X", "17XBALANCEFIC01X")
    assert start.effective.isoformat() == "2026-01-12T00:00:00+01:00"
    [point] = only(entry, AccessPointData)
    assert point.address is not None
    assert (point.segment, point.address.municipality_code) == ("C4", "01999")
    assert [only(part, ContractTerms)[0].subscribed_power for part in (entry, change)] == [Decimal(120), Decimal(140)]
    [terms] = only(change, ContractTerms)
    assert [(power.time_class, power.value, power.unit, power.nature) for power in terms.powers][:3] == [
        ("HPH", Decimal(140), "kVA", "subscribed"),
        ("HCH", Decimal(140), "kVA", "subscribed"),
        ("HPE", Decimal(90), "kVA", "subscribed"),
    ]
    assert kinds(change) == ["AccessPointData", "ContractTerms", "CustomerData"]


def test_an_exit_of_c12_ends_supply_and_a_picture_without_event_begins_nothing() -> None:
    left = digest("c12_situation.xml", ("MES", "RES")).transactions[0]
    assert kinds(left) == ["EndOfSupply"]
    assert only(left, EndOfSupply)[0].market_reason == "RES"
    picture = digest("c12_situation.xml", ("<Nature_Evenement>MES</Nature_Evenement>", "")).transactions[0]
    assert kinds(picture) == ["AccessPointData", "ContractTerms", "CustomerData"]


def test_a_change_of_supplier_in_c12_is_an_entry_where_a_situation_runs_and_an_exit_where_none_does() -> None:
    """C12 has one nature, CFN, for both sides of it."""
    nature = ("MES</Nature_Evenement>", "CFN</Nature_Evenement>")
    entered = digest("c12_situation.xml", nature).transactions[0]
    assert only(entered, StartOfSupply)[0].reason == "supplier-switch"
    ended = (
        "<Date_Debut>2026-01-12</Date_Debut>",
        "<Date_Debut>2025-01-12</Date_Debut><Date_Fin>2026-01-12</Date_Fin>",
    )
    left = digest("c12_situation.xml", nature, ended).transactions[0]
    assert kinds(left) == ["EndOfSupply"]
    assert str(only(left, EndOfSupply)[0].contract_end) == "2026-01-12 00:00:00+01:00"


def test_every_event_and_nature_of_a_point_of_c12_is_read() -> None:
    """A point tells several events, an event several natures and situations; the one that runs holds."""
    text = content("c12_situation.xml").decode()
    start, end = text.index("<Type_Evenement>"), text.index("</Type_Evenement>") + len("</Type_Evenement>")
    second = text[start:end].replace("2026-01-12</Date_Ev", "2026-01-20</Date_Ev").replace(">120<", ">110<")
    second = second.replace("MES</Nature", "CPS</Nature_Evenement><Nature_Evenement>CCF</Nature")
    running = second[second.index("<Situation_") : second.index("</Situation_Contractuelle>")]
    old = running.replace(
        "<Date_Debut>2026-01-12</Date_Debut>", "<Date_Debut>2026-01-19</Date_Debut><Date_Fin>2026-01-20</Date_Fin>"
    )
    second = second.replace("<Situation_Contractuelle>", f"{old}</Situation_Contractuelle><Situation_Contractuelle>", 1)
    [both, _] = read(adapter, (text[:end] + second + text[end:]).encode(), "c12.xml").transactions
    assert [str(one.effective.date()) for one in only(both, ContractTerms)] == ["2026-01-12", "2026-01-20"]
    changed = only(both, ContractTerms)[1]
    assert (changed.market_reason, changed.reason, changed.contract_start) == (
        "CPS",
        "contract-change",
        date(2026, 1, 12),
    )
    told = {one.name: one.value for message in both.messages for one in message.particulars if "Nature" in one.name}
    # The contract that ended says the same of its own event.
    assert sorted(told.values()) == ["CPS+CCF", "CPS+CCF"]
    assert len({name.removeprefix("Situation_Contractuelle/") for name in told}) == 1


def test_a_tariff_in_high_voltage_has_its_powers_in_kw() -> None:
    high = digest("c12_situation.xml", ("BTSUPLU4", "HTALU5"), ("<Libelle>HPH</Libelle>", "<Libelle>Pointe</Libelle>"))
    [terms] = only(high.transactions[0], ContractTerms)
    assert {power.unit for power in terms.powers} == {"kW"}
    assert terms.powers[0].time_class == "P"


def test_the_municipality_in_an_attribute_enters_the_identity() -> None:
    first = digest("c12_situation.xml").transactions[0]
    other = digest("c12_situation.xml", ('Code_INSEE="01999"', 'Code_INSEE="01998"')).transactions[0]
    assert first.identity != other.identity


def test_a_part_of_f12_that_corrects_another_names_it() -> None:
    cyclic, corrected = digest("f12_detail.xml").transactions
    [charge] = only(corrected, GridCharge)
    assert (charge.correlation, charge.original_invoice) == ("426000000000", "120000000009")
    assert charge.total_excluding_tax == Decimal("-6.20")
    assert [line.amount for line in only(cyclic, GridCharge)[0].lines] == [Decimal("16.69"), Decimal("121.52")]


def test_an_f12_that_announces_another_number_of_parts_is_noted() -> None:
    found = digest("f12_detail.xml", ("<Nb_Sous_Lot>2</Nb_Sous_Lot>", "<Nb_Sous_Lot>3</Nb_Sous_Lot>"))
    assert codes(found.transactions[-1]) == ["NOTE_COUNT"]
